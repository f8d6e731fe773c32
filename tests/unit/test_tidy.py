"""CSV files: every value comes back as it was, and a wrong file is refused in one clear line."""

import errno
import math
import os
import struct
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posinfo import tidy
from posinfo.errors import InputError

FIELDS = [
    {"name": "name", "type": "string"},
    {"name": "value", "type": "number", "finite": False},
    {"name": "count", "type": "integer"},
]
HEADER = "name,value,count\n"


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("tidy") / "table.csv"


def refusal(path) -> str:
    with pytest.raises(InputError) as refused:
        tidy.read(path, FIELDS)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith(str(path))
    return str(refused.value).removeprefix(str(path)).lstrip(": ")


@given(value=st.floats())
def test_every_float64_comes_back_with_the_same_bits(path, value):
    tidy.write(path, [{"name": "x", "value": value, "count": 1}], FIELDS)
    (record,) = tidy.read(path, FIELDS)
    assert isinstance(record["value"], float)
    # A NaN keeps no payload: that it is one is all that is decided by.
    both_nan = math.isnan(record["value"]) and math.isnan(value)
    assert both_nan or bits(record["value"]) == bits(value)


@pytest.mark.parametrize(
    "value",
    [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2.0**53, 2.0**53 + 2, 1e22, -0.0, 1e-5, 2.0**-24],
)
def test_numbers_that_are_easily_lost_come_back_with_the_same_bits(path, value):
    assert bits(float(tidy.number_text(value))) == bits(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_in_the_shortest_way(value):
    """No longer than Python's own shortest text: a whole number even without its point."""
    assert len(tidy.number_text(value)) <= len(repr(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (3.0, "3"), (-3.0, "-3"), (0.5, "0.5"), (1e17, "1e+17"), (1e-7, "1e-07")],
)
def test_numbers_as_they_stand_in_a_file(value, text):
    assert tidy.number_text(value) == text


def test_a_float_of_numpy_is_a_number_too():
    """It is a float to ``isinstance``, and its own ``repr`` is no number."""
    assert tidy.number_text(numpy.float64(0.1)) == "0.1"


@given(count=st.integers())
def test_every_integer_comes_back(path, count):
    tidy.write(path, [{"name": "x", "value": None, "count": count}], FIELDS)
    (record,) = tidy.read(path, FIELDS)
    assert record["count"] == count
    assert isinstance(record["count"], int)


@given(texts=st.lists(st.text(), max_size=4))
def test_every_text_comes_back(path, texts):
    records = [{"name": text, "value": 1.0, "count": 1} for text in texts]
    tidy.write(path, records, FIELDS)
    assert [record["name"] for record in tidy.read(path, FIELDS)] == texts


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a,b",
        'say "x"',
        "two\nlines",
        "carriage\rreturn",
        "\r\n",
        "−½ ⁻⁷",
        "=1+1",
        "'",
        "\0",
    ],
)
def test_texts_that_are_easily_lost_come_back(path, text):
    tidy.write(path, [{"name": text, "value": None, "count": None}], FIELDS)
    assert tidy.read(path, FIELDS) == [{"name": text, "value": None, "count": None}]


def test_a_missing_value_stays_missing(path):
    tidy.write(path, [{"name": None, "value": None}], FIELDS)
    assert path.read_text() == HEADER + ",,\n"
    assert tidy.read(path, FIELDS) == [{"name": "", "value": None, "count": None}]


def test_nan_and_infinity_reach_the_decision(path):
    path.write_text(HEADER + "a,nan,1\nb,inf,1\nc,-inf,1\n")
    values = [record["value"] for record in tidy.read(path, FIELDS)]
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf]


def test_the_file_is_utf8_with_plain_line_ends_and_the_columns_of_the_schema(path):
    tidy.write(path, [{"count": 2, "value": 1.5, "name": "é"}], FIELDS)
    assert path.read_bytes() == b"name,value,count\n\xc3\xa9,1.5,2\n"
    assert path.stat().st_mode & 0o777 == 0o644


