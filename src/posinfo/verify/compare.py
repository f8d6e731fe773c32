"""Compares results with the same results made anew, file by file and cell by cell."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo import digests
from posinfo.baseline import compare
from posinfo.baseline.layout import schema_path
from posinfo.errors import InputError
from posinfo.schemas import table_schema
from posinfo.tidy import table

#: What becomes of a file.
SAME, DIFFERS, MISSING, EXTRA, LENT, TRAINED = (
    "same bytes", "differs", "missing", "not re-executed", "lent", "within the spread of the seeds",
)  # fmt: skip
#: The suite whose rows rest on training.
TRAINED_SUITE = "results/suites/trained.csv"
#: Longest text of a cell that is shown.
_SHOWN = 100


@dataclass(frozen=True)
class Difference:
    """Where a result is not what was made anew.

    Attributes
    ----------
    file
        Path of the result, as the provenance lists it.
    what
        What is wrong, if it is not that one cell has another value.
    line
        Line of the file as it was found, if it is there.
    key, column
        The row's key and the column of a cell.
    expected, found
        What was made anew, and what stands there.
    """

    file: str
    what: str = ""
    line: int | None = None
    key: str = ""
    column: str = ""
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        """One line for a reader."""
        place = f"{self.file} line {self.line}" if self.line else self.file
        within = ", ".join(part for part in (self.key, self.column) if part)
        if self.what:
            return f"{place}: {f'{within}: ' if within else ''}{self.what}"
        return (
            f"{place}: {f'{within}: ' if within else ''}re-executed {_short(self.expected)}, "
            f"found {_short(self.found)}"
        )


def _short(text: str) -> str:
    text = " ".join(text.split()) or "nothing"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


class Folders:
    """Results as they were found, and as they were made anew.

    Parameters
    ----------
    found
        The folder of results, whatever its name; the page lies beside it.
    anew
        The folder in which the workflow ran.
    schemas
        The folder of the table schemas.
    """

    def __init__(self, found: Path, anew: Path, schemas: Path) -> None:
        self.found, self.anew, self.schemas = found, anew, schemas

    def place(self, path: str) -> Path:
        """Where a result lies that was found, by its path from the folder of its run."""
        if path.startswith("results/"):
            return self.found / path.removeprefix("results/")
        return self.found.parent / path

    def same(self, path: str) -> bool:
        """Whether both have it with the same bytes."""
        here, there = self.place(path), self.anew / path
        return here.is_file() and here.read_bytes() == there.read_bytes()

    def differences(self, path: str) -> list[Difference]:
        """What differs in one file that was made anew."""
        if self.same(path):
            return []
        if not self.place(path).is_file():
            return [Difference(path, "is missing")]
        if path.endswith(".csv"):
            return self._cells(path)
        return [self._text(path)]

    def _text(self, path: str) -> Difference:
        expected, found = (self.anew / path).read_bytes(), self.place(path).read_bytes()
        try:
            lines = [one.decode().split("\n") for one in (expected, found)]
        except UnicodeDecodeError:
            return Difference(
                path, expected=f"sha256 {digests.sha256(self.anew / path)[:12]}",
                found=f"sha256 {digests.sha256(self.place(path))[:12]}",
            )  # fmt: skip
        number = next(
            (n for n, (a, b) in enumerate(zip(*lines, strict=False)) if a != b),
            min(map(len, lines)),
        )
        there, here = (_around(one, number, lines) for one in lines)
        return Difference(path, line=number + 1, expected=there, found=here)

    def _cells(self, path: str) -> list[Difference]:
        name = path.removeprefix("results/")
        changes = compare(self.anew / "results", self.found, self.schemas, files=[name]).changes
        lines = self._lines(path)
        found = []
        for change in changes:
            line = lines.get(change.key) if change.key else None
            if change.kind == "value":
                found.append(
                    Difference(path, "", line, change.key, change.column, change.old, change.new)
                )
            elif change.kind == "unreadable":
                said = change.new.removeprefix(str(self.place(path))).lstrip(": ")
                found.append(Difference(path, f"cannot be read: {said}"))
            else:
                what = {"bytes": "has the same values in other bytes",
                        "order": "has its rows or columns in another order"}  # fmt: skip
                found.append(
                    Difference(
                        path, what.get(change.kind, change.kind), line, change.key, change.column
                    )
                )
        return found

    def _lines(self, path: str) -> dict[str, int]:
        """The line of each row of a file that was found, by its key."""
        schema = table_schema(schema_of(path, self.schemas))
        try:
            head, *rows = table(self.place(path).read_bytes(), path)
            places = [head.cells.index(name) for name in schema.get("key", ())]
            return {" / ".join(row.cells[place] for place in places): row.number for row in rows}
        except (InputError, ValueError, IndexError):
            return {}  # what is wrong with it is said already

    def records(self, paths: Iterable[str]) -> list[Difference]:
        """What the records of jobs say otherwise of results that have the right bytes."""
        right = {path: digests.sha256(self.place(path)) for path in paths if self.same(path)}
        told: dict[str, tuple[str, str]] = {}
        found = []
        for record in sorted((self.found / "digests").glob("*.sha256")):
            name = f"results/digests/{record.name}"
            try:
                told |= {path: (name, one) for path, one in digests.recorded(record).items()}
            except InputError as error:
                said = str(error).removeprefix(str(record)).lstrip(": ")
                found.append(Difference(name, f"cannot be read: {said}"))
        for path, digest in right.items():
            if path not in told:
                found.append(Difference(path, "no job has recorded it"))
            elif told[path][1] != digest:
                found.append(
                    Difference(told[path][0], key=path, expected=digest, found=told[path][1])
                )
        return found


def schema_of(path: str, schemas: Path) -> Path:
    """The schema of a CSV, by its path from the folder of its run."""
    found = schema_path(path.removeprefix("results/"), schemas)
    if found is None:
        raise InputError(path, f"has no schema in {schemas}")
    return found


def _around(lines: Sequence[str], number: int, both: Sequence[Sequence[str]]) -> str:
    """A line from just before the place where it differs: pages have very long ones."""
    if number >= len(lines):
        return ""
    one, other = (side[number] if number < len(side) else "" for side in both)
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return lines[number][max(0, at - 30) :]


def environment_notes(expected: Path, found: Path) -> list[str]:
    """What is other about the process that measured than about the one that measured anew."""
    try:
        there, here = (
            dict(_flat(json.loads(path.read_text(encoding="utf-8")))) for path in (found, expected)
        )
    except (OSError, ValueError) as error:
        return [f"{found.name}: says nothing of the environment: {error}"]
    return [
        f"{key}: {there.get(key, 'unknown')} there, {here.get(key, 'unknown')} here"
        for key in sorted(there | here)
        if there.get(key) != here.get(key)
    ]


def _flat(document: Any, above: str = "") -> Iterable[tuple[str, str]]:
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _flat(value, f"{above}.{key}" if above else key)
    else:
        yield above, json.dumps(document)
