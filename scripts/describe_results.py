"""Describe every CSV of a run, column by column: results/datapackage.json."""

from pathlib import Path
from typing import TYPE_CHECKING

from posinfo.datapackage import document, read_resource
from posinfo.job import job
from posinfo.schemas import table_schema
from posinfo.tidy import json_text, write_atomically

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        folder = Path(snakemake.output.json).parent
        resources = [
            read_resource(path, folder, table_schema(schema))
            for path, schema in zip(snakemake.input.tables, snakemake.input.schemas, strict=True)
        ]
        write_atomically(snakemake.output.json, json_text(document(resources)))
