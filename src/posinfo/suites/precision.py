"""Positions and angles in low precision, and codes of positions that come near to one another.

The formula of RoPE has a value at every position. What a model computes is that value in floats:
positions collide, angles err in proportion to the position, and with few pairs the codes of
distant positions nearly return.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any

import mpmath
import torch
from torch import Tensor

from posinfo.encodings import rotary
from posinfo.reference import codes, rounding
from posinfo.reference import precision as reference
from posinfo.reference import rotary as exact_rotary
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import DTYPES, Comparison

SUITE = Suite(
    "precision",
    "Positions, angles and codes in the precisions that models use",
    columns=("dtype", "road", "head_dim", "base", "position", "pair", "length", "offset"),
)

_ANGLES = "posinfo.encodings.rotary.angles"
_FREQUENCIES = "posinfo.encodings.rotary.frequencies"
_CODES = "cos and sin of posinfo.encodings.rotary.angles"
_CAST = "torch.Tensor.to"
_CHUNK = 2**20

#: Where angles, cosines and sines are computed, before they are stored in a model's precision.
ROADS = {
    "all in the precision": None,
    "float32, then rounded": "float32",
    "float64, then rounded": "float64",
}


def _code(positions: Tensor, dim: int, base: float, dtype: torch.dtype) -> Tensor:
    """Cosines and sines of positions [T], shape [T, d], computed in one precision."""
    angles = rotary.angles(positions, rotary.frequencies(dim, base, dtype))
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def _number(value: Tensor) -> str:
    """A float as text, infinity and NaN too: a row's numbers must be finite."""
    return f"{value.item():g}"


# --- whole positions --------------------------------------------------------------------------


def first_lost(dtype: torch.dtype, limit: int) -> int:
    """The first whole number that a precision does not hold, by trying each up to ``limit``.

    If all of them are held, the number after them.
    """
    for start in range(0, limit + 1, _CHUNK):
        whole = torch.arange(start, min(start + _CHUNK, limit + 1), dtype=torch.int32)
        lost = whole.to(dtype).to(torch.float64) != whole.to(torch.float64)
        if bool(lost.any()):
            return start + int(lost.to(torch.uint8).argmax())
    return limit + 1


