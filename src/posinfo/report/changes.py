"""What differs from the accepted results, as the page shows it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from posinfo.baseline import judging
from posinfo.numbers_text import significant
from posinfo.report.model import Cell, ChangesView, Column, Grid, Term

#: How many changes are shown at once, and how many more can be unfolded; the CSV has all.
SHOWN, UNFOLDED = 8, 12
#: How many reasons are listed.
REASONS = 6
#: Characters of a text that are shown in a cell.
_LONGEST = 90

MEANINGS = {
    judging.MOVED: "promised to stay, so that the run is red until it is accepted",
    judging.UNREADABLE: "a file cannot be read",
    judging.BENEATH: (
        "measured with other versions of packages, outside of the numerical profile, or on another "
        "kind of machine, of which nothing is promised"
    ),
    judging.PROCESSOR: (
        "measured on another x86-64 processor or with another C library, and uses about the same "
        "share of its bound"
    ),
    judging.TRAINING: "measured on decoders that were trained anew, and as close as seeds are",
    judging.CONFIG: "measured with another config, as was asked for",
    judging.FOLLOWS: "made of rows that differ",
    judging.WORDING: "the claims are worded otherwise",
}
COLUMNS = (
    Column("What"), Column("Row"), Column("Accepted"), Column("Now"),
    Column("Relative", numeric=True), Column("ULP", numeric=True), Column("Claims"),
    Column("What becomes of it"), Column("Why it can be"),
)  # fmt: skip


def changes_view(records: Sequence[Mapping[str, Any]], path: str) -> ChangesView:
    """The section about changes.

    Parameters
    ----------
    records
        The rows of ``results/comparison.csv``.
    path
        Where it lies; empty if nothing was compared.
    """
    order = {standing: number for number, standing in enumerate(judging.STANDINGS)}
    ordered = sorted(records, key=lambda one: order.get(one["standing"], len(order)))
    counted = Counter(one["standing"] for one in ordered)
    why = Counter(one["why"] or "nothing that is known" for one in ordered)
    shown, rest = ordered[:SHOWN], ordered[SHOWN : SHOWN + UNFOLDED]
    return ChangesView(
        compared=bool(path),
        total=len(ordered),
        moved=counted[judging.MOVED],
        standings=tuple(
            Term(f"{number:,} {standing}", MEANINGS.get(standing, ""))
            for standing, number in counted.items()
        ),
        why=tuple(text for text, _ in why.most_common(REASONS)),
        shown=_grid(shown) if shown else None,
        rest=_grid(rest) if rest else None,
        left_out=max(len(ordered) - SHOWN - UNFOLDED, 0),
        path=path,
    )


def _grid(records: Sequence[Mapping[str, Any]]) -> Grid:
    return Grid(COLUMNS, tuple(_row(one) for one in records))


def _row(one: Mapping[str, Any]) -> tuple[Cell, ...]:
    what = f"results/{one['file']}: {one['column'] or one['kind']}"
    ulp = f"{one['ulp']:,} of {one['precision']}" if one["ulp"] is not None else ""
    return (
        Cell(what, "code"),
        Cell(_short(one["key"])),
        Cell(_short(one["old"])),
        Cell(_short(one["new"])),
        Cell(significant(one["relative"], 2), "number"),
        Cell(ulp, "number"),
        Cell(_short(one["verdict"] or one["claims"].replace(" ", ", "))),
        Cell(one["standing"]),
        Cell(_short(one["why"] or "nothing that is known")),
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
