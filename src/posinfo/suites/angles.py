"""Frequencies and angles against arbitrary precision, and the rotation's values themselves."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import torch

from posinfo.encodings import rotary
from posinfo.proofs import rotation as proofs
from posinfo.reference import rotary as reference
from posinfo.reference import rounding
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import Comparison, draw, prove

SUITE = Suite(
    "angles",
    "Frequencies, angles, cosines and the rotation itself",
    columns=("head_dim", "base", "position", "pair"),
)

_FREQUENCIES = "posinfo.encodings.rotary.frequencies"
_ANGLES = "posinfo.encodings.rotary.angles"
_ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
_COMPLEX = "posinfo.encodings.rotary.rotate_complex"
_PAIR = "posinfo.encodings.rotary.rotate_pair"
_FREQUENCY_BASIS = "rounding analysis: pow within one ulp, one reciprocal, a rounded exponent"
_ANGLE_BASIS = "rounding analysis: the frequency's error and one product, times the position"


@SUITE.case("proof")
def proof(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Exact arithmetic: what the rotation is, what it keeps, and what a score depends on.

    The proofs that norms and offsets rest on stand here too: importing sympy takes a third of
    the time that importing torch does, and those two suites can then be rerun without it.
    """
    for shown in (
        proofs.counter_clockwise,
        proofs.composition,
        proofs.orthogonal,
        proofs.determinant,
        proofs.pair_norm,
        proofs.relative,
        proofs.offset_formula,
    ):
        prove(rows, shown, _PAIR)


