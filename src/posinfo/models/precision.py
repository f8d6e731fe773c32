"""Where a precision no longer tells positions apart, and where it no longer gives their angles.

The position, the frequency and their product are each rounded once to the precision, as a table
of angles is that is made in it from right frequencies. Whoever computes the frequency itself in
the precision errs sooner.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

#: Bits of the significand, the hidden one included, and the exponent of the smallest step.
FORMATS = {"float32": (24, -149), "float16": (11, -24), "bfloat16": (8, -133)}

#: Bytes of a number.
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2}

#: From here on an angle counts as wrong, in radians.
TOLERANCE = 1e-2


class Wrong(NamedTuple):
    """The first position whose angle is wrong in some pair, and how wrong."""

    position: int
    pair: int
    error: float


def rounded(value: float, dtype: str) -> float:
    """A number rounded to a precision, halves to even; too large a number is not looked for."""
    if value == 0:
        return 0.0
    bits, least = FORMATS[dtype]
    step = math.ldexp(1.0, max(math.frexp(value)[1] - bits, least))
    return round(value / step) * step


def first_lost(dtype: str) -> int:
    """The first position that becomes another's: one past the last power of two with step 1."""
    return 2 ** FORMATS[dtype][0] + 1


def first_wrong(theta: Sequence[float], dtype: str, tolerance: float = TOLERANCE) -> Wrong | None:
    """The smallest position at which an angle is off by more than the tolerance.

    Parameters
    ----------
    theta
        Frequencies in radians per position, shape [d/2].
    tolerance
        In radians.

    Returns
    -------
    Wrong or None
        None if it comes after the first position that is lost.
    """
    end = first_lost(dtype)
    found = None
    for start, pair in sorted(_earliest(theta, dtype, tolerance)):
        last = end if found is None else found.position - 1
        wrong = _scan(theta[pair], pair, dtype, tolerance, start, last)
        found = wrong or found
    return found


def _earliest(theta: Sequence[float], dtype: str, tolerance: float) -> list[tuple[int, int]]:
    """For each pair a position before which rounding cannot reach the tolerance."""
    bits, least = FORMATS[dtype]
    end, starts = first_lost(dtype), []
    for pair, value in enumerate(theta):
        held = rounded(value, dtype)
        if held == 0:
            # The frequency is lost: the angle is off by all of itself.
            if value:
                starts.append((math.floor(tolerance / value), pair))
            continue
        off = abs(held - value)
        # Held exactly, it makes exact products up to here.
        exact = 1 if off else 2**bits // _odd_part(held)
        for exponent in range(-20, bits + 1):
            # Products from 2^e to 2^(e+1) are rounded by half a step at most.
            half = math.ldexp(1.0, max(exponent + 1 - bits, least) - 1)
            low, high = (math.ldexp(1.0, exponent + more) / held for more in (0, 1))
            if off == 0 and half <= tolerance:
                continue
            needed = max(0.0, (tolerance - half) / off) if off else 0.0
            at = max(low, needed, exact)
            if at <= high and at <= end:
                starts.append((max(1, math.floor(at)), pair))
                break
        else:
            # The lost position itself is off by a step of one, which the loop does not count.
            starts.append((end, pair))
    return starts


def _odd_part(value: float) -> int:
    whole = value.as_integer_ratio()[0]
    return whole // (whole & -whole)


def _scan(
    theta: float, pair: int, dtype: str, tolerance: float, start: int, last: int
) -> Wrong | None:
    held = rounded(theta, dtype)
    for position in range(start, last + 1):
        error = abs(rounded(rounded(position, dtype) * held, dtype) - position * theta)
        if error > tolerance:
            return Wrong(position, pair, error)
    return None
