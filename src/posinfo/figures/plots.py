"""The plotted figures: each a function from the records of its CSV to a drawing."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from posinfo.figures.style import TEXT, WIDTH, Style, canvas, heading, key, log_axes

Records = Sequence[Mapping[str, Any]]

_DASHED = (0, (5, 3))
_MARKERS = ("o", "s", "^", "D")


def groups(records: Records, column: str) -> dict[Any, list[Mapping[str, Any]]]:
    """Records by the value of a column, in the order of first sight."""
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for record in records:
        found.setdefault(record[column], []).append(record)
    return found


def powers(low: float, high: float, *, step: int = 1) -> list[float]:
    """Powers of ten that enclose a range."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    return [10.0**exponent for exponent in range(first, last + 1, step)]


def angles_by_position(records: Records, style: Style) -> Figure:
    """Straight lines in logarithmic axes, one a pair; dots where the angle was measured."""
    pairs = groups(records, "pair")
    lines = {pair: [r for r in of if r["kind"] == "line"] for pair, of in pairs.items()}
    last = max(record["position"] for of in lines.values() for record in of)
    angles = [record["angle"] for of in lines.values() for record in of]
    ticks = powers(min(angles), max(angles))
    figure = canvas(410)
    heading(figure, "angle m·θ (rad)")
    axes = figure.add_axes((0.145, 0.135, 0.615, 0.795))
    log_axes(axes, x=powers(1, last), y=ticks)
    axes.set_xlim(1, last)
    axes.set_ylim(ticks[0], ticks[-1])
    turn = next(r for r in records if r["kind"] == "one turn")
    axes.axhline(turn["angle"], color=style.ink, linewidth=1.2, linestyle=_DASHED, zorder=1.5)
    axes.annotate("one turn", (1, turn["angle"]), xytext=(3, 15), textcoords="offset points")
    for number, (pair, of) in enumerate(pairs.items()):
        colour, marker = style.colours[number % 4], _MARKERS[number % 4]
        line = lines[pair]
        axes.plot([r["position"] for r in line], [r["angle"] for r in line], color=colour)
        dots = [r for r in of if r["kind"] == "measured"]
        axes.plot(
            [r["position"] for r in dots], [r["angle"] for r in dots],
            color=colour, marker=marker, linestyle="none",
        )  # fmt: skip
        turn = next(r for r in of if r["kind"] == "one turn")
        axes.plot(
            [turn["position"]], [turn["angle"]],
            color=colour, marker="|", markersize=14, markeredgewidth=2,
        )  # fmt: skip
        axes.annotate(
            f"pair {pair}\nθ = {turn['theta']:.3g}",
            (line[-1]["position"], line[-1]["angle"]), xytext=(7, 4 if number == 0 else 0),
            textcoords="offset points", va="top" if number == 0 else "center", color=colour,
            annotation_clip=False, linespacing=1.05,
        )  # fmt: skip
    axes.set_xlabel("position m")
    return figure


