"""What an editor, a spreadsheet or a careless script does to a CSV, on every kind of CSV.

Each has an outcome that docs/bad-input.md states: it is refused with file, line, column, what
stands there and what is allowed, or it stays the text or the missing value that it is. None of it
becomes another number, and none passes as if nothing had happened.
"""

import csv
import io
import locale
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from posinfo import rows
from posinfo.errors import InputError
from posinfo.ledger import decided_anew
from posinfo.schemas import table_schema
from posinfo.tidy import csv_text, parse, read

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "workflow" / "schemas"
PATHS = sorted(path for path in SCHEMAS.rglob("*.yaml") if ".schema" not in path.name)
FILES = {path.relative_to(SCHEMAS).with_suffix("").as_posix(): table_schema(path) for path in PATHS}
WHERE = "some/file.csv"


class Column(NamedTuple):
    """A column of a schema, with what its schema allows."""

    name: str
    type: str
    required: bool
    words: tuple[str, ...]
    finite: bool


def columns(schema: dict[str, Any]) -> list[Column]:
    return [
        Column(
            field["name"], field["type"], field.get("constraints", {}).get("required", False),
            tuple(field.get("constraints", {}).get("enum", ())), field.get("finite", True),
        )
        for field in schema["fields"]
    ]  # fmt: skip


def record(schema: dict[str, Any], number: int) -> dict[str, Any]:
    """A row that the schema allows, with another key for each number."""
    values: dict[str, Any] = {}
    for field in schema["fields"]:
        words = field.get("constraints", {}).get("enum")
        by_type = {"string": f"text {number}", "integer": number, "number": number + 0.5}
        values[field["name"]] = words[0] if words else by_type[field["type"]]
    return values


def content(schema: dict[str, Any]) -> list[list[str]]:
    """A file of three rows as cells, the header first."""
    names = [field["name"] for field in schema["fields"]]
    text = csv_text([record(schema, number) for number in (1, 2, 3)], names)
    return list(csv.reader(io.StringIO(text)))


