"""Frequencies and attention factors of a configuration, in Python's own floats.

The same mathematics as :mod:`posinfo.scaling`, written for a configuration's keys and for float64,
and free of torch; tests hold the two against each other, and against arbitrary precision. What
each type reads, and what it makes of odd values, is that of Hugging Face transformers 5.24.0,
``modeling_rope_utils.py``; the formulas' own sources stand at the functions.

Notation: d = ``dim``, the width that pairs span, i = 0 .. d/2-1 the pair, L the trained length,
s = ``factor``, theta_i the frequency in radians per position.
"""

import math
from collections.abc import Sequence

#: Turns from which YaRN keeps a pair, and below which it interpolates it, where none are given.
BETA_FAST, BETA_SLOW = 32.0, 1.0


def plain(dim: int, base: float, turned: int | None = None) -> list[float]:
    """theta_i = base^(-2i/d), for the first ``turned`` pairs; 0 for the others.

    Su et al. (2021), RoFormer, equation 15; the zeros are transformers' type ``proportional``.

    Returns
    -------
    list of float
        Shape [dim / 2], in radians per position.
    """
    pairs = dim // 2
    turned = pairs if turned is None else turned
    return [base ** (-2 * pair / dim) if pair < turned else 0.0 for pair in range(pairs)]


def linear(theta: Sequence[float], factor: float) -> list[float]:
    """Position interpolation: every frequency divided by s. Chen et al. (2023), equation 4."""
    return [value / factor for value in theta]


def ntk_base(dim: int, base: float, growth: float) -> float:
    """Base whose last pair is slower by ``growth``: base * growth^(d/(d-2)). YaRN, equation 16.

    Raises
    ------
    ValueError
        If ``dim`` is 2: the only pair would have to be both kept and slowed.
    """
    if dim == 2:
        raise ValueError("one pair alone: no base both keeps and slows it")
    return base * growth ** (dim / (dim - 2))


def dynamic_base(dim: int, base: float, factor: float, trained: float, length: float) -> float:
    """Base of dynamic NTK at a length: that of a growth of s n / L - (s - 1), with n >= L."""
    length = max(length, trained)
    return ntk_base(dim, base, factor * length / trained - (factor - 1))


def yarn_range(
    dim: int, base: float, trained: float, fast: float, slow: float, truncate: bool
) -> tuple[float, float]:
    """Pairs between which YaRN's code blends, as real numbers (low, high).

    jquesnelle/yarn, ``find_correction_range``; ``truncate`` widens them to whole pairs.
    """
    low, high = (
        dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))
        for turns in (fast, slow)
    )
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    return (low, high + 0.001) if low == high else (low, high)


def yarn(
    theta: Sequence[float], base: float, trained: float, factor: float,
    fast: float = BETA_FAST, slow: float = BETA_SLOW, truncate: bool = True,
) -> list[float]:  # fmt: skip
    """YaRN as its code has it: a ramp over the index of the pair. Peng et al. (2023)."""
    low, high = yarn_range(2 * len(theta), base, trained, fast, slow, truncate)
    found = []
    for pair, value in enumerate(theta):
        interpolated = min(max((pair - low) / (high - low), 0.0), 1.0)
        found.append(value / factor * interpolated + value * (1 - interpolated))
    return found


def llama3(
    theta: Sequence[float], trained: float, factor: float, low: float, high: float
) -> list[float]:
    """Llama 3.1: long wavelengths interpolated, short ones kept, a blend between.

    meta-llama/llama-models, ``models/llama3/model.py``, ``apply_scaling``. With low and high in
    the wrong order nothing is blended.
    """
    found = []
    for value in theta:
        turns = trained * value / (2 * math.pi)
        if low <= turns <= high and low < high:
            kept = (turns - low) / (high - low)
            found.append((1 - kept) * value / factor + kept * value)
        else:
            found.append(value / factor if turns < low else value)
    return found


def longrope(theta: Sequence[float], divisors: Sequence[float]) -> list[float]:
    """LongRoPE: every pair divided by a factor of its own. Ding et al. (2024)."""
    return [value / divisor for value, divisor in zip(theta, divisors, strict=True)]


def mscale(factor: float, weight: float = 1.0) -> float:
    """0.1 m ln s + 1, and 1 up to s = 1. YaRN, equation 22, with DeepSeek's weight m."""
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


def longrope_attention(factor: float, trained: float) -> float:
    """sqrt(1 + ln s / ln L), and 1 up to s = 1. microsoft/LongRoPE, ``rope/longrope.py``."""
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(trained))


def alibi_slopes(heads: int, *, order: str = "lower first", largest: float = 8.0) -> list[float]:
    """ALiBi's slopes, a head each; a score falls by the slope times the distance.

    For a power of two n they are 2^(-8(h+1)/n). Otherwise two rules are in use. ``lower first``:
    those of the lower power of two, then every second one of the higher (Press et al. 2022,
    their code). ``higher halves``: of the higher power's every second one from the second, then
    the others, until there are enough (MPT).

    Parameters
    ----------
    largest
        The exponent at the last head of a power of two: MPT's ``alibi_bias_max``.
    """

    def of_power(count: int) -> list[float]:
        return [2.0 ** (-largest * (head + 1) / count) for head in range(count)]

    lower = 2 ** (heads.bit_length() - 1)
    if lower == heads:
        return of_power(heads)
    if order == "lower first":
        return of_power(lower) + of_power(2 * lower)[::2][: heads - lower]
    higher = of_power(2 * lower)
    return (higher[1::2] + higher[::2])[:heads]
