"""Which check rejects which fault: a strip a check, a cell a fault, the faults by stage."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from posinfo.figures.style import WIDTH, Style, canvas

Records = Sequence[Mapping[str, Any]]

#: Columns of a record that are no check.
_ABOUT = ("stage", "fault", "named_by")
#: Checks of these beginnings stand apart, below.
_APART = ("lesson ", "exercise: ")

_LEFT, _GAP = 4.0, 5.0
_HEAD, _NAME, _STRIP, _LINE, _BETWEEN = 168.0, 11.0, 9.0, 31.0, 16.0


def detection_matrix(records: Records, style: Style) -> Figure:
    """The key on top, the stages below it, then the strips; in points from the upper left."""
    checks = [name for name in records[0] if name not in _ABOUT]
    places, bands = _columns(records)
    pitch = bands[0][2] / bands[0][3]
    tops = _tops(checks)
    height = tops[-1] + _LINE + 4
    figure = canvas(height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    for stage, x, width, count in bands:
        axes.add_patch(
            Rectangle((x, _HEAD), width, height - _HEAD, facecolor=style.faint, alpha=0.55,
                      linewidth=0)
        )  # fmt: skip
        axes.text(x + width / 2, _HEAD - 5, f"{stage}, {count}", rotation=90, ha="center",
                  va="bottom")  # fmt: skip
    rejected: list[tuple[float, float, float]] = []
    named: list[tuple[float, float, float]] = []
    for check, top in zip(checks, tops, strict=True):
        y = top + _NAME + 5.5 + _STRIP / 2
        hits = [record[check] == "rejected" for record in records]
        # Neighbours of one stage are one stroke.
        for x, record, hit in zip(places, records, hits, strict=True):
            if not hit:
                continue
            if rejected and rejected[-1][2] == y and abs(rejected[-1][1] - x) < 1e-6:
                rejected[-1] = (rejected[-1][0], x + pitch, y)
            else:
                rejected.append((x, x + pitch, y))
            if record["named_by"] == check:
                named.append((x, x + pitch, y))
        axes.text(_LEFT, top + _NAME, check, va="baseline")
        axes.text(WIDTH - _LEFT, top + _NAME, str(sum(hits)), va="baseline", ha="right")
    _strokes(axes, rejected, style.colours[0])
    _strokes(axes, named, style.colours[1])
    _key(axes, style, len(records))
    return figure


def _columns(records: Records) -> tuple[list[float], list[tuple[str, float, float, int]]]:
    """Where the cell of each fault begins, and of each stage its name, begin, width and count."""
    stages = list(dict.fromkeys(record["stage"] for record in records))
    room = WIDTH - 2 * _LEFT - _GAP * (len(stages) - 1)
    # Whole or half points: they are short in the file.
    pitch = (2 * room // len(records)) / 2
    x, at, bands = _LEFT, {}, []
    for stage in stages:
        count = sum(record["stage"] == stage for record in records)
        bands.append((stage, x, pitch * count, count))
        at[stage] = x
        x += pitch * count + _GAP
    places = []
    for record in records:
        places.append(at[record["stage"]])
        at[record["stage"]] += pitch
    return places, bands


def _tops(checks: Sequence[str]) -> list[float]:
    """Where the line of each check begins: lower where another set of checks does."""
    groups = [next((sort for sort in _APART if name.startswith(sort)), "") for name in checks]
    tops, y = [], _HEAD + 8
    for number, group in enumerate(groups):
        if number:
            y += _LINE + _BETWEEN * (group != groups[number - 1])
        tops.append(y)
    return tops


def _strokes(axes: Axes, lines: Sequence[tuple[float, float, float]], colour: str) -> None:
    """Level strokes, all of them one path: an element each would be heavy."""
    points = [point for start, end, y in lines for point in ((start, y), (end, y))]
    if lines:
        axes.add_patch(
            PathPatch(
                Path(points, [Path.MOVETO, Path.LINETO] * len(lines)), fill=False,
                edgecolor=colour, linewidth=_STRIP, capstyle="butt",
            )
        )  # fmt: skip


def _key(axes: Axes, style: Style, faults: int) -> None:
    """What the colours and the numbers are."""
    for line, (colour, text) in enumerate(
        (
            (style.colours[0], "the check rejects the fault"),
            (style.colours[1], "and is the one that names it"),
        )
    ):
        y = 10 + 20 * line
        _strokes(axes, [(_LEFT, _LEFT + 14, y)], colour)
        axes.text(_LEFT + 22, y, text, va="center", color=colour)
    axes.text(WIDTH - _LEFT, 52, f"rejected, of {faults}", va="center", ha="right")
