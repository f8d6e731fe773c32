"""How to cite the project: valid by the format's own schema, and as the package says of itself."""

import copy
import json
import re
import tomllib

import pytest
import yaml
from jsonschema import Draft7Validator

import posinfo
from posinfo import datapackage
from posinfo.report import citations


@pytest.fixture(scope="module")
def schema(root):
    """The schema of the Citation File Format 1.2.0; its source stands beside it."""
    return json.loads((root / "tests/schemas/cff-1.2.0.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def citation(root):
    return yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def problems(document, schema) -> list[str]:
    found = Draft7Validator(schema, format_checker=Draft7Validator.FORMAT_CHECKER)
    return [error.json_path for error in found.iter_errors(document)]


def test_it_is_valid(citation, schema):
    Draft7Validator.check_schema(schema)
    assert citation["cff-version"] == "1.2.0"
    assert problems(citation, schema) == []


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("authors", [], "$.authors"),
        ("authors", [{"nam": "someone"}], "$.authors[0]"),
        ("license", "MIT License", "$.license"),
        ("cff-version", "1.3", "$['cff-version']"),
        ("licence", "MIT", "$"),
    ],
)
def test_the_schema_refuses_what_is_wrong(citation, schema, key, value, where):
    assert problems({**copy.deepcopy(citation), key: value}, schema) == [where]


def test_its_version_and_licence_are_the_package_s(citation, project):
    assert citation["version"] == posinfo.__version__
    assert citation["license"] == project["license"] == datapackage.LICENCE["name"] == "MIT"


def test_its_author_is_one_entity_the_contributors(citation, project):
    """An entity has a name alone; a person would have a family name."""
    assert citation["authors"] == project["authors"]
    assert citation["authors"] == [{"name": datapackage.CONTRIBUTORS}]


def test_its_title_is_the_project_s(citation, root):
    heading = re.search(r"^# (.+)$", (root / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert citation["title"] == heading[1] == datapackage.TITLE


def test_the_page_cites_as_the_file_says(citation):
    assert citation["title"] == citations.TITLE
    assert [author["name"] for author in citation["authors"]] == [citations.AUTHOR]
    assert citation["license"] == citations.LICENSE
    entry = citations.of_project()
    for said in ("title", "license", "version"):
        assert citation[said] in entry
