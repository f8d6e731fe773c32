"""Measure one suite: results/suites/<suite>.csv."""

from typing import TYPE_CHECKING

from posinfo.job import job
from posinfo.schemas import fields_by_name
from posinfo.tidy import write
from posinfo.warm import measured

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        suite = snakemake.wildcards.suite
        rows = measured(suite, snakemake.params.parameters)
        write(snakemake.output.csv, rows, fields_by_name(snakemake.input.schemas)[suite])
