"""Faulty rotary embeddings: one thing wrong in each, built from the pieces of a right one.

The pieces are written here anew: a mistake in the library must not make its controls look wrong.
A right one is frequencies -> positions -> angles -> rotation, in adjacent pairs (2i, 2i+1), for
queries and keys alike. A fault replaces one piece. Half-split pairs have the same faults in another
order of the dimensions, so each stands here in adjacent pairs alone.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from posinfo.battery.catalogue import checks_of
from posinfo.battery.rotary import SEED, Rotary
from posinfo.encodings.rotary import rotate_complex
from posinfo.faults.base import Fault

Turn = Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor]]
Rotate = Callable[[Tensor, Tensor], Tensor]

#: Where a finite table ends, a window wraps, or a clamp holds.
END = 4096
#: How many times longer the context is that an extension left on was made for.
FACTOR = 8.0
#: What YaRN multiplies cos and sin by at that factor (arXiv 2309.00071, equation 22).
TEMPERATURE = 0.1 * math.log(FACTOR) + 1
#: Dimensions that the faults of a declared partial rotation rotate.
PARTIAL = 32


# --- the pieces of a right implementation ---------------------------------------------------------


def frequencies(dim: int, base: float) -> Tensor:
    """Frequencies base^(-2i/d) of the pairs, shape [d/2]."""
    return 1 / base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)


def angles(positions: Tensor, frequencies: Tensor) -> Tensor:
    """Angles in radians, shape [T, d/2]; positions are cast to the frequencies' precision."""
    return positions.to(frequencies.dtype)[:, None] * frequencies