def shift_error(records: Records, style: Style) -> Figure:
    """One panel a head size: the error with its markers under the bound that it must not pass."""
    sizes = groups(records, "head_dim")
    shifts = sorted({record["shift"] for record in records})
    shown = [r["error"] for r in records if r["error"]] + [r["bound"] for r in records]
    low, high = min(shown) / 2, max(shown) * 2
    # An error of exactly 0 has no place on a logarithmic axis: it stands on its lower edge.
    ticks = powers(low, high)
    floor = ticks[0]
    top, panel, gap, below = 58.0, 116.0, 34.0, 50.0
    height = top + len(sizes) * panel + (len(sizes) - 1) * gap + below
    figure = canvas(height)
    heading(figure, "distance from the exact score")
    colour = style.colours[0]
    for number, (size, of) in enumerate(sizes.items()):
        bottom = height - top - panel - number * (panel + gap)
        axes = figure.add_axes((0.165, bottom / height, 0.79, panel / height))
        log_axes(axes, x=powers(shifts[0], shifts[-1]), y=ticks[::4])
        axes.set_xlim(shifts[0] / 1.6, shifts[-1] * 1.6)
        axes.set_ylim(floor, ticks[-1])
        bound = [r["bound"] for r in of]
        error = [max(r["error"], floor) for r in of]
        axes.fill_between(shifts, floor, bound, color=style.faint, alpha=0.55, linewidth=0)
        axes.plot(shifts, bound, color=style.muted, linestyle=_DASHED, linewidth=1.6)
        axes.plot(shifts, error, color=colour, marker="o", clip_on=False)
        axes.set_title(f"head size {size}", pad=6)
        axes.annotate(
            f"{error[-1]:.2g}", (shifts[-1], error[-1]), xytext=(0, -14), ha="right", va="top",
            textcoords="offset points", color=colour,
        )  # fmt: skip
        if number:
            axes.tick_params(labelbottom=number == len(sizes) - 1)
            continue
        axes.tick_params(labelbottom=len(sizes) == 1)
        middle = len(shifts) // 2
        axes.annotate(
            "rounding bound", (shifts[middle], bound[middle]), xytext=(-6, 4),
            textcoords="offset points", ha="right", va="bottom",
        )  # fmt: skip
        axes.annotate(
            "measured", (shifts[middle], error[middle]), xytext=(6, -5),
            textcoords="offset points", ha="left", va="top", color=colour,
        )  # fmt: skip
    figure.text(0.56, 6 / height, "shift of both positions", ha="center", va="bottom")
    return figure


def frequency_ratios(records: Records, style: Style) -> Figure:
    """A small panel a method, all on the same axes; dashed, the nearest change of base."""
    methods = groups(records, "method")
    pairs = [r["pair"] for r in next(iter(methods.values()))]
    lowest = min(min(r["ratio"], r["best_base_ratio"]) for r in records)
    ticks = powers(lowest, 1)
    top_limit = 1.35 * max(max(r["ratio"], r["best_base_ratio"]) for r in records)
    columns, panel_width, panel, gap = 2, 146.0, 74.0, 32.0
    lines = math.ceil(len(methods) / columns)
    left, below, top = 56.0, 50.0, 74.0
    height = top + lines * panel + (lines - 1) * gap + below
    figure = canvas(height)
    apart = (WIDTH - left - columns * panel_width - 6) / (columns - 1)
    dashes = (0, (3.5, 2.5))
    for number, of in enumerate(methods.values()):
        line, column = divmod(number, columns)
        place = (
            (left + column * (panel_width + apart)) / WIDTH,
            1 - (top + panel + line * (panel + gap)) / height,
            panel_width / WIDTH,
            panel / height,
        )
        axes = figure.add_axes(place)
        log_axes(axes, y=ticks)
        axes.set_xticks([pairs[0], pairs[-1]])
        axes.set_xlim(pairs[0], pairs[-1])
        axes.set_ylim(lowest / 1.35, top_limit)
        below_is_key = number + columns >= len(methods)
        axes.tick_params(labelleft=column == 0, labelbottom=below_is_key)
        # The outermost labels stay inside their panel: they would run into the next one.
        for tick, side in zip(axes.xaxis.get_major_ticks(), ("left", "right"), strict=True):
            tick.label1.set_horizontalalignment(side)
        axes.plot(pairs, [r["ratio"] for r in of], color=style.colours[0], linewidth=2.6)
        # A change of base is a straight line here: its two ends are enough.
        axes.plot(
            [pairs[0], pairs[-1]], [of[0]["best_base_ratio"], of[-1]["best_base_ratio"]],
            color=style.colours[1], linewidth=1.8, linestyle=dashes,
        )  # fmt: skip
        axes.set_title(of[0]["name"], pad=5, fontsize=TEXT)
    figure.text(0.57, 4 / height, "pair of dimensions", ha="center", va="bottom")
    heading(figure, "θ′/θ")
    strokes = {"linewidth": 2.6}, {"linewidth": 1.8, "linestyle": dashes}
    key(figure, style, ("by the method", "nearest change of base"), strokes, at=(3, 152))
    return figure


