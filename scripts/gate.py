"""Decide whether the run is green: exit status 0 or 1, and the last lines on the terminal."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from posinfo.baseline import accepted
from posinfo.extras import advice
from posinfo.gate import (
    comparison_lines,
    control_lines,
    environment_lines,
    file_lines,
    missing_lines,
    problems,
    provenance_lines,
    verdict_line,
)
from posinfo.job import job, say_last
from posinfo.schemas import fields_by_name, table_fields
from posinfo.tidy import read_all

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        given = snakemake.input
        rows, unreadable = read_all(given.suites, fields_by_name(given.suite_schemas))
        ledger, unreadable_ledger = read_all([given.ledger], fields_by_name([given.ledger_schema]))
        controls, unreadable_controls = read_all(
            [given.controls], fields_by_name([given.controls_schema])
        )
        missing_fields = table_fields(given.missing_schema)
        missing, unreadable_missing = read_all(
            given.missing, {Path(path).stem: missing_fields for path in given.missing}
        )
        changes, unreadable_changes = read_all(
            [given.comparison], fields_by_name([given.comparison_schema])
        )
        lines = [
            *file_lines(given.digests, [*given.results, given.provenance]),
            *provenance_lines(given.provenance, given.digests, given.results),
            *environment_lines(given.environments),
            *unreadable,
            *unreadable_controls,
            *unreadable_ledger,
            *unreadable_missing,
            *problems(rows, ledger, given.suites, snakemake.params.implementations),
            *control_lines(controls, ledger, given.controls),
            *missing_lines(missing),
            *unreadable_changes,
            *accepted.problems(snakemake.params.baseline),
            *comparison_lines(changes, rows),
        ]
        lines = list(dict.fromkeys(lines))
        for line in lines:
            say_last(line)
        for line in advice(rows):
            say_last(line)
        verdicts = verdict_line(ledger)
        if lines:
            number = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
            say_last(f"NOT REPRODUCED: {number} above. {verdicts}. See {given.page}")
            sys.exit(1)
        say_last(f"{verdicts}. Every row holds: {given.page}")
