"""Train the decoders of one encoding: results/trained/<encoding>.safetensors, and their loss."""

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
        from posinfo.decoder.weights import store

        encoding, settings = snakemake.wildcards.encoding, snakemake.params.settings
        weights, records = jobs.from_nothing(
            encoding, settings, lambda line: print(line, flush=True)
        )
        about = {"encoding": encoding, **settings, "environment": environment.measuring()}
        store(snakemake.output.weights, weights, about)
        write(snakemake.output.csv, records, table_fields(snakemake.input.schema))
