"""What all tests share: where the project lies, and the environment of the processes they start."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from posinfo import numerics

ROOT = Path(__file__).resolve().parents[1]

# The same examples in every run: a test that fails now and then would be run again, not read.
settings.register_profile("posinfo", deadline=None, derandomize=True)
settings.load_profile("posinfo")


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary folder of this run of the tests that all of its workers have."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def child_environment() -> dict[str, str]:
    """The environment for a process of its own: this library, and no trace of the profile."""
    clean = {key: value for key, value in os.environ.items() if key not in numerics.ENVIRONMENT}
    return clean | {"PYTHONPATH": str(ROOT / "src")}
