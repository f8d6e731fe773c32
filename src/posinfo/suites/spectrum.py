"""What distances training shows, and what scores do over distance.

Turns of each pair within the trained length, by another road than the suite ``extension`` goes;
pairs of positions at distances that training never shows, counted; and the sum of cosines over
distance, for constant vectors, for one random vector and for two.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from posinfo.encodings import rotary
from posinfo.reference import codes, rounding
from posinfo.reference import rotary as reference
from posinfo.reference import scaling as scaling_reference
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import Comparison, draw
from posinfo.suites.offsets import pairwise_dot

SUITE = Suite(
    "spectrum",
    "Distances that training shows, and scores over distance",
    columns=(
        "model", "head_dim", "base", "trained_length", "factor", "vectors", "distance", "octave",
        "size",
    ),
)  # fmt: skip

_FREQUENCIES = "posinfo.encodings.rotary.frequencies"
_ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
_COUNTED = "positions of a causal model"
_U64 = rounding.UNIT["float64"]
#: So many standard deviations a mean over draws may be off: about one in a billion is, by chance.
_DEVIATIONS = 6.0
_BLOCK = 2**14


# --- turns ------------------------------------------------------------------------------------


def pairs_with_an_open_arc(thetas: Tensor, length: int) -> list[int]:
    """Pairs that leave an arc of the circle longer than their step unvisited by so many positions.

    A pair that completed a turn steps over every arc: the angles it visited, sorted round the
    circle, are nowhere further apart than one step.
    """
    turned = torch.outer(torch.arange(length, dtype=thetas.dtype), thetas)
    visited = torch.remainder(turned, 2 * math.pi).sort(dim=0).values
    round_the_end = visited[:1] + 2 * math.pi - visited[-1:]
    widest = torch.cat([visited.diff(dim=0), round_the_end]).max(dim=0).values
    return (widest > thetas * (1 + 1e-6)).nonzero().flatten().tolist()


@SUITE.case("turns")
def turns(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Turns of each pair within the trained length, and how many pairs never complete one."""
    for setting in parameters["settings"]:
        dim, base, length = (setting[key] for key in ("head_dim", "base", "trained_length"))
        thetas = rotary.frequencies(dim, base)
        made = (thetas * length / (2 * math.pi)).double().tolist()
        exact = scaling_reference.turns(dim, base, length)
        bound = (rounding.frequency(dim, base) + 3 * rounding.UNIT["float32"]) * (
            rounding.SECOND_ORDER
        )
        found = [
            Comparison(value, float(turned), float(turned) * bound, pair)
            for pair, (value, turned) in enumerate(zip(made, exact, strict=True))
        ]
        worst = max(found, key=Comparison.used)
        common = {"evidence": "float32", "model": setting["name"], "head_dim": dim, "base": base,
                  "trained_length": length, "subject": _FREQUENCIES}  # fmt: skip
        rows.within(
            f"turns nearest their bound, {setting['name']}", worst.measured, worst.exact,
            bound=worst.bound, basis="rounding analysis: the frequency, two products, and 2π",
            **common,
        )  # fmt: skip
        unvisited = pairs_with_an_open_arc(rotary.frequencies(dim, base, torch.float64), length)
        rows.equals(
            f"pairs that leave an arc of the circle unvisited, {setting['name']}", str(unvisited),
            str([pair for pair, turned in enumerate(exact) if turned < 1]),
            basis="sorted angles, against the turns in 50 digits: those that complete none",
            **common,
        )  # fmt: skip
        rows.equals(
            f"number of those pairs, {setting['name']}", len(unvisited),
            scaling_reference.pairs_below_one_turn(dim, base, length),
            basis="a count: the closed form in 50 digits gives the same", **common,
        )  # fmt: skip


# --- distances --------------------------------------------------------------------------------


def _distances(length: int) -> Tensor:
    """Distances i - j of all causal pairs of positions, one entry a pair."""
    positions = torch.arange(length)
    apart = positions.unsqueeze(1) - positions
    return apart[apart >= 0]