def angle_error_by_dtype(records: Records, style: Style) -> Figure:
    """A line a precision in logarithmic axes, its bound dashed above it; one turn across."""
    dtypes = groups(records, "dtype")
    positions = [r["position"] for r in records]
    shown = [value for r in records for value in (r["error"], r["bound"]) if value]
    xticks, yticks = powers(min(positions), max(positions)), powers(min(shown), max(shown))
    floor = yticks[0]
    figure = canvas(420)
    heading(figure, "error of the angle (rad)")
    axes = figure.add_axes((0.15, 0.13, 0.83, 0.8))
    log_axes(axes, x=xticks[::2], y=yticks[::2])
    axes.set_xlim(min(positions), 2 * max(positions))
    axes.set_ylim(floor, yticks[-1])
    axes.axhline(2 * math.pi, color=style.ink, linewidth=1.2, linestyle=(0, (1, 2)), zorder=1.5)
    axes.annotate("one turn", (min(positions), 2 * math.pi), xytext=(5, 4),
                  textcoords="offset points")  # fmt: skip
    for number, (dtype, of) in enumerate(dtypes.items()):
        colour, marker = style.colours[number % 4], _MARKERS[number % 4]
        at = [r["position"] for r in of]
        axes.plot(at, [r["bound"] for r in of], color=colour, linewidth=1.3, linestyle=_DASHED)
        # An error of exactly 0 has no place on a logarithmic axis: it stands on its lower edge.
        errors = [max(r["error"], floor) for r in of]
        axes.plot(at, errors, color=colour, marker=marker)
        end = of[0]["infinite_from"]
        # A line that ends early is named at its middle, the others where they run alone.
        place = len(of) // 2 if end else max(len(of) - 4, 0)
        axes.annotate(
            dtype, (at[place], errors[place]), xytext=(10, -4), textcoords="offset points",
            va="top", color=colour,
        )  # fmt: skip
        if end:
            axes.plot([end, end], [floor, of[-1]["bound"]], color=colour, linewidth=1.3,
                      linestyle=(0, (1, 2)), zorder=1.4)  # fmt: skip
            axes.annotate(
                f"{dtype} is infinite\nfrom here on", (end, floor), xytext=(-6, 8), ha="right",
                textcoords="offset points", va="bottom", color=colour, linespacing=1.1,
            )  # fmt: skip
    axes.text(0.02, 0.985, "dashed: rounding bounds", transform=axes.transAxes, va="top")
    axes.set_xlabel("position")
    return figure


