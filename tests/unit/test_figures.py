"""Figures: drawn from their records alone, the same bytes every time, readable in both themes."""

import copy
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest

from posinfo.figures import FIGURES, THEMES, draw
from posinfo.figures.plots import powers
from posinfo.figures.style import DARK, LIGHT, power_of_ten
from posinfo.tables import FIGURES as DATA
from posinfo.tables import Data

#: Where a figure's data may be changed so that the drawing must change too.
CHANGED = {
    "mechanism": ("cos", -0.5),
    "angles-by-position": ("angle", 0.02),
    "shift-error": ("error", 1e-4),
    "frequency-ratios": ("ratio", 0.2),
    "angle-error-by-dtype": ("error", 1e-4),
    "cosine-decay": ("largest", 0.2),
    "coverage": ("share", 0.4),
    "permutation-error": ("change", 1e-3),
}
KEYS = sorted(FIGURES)


@pytest.fixture(scope="module")
def drawn_from(records, config) -> dict[str, list[dict]]:
    """The records of each figure; a cell that a record lacks reads as empty."""
    data = Data(records, [], config)
    found = {}
    for key, maker in DATA.items():
        made = maker(data)
        columns = {column for record in made for column in record}
        found[key] = [{column: record.get(column) for column in columns} for record in made]
    return found


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def colours(style) -> list[str]:
    return [style.ink, style.muted, style.faint, *style.colours]


def test_there_is_a_drawing_for_the_data_of_each_figure():
    assert sorted(DATA) == KEYS == sorted(CHANGED)


@pytest.mark.parametrize("style", THEMES, ids=lambda style: style.name)
@pytest.mark.parametrize("key", KEYS)
def test_a_figure_is_a_small_svg_that_needs_nothing_else(key, style, drawn_from):
    content = draw(key, drawn_from[key], style)
    root = ElementTree.fromstring(content)  # noqa: S314  (our own bytes)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    # No date: bytes must repeat.
    assert tags.isdisjoint({"image", "script", "date"})
    # Where the font is missing, one as wide takes its place, and not one with serifs.
    assert re.findall(rb"font-family[:=] ?\"?([^;\"]*)", content) == [
        b"DejaVu Sans, Verdana, sans-serif"
    ]
    for link in re.findall(rb'href="(.*?)"', content):
        assert link.startswith(b"#")
    assert b'style="fill: #ffffff' not in content
    assert len(content) < 48_000


@pytest.mark.parametrize("key", KEYS)
def test_the_bytes_are_the_same_again(key, drawn_from):
    assert draw(key, drawn_from[key], LIGHT) == draw(key, drawn_from[key], LIGHT)


def test_a_users_own_settings_of_matplotlib_change_nothing(drawn_from):
    before = draw("shift-error", drawn_from["shift-error"], LIGHT)
    with matplotlib.rc_context({"axes.grid.axis": "y", "font.weight": "bold"}):
        assert draw("shift-error", drawn_from["shift-error"], LIGHT) == before


@pytest.mark.parametrize("key", KEYS)
def test_the_two_themes_are_one_drawing_in_other_colours(key, drawn_from):
    # The name of a marker is a hash of its look, of its colour too.
    first, second = (
        re.sub(r"\bm[0-9a-f]{10}\b", "marker", draw(key, drawn_from[key], style).decode())
        for style in (LIGHT, DARK)
    )
    assert first != second
    for light, dark in zip(colours(LIGHT), colours(DARK), strict=True):
        first = first.replace(light, dark)
    assert first == second


@pytest.mark.parametrize("key", KEYS)
def test_what_is_drawn_is_what_stands_in_the_data(key, drawn_from):
    column, value = CHANGED[key]
    changed = copy.deepcopy(drawn_from[key])
    record = next(record for record in changed if record[column] not in (None, 1.0))
    record[column] = value
    assert draw(key, changed, LIGHT) != draw(key, drawn_from[key], LIGHT)


@pytest.mark.parametrize("key", KEYS)
def test_without_data_a_placeholder_stands_for_the_figure(key, drawn_from):
    placeholder = draw(key, [], LIGHT)
    ElementTree.fromstring(placeholder)  # noqa: S314  (our own bytes)
    assert placeholder != draw(key, drawn_from[key], LIGHT)
    others = [draw(other, [], LIGHT) for other in KEYS if other != key]
    assert placeholder not in others


@pytest.mark.parametrize("style", THEMES, ids=lambda style: style.name)
def test_every_colour_of_text_can_be_read_on_the_page(style):
    for colour in (style.ink, style.muted, *style.colours):
        assert contrast(colour, style.page) >= 4.5, colour
    assert len(set(colours(style))) == len(colours(style))


def test_an_error_of_exactly_zero_is_drawn_too(drawn_from):
    exact = [dict(record, error=0.0) for record in drawn_from["shift-error"]]
    some = [dict(exact[0]), *drawn_from["shift-error"][1:]]
    assert draw("shift-error", exact, LIGHT) != draw("shift-error", some, LIGHT)


def test_a_change_of_exactly_zero_is_drawn_too(drawn_from):
    usual = drawn_from["permutation-error"]
    exact = [dict(usual[0], change=0.0), *usual[1:]]
    assert draw("permutation-error", exact, LIGHT) != draw("permutation-error", usual, LIGHT)


def test_methods_that_leave_no_pair_outside_are_drawn_too(drawn_from):
    none = [dict(record, share=0.0) for record in drawn_from["coverage"]]
    assert b"<svg" in draw("coverage", none, LIGHT)


@pytest.mark.parametrize("key", ["shift-error", "frequency-ratios", "coverage"])
def test_a_smaller_config_makes_a_smaller_figure(key, drawn_from):
    column = {"shift-error": "head_dim", "frequency-ratios": "method", "coverage": "base"}[key]
    first = drawn_from[key][0][column]
    few = [record for record in drawn_from[key] if record[column] == first]
    assert b"<svg" in draw(key, few, LIGHT)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1, 1000, [1, 10, 100, 1000]), (0.02, 3, [0.01, 0.1, 1, 10]), (10, 10, [10])],
)
def test_ticks_enclose_what_is_drawn(low, high, expected):
    assert powers(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "label"), [(0.001, "0.001"), (1000.0, "1000"), (1e4, "10⁴"), (1e-12, "10⁻¹²")]
)
def test_labels_of_ticks(value, label):
    assert power_of_ten(value) == label
