"""Figures: drawn from their records alone, the same bytes every time, readable in both themes."""

import copy
import re
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from posinfo.figures import FIGURES, FINDINGS, THEMES, draw
from posinfo.figures.compact import compact, short_path
from posinfo.figures.findings import HEIGHT as SMALL_HEIGHT
from posinfo.figures.findings import WIDTH as SMALL
from posinfo.figures.plots import powers
from posinfo.figures.style import DARK, LIGHT, WIDTH, drawing, power_of_ten
from posinfo.report.pictures import picture
from posinfo.tables import FIGURES as DATA
from posinfo.tables import FINDINGS as SMALL_DATA
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
    "wavelengths-of-models": ("longest", 2e5),
    "finding-doubled-context": ("rise", 2.0),
    "finding-lessons-own-checks": ("battery", "accepted"),
    "finding-change-of-base": ("ratio", 0.3),
    "finding-float32-limit": ("error", 1e-3),
    "finding-causal-mask": ("change", 1e-3),
    "finding-untrained-rows": ("wrong", 0.4),
}
DRAWERS = {**FIGURES, **FINDINGS}
KEYS = sorted(DRAWERS)
#: What a phone of 320 CSS pixels leaves for a figure, and the smallest text that is read there.
PHONE, READABLE = 288, 11.0


@pytest.fixture(scope="module")
def drawn_from(records, config) -> dict[str, list[dict]]:
    """The records of each figure; a cell that a record lacks reads as empty."""
    data = Data(records, [], config)
    found = {}
    for key, maker in {**DATA, **SMALL_DATA}.items():
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
    assert sorted({**DATA, **SMALL_DATA}) == KEYS == sorted(CHANGED)


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
  <path d="M 1 1 L 10 1" clip-path="url(#p1f)" style="fill: none; stroke: #123456"/>
  <text style="font-family: 'DejaVu Sans'; font-size: 14px" x="1" y="2"
    transform="rotate(-0 1 2)">a &lt; b</text>
  <text style="font-size: 14px" transform="translate(3 4) rotate(-90)">up</text>
 </g>
 <defs><clipPath id="p1f"><rect x="1" y="1" width="7" height="7"/></clipPath></defs>
