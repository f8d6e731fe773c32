"""Tidy CSV files: written whole or not at all, and read strictly.

One format for every table of the project: UTF-8 without a byte order mark, a line feed ends a
line, a fixed header, no index, no clock. A number is written as the shortest decimal that
reads back as the same float64, so that a row can be decided again from its file. A table
schema (Frictionless, one YAML file a table under ``workflow/schemas/tables``) says which
columns there are, and with what type, title, description and unit.
"""

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace

from posinfo.errors import InputError

Value = str | float | int | None
Fields = list[dict[str, str]]


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
    lines: list[str] = []
    # csv quotes a text for the characters of the line's end alone, and reading ends a row at a
    # carriage return as well: so both are given here, and one is taken away below.
    writer = csv.DictWriter(
        SimpleNamespace(write=lines.append), list(columns), lineterminator="\r\n",
        extrasaction="raise",
    )  # fmt: skip
    writer.writeheader()
    for record in records:
        writer.writerow({name: _cell(value) for name, value in record.items()})
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number_text(value)
    return str(value)


def write(path: str | Path, records: Iterable[Mapping[str, object]], fields: Fields) -> None:
    """Write records under a table schema's columns."""
    write_atomically(path, csv_text(records, [field["name"] for field in fields]))


def read(path: str | Path, fields: Fields) -> list[dict[str, Value]]:
    """Read a CSV under its table schema.

    Returns
    -------
    list of dict
        One mapping a row: text columns as text, ``number`` and ``integer`` columns as float
        and int, an empty cell of those as None. NaN and infinity stay what they are, for
        :func:`posinfo.rows.decide` to refuse.

    Raises
    ------
    InputError
        If the file is missing or empty, is not UTF-8, has another header, has a row of
        another length, or has text where a number belongs.
    """
    try:
        text = Path(path).read_bytes().decode()
    except FileNotFoundError as error:
        raise InputError(str(path), "does not exist") from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(str(path), f"is not UTF-8 at byte {error.start}") from error
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        table = list(lines)
    except csv.Error as error:
        raise InputError(f"{path} line {lines.line_num}", f"is not CSV: {error}") from error
    names = [field["name"] for field in fields]
    if not table:
        raise InputError(str(path), f"is empty, expected the header {','.join(names)}")
    if table[0] != names:
        raise InputError(str(path), _header_problem(table[0], names))
    records = []
    for number, cells in enumerate(table[1:], start=2):
        if len(cells) != len(names):
            raise InputError(
                f"{path} row {number}", f"has {len(cells)} cells, expected {len(names)}"
            )
        records.append(
            {
                field["name"]: _parse(cell, field, f"{path} row {number}")
                for field, cell in zip(fields, cells, strict=True)
            }
        )
    return records


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


def _parse(cell: str, field: Mapping[str, str], where: str) -> Value:
    kind = field.get("type", "string")
    if kind == "string":
        return cell
    if cell == "":
        return None
    try:
        value = int(cell) if kind == "integer" else float(cell)
    except ValueError as error:
        raise InputError(
            where, f"column {field['name']} holds {cell!r}, expected a {kind}"
        ) from error
    if kind == "number" and math.isinf(value) and "inf" not in cell.lower():
        raise InputError(where, f"column {field['name']} holds {cell!r}, too large for a number")
    return value
