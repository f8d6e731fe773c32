"""Methods that extend the context of a model with rotary embeddings.

Every method turns the trained inverse frequencies theta_i = base^(-2i/d) into others,
theta'_i, for a context ``factor`` times as long; some also scale cos and sin by an attention
factor. :data:`METHODS` holds them under one signature. The scalar formulas (a changed base, a
blend, an attention factor) take whatever has the arithmetic: numbers, tensors, mpmath numbers
or sympy symbols, so that a proof is about the very function that runs in torch.

Notation: d = ``head_dim`` (the rotated width), i = 0 .. d/2-1 the pair, L = ``trained_length``,
s = ``factor``, lambda_i = 2 pi / theta_i the wavelength in positions, r_i = L / lambda_i the
turns that a pair makes within the trained length.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from posinfo.encodings.rotary import frequencies as unscaled_frequencies

#: Base that Xiong et al. (2023) continued the training of Llama 2 with.
ABF_BASE = 500000.0
#: Turns within the trained length above which a pair is kept, and below which it is
#: interpolated: YaRN, section 3.2 (there beta and alpha; in code beta_fast and beta_slow).
YARN_BETA, YARN_ALPHA = 32.0, 1.0
#: The same two thresholds in Llama 3.1 (high_freq_factor, low_freq_factor).
LLAMA3_HIGH, LLAMA3_LOW = 4.0, 1.0


# --- scalar formulas: numbers, tensors, mpmath numbers or sympy symbols ---------------------


def interpolate(quantity: Any, factor: Any) -> Any:
    """Position interpolation of a position or of a frequency: divide it by the factor.

    An angle is position times frequency, so it does not matter which of the two is divided
    (in floating point they may differ in the last bit). Chen et al. (2023), equation 4.
    """
    return quantity / factor


def ntk_base(base: Any, factor: Any, head_dim: Any) -> Any:
    """Base of NTK-aware scaling: base * factor^(d / (d - 2)). YaRN, equation 16.

    The exponent is the one for which pair 0 keeps its frequency and the last pair's is
    divided by exactly ``factor``.

    Raises
    ------
    ValueError
        If ``head_dim`` is 2: the only pair would have to be both kept and divided.
    """
    if head_dim == 2:
        raise ValueError("NTK-aware scaling needs head_dim > 2: with one pair no base exists")
    return base * factor ** (head_dim / (head_dim - 2))


def dynamic_factor(factor: Any, length: Any, trained_length: Any) -> Any:
    """Factor that dynamic NTK puts into :func:`ntk_base` at ``length`` >= ``trained_length``.

    s n / L - (s - 1): 1 at the trained length, so that nothing changes within it.
    Hugging Face transformers, ``_compute_dynamic_ntk_parameters``.
    """
    return factor * length / trained_length - (factor - 1)


def blend(frequency: Any, factor: Any, kept: Any) -> Any:
    """Between interpolation (``kept`` = 0) and no change (``kept`` = 1). YaRN, equation 19."""
    return interpolate(frequency, factor) * (1 - kept) + frequency * kept


def correction_dim(
    turns: Any,
    head_dim: Any,
    base: Any,
    trained_length: Any,
    *,
    log: Callable[[Any], Any] = math.log,
    pi: Any = math.pi,
) -> Any:
    """Pair, as a real number, that makes ``turns`` turns within the trained length.

    d ln(L / (2 pi turns)) / (2 ln base): the solution of r_i = turns for i.
    jquesnelle/yarn, ``find_correction_dim``.
    """
    return head_dim * log(trained_length / (turns * 2 * pi)) / (2 * log(base))


def yarn_attention_factor(factor: Any, *, log: Callable[[Any], Any] = math.log) -> Any:
    """What YaRN multiplies cos and sin by: ln(s) / 10 + 1, for s >= 1. YaRN, equation 22.

    Queries and keys both carry it, so that logits are multiplied by its square.
    """
    return log(factor) / 10 + 1


def longrope_attention_factor(
    factor: Any,
    trained_length: Any,
    *,
    log: Callable[[Any], Any] = math.log,
    sqrt: Callable[[Any], Any] = math.sqrt,
) -> Any:
    """What LongRoPE multiplies cos and sin by: sqrt(1 + ln s / ln L), for s >= 1.

    microsoft/LongRoPE, ``rope/longrope.py``.
    """
    return sqrt(1 + log(factor) / log(trained_length))


# --- ramps ------------------------------------------------------------------------------------


def correction_range(
    head_dim: int,
    base: float,
    trained_length: int,
    *,
    beta_fast: float = YARN_BETA,
    beta_slow: float = YARN_ALPHA,
    truncate: bool = True,
) -> tuple[float, float]:
    """Pairs between which YaRN's code blends, as (low, high) in units of pairs.

    With ``truncate`` the range is widened to whole pairs. It is clamped to [0, d - 1] as the
    original code does, although the last pair is d/2 - 1: with a small base the slowest
    pairs are then never fully interpolated. An empty range is widened by 0.001.
    jquesnelle/yarn, ``find_correction_range``; ``truncate=False`` as in gpt-oss.
    """
    low = correction_dim(beta_fast, head_dim, base, trained_length)
    high = correction_dim(beta_slow, head_dim, base, trained_length)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    if low == high:
        high += 0.001
    return low, high


def kept_by_index(pairs: int, low: float, high: float, *, dtype: torch.dtype) -> Tensor:
    """Share of each pair that YaRN's code keeps: linear in the index of the pair.

    Returns
    -------
    Tensor of shape [pairs]
        1 up to pair ``low``, 0 from pair ``high``.
    """
    ramp = (torch.arange(pairs, dtype=dtype) - low) / (high - low)
    return 1 - ramp.clamp(0, 1)


def kept_by_turns(frequency: Tensor, trained_length: int, *, alpha: float, beta: float) -> Tensor:
    """Share of each pair that is kept, linear in its turns r within the trained length.

    clamp((r - alpha) / (beta - alpha), 0, 1). YaRN, equations 17 and 18.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        0 up to ``alpha`` turns, 1 from ``beta`` turns.
    """
    turns = frequency * (trained_length / (2 * math.pi))
    return ((turns - alpha) / (beta - alpha)).clamp(0, 1)


# --- the methods: inverse frequencies of shape [head_dim / 2] ---------------------------------


def none(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """RoPE as trained: base^(-2i/d), whatever the factor.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.

    Raises
    ------
    ValueError
        If ``factor`` is below 1 or ``trained_length`` below 1 (every method of this module).
    """
    _check(trained_length, factor)
    return unscaled_frequencies(head_dim, base, dtype=dtype)


def pi(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Position interpolation: every frequency divided by the factor. Chen et al. (2023), eq. 4.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.
    """
    _check(trained_length, factor)
    return interpolate(unscaled_frequencies(head_dim, base, dtype=dtype), factor)


