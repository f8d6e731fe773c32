"""A model as lines of text: what to look at first, then what it is, then its numbers."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from posinfo.check.show import plain
from posinfo.models import extend, families, table
from posinfo.models.model import WARNING, Finding, Model, Rope
from posinfo.numbers_text import significant

#: Pairs that are shown unless all are asked for.
SHOWN = 12
#: Digits of the numbers of a table; ``--json`` and ``--csv`` have them all.
DIGITS = 5


def lines(model: Model, *, width: int = 100, every_pair: bool = False) -> Iterator[str]:
    """The lines to print; none ends in spaces.

    Parameters
    ----------
    model
        What was read.
    width
        Letters in a line, but for names too long for it and blocks to paste.
    every_pair
        Whether all pairs are shown, and not :data:`SHOWN` of them.
    """
    yield f"{plain(model.name)} ({plain(model.file)})"
    for one in model.findings:
        yield from wrapped(f"{mark(one)} {one.code}: {plain(one.text)}", width)
    yield ""
    yield from _listed(facts(model), width)
    for rope in model.rope:
        yield ""
        yield from _rope(model, rope, width, every_pair)
    if model.positions == families.ALIBI:
        yield ""
        rows = [
            (str(row["head"]), number(row["slope"]), number(row["distance_of_one"]),
             number(row["bias"]))
            for row in table.slopes(model)
        ]  # fmt: skip
        yield from grid(("head", "slope", "distance of one logit", "bias at the end"), rows)


def mark(one: Finding) -> str:
    """A finding's level as a shape and a word."""
    return "! warning" if one.level == WARNING else "· note"


def wrapped(text: str, width: int) -> list[str]:
    """A finding in lines, the later ones set in."""
    return _wrap(text, width, "    ")