</svg>"""
    assert compact(content).decode() == (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt" viewBox="0 0 9 9" '
        'font-family="DejaVu Sans, Verdana, sans-serif"><style>svg{font-size:14px}'
        "path{fill:none;stroke-linejoin:round}.a{stroke:#123456}"
        ".b{stroke:#123456;stroke-width:.8}.c{clip-path:url(#i0)}</style>"
        '<path d="M1,1h2" class="a"/><path d="M153,0v3.5M2.1,1v3.5" class="b"/>'
        '<path d="M1,1h9" class="a c"/><text x="1" y="2">a &lt; b</text>'
        '<text transform="translate(3,4)rotate(-90)">up</text>'
        '<defs><clipPath id="i0"><rect x="1" y="1" width="7" height="7"/></clipPath></defs></svg>'
    )
    assert b'width="4.5pt" height="4.5pt" viewBox="0 0 9 9"' in compact(content, 0.5)


def test_a_filled_circle_is_a_stroke_without_length_and_letters_of_a_line_are_one_text():
    circle = "M 0 3 " + " ".join(
        "C {} {} {} {} {} {}".format(*points)
        for points in (
            (0.8, 3, 1.56, 2.68, 2.12, 2.12), (2.68, 1.56, 3, 0.8, 3, 0),
            (3, -0.8, 2.68, -1.56, 2.12, -2.12), (1.56, -2.68, 0.8, -3, 0, -3),
            (-0.8, -3, -1.56, -2.68, -2.12, -2.12), (-2.68, -1.56, -3, -0.8, -3, 0),
            (-3, 0.8, -2.68, 1.56, -2.12, 2.12), (-1.56, 2.68, -0.8, 3, 0, 3),
        )
    )  # fmt: skip
    content = f"""<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="9pt"
  xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g><defs>
  <path id="m1" d="{circle} z" style="stroke: #123456"/></defs><g>
  <use xlink:href="#m1" x="5" y="6" style="fill: #123456; stroke: #123456"/>
  <use xlink:href="#m1" x="7.5" y="6" style="fill: #123456; stroke: #123456"/></g></g>
  <text x="1" y="2">a</text><text x="2" y="2">b</text><text x="3" y="4">c</text></svg>"""
    drawn = compact(content.encode()).decode()
    assert ".a{stroke:#123456;stroke-width:7;stroke-linecap:round}" in drawn
    assert '<path d="M5,6h0M7.5,6h0" class="a"/>' in drawn
    assert '<text x="1,2" y="2">ab</text><text x="3" y="4">c</text>' in drawn


POINT = st.tuples(st.integers(-20_000, 20_000), st.integers(-20_000, 20_000))


def walked(path: str) -> list[tuple[float, float]]:
    """The corners of a path in relative steps, by a reader of its own."""
    corners, x, y = [], 0.0, 0.0
    start = (x, y)
    for letter, numbers in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", path):
        if letter == "z":
            x, y = start
            continue
        values = [float(text) for text in re.findall(r"-?(?:\d+\.\d+|\.\d+|\d+)", numbers)]
        width = {"M": 2, "m": 2, "l": 2, "h": 1, "v": 1}[letter]
        for at in range(0, len(values), width):
            step = values[at : at + width]
            if letter == "M":
                x, y = step
            else:
                x += step[0] if letter in "lmh" else 0
                y += step[-1] if letter in "lmv" else 0
            start = (x, y) if letter in "Mm" else start
            corners.append((x, y))
    return corners


@given(st.lists(POINT, min_size=1, max_size=12))
@example([(0, 0), (500, 0), (100, 0)])
@example([(0, 0), (100, 0), (0, 0)])
def test_a_path_in_steps_passes_every_point(points):
    """Each point lies on the line that is left, within a twentieth and what rounding adds."""
    places = [(x / 100, y / 100) for x, y in points]
    found = walked(short_path("M " + " L ".join(f"{x:.6f} {y:.6f}" for x, y in places)))
    for at in (0, -1):
        assert found[at] == pytest.approx(places[at], abs=0.0501)

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
        assert min(distance(place, *pair) for pair in pairs) <= 0.1501


@pytest.mark.parametrize("key", KEYS)
def test_every_point_of_a_path_stands_inside_its_figure(key, drawn_from):
    """A coordinate that a browser cannot read ends the path: the rest would not be drawn."""
    root = ElementTree.fromstring(draw(key, drawn_from[key], LIGHT))  # noqa: S314  (our own bytes)
    _, _, width, height = map(float, root.get("viewBox").split())
    paths = [one for one in root.iter() if one.tag.endswith("}path") and one.get("d")]
    straight = [path for path in paths if not re.search("[cqCQ]", path.get("d"))]
    assert straight
    for path in straight:
        if any("clip-path" in rule for rule in _rules(root, path)):
            continue
        for x, y in walked(path.get("d")):
            assert -1 <= x <= width + 1, (key, path.get("d"))
            assert -1 <= y <= height + 1, (key, path.get("d"))


def _rules(root, element) -> list[str]:
    sheet = next(one.text for one in root.iter() if one.tag.endswith("}style"))
    rules = dict(re.findall(r"\.(\w+)\{([^}]*)\}", sheet))
    return [rules[name] for name in (element.get("class") or "").split()]


def placed_texts(key, records) -> list[tuple[str, float, float, float, float]]:
    """Each text of a figure and the box that it fills, in points from the lower left."""
    with drawing(LIGHT):
        figure = DRAWERS[key](records, LIGHT)
        figure.set_dpi(72)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        texts = [
            text
            for text in figure.findobj(Text)
            if text.get_text().strip() and text.get_visible() and text.axes is not False
        ]
        drawn = set(re.findall(r"<text[^>]*>([^<]*)</text>", svg_text(key, records)))
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    return [
        (name, box.x0, box.y0, box.x1, box.y1)
        for name, box in boxes
        if all(line in drawn for line in name.split("\n"))
    ]


def svg_text(key, records) -> str:
    return draw(key, records, LIGHT).decode().replace("&lt;", "<")


@pytest.mark.parametrize("key", KEYS)
def test_no_text_is_cut_off_or_lies_on_another(key, drawn_from):
    width, height = (
        (SMALL, SMALL_HEIGHT)
        if key in FINDINGS
        else (
            WIDTH,
            float(re.search(r'viewBox="0 0 \S+ ([\d.]+)"', svg_text(key, drawn_from[key]))[1]),
        )
    )
    texts = placed_texts(key, drawn_from[key])
    assert texts
    for name, x0, y0, x1, y1 in texts:
        assert x0 >= -2, name
        assert x1 <= width + 2, name
        assert y0 >= -2, name
        assert y1 <= height + 2, name
    for number, (name, x0, y0, x1, y1) in enumerate(texts):
        for other, a0, b0, a1, b1 in texts[number + 1 :]:
            across, up = min(x1, a1) - max(x0, a0), min(y1, b1) - max(y0, b0)
            # Boxes reach above and below their letters.
            assert across < 1 or up < 5, (name, other)


@pytest.mark.parametrize("key", KEYS)
def test_text_can_be_read_on_a_phone_and_is_no_larger_than_the_pages_elsewhere(key, drawn_from):
    content = draw(key, drawn_from[key], LIGHT).decode()
    width = float(re.search(r'viewBox="0 0 (\S+) ', content)[1])
    shown = float(re.search(r'width="([\d.]+)pt"', content)[1]) * 4 / 3
    assert (width, shown) == (
        (SMALL, 240) if key in FINDINGS else (WIDTH, pytest.approx(401, abs=1))
    )
    sizes = [float(size) for size in re.findall(r"font-size:([\d.]+)px", content)]
    assert sizes
    assert min(sizes) * min(PHONE, shown) / width >= READABLE
    assert max(sizes) * shown / width <= 17


def test_figures_are_light(drawn_from):
    """Bytes on the page, in both themes: one number for each, and one for all."""
    sizes = {
        key: len(
            picture(
                {style.name: draw(key, drawn_from[key], style) for style in THEMES}
            ).source.encode()
        )
        for key in KEYS
    }
    for key, size in sizes.items():
        assert size <= (3_000 if key in FINDINGS else 12_000), (key, size)
    assert sum(sizes.values()) <= 120_000


@pytest.mark.parametrize("style", THEMES, ids=lambda style: style.name)
def test_every_colour_of_text_can_be_read_on_the_page(style):
    for colour in (style.ink, style.muted, *style.colours):
        assert contrast(colour, style.page) >= 4.5, colour
    assert len(set(colours(style))) == len(colours(style))


#: Machado, Oliveira and Fernandes 2009, severity 1: what eyes without one kind of cones see, as
#: matrices on linear RGB.
CONES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}  # fmt: skip
#: CIE 1976: a difference of 2.3 is just noticed side by side; lines lie apart, and are thin.
APART = 20


def lab(colour: str, cones) -> np.ndarray:
    """CIELAB of a colour as such eyes see it."""
    srgb = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(cones) @ linear, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ seen / (to_xyz @ np.ones(3))
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("cones", CONES)
@pytest.mark.parametrize("style", THEMES, ids=lambda style: style.name)
def test_no_two_colours_of_data_are_alike_for_any_eyes(style, cones):
    for number, one in enumerate(style.colours):
        for other in style.colours[number + 1 :]:
            difference = np.linalg.norm(lab(one, CONES[cones]) - lab(other, CONES[cones]))
            assert difference >= APART, (one, other)


def test_every_rejection_has_its_cell_and_every_check_its_name_and_number(drawn_from):
    records = drawn_from["detection-matrix"]
    root = ElementTree.fromstring(draw("detection-matrix", records, LIGHT))  # noqa: S314  (ours)
    lengths = {}
    for path in root.iter():
        if path.tag.endswith("}path") and re.fullmatch(r"[Mmhv\d.,-]+", path.get("d", "")):
            [rule] = _rules(root, path)
            colour = re.search("stroke:(#\\w+)", rule)[1]
            steps = sum(map(float, re.findall(r"h([\d.]+)", path.get("d"))))
            lengths[colour] = lengths.get(colour, 0) + steps
    checks = [name for name in records[0] if name not in ("stage", "fault", "named_by")]
    counts = {name: sum(record[name] == "rejected" for record in records) for name in checks}
    # A cell is five points wide; the key has a sample of 14 of each colour.
    assert lengths[LIGHT.colours[0]] == pytest.approx(14 + 5 * sum(counts.values()))
    assert lengths[LIGHT.colours[1]] == pytest.approx(14 + 5 * len(records))
    texts = [text for one in root.iter() if (text := one.text)]
    for name, count in counts.items():
        assert texts.index(name) < len(texts) - 1
        assert str(count) in texts


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
