"""Bounds from rounding analysis: how far a computation in floats may be from exact arithmetic.

Notation: u is the unit roundoff; every +, -, *, / has a relative error of at most u, and
elementary functions (pow, exp, cos, sin) are assumed to be right within one unit in the last
place, so within 2u relative (Higham, Accuracy and Stability of Numerical Algorithms, chapters
2 and 3). k roundings in a row are bounded by :func:`gamma`, which holds to every order.
"""

import math
import struct
from collections.abc import Sequence

#: Unit roundoff by precision: half the distance from 1 to the next number.
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

#: Error of a rotated pair relative to the pair's norm, in units of u, given exact angles: cos and
#: sin are each off by at most u in absolute value (one unit in the last place below 1), which
#: moves the point by at most sqrt(2) u, for the two errors are turned by the point and not added;
#: two products move it by at most sqrt(2) u, and one sum by at most u.
ROTATION = 1 + 2 * math.sqrt(2)

#: Error of a product of two complex numbers relative to the product, in units of u: Brent,
#: Percival and Zimmermann (2007), Error bounds on complex floating-point multiplication.
COMPLEX_PRODUCT = math.sqrt(5)


#: Widens a bound that is summed to first order, where k roundings are spread over a sum: terms of
#: second order stay below a thousandth of it while k u < 1/1000, in float32 for k up to 16,000.
SECOND_ORDER = 1.001


def gamma(roundings: float, unit: float = UNIT["float32"]) -> float:
    """Bound of the relative error after so many roundings: k u / (1 - k u). Higham (2002), 3.1."""
    return roundings * unit / (1 - roundings * unit)


def frequency(head_dim: int, base: float, dtype: str = "float32") -> float:
    """Relative bound on 1 / base^(2i/d): pow 2u, reciprocal u, and rounded inputs where they are.

    The exponent 2i/d is exact when d is a power of two; otherwise its rounding is amplified by
    ln base. A base that float32 does not hold exactly adds one more u. For float32 and float64.
    """
    u = UNIT[dtype]
    terms = 3.0
    if head_dim & (head_dim - 1):
        terms += abs(math.log(base))
    if dtype != "float64" and struct.unpack("f", struct.pack("f", base))[0] != base:
        terms += 1.0
    return gamma(terms, u)


def angle(
    position: float, frequency_value: float, frequency_bound: float, dtype: str = "float32"
) -> float:
    """Absolute bound in radians on position * frequency: the frequency's error and one product.

    The position must be held exactly: whole and below 1/u.
    """
    u = UNIT[dtype]
    # (1 + frequency_bound) (1 + u) - 1, without losing digits to the 1.
    return abs(position) * frequency_value * (frequency_bound + u + frequency_bound * u)


def cosine(angle_bound: float, dtype: str = "float32") -> float:
    """Absolute bound on cos or sin of an angle known to ``angle_bound``: slope 1, and one ulp."""
    return min(angle_bound + UNIT[dtype], 2.0)


def norm_change(head_dim: int, dtype: str = "float32", *, norms_exact: bool = False) -> float:
    """Relative bound on the change of a vector's norm by a rotation of its pairs.

    Parameters
    ----------
    head_dim
        Length of the vector.
    norms_exact
        Whether the two norms are computed exactly; otherwise each adds d/2 + 1 roundings: a sum
        of d squares, halved by the square root, and the root itself.
    """
    terms = ROTATION if norms_exact else ROTATION + 2 * (head_dim / 2 + 1)
    return gamma(terms, UNIT[dtype])


def pairwise_sum(terms: int, unit: float) -> float:
    """Relative bound on the dot product of ``terms`` products added pairwise: depth log2, and one.

    The bound is relative to the sum of the terms' absolute values.
    """
    return gamma(1 + math.ceil(math.log2(terms)), unit)


def score(
    pair_products: Sequence[float],
    frequencies: Sequence[float],
    positions: tuple[float, float],
    frequency_bound: float,
    unit: float = UNIT["float32"],
    reference_roundings: float = 0.0,
) -> float:
    """Absolute bound on a rotated dot product against exact arithmetic at the same offset.

    Parameters
    ----------
    pair_products
        Norm of the query's pair times norm of the key's pair, a number a pair.
    frequencies
        Frequencies in radians per position, a number a pair.
    positions
        Positions (i, j) of query and key, exactly held.
    frequency_bound
        Relative bound on the frequencies: both vectors share its error, so that only the offset
        i - j multiplies it, while the rounding of each angle grows with the position itself.
    unit
        Unit roundoff of the arithmetic.
    reference_roundings
        Roundings of the other side in the same arithmetic, a pair; none if it is far finer.
    """
    i, j = positions
    total = 0.0
    for product, theta in zip(pair_products, frequencies, strict=True):
        phase = theta * (abs(i - j) * frequency_bound + (abs(i) + abs(j)) * unit)
        # A turn by any angle moves a score by at most twice the product of the norms.
        total += product * (min(phase, 2.0) + gamma(2 * ROTATION + reference_roundings, unit))
    # By Cauchy and Schwarz the two terms of a pair add up to at most the product of its norms.
    total += pairwise_sum(2 * len(frequencies), unit) * sum(pair_products)
    return total