def _wrap(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, max(40, width), subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def facts(model: Model) -> list[tuple[str, str]]:
    """What the model is, each with a name."""
    found = [("family", plain(model.family) or "not told"), ("positions", model.positions)]
    sizes = [
        f"{value} {name}" if value != 1 else f"1 {name.removesuffix('s')}"
        for name, value in (("layers", model.layers), ("heads", model.heads),
                            ("key/value heads", model.kv_heads)) if value
    ]  # fmt: skip
    if sizes:
        found.append(("sizes", ", ".join(sizes)))
    if model.positions == families.ROTARY:
        found.append(("pairs lie as", model.pairing))
    elif model.positions == families.LEARNED:
        made = table.learned(model)
        found.append(("table", f"{made['rows']:,} rows of {made['width']:,}, for positions 0 to "
                               f"{made['positions'] - 1:,}"))  # fmt: skip
        found.append(("its size", _sizes(made["bytes"])))
    elif model.positions == families.ALIBI:
        found.append(("stated length", f"{model.stated:,}" if model.stated else "not told"))
        found.append(("slopes", f"order: {model.options['order']}"))
    elif model.positions == families.BUCKETS:
        text = (
            f"{model.options['buckets']}, the last for distances from {model.options['distance']}"
        )
        found.append(("buckets", text))
    return found


def rope_facts(rope: Rope) -> list[tuple[str, str]]:
    """What a rotary embedding is, each with a name and where it comes from."""
    made = rope.sources
    part = "" if rope.turned * 2 == rope.head_dim else f" of {rope.head_dim}"
    rotated = f"{2 * rope.turned}{part} dimensions, {rope.turned} pairs"
    where = made["head_dim"] + (f", {made['rotated']}" if made["rotated"] else "")
    found = [
        ("rotates", f"{rotated} ({where})"),
        ("base", f"{rope.base:,.10g} ({made['base']})"),
        ("scaling", _scaling(rope)),
        ("trained length", f"{rope.trained:,} ({made['trained']})"),
        ("stated length", f"{rope.stated:,} ({made['stated']})"),
    ]
    if rope.window:
        found.append(("window", f"{rope.window:,} positions"))
    return found


def measured(rope: Rope) -> list[tuple[str, str]]:
    """What follows for it, each with a name."""
    never, outside = extend.never_turning(rope), extend.outside(rope, rope.stated)
    attention = f"{rope.attention:.6g}"
    if rope.attention != 1:
        attention += f" on cos and sin, so logits × {rope.attention**2:.6g}"
    if rope.softmax != 1:
        attention += f"; softmax scale × {rope.softmax:.6g}"
    found = [
        ("attention factor", attention),
        ("never a turn", f"{len(never)} of {rope.turned} pairs within {_within(rope)}"),
        ("never trained", f"{len(outside)} of {rope.turned} pairs pass their trained angles by the "
                          "stated length"),
        ("cached cos, sin", _sizes({
            dtype: 2 * rope.stated * rope.pairs * size
            for dtype, size in table.precision.SIZES.items()
        })),
    ]  # fmt: skip
    for dtype, one in table.precisions(rope.frequencies()).items():
        text = f"positions fall together from {one['first_position_lost']:,}"
        if one["first_position_wrong"] is not None:
            text += (
                f"; an angle is off by more than {table.precision.TOLERANCE:g} rad from "
                f"{one['first_position_wrong']:,} (pair {one['pair']})"
            )
        found.append((f"in {dtype}", text))
    return found


def _within(rope: Rope) -> str:
    return "the window" if rope.seen < rope.trained else "the trained length"


def _scaling(rope: Rope) -> str:
    if rope.kind == "default":
        return "none"
    text = f"{rope.kind}, factor {rope.factor:.10g}"
    if rope.sources["factor"]:
        text += f" ({rope.sources['factor']})"
    more = [
        f"{key} {value if isinstance(value, bool) else f'{value:g}'}"
        for key, value in rope.options.items() if not isinstance(value, tuple)
    ]  # fmt: skip
    return ", ".join([text, *more])


def _sizes(sizes: dict[str, int]) -> str:
    by: dict[int, list[str]] = {}
    for dtype, size in sizes.items():
        by.setdefault(size, []).append(dtype)
    return ", ".join(f"{_bytes(size)} in {' and '.join(names)}" for size, names in by.items())


def _bytes(size: int) -> str:
    for unit, step in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= step:
            return f"{size / step:.4g} {unit}"
    return f"{size} bytes"


def number(value: float | None, digits: int = DIGITS) -> str:
    """A number for a cell; nothing for none."""
    return "" if value is None else significant(value, digits)


def title(rope: Rope) -> str:
    """Which layers a rotary embedding belongs to."""
    if not rope.layers:
        return "all layers"
    return f"{rope.layers}" + (f", {rope.count} layers" if rope.count else "")


def pair_cells(rows: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """The cells of the table of pairs."""
    return [
        (
            str(row["pair"]), number(row["frequency"]), number(row["wavelength"]),
            number(row["turns"]), number(row["angle"]), "inside" if row["inside"] else "OUTSIDE",
            number(row["ratio"], 4),
        )
        for row in rows
    ]  # fmt: skip


PAIR_HEADS = ("pair", "frequency", "wavelength", "turns", "last angle", "in training", "θ′/θ")
METHOD_HEADS = ("method", "times", "length", "longest wavelength", "logits", "outside")


def method_cells(found: Iterable[extend.Extension]) -> list[tuple[str, ...]]:
    """The cells of the table of methods."""
    return [
        (
            one.name, f"{one.factor}", f"{one.length:,}",
            number(2 * table.math.pi / min(value for value in one.rope.frequencies(one.length)
                                           if value)),
            f"× {one.rope.attention**2:.4g}", str(len(one.outside)),
        )
        for one in found
    ]  # fmt: skip


def _rope(model: Model, rope: Rope, width: int, every_pair: bool) -> Iterator[str]:
    if rope.layers:
        yield f"{title(rope)}:"
    yield from _listed([*rope_facts(rope), *measured(rope)], width)
    rows = table.pair_rows(model, rope)
    chosen = rows if every_pair else [rows[at] for at in some(rope, rows)]
    yield ""
    yield from wrapped(
        f"Pairs: turns within {_within(rope)}, the angle at the last stated position, whether "
        "training had it, and θ′/θ, the frequency after scaling over that before:", width
    )  # fmt: skip
    yield from grid(PAIR_HEADS, pair_cells(chosen))
    if len(chosen) < len(rows):
        yield f"({len(chosen)} of {len(rows)} pairs; --pairs shows all, --csv writes them)"
    if table.extends(rope):
        found = extend.extensions(rope)
        yield ""
        yield from wrapped(
            f"Extended from the trained {rope.trained:,}, with the pairs whose angles then lie "
            "outside; how well a model does is not known:", width
        )  # fmt: skip
        yield from grid(METHOD_HEADS, method_cells(found))
        yield ""
        yield from wrapped("rope_parameters to paste, with the max_position_embeddings that "
                           "go with it (× 4; --json has all):", width)  # fmt: skip
        for one in found:
            if one.factor == 4 and one.method != "none":
                block = pasted(rope, one)
                yield f"  {one.name}, {one.stated}: {json.dumps(block)}"


def pasted(rope: Rope, one: extend.Extension) -> dict[str, Any]:
    """A block as it is pasted: below its kind of layers where there are several."""
    return {rope.layers: one.block} if rope.layers else one.block


def some(rope: Rope, rows: Sequence[dict[str, Any]]) -> list[int]:
    """A choice of pairs: spread over all, and where turns and ranges change."""
    last = len(rows) - 1
    if last < SHOWN:
        return list(range(last + 1))
    turns = [at for at in range(last) if (rows[at]["turns"] >= 1) != (rows[at + 1]["turns"] >= 1)]
    inside = [at for at in range(last) if rows[at]["inside"] != rows[at + 1]["inside"]]
    edges = {0, last, *(at + more for at in (*turns, *inside) for more in (0, 1))}
    spread = [round(last * step / (SHOWN - 1)) for step in range(SHOWN)]
    for at in spread[1::2] + spread[::2]:
        if len(edges) < SHOWN:
            edges.add(at)
    return sorted(edges)


def _listed(found: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Names and what they are, in lines under one another."""
    widest = max(len(name) for name, _ in found)
    for name, text in found:
        yield from _wrap(f"  {name:<{widest}}  {plain(text)}", width, " " * (widest + 4))


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns under heads: the first to the left, numbers to the right."""
    widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(len(heads))]
    for row in (heads, *rows):
        cells = [
            f"{cell:<{wide}}" if at == 0 else f"{cell:>{wide}}"
            for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
