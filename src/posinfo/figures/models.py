"""The figure of published models: their wavelengths against the length they were trained on."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from posinfo.figures.plots import powers
from posinfo.figures.style import WIDTH, Style, canvas, log_axes

Records = Sequence[Mapping[str, Any]]

#: How lines and marks are drawn, in the axes and in the key. Thick lines end where they end: a
#: round cap would reach into what is trained.
_WHOLE = {"linewidth": 1.4}
_SLOW = {"linewidth": 4.2, "solid_capstyle": "butt"}
_TRAINED = {"marker": "|", "markersize": 12, "markeredgewidth": 2.4, "linestyle": "none"}
_STATED = {"marker": "o", "markersize": 5.5, "linestyle": "none"}


def wavelengths_of_models(records: Records, style: Style) -> Figure:
    """A line a model over its wavelengths, thick where no turn is completed; marks for lengths."""
    line, top, below, left, right = 20.0, 62.0, 50.0, 176.0, 14.0
    height = top + len(records) * line + below
    figure = canvas(height)
    axes = figure.add_axes(
        (left / WIDTH, below / height, (WIDTH - left - right) / WIDTH,
         len(records) * line / height)
    )  # fmt: skip
    longest = max(max(r["longest"], r["stated_length"]) for r in records)
    ticks = powers(min(r["shortest"] for r in records), longest)
    log_axes(axes, x=ticks[::2])
    axes.set_xlim(ticks[0], ticks[-1])
    axes.set_ylim(len(records) - 0.5, -0.5)
    axes.grid(False, axis="y")
    names = [r["model"].replace(", sliding_attention", ", window") for r in records]
    axes.set_yticks(range(len(records)), labels=names)
    axes.tick_params(axis="y", length=0, pad=6)
    # One path for all lines of a kind: a path each would treble the file.
    whole, slow = ([], []), ([], [])
    for at, r in enumerate(records):
        _stroke(whole, at, r["shortest"], r["longest"])
        if r["longest"] > r["trained_length"]:
            _stroke(slow, at, max(r["trained_length"], r["shortest"]), r["longest"])
    axes.plot(*whole, color=style.muted, **_WHOLE)
    axes.plot(*slow, color=style.colours[1], **_SLOW)
    places = range(len(records))
    axes.plot([r["trained_length"] for r in records], places, color=style.colours[0], **_TRAINED)
    beyond = [(r["stated_length"], at) for at, r in enumerate(records)
              if r["stated_length"] > r["trained_length"]]  # fmt: skip
    if beyond:
        axes.plot(*zip(*beyond, strict=True), color=style.colours[2], clip_on=False, **_STATED)
    _key(figure, style, height)
    figure.text((left + WIDTH - right) / 2 / WIDTH, 6 / height, "wavelength (positions)",
                ha="center", va="bottom")  # fmt: skip
    return figure


def _stroke(path: tuple[list[float], list[float]], at: int, first: float, last: float) -> None:
    """A stroke more, apart from the one before."""
    path[0].extend((first, last, math.nan))
    path[1].extend((at, at, math.nan))


def _key(figure: Figure, style: Style, height: float) -> None:
    """What lines and marks are, above the axes: lines in the upper row, lengths in the lower."""
    axes = figure.add_axes((0, 1 - 48 / height, 1, 48 / height))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(48, 0)
    blue, red, green = style.colours[:3]
    for x, y, how, colour, ink, name in (
        (3, 12, _WHOLE, style.muted, style.ink, "wavelengths"),
        (160, 12, _SLOW, red, red, "never a turn in training"),
        (3, 36, _TRAINED, blue, blue, "trained length"),
        (160, 36, _STATED, green, green, "stated, where longer"),
    ):
        sample = [x + 10] if "marker" in how else [x, x + 20]
        axes.plot(sample, [y] * len(sample), color=colour, clip_on=False, **how)
        axes.annotate(name, (x + 26, y), va="center", color=ink, annotation_clip=False)
