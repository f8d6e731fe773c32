"""Compares two folders of results: files, columns and keys first, then values cell by cell.

Values are compared, not how they are written; what is written otherwise though its values are the
same is a difference of its own. What has the same bytes is not read.
"""

import csv
import io
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from posinfo.baseline import layout
from posinfo.claims import Claim
from posinfo.errors import InputError
from posinfo.schemas import table_schema
from posinfo.tidy import Fields, Value, number_text, read

Record = Mapping[str, Any]

#: What can differ, in the order in which it is looked for.
KINDS = (
    "file missing", "file added", "unreadable", "column missing", "column added", "row missing",
    "row added", "order", "value",
)  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One difference.

    Attributes
    ----------
    file
        The path within the folders, such as ``suites/norms.csv``.
    kind
        One of :data:`KINDS`.
    key
        The row's key: the values of its key columns, with `` / `` between them.
    column
        The column, if it is one cell or one column that differs.
    old, new
        Both values as they stand in a CSV; what is wrong, if a file cannot be read.
    absolute, relative
        ``|new - old|``, and the same over ``|old|``; None where that means nothing.
    ulp, precision
        How many numbers of this precision lie between the two, the new one counted: units in the
        last place. float32 if both are numbers that float32 has (what was measured in float32
        is, and what was computed in float64 all but never), and otherwise float64.
    claims
        Ids of the claims whose verdict rests on the row.
    row
        The row as it is now, or was if it is gone: for whoever judges the change.
    was
        The row as it was, where both are there.
    """

    file: str
    kind: str
    key: str = ""
    column: str = ""
    old: str = ""
    new: str = ""
    absolute: float | None = None
    relative: float | None = None
    ulp: int | None = None
    precision: str = ""
    claims: tuple[str, ...] = ()
    row: Record = field(default_factory=dict, repr=False, compare=False)
    was: Record = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Comparison:
    """What differs between two folders.

    Attributes
    ----------
    changes
        All differences: file by file, and in each in the order of :data:`KINDS` and of its rows.
    files
        Names of all files that were looked at, those with the same bytes too.
    verdicts
        Verdicts that moved: by the claim's id the old and the new one, empty where there is none.
    """

    changes: tuple[Change, ...]
    files: tuple[str, ...]
    verdicts: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether nothing differs, not in a byte."""
        return not self.changes

    @property
    def unreadable(self) -> tuple[str, ...]:
        """A line for each file that could not be read."""
        return tuple(change.new for change in self.changes if change.kind == "unreadable")


def compare(
    old: str | Path,
    new: str | Path,
    schemas: str | Path,
    *,
    files: Iterable[str] | None = None,
    claims: Sequence[Claim] = (),
) -> Comparison:
    """Compare two folders of results.

    Parameters
    ----------
    old, new
        The folders, each with ``suites``, ``controls``, ``ledger.csv``, ``tables``, ``figures``.
    schemas
        The folder of the table schemas: they say which columns name a row (``key``), and what is a
        number. A file of ``old`` may have other columns than its schema has now.
    files
        Names of the files to compare, such as ``suites/norms.csv``; all of both folders if None.
    claims
        The claims, to say whose rows differ.

    Returns
    -------
    Comparison
        A file that cannot be read is a change of the kind ``unreadable``, never an exception.

    Raises
    ------
    InputError
        If a schema is missing or is not what it should be.
    """
    if files is None:
        known = [*layout.names(old), *layout.names(new)]
        files = dict.fromkeys(known)
    files = tuple(files)
    changes: list[Change] = []
    for name in files:
        changes += _file(name, Path(old, name), Path(new, name), schemas)
    used = _Users(claims)
    changes = [replace(change, claims=used(change)) for change in changes]
    return Comparison(tuple(changes), files, _verdicts(changes))


def _file(name: str, old: Path, new: Path, schemas: str | Path) -> list[Change]:
    if not old.is_file() and not new.is_file():
        return [Change(name, "unreadable", new=f"{name}: is in neither folder")]
    if not new.is_file():
        return [Change(name, "file missing")]
    if not old.is_file():
        return [Change(name, "file added")]
    if old.read_bytes() == new.read_bytes():
        return []
    path = layout.schema_path(name, schemas)
    if path is None:
        return [Change(name, "unreadable", new=f"{new}: has no schema in {schemas}")]
    schema = table_schema(path)
    fields, key = schema["fields"], schema["key"]
    try:
        before, were = _read_earlier(old, fields, key)
        now = read(new, fields)
    except InputError as error:
        return [Change(name, "unreadable", new=str(error))]
    are = [one["name"] for one in fields]
    changes = [Change(name, "column missing", column=one) for one in were if one not in are]
    changes += [Change(name, "column added", column=one) for one in are if one not in were]
    common = [one for one in fields if one["name"] in were]
    if not changes and were != are:
        changes.append(Change(name, "order", column=" ".join(were)))
    return changes + _rows(name, before, now, common, key)