def test_no_records_leave_a_header(path):
    tidy.write(path, [], FIELDS)
    assert path.read_text() == HEADER
    assert tidy.read(path, FIELDS) == []


def test_a_column_that_the_schema_has_not_is_refused():
    with pytest.raises(ValueError, match="colour"):
        tidy.csv_text([{"name": "x", "colour": "red"}], ["name"])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is empty, expected the header name,value,count"),
        ("name,value\n", "lacks the column count"),
        ("name,count\n", "lacks the column value"),
        ("name,value,count,colour\n", "has the unknown column 'colour'"),
        ("name,valeu,count\n", "lacks the column value; has the unknown column 'valeu'"),
        ("value,name,count\n", "has its columns in another order, expected name,value,count"),
        (
            "\ufeffname,value,count\n",
            "line 1: begins with a byte order mark, expected UTF-8 without one",
        ),
        (HEADER + "x,1\n", "line 2: has 2 cells, expected 3"),
        (
            HEADER + "x,1,1,1\n",
            "line 2: has 4 cells, expected 3 (a number has a point, not a comma)",
        ),
        (HEADER + "x,1,1\n\nx,1,1\n", "line 3: has 0 cells, expected 3"),
        (HEADER + "x,one,1\n", "line 2: column value holds 'one', expected a number"),
        (HEADER + "x,1,1\nx,1,1.5\n", "line 3: column count holds '1.5', expected an integer"),
        (HEADER + "x,1,\u0661x\n", "line 2: column count holds '\u0661x', expected an integer"),
        (HEADER + "x,1e999,1\n", "line 2: column value holds '1e999', too large for a number"),
        (HEADER + 'x,"1,1\n', "line 2: is not CSV: unexpected end of data"),
        (HEADER + '"x"y,1,1\n', "line 2: is not CSV: ',' expected after '\"'"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_what_belongs_there(path, content, problem):
    path.write_text(content, encoding="utf-8")
    assert refusal(path) == problem


def test_a_file_that_is_not_there_is_refused(tmp_path):
    assert refusal(tmp_path / "none.csv") == "does not exist"


def test_a_file_in_another_encoding_is_refused(path):
    path.write_bytes(HEADER.encode() + b"caf\xe9,1,1\n")
    assert refusal(path) == "line 2: column name is not UTF-8 at byte 20: b'caf\\xe9'"


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path):
    assert refusal(tmp_path)


def test_folders_are_made_as_needed(tmp_path):
    tidy.write_atomically(tmp_path / "a b" / "c" / "file.txt", "text\n")
    assert (tmp_path / "a b" / "c" / "file.txt").read_text() == "text\n"


def test_bytes_are_written_as_they_are(tmp_path):
    tidy.write_atomically(tmp_path / "file.bin", b"\r\n\x00\xff")
    assert (tmp_path / "file.bin").read_bytes() == b"\r\n\x00\xff"


@pytest.mark.parametrize("call", ["fdopen", "chmod", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, call):
    path = tmp_path / "file.txt"
    tidy.write_atomically(path, "old\n")

    def full(*arguments, **named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(InputError, match=r"file\.txt: cannot be written: No space left"):
        tidy.write_atomically(path, "new\n")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    tidy.write_atomically(path, "old\n")
    seen = []
    replace = os.replace

    def watched(source, target):
        seen.append((path.read_text(), Path(source).read_text()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    tidy.write_atomically(path, "new\n")
    assert seen == [("old\n", "new\n")]
    assert path.read_text() == "new\n"


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path):
    (tmp_path / "file.txt").mkdir()
    with pytest.raises(InputError, match=r"file\.txt: cannot be written: Is a directory"):
        tidy.write_atomically(tmp_path / "file.txt", "new\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "results").write_text("a file\n")
    with pytest.raises(InputError, match=r"suite\.csv: cannot be written"):
        tidy.write_atomically(tmp_path / "results" / "suite.csv", "new\n")
    assert (tmp_path / "results").read_text() == "a file\n"
