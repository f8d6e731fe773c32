"""Rotations of positions as points, their distances, and sums over distances, in 50 digits.

The code of a position is what rotation makes of it: (cos m theta_i, sin m theta_i) of all pairs.
Also counts of distances between positions, in closed form.
"""

import math
from collections.abc import Sequence

import mpmath
from mpmath import mpf

from posinfo.reference.rotary import DIGITS


def distance(offset: float, frequencies: Sequence[mpf]) -> mpf:
    """Euclidean distance of the codes of two positions that are ``offset`` apart.

    Each pair contributes a chord of the unit circle, abs(exp(i offset theta) - 1), so that the
    distance depends on the offset alone.
    """
    with mpmath.workdps(DIGITS):
        chords = [abs(mpmath.expj(offset * theta) - 1) for theta in frequencies]
        return mpmath.sqrt(mpmath.fsum(chord**2 for chord in chords))


def best_whole_turn(largest: int) -> int:
    """The whole number of radians, at most ``largest``, that comes nearest to whole turns.

    By the continued fraction of 1/(2 pi): its convergents are the best approximations, and the
    denominator of the last one that fits is the number of radians (Khinchin, Continued
    Fractions, theorem 17).
    """
    with mpmath.workdps(DIGITS):
        rest = 1 / (2 * mpmath.pi)
        before, denominator = 0, 1
        while True:
            rest = 1 / (rest - mpmath.floor(rest))
            following = int(mpmath.floor(rest)) * denominator + before
            if following > largest:
                return denominator
            before, denominator = denominator, following


def mean_cosine(offset: int, frequencies: Sequence[mpf]) -> mpf:
    """Mean over pairs of cos(offset theta): the score of constant vectors, 1 at offset 0."""
    with mpmath.workdps(DIGITS):
        return mpmath.fsum(mpmath.cos(offset * theta) for theta in frequencies) / len(frequencies)


def turned_length(pair_norms: Sequence[float], step: float, frequencies: Sequence[mpf]) -> mpf:
    """How far a vector moves when its position grows by ``step``.

    The root of the sum over pairs of (norm of the pair times 2 sin(step theta / 2)) squared.
    """
    with mpmath.workdps(DIGITS):
        parts = [
            mpf(norm) * 2 * mpmath.sin(mpf(step) * theta / 2)
            for norm, theta in zip(pair_norms, frequencies, strict=True)
        ]
        return mpmath.sqrt(mpmath.fsum(part**2 for part in parts))


def causal_pairs(length: int) -> int:
    """Pairs (i, j) of positions with j <= i < length: n (n + 1) / 2."""
    return math.comb(length + 1, 2)


def unseen_pairs(trained_length: int, length: int) -> int:
    """Causal pairs whose distance i - j is at least the trained length.

    Query i has i - L + 1 such keys, from i = L on: a triangle of side length - L.
    """
    return math.comb(length - trained_length + 1, 2)
