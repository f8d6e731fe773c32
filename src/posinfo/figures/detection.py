"""Which check rejects which fault: a line of marks a fault, a column a check."""

import string
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from posinfo.figures.style import TITLE, WIDTH, Style, canvas

Records = Sequence[Mapping[str, Any]]

#: Columns of a record that are no check.
_ABOUT = ("stage", "fault", "named_by")
#: Checks of these beginnings stand apart, on the right.
_APART = ("lesson ", "exercise: ")

_LEFT, _PITCH, _GAP, _MARK = 7.0, 13.5, 14.0, 8.0
_LINE, _HEAD, _NAME, _TOP = 27.0, 52.0, 17.5, 86.0
_SMALL = 12.5


def detection_matrix(records: Records, style: Style) -> Figure:
    """The key on top, then a block a stage; coordinates in points from the upper left corner."""
    checks = [name for name in records[0] if name not in _ABOUT]
    letters = dict(zip(checks, string.ascii_lowercase + string.ascii_uppercase, strict=False))
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        stages.setdefault(record["stage"], []).append(record)
    lines = -(-len(checks) // 2)
    start = _TOP + lines * _NAME + 14
    height = start + sum(_HEAD + len(of) * _LINE for of in stages.values())
    figure = canvas(height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    _key(axes, style, letters, lines)
    at = _columns(checks)
    lines_of_marks: list[float] = []
    squares: list[tuple[float, float]] = []
    frames: list[tuple[float, float]] = []
    top = start
    for stage, of in stages.items():
        axes.plot([_LEFT, WIDTH - _LEFT], [top, top], color=style.faint, linewidth=1)
        _text(axes, _LEFT, top + 19, stage, fontsize=TITLE, weight="bold")
        for check, x in at.items():
            _text(axes, x, top + 42, letters[check], fontsize=_SMALL, ha="center",
                  color=style.muted)  # fmt: skip
        for number, record in enumerate(of):
            y = top + _HEAD + number * _LINE
            _text(axes, _LEFT, y + 8, record["fault"], fontsize=13)
            marks = y + 20
            lines_of_marks.append(marks)
            squares += [(x, marks) for check, x in at.items() if record[check] == "rejected"]
            if record["named_by"] in at:
                frames.append((at[record["named_by"]], marks))
        top += _HEAD + len(of) * _LINE
    _dots(axes, style, lines_of_marks, _groups(list(at.values())))
    _strokes(axes, squares, style.colours[0])
    _frames(axes, frames, style.colours[1])
    return figure


def _text(axes: Axes, x: float, y: float, text: str, **how: Any) -> None:
    axes.text(x, y, text, **{"va": "center", "ha": "left", **how})


def _columns(checks: Sequence[str]) -> dict[str, float]:
    """The middle of each check's column: a gap before each of the sets that stand apart."""
    groups = [next((sort for sort in _APART if name.startswith(sort)), "") for name in checks]
    gaps = [number for number in range(1, len(groups)) if groups[number] != groups[number - 1]]
    # A pitch that the width allows, and whole or half points: they are short in the file.
    pitch = min(_PITCH, (WIDTH - 2 * _LEFT - _GAP * len(gaps)) // len(checks))
    return {
        name: _LEFT + _MARK / 2 + number * pitch + _GAP * sum(gap <= number for gap in gaps)
        for number, name in enumerate(checks)
    }


def _groups(places: Sequence[float]) -> list[list[float]]:
    """Columns that lie equally far apart, as their first two do."""
    pitch = places[1] - places[0] if len(places) > 1 else 0.0
    groups = [[places[0]]]
    for x in places[1:]:
        if x - groups[-1][-1] > 1.5 * pitch:
            groups.append([])
        groups[-1].append(x)
    return groups


def _strokes(axes: Axes, places: Sequence[tuple[float, float]], colour: str) -> None:
    """Filled squares, all of them one path of short strokes: an element each would be heavy."""
    half = _MARK / 2
    points = [(x + side, y) for x, y in places for side in (-half, half)]
    codes = [Path.MOVETO, Path.LINETO] * len(places)
    if places:
        axes.add_patch(
            PathPatch(Path(points, codes), fill=False, edgecolor=colour, linewidth=_MARK,
                      capstyle="butt")
        )  # fmt: skip


def _frames(axes: Axes, places: Sequence[tuple[float, float]], colour: str) -> None:
    """Frames around squares, likewise."""
    half = _MARK / 2 + 2
    corners = ((-half, -half), (half, -half), (half, half), (-half, half), (-half, -half))
    points = [(x + dx, y + dy) for x, y in places for dx, dy in corners]
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY] * len(places)
    if places:
        axes.add_patch(
            PathPatch(Path(points, codes), fill=False, edgecolor=colour, linewidth=1.5)
        )  # fmt: skip


def _dots(
    axes: Axes, style: Style, lines: Sequence[float], groups: Sequence[Sequence[float]]
) -> None:
    """A dot in each column of each line, as dashes: what is rejected covers its own.

    A dash pattern begins anew with each stretch, a group of columns that lie equally far apart.
    """
    wide = 1.6
    for group in groups:
        pitch = group[1] - group[0] if len(group) > 1 else 2 * wide
        points = [(x, y) for y in lines for x in (group[0] - wide / 2, group[-1] + wide / 2)]
        # Patterns count in widths of the line.
        axes.add_patch(
            PathPatch(
                Path(points, [Path.MOVETO, Path.LINETO] * len(lines)), fill=False,
                edgecolor=style.muted, linewidth=wide, capstyle="butt",
                linestyle=(0, (1, pitch / wide - 1)),
            )
        )  # fmt: skip


def _key(axes: Axes, style: Style, letters: Mapping[str, str], lines: int) -> None:
    """What the marks and the letters are."""
    for line, (text, framed, filled) in enumerate(
        (
            ("the check rejects the fault", False, True),
            ("the check that names the fault rejects it", True, True),
            ("the check accepts the fault", False, False),
        )
    ):
        y = 14 + 22 * line
        if filled:
            _strokes(axes, [(16, y)], style.colours[0])
        else:
            _dots(axes, style, [y], [[16.0]])
        if framed:
            _frames(axes, [(16, y)], style.colours[1])
        _text(axes, 32, y, text, fontsize=13)
    for number, (check, letter) in enumerate(letters.items()):
        column, line = divmod(number, lines)
        x, y = _LEFT + column * WIDTH / 2, _TOP + line * _NAME
        _text(axes, x, y, letter, fontsize=_SMALL, color=style.muted)
        _text(axes, x + 18, y, check, fontsize=_SMALL)
