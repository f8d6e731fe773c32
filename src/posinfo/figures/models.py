"""The figure of published models: their wavelengths against the length they were trained on."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from posinfo.figures.plots import powers
from posinfo.figures.style import TEXT, WIDTH, Style, canvas, log_axes

Records = Sequence[Mapping[str, Any]]


def wavelengths_of_models(records: Records, style: Style) -> Figure:
    """A line a model over its wavelengths, thick where no turn is completed; marks for lengths."""
    line, top, below, left = 18.5, 66.0, 48.0, 186.0
    height = top + len(records) * line + below
    figure = canvas(height)
    axes = figure.add_axes(
        (left / WIDTH, below / height, (WIDTH - left - 16) / WIDTH, len(records) * line / height)
    )
    longest = max(max(r["longest"], r["stated_length"]) for r in records)
    ticks = powers(min(r["shortest"] for r in records), longest)
    log_axes(axes, x=ticks[::2])
    axes.set_xlim(ticks[0], ticks[-1])
    axes.set_ylim(len(records) - 0.5, -0.5)
    axes.grid(False, axis="y")
    names = [r["model"].replace(", sliding_attention", ", window") for r in records]
    axes.set_yticks(range(len(records)), labels=names, fontsize=TEXT - 3)
    axes.tick_params(axis="y", length=0, pad=6)
    # One path for all lines of a kind: a path each would treble the file.
    whole, slow = ([], []), ([], [])
    for at, r in enumerate(records):
        _stroke(whole, at, r["shortest"], r["longest"])
        if r["longest"] > r["trained_length"]:
            _stroke(slow, at, max(r["trained_length"], r["shortest"]), r["longest"])
    axes.plot(*whole, color=style.muted, linewidth=1.4)
    axes.plot(*slow, color=style.colours[1], linewidth=4.2)
    places = range(len(records))
    axes.plot([r["trained_length"] for r in records], places, color=style.colours[0], marker="|",
              markersize=12, markeredgewidth=2.4, linestyle="none")  # fmt: skip
    beyond = [(r["stated_length"], at) for at, r in enumerate(records)
              if r["stated_length"] > r["trained_length"]]  # fmt: skip
    if beyond:
        axes.plot(*zip(*beyond, strict=True), color=style.colours[2], marker="o", markersize=5,
                  linestyle="none", clip_on=False)  # fmt: skip
    _key(figure, style, height)
    figure.text((left + WIDTH) / 2 / WIDTH, 6 / height, "wavelength (positions)", ha="center",
                va="bottom")  # fmt: skip
    return figure


def _stroke(path: tuple[list[float], list[float]], at: int, first: float, last: float) -> None:
    """A stroke more, apart from the one before."""
    path[0].extend((first, last, math.nan))
    path[1].extend((at, at, math.nan))


def _key(figure: Figure, style: Style, height: float) -> None:
    """What lines and marks are, above the axes."""
    axes = figure.add_axes((0, 1 - 62 / height, 1, 62 / height))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(62, 0)
    axes.plot([6, 34], [14, 14], color=style.muted, linewidth=1.4)
    axes.annotate("its wavelengths", (42, 14), va="center")
    axes.plot([206, 234], [14, 14], color=style.colours[1], linewidth=4.2)
    axes.annotate("never a turn in training", (242, 14), va="center", color=style.colours[1])
    axes.plot([20], [42], color=style.colours[0], marker="|", markersize=12, markeredgewidth=2.4)
    axes.annotate("trained length", (42, 42), va="center", color=style.colours[0])
    axes.plot([220], [42], color=style.colours[2], marker="o", markersize=5)
    axes.annotate("stated length, where longer", (242, 42), va="center", color=style.colours[2])
