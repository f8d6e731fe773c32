"""Every shape that the lessons print or trace, counts of parameters, and V left alone."""

from collections.abc import Mapping
from typing import Any

import torch

from posinfo.encodings import rotary
from posinfo.encodings.attention import attend
from posinfo.encodings.learned import LearnedPositions, embed
from posinfo.reference import rounding
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import draw, dtype_text, shape_text

SUITE = Suite(
    "shapes",
    "Shapes, types and parameter counts along both paths",
    columns=("step", "positions_shape"),
)

_EMBED = "posinfo.encodings.learned.embed"
_LEARNED = "posinfo.encodings.learned.LearnedPositions"
_ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
_COMPLEX = "posinfo.encodings.rotary.rotate_complex"
_ATTEND = "posinfo.encodings.attention.attend"
_TRACE = "the lesson's symbols, evaluated with the configured sizes"


def _shape(rows: Recorder, quantity: str, tensor: torch.Tensor, expected: list[int], **more: Any):
    rows.equals(
        f"shape of {quantity}",
        shape_text(tensor),
        str(expected),
        **{"evidence": "float32", "basis": _TRACE, **more},
    )


def _count(rows: Recorder, quantity: str, found: int, expected: int, *, subject: str, basis: str):
    rows.equals(quantity, found, expected, subject=subject, evidence="float32", basis=basis)