def _read_earlier(path: Path, fields: Fields, key: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Read a file that may have been written under an earlier schema: rows, and columns."""
    try:
        return read(path, fields), [one["name"] for one in fields]
    except InputError:
        # Another header is a difference and no damage, as long as rows can be told apart by it.
        with open(path, "rb") as file:
            first = file.readline()
        try:
            header = next(csv.reader(io.StringIO(first.decode(), newline=""), strict=True), [])
        except (UnicodeDecodeError, csv.Error):
            header = []
        known = {one["name"]: one for one in fields}
        fit = len(set(header)) == len(header) and set(key) <= set(header)
        fit = fit and all(name.isprintable() for name in header)  # a byte order mark is damage
        if not fit or header == list(known):
            raise
        return read(path, [known.get(name, {"name": name}) for name in header]), header


def _rows(
    name: str,
    before: Sequence[Record],
    now: Sequence[Record],
    fields: Fields,
    key: Sequence[str],
) -> list[Change]:
    old, new = _keyed(before, key), _keyed(now, key)
    changes = [Change(name, "row missing", one, row=old[one]) for one in old if one not in new]
    changes += [Change(name, "row added", one, row=new[one]) for one in new if one not in old]
    if [one for one in old if one in new] != [one for one in new if one in old]:
        changes.append(Change(name, "order"))
    for one in new:
        if one in old:
            changes += _cells(name, one, old[one], new[one], fields)
    return changes


def _keyed(rows: Iterable[Record], key: Sequence[str]) -> dict[str, Record]:
    """Rows by the text of their key, which a file holds once."""
    return {" / ".join(_text(row[name]) for name in key): row for row in rows}


def _cells(name: str, key: str, old: Record, new: Record, fields: Fields) -> list[Change]:
    changes = []
    for one in fields:
        column = one["name"]
        was, now = _text(old[column]), _text(new[column])
        if was != now:
            distance = _distance(old[column], new[column])
            changes.append(
                Change(name, "value", key, column, was, now, *distance, row=new, was=old)
            )
    return changes


def _text(value: Value) -> str:
    return value if isinstance(value, str) else number_text(value)


def _distance(old: Value, new: Value) -> tuple[float | None, float | None, int | None, str]:
    """Absolute and relative difference, units in the last place, and of which precision."""
    numbers = isinstance(old, (int, float)) and isinstance(new, (int, float))
    if not numbers or not (math.isfinite(old) and math.isfinite(new)):
        return None, None, None, ""
    absolute = abs(new - old)
    relative = absolute / abs(old) if old else None
    if isinstance(old, int) and isinstance(new, int):
        return absolute, relative, None, ""  # counts have no last place
    precision = "float32" if _is_float32(old) and _is_float32(new) else "float64"
    steps = abs(_ordinal(float(new), precision) - _ordinal(float(old), precision))
    return absolute, relative, steps, precision


def _is_float32(value: float) -> bool:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0] == value
    except OverflowError:
        return False


def _ordinal(value: float, precision: str) -> int:
    """The place of a number among all of its precision; 0 for zero, of either sign."""
    code = {"float32": ("<f", "<I", 31), "float64": ("<d", "<Q", 63)}[precision]
    bits = struct.unpack(code[1], struct.pack(code[0], value))[0]
    magnitude = bits & ((1 << code[2]) - 1)
    return -magnitude if bits >> code[2] else magnitude


class _Users:
    """Which claims rest on the row of a change."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._selectors: dict[str, list[tuple[str, Any]]] = {}
        for claim in claims:
            for selector in claim.supports + claim.breaks:
                self._selectors.setdefault(selector.suite, []).append((claim.id, selector))
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def __call__(self, change: Change) -> tuple[str, ...]:
        folder, _, file = change.file.rpartition("/")
        if not change.row:
            return ()
        if change.file == layout.LEDGER:
            return (change.row["id"],)
        if folder == "controls":
            return (change.row["claim"],)
        if folder != "suites":
            return ()
        place = (change.file, change.key)
        if place not in self._known:
            self._known[place] = tuple(
                dict.fromkeys(
                    name
                    for name, selector in self._selectors.get(Path(file).stem, ())
                    if any(row and selector.matches(row) for row in (change.row, change.was))
                )
            )
        return self._known[place]


def _verdicts(changes: Iterable[Change]) -> dict[str, tuple[str, str]]:
    moved = {}
    for change in changes:
        if change.file != layout.LEDGER:
            continue
        if change.column == "reproduced":
            moved[change.row["id"]] = (change.old, change.new)
        elif change.kind == "row missing":
            moved[change.row["id"]] = (change.row["reproduced"], "")
        elif change.kind == "row added":
            moved[change.row["id"]] = ("", change.row["reproduced"])
    return moved
