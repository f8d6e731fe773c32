"""Loads YAML files and the schemas that describe them, with errors that name file and key."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from posinfo.errors import InputError, nearest

#: libyaml's loader where it is built in: ten times faster on the claims.
_BASE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeyLoader(_BASE):
    """A safe loader that refuses a key given twice, which YAML libraries let the last win."""


def _unique_mapping(loader: Any, node: yaml.MappingNode) -> dict[Hashable, Any]:
    mapping: dict[Hashable, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable):
            raise yaml.constructor.ConstructorError(
                None, None, "a key must be a single value", key_node.start_mark
            )
        if key in mapping:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} stands twice", key_node.start_mark
            )
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def load_yaml(path: str | Path) -> Any:
    """Read a YAML file.

    Raises
    ------
    InputError
        If the file is missing, is not YAML, or holds a key twice; the line is named.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InputError(str(path), "does not exist") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"cannot be read: {error}") from error
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506  (a safe loader's child)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f"{path} line {mark.line + 1}" if mark else str(path)
        raise InputError(where, f"is not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InputError(str(path), f"is not valid YAML: {error}") from error


class Problem(NamedTuple):
    """A violation of a schema.

    ``key`` is written as the user would find it, ``suites.offsets.head_dims[2]``; ``path`` is the
    same in parts, down to the key that is unknown or missing, and ``value`` what stands there.
    """

    key: str
    text: str
    path: tuple[str | int, ...]
    value: Any


def first_problem(document: Any, schema: Mapping[str, Any]) -> Problem | None:
    """The first violation of a JSON Schema, or None if there is none.

    An unknown key comes before all else: a misspelt one is missing, too, where it is required.
    """
    # Imported here: jsonschema takes a tenth of a second, and most readers need only YAML.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    # JSON's own types take 8.0 for an integer; here a size is written as one.
    types = Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number}
    )
    validator = extend(Draft202012Validator, type_checker=types)(schema)
    errors = list(validator.iter_errors(document))
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    error = best_match(unknown or errors)
    if error is None:
        return None
    path, value = tuple(error.absolute_path), error.instance
    if error.validator == "additionalProperties":
        path += (_unknown_keys(error)[0],)
        value = value[path[-1]]
    elif error.validator == "required":
        path, value = (*path, _missing_keys(error)[0]), None
    return Problem(_key(error.absolute_path), _problem(error), path, value)


def _unknown_keys(error: Any) -> list[str]:
    return sorted(set(error.instance) - set(error.schema.get("properties", {})), key=str)


def _missing_keys(error: Any) -> list[str]:
    return [name for name in error.validator_value if name not in error.instance]


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_: object, value: object) -> bool:
    """YAML can write .nan and .inf; nothing here can be either."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _key(path: Iterator[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _problem(error: Any) -> str:
    value, schema = error.instance, error.schema
    described = schema.get("description", "")
    allowed = f"; it is: {described.rstrip('.')}" if described else ""
    match error.validator:
        case "additionalProperties":
            unknown = _unknown_keys(error)[0]
            return f"unknown key {unknown!r}: {nearest(str(unknown), schema.get('properties', {}))}"
        case "required":
            return f"the key {_missing_keys(error)[0]!r} is missing{allowed}"
        case "type":
            hint = _number_hint(value) if error.validator_value in ("number", "integer") else ""
            return f"{value!r} is not of type {error.validator_value}{hint}{allowed}"
        case "multipleOf":
            return f"{value!r} is not a multiple of {error.validator_value}{allowed}"
        case "minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum":
            words = {
                "minimum": "at least",
                "exclusiveMinimum": "greater than",
                "maximum": "at most",
                "exclusiveMaximum": "less than",
            }
            return f"{value!r} must be {words[error.validator]} {error.validator_value}{allowed}"
        case "enum":
            return f"{value!r} is unknown: {nearest(str(value), map(str, error.validator_value))}"
        case _:
            return f"{error.message}{allowed}"


def _number_hint(value: object) -> str:
    """YAML 1.1 reads ``1e-5`` as a string; the fix is not obvious to whoever wrote it."""
    if not isinstance(value, str):
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return " (YAML reads this as text; write a number with a point, such as 1.0e-5)"


def table_schema(path: str | Path) -> dict[str, Any]:
    """A table schema: ``title``, ``description``, ``fields``, and the ``key`` that names a row.

    One that extends another begins with the other's fields, and has its key. The fields of the key
    say so, by ``key``, to whoever is given the fields alone.

    Parameters
    ----------
    path
        The schema's file; what it extends is named from its folder, without the ending.
    """
    path = Path(path)
    schema = load_yaml(path)
    shared: dict[str, Any] = {"fields": []}
    if "extends" in schema:
        shared = table_schema(path.parent / f"{schema['extends']}.yaml")
    key = schema.get("key", shared.get("key"))
    fields = [
        {**field, "key": True} if field["name"] in (key or ()) else field
        for field in [*shared["fields"], *schema["fields"]]
    ]
    return {**schema, **({"key": key} if key else {}), "fields": fields}


def table_fields(path: str | Path) -> list[dict[str, Any]]:
    """The fields of a table schema."""
    return table_schema(path)["fields"]


def fields_by_name(paths: Iterable[str | Path]) -> dict[str, list[dict[str, Any]]]:
    """The fields of several table schemas, by the names of their files."""
    return {Path(path).stem: table_fields(path) for path in paths}
