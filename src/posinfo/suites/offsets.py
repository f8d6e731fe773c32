"""What a score depends on, and what happens at positions that a table does not have."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import torch
from torch import Tensor

from posinfo.encodings import rotary
from posinfo.reference import rotary as reference
from posinfo.reference import rounding
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import Comparison, draw, shape_text

SUITE = Suite(
    "offsets",
    "Scores by offset, shifts of both positions, and positions past a table",
    columns=("head_dim", "base", "position", "offset", "shift", "vectors", "api"),
)

_ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
_BASIS = "rounding analysis: both angles, both rotations and the sum, at these positions"
_LARGEST_EXACT = 2**24


def score(q: Tensor, k: Tensor, i: int, j: int, base: float) -> Comparison:
    """Rotate ``q`` to position i and ``k`` to position j in float32, and take their dot product.

    Parameters
    ----------
    q, k
        Shape [d], float32.
    i, j
        Positions, at most 2^24 in size: float32 must hold them exactly.

    Raises
    ------
    ValueError
        If a position is larger.
    """
    dim = q.shape[0]
    if max(abs(i), abs(j)) > _LARGEST_EXACT:
        raise ValueError(f"float32 does not hold every position up to {max(abs(i), abs(j))}")
    thetas = rotary.frequencies(dim, base)
    turned = [
        rotary.rotate_adjacent(x.unsqueeze(0), rotary.angles(torch.tensor([position]), thetas))
        for x, position in ((q, i), (k, j))
    ]
    exact_thetas = reference.frequencies(dim, base)
    pair_products = [x.double().unflatten(0, (-1, 2)).norm(dim=-1) for x in (q, k)]
    bound = rounding.score(
        (pair_products[0] * pair_products[1]).tolist(),
        [float(theta) for theta in exact_thetas],
        (i, j),
        rounding.frequency(dim, base),
    )
    exact = reference.score(q.tolist(), k.tolist(), i - j, exact_thetas)
    return Comparison(pairwise_dot(*turned).item(), float(exact), bound)


def pairwise_dot(a: Tensor, b: Tensor) -> Tensor:
    """Dot product over the last dimension, added pairwise: one order on every processor.

    Its rounding grows with log2 of the width, where a sum in an unknown order may grow with
    the width itself. The width is filled up with zeros, which change nothing.
    """
    terms = a * b
    width = 1 << (terms.shape[-1] - 1).bit_length()
    terms = torch.nn.functional.pad(terms, (0, width - terms.shape[-1]))
    while terms.shape[-1] > 1:
        terms = terms[..., ::2] + terms[..., 1::2]
    return terms[..., 0]


def _vectors(dim: int, seed: int) -> tuple[Tensor, Tensor]:
    """A query and a key that are not the same vector."""
    return draw((dim,), seed), draw((dim,), seed + 1)


@SUITE.case("arbitrary precision")
def arbitrary_precision(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Two rotations and a dot product in 50 digits, against the formula of the offset alone."""
    base, offset = parameters["base"], parameters["offset"]
    for dim in parameters["head_dims"]:
        q, k = (x.tolist() for x in _vectors(dim, parameters["seed"]))
        thetas = reference.frequencies(dim, base)
        products = [
            math.hypot(*q[2 * pair : 2 * pair + 2]) * math.hypot(*k[2 * pair : 2 * pair + 2])
            for pair in range(dim // 2)
        ]
        expected = reference.score(q, k, offset, thetas)
        for shift in parameters["shifts"]:
            turned = [
                [
                    part
                    for pair, theta in enumerate(thetas)
                    for part in reference.turned(
                        x[2 * pair], x[2 * pair + 1], reference.angle(position, theta)
                    )
                ]
                for x, position in ((q, shift + offset), (k, shift))
            ]
            with mpmath.workdps(reference.DIGITS):
                difference = float(reference.dot(*turned) - expected)
            rows.within(
                f"difference of the score from the offset's, d={dim}, shift {shift}",
                difference, 0.0,
                bound=rounding.score(
                    products, [float(theta) for theta in thetas], (shift + offset, shift),
                    # Its frequencies have the same error on both sides. The formula multiplies
                    # three complex numbers, and its cosine and sine have an ulp each.
                    0.0, unit=reference.UNIT,
                    reference_roundings=2 * rounding.COMPLEX_PRODUCT + 2,
                ),
                subject="posinfo.reference.rotary", evidence="reference",
                basis="arbitrary precision: rounding analysis at the digits carried",
                head_dim=dim, base=base, offset=offset, shift=shift,
            )  # fmt: skip


@SUITE.case("exercise")
def exercise(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Lesson A's exercise as set: one vector for both, the same pairs of positions and shift."""
    base, shift = parameters["base"], parameters["exercise_shift"]
    for dim in parameters["head_dims"]:
        x = draw((dim,), parameters["seed"])
        for i, j in parameters["exercise_pairs"]:
            here, there = score(x, x, i, j, base), score(x, x, i + shift, j + shift, base)
            common = {
                "subject": _ADJACENT, "evidence": "float32", "basis": _BASIS, "head_dim": dim,
                "base": base, "offset": i - j, "vectors": "one vector",
            }  # fmt: skip
            rows.within(
                f"score at ({i + shift}, {j + shift}) against ({i}, {j}), d={dim}",
                there.measured, here.measured, bound=here.bound + there.bound, shift=shift,
                **common,
            )  # fmt: skip
            rows.within(
                f"score at ({i}, {j}) against arbitrary precision, d={dim}",
                here.measured, here.exact, bound=here.bound, shift=0, **common,
            )  # fmt: skip


@SUITE.case("shifts")
def shifts(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Distinct query and key, both moved together: the error against exact arithmetic grows.

    Each row is the worst of several draws: one that uses most of its bound where the bound must
    hold, one with the largest error where it must be left.
    """
    base, offset = parameters["base"], parameters["offset"]
    smallest = min(parameters["shifts"])
    for dim in parameters["head_dims"]:
        drawn = [
            _vectors(dim, parameters["seed"] + 2 * number) for number in range(parameters["draws"])
        ]
        first = ("", 0.0)
        for shift in sorted(parameters["shifts"]):
            found = [score(q, k, shift + offset, shift, base) for q, k in drawn]
            quantity = f"score at offset {offset}, d={dim}, shift {shift}"
            common = {
                "subject": _ADJACENT, "evidence": "float32", "head_dim": dim, "base": base,
                "offset": offset, "shift": shift, "vectors": "distinct",
            }  # fmt: skip
            tightest = max(found, key=Comparison.used)
            rows.within(
                quantity, tightest.measured, tightest.exact, bound=tightest.bound, basis=_BASIS,
                **common,
            )  # fmt: skip
            if shift == smallest:
                # Draws differ in size: what is left must be left whichever draw it is.
                first = (quantity, max(one.bound for one in found))
            furthest = max(found, key=Comparison.error)
            quantity = f"{quantity}, against the bound at the smallest shift"
            if shift <= parameters["holding_shift"]:
                rows.within(
                    quantity, furthest.measured, furthest.exact, bound=first[1],
                    basis="rounding analysis at the smallest shift", **common,
                )  # fmt: skip
            elif shift >= parameters["breaking_shift"]:
                rows.exceeds(
                    quantity, furthest.measured, furthest.exact,
                    bound=CONTRADICTION_MARGIN * first[1],
                    contradicts=("shifts", f"{first[0]}, against the bound at the smallest shift",
                                 _ADJACENT),
                    basis="margin: ten times the bound that holds at the smallest shift", **common,
                )  # fmt: skip


@SUITE.case("sign of the offset")
def sign(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """An offset and its negative: another score, unless the key is parallel to the query.

    For vectors whose pairs are parallel the score is a sum of cosines, which know no sign.
    """
    base, offset, at = parameters["base"], parameters["sign_offset"], parameters["sign_position"]
    for dim in parameters["head_dims"]:
        q, k = _vectors(dim, parameters["seed"])
        same = ("", 0.0)
        for vectors, key in (("one vector", q), ("parallel", 2 * q), ("distinct", k)):
            ahead = score(q, key, at + offset, at, base)
            behind = score(q, key, at, at + offset, base)
            quantity = f"score at offset {offset} against {-offset}, d={dim}, {vectors}"
            common = {
                "subject": _ADJACENT, "evidence": "float32", "head_dim": dim, "base": base,
                "offset": offset, "vectors": vectors,
            }  # fmt: skip
            bound = ahead.bound + behind.bound
            if vectors != "distinct":
                rows.within(quantity, ahead.measured, behind.measured, bound=bound,
                            basis=_BASIS, **common)  # fmt: skip
                same = (quantity, bound)
            else:
                rows.exceeds(quantity, ahead.measured, behind.measured,
                             bound=CONTRADICTION_MARGIN * max(bound, same[1]),
                             contradicts=("sign of the offset", same[0], _ADJACENT),
                             basis="margin: ten times what rounding can do", **common)  # fmt: skip


@SUITE.case("position past the table")
def past_the_table(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Lesson B's test: a table of 10 rows asked for rows 5, 50 and 100, by each API."""
    size = parameters["table_rows"]
    dim = parameters["lesson_b"]["head_dim"]
    # The lesson draws its table from the global generator; the numbers do not matter here.
    table = torch.randn(size, dim, generator=torch.Generator().manual_seed(parameters["seed"]))
    embedding = torch.nn.Embedding.from_pretrained(table)
    apis: dict[str, Callable[[Tensor], Tensor]] = {
        "tensor[tensor]": lambda p: table[p],
        "tensor[int]": lambda p: table[int(p)],
        "torch.nn.Embedding": embedding,
        "torch.nn.functional.embedding": lambda p: torch.nn.functional.embedding(p, table),
        "torch.index_select": lambda p: torch.index_select(table, 0, p.flatten()),
    }
    messages = {
        "tensor[tensor]": "index {p} is out of bounds for dimension 0 with size {n}",
        "tensor[int]": "index {p} is out of bounds for dimension 0 with size {n}",
        "torch.nn.Embedding": "index out of range in self",
        "torch.nn.functional.embedding": "index out of range in self",
        "torch.index_select": "index out of range in self",
    }
    for api, look_up in apis.items():
        inside = torch.tensor([[parameters["position_inside"]]])
        rows.equals(
            f"row of position {inside.item()}, largest difference",
            (look_up(inside).flatten() - table[inside.item()]).abs().max().item(), 0.0,
            subject=api, api=api, evidence="float32", position=inside.item(),
            basis="a look-up copies: equal bit for bit",
        )  # fmt: skip
        for outside in parameters["positions_outside"]:
            message = messages[api].format(p=outside, n=size)
            rows.raises(
                f"look-up of position {outside}",
                lambda call=look_up, p=outside: call(torch.tensor([[p]])),
                f"IndexError: {message}",
                subject=api, api=api, evidence="float32", position=outside,
                basis="torch's message, on a CPU",
            )  # fmt: skip
    for outside in parameters["positions_outside"]:
        rows.equals(
            f"look-up of position {outside}", shape_text(table[outside : outside + 1]),
            str([0, dim]), subject="tensor[int:int]", api="tensor[int:int]", evidence="float32",
            position=outside, basis="a slice past the end is empty, and no error",
        )  # fmt: skip


@SUITE.case("rotation past the table")
def rotation_past(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The same positions by formula, and by a table of rotations that was cached."""
    dim, base = parameters["lesson_b"]["head_dim"], parameters["base"]
    exact = reference.frequencies(dim, base)
    thetas = rotary.frequencies(dim, base)
    bound = rounding.frequency(dim, base)
    q, k = (draw((1, 1, 1, dim), parameters["seed"] + n) for n in range(2))
    cached = rotary.RotaryTable(dim, parameters["table_rows"], base)
    for position in (parameters["position_inside"], *parameters["positions_outside"]):
        angle = rotary.angles(torch.tensor([position]), thetas)
        for pair, theta in enumerate(exact):
            rows.within(
                f"angle of pair {pair} at position {position}", angle[0, pair].item(),
                float(reference.angle(position, theta)),
                bound=rounding.angle(position, float(theta), bound),
                subject="posinfo.encodings.rotary.angles", evidence="float32",
                basis="rounding analysis: the frequency's error and one product",
                head_dim=dim, base=base, position=position,
            )  # fmt: skip
        turned = rotary.rotate_adjacent(q, angle).flatten()
        expected = [
            float(part)
            for pair, theta in enumerate(exact)
            for part in reference.turned(
                q.flatten()[2 * pair].item(), q.flatten()[2 * pair + 1].item(),
                reference.angle(position, theta),
            )
        ]  # fmt: skip
        difference = (turned.double() - torch.tensor(expected, dtype=torch.float64)).abs().max()
        reach = rounding.angle(position, 1.0, bound) + rounding.ROTATION * rounding.UNIT["float32"]
        rows.within(
            f"largest difference of the rotated query, position {position}",
            difference.item(), 0.0, bound=q.norm().item() * reach,
            subject=_ADJACENT, evidence="float32", head_dim=dim, base=base, position=position,
            basis="rounding analysis: the largest angle's error and one rotation",
        )  # fmt: skip
    inside = parameters["position_inside"]
    from_table, _ = cached(q, k, start=inside)
    by_formula, _ = rotary.rotate_complex(
        q, k, rotary.unit_complex(rotary.angles(torch.tensor([inside]), thetas))
    )
    rows.equals(
        f"cached rotation at position {inside} against the formula, largest difference",
        (from_table - by_formula).abs().max().item(), 0.0,
        subject="posinfo.encodings.rotary.RotaryTable", evidence="float32", position=inside,
        basis="the table holds the formula's values: equal bit for bit",
    )  # fmt: skip
    for outside in parameters["positions_outside"]:
        rows.raises(
            f"cached rotation at position {outside}",
            lambda p=outside: cached(q, k, start=p),
            f"ValueError: rotations of shape [0, {dim // 2}] do not fit x of shape "
            f"[1, 1, 1, {dim // 2}]: expected [1, {dim // 2}]",
            subject="posinfo.encodings.rotary.RotaryTable", evidence="float32", position=outside,
            basis="the slice is empty, and its shape is checked, where Llama's code asserts it",
        )  # fmt: skip
