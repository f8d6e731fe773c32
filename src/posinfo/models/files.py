"""Reads a configuration: a ``config.json``, a folder that holds one, or a GGUF file's header."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posinfo.errors import InputError
from posinfo.models import gguf

#: A larger file is no configuration: the longest that are known have some thousand lines.
LIMIT = 2**20

NAME = "config.json"


@dataclass(frozen=True)
class Raw:
    """What stands in a file.

    Attributes
    ----------
    file
        The file, as a person would type it.
    content
        Its keys and values, in the form of a ``config.json``.
    name
        A name for the model: the file's own, or else that of its folder or file.
    keys
        For keys that have another name in the file, that name.
    twice
        Keys that stand twice in one object; the last counts.
    header
        For a GGUF file what its header says beside the configuration.
    """

    file: str
    content: Mapping[str, Any]
    name: str
    keys: Mapping[str, str] = field(default_factory=dict)
    twice: tuple[str, ...] = ()
    header: gguf.Header | None = None


def read(path: str) -> Raw:
    """Read what a person named.

    Raises
    ------
    InputError
        If there is no configuration, or it is none: one line that names the file.
    """
    place = Path(path)
    if place.is_dir():
        file = place / NAME
        if not file.is_file():
            found = sorted(place.glob("*.gguf"))
            if len(found) == 1:
                return _read_gguf(str(found[0]))
            raise InputError(path, f"is a folder without a {NAME}: name a folder that has one")
        place = file
    try:
        with open(place, "rb") as stream:
            if stream.read(len(gguf.MAGIC)) == gguf.MAGIC:
                return _read_gguf(str(place))
            size = os.fstat(stream.fileno()).st_size
            if size > LIMIT:
                raise InputError(str(place), _too_large(size))
            stream.seek(0)
            # Where a size is not known beforehand, as in a pipe, it is found by reading.
            content = stream.read(LIMIT + 1)
    except FileNotFoundError as error:
        raise InputError(path, "does not exist") from error
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(repr(path), "is no path of a file") from error
    if len(content) > LIMIT:
        raise InputError(str(place), _too_large(len(content)))
    return parse(content, str(place))


def _too_large(size: int) -> str:
    return (
        f"has {size:,} bytes, too many for a configuration: at most {LIMIT:,} are read; name the "
        f"model's {NAME}, or its folder"
    )


def parse(content: bytes, file: str) -> Raw:
    """Read the bytes of a ``config.json``.

    Raises
    ------
    InputError
        If they are not UTF-8, not JSON, or no object.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(file, f"is not UTF-8 at byte {error.start}, so it is not JSON") from error
    twice: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            names = [name for name, _ in pairs]
            twice.extend(sorted({name for name in names if names.count(name) > 1}))
        return made

    try:
        found = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{file} line {error.lineno}", f"is not JSON: {error.msg} at column {error.colno}"
        ) from error
    except RecursionError as error:
        raise InputError(file, "is not a configuration: it is nested too deeply") from error
    except ValueError as error:
        raise InputError(file, f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
        kind = kinds.get(type(found), "a number")
        raise InputError(file, f"must be an object with keys and values, not {kind}")
    return Raw(file, found, _name(found, file), twice=tuple(twice))


def _name(content: Mapping[str, Any], file: str) -> str:
    """The model's own name, or else the folder's, or the file's if that says more."""
    own = content.get("_name_or_path")
    if isinstance(own, str) and own.strip("/. "):
        return own.rstrip("/")
    path = Path(file).absolute()
    return path.parent.name if path.name == NAME else path.stem


def _read_gguf(file: str) -> Raw:
    header = gguf.read(file)
    content, keys = gguf.as_configuration(header)
    own = header.values.get("general.name")
    name = own if isinstance(own, str) and own.strip() else Path(file).stem
    return Raw(file, content, name, keys, header=header)
