"""YAML that reads as it was meant, and schemas whose errors say where and what is allowed."""

import pytest
from jsonschema import Draft202012Validator

from posinfo.errors import InputError
from posinfo.schemas import fields_by_name, first_problem, load_yaml, table_fields, table_schema

SCHEMA = {
    "type": "object",
    "required": ["seed"],
    "additionalProperties": False,
    "properties": {
        "seed": {"type": "integer", "minimum": 0, "description": "Seed of every draw."},
        "tolerance": {"type": "number", "exclusiveMinimum": 0},
        "dtype": {"enum": ["float32", "float64"]},
        "suites": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "head_dims": {"type": "array", "items": {"type": "integer", "multipleOf": 2}},
                "share": {"type": "number", "maximum": 1},
            },
        },
    },
}


@pytest.fixture
def load(tmp_path):
    def load(content: str | bytes):
        path = tmp_path / "file.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load_yaml(path)

    return load


def refusal(load, content: str | bytes) -> str:
    with pytest.raises(InputError) as refused:
        load(content)
    assert "\n" not in str(refused.value)
    return str(refused.value).rpartition("file.yaml")[2]


def test_yaml_is_read(load):
    assert load("a: [1, 2.5]\nb: {c: text}\n") == {"a": [1, 2.5], "b": {"c": "text"}}


@pytest.mark.parametrize(
    ("content", "line", "key"),
    [
        ("a: 1\nb: 2\na: 1\n", 3, "a"),
        ("s:\n  x: 1\n  x: 2\n", 3, "x"),
        ("- {id: one}\n- {id: two, id: three}\n", 2, "id"),
        ("a: {b: {c: 1,\n  c: 2}}\n", 2, "c"),
    ],
)
def test_a_key_given_twice_is_refused_where_it_stands(load, content, line, key):
    """YAML libraries let the last one win, in silence."""
    assert (
        refusal(load, content) == f" line {line}: is not valid YAML: the key {key!r} stands twice"
    )


def test_the_same_key_in_two_mappings_is_fine(load):
    assert load("- {id: one}\n- {id: two}\n") == [{"id": "one"}, {"id": "two"}]


@pytest.mark.parametrize(
    ("content", "line"),
    [("a: 1\nb: [1, 2\n", 3), ("a: 1\n\tb: 2\n", 2), ("a: 'open\n", 2), ("a: 1\n b: 2\n", 2)],
)
def test_broken_yaml_is_refused_with_its_line(load, content, line):
    assert refusal(load, content).startswith(f" line {line}: is not valid YAML: ")


