"""Attention in arbitrary precision, and how far attention in floats may be from it.

Nothing here calls :mod:`posinfo.encodings`; scores are those of :mod:`posinfo.reference.rotary`,
by the relative property, with no vector rotated.
"""

import math
from collections.abc import Sequence

import mpmath
import torch
from mpmath import mpf
from torch import Tensor

from posinfo.reference import rotary, rounding


def output(
    q: Sequence[float],
    keys: Sequence[Sequence[float]],
    values: Sequence[Sequence[float]],
    offsets: Sequence[float],
    frequencies: Sequence[mpf],
) -> list[mpf]:
    """What a query takes from its keys' values: softmax of scores over sqrt(d), times values.

    Parameters
    ----------
    q, keys, values
        Vectors before rotation; one key and one value a token.
    offsets
        Position of the query less that of each key.
    frequencies
        Radians per position, a number a pair.

    Returns
    -------
    list of mpf
        One number a dimension. Source: arXiv 1706.03762, equation 1.
    """
    with mpmath.workdps(rotary.DIGITS):
        root = mpmath.sqrt(len(q))
        weights = [
            mpmath.exp(rotary.score(q, key, offset, frequencies) / root)
            for key, offset in zip(keys, offsets, strict=True)
        ]
        total = mpmath.fsum(weights)
        return [mpmath.fdot(weights, column) / total for column in zip(*values, strict=True)]


def scores(q: Tensor, keys: Tensor, offsets: Tensor, frequencies: Tensor) -> Tensor:
    """Scores over sqrt(d) of one query with n keys before rotation, in float64.

    By the relative property, as :func:`posinfo.reference.rotary.score`; for more keys than
    arbitrary precision has time for.

    Parameters
    ----------
    q, keys, offsets, frequencies
        Shape [d], [n, d], [n] and [d/2]; position of the query less that of each key.

    Returns
    -------
    Tensor
        Shape [n], float64.
    """
    query, key = (torch.view_as_complex(x.double().unflatten(-1, (-1, 2))) for x in (q, keys))
    angles = torch.outer(offsets.double(), frequencies.double())
    turned = torch.polar(torch.ones_like(angles), angles)
    return (query * key.conj() * turned).real.sum(dim=-1) / math.sqrt(q.shape[-1])


def score_errors(
    pair_products: Tensor,
    frequencies: Tensor,
    positions: tuple[float, Tensor],
    unit: float = rounding.UNIT["float32"],
    frequency_bound: float = 0.0,
) -> Tensor:
    """Absolute bounds on the scores of one query over sqrt(d), dot products added in any order.

    Parameters
    ----------
    pair_products
        Norm of the query's pair times norm of each key's pair, shape [n, d/2], float64.
    frequencies
        Radians per position, shape [d/2]. With zeros the angles are taken as given, and what is
        left is two rotations, the sum and the division.
    positions
        Position of the query, and those of the keys, shape [n].
    unit
        Unit roundoff of the arithmetic.
    frequency_bound
        Relative bound on the frequencies.

    Returns
    -------
    Tensor
        Shape [n], float64.
    """
    i, j = positions[0], positions[1].double()[:, None]
    phase = frequencies * ((i - j).abs() * frequency_bound + (abs(i) + j.abs()) * unit)
    turned = (phase + 2 * rounding.ROTATION * unit).clamp(max=2.0)
    dim = 2 * pair_products.shape[1]
    # Any order of d products and d - 1 sums; then the root, rounded, and one division.
    total = (pair_products * (turned + (dim + 2) * unit)).sum(dim=1)
    return total * rounding.SECOND_ORDER / math.sqrt(dim)


def output_errors(
    scores: Tensor, values: Tensor, errors: Tensor, unit: float = rounding.UNIT["float32"]
) -> Tensor:
    """Absolute bounds on the components of one attention output, in floats.

    Parameters
    ----------
    scores
        Scores over sqrt(d) of n keys, shape [n], float64.
    values
        Their values, shape [n, d], float64.
    errors
        Bounds on the errors of the scores, shape [n].
    unit
        Unit roundoff of the arithmetic.

    Returns
    -------
    Tensor
        Shape [d], float64.

    Notes
    -----
    If the scores are off by e_j, the output o is off by the sum of w_j (exp(e_j) - 1) (v_j - o)
    over the sum of w_j exp(e_j), for the sum of w_j (v_j - o) is 0: at most the sum of
    w_j |e_j| |v_j - o|, times exp of twice the largest |e_j|. The softmax rounds a difference, an
    exp (2u), a sum of n terms and a quotient, at most range + n + 2 units relative to each weight;
    the product with the values rounds another n.
    """
    weights = scores.softmax(dim=0)
    distances = (values - weights @ values).abs()
    moved = (weights * errors) @ distances * math.exp(2 * errors.max().item())
    units = (scores.max() - scores.min()).item() + 2 * len(scores) + 2
    return (moved + units * unit * (weights @ values.abs())) * rounding.SECOND_ORDER
