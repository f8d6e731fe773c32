"""Tidy CSV files: written whole or not at all, and read strictly.

One format for every table of the project: UTF-8 without a byte order mark, a line feed ends a
line, a fixed header, no index, no clock. A number is written as the shortest decimal that
reads back as the same float64, so that a row can be decided again from its file. A table
schema (Frictionless, one YAML file a table under ``workflow/schemas/tables``) says which
columns there are, and with what type, title, description, unit and allowed values.

Everything that reads a CSV reads it here. What a spreadsheet or an editor may do to a file is
refused with its line, also where the value would come out the same: docs/bad-input.md lists it.
"""

import codecs
import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from posinfo.errors import InputError, nearest

Value = str | float | int | None
Fields = list[dict[str, Any]]


def number_text(value: float | int | None) -> str:
    """A number as it stands in a CSV: shortest decimal that reads back the same."""
    if value is None:
        return ""
    if not isinstance(value, float):
        return repr(value)
    negative_zero = value == 0 and math.copysign(1, value) < 0
    if value.is_integer() and abs(value) < 2**53 and not negative_zero:
        return str(int(value))
    # float(): numpy's float64 is a float too, and its repr no number.
    return repr(float(value))


def write_atomically(path: str | Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write a file whole: a killed run leaves the old file or none, never half of one."""
    path = Path(path)
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InputError(str(path), f"cannot be written: {error.strerror}") from error


def json_text(document: object) -> str:
    """A document as JSON to be kept in a file: in the order given, a line feed at its end.

    Raises
    ------
    ValueError
        If it holds NaN or infinity, which JSON has not.
    """
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(records: Iterable[Mapping[str, object]], columns: Iterable[str]) -> str:
    """Records as CSV text with exactly these columns.

    Raises
    ------
    ValueError
        If a record has a column that is not among ``columns``.
    """
    names = list(columns)
    known = set(names)
    lines = [_line(names)]
    for record in records:
        if unknown := sorted(record.keys() - known):
            raise ValueError(f"no column of the schema: {', '.join(unknown)}")
        lines.append(_line([_cell(record.get(name)) for name in names]))
    return "".join(lines)


def _line(cells: list[str]) -> str:
    """Cells as a line of CSV, quoted only where they must be."""
    written: list[str] = []
    # csv quotes a text for the characters of the line's end alone, and reading ends a row at a
    # carriage return as well: so both are given here, and one is taken away below.
    csv.writer(SimpleNamespace(write=written.append), lineterminator="\r\n").writerow(cells)
    return written[0].removesuffix("\r\n") + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    return str(value)


def write(path: str | Path, records: Iterable[Mapping[str, object]], fields: Fields) -> None:
    """Write records under a table schema's columns."""
    write_atomically(path, csv_text(records, [field["name"] for field in fields]))


class Line(NamedTuple):
    """A row of a CSV: the line of the file on which it begins, counted from 1, and its cells."""

    number: int
    cells: list[str]


def table(content: bytes, where: str) -> list[Line]:
    """The rows of a CSV with the header, as text, if it has the one form that is written here.

    Parameters
    ----------
    content
        The bytes of the file.
    where
        What the file is called in an error.

    Raises
    ------
    InputError
        If it has a byte order mark, is not UTF-8, is not CSV, ends a line otherwise than with a
        line feed, or quotes what needs no quotes: another program has saved it, and what else it
        changed is not known.
    """
    if content.startswith(codecs.BOM_UTF8):
        raise InputError(
            f"{where} line 1", "begins with a byte order mark, expected UTF-8 without one"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(content, error.start, where) from error
    # Universal newlines find where a line ends, and leave how it ends.
    physical = io.StringIO(text, newline="").readlines()
    reader = csv.reader(physical, strict=True)
    lines: list[Line] = []
    start = 0
    try:
        for cells in reader:
            raw = "".join(physical[start : reader.line_num])
            _check_form(raw, cells, f"{where} line {start + 1}")
            lines.append(Line(start + 1, cells))
            start = reader.line_num
    except csv.Error as error:
        raise InputError(f"{where} line {reader.line_num}", f"is not CSV: {error}") from error
    return lines


def _check_form(raw: str, cells: list[str], where: str) -> None:
    if raw.endswith(("\r\n", "\r")):
        raise InputError(where, "ends with a carriage return, expected a line feed alone")
    if not raw.endswith("\n"):
        raise InputError(where, "has no line feed at its end: the file is cut off")
    # Without a quotation mark there is one way to write the cells.
    if '"' in raw and raw != (expected := _line(cells)):
        raise InputError(where, f"is {_short(raw)}, expected it written as {_short(expected)}")


def _not_utf8(content: bytes, at: int, where: str) -> InputError:
    """The error that names line, column and cell of a byte that is not UTF-8, as far as known."""
    line = content.count(b"\n", 0, at) + 1
    place = f"is not UTF-8 at byte {at}"
    try:
        found = list(csv.reader(io.StringIO(content.decode(errors="surrogateescape"), newline="")))
    except csv.Error:
        found = []
    for cells in found:
        for number, cell in enumerate(cells):
            if not cell.isascii() and any("\udc80" <= sign <= "\udcff" for sign in cell):
                name = found[0][number] if cells is not found[0] and number < len(found[0]) else ""
                held = cell.encode(errors="surrogateescape")
                column = f"column {name} " if name else ""
                return InputError(f"{where} line {line}", f"{column}{place}: {_short(held)}")
    return InputError(f"{where} line {line}", place)


def _short(value: str | bytes) -> str:
    """What stands there, in one line and not too long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]}…{text[0] if text[0] != 'b' else text[1]}"


def read(path: str | Path, fields: Fields) -> list[dict[str, Value]]:
    """Read a CSV under its table schema: see :func:`parse`.

    Raises
    ------
    InputError
        If the file is missing, or is not what the schema says.
    """
    return parse(read_bytes(path), fields, str(path))


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file.

    Raises
    ------
    InputError
        If it is missing or cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise InputError(str(path), "does not exist") from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error


def parse(content: bytes, fields: Fields, where: str) -> list[dict[str, Value]]:
    """The records of a CSV, held against its table schema.

    A number is taken if it is written as :func:`number_text` writes it, and no other way: ``3.0``,
    ``1_000`` or a number with more digits than a float64 has would read as another text's number.

    Parameters
    ----------
    content
        The bytes of the file.
    fields
        Its columns. Of a field count ``type``; ``constraints`` with ``required`` and ``enum``, as
        Table Schema defines them; ``key``, true for the columns that together are in no two rows
        the same; and ``finite``, false for a number that may be NaN or infinite, which
        :func:`posinfo.rows.decide` refuses.
    where
        What the file is called in an error.

    Returns
    -------
    list of dict
        One mapping a row: text columns as text, ``number`` and ``integer`` columns as float
        and int, an empty cell of those as None.

    Raises
    ------
    InputError
        In one line with file, line, column, what stands there and what is allowed: if the file is
        empty, has not the form of :func:`table`, has another header, a row of another length, or a
        cell that its field does not allow, or two rows with the same key.
    """
    names = [field["name"] for field in fields]
    lines = table(content, where)
    if not lines:
        raise InputError(where, f"is empty, expected the header {','.join(names)}")
    if lines[0].cells != names:
        raise InputError(where, _header_problem(lines[0].cells, names))
    columns = [(field["name"], _cell_reader(field)) for field in fields]
    records = []
    for number, cells in lines[1:]:
        if len(cells) != len(names):
            hint = " (a number has a point, not a comma)" if len(cells) > len(names) else ""
            raise InputError(
                f"{where} line {number}", f"has {len(cells)} cells, expected {len(names)}{hint}"
            )
        record: dict[str, Value] = {}
        for (name, take), cell in zip(columns, cells, strict=True):
            try:
                record[name] = take(cell)
            except ValueError as error:
                raise InputError(f"{where} line {number}", f"column {name} {error}") from error
        records.append(record)
    _check_key([field["name"] for field in fields if field.get("key")], records, lines, where)
    return records


def _check_key(
    key: list[str], records: list[dict[str, Value]], lines: list[Line], where: str
) -> None:
    if not key:
        return
    seen: dict[tuple[Value, ...], int] = {}
    for record, line in zip(records, lines[1:], strict=True):
        values = tuple(record[name] for name in key)
        first = seen.setdefault(values, line.number)
        if first != line.number:
            told = ", ".join(f"{name} {record[name]}" for name in key)
            raise InputError(
                f"{where} line {line.number}", f"has the key of line {first} again: {told}"
            )


def read_all(
    paths: Iterable[str | Path], fields: Mapping[str, Fields]
) -> tuple[list[dict[str, Value]], list[str]]:
    """Read several CSVs, each under the schema of its name.

    Returns
    -------
    tuple
        The rows of all that can be read, and a line for each that cannot.
    """
    rows: list[dict[str, Value]] = []
    problems = []
    for path in paths:
        try:
            rows += read(path, fields[Path(path).stem])
        except InputError as error:
            problems.append(str(error))
    return rows, problems


def _header_problem(found: list[str], expected: list[str]) -> str:
    missing = [name for name in expected if name not in found]
    extra = [name for name in found if name not in expected]
    if missing or extra:
        parts = [f"lacks the column {name}" for name in missing]
        parts += [f"has the unknown column {name!r}" for name in extra]
        return "; ".join(parts)
    return f"has its columns in another order, expected {','.join(expected)}"


def _cell_reader(field: Mapping[str, Any]) -> Callable[[str], Value]:
    """What takes a cell of a column, and raises ValueError with what is wrong with it."""
    kind = field.get("type", "string")
    constraints = field.get("constraints", {})
    required = constraints.get("required", False)
    if kind == "string":
        if "enum" in constraints:
            return partial(_word, frozenset(constraints["enum"]), required)
        return _text if required else str
    article = {"integer": "an integer", "number": "a number"}[kind]
    take = _integer if kind == "integer" else partial(_number, field.get("finite", True))
    return partial(_value, take, article, required)


def _text(cell: str) -> str:
    if not cell:
        raise ValueError("is empty, expected a text")
    return cell


def _word(allowed: frozenset[str], required: bool, cell: str) -> str:
    if cell in allowed or not (cell or required):
        return cell
    held = f"holds {_short(cell)}" if cell else "is empty"
    raise ValueError(f"{held}: {nearest(cell, allowed)}")


def _value(take: Callable[[str], Value], article: str, required: bool, cell: str) -> Value:
    if not cell:
        if required:
            raise ValueError(f"is empty, expected {article}")
        return None
    try:
        value = take(cell)
        written = number_text(value)
    except ValueError as error:
        told = str(error) if isinstance(error, _Unsuitable) else f"expected {article}"
        raise ValueError(f"holds {_short(cell)}, {told}") from error
    if written != cell:
        raise ValueError(f"holds {_short(cell)}, expected it written as {written}")
    return value


class _Unsuitable(ValueError):
    """A number, and none that may stand there."""


def _integer(cell: str) -> int:
    return int(cell)


def _number(finite: bool, cell: str) -> float:
    value = float(cell)
    if math.isinf(value) and "inf" not in cell.lower():
        raise _Unsuitable("too large for a number")
    if finite and not math.isfinite(value):
        raise _Unsuitable("expected a finite number")
    return value
