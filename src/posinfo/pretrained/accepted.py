"""The accepted readings of real models: what every run reads in place of hours of measuring."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo.digests import sha256
from posinfo.errors import InputError
from posinfo.pretrained.readings import KEY, in_order
from posinfo.pretrained.sources import SOURCES
from posinfo.rows import ACCEPTED, STALE
from posinfo.tidy import Fields, read

Record = Mapping[str, Any]

#: Files of a folder with readings: the readings, and what they rest on.
READINGS, ABOUT = "readings.csv", "readings.json"


@dataclass(frozen=True)
class Accepted:
    """Readings that were accepted, with what they rest on.

    Attributes
    ----------
    records
        The readings.
    about
        See :func:`posinfo.pretrained.readings.about`; ``readings_sha256`` beside it.
    digest
        The sha256 that the file of readings has now.
    path
        The file of readings.
    """

    records: Sequence[Record]
    about: Mapping[str, Any]
    digest: str
    path: str = READINGS

    def standing(self, code: str, settings: Mapping[str, Any]) -> str:
        """Whether the readings still are what the code and the settings of now would measure."""
        same = self.about["code"] == code and self.about["settings"] == settings
        return ACCEPTED if same else STALE


def load(folder: str | Path, fields: Fields) -> Accepted:
    """Read a folder with accepted readings.

    Raises
    ------
    InputError
        If a file is missing or is not what it should be.
    """
    path = Path(folder, ABOUT)
    try:
        about = json.loads(
            path.read_text(encoding="utf-8"), parse_constant=_no_number,
            object_pairs_hook=lambda pairs: _Told(str(path), pairs),
        )  # fmt: skip
    except OSError as error:
        raise InputError(
            str(path), f"cannot be read: {error.strerror}; git has the accepted one"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), f"is no JSON: {error}") from error
    needed = ("code", "readings_sha256", "settings", "text", "versions", "weights")
    missing = [key for key in needed if not isinstance(about, dict) or key not in about]
    if missing:
        raise InputError(str(path), f"does not say: {', '.join(missing)}")
    _check_told(about, str(path))
    readings = Path(folder, READINGS)
    records = read(readings, fields)
    _check_order(records, str(readings))
    return Accepted(records, about, sha256(readings), str(readings))


class _Told(dict[str, Any]):
    """An object of the document, which names the file when it is asked for what it does not say."""

    def __init__(self, where: str, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._where = where
        if len(self) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the key {twice!r} stands twice")

    def __missing__(self, key: str) -> Any:
        raise InputError(self._where, f"does not say {key!r}, beside {', '.join(self)}")


def _no_number(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no number in JSON")


def _check_told(about: Mapping[str, Any], where: str) -> None:
    """Check what is read of the document further down, so that whoever reads it need not."""
    texts = [(key,) for key in ("code", "readings_sha256")]
    texts += [("text", key) for key in ("what", "python", "sha256")]
    texts += [("weights", name, "weights_sha256") for name in SOURCES]
    sections = [("settings", name) for name in SOURCES]
    for places, kind, allowed in ((texts, str, "a text"), (sections, dict, "keys with values")):
        for place in places:
            found: Any = about
            for key in place:
                found = found.get(key) if isinstance(found, dict) else None
            if not isinstance(found, kind):
                raise InputError(where, f"{'.'.join(place)} is {_said(found)}, expected {allowed}")
    versions = about["versions"]
    if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
        raise InputError(where, "versions must hold names of packages, each with a version as text")


def _said(value: Any) -> str:
    return "missing" if value is None else json.dumps(value, ensure_ascii=False)[:60]


def _check_order(records: Sequence[Record], where: str) -> None:
    for number, (found, expected) in enumerate(zip(records, in_order(records), strict=True), 1):
        if found is not expected:
            told = ", ".join(f"{key} {expected[key]}" for key in KEY if expected[key] is not None)
            raise InputError(where, f"has its rows in another order: row {number} would be {told}")
