"""Figures: drawn from their records alone, the same bytes every time, readable in both themes."""

import copy
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posinfo.figures import FIGURES, THEMES, draw
from posinfo.figures.compact import compact, short_path
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
    "detection-matrix": ("widths", "accepted"),
    "loss-by-length": ("loss", 2.0),
    "loss-by-method": ("loss", 2.0),
    "table-similarity": ("cosine", 0.9),
    "real-loss-by-position": ("loss", 2.0),
}
KEYS = sorted(FIGURES)


@pytest.fixture(scope="module")
def drawn_from(records, config) -> dict[str, list[dict]]:
    """The records of each figure; a cell that a record lacks reads as empty."""
    data = Data(records, [], config)
    found = {}
    for key, maker in DATA.items():
        made = maker(data)
        columns = list(dict.fromkeys(column for record in made for column in record))
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
    assert b"#ffffff" not in content
    # A mark for each of some two thousand verdicts, and a name for each of their lines.
    assert len(content) < (36_000 if key == "detection-matrix" else 16_000)


@pytest.mark.parametrize("key", KEYS)
def test_the_bytes_are_the_same_again(key, drawn_from):
    assert draw(key, drawn_from[key], LIGHT) == draw(key, drawn_from[key], LIGHT)


def test_a_users_own_settings_of_matplotlib_change_nothing(drawn_from):
    before = draw("shift-error", drawn_from["shift-error"], LIGHT)
    with matplotlib.rc_context({"axes.grid.axis": "y", "font.weight": "bold"}):
        assert draw("shift-error", drawn_from["shift-error"], LIGHT) == before


@pytest.mark.parametrize("key", KEYS)
def test_the_two_themes_are_one_drawing_in_other_colours(key, drawn_from):
    first, second = (draw(key, drawn_from[key], style).decode() for style in (LIGHT, DARK))
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


def test_a_smaller_drawing_draws_the_same():
    """Written as matplotlib writes: the picture stays, what says nothing goes."""
    content = b"""<?xml version="1.0"?><!DOCTYPE svg>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg"
  width="9pt" height="9pt" viewBox="0 0 9 9">
 <metadata>x</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round; stroke-linecap: butt}</style></defs>
 <g id="figure_1">
  <g id="patch_1"><path d="M 0 9 L 9 9 z" style="fill: none"/></g>
  <path d="M 1 1" style="fill: none; stroke: #123456"/>
  <path d="M 1 1 L 3.001 1" clip-path="url(#p1f)" style="fill: none; stroke: #123456"/>
  <defs><path id="m2e" d="M 0 0 L 0 3.5" style="stroke: #123456; stroke-width: 0.8"/></defs>
  <use xlink:href="#m2e" x="153.000001" y="-0.001" style="stroke: #123456"/>
  <use xlink:href="#m2e" x="2.126" y="1" style="stroke: #123456"/>
  <text style="font-family: 'DejaVu Sans'; font-size: 14px" x="1" y="2"
    transform="rotate(-0 1 2)">a &lt; b</text>
  <text style="font-size: 14px" transform="translate(3 4) rotate(-90)">up</text>
 </g>
 <defs><clipPath id="p1f"><rect x="1" y="1" width="7" height="7"/></clipPath></defs>
</svg>"""
    assert compact(content).decode() == (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt" viewBox="0 0 9 9" '
        'font-family="DejaVu Sans, Verdana, sans-serif"><style>'
        "*{stroke-linejoin:round;stroke-linecap:butt}.a{fill:none;stroke:#123456}"
        ".b{clip-path:url(#i0)}.c{stroke:#123456;stroke-width:.8}.d{stroke:#123456}"
        '.e{font-size:14px}</style><path d="M1,1h2" class="a b"/>'
        '<defs><path d="M0,0v3.5" id="i1" class="c"/></defs>'
        '<use x="153" y="0" href="#i1" class="d"/><use x="2.13" y="1" href="#i1" class="d"/>'
        '<text x="1" y="2" class="e">a &lt; b</text>'
        '<text class="e" transform="translate(3 4) rotate(-90)">up</text>'
        '<defs><clipPath id="i0"><rect x="1" y="1" width="7" height="7"/></clipPath></defs></svg>'
    )


