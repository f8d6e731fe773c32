"""One rotation in four formulations, the two layouts of pairs, and the code that lesson B quotes.

Where formulations must agree, each is held to arbitrary precision, and to the others by what
rounding allows. Half-split pairs are the same rotation of reordered dimensions only: which inputs
tell the layouts apart, and which cannot, is measured too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from posinfo.encodings import rotary
from posinfo.encodings.attention import attend
from posinfo.reference import codes, rounding
from posinfo.reference import rotary as reference
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder, Suite, describe
from posinfo.suites.common import DTYPES, Comparison, draw, dtype_text
from posinfo.suites.offsets import pairwise_dot

SUITE = Suite(
    "formulations",
    "One rotation in four formulations, layouts of pairs, and the quoted code",
    columns=("head_dim", "position", "dtype", "input", "weights", "step"),
)

_ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
_COMPLEX = "posinfo.encodings.rotary.rotate_complex"
_MATRIX = "posinfo.encodings.rotary.rotate_by_matrix"
_HALVES = "posinfo.encodings.rotary.rotate_half_split"
_REORDER = "posinfo.encodings.rotary.adjacent_to_half_split"
_QUOTED = "the quoted code, names resolved"
_U = rounding.UNIT["float32"]
_ROTATED = "rounding analysis: the angle's error and one rotation of the pair"
_MARGIN = "margin: ten times what rounding can do"


def halves_order(dim: int) -> list[int]:
    """Order of adjacent dimensions when they are split in halves: first even, then odd."""
    return [*range(0, dim, 2), *range(1, dim, 2)]


def _complex(x: Tensor, angles: Tensor) -> Tensor:
    """Complex multiplication of [T, d], by the function for queries [B, T, h, d]."""
    batched = x[None, :, None]
    return rotary.rotate_complex(batched, batched, rotary.unit_complex(angles))[0][0, :, 0]


def _matrix(x: Tensor, angles: Tensor) -> Tensor:
    return rotary.rotate_by_matrix(x, rotary.rotation_matrices(angles))


def _halves(x: Tensor, angles: Tensor) -> Tensor:
    """Half-split rotation of the reordered vector, put back into the order of adjacent pairs."""
    order = halves_order(x.shape[-1])
    turned = rotary.rotate_half_split(x[..., order], angles)
    back = torch.empty_like(turned)
    back[..., order] = turned
    return back


#: How each formulation rotates [T, d] of adjacent pairs by angles [T, d/2].
_FORMULATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    _ADJACENT: lambda x, angles: rotary.rotate_adjacent(x, angles),
    _COMPLEX: _complex,
    _MATRIX: _matrix,
    _HALVES: _halves,
}


def _angles(positions: Sequence[float], dim: int, base: float) -> Tensor:
    return rotary.angles(torch.tensor(positions), rotary.frequencies(dim, base))


def _pair_norms(x: Tensor) -> Tensor:
    """Norms of the adjacent pairs of [..., d], in float64."""
    return x.double().unflatten(-1, (-1, 2)).norm(dim=-1)


def _against_exact(
    x: Tensor, turned: Tensor, position: float, base: float, extra: float = 0.0
) -> Comparison:
    """The component of a rotated vector [d] that comes nearest to its bound.

    Parameters
    ----------
    extra
        Rounding of the result besides the rotation's own, relative to the norm of the pair.
    """
    dim = x.shape[-1]
    bound = rounding.frequency(dim, base)
    values, found = x.tolist(), turned.tolist()
    components = []
    for pair, theta in enumerate(reference.frequencies(dim, base)):
        first, second = values[2 * pair], values[2 * pair + 1]
        exact = reference.turned(first, second, reference.angle(position, theta))
        allowed = math.hypot(first, second) * (
            rounding.angle(position, float(theta), bound) + rounding.ROTATION * _U + extra
        )
        components += [
            Comparison(found[2 * pair + n], float(exact[n]), allowed, pair) for n in (0, 1)
        ]
    return max(components, key=Comparison.used)


@SUITE.case("rotation")
def rotation(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Each formulation against arbitrary precision, at whole positions and between them."""
    base = parameters["base"]
    whole, between = parameters["positions"], parameters["positions_between"]
    for dim in parameters["head_dims"]:
        positions = [*whole, *between]
        x = draw((len(positions), dim), parameters["seed"])
        # float32 holds a position between whole numbers as a number of its own: that one is meant.
        held = torch.tensor(positions).tolist()
        for subject, rotate in _FORMULATIONS.items():
            turned = rotate(x, _angles(positions, dim, base))
            for row, position in enumerate(held):
                worst = _against_exact(x[row], turned[row], position, base)
                rows.within(
                    f"rotated component nearest its bound, d={dim}, position {positions[row]:g}",
                    worst.measured, worst.exact, bound=worst.bound, subject=subject,
                    evidence="float32", basis=_ROTATED, head_dim=dim, position=position,
                    input="whole position" if row < len(whole) else "position between",
                )  # fmt: skip


