"""Rows and tables as grids of text: what to show, what to say once, what to fold away."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from posinfo.numbers_text import significant
from posinfo.report.model import Cell, Column, Fact, Grid, RowGroup, RowTable
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

#: Columns of float32 values, which are whole when they are large: rounded like the others there.
_ROUNDED = ("longest_wavelength",)

#: A space at which no line may break.
NO_BREAK = "\u00a0"

_SIGN = {"within": f"≤{NO_BREAK}", "exceeds": f"≥{NO_BREAK}"}


def value_cell(value: Any, digits: int = DIGITS, *, whole: bool = True) -> Cell:
    """A value as a cell: numbers rounded for reading, ``whole`` ones in full, text as it is."""
    if value is None:
        return Cell("")
    if isinstance(value, str):
        return Cell(value)
    return Cell(_number(value, digits, whole=whole), "number")


def _number(value: float, digits: int, *, whole: bool = True) -> str:
    """A number for reading: rounded, with a minus sign, and never broken over two lines."""
    text = significant(value, digits, whole=whole)
    return text.replace("-", "−").replace(" ", NO_BREAK)


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
            value_cell(record[field["name"]], count, whole=field["name"] not in _ROUNDED)
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

#: Columns that are said once, beside the table, where all rows agree.
_SHARED = ("suite", "case", "subject", "evidence", "basis")

#: How many rows are folded away at most: to unfold some of many serves nobody. Longer lists stand
#: in the suite's CSV, and the page says by which columns they are found there.
FOLDED_ROWS = 8
#: The like for counter-examples, of which there shall be more to see.
FOLDED_COUNTEREXAMPLES = 12


@dataclass(frozen=True)
class Role:
    """Rows of one role in a table: what the role is called, and how many of them to show unfolded.

    All are shown if ``limit`` is None, or if only one more would be folded. ``breaking`` rows are
    counter-examples, of which more are folded than of others.
    """

    title: str
    rows: Sequence[Row]
    limit: int | None = None
    breaking: bool = False


def most_telling(rows: Sequence[Row], limit: int) -> list[int]:
    """Places of the rows that a reader should see first, in the order of the rows.

    Rows that do not hold are all among them; then come, of each kind of evidence, the row that
    used most of its bound; then whichever used most.
    """

    def weight(place: int) -> tuple[bool, float, int]:
        row = rows[place]
        return row["outcome"] != "holds", row["ratio"] or 0.0, -place

    by_weight = sorted(range(len(rows)), key=weight, reverse=True)
    chosen = [place for place in by_weight if rows[place]["outcome"] != "holds"]
    limit = max(limit, len(chosen))
    for kind in EVIDENCE:
        first = next((place for place in by_weight if rows[place]["evidence"] == kind), None)
        if first is not None:
            chosen.append(first)
    return sorted(list(dict.fromkeys(chosen + by_weight))[:limit])


def row_table(
    roles: Sequence[Role],
    separating: Mapping[str, str] | None = None,
    told: Collection[str] = (),
) -> RowTable | None:
    """Rows as a table, by their roles: None if there are no rows.

    Parameters
    ----------
    roles
        Rows as read from the suites' CSV files, in the order in which they are shown.
    separating
        Columns of the suite in which a condition's two sides differ, by name, with their titles.
    told
        Columns that need not be said where all rows agree: the page says them elsewhere.
    """
    roles = [role for role in roles if role.rows]
    if not roles:
        return None
    rows = [row for role in roles for row in role.rows]
    separating = dict(separating or {})
    cells = {name: [fill(row) for row in rows] for name, (_, _, fill) in _COLUMNS.items()}
    titles = {name: (title, numeric) for name, (title, numeric, _) in _COLUMNS.items()}
    for name, text in separating.items():
        if name not in cells:
            cells[name] = [value_cell(row.get(name)) for row in rows]
            titles[name] = (text, any(cell.kind == "number" for cell in cells[name]))
    all_hold = all(row["outcome"] == "holds" for row in rows)
    parts = _parts([len(role.rows) for role in roles])
    # Said once: for all rows if they agree, or else for each role if the rows of each do.
    said = [
        name
        for name in _SHARED
        if name not in separating and all(_same(cells[name][part]) for part in parts)
    ]
    shared = [name for name in said if _same(cells[name])]
    head = "quantity"
    if len(rows) > 1 and _same(cells["quantity"]) and "subject" not in said:
        head = "subject"
        shared.insert(0, "quantity")
    hidden = {*shared, *said, *(["outcome"] if all_hold else [])}
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

    def facts(of: Iterable[str], place: int) -> tuple[Fact, ...]:
        return tuple(
            Fact(titles[name][0], cells[name][place]) for name in of if cells[name][place].text
        )

    own = [name for name in said if name not in shared]
    groups = [
        _group(role, lines[part], texts, facts(own, part.start))
        for role, part in zip(roles, parts, strict=True)
    ]
    said_here = [name for name in shared if name not in told]
    return RowTable(Grid(columns, ()), facts(said_here, 0), tuple(groups))


def _group(
    role: Role, lines: Sequence[Line], texts: Collection[int], facts: tuple[Fact, ...]
) -> RowGroup:
    """The rows of one role: which are shown, which folded, and how many are neither."""
    limit = role.limit
    if limit is None or len(lines) <= limit + 1:
        limit = len(lines)
    shown = most_telling(role.rows, limit)
    # Rows that do not hold are shown whatever the limit says.
    rest = [line for place, line in enumerate(lines) if place not in set(shown)]
    most = FOLDED_COUNTEREXAMPLES if role.breaking else FOLDED_ROWS
    folded = rest if len(rest) <= most else []
    return RowGroup(
        title=role.title,
        breaking=role.breaking,
        count=len(lines),
        all_hold=all(row["outcome"] == "holds" for row in role.rows),
        facts=facts,
        shown=joined([lines[place] for place in shown], texts),
        rest=joined(folded, texts),
        left_out=len(rest) - len(folded),
    )


def _parts(lengths: Sequence[int]) -> list[slice]:
    """Where lists of these lengths stand, one behind the other."""
    ends = list(accumulate(lengths))
    return [slice(end - length, end) for length, end in zip(lengths, ends, strict=True)]


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
