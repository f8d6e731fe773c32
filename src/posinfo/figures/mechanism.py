"""Where position enters: a row of a table is added, or pairs of query and key are rotated."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from posinfo.figures.style import TITLE, WIDTH, Style, canvas

Records = Sequence[Mapping[str, Any]]

_HEIGHT = 640.0
_DASHED = (0, (4, 2.5))
#: So many circles fit side by side; a wider head shows its first and last pairs.
_CIRCLES = 4


def mechanism(records: Records, style: Style) -> Figure:
    """Panel A above panel B, in points from the lower left corner."""
    figure = canvas(_HEIGHT)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(0, _HEIGHT)
    pen = _Pen(axes, style)
    _panel_a(pen, [r for r in records if r["panel"] == "A"])
    axes.plot([8, WIDTH - 8], [352, 352], color=style.faint, linewidth=1.2)
    _panel_b(pen, [r for r in records if r["panel"] == "B"])
    return figure


class _Pen:
    """Draws boxes, arrows and texts of the diagram in one style."""

    def __init__(self, axes: Axes, style: Style) -> None:
        self.axes, self.style = axes, style

    def text(self, x: float, y: float, text: str, **how: Any) -> None:
        self.axes.text(x, y, text, **{"ha": "center", "va": "center", **how})

    def box(self, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
        """A rounded box around (x, y)."""
        self.axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, y - height / 2),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=6",
                facecolor="none",
                edgecolor=colour,
                linewidth=1.6,
            )
        )
        self.text(x, y, text)

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, **how: Any
    ) -> None:
        self.axes.add_patch(
            FancyArrowPatch(
                start,
                end,
                arrowstyle="-|>,head_length=6,head_width=3",
                color=colour,
                shrinkA=0,
                shrinkB=0,
                **{"linewidth": 1.6, **how},
            )
        )


def _panel_a(pen: _Pen, records: Records) -> None:
    style = pen.style
    learned, fails = style.colours[0], style.colours[1]
    inside = next(r for r in records if r["in_table"] == "yes")
    outside = [r for r in records if r["in_table"] == "no"]
    pen.text(
        6, 622, "A  Learned: a row of a table is added", ha="left", fontsize=TITLE, weight="bold"
    )
    pen.text(6, 578, "token id", ha="left")
    pen.box(131, 578, 72, 30, "table E", style.ink)
    pen.arrow((74, 578), (93, 578), style.muted)
    pen.text(224, 578, "E[token]")
    pen.arrow((169, 578), (188, 578), style.muted)

    shown, height = min(inside["table_rows"], 10), 9.0
    bottom = 516 - shown * height
    for row in range(shown):
        # Row 0 stands on top, as tables are read.
        chosen = row == inside["position"]
        pen.axes.add_patch(
            Rectangle(
                (96, 516 - (row + 1) * height),
                70,
                height,
                facecolor=learned if chosen else "none",
                edgecolor=style.muted,
                linewidth=0.9,
            )
        )
    at = 516 - (inside["position"] + 0.5) * height
    pen.text(131, 528, f"table P, {inside['table_rows']} rows")
    pen.text(6, at, f"position {inside['position']}", ha="left", color=learned)
    pen.arrow((84, at), (95, at), learned)
    pen.text(208, at, f"P[{inside['position']}]", color=learned)
    pen.arrow((169, at), (188, at), learned)

    for number, record in enumerate(outside[:2]):
        y = bottom - 20 - 20 * number
        pen.text(6, y, f"position {record['position']}", ha="left", color=fails)
        pen.axes.add_patch(
            Rectangle(
                (102, y - height / 2),
                64,
                height,
                facecolor="none",
                edgecolor=fails,
                linewidth=1.2,
                linestyle=_DASHED,
            )
        )
        pen.text(178, y, f"no row: {record['result']}", ha="left", color=fails)

    middle = (578 + at) / 2
    pen.axes.add_patch(
        Circle((280, middle), 13, facecolor="none", edgecolor=style.ink, linewidth=1.6)
    )
    pen.text(280, middle, "+", fontsize=TITLE)
    bend = "angle,angleA=0,angleB=90,rad=8"
    pen.arrow((261, 578), (280, middle + 14), style.muted, connectionstyle=bend)
    pen.arrow((228, at), (280, middle - 14), learned, connectionstyle=bend)
    pen.arrow((294, middle), (306, middle), style.ink)
    pen.text(309, middle, "input of\nblocks", ha="left")


def _panel_b(pen: _Pen, records: Records) -> None:
    style = pen.style
    turned, beyond = style.colours[2], style.colours[3]
    pen.text(
        6, 332, "B  RoPE: pairs of Q and K are rotated", ha="left", fontsize=TITLE, weight="bold"
    )
    for y, name in ((300, "Q"), (272, "K"), (232, "V")):
        pen.text(12, y, name)
    pen.box(128, 286, 132, 48, "pair i turns\nby m·θᵢ", turned)
    for y in (300, 272):
        pen.arrow((24, y), (61, y), style.muted)
        pen.arrow((195, y), (240, y), turned)
    pen.text(246, 286, "scores", ha="left")
    pen.arrow((24, 232), (240, 232), style.muted)
    pen.text(128, 226, "not rotated", va="top", color=style.muted)
    pen.text(246, 232, "weighted sum", ha="left")

    pairs = sorted({r["pair"] for r in records})
    shown = pairs if len(pairs) <= _CIRCLES else [*pairs[:2], *pairs[-2:]]
    inside = next(r["position"] for r in records if r["in_table"] == "yes")
    outside = next((r["position"] for r in records if r["in_table"] == "no"), None)
    for number, pair in enumerate(shown):
        x, y, radius = WIDTH * (number + 0.5) / len(shown), 136.0, 36.0
        of = {r["position"]: r for r in records if r["pair"] == pair}
        pen.axes.add_patch(
            Circle((x, y), radius, facecolor="none", edgecolor=style.muted, linewidth=0.9)
        )
        pen.axes.plot([x, x + radius], [y, y], color=style.muted, linewidth=1.2)
        pen.text(x, y + radius + 13, f"θ{_subscript(pair)} = {of[inside]['theta']:.3g}")
        for line, (position, colour, dashes) in enumerate(
            ((inside, turned, "solid"), (outside, beyond, _DASHED))
        ):
            if position is None:
                continue
            end = (x + radius * of[position]["cos"], y + radius * of[position]["sin"])
            pen.arrow((x, y), end, colour, linestyle=dashes, linewidth=2)
            pen.text(
                x, y - radius - 15 - 19 * line, f"{of[position]['angle']:.3g} rad", color=colour
            )
    pen.text(6, 38, f"solid: position {inside}, which the table has", ha="left", color=turned)
    if outside is not None:
        pen.text(6, 14, f"dashed: position {outside}, which needs no row", ha="left", color=beyond)


def _subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
