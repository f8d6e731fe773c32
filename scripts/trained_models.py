"""Join the readings of real weights: results/pretrained/readings.csv, and what they rest on."""

import json
from typing import TYPE_CHECKING

from posinfo.digests import sha256
from posinfo.job import job, say_last
from posinfo.pretrained import readings
from posinfo.schemas import table_fields
from posinfo.tidy import read, write, write_atomically

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        fields = table_fields(snakemake.input.schema)
        records = readings.in_order(
            record for path in snakemake.input.jobs for record in read(path, fields)
        )
        write(snakemake.output.csv, records, fields)
        about = readings.about(
            snakemake.params.settings, snakemake.params.code, sha256(snakemake.output.csv)
        )
        write_atomically(snakemake.output.about, json.dumps(about, indent=2) + "\n")
        say_last(f"trained_models: {len(records)} readings in {snakemake.output.csv}")
