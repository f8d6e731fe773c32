"""Make the report's tables: results/tables/<table>.csv."""

from pathlib import Path
from typing import TYPE_CHECKING

from posinfo.claims import load_claims
from posinfo.job import job
from posinfo.schemas import fields_by_name, load_yaml, table_fields
from posinfo.tables import TABLES, Data, build_all
from posinfo.tidy import read_all, write

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        given, made = snakemake.input, snakemake.output
        rows, unreadable = read_all(given.suites, fields_by_name(given.suite_schemas))
        ledger, unreadable_ledger = read_all([given.ledger], fields_by_name([given.ledger_schema]))
        print(*unreadable, *unreadable_ledger, sep="\n")
        claims = load_claims(given.claims, load_yaml(given.claims_schema))
        data = Data(rows, ledger, snakemake.params.config, claims)
        tables, missing = build_all(TABLES, data, "table")
        fields = fields_by_name(given.table_schemas)
        for path in made.tables:
            write(path, tables[Path(path).stem], fields[Path(path).stem])
        # The page says why a table is not there, and the gate does not let it pass.
        write(made.missing, missing, table_fields(given.missing_schema))
