"""Draw the report's figures, light and dark, and write their data: results/figures/<figure>.*."""

from pathlib import Path
from typing import TYPE_CHECKING

from posinfo.figures import THEMES, draw
from posinfo.job import job
from posinfo.schemas import fields_by_name, table_fields
from posinfo.tables import FIGURES, FINDINGS, Data, build_all
from posinfo.tidy import read_all, write, write_atomically

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

if __name__ == "__main__":
    with job(snakemake):
        given, made = snakemake.input, snakemake.output
        rows, unreadable = read_all(given.suites, fields_by_name(given.suite_schemas))
        print(*unreadable, sep="\n")
        # Figures show measurements, not verdicts: they need no ledger, and do not wait for it.
        figures, missing = build_all(
            FIGURES | FINDINGS, Data(rows, [], snakemake.params.config), "figure"
        )
        fields = fields_by_name(given.figure_schemas)
        for path in map(Path, made.data):
            write(path, figures[path.stem], fields[path.stem])
            for style in THEMES:
                picture = draw(path.stem, figures[path.stem], style)
                write_atomically(path.with_suffix(f".{style.name}.svg"), picture)
        write(made.missing, missing, table_fields(given.missing_schema))
