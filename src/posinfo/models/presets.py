"""Published models: their configurations, with the source of each fact.

``config/models/`` holds one file a model, under ``workflow/schemas/model.schema.yaml``.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from posinfo.errors import InputError
from posinfo.models.configuration import Known, read_model
from posinfo.models.files import Raw
from posinfo.models.model import Model
from posinfo.schemas import first_problem, load_yaml

#: Where they lie in a working copy.
FOLDER = "config/models"


@dataclass(frozen=True)
class Preset:
    """A published model.

    Attributes
    ----------
    key
        The name of its file: stays the same.
    name
        Its name for people.
    aliases
        Regular expressions over lower-case names, for files that name the model and no base.
    config
        Its published configuration, as far as positions go.
    sources
        Where the facts stand: document, revision, place, and the keys that it gives.
    note
        What a reader should know besides; may be empty.
    trained
        The length trained on before any extension, where ``config`` does not tell.
    extension
        The kind of scaling where ``config`` leaves it out; ``note`` says why.
    """

    key: str
    name: str
    aliases: tuple[str, ...]
    config: Mapping[str, Any]
    sources: tuple[Mapping[str, str], ...]
    note: str = ""
    trained: int | None = None
    extension: str = ""

    def model(self) -> Model:
        """The model that its configuration describes."""
        made = read_model(Raw(f"{FOLDER}/{self.key}.yaml", self.config, self.name))
        if self.trained is None:
            return made
        return replace(
            made, rope=tuple(replace(rope, trained=self.trained) for rope in made.rope)
        )  # fmt: skip


def from_content(key: str, content: Mapping[str, Any]) -> Preset:
    """A preset from what stands in its file."""
    return Preset(
        key, content["name"], tuple(content.get("aliases", ())), content["config"],
        tuple(content["sources"]), content.get("note", ""), content.get("trained_length"),
        content.get("extension", ""),
    )  # fmt: skip


def load(paths: Iterable[Path], schema: Mapping[str, Any] | None = None) -> list[Preset]:
    """Presets from files, checked under their schema if it is given.

    Raises
    ------
    InputError
        Naming file, key and what is allowed.
    """
    presets = []
    for path in paths:
        content = load_yaml(path)
        problem = first_problem(content, schema) if schema is not None else None
        if problem:
            text = f"{problem.key}: {problem.text}" if problem.key else problem.text
            raise InputError(str(path), text)
        presets.append(from_content(path.stem, content))
    return presets


def lookup(root: Path) -> Callable[[str], Known | None]:
    """What finds the published model that a name means, in the presets of a working copy."""

    def find(name: str) -> Known | None:
        short = re.sub(r"[^a-z0-9.]+", "-", name.lower())
        for preset in load(sorted((root / FOLDER).glob("*.yaml"))):
            if any(re.search(alias, short) for alias in preset.aliases):
                ropes = preset.model().rope
                if ropes:
                    return Known(preset.name, ropes[0].base)
        return None

    return find
