"""Rows and tables as grids of text: what to show, what to say once, what to fold away."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from posinfo.numbers_text import significant
from posinfo.report.model import Cell, Column, Fact, Grid, RowGroup
from posinfo.report.words import OUTCOMES
from posinfo.rows import EVIDENCE
from posinfo.tidy import Fields

Row = Mapping[str, Any]
Line = tuple[Cell, ...]

#: Digits of a measured value, and of errors, bounds and ratios; the CSV has them all.
DIGITS = 4
ERROR_DIGITS = 2

#: Columns of which the size says all there is to say.
_ERRORS = ("error", "bound")

#: A space at which no line may break.
NO_BREAK = "\u00a0"

_SIGN = {"within": f"≤{NO_BREAK}", "exceeds": f"≥{NO_BREAK}"}


def value_cell(value: Any, digits: int = DIGITS) -> Cell:
    """A value as a cell: numbers rounded for reading, text as it is."""
    if value is None:
        return Cell("")
    if isinstance(value, str):
        return Cell(value)
    return Cell(_number(value, digits), "number")


def _number(value: float, digits: int) -> str:
    """A number for reading: rounded, with a minus sign, and never broken over two lines."""
    return significant(value, digits).replace("-", "−").replace(" ", NO_BREAK)


def table_grid(fields: Fields, records: Sequence[Row]) -> Grid:
    """A table under its schema: titles and units in the head, numbers to a few digits."""
    columns = tuple(
        Column(
            field.get("title", field["name"]),
            field.get("unit", ""),
            field.get("description", ""),
            field.get("type") in ("number", "integer"),
        )
        for field in fields
    )
    digits = [ERROR_DIGITS if field["name"] in _ERRORS else DIGITS for field in fields]
    rows = tuple(
        tuple(
            value_cell(record[field["name"]], count)
            for field, count in zip(fields, digits, strict=True)
        )
        for record in records
    )
    return Grid(columns, rows)


def _side(row: Row, name: str) -> Cell:
    """``measured`` or ``reference``: the number, or the text where there is no number."""
    if row[name] is not None:
        return value_cell(row[name])
    return Cell(row[f"{name}_text"], "code") if row[f"{name}_text"] else Cell("")


def _bound(row: Row) -> Cell:
    if row["relation"] in _SIGN:
        sign = _SIGN[row["relation"]]
        return Cell(f"{sign}{_number(row['bound'], ERROR_DIGITS)}", "number")
    return Cell(row["relation"])


#: Columns of a table of rows: title, whether numeric, how a row fills it.
_COLUMNS: dict[str, tuple[str, bool, Callable[[Row], Cell]]] = {
    "quantity": ("Quantity", False, lambda row: Cell(row["quantity"])),
    "measured": ("Measured", True, lambda row: _side(row, "measured")),
    "reference": ("Reference", True, lambda row: _side(row, "reference")),
    "error": ("Error", True, lambda row: value_cell(row["error"], ERROR_DIGITS)),
    "bound": ("Bound", True, _bound),
    "ratio": ("Bound used", True, lambda row: value_cell(row["ratio"], ERROR_DIGITS)),
    "suite": ("Suite", False, lambda row: Cell(row["suite"])),
    "case": ("Case", False, lambda row: Cell(row["case"])),
    "subject": ("Measured on", False, lambda row: Cell(row["subject"], "code")),
    "evidence": ("Evidence", False, lambda row: Cell(row["evidence"])),
    "basis": ("Basis", False, lambda row: Cell(row["basis"])),
    "outcome": (
        "Outcome",
        False,
        lambda row: Cell(OUTCOMES[row["outcome"]].word, OUTCOMES[row["outcome"]].name),
    ),
}

#: Columns that are said once, above the table, where all rows agree.
_SHARED = ("suite", "case", "subject", "evidence", "basis")


#: How many rows of one group are folded away; the others stand in the CSV, which is on the page's
#: side, and are counted.
FOLDED_ROWS = 8


def most_telling(rows: Sequence[Row], limit: int) -> list[int]:
    """Places of the rows that a reader should see first, in the order of the rows.

    Rows that do not hold come first; then, of each kind of evidence, the row that used most of
    its bound; then whichever used most.
    """

    def weight(place: int) -> tuple[bool, float, int]:
        row = rows[place]
        return row["outcome"] != "holds", row["ratio"] or 0.0, -place

    by_weight = sorted(range(len(rows)), key=weight, reverse=True)
    chosen = [place for place in by_weight if rows[place]["outcome"] != "holds"]
    for kind in EVIDENCE:
        first = next((place for place in by_weight if rows[place]["evidence"] == kind), None)
        if first is not None:
            chosen.append(first)
    return sorted(list(dict.fromkeys(chosen + by_weight))[:limit])


def row_group(
    anchor: str,
    title: str,
    rows: Sequence[Row],
    *,
    limit: int | None = None,
    separating: Mapping[str, str] | None = None,
) -> RowGroup | None:
    """Rows of one role as a table: None if there are none.

    Parameters
    ----------
    anchor, title
        Where the table stands and what it is called.
    rows
        Rows as read from the suites' CSV files.
    limit
        How many to show unfolded; all of them if None, or if only one more would be folded.
    separating
        Columns of the suite in which a condition's two sides differ, by name, with their titles.
    """
    if not rows:
        return None
    separating = dict(separating or {})
    cells = {name: [fill(row) for row in rows] for name, (_, _, fill) in _COLUMNS.items()}
    titles = {name: (title, numeric) for name, (title, numeric, _) in _COLUMNS.items()}
    for name, text in separating.items():
        if name not in cells:
            cells[name] = [value_cell(row.get(name)) for row in rows]
            titles[name] = (text, any(cell.kind == "number" for cell in cells[name]))
    all_hold = all(row["outcome"] == "holds" for row in rows)
    shared = [name for name in _SHARED if name not in separating and _same(cells[name])]
    head = "quantity"
    if len(rows) > 1 and _same(cells["quantity"]) and "subject" not in shared:
        head = "subject"
        shared.insert(0, "quantity")
    facts = tuple(Fact(titles[name][0], cells[name][0]) for name in shared if cells[name][0].text)
    hidden = {*shared, *(["outcome"] if all_hold else [])}
    order = [head, *separating, *(name for name in _COLUMNS if name not in separating)]
    names = [
        name
        for name in dict.fromkeys(order)
        if name not in hidden and any(cell.text for cell in cells[name])
    ]
    columns = tuple(
        Column(titles[name][0], numeric=titles[name][1] and _numeric(cells[name])) for name in names
    )
    # Joined cells shift those after them, and numbers are aligned by their place.
    numeric = [place for place, column in enumerate(columns) if column.numeric]
    texts = [names.index(n) for n in _SHARED if n in names[max(numeric, default=0) + 1 :]]
    lines = [tuple(cells[name][place] for name in names) for place in range(len(rows))]
    if limit is None or len(rows) <= limit + 1:
        limit = len(rows)
    places = most_telling(rows, limit)
    rest = [line for place, line in enumerate(lines) if place not in set(places)]
    # Rows that do not hold are among those shown; a page of thousands of rows serves nobody.
    rest, left_out = rest[:FOLDED_ROWS], len(rest[FOLDED_ROWS:])
    return RowGroup(
        anchor=anchor,
        title=title,
        count=len(rows),
        all_hold=all_hold,
        facts=facts,
        shown=Grid(columns, joined([lines[place] for place in places], texts)),
        rest=Grid(columns, joined(rest, texts)) if rest else None,
        left_out=left_out,
    )


def joined(lines: Sequence[Line], texts: Collection[int]) -> tuple[Line, ...]:
    """Rows whose cells in the columns ``texts`` stand once for neighbours that say the same."""
    grid = [list(line) for line in lines]
    for column in texts:
        first = 0
        for place in range(1, len(grid) + 1):
            if place < len(grid) and grid[place][column] == grid[first][column]:
                continue
            for other in range(first, place):
                span = place - first if other == first else 0
                grid[other][column] = replace(grid[other][column], span=span)
            first = place
    return tuple(tuple(line) for line in grid)


def _same(cells: Sequence[Cell]) -> bool:
    return len(set(cells)) == 1


def _numeric(cells: Sequence[Cell]) -> bool:
    return all(cell.kind == "number" for cell in cells if cell.text)
