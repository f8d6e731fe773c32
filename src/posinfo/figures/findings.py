"""The small drawings on the report's first screen: one thought each, labelled where it stands."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import NullLocator

from posinfo.figures.style import Style, power_of_ten

Records = Sequence[Mapping[str, Any]]

#: In points; they are shown as they are drawn, so that TEXT is 11 CSS pixels and more.
WIDTH, HEIGHT, TEXT = 180.0, 90.0, 8.5


def _axes(
    style: Style, left: float, bottom: float, right: float, top: float
) -> tuple[Figure, Axes]:
    """A small figure, and its axes with so much room around them, in points."""
    figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
    axes = figure.add_axes(
        (left / WIDTH, bottom / HEIGHT, 1 - (left + right) / WIDTH, 1 - (bottom + top) / HEIGHT)
    )
    axes.tick_params(labelsize=TEXT, length=2, pad=2)
    for spine in axes.spines.values():
        spine.set_linewidth(0.8)
    return figure, axes


def _say(
    axes: Axes, text: str, at: tuple[float, float], by: tuple[float, float], **how: Any
) -> None:
    """A label, so many points beside what it names."""
    axes.annotate(text, at, xytext=by, textcoords="offset points", fontsize=TEXT,
                  annotation_clip=False, **how)  # fmt: skip


def _heading(figure: Figure, text: str) -> None:
    figure.text(1 / WIDTH, 1 - 1 / HEIGHT, text, fontsize=TEXT, ha="left", va="top")


def doubled_context(records: Records, style: Style) -> Figure:
    """A rising line from nothing at the trained length."""
    figure, axes = _axes(style, 4, 16, 32, 18)
    at, rise = [r["context"] for r in records], [r["rise"] for r in records]
    axes.fill_between(at, [r["lowest"] for r in records], [r["highest"] for r in records],
                      color=style.colours[1], alpha=0.25, linewidth=0)  # fmt: skip
    axes.plot(at, rise, color=style.colours[1], marker="o", markersize=4, linewidth=1.8,
              clip_on=False)  # fmt: skip
    axes.set_xlim(at[0], at[-1])
    axes.set_ylim(0, max(r["highest"] for r in records))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    trained = f"{records[0]['trained_length']:,}, as trained"
    axes.set_xticks([at[0], at[-1]], labels=[trained, f"{at[-1]:,}"])
    axes.xaxis.get_major_ticks()[0].label1.set_horizontalalignment("left")
    _say(axes, f"+{rise[-1]:.1f}", (at[-1], rise[-1]), (5, -3), color=style.colours[1])
    _heading(figure, "added loss, nats a token")
    return figure


def lessons_own_checks(records: Records, style: Style) -> Figure:
    """A square a fault, twice: filled where it passes."""
    figure, axes = _axes(style, 0, 0, 0, 0)
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(HEIGHT, 0)
    lines = -(-len(records) // 31)
    for number, (column, name) in enumerate((("lessons", "lessons' checks"),
                                             ("battery", "this project's"))):  # fmt: skip
        # What passes comes first: its share is seen at once.
        passing = sorted(records, key=lambda r: r[column] != "accepted")
        passed = sum(r[column] == "accepted" for r in records)
        top = 4 + number * (22 + 9 * lines)
        axes.text(1, top + 5, f"{name}: {passed} of {len(records)} pass", fontsize=TEXT,
                  va="center", color=style.colours[1] if passed else style.ink)  # fmt: skip
        for accepted, colour in ((True, style.colours[1]), (False, style.faint)):
            points = [
                (1 + 5.75 * (place % 31) + dx, top + 17 + 9 * (place // 31))
                for place, record in enumerate(passing)
                if (record[column] == "accepted") == accepted
                for dx in (0, 4.25)
            ]
            if points:
                codes = [Path.MOVETO, Path.LINETO] * (len(points) // 2)
                axes.add_patch(PathPatch(Path(points, codes), fill=False, edgecolor=colour,
                                         linewidth=7, capstyle="butt"))  # fmt: skip
    return figure


def change_of_base(records: Records, style: Style) -> Figure:
    """Three straight lines over the pairs: trained, interpolated, and the nearest base."""
    figure, axes = _axes(style, 22, 14, 66, 14)
    axes.set_yscale("log")
    last = max(r["pair"] for r in records)
    colours = {"as trained": style.muted, "interpolated": style.colours[0],
               "nearest base": style.colours[1]}  # fmt: skip
    for line, colour in colours.items():
        ratios = [r["ratio"] for r in records if r["line"] == line]
        axes.plot([0, last], ratios, color=colour, linewidth=1.8,
                  linestyle=(0, (3.5, 2)) if line == "nearest base" else "-")  # fmt: skip
        _say(axes, line, (last, ratios[-1]), (4, -3), color=colour)
    factor = records[0]["factor"]
    axes.set_yticks([1, 1 / factor], labels=["1", f"1/{factor:g}"])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlim(0, last)
    axes.set_xticks([0, last], labels=["pair 0", f"{last}"])
    _heading(figure, "frequency over trained")
    return figure


def float32_limit(records: Records, style: Style) -> Figure:
    """The error of a score against the shift, both in powers of ten."""
    figure, axes = _axes(style, 26, 16, 20, 16)
    axes.set_xscale("log")
    axes.set_yscale("log")
    at, errors = [r["shift"] for r in records], [r["error"] for r in records]
    # An error of exactly 0 has no place on a logarithmic axis: it stands on its lower edge.
    floor = min([error for error in errors if error] or [1e-9])
    shown = [max(error, floor) for error in errors]
    axes.plot(at, shown, color=style.colours[0], marker="o", markersize=4, linewidth=1.8,
              clip_on=False)  # fmt: skip
    axes.set_xlim(at[0], at[-1])
    axes.set_xticks([at[0], at[-1]], labels=[power_of_ten(value) for value in (at[0], at[-1])])
    axes.set_yticks([1e-4, 1], labels=["10⁻⁴", "1"])
    axes.set_ylim(floor / 2, max(max(shown), 1) * 2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    axes.grid(True, axis="y", linewidth=0.8)
    _say(axes, f"{errors[-1]:.2g}", (at[-1], shown[-1]), (5, -3), color=style.colours[0])
    _say(axes, "shift", (at[0], floor / 2), (45, 3), color=style.muted)
    _heading(figure, "error of a score")
    return figure


def causal_mask(records: Records, style: Style) -> Figure:
    """Dots on one axis in powers of ten: rounding without a mask, whole numbers behind one."""
    figure, axes = _axes(style, 4, 16, 8, 16)
    axes.set_xscale("log")
    axes.set_xlim(1e-7, 3)
    axes.set_ylim(1.2, -0.6)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xticks([1e-6, 1e-3, 1], labels=["10⁻⁶", "0.001", "1"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(True, axis="x", linewidth=0.8)
    axes.set_axisbelow(True)
    for number, (mask, name) in enumerate((("none", "no mask: rounding"),
                                           ("causal", "causal mask alone"))):  # fmt: skip
        changes = [max(r["change"], 1e-7) for r in records if r["mask"] == mask]
        colour = style.colours[number]
        axes.plot(changes, [number] * len(changes), color=colour, marker="o", markersize=6,
                  linestyle="none", clip_on=False)  # fmt: skip
        beside = (max(changes), number) if mask == "none" else (min(changes), number)
        _say(axes, name, beside, (7, -3) if mask == "none" else (-7, -3), color=colour,
             ha="left" if mask == "none" else "right")  # fmt: skip
    _heading(figure, "outputs change with the order by")
    return figure


def untrained_rows(records: Records, style: Style) -> Figure:
    """Two bars: answers at trained positions, and at those that training never reached."""
    figure, axes = _axes(style, 2, 4, 40, 16)
    axes.set_xlim(0, 1)
    axes.set_ylim(1.75, -0.35)
    axes.set_axis_off()
    names = {"yes": "rows trained", "no": "rows never trained"}
    for number, record in enumerate(records):
        colour, wrong = style.colours[number], record["wrong"]
        _say(axes, names[record["trained"]], (0, number - 0.12), (3, 0), color=colour)
        axes.plot([0, 1], [number + 0.28] * 2, color=style.faint, linewidth=10,
                  solid_capstyle="butt")  # fmt: skip
        axes.plot([0, wrong], [number + 0.28] * 2, color=colour, linewidth=10,
                  solid_capstyle="butt")  # fmt: skip
        _say(axes, f"{100 * wrong:.0f} %", (1, number + 0.28), (5, -3), color=colour)
    _heading(figure, "wrong answers")
    return figure
