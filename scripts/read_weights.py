"""Measure one thing on real weights in one window: results/pretrained/jobs/<job>.csv."""

from pathlib import Path
from typing import TYPE_CHECKING

from posinfo import extras
from posinfo.job import job
from posinfo.pretrained import plan
from posinfo.schemas import table_fields
from posinfo.tidy import write

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        extras.check("pretrained")
        records = plan.run(
            plan.named(snakemake.wildcards.job, snakemake.params.settings),
            Path(snakemake.input.weights).parent,
            snakemake.params.settings,
            lambda line: print(line, flush=True),
        )
        write(snakemake.output.csv, records, table_fields(snakemake.input.schema))
