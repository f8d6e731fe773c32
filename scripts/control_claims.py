"""Decide claims anew under the faults that they name: results/controls/claim-controls.csv."""

from typing import TYPE_CHECKING

from posinfo.job import job
from posinfo.schemas import table_fields
from posinfo.tidy import json_text, write, write_atomically
from posinfo.warm import controlled

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        rows, environment = controlled(snakemake.params.claims, snakemake.params.parameters)
        write(snakemake.output.csv, rows, table_fields(snakemake.input.schemas[-1]))
        write_atomically(snakemake.output.environment, json_text(environment))