@SUITE.case("first collision")
def first_collision(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The first whole position that a precision loses, and what becomes of its rotation."""
    base, dim = parameters["base"], parameters["head_dim"]
    for name in parameters["dtypes"]:
        dtype = DTYPES[name]
        lost = reference.first_position_lost(name)
        common = {"evidence": "float32", "dtype": name}
        rows.equals(
            f"first whole position not held, {name}", first_lost(dtype, lost + 1), lost,
            subject=_CAST, basis="two to the number of significant bits, plus one", position=lost,
            **common,
        )  # fmt: skip
        before, edge, after = _code(torch.tensor([lost - 2, lost - 1, lost]), dim, base, dtype)
        common |= {"subject": _CODES, "head_dim": dim, "base": base}
        rows.exceeds(
            f"largest difference of the codes of {lost - 2} and {lost - 1}, {name}",
            (edge - before).double().abs().max().item(), 0.0,
            bound=CONTRADICTION_MARGIN * rounding.UNIT[name], position=lost - 1,
            basis="margin: ten times what the rounding of a cosine can do", **common,
        )  # fmt: skip
        rows.equals(
            f"largest difference of the codes of {lost - 1} and {lost}, {name}",
            (after - edge).double().abs().max().item(), 0.0, position=lost,
            basis="both positions are one number: equal bit for bit", **common,
        )  # fmt: skip
        _exact_neighbours(rows, lost, dim, base)


def _exact_neighbours(rows: Recorder, position: int, dim: int, base: float) -> None:
    """In 50 digits the codes of the same two positions are as far apart as those of 0 and 1."""
    thetas = exact_rotary.frequencies(dim, base)
    with mpmath.workdps(exact_rotary.DIGITS):
        turned = [
            [exact_rotary.turned(1, 0, exact_rotary.angle(p, theta)) for theta in thetas]
            for p in (position - 1, position)
        ]
        squares = [
            (x - y) ** 2
            for here, there in zip(*turned, strict=True)
            for x, y in zip(here, there, strict=True)
        ]
        apart = mpmath.sqrt(mpmath.fsum(squares))
        difference = float(apart - codes.distance(1, thetas))
    # Of both positions each component errs by its angle's rounding, and that of cos or sin.
    reach = math.sqrt(math.fsum(2 * (position * float(theta) + 2) ** 2 for theta in thetas))
    rows.within(
        f"distance of the codes of {position - 1} and {position}, less that of 0 and 1",
        difference, 0.0,
        bound=2 * reach * exact_rotary.UNIT, subject="posinfo.reference.rotary",
        evidence="reference", dtype="exact", head_dim=dim, base=base, position=position,
        basis="arbitrary precision: rounding analysis at the digits carried",
    )  # fmt: skip


@SUITE.case("distinct positions")
def distinct_positions(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """How many different numbers the positions of a context become."""
    for length in parameters["lengths"]:
        for name in parameters["dtypes"]:
            rows.equals(
                f"different positions among the first {length}, {name}",
                len(torch.arange(length).to(DTYPES[name]).unique()),
                reference.distinct_positions(length, name),
                subject=_CAST, evidence="float32", dtype=name, length=length,
                basis="a count: all up to two to the number of bits, half as many a doubling",
            )  # fmt: skip


@SUITE.case("overflow")
def overflow(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Positions, and bases, that are too large for float16."""
    dim, base = parameters["head_dim"], parameters["base"]
    infinite = int(reference.becomes_infinite("float16"))
    for position in (infinite - 1, infinite):
        rounded = torch.tensor([position]).to(torch.float16)
        inside = position < infinite
        common = {"evidence": "float32", "dtype": "float16", "position": position}
        rows.equals(
            f"position {position} in float16", _number(rounded.double()),
            f"{reference.LARGEST['float16']:g}" if inside else "inf", subject=_CAST,
            basis="half a step past the largest finite number rounds to infinity", **common,
        )  # fmt: skip
        turned = _code(torch.tensor([position]), dim, base, torch.float16)
        rows.equals(
            f"components of the code that are no number, position {position} in float16",
            turned.isnan().sum().item(), 0 if inside else dim, subject=_CODES, head_dim=dim,
            base=base, basis="cos and sin of infinity are no numbers", **common,
        )  # fmt: skip
    for name in parameters["dtypes"]:
        for each in parameters["bases"]:
            thetas = rotary.frequencies(dim, each, DTYPES[name])
            overflows = each >= reference.becomes_infinite(name)
            rows.equals(
                f"frequencies above zero, base {each:.10g} in {name}",
                (thetas > 0).sum().item(), 1 if overflows else dim // 2, subject=_FREQUENCIES,
                evidence="float32", dtype=name, head_dim=dim, base=each,
                basis="an infinite base leaves base^0 alone finite; otherwise every pair turns",
            )  # fmt: skip


# --- angles, cosines and sines ----------------------------------------------------------------


def _bound(road: str, position: int, theta: float, pair: int, dim: int, base: float) -> float:
    """Bound on the angle of a pair that is computed in the precision ``road``."""
    return reference.angle(position, theta, reference.frequency(pair, dim, base, road), road)


@SUITE.case("angles")
def angles(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Angles, cosines and sines by position and precision, against arbitrary precision."""
    dim, base = parameters["head_dim"], parameters["base"]
    thetas = exact_rotary.frequencies(dim, base)
    for position in parameters["positions"]:
        exact = [exact_rotary.angle(position, theta) for theta in thetas]
        turns = [exact_rotary.turned(1, 0, angle) for angle in exact]
        for name in parameters["dtypes"]:
            if position >= reference.becomes_infinite(name):
                continue  # the case overflow has these
            common = {"evidence": "float32", "dtype": name, "head_dim": dim, "base": base,
                      "position": position}  # fmt: skip
            _angle_rows(rows, name, position, thetas, exact, common)
            for road, computed in ROADS.items():
                if computed != name:
                    _code_rows(rows, name, road, position, thetas, turns, parameters, common)


def _angle_rows(
    rows: Recorder, name: str, position: int, thetas: Any, exact: Any, common: dict[str, Any]
) -> None:
    dim, base = common["head_dim"], common["base"]
    dtype = DTYPES[name]
    measured = rotary.angles(torch.tensor([position]), rotary.frequencies(dim, base, dtype))[0]
    found = []
    for pair, (value, angle, theta) in enumerate(
        zip(measured.tolist(), exact, thetas, strict=True)
    ):
        bound = _bound(name, position, float(theta), pair, dim, base)
        # Nothing rounds in pair 0 where the position is held: any error leaves this bound.
        found.append(Comparison(value, float(angle), bound or sys.float_info.min, pair))
    worst = max(found, key=Comparison.used)
    basis = "rounding analysis: frequency, position and product, all in this precision"
    rows.within(
        f"angle nearest its bound, {name}, position {position}", worst.measured, worst.exact,
        bound=worst.bound, subject=_ANGLES, pair=worst.pair, basis=basis,
        road="all in the precision", **common,
    )  # fmt: skip
    furthest = max(found, key=Comparison.error)
    rows.within(
        f"largest error of an angle, {name}, position {position}", furthest.error(), 0.0,
        bound=max(each.bound for each in found), subject=_ANGLES, pair=furthest.pair,
        basis=f"{basis}; the largest bound of a pair", road="all in the precision", **common,
    )  # fmt: skip


def _code_rows(
    rows: Recorder, name: str, road: str, position: int, thetas: Any, turns: Any,
    parameters: Mapping[str, Any], common: dict[str, Any],
) -> None:  # fmt: skip
    """Cosines and sines on one road; where it is a low one, that the best one is left."""
    dim, base = common["head_dim"], common["base"]
    computed = ROADS[road] or name
    code = _code(torch.tensor([position]), dim, base, DTYPES[computed]).to(DTYPES[name])[0]
    stored = 0.0 if computed == name else reference.stored(name)
    found = []
    for pair, theta in enumerate(thetas):
        reach = _bound(computed, position, float(theta), pair, dim, base)
        bound = min(rounding.cosine(reach, computed) + stored, 2.0)
        for n in (0, 1):
            value = code[pair + n * (dim // 2)].item()
            found.append(Comparison(value, float(turns[pair][n]), bound, pair))
    worst = max(found, key=Comparison.used)
    rounded = "" if computed == name else ", and the rounding of what is stored"
    # Two cosines are never further apart than 2: from where a bound reaches that it says nothing.
    if max(each.bound for each in found) < 2:
        rows.within(
            f"cosine or sine nearest its bound, {name}, position {position}, {road}",
            worst.measured, worst.exact, bound=worst.bound, subject=_CODES, pair=worst.pair,
            basis=f"rounding analysis: the angle's error, one ulp{rounded}", road=road, **common,
        )  # fmt: skip
    best = "float64, then rounded"
    furthest = max(found, key=Comparison.error)
    quantity = f"largest error of a cosine or sine, {name}, position {position}, {road}"
    if road == best:
        rows.within(
            quantity, furthest.error(), 0.0, bound=max(each.bound for each in found),
            subject=_CODES, pair=furthest.pair, road=road, **common,
            basis="rounding analysis: one rounding of what is stored, and float64's own",
        )  # fmt: skip
    elif road == "all in the precision" and position >= parameters["breaking_position"]:
        reach = _bound("float64", position, float(thetas[0]), 1, dim, base)
        allowed = rounding.cosine(reach, "float64") + reference.stored(name)
        rows.exceeds(
            quantity, furthest.error(), 0.0, bound=CONTRADICTION_MARGIN * allowed, subject=_CODES,
            pair=furthest.pair, road=road, **common,
            basis="margin: ten times what a table in float64, rounded once, can err by",
            contradicts=("angles", f"largest error of a cosine or sine, {name}, position "
                         f"{position}, {best}", _CODES),
        )  # fmt: skip


# --- codes that come near to one another ------------------------------------------------------


def distances(dim: int, base: float, largest: int) -> Tensor:
    """Distances of the codes of positions 1 to ``largest`` from that of 0, in float64."""
    positions = torch.arange(1, largest + 1, dtype=torch.float64)
    squares = torch.zeros_like(positions)
    for theta in rotary.frequencies(dim, base, torch.float64):
        # A chord of the circle: by its half angle, for 1 - cos loses digits where codes are near.
        squares += (2 * torch.sin(positions * (theta / 2))).square()
    return squares.sqrt()


@SUITE.case("near returns")
def near_returns(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The offset at which the codes of two positions are nearest, by head size."""
    base, largest = parameters["base"], parameters["largest_offset"]
    for dim in parameters["code_head_dims"]:
        thetas = exact_rotary.frequencies(dim, base)
        apart = distances(dim, base, largest)
        nearest = int(apart.argmin()) + 1
        common = {"subject": "posinfo.encodings.rotary.frequencies", "head_dim": dim, "base": base}
        _distance_row(rows, "nearest codes", nearest, apart, thetas, common)
        beyond = int(apart[1:].argmin()) + 2
        _distance_row(rows, "nearest codes of positions that are no neighbours", beyond, apart,
                      thetas, common)  # fmt: skip
        if nearest == 1:
            rows.equals(
                f"offset of the nearest codes, d={dim}", nearest, 1, evidence="float32",
                basis=f"every offset up to {largest} was tried: neighbours are nearest",
                offset=nearest, **common,
            )  # fmt: skip
            continue
        rows.exceeds(
            f"how many times nearer than neighbours the nearest codes are, d={dim}",
            (apart[0] / apart[nearest - 1]).item(), 0.0, bound=CONTRADICTION_MARGIN,
            evidence="float32", basis="margin: ten times nearer", offset=nearest, **common,
        )  # fmt: skip
        if dim == 2:
            rows.equals(
                f"offset of the nearest codes, d={dim}", nearest, codes.best_whole_turn(largest),
                evidence="reference", offset=nearest, **common,
                basis="continued fraction of 1/(2π): the whole number of radians nearest to turns",
            )  # fmt: skip
            continue
        # Each pair is off a whole turn by at most its chord, and that is no longer than the
        # distance: sin(pi x) <= distance / 2.
        turned = nearest * float(thetas[-1]) / (2 * math.pi)
        rows.within(
            f"turns of the slowest pair at the nearest return, d={dim}", turned, round(turned),
            bound=math.asin(apart[nearest - 1].item() / 2) / math.pi, evidence="reference",
            offset=nearest, pair=dim // 2 - 1, **common,
            basis="a chord: no pair is further from whole turns than the code's distance allows",
        )  # fmt: skip


def _distance_row(
    rows: Recorder, what: str, offset: int, apart: Tensor, thetas: Any, common: dict[str, Any]
) -> None:
    """A distance found in float64, against 50 digits at the same offset."""
    dim, base = common["head_dim"], common["base"]
    unit = rounding.UNIT["float64"]
    # Each chord errs by its angle's error and by two units in the last place of a sine; the root
    # of their squares by no more than the root of the squares of that, and by its own rounding.
    reach = math.sqrt(math.fsum(
        (_bound("float64", offset, float(theta), pair, dim, base) + 4 * unit) ** 2
        for pair, theta in enumerate(thetas)
    ))  # fmt: skip
    exact = float(codes.distance(offset, thetas))
    reach += (dim / 2 + 2) * unit * exact
    rows.within(
        f"distance of the {what}, d={dim}", apart[offset - 1].item(), exact,
        bound=reach, evidence="float32", offset=offset,
        basis="rounding analysis in float64: angles, sines, and the sum of their squares",
        **common,
    )  # fmt: skip


@SUITE.case("stored codes")
def stored_codes(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Codes computed in float64 and stored in each precision: what is still told apart."""
    base, largest = parameters["base"], parameters["largest_offset"]
    count = parameters["compared_positions"]
    for dim in parameters["code_head_dims"]:
        nearest, place = (x.item() for x in distances(dim, base, largest).min(dim=0))
        offset = place + 1
        for name in parameters["dtypes"]:
            common = {"head_dim": dim, "base": base, "dtype": name, "evidence": "float32",
                      "road": "float64, then rounded"}  # fmt: skip
            # What is stored moves each of two codes by at most this much in each component.
            moved = 2 * math.sqrt(dim) * reference.stored(name)
            # Not the other way round: NaN is to make a row too, of outcome error.
            if not nearest <= CONTRADICTION_MARGIN * moved:
                rows.exceeds(
                    f"distance of the nearest codes, d={dim}, stored in {name}", nearest, 0.0,
                    bound=CONTRADICTION_MARGIN * moved, subject=_FREQUENCIES,
                    basis="margin: ten times what storing can move two codes by", **common,
                )  # fmt: skip
                continue
            code = _code(torch.arange(count + offset), dim, base, torch.float64).to(DTYPES[name])
            same = (code[:count] == code[offset:]).all(dim=-1).sum().item()
            if same:
                rows.exceeds(
                    f"positions below {count} with the very code of {offset} later, d={dim}, "
                    f"stored in {name}",
                    same, 0, bound=1, subject=_CODES, offset=offset, length=count,
                    basis="a count, at least one: equal bit for bit", **common,
                )  # fmt: skip
                continue
            _nearly_same(rows, dim, base, name, nearest, offset, parameters, common)


def _nearly_same(
    rows: Recorder, dim: int, base: float, name: str, nearest: float, offset: int,
    parameters: Mapping[str, Any], common: dict[str, Any],
) -> None:  # fmt: skip
    """Codes that storing leaves different, with little to spare: how little, in how many parts."""
    largest, count = parameters["largest_offset"], parameters["compared_positions"]
    reach = _bound("float64", largest + count, 1.0, 1, dim, base)
    each = reference.stored_nearest(name) + rounding.cosine(reach, "float64")
    rows.exceeds(
        f"distance of the nearest codes, d={dim}, against what storing in {name} does to two",
        nearest, 0.0, bound=2 * math.sqrt(dim) * each, subject=_FREQUENCIES, offset=offset,
        basis="rounding analysis: half a unit in the last place below 1, for each component of "
        "both codes; what is nearer could fall together", **common,
    )  # fmt: skip
    code = _code(torch.arange(max(largest, count + offset)), dim, base, torch.float64)
    code = code.to(DTYPES[name])
    rows.equals(
        f"positions below {largest} that share their code with none, d={dim}, stored in {name}",
        _alone(code[:largest]), largest, subject=_CODES, length=largest,
        basis="no two may fall together: each was compared with all", **common,
    )  # fmt: skip
    differing = (code[:count] != code[offset : count + offset]).sum(dim=-1)
    rows.exceeds(
        f"positions below {count} whose code differs from that of {offset} later in one component "
        f"alone, d={dim}, stored in {name}",
        (differing == 1).sum().item(), 0, bound=1, subject=_CODES, offset=offset, length=count,
        basis="a count, at least one", **common,
    )  # fmt: skip


def _alone(code: Tensor) -> float:
    """How many rows of a table [T, d] equal no other row; NaN if there is one in it."""
    if code.isnan().any():
        return math.nan
    # Rows become whole numbers, a column at a time: the number of each among those found so far.
    numbers = torch.zeros(len(code), dtype=torch.int64)
    for column in code.unbind(dim=-1):
        _, values = torch.unique(column.double(), return_inverse=True)
        _, numbers, counts = torch.unique(
            numbers * (values.max() + 1) + values, return_inverse=True, return_counts=True
        )
    return (counts == 1).sum().item()
