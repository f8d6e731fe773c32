"""What a suite is told: its section of the config, with what all suites share."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posinfo import extras
from posinfo.schemas import load_yaml

#: The folder of the package, and what lies beside it in a working copy: the accepted readings of
#: real models, and what their columns are.
SOURCE = Path(__file__).resolve().parents[1]
ACCEPTED = SOURCE.parent / "baseline" / "pretrained"
READINGS_SCHEMA = SOURCE.parent / "workflow" / "schemas" / "readings.yaml"

#: Keys of the config that not all suites are told: their own sections, the claims, how results
#: are compared, and what the suites implementations, models, trained and pretrained take alone.
NOT_SHARED = (
    "suites", "claims", "models", "comparison", "implementations", "decoder", "pretrained",
)  # fmt: skip

#: Where trained weights lie, from the folder in which a run is started.
TRAINED = "results/trained"


def weight_files(config: Mapping[str, Any]) -> dict[str, str]:
    """Files of trained weights by their name: an encoding, or ``rotary-`` and a method."""
    decoder = config["decoder"]
    names = [*decoder["encodings"], *(f"rotary-{name}" for name in decoder["tuning"]["methods"])]
    return {name: f"{TRAINED}/{name}.safetensors" for name in names}


def preset_files(config: Mapping[str, Any]) -> list[str]:
    """Files of published models, in order of their names: of this folder, or of the project."""
    folder = Path(config["models"])
    if not folder.is_dir():
        folder = Path(os.path.relpath(SOURCE.parent / folder))
    return [str(path) for path in sorted(folder.glob("*.yaml"))]


def shared_parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """What all suites are told: everything but what :data:`NOT_SHARED` names."""
    return {key: value for key, value in config.items() if key not in NOT_SHARED}


def suite_parameters(config: Mapping[str, Any], suite: str) -> dict[str, Any]:
    """What one suite is told; its own section wins over what is shared.

    A suite that measures packages which may be left out is told which there are.

    Parameters
    ----------
    config
        The whole config, checked before.
    suite
        The suite's name: a key below ``suites``.
    """
    told = {**shared_parameters(config), **config["suites"][suite]}
    if "leave_out" in told:
        told["packages"] = extras.packages(suite, told["leave_out"])
    if suite == "implementations":
        told["implementations"] = config["implementations"]
    if suite == "models":
        leave_out = config["suites"]["peers"]["leave_out"]
        found = extras.packages("peers", leave_out)
        told |= {
            "packages": {"transformers": found["transformers"]},
            "presets": [
                {"key": Path(path).stem, **load_yaml(path)} for path in preset_files(config)
            ],
        }
    if suite == "trained":
        told |= {"decoder": config["decoder"], "weights": weight_files(config)}
    if suite == "pretrained":
        from posinfo.pretrained import code

        told |= {
            "accepted": os.path.relpath(ACCEPTED),
            "schema": os.path.relpath(READINGS_SCHEMA),
            "settings": config["pretrained"],
            "code": code.digest(SOURCE),
        }
    return told


def overlay(config: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one config over another, as Snakemake does with ``--configfile``.

    Sections are merged key by key; any other value, a list too, replaces the one below. An empty
    section changes nothing.
    """
    merged = dict(config)
    for key, value in above.items():
        if not isinstance(value, Mapping):
            merged[key] = value
        elif value:
            below = merged.get(key)
            merged[key] = overlay(below if isinstance(below, Mapping) else {}, value)
        else:
            merged.setdefault(key, {})
    return merged
