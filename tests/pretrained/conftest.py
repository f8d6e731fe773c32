"""Real models with their weights, fetched once into the working copy, and the accepted readings."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posinfo.errors import InputError
from posinfo.parameters import ACCEPTED, READINGS_SCHEMA
from posinfo.pretrained import accepted, fetch
from posinfo.pretrained.sources import SOURCES
from posinfo.schemas import table_fields


@pytest.fixture(scope="session")
def weights(root: Path) -> Callable[[str], Path]:
    """The folder with a model's weights. Who has no index sets POSINFO_OFFLINE, and skips."""

    def folder(model: str) -> Path:
        try:
            return fetch.fetch(SOURCES[model], root / "weights" / model)[0].parent
        except InputError as error:
            if os.environ.get("POSINFO_OFFLINE"):
                pytest.skip(str(error))
            raise

    return folder


@pytest.fixture(scope="session")
def readings() -> accepted.Accepted:
    """What was accepted."""
    return accepted.load(ACCEPTED, table_fields(READINGS_SCHEMA))


@pytest.fixture(scope="session")
def reading(readings: accepted.Accepted) -> Callable[..., dict[str, Any]]:
    """The one accepted reading whose columns have these values."""

    def one(**where: Any) -> dict[str, Any]:
        [found] = [
            record
            for record in readings.records
            if all(record[column] == value for column, value in where.items())
        ]
        return found

    return one
