"""What is wrong with a rotary implementation, as far as it can be read off its rotations.

A rotation that is wrong in a way that no known fault has, such as one frequency that is off by
1 %, still shows by how much each pair turns from one position to the next.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from posinfo.battery.base import Misbehaviour
from posinfo.battery.rotary import BASES, Probe, Rotary, _frequencies, _runs_of
from posinfo.reference.rounding import UNIT

#: The last of the positions that are looked at, all from 0 on: a power of two.
LAST = 128
#: In radians: phases further from those of a pair that turns evenly belong to none that does.
EVEN = 1e-2
#: Relative: twice what float32 frequencies may be off by at any width here, and the angle's own.
SPEED = 2 * 32 * UNIT["float32"]
#: In radians: what float32 makes of the phase of a pair, at two positions.
PHASE = 16 * UNIT["float32"]
#: Up to so many wrong pairs are named with a number each.
FEW = 4


def diagnose(subject: Rotary) -> list[str]:
    """What is wrong with the angles of a subject, in words.

    Its queries and keys are turned at the positions from 0 to 128, in no order. If each pair
    turns, and evenly from one position to the next, the speeds are compared with the frequencies.

    Parameters
    ----------
    subject
        The implementation.

    Returns
    -------
    list of str
        A line a finding; none if it does not turn its pairs evenly, or turns them right there.
    """
    probe = Probe(subject)
    for width in probe.widths():
        try:
            both = [_read(probe, width, which) for which in (0, 1)]
        except Misbehaviour:
            return []
        said = [[] if one is None else _words(*one, width) for one in both]
        if said[0] == said[1]:
            lines = said[0]
        else:
            named = zip(("queries", "keys"), said, strict=True)
            lines = [f"{name}: {words}" for name, part in named for words in part]
        if lines:
            return lines
    return []


def _read(probe: Probe, width: int, which: int) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Speeds [d/2] in radians a position, the right ones, and the offset of the positions.

    None if the subject does anything but turn each pair evenly.
    """
    # In no order: rows taken one after the other are no matter of speeds.
    order = torch.randperm(LAST + 1, generator=torch.Generator().manual_seed(1))
    turns = _turns(probe, width, which, order.tolist())
    if turns is None:
        return None
    turns = turns[order.argsort().numpy()]
    phases = np.angle(turns * turns[0].conj())
    speeds = phases[1].copy()
    step = 2
    while step <= LAST:
        # The longer the way, the finer the speed: what was known tells the whole turns.
        speeds += _wrapped(phases[step] - speeds * step) / step
        step *= 2
    everywhere = np.outer(np.arange(LAST + 1), speeds)
    if np.abs(_wrapped(phases - everywhere)).max() > EVEN:
        return None
    speeds = _beyond_half_a_turn(probe, width, which, speeds)
    right = _frequencies(probe.rotated(width), BASES[0])
    start = np.angle(turns[0])
    offset = 0.0
    if np.abs(start).max() > EVEN:
        slow = int(np.argmin(np.abs(speeds)))
        if abs(speeds[slow]) < PHASE:
            return None
        offset = round(start[slow] / speeds[slow], 2)
        if np.abs(_wrapped(start - offset * speeds)).max() > EVEN:
            return None
    return speeds, right, offset


def _turns(probe: Probe, width: int, which: int, positions: Sequence[float]) -> np.ndarray | None:
    """What each pair is multiplied by, [T, d/2] in complex128; None if it is no rotation."""
    found = []
    for salt in (1, 2):
        x = probe.draw(len(positions), width, salt=salt)
        # No pair is so short that rounding turns it.
        x = torch.where(x < 0, x - 0.5, x + 0.5)
        after = probe.turn(x, x, positions)[which]
        found.append(probe.pairs(after) / probe.pairs(x))
    if np.abs(np.abs(found[0]) - 1).max() > EVEN or np.abs(found[0] - found[1]).max() > EVEN:
        return None
    return found[0]


def _beyond_half_a_turn(probe: Probe, width: int, which: int, speeds: np.ndarray) -> np.ndarray:
    """The speeds with their whole turns, which whole positions hide and fractions show."""
    part = 16
    try:
        turns = _turns(probe, width, which, [0.0, 1 / part])
    except Misbehaviour:
        return speeds
    if turns is None:
        return speeds
    shown = np.angle(turns[1] * turns[0].conj()) * part
    whole = np.round((shown - speeds) / (2 * math.pi))
    # One that cuts fractions off shows nothing.
    alike = np.abs(shown - speeds - 2 * math.pi * whole) < EVEN
    return speeds + 2 * math.pi * whole * alike


def _wrapped(angles: np.ndarray) -> np.ndarray:
    return np.angle(np.exp(1j * angles))


def _words(speeds: np.ndarray, right: np.ndarray, offset: float, width: int) -> list[str]:
    ratios = speeds / right
    uncertain = SPEED + PHASE / (LAST * right)
    wrong = np.flatnonzero(np.abs(ratios - 1) > uncertain)
    lines = []
    if len(wrong):
        lines.append(_of_pairs(ratios, wrong, len(right), width,
                               lambda a, b: bool(abs(ratios[a] - ratios[b]) <= abs(ratios[b]) *
                                                 (uncertain[a] + uncertain[b]))))  # fmt: skip
    if offset:
        lines.append(f"positions are off by {offset:+g}: 0 is turned as {offset:g}")
    return lines


def _of_pairs(
    ratios: np.ndarray, wrong: np.ndarray, pairs: int, width: int, alike: Callable[[int, int], bool]
) -> str:
    """Which pairs turn wrongly, and by what ratio."""
    # The fastest is known best.
    first, every = wrong[0], len(wrong) == pairs
    common = all(alike(i, first) for i in wrong)
    if every and common:
        if _ratio(ratios[first]) == "-1":
            return "every pair turns the other way round, as fast as it should"
        return f"every angle is {_ratio(ratios[first])} times the right one"
    names = f"{_runs_of(wrong.tolist())} of {pairs}"
    at = f"at width {width}, counted from 0"
    if len(wrong) == 1:
        return (
            f"pair {names} alone is wrong ({at}): its angle is {_ratio(ratios[first])} times the "
            "right one"
        )
    if common:
        numbers = _ratio(ratios[first])
    elif len(wrong) <= FEW:
        numbers = ", ".join(_ratio(ratios[i]) for i in wrong)
    else:
        numbers = f"from {_ratio(ratios[wrong].min())} to {_ratio(ratios[wrong].max())}"
    alone = "" if every else " alone"
    return f"pairs {names}{alone} are wrong ({at}): their angles are {numbers} times the right ones"


def _ratio(value: float) -> str:
    """Four digits, or more where four do not tell it from one."""
    text = f"{value:.4g}"
    if text in ("1", "-1") and abs(abs(value) - 1) > 2e-6:
        return f"{value:.6g}"
    return "0" if abs(value) < SPEED else text
