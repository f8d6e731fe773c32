"""The tables of README.md that scripts under benchmarks/ measure."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells(marker: str) -> list[list[str]]:
    """The cells of the table between two markers of README.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [found] = re.findall(rf"<!-- {marker} -->\n(.*?)<!-- /{marker} -->", text, re.DOTALL)
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines() if line
    ]


@pytest.mark.parametrize(("name", "marker"), [("pages", "pages"), ("pipeline", "benchmark")])
def test_the_table_has_the_rows_that_its_script_writes(name, marker):
    head, _, *body = cells(marker)
    assert [row[0] for row in body] == [row[0] for row in script(name).ROWS]
    assert {len(row) for row in body} == {len(head)}
    assert all(all(row) for row in body)


def test_the_pages_are_those_that_are_compared():
    assert tuple(cells("pages")[0][1:]) == script("pages").NAMES


PARTS = [
    {"kind": "heading", "level": 2, "text": "What *stars* do"},
    {"kind": "text", "text": "a_b <script>"},
    {"kind": "table", "caption": "c", "columns": ["x", "y"], "rows": [["1", "<b>"]] * 70},
    {"kind": "figure", "source": "data:image/svg+xml,%3Csvg%20id='drawn'/%3E", "text": "alt"},
]


def test_a_notebook_has_the_same_content():
    text, table, figure = script("pages").notebook(PARTS).cells
    assert text.source == "## What \\*stars\\* do\n\na\\_b \\<script\\>"
    html = table.outputs[0].data["text/html"]
    assert html.count("<tr") == 71  # none is left out
    assert "<td>&lt;b&gt;</td>" in html
    assert figure.outputs[0].data["image/svg+xml"] == "<svg id='drawn'/>"


def test_a_ratio_is_taken_round_by_round():
    assert script("pages").ratio([1, 10, 3], [2, 20, 1]) == 0.5