@pytest.mark.parametrize(
    "content",
    [b"caf\xe9: 1\n", b"a: \x00\n", b"a: !!python/object/apply:os.getcwd []\n", b"? [a, b]\n: 1\n"],
    ids=["latin-1", "control character", "an object", "a list as a key"],
)
def test_what_is_no_plain_yaml_is_refused_in_one_line(load, content):
    assert refusal(load, content)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.yaml: does not exist"):
        load_yaml(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        load_yaml(tmp_path)


def test_a_valid_document_has_no_problem():
    document = {"seed": 1, "tolerance": 1e-5, "dtype": "float32", "suites": {"head_dims": [8]}}
    assert first_problem(document, SCHEMA) is None


@pytest.mark.parametrize(
    ("document", "key", "problem"),
    [
        ({}, "", "the key 'seed' is missing"),
        ({"seed": 1, "toleranc": 1}, "", "unknown key 'toleranc': did you mean 'tolerance'?"),
        (
            {"seed": 1, "suites": {"zzz": 1}},
            "suites",
            "unknown key 'zzz': allowed: head_dims, share",
        ),
        ({"seed": "one"}, "seed", "'one' is not of type integer; it is: Seed of every draw"),
        ({"seed": True}, "seed", "True is not of type integer"),
        ({"seed": 1.5}, "seed", "1.5 is not of type integer"),
        ({"seed": -1}, "seed", "-1 must be at least 0; it is: Seed of every draw"),
        ({"seed": 1, "tolerance": 0}, "tolerance", "0 must be greater than 0"),
        ({"seed": 1, "suites": {"share": 2}}, "suites.share", "2 must be at most 1"),
        (
            {"seed": 1, "suites": {"head_dims": [8, 7]}},
            "suites.head_dims[1]",
            "7 is not a multiple of 2",
        ),
        ({"seed": 1, "suites": {"head_dims": 8}}, "suites.head_dims", "8 is not of type array"),
        ({"seed": 1, "dtype": "float23"}, "dtype", "'float23' is unknown: did you mean 'float32'?"),
    ],
)
def test_a_problem_names_the_key_and_what_is_allowed(document, key, problem):
    found = first_problem(document, SCHEMA)
    assert found is not None
    assert found[0] == key
    assert found[1].startswith(problem)


def test_a_number_that_yaml_reads_as_text_is_explained(load):
    """The trap of YAML 1.1: 1e-5 has no point, so it is text."""
    document = load("seed: 1\ntolerance: 1e-5\n")
    key, problem, *_ = first_problem(document, SCHEMA)
    assert (key, document["tolerance"]) == ("tolerance", "1e-5")
    assert "write a number with a point, such as 1.0e-5" in problem
    assert first_problem(load("seed: 1\ntolerance: 1.0e-5\n"), SCHEMA) is None
    _, other, *_ = first_problem({"seed": 1, "tolerance": "small"}, SCHEMA)
    assert "with a point" not in other


@pytest.mark.parametrize(
    "content", ["seed: 1\n5: x\n", "seed: 1\non: x\n", "seed: 1\n5: x\ny: x\n"]
)
def test_a_key_that_is_no_text_is_an_unknown_key(load, content):
    """YAML 1.1 reads ``on`` and ``yes`` as true, so such keys come up."""
    key, problem, *_ = first_problem(load(content), SCHEMA)
    assert key == ""
    assert problem.startswith("unknown key ")


def test_a_table_schema_extends_another(tmp_path):
    (tmp_path / "rows.yaml").write_text("fields: [{name: a}, {name: b}]\n")
    (tmp_path / "suite.yaml").write_text("extends: rows\nfields: [{name: c}]\n")
    fields = fields_by_name([tmp_path / "rows.yaml", tmp_path / "suite.yaml"])
    assert {name: [field["name"] for field in found] for name, found in fields.items()} == {
        "rows": ["a", "b"],
        "suite": ["a", "b", "c"],
    }


def table_schemas(root):
    folder = root / "workflow" / "schemas"
    return sorted(path for path in folder.rglob("*.yaml") if ".schema" not in path.name)


def test_every_table_schema_describes_each_column_once(root):
    paths = table_schemas(root)
    assert len(paths) >= 7
    for path in paths:
        schema = load_yaml(path)
        assert schema["title"], path
        assert schema["description"], path
        for field in schema["fields"]:
            assert set(field) <= {
                "name", "type", "title", "description", "unit", "constraints", "finite",
            }, path  # fmt: skip
            assert set(field.get("constraints", {})) <= {"required", "enum"}, path
            assert field["type"] in ("string", "number", "integer"), path
            assert field["title"], path
            assert field["description"], path
        names = [field["name"] for field in table_fields(path)]
        assert len(names) == len(set(names)), path
        assert set(table_schema(path)["key"]) <= set(names), path


def test_the_json_schemas_are_valid(root):
    paths = list((root / "workflow" / "schemas").glob("*.schema.yaml"))
    assert {"config.schema.yaml", "claims.schema.yaml"} <= {path.name for path in paths}
    for path in paths:
        schema = load_yaml(path)
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        for kind in schema.get("$defs", {}).get("kinds", {}).values():
            Draft202012Validator.check_schema({**kind, "$defs": schema["$defs"]})