POINT = st.tuples(st.integers(-20_000, 20_000), st.integers(-20_000, 20_000))


def walked(path: str) -> list[tuple[float, float]]:
    """The corners of a path in relative steps, by a reader of its own."""
    corners, x, y = [], 0.0, 0.0
    for letter, numbers in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", path):
        values = [float(text) for text in re.findall(r"-?(?:\d+\.\d+|\.\d+|\d+)", numbers)]
        width = {"M": 2, "l": 2, "h": 1, "v": 1}[letter]
        for at in range(0, len(values), width):
            step = values[at : at + width]
            if letter == "M":
                x, y = step
            else:
                x += step[0] if letter in "lh" else 0
                y += step[-1] if letter in "lv" else 0
            corners.append((x, y))
    return corners


@given(st.lists(POINT, min_size=1, max_size=12))
@example([(0, 0), (500, 0), (100, 0)])
@example([(0, 0), (100, 0), (0, 0)])
def test_a_path_in_steps_passes_every_point(points):
    """Each point lies on the line that is left, within a hundredth and what rounding adds."""
    places = [(x / 100, y / 100) for x, y in points]
    found = walked(short_path("M " + " L ".join(f"{x:.6f} {y:.6f}" for x, y in places)))
    for at in (0, -1):
        assert found[at] == pytest.approx(places[at], abs=1e-6)

    def distance(point, one, other):
        length = (other[0] - one[0]) ** 2 + (other[1] - one[1]) ** 2
        along = sum((p - a) * (b - a) for p, a, b in zip(point, one, other, strict=True))
        share = min(max(along / length, 0), 1) if length else 0
        return (
            sum((p - a - share * (b - a)) ** 2 for p, a, b in zip(point, one, other, strict=True))
            ** 0.5
        )

    for place in places:
        pairs = zip(found, found[1:] or found, strict=False)
        assert min(distance(place, *pair) for pair in pairs) <= 0.0101


@pytest.mark.parametrize("key", KEYS)
def test_every_mark_stands_inside_its_figure(key, drawn_from):
    """A coordinate that a browser cannot read counts as 0: at the edge, where nothing is drawn."""
    root = ElementTree.fromstring(draw(key, drawn_from[key], LIGHT))  # noqa: S314  (our own bytes)
    _, _, width, height = map(float, root.get("viewBox").split())
    marks = [one for one in root.iter() if one.tag.endswith("}use") and one.get("x") != "0"]
    assert marks or key in ("mechanism", "detection-matrix")
    for mark in marks:
        for name, end in (("x", width), ("y", height)):
            assert re.fullmatch(r"-?(\d+(\.\d+)?|\.\d+)", mark.get(name))
            assert 0 < float(mark.get(name)) < end


@pytest.mark.parametrize("style", THEMES, ids=lambda style: style.name)
def test_every_colour_of_text_can_be_read_on_the_page(style):
    for colour in (style.ink, style.muted, *style.colours):
        assert contrast(colour, style.page) >= 4.5, colour
    assert len(set(colours(style))) == len(colours(style))


def test_every_rejection_has_its_square_and_every_fault_its_name(drawn_from):
    records = drawn_from["detection-matrix"]
    drawn = draw("detection-matrix", records, LIGHT).decode()
    root = ElementTree.fromstring(drawn)  # noqa: S314  (our own bytes)
    paths = [one.get("d") for one in root.iter() if one.tag.endswith("}path")]
    strokes = [len(re.findall("[Mm]", path)) for path in paths]
    assert sum(list(record.values()).count("rejected") for record in records) in strokes
    assert len(records) in strokes
    for record in records:
        assert f">{record['fault']}<" in drawn
    stages = list(dict.fromkeys(record["stage"] for record in records))
    few = [record for record in records if record["stage"] == stages[0]]
    assert 'height="2522pt"' not in draw("detection-matrix", few, LIGHT).decode()


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
