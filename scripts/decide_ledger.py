"""Join the claims to the rows and decide them: results/ledger.csv."""

from typing import TYPE_CHECKING

from posinfo.claims import load_claims
from posinfo.job import job
from posinfo.ledger import decide_claims
from posinfo.schemas import fields_by_name, load_yaml, table_fields
from posinfo.tidy import read_all, write

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        claims = load_claims(snakemake.input.claims, load_yaml(snakemake.input.claims_schema))
        # A file that cannot be read leaves its claims undecided, and the gate names it: the
        # page is made all the same.
        rows, unreadable = read_all(
            snakemake.input.suites, fields_by_name(snakemake.input.suite_schemas)
        )
        print(*unreadable, sep="\n")
        entries = decide_claims(claims, rows)
        write(
            snakemake.output.csv,
            [entry.record() for entry in entries],
            table_fields(snakemake.input.ledger_schema),
        )
