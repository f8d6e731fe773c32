"""Bounds from sampling theory: how far a mean of independent draws may be from its expectation.

Each holds for any number of draws, not only in the limit, with a chance of failure below
``FAILURE``: a seed is fixed, so what is bounded is the chance that a seed was an unlucky one.
"""

import math

#: Chance that a bound of this module is left by draws that are as they should be.
FAILURE = 1e-9


def mean_square_cosine(pairs: int, failure: float = FAILURE) -> float:
    """Bound on d times the mean squared cosine of independent normal vectors, about 1.

    Of a standard normal vector z in d dimensions, d cos^2 with a fixed direction is z_1^2 divided
    by the mean of its squares, which is independent of the quotient; by Jensen's inequality no
    moment generating function of the quotient is above that of z_1^2, chi-squared with one degree
    of freedom. So its tail bounds hold: Laurent and Massart (2000), lemma 1, for ``pairs`` degrees
    of freedom and x = ln(2 / failure) give 2 sqrt(x / pairs) + 2 x / pairs.
    """
    x = math.log(2 / failure)
    return 2 * math.sqrt(x / pairs) + 2 * x / pairs


def share(draws: int, failure: float = FAILURE) -> float:
    """Bound on how far a share of independent draws falls below its expectation, by Hoeffding.

    Hoeffding (1963), theorem 1: the share of ``draws`` independent events is more than t below
    its expectation with a chance of at most exp(-2 draws t^2).
    """
    return math.sqrt(math.log(1 / failure) / (2 * draws))
