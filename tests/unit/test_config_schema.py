"""The shipped config, its schema, and the one line that each kind of wrong config ends with."""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from posinfo.catalogue import SUITES
from posinfo.checks import check_config
from posinfo.errors import InputError
from posinfo.schemas import load_yaml

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config" / "config.yaml"
SCHEMA = load_yaml(ROOT / "workflow" / "schemas" / "config.schema.yaml")


def subschemas(schema: Any, where: str = "") -> Iterator[tuple[str, dict]]:
    """Every schema of a value that a config may hold, with where it stands in the schema."""
    yield where, schema
    for key in ("properties", "$defs"):
        for name, child in schema.get(key, {}).items():
            yield from subschemas(child, f"{where}/{key}/{name}")
    for number, child in enumerate(schema.get("prefixItems", [])):
        yield from subschemas(child, f"{where}/prefixItems/{number}")
    if isinstance(schema.get("items"), dict):
        yield from subschemas(schema["items"], f"{where}/items")


ALL = dict(subschemas(SCHEMA))


def resolve(schema: dict) -> dict:
    """A schema with the definition that it refers to."""
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].removeprefix("#/$defs/")
    return {**SCHEMA["$defs"][name], **schema}


def test_the_schema_is_valid():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_key_and_item_has_a_description():
    assert len(ALL) > 100
    lacking = [where for where, schema in ALL.items() if not resolve(schema).get("description")]
    assert lacking == []


def test_every_object_closes_itself_and_requires_what_it_describes():
    objects = {w: s for w, s in ALL.items() if s.get("type") == "object"}
    assert len(objects) > 10
    for where, schema in objects.items():
        if "propertyNames" in schema:  # entries with names of their own, each of one form
            assert schema["additionalProperties"]["additionalProperties"] is False, where
            continue
        assert schema.get("additionalProperties") is False, where
        # A list's entry may leave an optional key out; a section may not.
        if "/items" not in where:
            assert set(schema["required"]) == set(schema["properties"]), where


def test_every_number_has_a_range():
    """Without one, YAML's .inf, 0 and negative numbers would reach the suites."""
    lower = {"minimum", "exclusiveMinimum"}
    for where, schema in ALL.items():
        if resolve(schema).get("type") in ("number", "integer"):
            assert lower & set(resolve(schema)), where


def test_the_suites_are_those_of_the_library():
    assert tuple(SCHEMA["properties"]["suites"]["properties"]) == SUITES
    assert tuple(load_yaml(CONFIG)["suites"]) == SUITES


#: Keys that the comment of the key above them explains too.
EXPLAINED_ABOVE = {"exercise_shift", "sign_position", "position_inside", "positions_outside"}


def test_every_key_of_the_shipped_config_has_a_comment():
    """Sections and suites' keys each have a line above; sizes share that of their section."""
    above = ""
    keys = 0
    for number, line in enumerate(CONFIG.read_text(encoding="utf-8").splitlines(), start=1):
        key = re.match(r"(|    )(\w+):", line)
        if key:
            keys += 1
            assert above.lstrip().startswith("#") or key[2] in EXPLAINED_ABOVE, (
                f"config/config.yaml line {number}: no comment above {key[2]}"
            )
        above = line
    assert keys > 40


def test_the_shipped_config_is_valid():
    check_config(load_yaml(CONFIG), [str(CONFIG)], SCHEMA)


def changed(path: str, value: Any) -> dict:
    """The shipped config with one value changed, or its key removed if the value is None."""
    config = copy.deepcopy(load_yaml(CONFIG))
    *sections, key = path.split(".")
    section = config
    for name in sections:
        section = section.setdefault(name, {})
    if value is None:
        del section[key]
    else:
        section[key] = value
    return config