@SUITE.case("learned path, lesson B")
def learned_lesson_b(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Token rows, position rows and their sum, in the sizes of lesson B."""
    size = parameters["lesson_b"]
    batch, length, width = size["batch"], size["length"], size["width"]
    generator = torch.Generator().manual_seed(parameters["seed"])
    learned = LearnedPositions(parameters["max_position"], width, generator)
    table = learned.table.detach()
    tokens = draw((size["vocabulary"], width), parameters["seed"])
    ids = torch.randint(0, size["vocabulary"], (batch, length), generator=generator)
    flat = torch.arange(length)
    tiled = flat.expand(batch, length)
    _shape(rows, "the position table", table, [parameters["max_position"], width],
           subject=_LEARNED, step=0)  # fmt: skip
    _shape(rows, "E[token_ids]", tokens[ids], [batch, length, width],
           subject="torch tensor indexing", step=1)  # fmt: skip
    _shape(rows, "P[positions], positions of shape [T]", table[flat], [length, width],
           subject="torch tensor indexing", step=2, positions_shape="[T]")  # fmt: skip
    _shape(rows, "P[positions], positions of shape [B, T]", table[tiled], [batch, length, width],
           subject="torch tensor indexing", step=3, positions_shape="[B, T]")  # fmt: skip
    total = embed(tokens, table, ids, flat)
    heads = total.unflatten(-1, (size["heads"], -1))
    _shape(rows, "the sum, split into heads", heads,
           [batch, length, size["heads"], size["head_dim"]], subject="torch.unflatten",
           step=5)  # fmt: skip
    _shape(rows, "E[token_ids] + P[positions]", total, [batch, length, width],
           subject=_EMBED, step=4, positions_shape="[T]")  # fmt: skip
    rows.equals(
        "largest difference, positions [T] broadcast against [B, T] tiled",
        (total - embed(tokens, table, ids, tiled)).abs().max().item(),
        0.0,
        subject=_EMBED, evidence="float32", basis="the same additions: equal bit for bit",
    )  # fmt: skip


@SUITE.case("learned path, lesson A")
def learned_lesson_a(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The printed shape of lesson A, at the size of GPT-2 small."""
    size = parameters["gpt2"]
    batch, length, width = size["batch"], size["length"], size["width"]
    generator = torch.Generator().manual_seed(parameters["seed"])
    ids = torch.randint(0, size["vocabulary"], (batch, length), generator=generator)
    # Only the rows that are looked up need numbers; the others stay untouched memory.
    tokens = torch.zeros(size["vocabulary"], width)
    tokens[ids.flatten()] = draw((ids.numel(), width), parameters["seed"])
    learned = LearnedPositions(size["max_position"], width, generator)
    positions = torch.arange(length).unsqueeze(0)
    _shape(rows, "the position table", learned.table, [size["max_position"], width],
           subject=_LEARNED, step=0)  # fmt: skip
    _shape(rows, "the positions", positions, [1, length],
           subject="torch.arange", step=1, positions_shape="[1, T]")  # fmt: skip
    total = embed(tokens, learned.table, ids, positions)
    _shape(rows, "the sum", total, [batch, length, width],
           subject=_EMBED, step=2, positions_shape="[1, T]")  # fmt: skip
    expanded = embed(tokens, learned.table, ids, positions.expand(batch, length))
    rows.equals(
        "largest difference, positions [1, T] broadcast against [B, T] expanded",
        (total - expanded).abs().max().item(),
        0.0,
        subject=_EMBED, evidence="float32", basis="the same additions: equal bit for bit",
    )  # fmt: skip


@SUITE.case("parameters")
def parameters_case(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Parameters that training would adjust, and bytes that RoPE may cache instead."""
    small, gpt2 = parameters["lesson_b"], parameters["gpt2"]
    for name, rows_of_table, width in (
        ("the exercise", parameters["exercise_max_position"], small["width"]),
        ("GPT-2 small", gpt2["max_position"], gpt2["width"]),
    ):
        module = LearnedPositions(rows_of_table, width, torch.Generator())
        _count(
            rows, f"parameters of the learned table, {name}",
            sum(p.numel() for p in module.parameters()), rows_of_table * width,
            subject=_LEARNED, basis="max_position times d",
        )  # fmt: skip
    table = rotary.RotaryTable(
        small["head_dim"], parameters["exercise_max_position"], parameters["base"]
    )
    _count(
        rows, "parameters of RoPE", sum(p.numel() for p in table.parameters()), 0,
        subject="posinfo.encodings.rotary.RotaryTable",
        basis="a fixed formula has nothing to train",
    )  # fmt: skip
    _count(
        rows, "bytes of the cached rotations",
        table.rotations.numel() * table.rotations.element_size(),
        # A complex64 number is eight bytes, one for each position and pair.
        8 * parameters["exercise_max_position"] * small["head_dim"] // 2,
        subject="posinfo.encodings.rotary.RotaryTable", basis="eight bytes a position and pair",
    )  # fmt: skip


@SUITE.case("rotary path, lesson B")
def rotary_lesson_b(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The complex formulation, step by step, in the sizes of lesson B."""
    size = parameters["lesson_b"]
    batch, length, heads, dim = (size[name] for name in ("batch", "length", "heads", "head_dim"))
    cached = parameters["cached_positions"]
    q, k, v = (draw((batch, length, heads, dim), parameters["seed"] + n) for n in range(3))
    thetas = rotary.frequencies(dim, parameters["base"])
    rotations = rotary.unit_complex(rotary.angles(torch.arange(cached), thetas))
    here = rotations[:length]
    pairs = rotary.as_complex_pairs(q)
    broadcast = rotary.broadcast_over_heads(here, pairs)
    trace = {"evidence": "float32", "basis": _TRACE}
    for step, (name, tensor, expected, subject) in enumerate(
        (
            ("theta", thetas, [dim // 2], "posinfo.encodings.rotary.frequencies"),
            ("freqs_cis", rotations, [cached, dim // 2], "posinfo.encodings.rotary.unit_complex"),
            ("freqs_cis cut to T", here, [length, dim // 2], "torch slicing"),
            ("complex queries", pairs, [batch, length, heads, dim // 2],
             "posinfo.encodings.rotary.as_complex_pairs"),
            ("freqs_cis to broadcast", broadcast, [1, length, 1, dim // 2],
             "posinfo.encodings.rotary.broadcast_over_heads"),
            ("the flattened product", torch.view_as_real(pairs * broadcast).flatten(3),
             [batch, length, heads, dim], "torch.view_as_real"),
        )
    ):  # fmt: skip
        _shape(rows, name, tensor, expected, subject=subject, step=step)
    turned_q, turned_k = rotary.rotate_complex(q, k, here)
    full = [batch, length, heads, dim]
    _shape(rows, "Q after RoPE", turned_q, full, subject=_COMPLEX, step=6)
    _shape(rows, "K after RoPE", turned_k, full, subject=_COMPLEX, step=7)
    # Attention takes heads before positions.
    given = v.clone()
    output = attend(*(x.transpose(1, 2) for x in (turned_q, turned_k, v))).transpose(1, 2)
    _shape(rows, "the attention's output, V unrotated", output, full, subject=_ATTEND, step=8)
    rows.equals("type of freqs_cis", dtype_text(rotations), "complex64",
                subject="posinfo.encodings.rotary.unit_complex", **trace)  # fmt: skip
    rows.within(
        "modulus of freqs_cis, furthest from 1",
        rotations.abs().double().flatten()[
            (rotations.abs().double() - 1).abs().argmax()
        ].item(),
        1.0,
        bound=rounding.gamma(4),
        subject="posinfo.encodings.rotary.unit_complex",
        evidence="float32",
        basis="rounding analysis: cos and sin within one ulp each, and the modulus within one",
    )  # fmt: skip
    rows.equals(
        "largest change of V by the rotation and the attention",
        (v - given).abs().max().item(), 0.0,
        subject=_ATTEND, evidence="float32", basis="neither writes into V: equal bit for bit",
    )  # fmt: skip
    rows.equals(
        "largest difference, theta cut to d/2 entries as the lesson writes it",
        (thetas[: dim // 2] - thetas).abs().max().item(), 0.0,
        subject="torch slicing", evidence="float32", basis="there are d/2 entries already",
    )  # fmt: skip


@SUITE.case("V in attention")
def v_in_attention(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A token that can attend to itself alone returns its V: rotated or not is then visible."""
    size = parameters["lesson_b"]
    heads, dim = size["heads"], size["head_dim"]
    q, k, v = (draw((1, heads, 1, dim), parameters["seed"] + n) for n in range(3))
    position = torch.tensor([parameters["v_position"]])
    angle = rotary.angles(position, rotary.frequencies(dim, parameters["base"]))
    rotated_q, rotated_k = (rotary.rotate_adjacent(x, angle) for x in (q, k))
    rows.equals(
        "largest difference of the output and V, Q and K rotated",
        (attend(rotated_q, rotated_k, v) - v).abs().max().item(), 0.0,
        subject=_ATTEND, evidence="float32",
        basis="a single weight is exactly 1: equal bit for bit",
    )  # fmt: skip
    turned = attend(rotated_q, rotated_k, rotary.rotate_adjacent(v, angle))
    rows.exceeds(
        "largest difference of the output and V, V rotated too",
        (turned - v).abs().max().item(), 0.0,
        bound=1e-3 * v.norm().item(),
        subject="posinfo.encodings.rotary.rotate_adjacent", evidence="float32",
        basis="margin: a thousandth of the norm of V, thousands of times its rounding",
    )  # fmt: skip


@SUITE.case("rotary path, lesson A")
def rotary_lesson_a(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The even and odd formulation, in the sizes of lesson A and at GPT-2's head size."""
    size, gpt2 = parameters["lesson_a"], parameters["gpt2"]
    thetas = rotary.frequencies(size["head_dim"], parameters["base"])
    angles = rotary.angles(torch.arange(size["length"]), thetas)
    q = draw((size["length"], size["head_dim"]), parameters["seed"])
    _shape(rows, "the angles", angles, [size["length"], size["head_dim"] // 2],
           subject="posinfo.encodings.rotary.angles", step=0)  # fmt: skip
    _shape(rows, "the rotated queries", rotary.rotate_adjacent(q, angles),
           [size["length"], size["head_dim"]], subject=_ADJACENT, step=1)  # fmt: skip
    dim = gpt2["width"] // gpt2["heads"]
    wide = draw((gpt2["batch"], gpt2["heads"], gpt2["length"], dim), parameters["seed"])
    angles = rotary.angles(
        torch.arange(gpt2["length"]), rotary.frequencies(dim, parameters["base"])
    )
    _shape(rows, "rotated queries at GPT-2's head size", rotary.rotate_adjacent(wide, angles),
           [gpt2["batch"], gpt2["heads"], gpt2["length"], dim],
           subject=_ADJACENT, step=2)  # fmt: skip
