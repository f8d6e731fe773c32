"""The lessons' own three checks of a rotation, as they set them.

Lesson A's exercise takes one vector for query and key, and compares the dot products at (3, 3) and
(13, 13), and at (3, 103) and (13, 113). Lesson B looks at the shape, and at the norms to 1e-5. They
are asked beside the battery, to show what they let through; nothing else rests on them.
"""

import math

import numpy as np

from posinfo.battery.base import Battery, Check, Finding, stated, verdict
from posinfo.battery.rotary import Probe

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


def _equal_scores(probe: Probe) -> Finding:
    x = probe.draw(1, probe.widths()[0])

    def score(i: int, j: int) -> float:
        q, _ = probe.turn(x, x, [i])
        _, k = probe.turn(x, x, [j])
        return float((q.double() * k.double()).sum())

    gaps = [abs(score(3, j) - score(13, j + 10)) for j in (3, 103)]
    return verdict(float(np.max(gaps)), FOUR_DECIMALS, "(3, 3) and (13, 13), (3, 103) and "
                   "(13, 113)")  # fmt: skip


CHECKS = (
    Check("lesson B: shape", "the shape is kept", "", _shape),
    Check("lesson B: norm", "norms agree to 1e-5", "norm", _norm),
    Check("lesson A: equal scores", "two pairs of dot products agree", "score", _equal_scores),
)

BATTERY = Battery("lessons", CHECKS, Probe)
