"""The data package, read and held against its tables by the reference library of the standard."""

import json
import tomllib
from pathlib import Path

import pytest
from frictionless import Package, validate

from posinfo import __version__, datapackage
from posinfo.schemas import table_schema
from posinfo.tidy import json_text, write

FIELDS = [
    {"name": "id", "type": "string", "title": "Id", "description": "Name of the row."},
    {"name": "angle", "type": "number", "title": "Angle", "description": "What was measured.",
     "unit": "rad"},
    {"name": "rows", "type": "integer", "title": "Rows", "description": "How many."},
]  # fmt: skip
SCHEMA = {"title": "Angles", "description": "One row\n  an angle.", "fields": FIELDS}
RECORDS = [
    {"id": "a", "angle": 0.1 + 0.2, "rows": 3},
    {"id": 'with "quotes", and\na line', "angle": -4.9e-324, "rows": None},
    {"id": "", "angle": None, "rows": 2**60},
]


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A folder with one table and its description."""
    monkeypatch.chdir(tmp_path)
    write("results/tables/angles.csv", RECORDS, FIELDS)
    return described()


def described() -> Path:
    made = datapackage.read_resource("results/tables/angles.csv", "results", SCHEMA)
    path = Path("results/datapackage.json")
    path.write_text(json_text(datapackage.document([made])), encoding="utf-8")
    return path


def problems(path: Path) -> list[tuple[str, str]]:
    """What the library finds: kind of problem, and its words."""
    report = validate(str(path))
    return [tuple(one) for one in report.flatten(["type", "note"])]


def test_what_is_written_is_valid_and_so_is_its_data(package):
    assert problems(package) == []
    [resource] = Package(str(package)).resources
    assert resource.name == "tables-angles"
    rows = resource.read_rows()
    assert [row["rows"] for row in rows] == [3, None, 2**60]
    assert float(rows[0]["angle"]) == 0.1 + 0.2
    assert float(rows[1]["angle"]) == -4.9e-324
    assert rows[1]["id"] == RECORDS[1]["id"]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("a,0.30000000000000004,3", "a,NA,3", "type-error"),
        ("a,0.30000000000000004,3", "a,0;30000000000000004,3", "type-error"),
        ("a,0.30000000000000004,3", "a,0.30000000000000004,3.5", "type-error"),
        ("a,0.30000000000000004,3", "a,0.30000000000000004,3,4", "extra-cell"),
        ("a,0.30000000000000004,3", "a,0.30000000000000004", "missing-cell"),
        ("id,angle,rows", "id,angel,rows", "incorrect-label"),
    ],
)
def test_a_wrong_cell_is_found(package, old, new, kind):
    """Described anew after the edit, so that size and digest are right, and the cell is not."""
    table = Path("results/tables/angles.csv")
    text = table.read_text(encoding="utf-8")
    assert text.count(old) == 1
    table.write_text(text.replace(old, new), encoding="utf-8")
    assert kind in [found for found, _ in problems(described())]


def test_a_table_of_another_size_or_digest_is_found(package):
    table = Path("results/tables/angles.csv")
    content = table.read_bytes()
    table.write_bytes(content.replace(b"a,0.3", b"b,0.3"))
    assert [kind for kind, _ in problems(package)] == ["hash-count"]
    table.write_bytes(content + b"c,1,1\n")
    assert {kind for kind, _ in problems(package)} == {"hash-count", "byte-count"}


def test_it_is_the_same_each_time(package):
    before = package.read_bytes()
    assert described().read_bytes() == before


def test_columns_have_all_that_their_schema_says(package):
    [resource] = json.loads(package.read_text(encoding="utf-8"))["resources"]
    assert resource["schema"]["fields"] == FIELDS
    assert (resource["title"], resource["description"]) == ("Angles", "One row an angle.")
    assert resource["path"] == "tables/angles.csv"


def test_what_a_schema_has_beyond_a_column_s_description_stays_inside():
    field = {**FIELDS[0], "internal": "x"}
    schema = {**SCHEMA, "fields": [field], "extends": "rows"}
    made = datapackage.resource("results/a.csv", "results", schema, b"id\n")
    assert made["schema"]["fields"] == [FIELDS[0]]
    assert made["name"] == "a"


def test_every_table_schema_of_the_project_describes_a_valid_resource(root):
    """Empty tables under each of them."""
    paths = sorted((root / "workflow/schemas").rglob("*.yaml"))
    schemas = [path for path in paths if ".schema" not in path.name]
    assert len(schemas) > 50
    made = []
    for number, path in enumerate(schemas):
        schema = table_schema(path)
        header = ",".join(field["name"] for field in schema["fields"]) + "\n"
        made.append(datapackage.resource(f"r/{number}.csv", "r", schema, header.encode()))
        assert schema["title"]
    errors = Package.metadata_validate(datapackage.document(made))
    assert [error.note for error in errors] == []


def test_the_library_refuses_a_document_that_is_none():
    """Otherwise the test above could not fail."""
    made = datapackage.resource("r/a.csv", "r", SCHEMA, b"")
    wrong = datapackage.document([{**made, "bytes": "many"}])
    assert list(Package.metadata_validate(wrong))


def test_it_says_of_the_project_what_the_package_says(root):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    made = datapackage.document([])
    assert made["version"] == __version__
    assert [one["name"] for one in made["licenses"]] == [project["license"]]
    assert [one["title"] for one in made["contributors"]] == [
        one["name"] for one in project["authors"]
    ]
    assert "created" not in made


def test_what_a_column_may_hold_and_what_tells_rows_apart_is_handed_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    word = {"required": True, "enum": ["holds", "fails"]}
    fields = [FIELDS[0], FIELDS[1], FIELDS[2] | {"type": "string", "constraints": word}]
    schema = SCHEMA | {"fields": fields, "key": ["id", "angle"]}

    def found(*records: dict) -> list[str]:
        write("results/tables/angles.csv", records, fields)
        made = datapackage.read_resource("results/tables/angles.csv", "results", schema)
        path = Path("results/datapackage.json")
        path.write_text(json_text(datapackage.document([made])), encoding="utf-8")
        return [kind for kind, _ in problems(path)]

    right = {"id": "a", "angle": 1.0, "rows": "holds"}
    assert found(right, right | {"angle": None}, right | {"id": ""}) == []
    assert found(right | {"rows": "NA"}) == ["constraint-error"]
    assert found(right | {"rows": ""}) == ["constraint-error"]
    assert found(right, right) == ["primary-key"]
