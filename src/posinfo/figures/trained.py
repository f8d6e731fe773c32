"""Figures of the trained decoders: losses by length and by method, and rows of a learned table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posinfo.figures.plots import groups
from posinfo.figures.style import TEXT, WIDTH, Style, canvas, heading, key

Records = Sequence[Mapping[str, Any]]

#: Strokes of the two lines of a panel; a marker at each point would double the file.
_LINES = ("-", (0, (4, 2)))


def _grid(count: int, columns: int, panel: float, gap: float, top: float, below: float):
    """An empty figure, and the places of its panels in lines of so many columns."""
    left, right, apart = 26.0, 12.0, 16.0
    lines = math.ceil(count / columns)
    height = top + lines * panel + (lines - 1) * gap + below
    width = (WIDTH - left - right - apart * (columns - 1)) / columns
    places = []
    for number in range(count):
        line, column = divmod(number, columns)
        places.append(
            (
                (left + column * (width + apart)) / WIDTH,
                1 - (top + panel + line * (panel + gap)) / height,
                width / WIDTH,
                panel / height,
            )
        )
    return canvas(height), places, height


def _panel(
    figure: Figure, place: tuple[float, float, float, float], name: str, high: float
) -> Axes:
    """An empty panel from 0 to the highest loss of all."""
    axes = figure.add_axes(place)
    axes.set_ylim(0, high)
    axes.set_yticks([0, 2, 4, 6] if high > 4 else [0, 1, 2, 3])
    axes.set_ylim(0, high)
    axes.grid(True, axis="y", linewidth=0.8)
    axes.set_axisbelow(True)
    # A long name may begin before its panel, but not end after it.
    axes.set_title(
        name, pad=4, fontsize=TEXT, loc="right" if len(name) > 20 and place[0] > 0.3 else "left"
    )
    axes.tick_params(labelleft=place[0] < 0.3)
    return axes


def _band(axes: Axes, style: Style, number: int, xs: list[float], of: Records) -> None:
    """A line, and around it the seeds from the lowest to the highest."""
    colour, stroke = style.colours[number], _LINES[number]
    low, high = ([r[end] for r in of] for end in ("lowest", "highest"))
    axes.fill_between(xs, low, high, color=colour, alpha=0.25, linewidth=0, clip_on=False)
    axes.plot(xs, [r["loss"] for r in of], color=colour, linewidth=1.9, linestyle=stroke,
              clip_on=False)  # fmt: skip


def _key(figure: Figure, style: Style, names: Sequence[str]) -> None:
    """What the two lines are, above the panels."""
    key(figure, style, names, [{"linewidth": 1.9, "linestyle": one} for one in _LINES], (3, 188))


def loss_by_length(records: Records, style: Style) -> Figure:
    """A panel an encoding, a line a task: loss against position, and where training ended."""
    names = groups(records, "name")
    top, below = 78.0, 50.0
    figure, places, height = _grid(len(names), 2, 104.0, 26.0, top, below)
    _key(figure, style, ["repeat a pattern", "recall the start"])
    length = min(r["position_to"] for r in records if r["position_from"] == 0) * 2
    last = max(r["position_to"] for r in records)
    high = max(r["highest"] for r in records) * 1.05
    ticks = [length * 2**step for step in range(int(math.log2(last / length)) + 1)]
    for (name, of), place in zip(names.items(), places, strict=True):
        axes = _panel(figure, place, name, high)
        axes.set_xscale("log", base=2)
        axes.set_xlim(length / 4, last)
        axes.set_xticks(ticks, labels=["L", *(f"{2**n}L" for n in range(1, len(ticks)))])
        axes.minorticks_off()
        axes.tick_params(labelbottom=place in places[-2:])
        axes.axvline(length, color=style.ink, linewidth=1.2, linestyle=(0, (1, 2)))
        for number, lines in enumerate(groups(of, "task").values()):
            xs = [(r["position_from"] + r["position_to"]) / 2 for r in lines]
            _band(axes, style, number, xs, lines)
    figure.text(0.55, 6 / height, "position", ha="center", va="bottom")
    heading(figure, "nats above the best possible")
    return figure


def loss_by_method(records: Records, style: Style) -> Figure:
    """A panel a method: loss against the length, as it is and after a short training."""
    methods = groups(records, "name")
    factors = sorted({r["factor"] for r in records})
    top, below = 78.0, 50.0
    figure, places, height = _grid(len(methods), 2, 78.0, 42.0, top, below)
    steps = sorted({r["steps"] for r in records})
    _key(figure, style, ["zero-shot", f"{steps[-1]:g} steps there"])
    high = max(r["highest"] for r in records) * 1.05
    for (name, of), place in zip(methods.items(), places, strict=True):
        axes = _panel(figure, place, name, high)
        axes.tick_params(labelbottom=place in places[-2:])
        axes.set_xscale("log", base=2)
        axes.set_xlim(factors[0] / 1.1, factors[-1] * 1.1)
        axes.set_xticks(factors, labels=[f"{factor}L" for factor in factors])
        axes.minorticks_off()
        for number, lines in groups(of, "steps").items():
            _band(axes, style, steps.index(number), [r["factor"] for r in lines], lines)
    figure.text(0.55, 6 / height, "length that is read", ha="center", va="bottom")
    heading(figure, "nats above the best possible")
    return figure


def table_similarity(records: Records, style: Style) -> Figure:
    """Cosine against distance: dashed before training, a band over the seeds after it."""
    figure = canvas(270)
    heading(figure, "mean cosine")
    axes = figure.add_axes((0.13, 0.19, 0.84, 0.7))
    axes.axhline(0, color=style.ink, linewidth=1.2, zorder=1.6)
    axes.grid(True, linewidth=0.8)
    axes.set_axisbelow(True)
    for number, (stage, of) in enumerate(groups(records, "stage").items()):
        colour, xs = style.colours[number], [r["distance"] for r in of]
        axes.fill_between(xs, [r["lowest"] for r in of], [r["highest"] for r in of], color=colour,
                          alpha=0.2, linewidth=0)  # fmt: skip
        axes.plot(xs, [r["cosine"] for r in of], color=colour, linewidth=1.8,
                  linestyle=(0, (4, 2)) if number == 0 else "-")  # fmt: skip
        axes.text(0.97, 0.95 - 0.1 * number, stage, color=colour, ha="right", va="top",
                  transform=axes.transAxes)  # fmt: skip
    axes.set_xlim(1, max(r["distance"] for r in records))
    axes.set_xlabel("distance of two rows in positions")
    return figure


def real_loss_by_position(records: Records, style: Style) -> Figure:
    """A panel a method, beside the model as trained: loss against position along one text."""
    methods = groups(records, "name")
    plain, *others = methods.items()
    top, below = 78.0, 50.0
    figure, places, height = _grid(len(others), 2, 92.0, 30.0, top, below)
    _key(figure, style, [plain[0], "by the method"])
    high = max(r["highest"] for r in records) * 1.05
    length = records[0]["trained_length"]
    last = max(r["position_to"] for r in records)
    for (name, of), place in zip(others, places, strict=True):
        axes = _panel(figure, place, name, high)
        axes.tick_params(labelbottom=place in places[-2:])
        axes.set_xlim(0, last)
        # Between two panels there is room for one label.
        labels = ["0" if place[0] < 0.3 else "", "L", "2L"]
        axes.set_xticks([0, length, 2 * length], labels=labels)
        axes.axvline(length, color=style.ink, linewidth=1.2, linestyle=(0, (1, 2)))
        for number, line in enumerate((plain[1], of)):
            _band(axes, style, number, [r["position_to"] for r in line], line)
    figure.text(0.55, 6 / height, "position", ha="center", va="bottom")
    heading(figure, "nats a token")
    return figure