def ntk(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """NTK-aware scaling: RoPE with the base of :func:`ntk_base`. YaRN, definition 1.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.
    """
    _check(trained_length, factor)
    return unscaled_frequencies(head_dim, ntk_base(base, factor, head_dim), dtype=dtype)


def dynamic_ntk(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    length: float | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Dynamic NTK: the base follows the current length. Hugging Face transformers.

    Parameters
    ----------
    length
        Current length in positions; s L if not given. Below L nothing changes.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.
    """
    _check(trained_length, factor)
    current = max(factor * trained_length if length is None else length, trained_length)
    growth = dynamic_factor(factor, current, trained_length)
    return unscaled_frequencies(head_dim, ntk_base(base, growth, head_dim), dtype=dtype)


def abf(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    new_base: float = ABF_BASE,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Adjusted base frequency: another base, whatever the factor. Xiong et al. (2023).

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.
    """
    _check(trained_length, factor)
    return unscaled_frequencies(head_dim, new_base, dtype=dtype)


def yarn(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    beta_fast: float = YARN_BETA,
    beta_slow: float = YARN_ALPHA,
    truncate: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """YaRN as its code has it: the ramp is linear in the index of the pair.

    jquesnelle/yarn, Hugging Face transformers, vLLM, DeepSeek; see :func:`correction_range`.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.
    """
    _check(trained_length, factor)
    frequency = unscaled_frequencies(head_dim, base, dtype=dtype)
    low, high = correction_range(
        head_dim, base, trained_length,
        beta_fast=beta_fast, beta_slow=beta_slow, truncate=truncate,
    )  # fmt: skip
    return blend(frequency, factor, kept_by_index(head_dim // 2, low, high, dtype=dtype))


def yarn_paper(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    alpha: float = YARN_ALPHA,
    beta: float = YARN_BETA,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """YaRN as its paper has it: the ramp is linear in turns. YaRN, equations 17 to 20.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.
    """
    _check(trained_length, factor)
    frequency = unscaled_frequencies(head_dim, base, dtype=dtype)
    kept = kept_by_turns(frequency, trained_length, alpha=alpha, beta=beta)
    return blend(frequency, factor, kept)


def llama3(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    low_freq_factor: float = LLAMA3_LOW,
    high_freq_factor: float = LLAMA3_HIGH,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Llama 3.1: keep short wavelengths, interpolate long ones, blend between.

    Its three cases (lambda < L/high, lambda > L/low, between) are the ramp over turns of
    YaRN's paper with other thresholds, which is how it is computed here.
    meta-llama/llama-models, ``models/llama3/model.py``, ``apply_scaling``.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.
    """
    return yarn_paper(
        head_dim, base, trained_length, factor,
        alpha=low_freq_factor, beta=high_freq_factor, dtype=dtype,
    )  # fmt: skip


def longrope(
    head_dim: int,
    base: float,
    trained_length: int,
    factor: float,
    *,
    short_factor: Sequence[float],
    long_factor: Sequence[float],
    length: float | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """LongRoPE: every pair divided by a factor of its own, found by search.

    Parameters
    ----------
    short_factor, long_factor
        One divisor a pair; the short list is used up to the trained length.
    length
        Current length in positions; s L if not given.

    Returns
    -------
    Tensor of shape [head_dim / 2]
        Inverse frequencies in radians per position.

    Raises
    ------
    ValueError
        If a list does not have head_dim / 2 entries.

    Notes
    -----
    Ding et al. (2024); microsoft/LongRoPE, ``rope/longrope.py``.
    """
    _check(trained_length, factor)
    for name, divisors in (("short_factor", short_factor), ("long_factor", long_factor)):
        if len(divisors) != head_dim // 2:
            raise ValueError(f"{name} has {len(divisors)} entries, expected {head_dim // 2}")
    current = factor * trained_length if length is None else length
    divisors = long_factor if current > trained_length else short_factor
    frequency = unscaled_frequencies(head_dim, base, dtype=dtype)
    return frequency / torch.tensor(divisors, dtype=dtype)


def _check(trained_length: float, factor: float) -> None:
    if not factor >= 1:
        raise ValueError(f"factor is {factor}, expected at least 1")
    if not trained_length >= 1:
        raise ValueError(f"trained_length is {trained_length}, expected at least 1")


# --- the registry -----------------------------------------------------------------------------


def _one(factor: float, trained_length: int) -> float:
    return 1.0


def _yarn_factor(factor: float, trained_length: int) -> float:
    return yarn_attention_factor(factor)


def _longrope_factor(factor: float, trained_length: int) -> float:
    return longrope_attention_factor(factor, trained_length)


@dataclass(frozen=True)
class Extension:
    """A method under the signature that all of them share.

    Attributes
    ----------
    name, title
        The key in :data:`METHODS` and in configurations; the name for people.
    frequencies
        ``frequencies(head_dim, base, trained_length, factor, *, dtype, **options)`` gives
        inverse frequencies of shape [head_dim / 2], in radians per position.
    attention_factor
        ``attention_factor(factor, trained_length)`` gives what cos and sin are multiplied
        by; 1.0 where the method has none.
    changes_base
        Whether the method is RoPE with another base, by its definition.
    uses_factor
        Whether the frequencies depend on the factor.
    options
        The keyword options that the method takes beside ``dtype``.
    source
        Where it is defined.
    """

    name: str
    title: str
    frequencies: Callable[..., Tensor]
    source: str
    attention_factor: Callable[[float, int], float] = _one
    changes_base: bool = False
    uses_factor: bool = True
    options: tuple[str, ...] = ()


METHODS: dict[str, Extension] = {
    method.name: method
    for method in (
        Extension(
            "none", "no extension", none, "Su et al. (2021), RoFormer, arXiv 2104.09864",
            changes_base=True, uses_factor=False,
        ),
        Extension(
            "pi", "position interpolation", pi, "Chen et al. (2023), arXiv 2306.15595, eq. 4"
        ),
        Extension(
            "ntk", "NTK-aware", ntk, "Peng et al. (2023), YaRN, arXiv 2309.00071, eq. 16",
            changes_base=True,
        ),
        Extension(
            "dynamic_ntk", "dynamic NTK", dynamic_ntk,
            "Hugging Face transformers, modeling_rope_utils.py", changes_base=True,
            options=("length",),
        ),
        Extension(
            "abf", "adjusted base frequency", abf, "Xiong et al. (2023), arXiv 2309.16039",
            changes_base=True, uses_factor=False, options=("new_base",),
        ),
        Extension(
            "yarn", "YaRN (code)", yarn, "jquesnelle/yarn, LlamaYaRNScaledRotaryEmbedding",
            attention_factor=_yarn_factor, options=("beta_fast", "beta_slow", "truncate"),
        ),
        Extension(
            "yarn_paper", "YaRN (paper)", yarn_paper,
            "Peng et al. (2023), YaRN, arXiv 2309.00071, eq. 17-22",
            attention_factor=_yarn_factor, options=("alpha", "beta"),
        ),
        Extension(
            "llama3", "Llama 3.1", llama3, "meta-llama/llama-models, models/llama3/model.py",
            options=("low_freq_factor", "high_freq_factor"),
        ),
        Extension(
            "longrope", "LongRoPE", longrope, "Ding et al. (2024), arXiv 2402.13753",
            attention_factor=_longrope_factor,
            options=("short_factor", "long_factor", "length"),
        ),
    )
}  # fmt: skip
