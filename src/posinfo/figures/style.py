"""One visual language for all figures: colours of two themes, sizes, and how an SVG is written."""

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from posinfo.figures.compact import compact

#: Width of every figure in points; a phone shows it at half its size, where TEXT is still read.
WIDTH = 460.0
TEXT = 14.5
TITLE = 15.5


@dataclass(frozen=True)
class Style:
    """A theme: the background is the page's, so each colour must be read on that.

    The four colours of data are Okabe and Ito's blue, vermilion, green and purple, darkened for
    the light page and lightened for the dark one until text in them has a contrast of 4.5 to 1.
    Each is told from the others by line, marker or label too.

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
    ("#0067a3", "#b34700", "#00755a", "#9c4a78"),
)  # fmt: skip
DARK = Style(
    "dark", "#1b1e23", "#e9ebee", "#a7aeb8", "#3b4149",
    ("#6cbdf0", "#f29b54", "#3fc79f", "#e3a0c6"),
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


def svg(figure: Figure) -> bytes:
    """The figure as a small SVG on a transparent background, without a date."""
    buffer = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return compact(buffer.getvalue())


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
