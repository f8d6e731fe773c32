"""Trained weights in files: safetensors, which hold numbers alone and run no code when read."""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from posinfo.errors import InputError
from posinfo.tidy import write_atomically


def store(path: str | Path, weights: Mapping[str, Tensor], about: Mapping[str, object]) -> None:
    """Write weights, and what they are, whole or not at all.

    Parameters
    ----------
    weights
        Tensors by name.
    about
        What is to be known of them. It is one text in the file: several entries would be
        written in another order each time.
    """
    whole = {name: value.contiguous() for name, value in weights.items()}
    write_atomically(path, save(whole, {"about": json.dumps(about, sort_keys=True)}))


def load(path: str | Path) -> tuple[dict[str, Tensor], dict[str, object]]:
    """Weights and what is written about them.

    Raises
    ------
    InputError
        If the file is missing or is none of :func:`store`.
    """
    if not Path(path).is_file():
        raise InputError(str(path), f"does not exist: snakemake --cores 4 {path} trains it")
    try:
        with safe_open(path, "pt") as file:
            about = json.loads(file.metadata()["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise InputError(str(path), f"is no file of trained weights: {error}") from error
