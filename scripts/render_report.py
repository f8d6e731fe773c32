"""Render everything as one page: report/index.html."""

from pathlib import Path
from typing import TYPE_CHECKING

from posinfo.job import job
from posinfo.report import build, read_inputs, render
from posinfo.tidy import write_atomically

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

#: What lies beside the templates.
CAPTIONS = "captions.yaml"
FINDINGS = "findings.yaml"

if __name__ == "__main__":
    with job(snakemake):
        given = snakemake.input
        beside = {Path(path).name: path for path in given.templates}
        inputs = read_inputs(
            suites=given.suites,
            suite_schemas=given.suite_schemas,
            controls=given.controls,
            controls_schema=given.controls_schema,
            ledger=given.ledger,
            ledger_schema=given.ledger_schema,
            claims=given.claims,
            claims_schema=given.claims_schema,
            tables=given.tables,
            table_schemas=given.table_schemas,
            figures=given.data,
            figure_schemas=given.figure_schemas,
            drawings=given.svg,
            missing=given.missing,
            comparison=given.comparison,
            comparison_schema=given.comparison_schema,
            missing_schema=given.missing_schema,
            captions=beside[CAPTIONS],
            captions_schema=given.captions_schema,
            recorded=given.digests,
            environments=given.environments,
            findings=beside[FINDINGS],
            findings_schema=given.findings_schema,
            implementations=snakemake.params.implementations,
            portability=snakemake.params.portability,
            rehearsed=snakemake.params.rehearsed,
        )
        templates = Path(given.templates[0]).parent
        write_atomically(snakemake.output.page, render(build(inputs), str(templates)))
