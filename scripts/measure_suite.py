"""Measure one suite: results/suites/<suite>.csv, and in what environment."""

from typing import TYPE_CHECKING

from posinfo.job import job
from posinfo.schemas import fields_by_name
from posinfo.tidy import json_text, write, write_atomically
from posinfo.warm import measured

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        suite = snakemake.wildcards.suite
        rows, environment = measured(suite, snakemake.params.parameters)
        write(snakemake.output.csv, rows, fields_by_name(snakemake.input.schemas)[suite])
        write_atomically(snakemake.output.environment, json_text(environment))
