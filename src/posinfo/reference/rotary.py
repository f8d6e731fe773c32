"""Rotary embeddings in arbitrary precision, by another road than the torch code.

Nothing here calls :mod:`posinfo.encodings`: a reference computed by what it checks proves
nothing. Frequencies come from exponentials of logarithms, scores from the closed form of the
relative property instead of from two rotations.
"""

from collections.abc import Sequence
from functools import cache

import mpmath
from mpmath import mpf

#: Decimal digits carried; far more than float64 has, even after reducing angles of 10^7 radians.
DIGITS = 50
#: Unit roundoff at that many digits: half of the distance from 1 to the next number.
with mpmath.workdps(DIGITS):
    UNIT = 2.0**-mpmath.mp.prec


@cache
def frequencies(head_dim: int, base: float) -> tuple[mpf, ...]:
    """Frequencies exp(-(2i/d) ln base), i = 0 … d/2 - 1, in radians per position."""
    with mpmath.workdps(DIGITS):
        log_base = mpmath.log(mpf(base))
        return tuple(mpmath.exp(-mpf(2 * i) / head_dim * log_base) for i in range(head_dim // 2))


def angle(position: float, frequency: mpf) -> mpf:
    """Angle of a position in radians, not reduced."""
    with mpmath.workdps(DIGITS):
        return mpf(position) * frequency


def turned(x: float, y: float, angle: mpf) -> tuple[mpf, mpf]:
    """The point (x, y) turned counter-clockwise, by multiplication with exp(i angle)."""
    with mpmath.workdps(DIGITS):
        point = mpmath.mpc(x, y) * mpmath.expj(angle)
        return point.real, point.imag


def score(q: Sequence[float], k: Sequence[float], offset: float, frequencies: Sequence[mpf]) -> mpf:
    """Dot product of a query and a key rotated to positions whose difference i - j is ``offset``.

    By the relative property: the sum over pairs of Re(q conj(k) exp(i offset theta)), where
    q and k are read as complex numbers of adjacent dimensions (arXiv 2104.09864, equation 12).
    """
    with mpmath.workdps(DIGITS):
        # fsum rounds once, whatever the number of terms.
        return mpmath.fsum(
            (
                mpmath.mpc(q[2 * i], q[2 * i + 1])
                * mpmath.conj(mpmath.mpc(k[2 * i], k[2 * i + 1]))
                * mpmath.expj(offset * theta)
            ).real
            for i, theta in enumerate(frequencies)
        )


def dot(q: Sequence[float], k: Sequence[float]) -> mpf:
    """Dot product of two vectors of floats, exact to the digits carried."""
    with mpmath.workdps(DIGITS):
        return mpmath.fdot(q, k)


def norm(x: Sequence[float]) -> mpf:
    """Euclidean norm of a vector of floats."""
    with mpmath.workdps(DIGITS):
        return mpmath.sqrt(mpmath.fdot(x, x))
