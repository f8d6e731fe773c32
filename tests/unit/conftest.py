"""The numerical profile for tests in this process, and what the suites measure, once a session."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from posinfo import numerics
from posinfo.catalogue import SUITES
from posinfo.claims import Claim, load_claims, suites_under_faults, under_faults
from posinfo.controls import control
from posinfo.ledger import decide_claims
from posinfo.parameters import suite_parameters
from posinfo.rows import COLUMNS, DECIDING, Row, decide
from posinfo.schemas import load_yaml, table_fields
from posinfo.tidy import read, write
from shared import once

# Before any test module imports torch. The bounds must hold without the profile too, so a run
# in which something else imported it first is as good.
if not {"torch", "numpy"} & set(sys.modules):
    numerics.set_environment()


@pytest.fixture(scope="session")
def config(root: Path) -> dict[str, Any]:
    """The shipped config."""
    return load_yaml(root / "config" / "config.yaml")


@pytest.fixture(scope="session")
def run_suite(config: dict[str, Any]) -> Callable[..., list[Row]]:
    """Measure a suite in this process: ``run_suite(name, only=…, said=…, <parameter>=…)``."""
    numerics.torch_with_profile()

    def run(
        suite: str, *, only: str | None = None, said: list[str] | None = None, **changed: Any
    ) -> list[Row]:
        module = importlib.import_module(f"posinfo.suites.{suite}")
        parameters = suite_parameters(config, suite) | changed
        return module.SUITE.run(
            parameters, only=only, say=[].append if said is None else said.append
        )

    return run


@pytest.fixture(scope="session")
def trained_rows(root: Path, shared_folder: Path) -> list[Row]:
    """The rows of the suite trained, from the last run; training for tests alone is too long.

    Where there was no run, the workflow makes them first, which takes minutes.
    """
    path = root / "results/suites/trained.csv"

    def make() -> None:
        if not path.exists():
            subprocess.run(
                [sys.executable, "-m", "snakemake", "--cores", "2", "results/suites/trained.csv"],
                cwd=root, check=True, env=os.environ | {"PYTHONPATH": str(root / "src")},
            )  # fmt: skip

    # Beside a run another one is refused.
    once(shared_folder / "trained", make)
    fields = table_fields(root / "workflow/schemas/suites/trained.yaml")
    rows = []
    for record in read(path, fields):
        values = {name: record[name] for name in DECIDING}
        own = {name: record[name] for name in COLUMNS if name in Row.__dataclass_fields__}
        extra = {name: value for name, value in record.items() if name not in COLUMNS}
        extra = {name: None if value == "" else value for name, value in extra.items()}
        rows.append(Row(**own, decision=decide(record["relation"], **values), extra=extra))
    return rows


@pytest.fixture(scope="session")
def measured(
    run_suite: Callable[..., list[Row]], trained_rows: list[Row], shared_folder: Path
) -> dict[str, list[Row]]:
    """The rows of each suite under the shipped config. Do not change them."""
    # Each suite is measured by one worker. Every second of them begins at the end, so that they
    # meet in the middle.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    order = [*SUITES][:: -1 if int(worker[2:]) % 2 else 1]
    rows = {
        suite: trained_rows
        if suite == "trained"
        else once(shared_folder / f"{suite}.rows", partial(run_suite, suite))
        for suite in order
    }
    return {suite: rows[suite] for suite in SUITES}


@pytest.fixture(scope="session")
def records(
    measured: dict[str, list[Row]], root: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """All rows as the ledger sees them: written to CSV and read back. Do not change them."""
    folder = tmp_path_factory.mktemp("suites")
    found = []
    for suite, rows in measured.items():
        fields = table_fields(root / "workflow" / "schemas" / "suites" / f"{suite}.yaml")
        write(folder / f"{suite}.csv", [row.record() for row in rows], fields)
        found += read(folder / f"{suite}.csv", fields)
    return found


@pytest.fixture(scope="session")
def claims_schema(root: Path) -> dict[str, Any]:
    """The schema of a claim."""
    return load_yaml(root / "workflow" / "schemas" / "claims.schema.yaml")


@pytest.fixture(scope="session")
def claims(root: Path, config: dict[str, Any], claims_schema: dict[str, Any]) -> list[Claim]:
    """The project's claims."""
    return load_claims([root / path for path in config["claims"]], claims_schema)


@pytest.fixture(scope="session")
def ledger_records(claims: list[Claim], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ledger as the gate sees it. Do not change it."""
    return [entry.record() for entry in decide_claims(claims, records)]


@pytest.fixture(scope="session")
def control_records(
    claims: list[Claim],
    config: dict[str, Any],
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    shared_folder: Path,
) -> list[dict[str, Any]]:
    """The controls of all claims as the gate sees them. Do not change them."""
    told = {suite: suite_parameters(config, suite) for suite in suites_under_faults(claims)}
    fields = table_fields(root / "workflow/schemas/controls/claim-controls.yaml")
    path = tmp_path_factory.mktemp("controls") / "claim-controls.csv"
    controls = once(shared_folder / "controls", lambda: control(under_faults(claims), told))
    write(path, controls, fields)
    return read(path, fields)
