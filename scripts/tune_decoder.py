"""Tune the rotary decoders by one method: results/trained/rotary-<method>.safetensors."""

from typing import TYPE_CHECKING

from posinfo import environment
from posinfo.decoder.process import prepare
from posinfo.job import job
from posinfo.schemas import table_fields
from posinfo.tidy import write

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        prepare()
        from posinfo.decoder import jobs
        from posinfo.decoder.weights import load, store

        method, settings = snakemake.wildcards.method, snakemake.params.settings
        start, _ = load(snakemake.input.weights)
        weights, records = jobs.tuned(method, start, settings, lambda line: print(line, flush=True))
        about = {"method": method, **settings, "environment": environment.measuring()}
        store(snakemake.output.weights, weights, about)
        write(snakemake.output.csv, records, table_fields(snakemake.input.schema))