def cosine_decay(records: Records, style: Style) -> Figure:
    """A panel a base: the band of scores in each octave of distance, and random vectors' size."""
    bases = groups(records, "base")
    first = min(r["first"] for r in records)
    last = max(r["last"] for r in records)
    low = min(r["smallest"] for r in records) - 0.08
    top, panel, gap, below = 60.0, 150.0, 36.0, 50.0
    height = top + len(bases) * panel + (len(bases) - 1) * gap + below
    figure = canvas(height)
    heading(figure, "score over the squared norm")
    for number, (base, of) in enumerate(bases.items()):
        bottom = height - top - panel - number * (panel + gap)
        axes = figure.add_axes((0.1, bottom / height, 0.855, panel / height))
        log_axes(axes, x=powers(first, last, step=2))
        axes.set_xlim(first, last)
        axes.set_yticks([0, 0.5, 1], labels=["0", "½", "1"])
        axes.set_ylim(low, 1.05)
        axes.axhline(0, color=style.ink, linewidth=1.2, zorder=1.6)
        constant = [r for r in of if r["vectors"] == "constant"]
        random = [r for r in of if r["vectors"] == "random"]
        colour, other = style.colours[0], style.colours[1]
        edges = [r["first"] for r in constant] + [constant[-1]["last"]] if constant else []
        # The last octave is drawn to its end: a step needs one more value than it has octaves.
        bands = {
            name: [r[name] for r in constant] + [r[name] for r in constant[-1:]]
            for name in ("largest", "smallest")
        }
        axes.fill_between(edges, bands["smallest"], bands["largest"], step="post", color=colour,
                          alpha=0.3, linewidth=0)  # fmt: skip
        for values in bands.values():
            axes.step(edges, values, where="post", color=colour, linewidth=1.6)
        for sign in ("largest", "smallest"):
            axes.plot([r["first"] for r in random], [r[sign] for r in random], color=other,
                      linestyle=_DASHED, linewidth=1.6, marker=_MARKERS[1],
                      clip_on=False)  # fmt: skip
        axes.set_title(f"base {base:,.10g}", pad=6)
        axes.tick_params(labelbottom=number == len(bases) - 1)
        if not number and constant:
            axes.annotate(
                "constant vectors: largest and\nsmallest in an octave",
                (constant[len(constant) // 5]["first"], 1.1), va="top", color=colour,
                linespacing=1.1, annotation_clip=False,
            )  # fmt: skip
            axes.annotate(
                "random vectors:\n± root mean square", (first, low), xytext=(5, 1), linespacing=1.1,
                textcoords="offset points", va="bottom", color=other,
            )  # fmt: skip
    figure.text(0.53, 6 / height, "distance of query and key", ha="center", va="bottom")
    return figure


def coverage(records: Records, style: Style) -> Figure:
    """A panel a base, a line a method: the share of its pairs at each factor, from nothing on."""
    bases, methods = groups(records, "base"), list(groups(records, "name"))
    factors = list(groups(records, "factor"))
    high = max(record["share"] for record in records) * 1.12 or 0.1
    left, gap, top, line, below = 134.0, 18.0, 52.0, 36.0, 54.0
    height = top + len(methods) * line + below
    width = (WIDTH - left - 8 - gap * (len(bases) - 1)) / len(bases)
    figure = canvas(height)
    for number, (base, of) in enumerate(bases.items()):
        axes = figure.add_axes(
            ((left + number * (width + gap)) / WIDTH, below / height, width / WIDTH,
             len(methods) * line / height)
        )  # fmt: skip
        axes.set_xlim(0, high)
        axes.set_ylim(len(methods) - 0.5, -0.5)
        ticks = [step / 5 for step in range(6) if step / 5 <= high]
        axes.set_xticks(ticks, labels=[f"{100 * tick:.0f}" for tick in ticks])
        axes.set_yticks(range(len(methods)), labels=methods)
        axes.tick_params(axis="y", length=0, pad=5, labelleft=number == 0)
        axes.grid(True, axis="x", linewidth=0.8)
        axes.set_axisbelow(True)
        none = [
            name for name, own in groups(of, "name").items() if not any(r["share"] for r in own)
        ]
        for name in none:
            axes.annotate("none", (0, methods.index(name)), xytext=(5, 0), va="center",
                          textcoords="offset points", color=style.muted)  # fmt: skip
        for place, factor in enumerate(factors):
            own = [r for r in of if r["factor"] == factor and r["name"] not in none]
            at = [methods.index(r["name"]) + 0.26 * (place - (len(factors) - 1) / 2) for r in own]
            colour, shares = style.colours[place % 4], [r["share"] for r in own]
            axes.plot(
                [x for share in shares for x in (0, share, math.nan)],
                [y for y in at for y in (y, y, math.nan)],
                color=colour, linewidth=1.4,
            )  # fmt: skip
            axes.plot(shares, at, color=colour, marker=_MARKERS[place % 4], markersize=5.5,
                      linestyle="none", clip_on=False)  # fmt: skip
        axes.set_title(f"base {base:,.10g}", pad=6, fontsize=TEXT)
    # A column a factor: its marker beside what it stands for.
    key = figure.add_axes((0, 1 - 24 / height, 1, 24 / height))
    key.set_axis_off()
    key.set_xlim(0, WIDTH)
    key.set_ylim(0, 24)
    key.annotate("context longer by", (2, 12), va="center")
    for place, factor in enumerate(factors):
        colour, at = style.colours[place % 4], 158 + 58 * place
        key.plot([at], [12], color=colour, marker=_MARKERS[place % 4])
        key.annotate(f"{factor:g}×", (at + 10, 12), va="center", color=colour)
    figure.text(1 - 8 / WIDTH, 8 / height, "pairs at angles never trained (%)",
                ha="right", va="bottom")  # fmt: skip
    return figure


def permutation_error(records: Records, style: Style) -> Figure:
    """A band a setting and a line a number of layers: changes as markers, bounds as strokes."""
    settings, dtypes = groups(records, "setting"), list(groups(records, "dtype"))
    layers = sorted(groups(records, "layers"))
    shown = [value for r in records for value in (r["change"], r["bound"]) if value]
    ticks = powers(min(shown), max(shown))
    # A change of exactly 0 has no place on a logarithmic axis: it stands on its lower edge.
    floor = ticks[0]
    top, band, below = 58.0, 30.0 + 13.0 * len(layers), 54.0
    height = top + len(settings) * band + below
    figure = canvas(height)
    axes = figure.add_axes((0.035, below / height, 0.93, len(settings) * band / height))
    log_axes(axes, x=ticks[::4])
    axes.set_xlim(floor, ticks[-1])
    axes.set_ylim(len(settings) * band, 0)
    # The first label stays inside the figure.
    axes.xaxis.get_major_ticks()[0].label1.set_horizontalalignment("left")
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    for number, setting in enumerate(settings):
        if number:
            axes.axhline(number * band, color=style.faint, linewidth=1.0)
        axes.annotate(setting, (floor, number * band), xytext=(3, -4), va="top",
                      textcoords="offset points")  # fmt: skip
    # A line a number of layers, from top to bottom.
    names = list(settings)
    for place, (_, of) in enumerate(groups(records, "dtype").items()):
        colour = style.colours[place % 4]
        at = [names.index(r["setting"]) * band + 30 + 13 * layers.index(r["layers"]) for r in of]
        axes.plot([r["bound"] for r in of], at, color=colour, marker="|", linestyle="none",
                  markersize=11, markeredgewidth=2)  # fmt: skip
        # Hollow and large first, filled and small next: where two agree, both are seen.
        axes.plot(
            [max(r["change"], floor) for r in of], at, color=colour, linestyle="none",
            marker=_MARKERS[1 - place % 2], markersize=9 - 3.5 * (place % 2),
            markeredgewidth=1.5, clip_on=False, fillstyle="full" if place % 2 else "none",
        )  # fmt: skip
    key = figure.add_axes((0, 1 - 50 / height, 1, 50 / height))
    key.set_axis_off()
    key.set_xlim(0, WIDTH)
    key.set_ylim(0, 50)
    for place, dtype in enumerate(dtypes):
        colour, at = style.colours[place % 4], 24 + 110 * place
        key.plot([at], [38], color=colour, marker=_MARKERS[1 - place % 2], linestyle="none",
                 markersize=9 - 3.5 * (place % 2), markeredgewidth=1.5,
                 fillstyle="full" if place % 2 else "none")  # fmt: skip
        key.annotate(dtype, (at + 10, 38), va="center", color=colour)
    key.plot([24], [14], color=style.muted, marker="|", markersize=11, markeredgewidth=2)
    key.annotate("bound: right of it is no rounding", (34, 14), va="center")
    figure.text(0.5, 10 / height, "change of an output", ha="center", va="bottom")
    return figure