def as_bytes(cells: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(cells)
    return out.getvalue().encode()


def refused(schema: dict[str, Any], damaged: bytes) -> str:
    with pytest.raises(InputError) as error:
        parse(damaged, schema["fields"], WHERE)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(WHERE)
    return text.removeprefix(WHERE)


#: One or two files of each kind.
SOME = (
    "suites/norms", "suites/pretrained", "controls/claim-controls", "tables/offset-test",
    "tables/sources", "figures/mechanism", "figures/detection-matrix", "ledger", "missing",
    "training", "readings", "comparison", "portability/cases",
)  # fmt: skip


@pytest.fixture(params=SOME)
def schema(request) -> dict[str, Any]:
    return FILES[request.param]


def test_files_of_every_kind_are_damaged_here():
    assert {name.partition("/")[0] for name in SOME} == {name.partition("/")[0] for name in FILES}


@pytest.mark.parametrize("cell", ["0,48", "1e400", "3.0", "NA", ""])
def test_no_number_of_any_file_is_taken_for_another(cell):
    for schema in FILES.values():
        whole = content(schema)
        for place, column in enumerate(columns(schema)):
            if column.type == "string" or (cell == "" and not column.required):
                continue
            cells = [list(one) for one in whole]
            cells[2][place] = cell
            assert refused(schema, as_bytes(cells)).startswith(f" line 3: column {column.name} ")


def test_the_file_is_taken_before_it_is_damaged(schema):
    """Otherwise the tests below could not fail."""
    parsed = parse(as_bytes(content(schema)), schema["fields"], WHERE)
    assert parsed == [record(schema, number) for number in (1, 2, 3)]


# --- in a cell -------------------------------------------------------------------------------


def number_problem(cell: str) -> Callable[[Column], str]:
    """What is said of a cell that is no number of this column, empty if it is taken."""

    def problem(column: Column) -> str:
        if column.type == "integer":
            return f"holds '{cell}', expected an integer"
        value = float(cell) if re.fullmatch(r"-?(nan|inf)|[\d.e-]+", cell) else None
        if cell == "1e400":
            return f"holds '{cell}', too large for a number"
        if value is None:
            return f"holds '{cell}', expected a number"
        if not math.isfinite(value):
            return f"holds '{cell}', expected a finite number" if column.finite else ""
        written = {"3.0": "3", "1e-400": "0"}[cell]
        return f"holds '{cell}', expected it written as {written}"

    return problem


IN_NUMBERS = ["nan", "inf", "-inf", "NA", "0,48", "1e400", "1e-400", "3.0"]


@pytest.mark.parametrize("cell", IN_NUMBERS)
def test_what_is_no_number_of_a_column_is_refused_there(schema, cell):
    for place, column in enumerate(columns(schema)):
        if column.type == "string":
            continue
        cells = content(schema)
        cells[2][place] = cell
        problem = number_problem(cell)(column)
        if problem:
            assert refused(schema, as_bytes(cells)) == f" line 3: column {column.name} {problem}"
        else:
            value = parse(as_bytes(cells), schema["fields"], WHERE)[1][column.name]
            assert repr(value) == cell


@pytest.mark.parametrize(
    ("cell", "written"),
    [("1_000", "1000"), ("+3", "3"), (" 3", "3"), ("3 ", "3"), ("03", "3"), ("\u0663", "3"),
     ("\uff13", "3")],
)  # fmt: skip
def test_what_python_alone_would_take_for_a_number_is_refused(schema, cell, written):
    for place, column in enumerate(columns(schema)):
        if column.type != "string":
            cells = content(schema)
            cells[2][place] = cell
            says = f" line 3: column {column.name} holds '{cell}', expected it written as {written}"
            assert refused(schema, as_bytes(cells)) == says


@pytest.mark.parametrize("cell", ["0.1000000000000000055", "1E5", "5.", ".5", "0.50"])
def test_a_number_with_another_text_than_ours_is_refused(schema, cell):
    for place, column in enumerate(columns(schema)):
        if column.type == "number":
            cells = content(schema)
            cells[2][place] = cell
            assert "expected it written as " in refused(schema, as_bytes(cells))


def test_an_empty_cell_is_a_missing_value_where_there_may_be_one(schema):
    for place, column in enumerate(columns(schema)):
        cells = content(schema)
        cells[2][place] = ""
        if column.required:
            says = refused(schema, as_bytes(cells))
            assert says.startswith(f" line 3: column {column.name} ")
            assert re.search(r" is empty(, expected an? \w+$|: allowed: )", says)
        else:
            value = parse(as_bytes(cells), schema["fields"], WHERE)[1][column.name]
            assert value == ("" if column.type == "string" else None)


@pytest.mark.parametrize("cell", ["NA", "NaN", "null", "None", "-"])
def test_a_word_for_nothing_stays_text_or_is_refused_where_words_are_listed(schema, cell):
    for place, column in enumerate(columns(schema)):
        if column.type != "string":
            continue
        cells = content(schema)
        cells[2][place] = cell
        if column.words:
            says = refused(schema, as_bytes(cells))
            assert says.startswith(f" line 3: column {column.name} holds '{cell}': ")
            assert says.endswith(f"allowed: {', '.join(sorted(column.words))}")
        else:
            assert parse(as_bytes(cells), schema["fields"], WHERE)[1][column.name] == cell


def test_bytes_that_are_no_utf8_are_refused_there(schema):
    for place, column in enumerate(columns(schema)):
        cells = content(schema)
        cells[2][place] = "caf\u00e9"
        damaged = as_bytes(cells).replace("\u00e9".encode(), b"\xe9")
        says = refused(schema, damaged)
        assert says.startswith(f" line 3: column {column.name} is not UTF-8 at byte ")
        assert says.endswith(r": b'caf\xe9'")


# --- in the form of the file -----------------------------------------------------------------


def in_form(change: Callable[[bytes], bytes]) -> Callable[[dict[str, Any]], bytes]:
    return lambda schema: change(as_bytes(content(schema)))


def without_column(schema: dict[str, Any]) -> bytes:
    return as_bytes([cells[:-1] for cells in content(schema)])


def with_column(schema: dict[str, Any]) -> bytes:
    head, *others = content(schema)
    return as_bytes([[*head, "note"], *([*cells, "seen"] for cells in others)])


def columns_swapped(schema: dict[str, Any]) -> bytes:
    return as_bytes([[cells[1], cells[0], *cells[2:]] for cells in content(schema)])


def cell_more(schema: dict[str, Any]) -> bytes:
    cells = content(schema)
    cells[2].append("")
    return as_bytes(cells)


def decimal_comma(schema: dict[str, Any]) -> bytes:
    """Unquoted, as a German spreadsheet's numbers pasted into a file."""
    whole = as_bytes(content(schema))
    return re.sub(rb"\b2\.5\b|\btext 2\b", b"2,5", whole, count=1)


def semicolons(schema: dict[str, Any]) -> bytes:
    return as_bytes(content(schema)).replace(b",", b";")


FORMS: dict[str, tuple[Callable[[dict[str, Any]], bytes], str]] = {
    "CRLF": (in_form(lambda c: c.replace(b"\n", b"\r\n")), "line 1: ends with a carriage return"),
    "one CRLF": (in_form(lambda c: c[:-1] + b"\r\n"), "line 4: ends with a carriage return"),
    "CR": (in_form(lambda c: c.replace(b"\n", b"\r")), "line 1: ends with a carriage return"),
    "BOM": (in_form(lambda c: b"\xef\xbb\xbf" + c), "line 1: begins with a byte order mark"),
    "UTF-16": (in_form(lambda c: c.decode().encode("utf-16")), "line 1: is not UTF-8 at byte 0"),
    "no end": (in_form(lambda c: c[:-1]), "line 4: has no line feed at its end"),
    "empty": (lambda schema: b"", ": is empty, expected the header "),
    "no header": (in_form(lambda c: c.partition(b"\n")[2]), ": lacks the column "),
    "quoted": (
        in_form(lambda c: re.sub(rb"^(\w[^,\n]*)", rb'"\1"', c, count=1)),
        "expected it written as",
    ),
    "blank line": (in_form(lambda c: c + b"\n"), "line 5: has 0 cells"),
    "column missing": (without_column, ": lacks the column "),
    "column added": (with_column, ": has the unknown column 'note'"),
    "columns swapped": (columns_swapped, ": has its columns in another order"),
    "a cell more": (cell_more, "line 3: has "),
    "decimal comma": (decimal_comma, "(a number has a point, not a comma)"),
    "semicolons": (semicolons, ": lacks the column "),
    "a row twice": (in_form(lambda c: c + c.splitlines(keepends=True)[2]), " again: "),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_in_another_form_is_refused(schema, form):
    if form == "a row twice" and "key" not in schema:
        pytest.skip("rows of this file are told apart by nothing")
    change, says = FORMS[form]
    assert says in refused(schema, change(schema))


def test_every_file_says_what_tells_its_rows_apart():
    """The shared columns of the suites are a file of their own, and no CSV."""
    assert [name for name, schema in FILES.items() if "key" not in schema] == []


def test_a_row_twice_is_named_with_both_lines(schema):
    lines = as_bytes(content(schema)).splitlines(keepends=True)
    says = refused(schema, b"".join([*lines, lines[2]]))
    assert says.startswith(" line 5: has the key of line 3 again: ")


def test_line_numbers_are_those_of_an_editor_where_a_cell_has_several_lines():
    fields = FILES["missing"]["fields"]
    text = 'kind,key,reason\ntable,a,"two\nlines, and\r\nthree"\ntabel,b,c\n'
    with pytest.raises(InputError, match=r"^f line 5: column kind holds 'tabel': did you mean"):
        parse(text.encode(), fields, "f")


def test_rows_in_another_order_are_the_same_rows(schema):
    """Nothing that is read from them may rest on their order: what does, checks it itself."""
    head, *others = content(schema)
    parsed = parse(as_bytes([head, *reversed(others)]), schema["fields"], WHERE)
    assert parsed == [record(schema, number) for number in (3, 2, 1)]


# --- what follows ----------------------------------------------------------------------------


def measured(**changed: Any) -> dict[str, Any]:
    schema = FILES["suites/norms"]
    row = dict.fromkeys([field["name"] for field in schema["fields"]])
    row |= {
        "suite": "norms", "case": "c", "quantity": "q", "subject": "s", "relation": "within",
        "measured": 1.0, "reference": 1.0, "error": 0.0, "bound": 0.5, "ratio": 0.0,
        "outcome": "holds", "evidence": "float32", "basis": "b",
    }  # fmt: skip
    text = csv_text([row | changed], row)
    [found] = parse(text.encode(), schema["fields"], WHERE)
    return found


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
@pytest.mark.parametrize("column", ["measured", "reference", "bound"])
def test_a_row_that_is_decided_by_no_number_is_an_error(column, value):
    """So the gate names it, whatever its outcome is said to be."""
    assert decided_anew(measured()) == "holds"
    assert decided_anew(measured(**{column: value})) == "error"


def test_listed_words_are_those_that_the_code_knows():
    fields = {field["name"]: field for field in FILES["suites/rows"]["fields"]}
    assert fields["relation"]["constraints"]["enum"] == list(rows.RELATIONS)
    assert fields["outcome"]["constraints"]["enum"] == list(rows.OUTCOMES)
    assert fields["evidence"]["constraints"]["enum"] == list(rows.EVIDENCE)
    standing = [rows.ACCEPTED, rows.STALE]
    for name in ("ledger", "suites/pretrained"):
        [field] = [one for one in FILES[name]["fields"] if one["name"] == rows.STANDING]
        assert field["constraints"]["enum"] == standing


def test_only_what_decides_a_row_may_be_no_finite_number():
    free = {
        (name, field["name"])
        for name, schema in FILES.items()
        for field in schema["fields"]
        if field.get("finite") is False
    }
    assert {column for _, column in free} == {"measured", "reference", "error", "bound", "ratio"}
    assert all(name.startswith(("suites/", "controls/")) for name, _ in free)


def test_nothing_else_reads_csv():
    """Another reader would be another idea of what a number is."""
    ours = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}
    ours |= {path: path.read_text(encoding="utf-8") for path in (ROOT / "scripts").glob("*.py")}
    reading = re.compile(r"csv\.(Dict)?[Rr]eader|\bread_csv\b|\bgenfromtxt\b|\bloadtxt\b")
    found = {path.relative_to(ROOT).as_posix() for path, text in ours.items()
             if reading.search(text)}  # fmt: skip
    # The baseline reads the header of a file that an earlier schema has written, and no number.
    others = {path for path in found if not path.startswith("src/posinfo/baseline/")}
    assert others == {"src/posinfo/tidy.py"}


# --- a German locale -------------------------------------------------------------------------

IN_GERMAN = """
import locale, sys
from pathlib import Path
from posinfo.schemas import table_fields
from posinfo.tidy import read, write
locale.setlocale(locale.LC_ALL, "")
assert locale.localeconv()["decimal_point"] == sys.argv[1], locale.localeconv()
import matplotlib, pandas, numpy
fields = table_fields(sys.argv[2])
write(sys.argv[4], read(sys.argv[3], fields), fields)
"""


@pytest.fixture(scope="module")
def german(tmp_path_factory) -> dict[str, str]:
    """An environment in German, whose numbers have commas."""
    name = "de_DE.UTF-8"
    try:
        before = locale.setlocale(locale.LC_ALL)
        locale.setlocale(locale.LC_ALL, name)
        locale.setlocale(locale.LC_ALL, before)
    except locale.Error:
        if not shutil.which("localedef"):
            pytest.skip("there is no German locale, and nothing to make one with")
        folder = tmp_path_factory.mktemp("locales")
        made = subprocess.run(
            ["localedef", "-f", "UTF-8", "-i", "de_DE", folder / name], capture_output=True
        )
        if made.returncode:
            pytest.skip("there is no German locale, and no definition of one")
        return {"LC_ALL": name, "LOCPATH": str(folder)}
    return {"LC_ALL": name}


def test_a_german_locale_changes_no_byte_and_no_number(german, tmp_path):
    schema, source = SCHEMAS / "readings.yaml", ROOT / "baseline/pretrained/readings.csv"
    copy = tmp_path / "copy.csv"
    subprocess.run(
        [sys.executable, "-c", IN_GERMAN, ",", schema, source, copy],
        env={**os.environ, **german}, check=True,
    )  # fmt: skip
    assert copy.read_bytes() == source.read_bytes()


def test_a_locale_that_knows_ascii_alone_changes_no_byte(tmp_path):
    schema, source = FILES["suites/norms"], tmp_path / "source.csv"
    names = [field["name"] for field in schema["fields"]]
    source.write_bytes(csv_text([record(schema, 1) | {"basis": "θ ≤ ½"}], names).encode())
    copy = tmp_path / "copy.csv"
    subprocess.run(
        [sys.executable, "-c", IN_GERMAN, ".", SCHEMAS / "suites/norms.yaml", source, copy],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        check=True,
    )
    assert copy.read_bytes() == source.read_bytes()
    assert read(copy, schema["fields"])[0]["basis"] == "θ ≤ ½"
