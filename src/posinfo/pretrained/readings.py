"""All readings of real models together, and what they were measured with."""

import platform
from collections.abc import Iterable, Mapping
from typing import Any

from posinfo import extras
from posinfo.pretrained import text
from posinfo.pretrained.sources import SOURCES

Record = Mapping[str, Any]

#: What identifies a reading.
KEY = (
    "model", "measurement", "quantity", "method", "context", "position_to", "shift", "distance",
    "rows", "position_from", "window",
)  # fmt: skip


def in_order(records: Iterable[Record]) -> list[Record]:
    """The readings, sorted by what identifies them."""
    return sorted(records, key=_place)


def _place(record: Record) -> tuple[Any, ...]:
    return tuple(
        (value is None, value if value is not None else 0)
        for value in (record[name] for name in KEY)
    )


def about(settings: Mapping[str, Any], code: str, digest: str) -> dict[str, Any]:
    """What the readings rest on: weights, text, versions, settings, and the measuring code.

    Parameters
    ----------
    settings
        The config's section ``pretrained``.
    code
        The digest of the code, by :func:`posinfo.pretrained.code.digest`.
    digest
        The sha256 of the file of readings.
    """
    from importlib.metadata import version

    return {
        "code": code,
        "readings_sha256": digest,
        "settings": dict(settings),
        "text": {
            "what": "pydoc_data.topics of the standard library",
            "python": platform.python_version(),
            "sha256": text.digest(),
        },
        "weights": {
            name: {
                "model": source.title,
                "package": f"{source.package}=={source.version}",
                "wheel_sha256": source.sha256,
                "weights_sha256": source.weights_sha256,
                "licence": source.licence,
            }
            for name, source in SOURCES.items()
        },
        "versions": {"torch": version("torch"), **extras.packages("pretrained")},
    }
