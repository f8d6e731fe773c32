"""Tables and figures on the page: numbers, downloads, drawings, places."""

import base64
import hashlib
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posinfo.captions import Caption
from posinfo.report import pictures, view
from posinfo.report.grids import table_grid
from reported import TEMPLATES, caption, claim, content_of, data


def test_a_table_shows_units_and_rounds() -> None:
    fields = [
        {"name": "pair", "type": "integer", "title": "Pair"},
        {"name": "angle", "type": "number", "title": "Angle", "unit": "rad"},
        {"name": "error", "type": "number", "title": "Error"},
    ]
    grid = table_grid(fields, [{"pair": 3, "angle": -1.23456, "error": 1.23456e-9}])
    assert [(column.title, column.unit, column.numeric) for column in grid.columns] == [
        ("Pair", "", True), ("Angle", "rad", True), ("Error", "", True),
    ]  # fmt: skip
    assert [cell.text for cell in grid.rows[0]] == ["3", "−1.235", "1.2\u00a0×\u00a010⁻⁹"]


def test_an_exhibit_can_be_checked() -> None:
    content = b"n\n1\n"
    shown = view.exhibit(data("angles", "A01", content=content), [], {})
    assert shown.download.startswith("data:text/csv;charset=utf-8,")
    assert content_of(shown.download) == content
    assert shown.digest == hashlib.sha256(content).hexdigest()
    assert (shown.anchor, shown.filename) == ("table-angles", "angles.csv")
    for part in ("table angles", shown.digest[:12], "#table-angles", shown.path):
        assert part in shown.citation


@given(st.one_of(st.binary(), st.text().map(str.encode)))
@example('a,b\n"it\'s 5 %",<#&> − × é\u00a0[1]{2}^|`\\\t\r\n'.encode())
@example(b"%41'")
def test_an_address_holds_its_content_and_ends_no_attribute(content: bytes) -> None:
    address = pictures.data_uri("text/csv", content)
    assert content_of(address) == content
    # Nothing that ends an address or an attribute in double quotes, or that needs an escape there.
    assert not re.search(r"[\x00-\x20\x7f\"<>&#\\^`{|}\[\]]", address)
    assert len(address.encode()) <= len("data:text/csv;base64,") + len(base64.b64encode(content))


def test_an_exhibit_that_was_not_made_says_why() -> None:
    shown = view.exhibit(data("angles", "A01", records=[], problem="no row of the case x"), [], {})
    assert shown.problem == "no row of the case x"
    assert "no row of the case x" in shown.caption
    assert shown.grid.rows == ()


def test_a_caption_that_asks_for_too_much_is_a_problem_not_a_crash() -> None:
    broken = caption("angles", "A01", section="s")
    broken = Caption(**vars(broken) | {"caption": "{{ largest(rows, 'nothing') }}"})
    shown = view.exhibit(data("angles", "A01", caption=broken), [], {})
    assert "nothing" in shown.problem


def test_exhibits_stand_beside_the_first_claim_they_are_about() -> None:
    claims = [
        claim("waits", "A01", kind="awaiting"),
        claim("elsewhere", "A02", section="Exercise"),
        claim("here", "A03"),
        claim("other-lesson", "B01"),
    ]
    found = view.place_exhibits(
        [
            data("x", "A01", "A02", "A03"),
            data("y", "A01", "B01"),
            data("z", "B01"),
            data("w", "A09"),
        ],
        claims,
    )
    assert found == {
        ("table", "x"): "here",
        ("table", "y"): "waits",
        ("table", "z"): "other-lesson",
        ("table", "w"): None,
    }


def test_a_section_of_ones_own_comes_before_one_that_is_shared() -> None:
    shown = data("x", "A01", "A02")
    section = shown.caption.section
    shared = claim("shared", "A01", section=f"Another; {section}")
    own = claim("own", "A02", section=section)
    assert view.place_exhibits([shown], [shared, own]) == {("table", "x"): "own"}
    assert view.place_exhibits([shown], [shared]) == {("table", "x"): "shared"}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ('width="90pt" height="60pt"', (120, 80)),
        ('width="90px" height="60"', (90, 60)),
        ('width="100%" height="60"', None),
        ("", None),
    ],
)
def test_size_of_a_drawing(size: str, expected: tuple[int, int] | None) -> None:
    assert (
        pictures.svg_size(f'<svg xmlns="http://www.w3.org/2000/svg" {size}/>'.encode()) == expected
    )


@pytest.mark.parametrize("content", [b"", b"<svg", b"\xff\xfe", b"not a drawing"])
def test_no_picture_from_what_is_no_drawing(content: bytes) -> None:
    good = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    assert pictures.picture({"light": good, "dark": good}) is not None
    assert pictures.picture({"light": good, "dark": content}) is None
    assert pictures.picture({"light": good}) is None


def themed(light: str, dark: str) -> dict[str, bytes]:
    shape = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><style>{}</style></svg>'
    return {"light": shape.format(light).encode(), "dark": shape.format(dark).encode()}


def test_two_themes_are_one_drawing() -> None:
    svg = themed("*{x:1}.a{fill:#123;stroke:#000}.b{y:2}", "*{x:1}.a{fill:#123;stroke:#fff}.b{y:2}")
    drawing = content_of(pictures.picture(svg).source).decode().replace("'", '"')
    assert drawing.partition("<style>")[2] == (
        "*{x:1}.a{fill:#123;stroke:var(--a)}.b{y:2}svg{background:#fff;--a:#000}"
        "@media screen and (prefers-color-scheme:dark){svg{background:none;--a:#fff}}</style></svg>"
    )
    ElementTree.fromstring(drawing)  # noqa: S314  (drawn here)


@pytest.mark.parametrize("dark", [".b{fill:#fff}", ".a{fill:#fff}.b{x:1}", ""])
def test_themes_that_differ_in_more_than_colours_are_a_problem(dark: str) -> None:
    svg = themed(".a{fill:#000}", dark)
    assert pictures.picture(svg) is None
    of = caption("x", "A01", kind="figure")
    figure = data("x", "A01", kind="figure", path="results/figures/x.csv", caption=of, svg=svg)
    shown = view.exhibit(figure, [], {})
    assert "x.light.svg and results" in shown.problem
    assert shown.problem.endswith("x.dark.svg differ in more than their style")
    assert shown.picture is None


def test_templates_hold_no_attribute_in_single_quotes() -> None:
    """For apostrophes of data stand in the page as they are."""
    for path in Path(TEMPLATES).glob("*.j2"):
        assert not re.search(r"<[^>]*='", path.read_text(encoding="utf-8")), path