@SUITE.case("bit for bit")
def bit_for_bit(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The formulations against adjacent pairs: the very bits, or within rounding."""
    base, length = parameters["base"], parameters["length"]
    for dim in parameters["head_dims"]:
        x = draw((length, dim), parameters["seed"])
        angles = _angles(range(length), dim, base)
        plain = _FORMULATIONS[_ADJACENT](x, angles)
        allowed = _pair_norms(x).repeat_interleave(2, dim=-1) * 2 * rounding.ROTATION * _U
        for subject in (_COMPLEX, _MATRIX, _HALVES):
            turned = _FORMULATIONS[subject](x, angles)
            common = {"subject": subject, "evidence": "float32", "head_dim": dim}
            if subject != _COMPLEX:
                rows.equals(
                    f"largest difference from adjacent pairs, d={dim}",
                    (turned - plain).abs().max().item(), 0.0, **common,
                    basis="the same products and sums, and zeros beside them: equal bit for bit",
                )  # fmt: skip
                continue
            used = (turned - plain).double().abs() / allowed
            place = int(torch.nan_to_num(used, nan=math.inf).argmax())
            rows.within(
                f"component nearest its bound against adjacent pairs, d={dim}",
                turned.flatten()[place].item(), plain.flatten()[place].item(),
                bound=allowed.flatten()[place].item(),
                basis="rounding analysis: two rotations by the same angles", **common,
            )  # fmt: skip
            rows.exceeds(
                f"components with other bits than adjacent pairs give, d={dim}",
                (turned != plain).sum().item(), 0, bound=1,
                basis="a count, at least one: cos and sin come from another routine", **common,
            )  # fmt: skip


@SUITE.case("matrices")
def matrices(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """What the paper asks of the matrices: orthogonal, and R_m transposed times R_n is R_(n-m)."""
    base, (first, second) = parameters["base"], parameters["composed"][0]
    for dim in parameters["head_dims"]:
        angles = _angles([first, second, second - first], dim, base)
        at_first, at_second, between = rotary.rotation_matrices(angles)
        common = {"subject": "posinfo.encodings.rotary.rotation_matrices", "evidence": "float32",
                  "head_dim": dim}  # fmt: skip
        # An entry of the product is a sum of two products of a cosine or sine, each off by u.
        entry = (2 * math.sqrt(2) + 2) * _U * rounding.SECOND_ORDER
        rows.within(
            f"largest entry of RᵀR − I, d={dim}, position {second}",
            (at_second.T @ at_second - torch.eye(dim)).abs().max().item(), 0.0, bound=entry,
            basis="rounding analysis: cos and sin one ulp off, two products and one sum",
            position=second, **common,
        )  # fmt: skip
        # The frequencies' errors are shared: what is left of the angles is three products. Pair 0
        # has the largest angles, and those of whole numbers: the bound is that of any pair.
        rounded = (first + second + abs(second - first)) * _U
        rows.within(
            f"largest entry of R({first})ᵀ R({second}) − R({second - first}), d={dim}",
            (at_first.T @ at_second - between).abs().max().item(), 0.0,
            bound=(rounded * rounding.SECOND_ORDER + entry + _U),
            basis="rounding analysis: three rounded angles, two products, one sum, one ulp",
            position=second, **common,
        )  # fmt: skip


@SUITE.case("composition")
def composition(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """To turn twice is to turn once by the sum of the positions, in every formulation."""
    base = parameters["base"]
    for dim in parameters["head_dims"]:
        x = draw((1, dim), parameters["seed"])
        bound = rounding.frequency(dim, base)
        thetas = torch.tensor([float(t) for t in reference.frequencies(dim, base)]).double()
        for first, second in parameters["composed"]:
            # Twice: two angles and two rotations; once: one of each, at the sum.
            reach = 2 * (first + second) * thetas * (bound + _U) * rounding.SECOND_ORDER
            allowed = _pair_norms(x) * (reach + 3 * rounding.ROTATION * _U * rounding.SECOND_ORDER)
            for subject, rotate in _FORMULATIONS.items():
                twice = x
                for position in (first, second):
                    twice = rotate(twice, _angles([position], dim, base))
                once = rotate(x, _angles([first + second], dim, base))
                used = (twice - once).double().abs() / allowed.repeat_interleave(2, dim=-1)
                place = int(torch.nan_to_num(used, nan=math.inf).argmax())
                rows.within(
                    f"component nearest its bound, {first} and then {second}, d={dim}",
                    twice.flatten()[place].item(), once.flatten()[place].item(),
                    bound=allowed.flatten()[place // 2].item(), subject=subject,
                    evidence="float32", head_dim=dim, position=first + second,
                    basis="rounding analysis: three angles and three rotations of the pair",
                )  # fmt: skip


# --- layouts ----------------------------------------------------------------------------------


def _scores(rotate: Callable[[Tensor, Tensor], Tensor], q: Tensor, k: Tensor,
            angles: Tensor) -> Tensor:  # fmt: skip
    """All scores [h, T, T] of queries and keys [h, T, d]."""
    turned_q, turned_k = rotate(q, angles), rotate(k, angles)
    return pairwise_dot(turned_q.unsqueeze(-2), turned_k.unsqueeze(-3))


def _sizes(q: Tensor, k: Tensor) -> Tensor:
    """Products of the norms of [h, T, d]: by Cauchy and Schwarz what any score is bounded by."""
    norms = [x.double().norm(dim=-1) for x in (q, k)]
    return norms[0].unsqueeze(-1) * norms[1].unsqueeze(-2)


@SUITE.case("weights")
def weights(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The reordering of query and key weights that makes half-split pairs equal adjacent ones."""
    base, length, width = parameters["base"], parameters["length"], parameters["width"]
    heads, groups = parameters["heads"], parameters["key_heads"]
    x = draw((length, width), parameters["seed"])
    for dim in parameters["head_dims"]:
        to_q = draw((heads * dim, width), parameters["seed"] + 1) / math.sqrt(width)
        to_k = draw((groups * dim, width), parameters["seed"] + 2) / math.sqrt(width)
        angles = _angles(range(length), dim, base)
        common = {"evidence": "float32", "head_dim": dim}
        for name, weight in (("query", to_q), ("key", to_k)):
            index = [
                head * dim + row
                for head in range(len(weight) // dim)
                for row in halves_order(dim)
            ]  # fmt: skip
            reordered = rotary.adjacent_to_half_split(weight, dim)
            rows.equals(
                f"rows of the {name} weight that are not where their index says, d={dim}",
                (reordered != weight[index]).any(dim=-1).sum().item(), 0, subject=_REORDER,
                basis="0, 2, 4, … and then 1, 3, 5, … within each head: nothing is computed",
                **common,
            )  # fmt: skip

        def project(weight: Tensor, dim: int = dim) -> Tensor:
            """Queries or keys [heads, T, d]; the keys of a group serve several heads."""
            found = pairwise_dot(x.unsqueeze(1), weight).unflatten(-1, (-1, dim)).transpose(0, 1)
            return found.repeat_interleave(heads // len(found), dim=0)

        q, k = project(to_q), project(to_k)
        by_pairs = _scores(rotary.rotate_adjacent, q, k, angles)
        # Both are the same products, added in two orders.
        allowed = 2 * rounding.pairwise_sum(dim, _U) * rounding.SECOND_ORDER * _sizes(q, k)
        reorder = partial(rotary.adjacent_to_half_split, head_dim=dim)
        whole = partial(rotary.adjacent_to_half_split, head_dim=heads * dim)
        whole_k = partial(rotary.adjacent_to_half_split, head_dim=groups * dim)
        variants = {
            "reordered in each head": (reorder(to_q), reorder(to_k)),
            "as they are": (to_q, to_k),
            "reordered for queries alone": (reorder(to_q), to_k),
            "reordered across heads": (whole(to_q), whole_k(to_k)),
        }
        held = ""
        for name, pair in variants.items():
            turned = [project(weight) for weight in pair]
            by_halves = _scores(rotary.rotate_half_split, *turned, angles)
            quantity = f"score against adjacent pairs, d={dim}, weights {name}"
            difference = (by_halves - by_pairs).double().abs()
            common |= {"subject": _HALVES, "weights": name}
            if not held:
                held = quantity
                place = int(torch.nan_to_num(difference / allowed, nan=math.inf).argmax())
                rows.equals(
                    f"largest difference of rotated queries, d={dim}, weights {name}",
                    (rotary.rotate_half_split(turned[0], angles)
                     - rotary.rotate_adjacent(q, angles)[..., halves_order(dim)])
                    .abs().max().item(), 0.0,
                    basis="the same products and sums at other places: equal bit for bit", **common,
                )  # fmt: skip
                rows.within(
                    quantity, by_halves.flatten()[place].item(), by_pairs.flatten()[place].item(),
                    bound=allowed.flatten()[place].item(),
                    basis="rounding analysis: the same products, added in two orders", **common,
                )  # fmt: skip
                continue
            place = int(torch.nan_to_num(difference, nan=math.inf).argmax())
            rows.exceeds(
                quantity, by_halves.flatten()[place].item(), by_pairs.flatten()[place].item(),
                bound=CONTRADICTION_MARGIN * allowed.max().item(), basis=_MARGIN,
                contradicts=("weights", held, _HALVES), **common,
            )  # fmt: skip


class _Layouts:
    """Scores of queries and keys [n, d] in both layouts, and what rounding may do to them."""

    def __init__(self, dim: int, base: float) -> None:
        self.dim, self.base = dim, base

    def score(self, rotate: Any, q: Tensor, k: Tensor, at: tuple[int, int]) -> list[float]:
        """Scores [n] of queries at the first position and keys at the second."""
        turned = [
            rotate(x, _angles([position], self.dim, self.base))
            for x, position in zip((q, k), at, strict=True)
        ]
        return pairwise_dot(*turned).tolist()

    def allowed(self, q: Tensor, k: Tensor, at: tuple[int, int]) -> list[float]:
        """Rounding of a score in any layout.

        The products of the norms of pairs differ by layout. They add up to no more than the
        product of the norms of the vectors, and no pair turns faster than by 1 a position.
        """
        sizes = (q.double().norm(dim=-1) * k.double().norm(dim=-1)).tolist()
        rest = [0.0] * (self.dim // 2 - 1)
        bound = rounding.frequency(self.dim, self.base)
        return [rounding.score([size, *rest], [1.0] * (self.dim // 2), at, bound) for size in sizes]

    def compared(self, q: Tensor, k: Tensor, at: tuple[int, int]) -> list[Comparison]:
        """Half-split against adjacent, a comparison a vector."""
        halves, adjacent = (
            self.score(rotate, q, k, at)
            for rotate in (rotary.rotate_half_split, rotary.rotate_adjacent)
        )
        return [
            Comparison(one, other, 2 * bound)
            for one, other, bound in zip(halves, adjacent, self.allowed(q, k, at), strict=True)
        ]


@SUITE.case("blind inputs")
def blind_inputs(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Both layouts on vectors as they are: which inputs cannot tell them apart, and which can.

    Each row is the worst of several vectors: the one that uses most of its bound where the layouts
    must agree, the one with the largest difference where they must not.
    """
    base, shift = parameters["base"], parameters["shift"]
    i, j = at = tuple(parameters["score_positions"])
    both = (rotary.rotate_half_split, rotary.rotate_adjacent)
    for dim in parameters["head_dims"]:
        q, k = (draw((parameters["length"], dim), parameters["seed"] + n) for n in range(2))
        layouts = _Layouts(dim, base)
        common = {"subject": _HALVES, "evidence": "float32", "head_dim": dim}

        def blind(quantity: str, found: Sequence[Comparison], basis: str, common=common, **columns):
            worst = max(found, key=Comparison.used)
            rows.within(quantity, worst.measured, worst.exact, bound=worst.bound, basis=basis,
                        **common, **columns)  # fmt: skip

        at_zero = _angles([0], dim, base)
        rows.equals(
            f"largest difference of the layouts, position 0, d={dim}",
            (both[0](q, at_zero) - both[1](q, at_zero)).abs().max().item(), 0.0, position=0,
            input="position 0", basis="neither changes a vector: equal bit for bit", **common,
        )  # fmt: skip
        norms = [rotate(q, _angles([i], dim, base)).double().norm(dim=-1) for rotate in both]
        kept = 2 * rounding.norm_change(dim, norms_exact=True)
        blind(
            f"norm of a rotated vector by layout, d={dim}",
            [Comparison(one, other, kept * other)
             for one, other in zip(*(x.tolist() for x in norms), strict=True)],
            "rounding analysis: one rotation in each layout", position=i, input="norms",
        )  # fmt: skip
        one_place = f"score by layout, both at position {i}, d={dim}"
        same = layouts.compared(q, k, (i, i))
        blind(one_place, same,
              "rounding analysis: in both layouts the score of the unrotated vectors",
              position=i, input="query and key at one position")  # fmt: skip
        constant = torch.outer(draw((parameters["length"],), parameters["seed"]), torch.ones(dim))
        blind(f"score of constant vectors by layout, positions {i} and {j}, d={dim}",
              layouts.compared(constant, constant, at),
              "rounding analysis: every pair is the same pair in both layouts",
              position=i, input="constant vectors")  # fmt: skip
        moved = (i + shift, j + shift)
        bounds = [layouts.allowed(q, k, places) for places in (at, moved)]
        blind(
            f"half-split score moved by {shift}, positions {i} and {j}, d={dim}",
            [Comparison(*values) for values in zip(
                layouts.score(both[0], q, k, moved), layouts.score(both[0], q, k, at),
                map(sum, zip(*bounds, strict=True)), strict=True)],
            "rounding analysis: each layout by itself depends on the offset alone",
            position=i, input="a common shift",
        )  # fmt: skip
        for name, key in (("distinct vectors", k), ("one vector for both", q)):
            found = layouts.compared(q, key, at)
            furthest = max(found, key=Comparison.error)
            rows.exceeds(
                f"score by layout, positions {i} and {j}, {name}, d={dim}",
                furthest.measured, furthest.exact, position=i, input=name, basis=_MARGIN,
                bound=CONTRADICTION_MARGIN * max(each.bound for each in [*found, *same]),
                contradicts=("blind inputs", one_place, _HALVES), **common,
            )  # fmt: skip
    pair = draw((parameters["length"], 2), parameters["seed"])
    angles = _angles([i], 2, base)
    rows.equals(
        f"largest difference of the layouts, position {i}, d=2",
        (both[0](pair, angles) - both[1](pair, angles)).abs().max().item(), 0.0, position=i,
        input="a head of two", subject=_HALVES, evidence="float32", head_dim=2,
        basis="there is one pair: equal bit for bit",
    )  # fmt: skip


# --- the code that lesson B quotes ------------------------------------------------------------


def as_quoted(q: Tensor, k: Tensor, rotations: Tensor) -> tuple[Tensor, Tensor]:
    """Lesson B's forward pass with its names resolved and nothing else added.

    It lacks what the Llama 2 source has at both ends: ``float()`` before the pairs are viewed as
    complex numbers, and ``type_as`` after the product.

    Parameters
    ----------
    q, k
        Shape [B, T, h, d].
    rotations
        complex64, shape [T, d/2].
    """
    rotated = []
    for x in (q, k):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        turned = pairs * rotary.broadcast_over_heads(rotations, pairs)
        rotated.append(torch.view_as_real(turned).flatten(3))
    return rotated[0], rotated[1]


@SUITE.case("quoted code")
def quoted_code(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The quoted lines in four precisions: without the casts that they drop, and with them."""
    size, base = parameters["lesson_b"], parameters["base"]
    shape = [size[name] for name in ("batch", "length", "heads", "head_dim")]
    length, dim = size["length"], size["head_dim"]
    rotations = rotary.unit_complex(_angles(range(length), dim, base))
    for name in parameters["dtypes"]:
        q, k, v = (draw(shape, parameters["seed"] + n, DTYPES[name]) for n in range(3))
        common = {"evidence": "float32", "head_dim": dim, "dtype": name}
        cast = rotary.rotate_complex(q, k, rotations)[0]
        rows.equals(f"precision of the result, {name}", dtype_text(cast), name, subject=_COMPLEX,
                    basis="type_as: that of the input", **common)  # fmt: skip
        _last_position(rows, q, cast, name, common | {"subject": _COMPLEX}, base)
        if name == "bfloat16":
            rows.raises(
                f"the call, {name}", partial(as_quoted, q, k, rotations),
                "RuntimeError: view_as_complex is only supported for half, float and double "
                "tensors, but got a tensor of scalar type: BFloat16",
                subject=_QUOTED, basis="torch's message: there is no complex bfloat16", **common,
            )  # fmt: skip
            continue
        turned = as_quoted(q, k, rotations)
        # float16 becomes complex32, and times complex64 that is complex64.
        wide = "float32" if name == "float16" else name
        rows.equals(f"precision of the result, {name}", dtype_text(turned[0]), wide,
                    basis="torch's promotion of complex types", subject=_QUOTED,
                    **common)  # fmt: skip
        _last_position(rows, q, turned[0], name, common | {"subject": _QUOTED}, base, kept=wide)
        attention = partial(attend, *(x.transpose(1, 2) for x in (*turned, v)))
        if name == "float16":
            rows.raises(
                f"attention with V of the model's precision, {name}", attention,
                "RuntimeError: expected scalar type Float but found Half", subject=_QUOTED,
                basis="torch's message: a matrix product of two precisions", **common,
            )  # fmt: skip
        else:
            rows.equals(f"precision of what attention returns, {name}", _type_of(attention),
                        name, basis="that of queries, keys and V", subject=_QUOTED,
                        **common)  # fmt: skip
        if name == "float32":
            rows.equals(
                f"largest difference with and without the casts, {name}",
                (turned[0] - cast).abs().max().item(), 0.0, subject=_QUOTED,
                basis="the casts do nothing here: equal bit for bit", **common,
            )  # fmt: skip


def _type_of(call: Callable[[], Tensor]) -> str:
    """Precision of what a call returns, or the error that it raises."""
    try:
        return dtype_text(call())
    except RuntimeError as error:
        return describe(error)


def _last_position(
    rows: Recorder, q: Tensor, turned: Tensor, dtype: str, common: Mapping[str, Any], base: float,
    *, kept: str = "",
) -> None:  # fmt: skip
    """Values at the last position: what float32 allows, and for float64 that it allows no more."""
    position = q.shape[1] - 1
    before, after = q[0, position, 0].double(), turned[0, position, 0].double()
    stored = rounding.UNIT[kept or dtype]
    worst = _against_exact(before, after, position, base, extra=stored)
    rows.within(
        f"rotated component nearest its bound, {dtype}", worst.measured, worst.exact,
        bound=worst.bound, position=position, **common,
        basis="rounding analysis: angle and rotation in float32, and the result's own rounding",
    )  # fmt: skip
    if dtype != "float64":
        return
    dim = q.shape[-1]
    thetas = rotary.frequencies(dim, base, torch.float64)
    precise = rotary.rotate_adjacent(
        before.unsqueeze(0), rotary.angles(torch.tensor([position]), thetas)
    )[0]
    unit = rounding.UNIT["float64"]
    reach = rounding.angle(position, 1.0, rounding.frequency(dim, base, "float64"), "float64")
    allowed = _pair_norms(before).max().item() * (reach + rounding.ROTATION * unit)
    exact = torch.tensor([
        float(part)
        for pair, theta in enumerate(reference.frequencies(dim, base))
        for part in reference.turned(*before[2 * pair : 2 * pair + 2].tolist(),
                                     reference.angle(position, theta))
    ], dtype=torch.float64)  # fmt: skip
    within = f"largest error of a rotated component, {dtype} throughout"
    if common["subject"] == _COMPLEX:
        rows.within(
            within, (precise - exact).abs().max().item(), 0.0, bound=allowed, position=position,
            basis="rounding analysis: angle and rotation in float64",
            **{**common, "subject": _ADJACENT},
        )  # fmt: skip
    rows.exceeds(
        f"largest error of a rotated component, {dtype} input",
        (after - exact).abs().max().item(), 0.0, bound=CONTRADICTION_MARGIN * allowed,
        position=position, basis="margin: ten times what float64 allows",
        contradicts=("quoted code", within, _ADJACENT), **common,
    )  # fmt: skip


# --- positions between whole numbers ----------------------------------------------------------


@SUITE.case("steps")
def steps(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """How far a vector moves when its position grows by less than one."""
    base, dim = parameters["base"], max(parameters["head_dims"])
    x = draw((1, dim), parameters["seed"])
    norms, norm = _pair_norms(x)[0].tolist(), x.double().norm().item()
    exact_thetas = reference.frequencies(dim, base)
    common = {"subject": _ADJACENT, "evidence": "float32", "head_dim": dim}
    for start in parameters["starts"]:
        for step in parameters["steps"]:
            here, there = (
                rotary.rotate_adjacent(x, _angles([float(p)], dim, base)).double()
                for p in (start, start + step)
            )
            moved = (there - here).norm().item()
            setting = f"from position {start:g} by {step:g}"
            # The frequency's error is shared; the two angles round by u each.
            bound = rounding.frequency(dim, base)
            reach = math.sqrt(math.fsum(
                (pair * float(theta) * (step * bound + (2 * start + step) * _U)) ** 2
                for pair, theta in zip(norms, exact_thetas, strict=True)
            ))  # fmt: skip
            allowed = (reach + 2 * rounding.ROTATION * _U * norm) * rounding.SECOND_ORDER
            rows.within(
                f"length of the way, {setting}", moved,
                float(codes.turned_length(norms, step, exact_thetas)), bound=allowed,
                basis="rounding analysis: two angles and two rotations", position=start, step=step,
                **common,
            )  # fmt: skip
            rows.within(
                f"length of the way against the step, {setting}", moved, 0.0,
                bound=step * norm + allowed,
                basis="a chord is no longer than its arc, no angle grows faster than the "
                "position, and rounding",
                position=start, step=step, **common,
            )  # fmt: skip
    lost, step = parameters["lost_start"], max(parameters["steps"])
    here, there = (
        rotary.rotate_adjacent(x, _angles([float(p)], dim, base)) for p in (lost, lost + step)
    )
    rows.equals(
        f"length of the way, from position {lost:g} by {step:g}",
        (there - here).norm().item(), 0.0, position=lost, step=step,
        basis="float32 rounds the position back: its step is 1 there", **common,
    )  # fmt: skip
    table = torch.zeros(parameters["length"], dim)
    rows.raises(
        "row of a table between whole numbers",
        lambda: table[torch.tensor([0.5])],
        "IndexError: tensors used as indices must be long, int, byte or bool tensors",
        subject="tensor[tensor]", evidence="float32", head_dim=dim, position=0.5,
        basis="torch's message: a table has rows for whole numbers alone",
    )  # fmt: skip
