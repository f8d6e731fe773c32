"""What each precision holds, and bounds on angles that are computed in a low one.

A second set of bounds beside :mod:`posinfo.reference.rounding`: there u is so small that terms
of first order are all that counts, and positions are held exactly. In float16 and bfloat16
neither is so. Here relative errors are compounded, (1 + u)^k - 1, and a position, base or
exponent that the precision does not hold adds its own rounding.
"""

import math

from posinfo.reference.rounding import UNIT

#: Bits of the significand, the hidden one included: whole numbers are held up to 2^bits.
BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}

#: Largest finite number.
LARGEST = {
    "float64": (2 - 2.0**-52) * 2.0**1023,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float16": (2 - 2.0**-10) * 2.0**15,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
}

#: Smallest normal number; below it numbers are a whole multiple of it times 2u.
SMALLEST_NORMAL = {
    "float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126,
}  # fmt: skip


def held(value: float, dtype: str) -> bool:
    """Whether a precision holds a number exactly; for numbers that float64 holds."""
    if value == 0:
        return True
    if not SMALLEST_NORMAL[dtype] <= abs(value) <= LARGEST[dtype]:
        return False
    mantissa, _ = math.frexp(value)
    return (mantissa * 2.0 ** BITS[dtype]).is_integer()


def first_position_lost(dtype: str) -> int:
    """The first whole number that is not held: one past the last power of two with a unit step."""
    return 2 ** BITS[dtype] + 1


def becomes_infinite(dtype: str) -> float:
    """The smallest number that rounds to infinity: half a step past the largest finite one."""
    return LARGEST[dtype] + 2.0 ** (math.frexp(LARGEST[dtype])[1] - BITS[dtype] - 1)


def distinct_positions(length: int, dtype: str) -> int:
    """How many values the positions 0 to length - 1 become, for a length that is a power of two.

    Up to 2^p every whole number is one, and each doubling adds 2^(p-1) more, its upper end
    included, to which the last position rounds. What overflows is one value: infinity.
    """
    bits = BITS[dtype]
    doublings = length.bit_length() - 1 - bits
    if doublings <= 0:
        return length
    largest = LARGEST[dtype]
    if length <= largest:
        return 2**bits + 1 + 2 ** (bits - 1) * doublings
    # The doublings up to the largest power of two, of which the very end is infinite already.
    finite = int(math.log2(largest)) + 1 - bits
    return 2**bits + 1 + 2 ** (bits - 1) * finite


def compounded(roundings: float, unit: float) -> float:
    """Bound on the relative error of so many roundings: k u / (1 - k u). Higham (2002), 3.1."""
    return roundings * unit / (1 - roundings * unit)


def frequency(pair: int, head_dim: int, base: float, dtype: str) -> float:
    """Relative bound on 1 / base^(2i/d) of one pair, computed in a precision.

    The power is good to one unit in the last place (2u), its reciprocal to u. A base that is
    not held is rounded: u times the exponent. An exponent that is not held is rounded: u ln base.
    A base that overflows makes every power infinite and every frequency but pair 0's zero: the
    relative error is then 1. A frequency below the smallest normal number loses digits. Pair 0 is
    exact, since a power of zero is 1.
    """
    if pair == 0:
        return 0.0
    if base >= becomes_infinite(dtype):
        return 1.0
    unit, exponent = UNIT[dtype], 2 * pair / head_dim
    roundings = 3.0
    roundings += 0.0 if held(exponent, dtype) else math.log(base)
    roundings += 0.0 if held(base, dtype) else exponent
    theta = math.exp(-exponent * math.log(base))
    smallest = SMALLEST_NORMAL[dtype]
    gradual = smallest * unit / theta if theta < 2 * smallest else 0.0
    return compounded(roundings, unit) + gradual


def angle(position: float, theta: float, frequency_bound: float, dtype: str) -> float:
    """Absolute bound in radians on position times frequency, all in one precision.

    The frequency's error; one product, unless the frequency is 1; the position's rounding, if it
    is not held. For positions below :func:`becomes_infinite`.
    """
    roundings = (theta != 1) + (not held(position, dtype))
    relative = (1 + frequency_bound) * (1 + UNIT[dtype]) ** roundings - 1
    return abs(position) * theta * relative


def stored(dtype: str) -> float:
    """Absolute bound on storing a number of at most 1: u times the number.

    Numbers that come from float64 are rounded to float32 on their way to float16 and bfloat16,
    which adds float32's u.
    """
    own = UNIT[dtype]
    return own if dtype in ("float64", "float32") else own + UNIT["float32"]


def stored_nearest(dtype: str) -> float:
    """The sharp bound on storing a number of at most 1: half of :func:`stored`.

    From 1/2 to 1 floats lie u apart, below that nearer, and the nearest is at most half as far.
    """
    return stored(dtype) / 2