@SUITE.case("lesson table")
def lesson_table(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The lesson's table of frequencies, and its angles at each position it names."""
    dim, base = parameters["lesson_b"]["head_dim"], parameters["base"]
    exact = reference.frequencies(dim, base)
    thetas = rotary.frequencies(dim, base)
    bound = rounding.frequency(dim, base)
    common = {"head_dim": dim, "base": base, "evidence": "float32"}
    for pair, theta in enumerate(exact):
        rows.within(
            f"theta of pair {pair}", thetas[pair].item(), float(theta),
            bound=float(theta) * bound, subject=_FREQUENCIES, basis=_FREQUENCY_BASIS,
            pair=pair, **common,
        )  # fmt: skip
    positions = parameters["lesson_positions"]
    measured = rotary.angles(torch.tensor(positions), thetas)
    for row, position in enumerate(positions):
        for pair, theta in enumerate(exact):
            rows.within(
                f"angle of pair {pair} at position {position}", measured[row, pair].item(),
                float(reference.angle(position, theta)),
                bound=rounding.angle(position, float(theta), bound),
                subject=_ANGLES, basis=_ANGLE_BASIS, pair=pair, position=position, **common,
            )  # fmt: skip
        # Pair 0 has frequency 1 exactly, so its angle is the position itself.
        rows.equals(
            f"angle of pair 0 at position {position}, bit for bit", measured[row, 0].item(),
            float(position), subject=_ANGLES,
            basis="a power of zero is exactly 1, and a whole position is held exactly",
            pair=0, position=position, **common,
        )  # fmt: skip
        turn = torch.remainder(measured[row, 0], 2 * math.pi).item()
        with mpmath.workdps(reference.DIGITS):
            within_turn = float(mpmath.fmod(position, 2 * mpmath.pi))
        # The remainder is exact for float32's own 2 pi, which is off by less than u * 2 pi a turn.
        turns = position / (2 * math.pi)
        rows.within(
            f"angle of pair 0 at position {position}, within one turn", turn, within_turn,
            bound=(2 * math.pi * turns + 2 * math.pi) * rounding.UNIT["float32"],
            subject="torch.remainder", basis="rounding analysis: 2π in float32, once a turn",
            pair=0, position=position, **common,
        )  # fmt: skip


@SUITE.case("frequencies")
def frequencies(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """All frequencies of each width and base, both ways of writing the formula."""
    for dim in parameters["head_dims"]:
        for base in parameters["bases"]:
            exact = [float(theta) for theta in reference.frequencies(dim, base)]
            thetas = rotary.frequencies(dim, base).double()
            errors = (thetas / torch.tensor(exact, dtype=torch.float64) - 1).abs()
            setting = f"d={dim} base={base:g}"
            common = {"head_dim": dim, "base": base, "evidence": "float32"}
            rows.equals(
                f"number of frequencies, {setting}", len(thetas), dim // 2,
                subject=_FREQUENCIES, basis="one a pair", **common,
            )  # fmt: skip
            rows.within(
                f"largest relative error of a frequency, {setting}", errors.max().item(), 0.0,
                bound=rounding.frequency(dim, base), subject=_FREQUENCIES,
                basis=_FREQUENCY_BASIS, **common,
            )  # fmt: skip
            exponents = 2 * torch.arange(dim // 2, dtype=torch.float32) / dim
            by_exp = torch.exp(-math.log(base) * exponents).double()
            # exp turns the absolute error of its argument into a relative one: ln b is rounded,
            # then multiplied by the exponent, and exp itself is within one ulp.
            amplified = 2 * math.log(base) + 2
            rows.within(
                f"largest relative difference of exp(-2i/d ln b) and b^(-2i/d), {setting}",
                (by_exp / thetas - 1).abs().max().item(), 0.0,
                bound=rounding.frequency(dim, base)
                + rounding.gamma(amplified),
                subject="torch.exp",
                basis="rounding analysis: the argument's error, two roundings of ln b, and one ulp",
                **common,
            )  # fmt: skip


@SUITE.case("angles")
def angles(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Angles, and their cosines and sines, at positions up to those of long contexts."""
    for dim in parameters["head_dims"]:
        for base in parameters["bases"]:
            exact = reference.frequencies(dim, base)
            bound = rounding.frequency(dim, base)
            positions = parameters["positions"]
            measured = rotary.angles(torch.tensor(positions), rotary.frequencies(dim, base))
            for row, position in enumerate(positions):
                _angle_row(rows, dim, base, position, measured[row], exact, bound)


def _angle_row(
    rows: Recorder,
    dim: int,
    base: float,
    position: int,
    measured: torch.Tensor,
    exact: Sequence[mpmath.mpf],
    bound: float,
) -> None:
    """The pairs whose angle and whose cosine or sine come closest to their bounds."""
    common = {"head_dim": dim, "base": base, "position": position, "evidence": "float32"}
    setting = f"d={dim} base={base:g}, position {position}"
    found_angles: list[Comparison] = []
    found_turns: list[Comparison] = []
    cosines, sines = measured.cos(), measured.sin()
    for pair, theta in enumerate(exact):
        angle = reference.angle(position, theta)
        angle_bound = rounding.angle(position, float(theta), bound)
        found_angles.append(Comparison(measured[pair].item(), float(angle), angle_bound, pair))
        with mpmath.workdps(reference.DIGITS):
            exact_turn = (float(mpmath.cos(angle)), float(mpmath.sin(angle)))
        for value, expected in zip((cosines[pair], sines[pair]), exact_turn, strict=True):
            found_turns.append(
                Comparison(value.item(), expected, rounding.cosine(angle_bound), pair)
            )
    worst_angle = max(found_angles, key=Comparison.used)
    worst_turn = max(found_turns, key=Comparison.used)
    rows.within(
        f"angle nearest its bound, {setting}", worst_angle.measured, worst_angle.exact,
        bound=worst_angle.bound, subject=_ANGLES, basis=_ANGLE_BASIS, pair=worst_angle.pair,
        **common,
    )  # fmt: skip
    rows.within(
        f"cosine or sine nearest its bound, {setting}", worst_turn.measured, worst_turn.exact,
        bound=worst_turn.bound, subject="torch.cos and torch.sin",
        basis="rounding analysis: the angle's error, and one ulp", pair=worst_turn.pair, **common,
    )  # fmt: skip


@SUITE.case("rotation")
def rotation(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Rotated vectors against arbitrary precision: sign, order of pairs and pairing all show."""
    dim, base, seed = parameters["lesson_b"]["head_dim"], parameters["base"], parameters["seed"]
    exact = reference.frequencies(dim, base)
    bound = rounding.frequency(dim, base)
    thetas = rotary.frequencies(dim, base)
    for position in parameters["lesson_positions"]:
        x = draw((1, 1, 1, dim), seed)
        angle = rotary.angles(torch.tensor([position]), thetas)
        by_complex, _ = rotary.rotate_complex(x, x, rotary.unit_complex(angle))
        for subject, turned in (
            (_ADJACENT, rotary.rotate_adjacent(x, angle)),
            (_COMPLEX, by_complex),
        ):
            components: list[Comparison] = []
            for pair, theta in enumerate(exact):
                first, second = (x.flatten()[2 * pair + n].item() for n in (0, 1))
                expected = reference.turned(first, second, reference.angle(position, theta))
                angle_bound = rounding.angle(position, float(theta), bound)
                limit = math.hypot(first, second) * (
                    angle_bound + rounding.ROTATION * rounding.UNIT["float32"]
                )
                for n in (0, 1):
                    value = turned.flatten()[2 * pair + n].item()
                    components.append(Comparison(value, float(expected[n]), limit, pair))
            worst = max(components, key=Comparison.used)
            rows.within(
                f"rotated component nearest its bound, position {position}",
                worst.measured, worst.exact, bound=worst.bound, subject=subject, evidence="float32",
                basis="rounding analysis: the angle's error and one rotation of the pair",
                head_dim=dim, base=base, position=position, pair=worst.pair,
            )  # fmt: skip
    x = draw((1, 1, 1, dim), seed)
    _planes(rows, x, rotary.angles(torch.tensor([parameters["lesson_positions"][-1]]), thetas))
    at_zero = rotary.angles(torch.tensor([0]), thetas)
    rows.equals(
        "largest change of a vector at position 0",
        (rotary.rotate_adjacent(x, at_zero) - x).abs().max().item(), 0.0,
        subject=_ADJACENT, evidence="float32", head_dim=dim, base=base, position=0,
        basis="cos 0 is exactly 1 and sin 0 exactly 0: equal bit for bit",
    )  # fmt: skip


def _planes(rows: Recorder, x: torch.Tensor, angle: torch.Tensor) -> None:
    """What one pair holds reaches that pair alone: change it, and the others stay as they were."""
    moved = x.clone()
    moved[..., :2] += 1
    by_complex = [rotary.rotate_complex(y, y, rotary.unit_complex(angle))[0] for y in (x, moved)]
    by_pairs = [rotary.rotate_adjacent(y, angle) for y in (x, moved)]
    for subject, (before, after) in ((_ADJACENT, by_pairs), (_COMPLEX, by_complex)):
        change = (after - before).abs().flatten()
        rows.equals(
            "largest change of the other pairs when the first pair is changed",
            change[2:].max().item(), 0.0, subject=subject, evidence="float32",
            basis="no pair is computed from another: equal bit for bit",
        )  # fmt: skip
        rows.exceeds(
            "largest change of the first pair when it is changed",
            change[:2].max().item(), 0.0, bound=0.5, subject=subject, evidence="float32",
            basis="both components moved by 1: a turned step of length 1.4 has one of at least 1",
        )  # fmt: skip
