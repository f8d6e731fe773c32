"""The lessons' own three checks of a rotation, as they set them, and a better exercise.

Lesson A's exercise takes one vector for query and key, and compares the dot products at (3, 3) and
(13, 13), and at (3, 103) and (13, 113). Lesson B looks at the shape, and at the norms to 1e-5. They
are asked beside the battery, to show what they let through; nothing else rests on them. So is the
exercise with a query and a key that differ, and with scores that are compared with their values.
"""

import math

import numpy as np
from torch import Tensor

from posinfo.battery.base import Battery, Check, Finding, stated, verdict
from posinfo.battery.rotary import BASES, Probe

#: Lesson B's "max diff < 1e-5".
TOLERANCE = 1e-5
#: The exercise says "equal" and no more: here, to the four decimals that torch prints.
FOUR_DECIMALS = 1e-4


def _shape(probe: Probe) -> Finding:
    q, k = (probe.draw(2, 4, 5, probe.widths()[0], salt=salt) for salt in (1, 2))
    probe.turn(q, k, range(5))
    return stated(True)


def _norm(probe: Probe) -> Finding:
    q, k = (probe.draw(2, 4, 5, probe.widths()[0], salt=salt) for salt in (1, 2))
    worst = 0.0
    for before, after in zip((q, k), probe.turn(q, k, range(5)), strict=True):
        norms = [x.double().norm(dim=-1) for x in (before, after)]
        gap = float((norms[1] - norms[0]).abs().max())
        worst = max(worst, math.inf if math.isnan(gap) else gap)
    return verdict(worst, TOLERANCE, "largest difference of norms")


#: Positions (i, j) of query and key, and how far both are moved.
PAIRS, SHIFT = ((3, 3), (3, 103)), 10


def _scores(probe: Probe, q: Tensor, k: Tensor) -> dict[tuple[int, int], float]:
    """Dot products at the exercise's positions, before and after they are moved."""

    def score(i: int, j: int) -> float:
        turned_q, _ = probe.turn(q, q, [i])
        _, turned_k = probe.turn(k, k, [j])
        return float((turned_q.double() * turned_k.double()).sum())

    moved = [(i + SHIFT, j + SHIFT) for i, j in PAIRS]
    return {(i, j): score(i, j) for i, j in [*PAIRS, *moved]}


def _gap(scores: dict[tuple[int, int], float]) -> Finding:
    gaps = [abs(scores[i, j] - scores[i + SHIFT, j + SHIFT]) for i, j in PAIRS]
    return verdict(float(np.max(gaps)), FOUR_DECIMALS, "(3, 3) and (13, 13), (3, 103) and "
                   "(13, 113)")  # fmt: skip


def _equal_scores(probe: Probe) -> Finding:
    x = probe.draw(1, probe.widths()[0])
    return _gap(_scores(probe, x, x))


def _two_vectors(probe: Probe) -> Finding:
    q, k = (probe.draw(1, probe.widths()[0], salt=salt) for salt in (1, 2))
    return _gap(_scores(probe, q, k))


def _values(probe: Probe) -> Finding:
    width = probe.widths()[0]
    q, k = (probe.draw(1, width, salt=salt) for salt in (1, 2))
    scores = _scores(probe, q, k)
    beyond = probe.rotated(width)
    rest = float((q[..., beyond:].double() * k[..., beyond:].double()).sum())
    # By the relative property, on pairs as complex numbers (arXiv 2104.09864, equation 12).
    products = probe.pairs(q)[0] * np.conj(probe.pairs(k)[0])
    theta = probe.angles(width, [1], BASES[0])[0]
    gaps = {
        (i, j): abs(score - rest - float((products * np.exp(1j * (i - j) * theta)).real.sum()))
        for (i, j), score in scores.items()
    }
    at = max(gaps, key=lambda place: gaps[place])
    return verdict(gaps[at], FOUR_DECIMALS, f"score at {at}")


CHECKS = (
    Check("lesson B: shape", "the shape is kept", "", _shape),
    Check("lesson B: norm", "norms agree to 1e-5", "norm", _norm),
    Check("lesson A: equal scores", "two pairs of dot products agree", "score", _equal_scores),
)

BATTERY = Battery("lessons", CHECKS, Probe)

#: The exercise with what it lacks, one thing after the other.
EXERCISE = Battery(
    "exercise",
    (
        Check("exercise: two vectors", "so they do for a query and a key that differ", "score",
              _two_vectors),
        Check("exercise: values", "and they have their values", "score", _values),
    ),
    Probe,
)  # fmt: skip
