"""One visual language for all figures: colours of two themes, sizes, and how an SVG is written."""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from posinfo.figures.compact import compact

#: Width of every figure in points. A phone of 320 CSS pixels leaves 288 for it: TEXT then is as
#: large as the 11 pixels that are read without effort (a test looks).
WIDTH = 376.0
TEXT = 14.5
TITLE = 15.5
#: How large it is shown elsewhere: its text as large as the page's.
SCALE = 0.8


@dataclass(frozen=True)
class Style:
    """A theme: the background is the page's, so each colour must be read on that.

    The four colours of data are blue, vermilion, green and purple, in two steps of lightness: text
    in each has a contrast of 4.5 to 1 at least, and no two become alike for eyes without one of
    the three kinds of cones (tests look). Each is told from the others by line, marker or label
    too.

    Attributes
    ----------
    name
        ``light`` or ``dark``, as in the file's name.
    page
        The lightest or darkest background that it is made for.
    ink, muted, faint
        Text and main lines; secondary text and lines; grids and fills.
    colours
        Data, in the order of use. The second also marks what fails.
    """

    name: str
    page: str
    ink: str
    muted: str
    faint: str
    colours: tuple[str, str, str, str]


LIGHT = Style(
    "light", "#ffffff", "#1b1e23", "#565d66", "#dfe3e8",
    ("#0f6fbd", "#b34700", "#00503c", "#8a2278"),
)  # fmt: skip
DARK = Style(
    "dark", "#1b1e23", "#e9ebee", "#a7aeb8", "#3b4149",
    ("#4f9fe8", "#f0964c", "#a0f0c8", "#f7b9ee"),
)  # fmt: skip
THEMES = (LIGHT, DARK)


@contextmanager
def drawing(style: Style) -> Iterator[None]:
    """Set what matplotlib takes from its global settings, and put it back afterwards.

    Names in the SVG come from a fixed salt, so that its bytes are the same at every run.
    """
    settings = {
        "svg.hashsalt": "posinfo",
        "svg.fonttype": "none",
        "font.family": "DejaVu Sans",
        "font.size": TEXT,
        "axes.titlesize": TITLE,
        "axes.labelsize": TEXT,
        "xtick.labelsize": TEXT,
        "ytick.labelsize": TEXT,
        "text.color": style.ink,
        "axes.labelcolor": style.ink,
        "axes.titlecolor": style.ink,
        "axes.edgecolor": style.muted,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "xtick.color": style.muted,
        "ytick.color": style.muted,
        "xtick.labelcolor": style.ink,
        "ytick.labelcolor": style.ink,
        "grid.color": style.faint,
        "lines.linewidth": 2.0,
        "lines.markersize": 6.0,
        "lines.solid_capstyle": "round",
    }
    with matplotlib.rc_context():
        # A user's own matplotlibrc would give them other figures.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings)
        yield


def canvas(height: float) -> Figure:
    """An empty figure of the common width.

    Parameters
    ----------
    height
        In points.
    """
    return Figure(figsize=(WIDTH / 72, height / 72))


def svg(figure: Figure, scale: float = SCALE) -> bytes:
    """The figure as a small SVG on a transparent background, without a date.

    Parameters
    ----------
    scale
        How large it is shown, over how large it was drawn.
    """
    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return compact(buffer.getvalue(), scale)


def heading(figure: Figure, text: str) -> None:
    """What the vertical axis counts, above it: upright, it would have to be read askew."""
    height = 72 * figure.get_figheight()
    figure.text(2 / WIDTH, 1 - 3 / height, text, ha="left", va="top")


def key(
    figure: Figure,
    style: Style,
    names: Sequence[str],
    strokes: Sequence[Mapping[str, Any]],
    at: Sequence[float],
) -> None:
    """What the lines of every panel are, under the heading.

    Parameters
    ----------
    names, strokes, at
        Of each line what it is, how it is drawn, and where its sample begins, in points.
    """
    height = 72 * figure.get_figheight()
    axes = figure.add_axes((0, 1 - 44 / height, 1, 20 / height))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(0, 20)
    for number, (name, stroke, x) in enumerate(zip(names, strokes, at, strict=True)):
        colour = style.colours[number]
        axes.plot([x, x + 20], [10, 10], color=colour, clip_on=False, **stroke)
        axes.annotate(name, (x + 26, 10), va="center", color=colour, annotation_clip=False)


def log_axes(axes: Axes, *, x: Sequence[float] = (), y: Sequence[float] = ()) -> None:
    """Logarithmic axes with a grid at the ticks that are given, in powers of ten."""
    for axis, set_scale, ticks in (
        (axes.xaxis, axes.set_xscale, x), (axes.yaxis, axes.set_yscale, y),
    ):  # fmt: skip
        if ticks:
            set_scale("log")
            axis.set_ticks(ticks, labels=[power_of_ten(tick) for tick in ticks])
            axis.set_minor_locator(NullLocator())
    axes.grid(True, which="major", linewidth=0.8)
    axes.set_axisbelow(True)


def power_of_ten(value: float) -> str:
    """A tick's label: 0.01, 1, 100, and powers beyond these."""
    if 0.001 <= value <= 1000:
        return f"{value:g}"
    exponent = str(round(math.log10(value)))
    return "10" + exponent.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