@SUITE.case("unseen distances")
def unseen_distances(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Causal pairs of a longer context whose distance no trained sequence has."""
    short = parameters["enumerated_length"]
    seen = _distances(short)
    common = {"evidence": "float32", "subject": _COUNTED, "trained_length": short}
    often = torch.bincount(seen)
    for distance, times in ((0, short), (short - 1, 1)):
        rows.equals(
            f"times that a sequence of {short} shows the distance {distance}",
            often[distance].item(), times, distance=distance,
            basis="a count: a sequence has as many such pairs as positions that far from its end",
            **common,
        )  # fmt: skip
    for factor in parameters["factors"]:
        longer = int(factor * short)
        all_pairs = _distances(longer)
        new = torch.isin(all_pairs, seen.unique(), invert=True)
        setting = f"length {short} made {factor:g} times longer"
        rows.equals(
            f"distances never seen, {setting}", len(all_pairs[new].unique()), longer - short,
            factor=factor, basis="an enumeration of all pairs: those from the length on", **common,
        )  # fmt: skip
        rows.equals(
            f"pairs at distances never seen, {setting}", new.sum().item(),
            codes.unseen_pairs(short, longer), factor=factor,
            basis="an enumeration of all pairs: a triangle, (n − L)(n − L + 1)/2", **common,
        )  # fmt: skip
    for setting in parameters["settings"]:
        for factor in parameters["factors"]:
            _unseen_rows(rows, setting, factor)


def _unseen_rows(rows: Recorder, setting: Mapping[str, Any], factor: float) -> None:
    trained = setting["trained_length"]
    length = int(factor * trained)
    # A query at i sees i + 1 keys, of which those at distances below L are known.
    unseen = (torch.arange(length) + 1 - trained).clamp(min=0)
    label = f"{setting['name']} at {factor:g} times its length"
    common = {"evidence": "float32", "subject": _COUNTED, "model": setting["name"],
              "trained_length": trained, "factor": factor}  # fmt: skip
    rows.equals(
        f"pairs at distances never seen, {label}", unseen.sum().item(),
        codes.unseen_pairs(trained, length), basis="a count by query: a triangle", **common,
    )  # fmt: skip
    rows.within(
        f"share of pairs at distances never seen, {label}",
        unseen.sum().item() / codes.causal_pairs(length), (1 - 1 / factor) ** 2,
        # U (U + 1) / (N (N + 1)) - (U / N)^2 = U (N - U) / (N^2 (N + 1)).
        bound=1 / (length + 1), **common,
        basis="a count, and its limit (1 − 1/s)²: they differ by less than one over the length",
    )  # fmt: skip
    rows.equals(
        f"queries with a key at a distance never seen, {label}", (unseen > 0).sum().item(),
        length - trained, basis="a count: every query from the trained length on", **common,
    )  # fmt: skip
    rows.equals(
        f"keys of the last query at distances never seen, {label}", unseen[-1].item(),
        length - trained, basis="a count: all but the last L of them", **common,
    )  # fmt: skip


# --- the sum of cosines -----------------------------------------------------------------------


class Octave(NamedTuple):
    """Distances from ``start`` to twice that, less one, and the mean cosine of each."""

    start: int
    values: Tensor

    @property
    def size(self) -> float:
        """Root mean square over the octave."""
        return self.values.square().mean().sqrt().item()


def mean_cosines(dim: int, base: float, first: int, last: int) -> Tensor:
    """Mean over pairs of cos(distance theta), distances ``first`` to ``last`` - 1, in float64.

    The score of constant vectors over their squared norm: 1 at distance 0.
    """
    thetas = rotary.frequencies(dim, base, torch.float64)
    blocks = []
    # Blocks that stay in a processor's cache: twice as fast.
    for start in range(first, last, _BLOCK):
        distances = torch.arange(start, min(start + _BLOCK, last), dtype=torch.float64)
        total = torch.zeros_like(distances)
        for theta in thetas:
            total += (distances * theta).cos_()
        blocks.append(total)
    return torch.cat(blocks) / (dim // 2)


def _octaves(parameters: Mapping[str, Any], base: float) -> Iterator[Octave]:
    for number in range(parameters["octaves"]):
        start = 2**number
        yield Octave(start, mean_cosines(parameters["head_dim"], base, start, 2 * start))


def _cosine_bound(dim: int, base: float, distance: int) -> float:
    """Bound on a mean of cosines in float64: the angles' errors, one ulp each, and the sum."""
    thetas = [float(theta) for theta in reference.frequencies(dim, base)]
    relative = rounding.frequency(dim, base, "float64")
    reach = math.fsum(
        rounding.cosine(rounding.angle(distance, theta, relative, "float64"), "float64")
        for theta in thetas
    )
    return reach / len(thetas) + (len(thetas) + 1) * _U64


@SUITE.case("sum of cosines")
def sum_of_cosines(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Scores of constant vectors by octave of distance: largest, smallest, and how they change."""
    dim = parameters["head_dim"]
    for base, growing in zip(parameters["bases"], parameters["growing"], strict=True):
        common = {"subject": _FREQUENCIES, "head_dim": dim, "base": base, "vectors": "constant",
                  "evidence": "float32"}  # fmt: skip
        thetas = reference.frequencies(dim, base)
        before: Octave | None = None
        first_negative = 0
        for octave in _octaves(parameters, base):
            setting = f"distances {octave.start} to {2 * octave.start - 1}, base {base:.10g}"
            for name, place in (
                ("largest", int(octave.values.argmax())), ("smallest", int(octave.values.argmin())),
            ):  # fmt: skip
                distance = octave.start + place
                rows.within(
                    f"{name} mean cosine, {setting}", octave.values[place].item(),
                    float(codes.mean_cosine(distance, thetas)),
                    bound=_cosine_bound(dim, base, distance), octave=octave.start,
                    basis="rounding analysis in float64: angles, cosines, and their sum",
                    distance=distance, **common,
                )  # fmt: skip
            if before:
                _change_row(rows, before, octave, 1 if octave.start in growing else -1, common)
            negative = (octave.values < 0).nonzero()
            if len(negative) and not first_negative:
                first_negative = octave.start + int(negative[0])
                _negative_rows(rows, first_negative, thetas, octave, common)
            before = octave
        until = parameters["rises_until"]
        near = mean_cosines(dim, base, 1, until + 1)
        rises = near.diff()
        place = int(rises.argmax())
        rows.exceeds(
            f"largest rise from one distance to the next, up to {until}, base {base:.10g}",
            near[place + 1].item(), near[place].item(),
            bound=10 * 2 * _cosine_bound(dim, base, until),
            distance=place + 1, basis="margin: ten times what rounding can do", **common,
        )  # fmt: skip


def _change_row(
    rows: Recorder, before: Octave, octave: Octave, expected: int, common: dict[str, Any]
) -> None:
    """Whether an octave is smaller or larger in size than the one before, beyond rounding."""
    bound = _cosine_bound(common["head_dim"], common["base"], 2 * octave.start)
    change = octave.size - before.size
    rows.equals(
        f"change in size from the octave before, distances {octave.start} to "
        f"{2 * octave.start - 1}, base {common['base']:.10g}",
        math.copysign(1, change) if abs(change) > 10 * 2 * bound else 0, expected,
        octave=octave.start, distance=octave.start, size=octave.size, **common,
        basis="a sign, of a difference of root mean squares beyond ten times their rounding",
    )  # fmt: skip


def _negative_rows(
    rows: Recorder, distance: int, thetas: Any, octave: Octave, common: dict[str, Any]
) -> None:
    """The first distance with a negative mean cosine, and that its sign is beyond rounding."""
    base = common["base"]
    bound = _cosine_bound(common["head_dim"], base, distance)
    value = octave.values[distance - octave.start].item()
    exact = float(codes.mean_cosine(distance, thetas))
    rows.equals(
        f"sign of the mean cosine at its first negative distance, base {base:.10g}",
        math.copysign(1, exact), -1, evidence="reference", distance=distance,
        octave=octave.start, subject="posinfo.reference.codes.mean_cosine",
        basis="arbitrary precision: below zero at the distance that float64 finds",
        **{key: common[key] for key in ("head_dim", "base", "vectors")},
    )  # fmt: skip
    rows.exceeds(
        f"mean cosine at its first negative distance, base {base:.10g}", value, 0.0,
        bound=10 * bound, distance=distance, octave=octave.start,
        basis="margin: ten times what rounding can do", **common,
    )  # fmt: skip


def _rotated_scores(q: Tensor, k: Tensor, distance: int, base: float) -> Tensor:
    """Scores [n] of queries at ``distance`` and keys at 0, both [n, d] in float64."""
    thetas = rotary.frequencies(q.shape[-1], base, torch.float64)
    at = rotary.angles(torch.tensor([distance]), thetas)
    return pairwise_dot(rotary.rotate_adjacent(q, at), k)


@SUITE.case("random vectors")
def random_vectors(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Scores of random vectors by distance, of two of them, and of one vector with itself."""
    dim, draws = parameters["head_dim"], parameters["draws"]
    q, k = (draw((draws, dim), parameters["seed"] + n, torch.float64) for n in range(2))
    # Given k, a score is normal with variance |k|^2, at any distance: its square has the mean d,
    # and the variance 3 E|k|^4 - d^2 = 2 d^2 + 6 d.
    deviation = math.sqrt((2 * dim**2 + 6 * dim) / draws)
    at_zero = pairwise_dot(q, k)
    for base in parameters["bases"]:
        for distance in parameters["distances"]:
            common = {"subject": _ADJACENT, "evidence": "float32", "head_dim": dim, "base": base,
                      "distance": distance}  # fmt: skip
            setting = f"distance {distance}, base {base:.10g}"
            scores = _rotated_scores(q, k, distance, base)
            rows.within(
                f"mean square of a score over the width, {setting}",
                scores.square().mean().item() / dim, 1.0, bound=_DEVIATIONS * deviation / dim,
                basis="six standard deviations of the mean over the draws, by the normal law",
                vectors="two random vectors", **common,
            )  # fmt: skip
            larger = (scores.abs() > at_zero.abs()).double().mean().item()
            rows.within(
                f"share of scores that are larger than at distance 0, {setting}", larger, 0.5,
                bound=_DEVIATIONS * 0.5 / math.sqrt(draws), vectors="two random vectors",
                basis="six standard deviations of a share of one half: both scores have one law",
                **common,
            )  # fmt: skip
            # Of one vector each pair has an exchangeable share of the squared norm, of mean 2/d:
            # the expected score over the squared norm is the mean cosine. Its variance is
            # (mean square of cosines - square of their mean) / (d/2 + 1).
            exact = [math.cos(float(angle)) for angle in _reduced(distance, dim, base)]
            mean = math.fsum(exact) / len(exact)
            spread = math.fsum((value - mean) ** 2 for value in exact) / len(exact)
            same = _rotated_scores(q, q, distance, base) / q.square().sum(dim=-1)
            rows.within(
                f"mean score over the squared norm, {setting}", same.mean().item(),
                float(codes.mean_cosine(distance, reference.frequencies(dim, base))),
                bound=_DEVIATIONS * math.sqrt(spread / (dim / 2 + 1) / draws)
                + _cosine_bound(dim, base, distance), vectors="one random vector",
                basis="six standard deviations of the mean over the draws, and float64's rounding",
                **common,
            )  # fmt: skip
            constant = torch.ones(1, dim, dtype=torch.float64)
            for name, vectors in (
                ("two random vectors", (q, k)), ("constant", (constant, constant)),
            ):  # fmt: skip
                _paper_bound_row(rows, *vectors, name, setting, common)


def _reduced(distance: int, dim: int, base: float) -> list[float]:
    """Angles of all pairs at a distance, within one turn, from 50 digits."""
    return [
        math.atan2(float(y), float(x))
        for x, y in (
            reference.turned(1, 0, reference.angle(distance, theta))
            for theta in reference.frequencies(dim, base)
        )
    ]


def _paper_bound_row(
    rows: Recorder, q: Tensor, k: Tensor, vectors: str, setting: str, common: dict[str, Any]
) -> None:
    """RoFormer's bound on a score, in units of the sum of the pairs' sizes, which bounds it too.

    The paper writes the score as the real part of the sum of h_i exp(i m theta_i), h_i the
    product of query and conjugate key as complex pairs, and bounds it by Abel's transformation:
    max |h_(i+1) - h_i| times the sum of |S_(i+1)|, S_j being the sum of the first j factors, and
    h_(d/2) = 0.
    """
    pairs = (
        torch.view_as_complex(q.unflatten(-1, (-1, 2)))
        * torch.view_as_complex(k.unflatten(-1, (-1, 2))).conj()
    )
    reduced = _reduced(common["distance"], q.shape[-1], common["base"])
    angles = torch.tensor(reduced, dtype=torch.float64)
    partial = torch.polar(torch.ones_like(angles), angles).cumsum(dim=0).abs().sum()
    following = torch.cat([pairs[:, 1:], torch.zeros_like(pairs[:, :1])], dim=-1)
    bounds = (following - pairs).abs().max(dim=-1).values * partial
    least = (bounds / pairs.abs().sum(dim=-1)).min().item()
    rows.exceeds(
        f"least of the paper's bounds over the sum of the pairs' sizes, {vectors}, {setting}",
        least, 0.0, bound=1.0, vectors=vectors,
        basis="the triangle inequality: no score exceeds that sum, so a larger bound says nothing",
        **{**common, "subject": "RoFormer, equation 37"},
    )  # fmt: skip