WRONG = [
    # (key that is changed, value, key that the line names, what the line says is allowed)
    ("sed", 123, "", r"unknown key 'sed': did you mean 'seed'\? allowed: .*seed"),
    ("suites.norms.tolerence", 1e-5, "suites.norms", "did you mean 'tolerance'"),
    ("suites.norm", {}, "suites", r"unknown key 'norm': did you mean 'norms'\? allowed: angles"),
    ("suites.everything", {}, "suites", "allowed: angles, "),
    ("suites.shapes", None, "suites", "the key 'shapes' is missing"),
    ("seed", None, "", "the key 'seed' is missing"),
    ("seed", -1, "seed", "-1 must be at least 0; it is: seed"),
    ("seed", 1.5, "seed", "1.5 is not of type integer"),
    ("seed", True, "seed", "True is not of type integer"),
    ("seed", "123", "seed", "'123' is not of type integer"),
    ("lesson_b.head_dim", 7, "lesson_b.head_dim", "7 is not a multiple of 2; .*even"),
    ("lesson_b.head_dim", 0, "lesson_b.head_dim", "0 must be at least 2; .*even"),
    ("lesson_b.head_dim", -8, "lesson_b.head_dim", "-8 must be at least 2"),
    ("lesson_b.head_dim", 8.0, "lesson_b.head_dim", "8.0 is not of type integer"),
    ("suites.angles.head_dims", [8, 65], r"suites.angles.head_dims\[1\]", "65 is not a multiple"),
    ("suites.angles.head_dims", [], "suites.angles.head_dims", "at least one"),
    ("base", 0, "base", "0 must be greater than 1"),
    ("base", -10000.0, "base", "-10000.0 must be greater than 1"),
    ("base", 1.0, "base", "1.0 must be greater than 1"),
    ("base", float("nan"), "base", "nan is not"),
    ("base", float("inf"), "base", "inf"),
    ("suites.angles.bases", [1e4, "5e5"], r"suites.angles.bases\[1\]", r"write .* as 1\.0e-5"),
    ("suites.norms.tolerance", "1e-5", "suites.norms.tolerance", r"'1e-5' is not of type number "
     r"\(YAML reads this as text; write a number with a point, such as 1\.0e-5\)"),
    ("suites.norms.dtypes", ["float8"], r"suites.norms.dtypes\[0\]", "allowed: bfloat16, float16"),
    ("suites.norms.wide_shape", [2, 16, 8], "suites.norms.wide_shape", "four whole numbers"),
    ("suites.norms.wide_shape", [2, 16, 8, 7], r"suites.norms.wide_shape\[3\]", "multiple of 2"),
    ("suites.offsets.shifts", [2**24], r"suites.offsets.shifts\[0\]", "must be at most 16776216"),
    ("suites.offsets.table_rows", 0, "suites.offsets.table_rows", "must be at least 1"),
    ("claims", [], "claims", "files of claims"),
    ("claims", ["a.yaml", "a.yaml"], "claims", "non-unique"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value", "key", "allowed"), WRONG, ids=[f"{path}={value}" for path, value, *_ in WRONG]
)
def test_a_wrong_config_ends_with_one_line(tmp_path, path, value, key, allowed):
    import yaml

    config = changed(path, value)
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    with pytest.raises(InputError) as found:
        check_config(config, [str(file)], SCHEMA)
    line = str(found.value)
    assert "\n" not in line
    assert re.match(re.escape(f"{file}: ") + (f"{key}: " if key else ""), line), line
    assert re.search(allowed, line), line
    # A line is short enough to be read: it does not repeat a section of the config.
    assert len(line) - len(str(file)) < 300, line


def test_the_strongest_file_that_sets_a_key_is_blamed(tmp_path):
    over = tmp_path / "mine.yaml"
    over.write_text("seed: -1\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{over}: seed: ")):
        check_config(changed("seed", -1), [str(CONFIG), str(over)], SCHEMA)
    below = tmp_path / "below.yaml"
    below.write_text("base: -1\n", encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{below}: base: ")):
        check_config(changed("base", -1), [str(CONFIG), str(below), str(over)], SCHEMA)
    # No file has this value, so it came from the command line.
    with pytest.raises(InputError, match=r"^--config: base: "):
        check_config(changed("base", -2), [str(CONFIG), str(below), str(over)], SCHEMA)


def test_a_key_from_the_command_line_is_blamed_on_it():
    with pytest.raises(InputError, match=r"^--config: unknown key 'sed'"):
        check_config(changed("sed", 1), [str(CONFIG)], SCHEMA)


def test_a_key_given_twice_and_a_file_without_keys_are_refused(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text("seed: 1\nseed: 2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: is not valid YAML: the key 'seed' stands twice"):
        check_config({}, [str(file)], SCHEMA)
    file.write_text("- seed\n", encoding="utf-8")
    with pytest.raises(InputError, match="must hold keys with values"):
        check_config({}, [str(file)], SCHEMA)
