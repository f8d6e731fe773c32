"""The accepted readings of real models: what every run reads in place of hours of measuring."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo.digests import sha256
from posinfo.errors import InputError
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
    """

    records: Sequence[Record]
    about: Mapping[str, Any]
    digest: str

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
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            str(path), f"cannot be read: {error.strerror}; git has the accepted one"
        ) from error
    except ValueError as error:
        raise InputError(str(path), f"is no JSON: {error}") from error
    needed = ("code", "readings_sha256", "settings", "text", "versions", "weights")
    missing = [key for key in needed if not isinstance(about, dict) or key not in about]
    if missing:
        raise InputError(str(path), f"does not say: {', '.join(missing)}")
    readings = Path(folder, READINGS)
    return Accepted(read(readings, fields), about, sha256(readings))
