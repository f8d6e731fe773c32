"""Record what the results were made with, and which they are: results/provenance.json."""

from typing import TYPE_CHECKING

from posinfo import environment
from posinfo.job import job
from posinfo.provenance import document
from posinfo.tidy import json_text, write_atomically

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        given, told = snakemake.input, snakemake.params
        # What cannot be read is not known; the gate names it.
        found, unreadable = environment.read_all(given.environments)
        print(*unreadable, sep="\n")
        text = json_text(
            document(
                code=told.code,
                config=told.config,
                environments=dict(zip(given.measured, found, strict=True)),
                accepted=dict(zip(told.accepted, given.accepted, strict=True)),
                results=given.results,
            )
        )
        write_atomically(snakemake.output.json, text)