def rotate_by(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn adjacent pairs of ``x`` [..., T, d] by angles of which cos and sin are given."""
    even, odd = x[..., ::2], x[..., 1::2]
    return _join(even * cos - odd * sin, even * sin + odd * cos, x)


def rotate_adjacent(x: Tensor, angles: Tensor) -> Tensor:
    """Turn adjacent pairs of ``x`` [..., T, d] by ``angles`` [T, d/2]."""
    return rotate_by(x, angles.cos(), angles.sin())


def rotate_half_split(x: Tensor, angles: Tensor) -> Tensor:
    """Turn half-split pairs of ``x`` [..., T, d] by ``angles`` [T, d/2]."""
    (first, second), cos, sin = x.chunk(2, dim=-1), angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1).to(x.dtype)


def _unchanged(x: Tensor) -> Tensor:
    return x


def _join(even: Tensor, odd: Tensor, x: Tensor) -> Tensor:
    """Pairs from their even and odd parts, in the precision of ``x``."""
    return torch.stack([even, odd], dim=-1).flatten(-2).to(x.dtype)


def _alike(rotate: Rotate) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Queries and keys by one rotation, as it should be."""
    return lambda q, k, angles: (rotate(q, angles), rotate(k, angles))


def _compose(
    frequencies: Callable[[int, float], Tensor] = frequencies,
    positions: Callable[[Tensor], Tensor] = _unchanged,
    angles: Callable[[Tensor, Tensor], Tensor] = angles,
    rotate: Rotate = rotate_adjacent,
    both: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]] | None = None,
) -> Turn:
    """An implementation from its pieces; ``both`` says how queries and keys are rotated."""
    apply = both or _alike(rotate)

    def turn(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
        return apply(q, k, angles(positions(at), frequencies(q.shape[-1], base)))

    return turn


# --- frequency ------------------------------------------------------------------------------------


def _by_exponent(exponent: Callable[[Tensor, int], Tensor]) -> Callable[[int, float], Tensor]:
    """Frequencies base^-exponent(i, d) of the pairs i."""

    def made(dim: int, base: float) -> Tensor:
        return 1 / base ** exponent(torch.arange(dim // 2, dtype=torch.float32), dim)

    return made


def _first_pairs_alone(dim: int, base: float) -> Tensor:
    return torch.where(torch.arange(dim // 2) < 32, frequencies(dim, base), 0.0)


def _ntk_base(dim: int, base: float) -> Tensor:
    return frequencies(dim, base * FACTOR ** (dim / (dim - 2)))


# --- position -------------------------------------------------------------------------------------


def _through(dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """Positions stored in a precision too coarse for them."""
    return lambda positions: positions.to(dtype).float()


def _counted(positions: Tensor, start: float | Tensor) -> Tensor:
    return start + torch.arange(len(positions))


def _angles_in_input_precision(q: Tensor, k: Tensor, at: Tensor, base: float):
    coarse = frequencies(q.shape[-1], base).to(q.dtype)
    return _alike(rotate_adjacent)(q, k, torch.outer(at.to(q.dtype), coarse))


def _queries_ahead(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    turn = _compose()
    return turn(q, k, at + 1, base)[0], turn(q, k, at, base)[1]


# --- pairing --------------------------------------------------------------------------------------


def _mixed_tables(x: Tensor, angles: Tensor) -> Tensor:
    """cos and sin in the order of half-split pairs, the rotation in adjacent ones."""
    cos, sin = (torch.cat([part, part], dim=-1) for part in (angles.cos(), angles.sin()))
    across = _join(-x[..., 1::2], x[..., ::2], x)
    return (x * cos + across * sin).to(x.dtype)


def _not_put_back(x: Tensor, angles: Tensor) -> Tensor:
    turned = rotate_adjacent(x, angles)
    return torch.cat([turned[..., ::2], turned[..., 1::2]], dim=-1)


def _pairs_across_head(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    still = torch.zeros(q.shape[-1] // 2 - PARTIAL // 2)
    theta = torch.cat([frequencies(PARTIAL, base), still])
    return _alike(rotate_half_split)(q, k, angles(at, theta))


# --- rotation -------------------------------------------------------------------------------------


def _by_pair(pair: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]) -> Rotate:
    """Rotate adjacent pairs by a function of (x, y, cos, sin), right or wrong."""

    def rotate(x: Tensor, angles: Tensor) -> Tensor:
        return _join(*pair(x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()), x)

    return rotate


def _clockwise(x, y, cos, sin):
    return x * cos + y * sin, y * cos - x * sin


def _reflected(x, y, cos, sin):
    return x * cos + y * sin, x * sin - y * cos


def _overwritten(x, y, cos, sin):
    x = x * cos - y * sin
    return x, x * sin + y * cos


def _swapped(x, y, cos, sin):
    return x * sin - y * cos, x * cos + y * sin


def _sine_missing(x, y, cos, sin):
    return x * cos - y * sin, y * cos


def _cosine_alone(x, y, cos, sin):
    return x * cos, y * cos


def _added(x: Tensor, angles: Tensor) -> Tensor:
    return (x + _join(angles.sin(), angles.cos(), angles)).to(x.dtype)


def _unpacked_by_halves(x: Tensor, angles: Tensor) -> Tensor:
    """A table that alternates sines and cosines, read as if the one came after the other."""
    sin, cos = _join(angles.sin(), angles.cos(), angles).chunk(2, dim=-1)
    return rotate_by(x, cos, sin)


def _twice(x: Tensor, angles: Tensor) -> Tensor:
    return rotate_adjacent(rotate_adjacent(x, angles), angles)


def _in_bfloat16(x: Tensor, angles: Tensor) -> Tensor:
    cos, sin = (part.bfloat16() for part in (angles.cos(), angles.sin()))
    return rotate_by(x, cos, sin)


# --- axis -----------------------------------------------------------------------------------------


def _along(axis: int) -> Rotate:
    """Angles laid along another axis than the sequence's, whenever its length fits."""

    def rotate(x: Tensor, angles: Tensor) -> Tensor:
        if x.ndim > 2 and x.shape[axis] == len(angles):
            shape = [1] * x.ndim
            shape[axis], shape[-1] = angles.shape
            return rotate_adjacent(x, angles.view(shape))
        return rotate_adjacent(x, angles)

    return rotate


# --- scaling --------------------------------------------------------------------------------------


def _warmer(x: Tensor, angles: Tensor) -> Tensor:
    return rotate_by(x, angles.cos() * TEMPERATURE, angles.sin() * TEMPERATURE)


def _dynamic_base(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    """The base follows the furthest position of the call, once beyond the trained length."""
    dim = q.shape[-1]
    stretch = max(float(at.max() + 1) / END, 1.0)
    grown = base * (2 * stretch - 1) ** (dim / (dim - 2))
    return _compose()(q, k, at, grown)


def _half_rotated(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    half = q.shape[-1] // 2
    turned = _compose()(q[..., :half], k[..., :half], at, base)
    return tuple(
        torch.cat([part, x[..., half:]], dim=-1) for part, x in zip(turned, (q, k), strict=True)
    )


def _exponent_over_head(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    turns = angles(at, frequencies(q.shape[-1], base)[: PARTIAL // 2])
    return tuple(
        torch.cat([rotate_adjacent(x[..., :PARTIAL], turns), x[..., PARTIAL:]], dim=-1)
        for x in (q, k)
    )


# --- caching --------------------------------------------------------------------------------------


def _first_base_kept() -> Turn:
    kept: dict[int, Tensor] = {}

    return _compose(lambda dim, base: kept.setdefault(dim, frequencies(dim, base)))


def _first_table_kept() -> Turn:
    last: list[Tensor] = []

    def positions(at: Tensor) -> Tensor:
        if not last:
            last.append(at.max())
        return at.clamp(max=last[0])

    return _compose(positions=positions)


def _kept_by_length() -> Turn:
    kept: dict[tuple[int, int, float], Tensor] = {}

    def turn(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
        key = (len(at), q.shape[-1], base)
        if key not in kept:
            kept[key] = angles(at, frequencies(q.shape[-1], base))
        return _alike(rotate_adjacent)(q, k, kept[key])

    return turn


def _keys_from_zero(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    turn = _compose()
    return turn(q, k, at, base)[0], turn(q, k, at - at[0], base)[1]


# --- dtype and side effects -----------------------------------------------------------------------


def _then(after: Callable[[Tensor], object]) -> Turn:
    """A right rotation, and something done to each result."""
    turn = _compose()
    return lambda q, k, at, base: tuple(after(part) for part in turn(q, k, at, base))


def _in_place(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    turned = _compose()(q, k, at, base)
    return q.copy_(turned[0]), k.copy_(turned[1])


def _positions_in_place(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    turned = _compose()(q, k, at, base)
    at += len(at)
    return turned


def _dropout_left_on() -> Turn:
    # A generator of its own: two runs draw alike, two calls do not.
    generator = torch.Generator().manual_seed(SEED)

    def drop(x: Tensor) -> Tensor:
        kept = torch.rand(x.shape, generator=generator, dtype=torch.float64) >= 0.1
        return (x * kept / 0.9).to(x.dtype)

    return _then(drop)


def _prints(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    print("q:", list(q.shape), "k:", list(k.shape))
    return _compose()(q, k, at, base)


def _ends(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
    if at.max() >= END:
        raise IndexError(f"index {int(at.max())} is out of bounds for dimension 0 with size {END}")
    return _compose()(q, k, at, base)


def _one_batch_shape(x: Tensor, angles: Tensor) -> Tensor:
    # The first axis, taken for the sequence's when the table was cut to length.
    return rotate_adjacent(x, angles[: x.shape[0]])


def _normalised(q: Tensor, k: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    unit = (q / q.norm(dim=-1, keepdim=True)).to(q.dtype)
    return rotate_adjacent(unit, angles), rotate_adjacent(k, angles)


# --- what rejects them ----------------------------------------------------------------------------

#: Every check that compares values; a fault in the angle at near positions fails them all.
_VALUES = (
    "near positions",
    "widths",
    "second base",
    "any order",
    "fractional positions",
    "far positions",
    "half precision",
)
#: Those that look beyond the trained length of 4,096, or between whole positions.
_BEYOND = ("fractional positions", "far positions", "half precision")
_NORM, _SCORES = "lesson B: norm", "lesson A: equal scores"
_TWO, _BY_VALUE = "exercise: two vectors", "exercise: values"


def _all_but(*accepting: str) -> tuple[str, ...]:
    return tuple(name for name in checks_of("rotary") if name not in accepting)


# --- the faults -----------------------------------------------------------------------------------


def _fault(
    name: str,
    stage: str,
    *,
    turn: Turn | None = None,
    fresh: Callable[[], Turn] | None = None,
    declared: Mapping[str, Any] | None = None,
    **told: Any,
) -> Fault:
    """A rotary fault from its function, or from what makes a fresh one where it keeps state."""

    def make() -> Rotary:
        return Rotary(name, turn or fresh(), **(declared or {}))

    return Fault(name, "rotary", stage, make=make, **told)


FAULTS: tuple[Fault, ...] = (
    _fault(
        "exponent without the two",
        "frequency",
        turn=_compose(_by_exponent(lambda i, d: i / d)),
        wrong="The exponent is i/d, not 2i/d: every pair but the first turns too fast.",
        seen="Proposed as a correction in rasbt/LLMs-from-scratch, issue 410.",
        hint=(
            "Pair i has the exponent 2i/d. With arange(0, d, 2) divide by d, with arange(d/2) "
            "by d/2."
        ),
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.frequency": lambda i, d, base: 1 / base ** (i / d)},
    ),
    _fault(
        "exponent over half the width",
        "frequency",
        turn=_compose(_by_exponent(lambda i, d: 4 * i / d)),
        wrong="The exponent is 2i/(d/2), not 2i/d: every pair but the first turns too slowly.",
        seen=(
            "Not seen in public; stands for halving d twice, once in the range and once in "
            "the divisor."
        ),
        hint="The divisor of 2i is the width of the head, not the number of its pairs.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.frequency": lambda i, d, base: 1 / base ** (4 * i / d)},
    ),
    _fault(
        "frequencies inverted",
        "frequency",
        turn=_compose(_by_exponent(lambda i, d: -2 * i / d)),
        wrong="The frequencies are base^(2i/d), not its reciprocal: they grow from pair to pair.",
        seen="xlite-dev/LeetCUDA, issue 289: a position divided by the frequency.",
        hint="Frequencies fall from 1: divide by base^(2i/d), or negate the exponent, not both.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "offset alone", "direction", "composition", _TWO, _BY_VALUE),
        replaces={"posinfo.encodings.rotary.frequency": lambda i, d, base: base ** (2 * i / d)},
    ),
    _fault(
        "frequencies in reverse order",
        "frequency",
        turn=_compose(lambda d, base: frequencies(d, base).flip(0)),
        wrong="The last pair turns fastest, not the first.",
        seen="Not seen in public; stands for tables that are filled from the wrong end.",
        hint="Pair 0 turns by one radian a position; the frequencies fall from there.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
    ),
    _fault(
        "base ignored",
        "frequency",
        turn=_compose(lambda d, _: frequencies(d, 10_000.0)),
        wrong="The base is 10,000 whatever base is asked for.",
        seen="NVIDIA/TransformerEngine, issue 849; sgl-project/SpecForge, issue 265.",
        hint="Pass the base on to where the frequencies are computed: Llama 3 has 500,000.",
        caught_by="second base",
        rejected_by=("second base", "no memory"),
        replaces={
            "posinfo.encodings.rotary.frequency": lambda i, d, _: 1 / 10_000.0 ** (2 * i / d)
        },
    ),
    _fault(
        "width fixed at 128 in the exponent",
        "frequency",
        turn=_compose(_by_exponent(lambda i, _: 2 * i / 128)),
        wrong="The exponent is 2i/128 at every width of a head.",
        seen=(
            "The like in huggingface/transformers, pull request 32495: the width from other "
            "settings than the head's."
        ),
        hint="Take the width from the tensor that is rotated.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={
            "posinfo.encodings.rotary.frequency": lambda i, d, base: 1 / base ** (2 * i / 128)
        },
    ),
    _fault(
        "first frequency left out",
        "frequency",
        turn=_compose(_by_exponent(lambda i, d: 2 * (i + 1) / d)),
        wrong="Pairs are counted from 1: the first turns by base^(-2/d), not by 1.",
        seen=(
            "The like in stanford-cs336/assignment1-basics, issue 22: a formula counted from "
            "1 with the exponent (2k-1)/d."
        ),
        hint=(
            "Formulas that count pairs from 1 have the exponent 2(i-1)/d. Check that pair 0 "
            "turns by 1 radian."
        ),
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={
            "posinfo.encodings.rotary.frequency": lambda i, d, base: 1 / base ** (2 * (i + 1) / d)
        },
    ),
    _fault(
        "angles in degrees",
        "frequency",
        turn=_compose(angles=lambda at, theta: torch.rad2deg(angles(at, theta))),
        wrong="cos and sin, which take radians, are given degrees.",
        seen="Asked about in ggml-org/llama.cpp, issue 1234: whether a factor with pi is missing.",
        hint="Position times frequency is in radians already.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "offset alone", "direction", "composition", _TWO, _BY_VALUE),
        replaces={
            "posinfo.encodings.rotary.angles": lambda at, theta: torch.rad2deg(angles(at, theta))
        },
    ),
    _fault(
        "one frequency for all pairs",
        "frequency",
        turn=_compose(_by_exponent(lambda i, _: 0 * i)),
        wrong="Every pair turns by one radian a position.",
        seen=(
            "Not seen in public; stands for a frequency that lost its dependence on the pair, "
            "as in broadcasting one entry."
        ),
        hint="Give each pair its own frequency: the table of angles has one column a pair.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.frequency": lambda i, d, base: 1 / base ** (0 * i)},
    ),
    _fault(
        "frequencies in bfloat16",
        "frequency",
        turn=_compose(lambda d, base: frequencies(d, base).bfloat16().float()),
        wrong=(
            "Frequencies are rounded to bfloat16 before they meet the position: the error "
            "grows with it."
        ),
        seen="sgl-project/sglang-jax, issue 1472; huggingface/transformers, issue 25681.",
        hint=(
            "Keep the frequencies in float32, also when the model is cast: a buffer is cast "
            "with it."
        ),
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
    ),
    _fault(
        "exponent over the head in a partial rotation",
        "frequency",
        turn=_exponent_over_head,
        declared={"rotary_dim": PARTIAL},
        wrong=(
            "A declared part of the head is rotated, but the exponent divides by the whole "
            "head's width."
        ),
        seen="pie-project/pie, pull request 603.",
        hint="Divide by the number of dimensions that are rotated.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "offset alone", "direction", _BY_VALUE),
    ),
    _fault(
        "pairs beyond the 32nd left still",
        "frequency",
        turn=_compose(_first_pairs_alone),
        wrong="From pair 32 on nothing turns: at a width of 64 all is well, at 128 half is not.",
        seen="Not seen in public; stands for a kernel or table made for a narrower head.",
        hint="Check the rotation at the width that your model has.",
        caught_by="widths",
        rejected_by=("widths", "far positions", "no memory", "half precision"),
    ),
    _fault(
        "positions start at one",
        "position",
        turn=_compose(positions=lambda at: at + 1),
        wrong="Every position is one too far, so that position 0 is rotated.",
        seen=(
            "Not seen in public; stands for counting from 1; scores between queries and keys "
            "do not show it."
        ),
        hint="Position 0 leaves queries and keys as they are.",
        caught_by="position zero",
        rejected_by=(*_VALUES, "position zero", "composition"),
        replaces={"posinfo.encodings.rotary.angles": lambda at, theta: angles(at + 1, theta)},
    ),
    _fault(
        "queries one position ahead",
        "position",
        turn=_queries_ahead,
        wrong="Queries are rotated by one position more than keys of the same place.",
        seen=(
            "sgl-project/sglang, pull request 25015: positions advanced before the step that "
            "used them."
        ),
        hint=(
            "Advance the position after the step, or use one set of positions for queries and keys."
        ),
        caught_by="q and k alike",
        rejected_by=(
            *_VALUES,
            "position zero",
            "direction",
            "composition",
            "q and k alike",
            _BY_VALUE,
        ),
    ),
    _fault(
        "positions in bfloat16",
        "position",
        turn=_compose(positions=_through(torch.bfloat16)),
        wrong="Positions are rounded to bfloat16, in which 257 is 256.",
        seen="EleutherAI/gpt-neox, pull request 1016; huggingface/candle, pull request 3520.",
        hint="Make positions and frequencies in float32, whatever the model's precision.",
        caught_by="far positions",
        rejected_by=(*_BEYOND, "offset alone"),
        replaces={
            "posinfo.encodings.rotary.angles": lambda at, theta: angles(
                at.bfloat16().float(), theta
            )
        },
    ),
    _fault(
        "positions in float16",
        "position",
        turn=_compose(positions=_through(torch.float16)),
        wrong=(
            "Positions are rounded to float16: odd ones are lost from 2,049, and all beyond 65,504."
        ),
        seen="NVIDIA/Megatron-LM, issue 535.",
        hint="Make positions and frequencies in float32, whatever the model's precision.",
        caught_by="far positions",
        rejected_by=(*_BEYOND, "table end", "offset alone"),
        replaces={
            "posinfo.encodings.rotary.angles": lambda at, theta: angles(at.half().float(), theta)
        },
    ),
    _fault(
        "positions clamped at 4,096",
        "position",
        turn=_compose(positions=lambda at: at.clamp(max=END - 1)),
        wrong="Positions from 4,096 on are all taken as 4,095.",
        seen="Not seen in public; stands for an index kept inside a table in place of an error.",
        hint="Compute angles at any position, or refuse positions that the table lacks.",
        caught_by="far positions",
        rejected_by=(*_BEYOND, "offset alone"),
        replaces={
            "posinfo.encodings.rotary.angles": lambda at, theta: angles(
                at.clamp(max=END - 1), theta
            )
        },
    ),
    _fault(
        "positions wrapped at 4,096",
        "position",
        turn=_compose(positions=lambda at: at % END),
        wrong="Position 4,096 is taken as 0: positions run round a window.",
        seen="Not seen in public; stands for the index into a ring buffer used as the position.",
        hint="Keep the position of a token apart from its place in a buffer.",
        caught_by="far positions",
        rejected_by=("far positions", "half precision"),
        replaces={"posinfo.encodings.rotary.angles": lambda at, theta: angles(at % END, theta)},
    ),
    _fault(
        "positions ignored",
        "position",
        turn=_compose(positions=lambda at: _counted(at, 0)),
        wrong="Positions 0 to T - 1 are used whatever positions are given.",
        seen="NVIDIA/Megatron-LM, issue 453.",
        hint=(
            "Index the angles by the positions given: packed and cached sequences do not "
            "start at 0."
        ),
        caught_by="positions count",
        rejected_by=(
            *_BEYOND,
            "positions count",
            "position zero",
            "whole width",
            "pairing",
            "any order",
            "direction",
            "composition",
            "no memory",
            _BY_VALUE,
        ),
        replaces={
            "posinfo.encodings.rotary.angles": lambda at, theta: angles(_counted(at, 0), theta)
        },
    ),
    _fault(
        "fractions cut off",
        "position",
        turn=_compose(positions=torch.trunc),
        wrong="Positions between whole ones are cut to whole ones.",
        seen=(
            "Not seen in public; stands for casting positions to integers, to which position "
            "interpolation then rounds."
        ),
        hint="Keep positions in floats, or refuse fractions.",
        caught_by="fractional positions",
        rejected_by=("fractional positions",),
        replaces={
            "posinfo.encodings.rotary.angles": lambda at, theta: angles(torch.trunc(at), theta)
        },
    ),
    _fault(
        "positions taken as contiguous",
        "position",
        turn=_compose(positions=lambda at: _counted(at, at[0])),
        wrong="Only the first position is read; the others are counted on from it.",
        seen=(
            "pytorch/executorch, pull request 2010, slices from a start; "
            "huggingface/transformers, issue 22161, is what padding makes of it."
        ),
        hint="Index the angles by every position: padding, packing and eviction leave gaps.",
        caught_by="any order",
        rejected_by=(*_BEYOND, "position zero", "any order", "composition"),
        replaces={
            "posinfo.encodings.rotary.angles": lambda at, theta: angles(_counted(at, at[0]), theta)
        },
    ),
    _fault(
        "positions sorted",
        "position",
        turn=_compose(positions=lambda at: at.sort().values),
        wrong="Positions are sorted before use, so that unordered rows get each other's angles.",
        seen=(
            "Not seen in public; stands for code that sorts or removes duplicates to look "
            "positions up."
        ),
        hint="Row t is rotated by position t, in whichever order positions come.",
        caught_by="any order",
        rejected_by=("any order",),
    ),
    _fault(
        "angles in the input's precision",
        "position",
        turn=_angles_in_input_precision,
        wrong=(
            "Positions and frequencies are cast to the input's precision before they are "
            "multiplied."
        ),
        seen=(
            "EleutherAI/gpt-neox, issue 1003; huggingface/transformers, pull request 29285; "
            "Modalities/modalities, pull request 462."
        ),
        hint="Compute angles, cos and sin in float32 and cast the result.",
        caught_by="half precision",
        rejected_by=("half precision",),
    ),
    _fault(
        "half-split tables on adjacent pairs",
        "pairing",
        turn=_compose(rotate=_mixed_tables),
        wrong=(
            "cos and sin are in half-split order, the rotation in adjacent pairs: the two of "
            "a pair turn differently."
        ),
        seen=(
            "raiyanyahya/how-to-train-your-gpt, issue 6; facebookresearch/vjepa2, pull "
            "request 15; Tongjilibo/bert4torch, issue 1."
        ),
        hint="repeat_interleave(2) goes with adjacent pairs, cat([a, a]) with half-split ones.",
        caught_by="pair norms",
        rejected_by=(
            *_VALUES,
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
    ),
    _fault(
        "queries adjacent, keys half-split",
        "pairing",
        turn=_compose(both=lambda q, k, a: (rotate_adjacent(q, a), rotate_half_split(k, a))),
        wrong="Queries are rotated in one layout and keys in the other.",
        seen=(
            "The like in vllm-project/vllm-ascend, issue 12765: one of two paths ignores the "
            "layout."
        ),
        hint="Use one layout; weights of the other need their rows reordered once.",
        caught_by="q and k alike",
        rejected_by=(
            *_VALUES,
            "pair norms",
            "offset alone",
            "direction",
            "q and k alike",
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
    ),
    _fault(
        "pairs of a partial rotation across the head",
        "pairing",
        turn=_pairs_across_head,
        declared={"rotary_dim": PARTIAL},
        wrong="A declared part of the head is rotated in pairs (i, i + d/2) of the whole head.",
        seen=(
            "labscommunity/cascadia, pull request 69; apple/coreai-models, issue 66, has the "
            "two mixed up the other way."
        ),
        hint="Cut off the part that is rotated first, and split that in halves.",
        caught_by="whole width",
        rejected_by=(*_VALUES, "whole width", "pairing", "pair norms", "direction", _BY_VALUE),
    ),
    _fault(
        "pairs not put back",
        "pairing",
        turn=_compose(rotate=_not_put_back),
        wrong="Even dimensions come out before odd ones instead of in turn with them.",
        seen="vllm-project/vllm-metal, pull request 44.",
        hint=(
            "Stack the two parts in a last axis and flatten it, where they came from x[..., "
            "::2] and x[..., 1::2]."
        ),
        caught_by="position zero",
        rejected_by=(*_VALUES, "position zero", "pairing", "pair norms", "composition"),
        replaces={"posinfo.encodings.rotary.rotate_adjacent": _not_put_back},
    ),
    _fault(
        "angle of the wrong sign",
        "rotation",
        turn=_compose(rotate=_by_pair(_clockwise)),
        wrong="Pairs turn clockwise, by minus the angle.",
        seen=(
            "karpathy/nanochat, pull request 489: kept on purpose, since scores differ in "
            "their direction alone."
        ),
        hint=(
            "(x, y) goes to (x cos - y sin, x sin + y cos). Weights trained with one sign "
            "need that sign."
        ),
        caught_by="direction",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.rotate_pair": _clockwise},
    ),
    _fault(
        "reflection",
        "rotation",
        turn=_compose(rotate=_by_pair(_reflected)),
        wrong="Pairs are mirrored instead of turned: norms and scores at equal offsets seem right.",
        seen=(
            "Not seen in public; stands for two signs that changed places; a mirror keeps "
            "norms as a rotation does."
        ),
        hint="The minus stands at y sin in the first line alone.",
        caught_by="position zero",
        rejected_by=(*_VALUES, "position zero", "direction", "composition", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.rotate_pair": _reflected},
    ),
    _fault(
        "first component overwritten",
        "rotation",
        turn=_compose(rotate=_by_pair(_overwritten)),
        wrong="The second component is computed from the first one after that was overwritten.",
        seen=(
            "flagos-ai/FlagGems, issue 5142, reports it as possible: a load after a store of "
            "the other half."
        ),
        hint="Compute both components before either is stored.",
        caught_by="pair norms",
        rejected_by=(
            *_VALUES,
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
        replaces={"posinfo.encodings.rotary.rotate_pair": _overwritten},
    ),
    _fault(
        "applied twice",
        "rotation",
        turn=_compose(rotate=_twice),
        wrong="The rotation is applied twice, so by twice the angle.",
        seen="NeuraLegion/shainet, pull request 110: keys rotated again when they leave the cache.",
        hint="Rotate once, before keys enter the cache or after they leave it.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.rotate_adjacent": _twice},
    ),
    _fault(
        "queries alone rotated",
        "rotation",
        turn=_compose(both=lambda q, k, a: (rotate_adjacent(q, a), k)),
        wrong="Keys come back as they were.",
        seen="sgl-project/sglang, pull request 19636: rotated keys were not written back.",
        hint="Rotate keys as well, and use what comes back.",
        caught_by="q and k alike",
        rejected_by=(
            *_VALUES,
            "positions count",
            "offset alone",
            "direction",
            "q and k alike",
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
        replaces={
            "posinfo.encodings.rotary.rotate_complex": lambda q, k, r: (
                rotate_complex(q, k, r)[0],
                k,
            )
        },
    ),
    _fault(
        "keys turned the other way",
        "rotation",
        turn=_compose(both=lambda q, k, a: (rotate_adjacent(q, a), rotate_adjacent(k, -a))),
        wrong="Keys turn by minus the angle: scores depend on the sum of the positions.",
        seen="Not seen in public; stands for a conjugate taken once too often.",
        hint="The dot product conjugates by itself: turn queries and keys alike.",
        caught_by="q and k alike",
        rejected_by=(
            *_VALUES,
            "offset alone",
            "direction",
            "q and k alike",
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
        replaces={
            "posinfo.encodings.rotary.rotate_complex": lambda q, k, r: (
                rotate_complex(q, k, r)[0],
                rotate_complex(q, k, r.conj())[1],
            )
        },
    ),
    _fault(
        "sine and cosine swapped",
        "rotation",
        turn=_compose(rotate=_by_pair(_swapped)),
        wrong=(
            "sin stands where cos should and cos where sin should: a turn by 90 degrees minus "
            "the angle."
        ),
        seen="Not seen in public; stands for two results that are unpacked in the wrong order.",
        hint="At position 0 cos is 1 and sin is 0, and nothing moves.",
        caught_by="position zero",
        rejected_by=(*_VALUES, "position zero", "direction", "composition", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.rotate_pair": _swapped},
    ),
    _fault(
        "sines and cosines unpacked by halves",
        "rotation",
        turn=_compose(rotate=_unpacked_by_halves),
        wrong="A table that alternates sines and cosines is read as one half of each.",
        seen="NVIDIA/ngpt, issue 10.",
        hint=(
            "Read a table as it was written: in turns with [..., ::2] and [..., 1::2], or by "
            "halves."
        ),
        caught_by="position zero",
        rejected_by=(
            *_VALUES,
            "position zero",
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
    ),
    _fault(
        "one sine term missing",
        "rotation",
        turn=_compose(rotate=_by_pair(_sine_missing)),
        wrong="The second component lacks x sin.",
        seen="Not seen in public; stands for a term that is lost when the rotation is written out.",
        hint="Both components mix: x cos - y sin, and x sin + y cos.",
        caught_by="pair norms",
        rejected_by=(
            *_VALUES,
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
        replaces={"posinfo.encodings.rotary.rotate_pair": _sine_missing},
    ),
    _fault(
        "cosine alone",
        "rotation",
        turn=_compose(rotate=_by_pair(_cosine_alone)),
        wrong="Every dimension is multiplied by the cosine and mixes with none.",
        seen="vllm-project/vllm-ascend, issue 12723: sines read from beyond their table.",
        hint=(
            "Check that sin is not 0 at position 1, and that it is read from where it was written."
        ),
        caught_by="pairing",
        rejected_by=(
            *_VALUES,
            "pairing",
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
        replaces={"posinfo.encodings.rotary.rotate_pair": _cosine_alone},
    ),
    _fault(
        "code added instead of turned",
        "rotation",
        turn=_compose(rotate=_added),
        wrong="A code of sines and cosines is added to queries and keys, as to embeddings.",
        seen=(
            "Not seen in public; stands for the two uses of one table: added in arXiv "
            "1706.03762, multiplied in arXiv 2104.09864."
        ),
        hint="Rotary codes multiply: turn each pair by its angle.",
        caught_by="linear",
        rejected_by=(
            *_VALUES,
            "position zero",
            "pairing",
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            "linear",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
        replaces={"posinfo.encodings.rotary.rotate_adjacent": _added},
    ),
    _fault(
        "positions along the heads when they fit",
        "axis",
        turn=_compose(rotate=_along(-3)),
        wrong="With as many heads as positions, each head gets one position's angles.",
        seen=(
            "facebookresearch/xformers, issue 841; mlfoundations/open_lm, issue 4; Om- "
            "Alve/smolGPT, issue 22."
        ),
        hint="Put the angles along the sequence by name or by view, not by whatever broadcasts.",
        caught_by="batch shapes",
        rejected_by=("batch shapes",),
        replaces={"posinfo.encodings.rotary.rotate_adjacent": _along(-3)},
    ),
    _fault(
        "batch taken for positions",
        "axis",
        turn=_compose(rotate=_along(0)),
        wrong="With as many sequences as positions, each sequence gets one position's angles.",
        seen=(
            "kroggen/tokenformer-minimal, issue 1; "
            "labmlai/annotated_deep_learning_paper_implementations, issue 215."
        ),
        hint="Read the length from the axis of the sequence, not from the first one.",
        caught_by="batch shapes",
        rejected_by=("batch shapes",),
    ),
    _fault(
        "one row for all positions",
        "axis",
        turn=_compose(rotate=lambda x, a: rotate_adjacent(x, a[:1])),
        wrong="All rows get the first row's angles, which broadcast without an error.",
        seen="Not seen in public; stands for a table of one row that broadcasts over the sequence.",
        hint="Check that the angles have one row a position.",
        caught_by="near positions",
        rejected_by=_VALUES,
        replaces={
            "posinfo.encodings.rotary.rotate_adjacent": lambda x, a: rotate_adjacent(x, a[:1])
        },
    ),
    _fault(
        "temperature left on",
        "scaling",
        turn=_compose(rotate=_warmer),
        wrong="cos and sin carry YaRN's attention factor though nothing is extended.",
        seen="pytorch/torchtitan, pull request 3787: the factor stood in the table of cos and sin.",
        hint="Multiply cos and sin by the attention factor with the extension only.",
        caught_by="pair norms",
        rejected_by=(
            *_VALUES,
            "position zero",
            "pair norms",
            "direction",
            "composition",
            _NORM,
            _BY_VALUE,
        ),
        replaces={"posinfo.encodings.rotary.rotate_adjacent": _warmer},
    ),
    _fault(
        "interpolation left on",
        "scaling",
        turn=_compose(positions=lambda at: at / FACTOR),
        wrong="Positions are divided by 8 as for a longer context, though nothing is extended.",
        seen="Not seen in public; stands for a factor of arXiv 2306.15595 that stays in a config.",
        hint="Divide positions by the factor with the extension only.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
        replaces={"posinfo.encodings.rotary.angles": lambda at, theta: angles(at / FACTOR, theta)},
    ),
    _fault(
        "base of an extension left on",
        "scaling",
        turn=_compose(_ntk_base),
        wrong="The base is raised as for an NTK-aware extension by 8, though nothing is extended.",
        seen=(
            "The like in vllm-project/vllm, issue 52665: a cache scaled though the length "
            "served is shorter than trained."
        ),
        hint="Raise the base with the extension only.",
        caught_by="near positions",
        rejected_by=(*_VALUES, "direction", _BY_VALUE),
    ),
    _fault(
        "base follows the call's length",
        "scaling",
        turn=_dynamic_base,
        wrong=(
            "Beyond 4,096 the base grows with the furthest position of the call: keys of "
            "other calls keep theirs."
        ),
        seen="huggingface/transformers, issue 25104.",
        hint="Fix the base for a sequence, or rotate cached keys anew with the present one.",
        caught_by="offset alone",
        rejected_by=(*_BEYOND, "offset alone"),
    ),
    _fault(
        "half of the width rotated",
        "scaling",
        turn=_half_rotated,
        wrong="Only the first half of the dimensions is rotated, and nothing says so.",
        seen="lucidrains/x-transformers, issue 40, does so by default.",
        hint="Rotate the whole width, or declare the partial rotation.",
        caught_by="whole width",
        rejected_by=(*_VALUES, "whole width", "pairing", "direction", _BY_VALUE),
    ),
    _fault(
        "table of the first base kept",
        "caching",
        fresh=_first_base_kept,
        wrong="Frequencies are computed once for a width, and another base gets the first one's.",
        seen="Not seen in public; stands for a cache whose key lacks what the values depend on.",
        hint="Put the base into the key of the cache.",
        caught_by="no memory",
        rejected_by=("second base", "no memory"),
    ),
    _fault(
        "last row of the first table repeated",
        "caching",
        fresh=_first_table_kept,
        wrong=(
            "The table is as long as the first call needs; later positions beyond it get its "
            "last row."
        ),
        seen=(
            "The like in vllm-project/vllm, pull request 55910, where a table too short for "
            "its use raises."
        ),
        hint="Make the table longer when a position lies beyond it.",
        caught_by="no memory",
        rejected_by=(
            "near positions",
            "widths",
            "second base",
            "any order",
            "far positions",
            "offset alone",
            "direction",
            "composition",
            "no memory",
            "half precision",
            _BY_VALUE,
        ),
    ),
    _fault(
        "table kept by length alone",
        "caching",
        fresh=_kept_by_length,
        wrong="Angles are cached by the number of positions: other positions get the first ones'.",
        seen="lucidrains/rotary-embedding-torch, issue 11.",
        hint="Put the offset, or the positions, into the key of the cache.",
        caught_by="no memory",
        rejected_by=("positions count", "direction", "composition", "no memory", _BY_VALUE),
    ),
    _fault(
        "key positions start at zero",
        "caching",
        turn=_keys_from_zero,
        wrong="Keys are counted from 0 in each call: the offset of the cache is missing.",
        seen="RobertCsordas/moeut, pull request 6, with queries in place of keys.",
        hint="Add the length of the cache to the positions of new keys, as to those of queries.",
        caught_by="q and k alike",
        rejected_by=(
            "positions count",
            "any order",
            "fractional positions",
            "far positions",
            "offset alone",
            "direction",
            "q and k alike",
            "no memory",
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
    ),
    _fault(
        "float64 result",
        "dtype",
        turn=_then(lambda x: x.double()),
        wrong="The result is float64 for float32 inputs.",
        seen=(
            "The like in lucidrains/rotary-embedding-torch, pull request 9: float32 from bfloat16."
        ),
        hint="Cast the result to the input's precision.",
        caught_by="dtype",
        rejected_by=("dtype",),
    ),
    _fault(
        "float16 result",
        "dtype",
        turn=_then(lambda x: x.half()),
        wrong="The result is float16 for float32 inputs.",
        seen="Not seen in public; stands for a table whose precision decides the result's.",
        hint="Cast the result to the input's precision, and compute in the finer of the two.",
        caught_by="dtype",
        rejected_by=(
            "dtype",
            "position zero",
            "near positions",
            "widths",
            "second base",
            "any order",
            "fractional positions",
            "far positions",
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            "linear",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
    ),
    _fault(
        "cos and sin in bfloat16",
        "dtype",
        turn=_compose(rotate=_in_bfloat16),
        wrong="cos and sin are rounded to bfloat16 also for float32 inputs.",
        seen=(
            "KellerJordan/modded-nanogpt, issue 39; flashinfer-ai/flashinfer, pull request "
            "585, for float16."
        ),
        hint="Keep cos and sin in float32, or at least in the input's precision.",
        caught_by="pair norms",
        rejected_by=(
            *_VALUES,
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
        replaces={"posinfo.encodings.rotary.rotate_adjacent": _in_bfloat16},
    ),
    _fault(
        "input changed in place",
        "side effect",
        turn=_in_place,
        wrong="Results are written over the queries and keys that were given.",
        seen=(
            "lucidrains/rotary-embedding-torch, pull request 31; InternLM/InternEvo, pull "
            "request 123."
        ),
        hint="Write into a new tensor: callers may need the unrotated one.",
        caught_by="input untouched",
        rejected_by=("input untouched",),
    ),
    _fault(
        "positions changed in place",
        "side effect",
        turn=_positions_in_place,
        wrong="The positions that were given are moved on by the length of the call.",
        seen=(
            "The like in sgl-project/sglang, pull request 25015: positions.add_(1) on a "
            "shared tensor."
        ),
        hint="Compute new positions instead of adding to those of the caller.",
        caught_by="input untouched",
        rejected_by=("input untouched",),
    ),
    _fault(
        "not deterministic",
        "side effect",
        fresh=_dropout_left_on,
        wrong="Dropout acts on the result: two calls differ.",
        seen="Not seen in public; stands for randomness left on outside training.",
        hint="Take the randomness out, or switch it off outside training.",
        caught_by="repeatable",
        rejected_by=(
            *_VALUES,
            "dtype",
            "repeatable",
            "position zero",
            "pair norms",
            "offset alone",
            "direction",
            "composition",
            "linear",
            "batch shapes",
            "q and k alike",
            _NORM,
            _SCORES,
            _TWO,
            _BY_VALUE,
        ),
    ),
    _fault(
        "prints",
        "side effect",
        turn=_prints,
        wrong="The shapes are printed at each call.",
        seen="Not seen in public; stands for output of debugging that was left in.",
        hint="Remove the print.",
        caught_by="prints nothing",
        rejected_by=("prints nothing",),
    ),
    _fault(
        "returns None",
        "side effect",
        turn=lambda q, k, at, base: None,
        wrong="Nothing is returned.",
        seen="Not seen in public; stands for a missing return.",
        hint="Return the rotated queries and keys.",
        caught_by="runs",
        rejected_by=_all_but("fractional positions", "half precision"),
    ),
    _fault(
        "pairs left apart",
        "side effect",
        turn=_then(lambda x: x.unflatten(-1, (-1, 2))),
        wrong="Pairs keep an axis of their own: the result is [..., d/2, 2].",
        seen="Not seen in public; stands for a missing flatten after torch.stack.",
        hint="Flatten the last two axes.",
        caught_by="shape",
        rejected_by=_all_but("runs", "input untouched", "fractional positions", "half precision"),
    ),
    _fault(
        "table ends at 4,096",
        "side effect",
        turn=_ends,
        wrong="Positions from 4,096 on raise, and nothing says so beforehand.",
        seen="vllm-project/vllm, pull request 55910; vllm-project/vllm-ascend, pull request 1266.",
        hint="Make the table longer on demand, or declare where it ends.",
        caught_by="table end",
        rejected_by=("table end",),
    ),
    _fault(
        "works for one batch shape",
        "side effect",
        turn=_compose(rotate=_one_batch_shape),
        wrong="The table is cut to the length of the first axis, so that [T, d] alone works.",
        seen="labmlai/annotated_deep_learning_paper_implementations, issue 244.",
        hint="Read the length from the axis of the sequence.",
        caught_by="batch shapes",
        rejected_by=("shape", "input untouched", "batch shapes", "lesson B: shape", _NORM),
    ),
    _fault(
        "queries normalised",
        "side effect",
        turn=_compose(both=_normalised),
        wrong="Queries are brought to length 1 before they are rotated.",
        seen=(
            "Not seen in public; stands for a normalisation that is done inside the rotation "
            "and not beside it."
        ),
        hint="Normalise outside the rotation, where a reader sees it.",
        caught_by="linear",
        rejected_by=(
            *_VALUES,
            "position zero",
            "pair norms",
            "direction",
            "linear",
            "q and k alike",
            _NORM,
            _BY_VALUE,
        ),
    ),
)
