"""A model's full table: its pairs, its precisions, and what each method would make of it."""

import csv
import io
import math
from collections.abc import Mapping
from typing import Any

from posinfo.models import extend, families, precision
from posinfo.models.model import Finding, Model, Rope

#: Version of the form of ``--json``: raised when a key changes its meaning or goes.
SCHEMA = 1

#: The columns of ``--csv`` for a rotary model.
COLUMNS = (
    "layers", "pair", "first_dimension", "second_dimension", "frequency", "wavelength", "turns",
    "angle", "inside", "frequency_before", "ratio",
)  # fmt: skip


def table(model: Model) -> dict[str, Any]:
    """All that is known of a model, in values that JSON has.

    Returns
    -------
    dict
        docs/models.md says what each key means.
    """
    made: dict[str, Any] = {
        "schema": SCHEMA,
        "file": model.file,
        "name": model.name,
        "family": model.family,
        "positions": model.positions,
        "pairing": model.pairing,
        "layers": model.layers,
        "heads": model.heads,
        "kv_heads": model.kv_heads,
        "unrotated_layers": model.unrotated,
        "stated_length": model.stated,
        "rope": [_rope(model, rope) for rope in model.rope],
        "findings": [_finding(one) for one in model.findings],
    }
    if model.positions == families.LEARNED:
        made["table"] = learned(model)
    elif model.positions == families.ALIBI:
        made["heads_table"] = slopes(model)
    elif model.positions == families.BUCKETS:
        made["buckets"] = dict(model.options)
    return made


def _finding(one: Finding) -> dict[str, Any]:
    return {"level": one.level, "code": one.code, "key": one.key, "text": one.text,
            "numbers": dict(one.numbers)}  # fmt: skip


def _rope(model: Model, rope: Rope) -> dict[str, Any]:
    theta = rope.frequencies()
    return {
        "layers": rope.layers,
        "layers_count": rope.count,
        "window": rope.window,
        "head_dim": rope.head_dim,
        "rotary_dim": 2 * rope.turned,
        "pairs": rope.pairs,
        "base": rope.base,
        "type": rope.kind,
        "factor": rope.factor,
        "trained_length": rope.trained,
        "stated_length": rope.stated,
        "attention_factor": rope.attention,
        "logits_factor": rope.attention**2,
        "softmax_factor": rope.softmax,
        "options": {key: list(value) if isinstance(value, tuple) else value
                    for key, value in rope.options.items()},
        "sources": dict(rope.sources),
        "never_complete_a_turn": len(extend.never_turning(rope)),
        "outside_trained_range": len(extend.outside(rope, rope.stated)),
        "cached_table_bytes": {
            dtype: 2 * rope.stated * rope.pairs * size for dtype, size in precision.SIZES.items()
        },
        "precision": precisions(theta),
        "pair_table": pair_rows(model, rope),
        "extensions": [_extension(one) for one in extend.extensions(rope)]
        if extends(rope) else [],
    }  # fmt: skip


def extends(rope: Rope) -> bool:
    """Whether there is anything to extend: layers with a window see no greater distances."""
    return rope.window is None or not rope.layers


def precisions(theta: list[float]) -> dict[str, Any]:
    """For each precision the first position that is lost, and the first wrong angle."""
    found = {}
    for dtype in precision.FORMATS:
        wrong = precision.first_wrong(theta, dtype)
        found[dtype] = {
            "first_position_lost": precision.first_lost(dtype),
            "first_position_wrong": wrong and wrong.position,
            "pair": wrong and wrong.pair,
            "error": wrong and wrong.error,
        }
    return found


def pair_rows(model: Model, rope: Rope) -> list[dict[str, Any]]:
    """A record for each pair: frequency, wavelength, turns, and the angle at the last position."""
    outside = set(extend.outside(rope, rope.stated))
    rows = []
    for pair, (before, value) in enumerate(zip(rope.plain, rope.frequencies(), strict=True)):
        if model.pairing == families.NEIGHBOURS:
            first, second = 2 * pair, 2 * pair + 1
        elif model.pairing == families.HALVES:
            first, second = pair, pair + rope.pairs
        else:
            first = second = None
        rows.append(
            {
                "layers": rope.layers,
                "pair": pair,
                "first_dimension": first,
                "second_dimension": second,
                "frequency": value,
                "wavelength": 2 * math.pi / value if value else None,
                "turns": before * rope.seen / (2 * math.pi),
                "angle": value * (rope.farthest - 1),
                "inside": pair not in outside,
                "frequency_before": before,
                "ratio": value / before if before else None,
            }
        )
    return rows


def _extension(one: extend.Extension) -> dict[str, Any]:
    theta = one.rope.frequencies(one.length)
    slowest = min(value for value in theta if value)
    return {
        "method": one.method,
        "name": one.name,
        "factor": one.factor,
        "length": one.length,
        "fastest_frequency": theta[0],
        "longest_wavelength": 2 * math.pi / slowest,
        "attention_factor": one.rope.attention,
        "logits_factor": one.rope.attention**2,
        "outside_trained_range": len(one.outside),
        "max_position_embeddings": one.stated,
        "rope_parameters": one.block,
    }


def learned(model: Model) -> dict[str, Any]:
    """The size of a learned table."""
    rows, width = model.options["rows"], model.width or 0
    return {
        "rows": rows,
        "positions": model.options["positions"],
        "width": width,
        "parameters": rows * width,
        "bytes": {dtype: rows * width * size for dtype, size in precision.SIZES.items()},
    }


def slopes(model: Model) -> list[dict[str, Any]]:
    """ALiBi's slope of each head, with the bias at the largest stated distance."""
    farthest = model.stated - 1 if model.stated else None
    return [
        {
            "head": head,
            "slope": slope,
            "distance_of_one": 1 / slope,
            "bias": None if farthest is None else -slope * farthest,
        }
        for head, slope in enumerate(model.options["slopes"])
    ]


def as_csv(model: Model) -> str:
    """The table of the pairs of all layers; of heads for ALiBi; of the table's size else."""
    rows: list[Mapping[str, Any]]
    columns = COLUMNS
    if model.positions == families.ROTARY:
        rows = [row for rope in model.rope for row in pair_rows(model, rope)]
    elif model.positions == families.ALIBI:
        rows = slopes(model)
        columns = tuple(rows[0])
    elif model.positions == families.LEARNED:
        made = learned(model)
        rows = [{key: value for key, value in made.items() if key != "bytes"}]
        columns = tuple(rows[0])
    else:
        rows = [dict(model.options)]
        columns = tuple(rows[0])
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_cell(row[column]) for column in columns)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(value) if isinstance(value, float) else str(value)
