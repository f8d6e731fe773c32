"""Compare the results with the accepted ones: results/comparison.csv and results/basis.json."""

from pathlib import Path
from typing import TYPE_CHECKING

from posinfo import environment
from posinfo.baseline.basis import document
from posinfo.baseline.run import compared
from posinfo.catalogue import SUITES
from posinfo.claims import load_claims
from posinfo.job import job
from posinfo.schemas import load_yaml, table_fields
from posinfo.tidy import json_text, write, write_atomically

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        given, told = snakemake.input, snakemake.params
        # What cannot be read is not known; the gate names it.
        found, unreadable = environment.read_all(given.environments)
        print(*unreadable, sep="\n")
        basis = document(
            source=told.source,
            config=told.config,
            claims=given.claims,
            packages=told.packages,
            readings=given.readings,
            environments=dict(zip(given.measured, found, strict=True)),
            suites=SUITES,
        )
        write_atomically(snakemake.output.basis, json_text(basis))
        records = compared(
            told.baseline,
            Path(given.ledger).parent,
            schemas=told.schemas,
            claims=load_claims(given.claims, load_yaml(given.claims_schema)),
            basis=basis,
            source=told.source,
            **told.config["comparison"],
        ).records()
        write(snakemake.output.csv, records, table_fields(given.schema))
