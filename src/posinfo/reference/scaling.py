"""Context extension in 50 digits, along other roads than :mod:`posinfo.scaling`.

That module works on frequencies and changes bases; this one works on wavelengths and never
forms a changed base: a base change multiplies the wavelength of pair i by a power. It also
holds closed forms (the best-fitting base of position interpolation, which pairs stay below one
turn, which leave the trained range of angles) and what rounding can do to a float32 frequency.

Notation: d = ``head_dim``, n = d/2 pairs, i the pair, b = ``base``, L = ``trained_length``,
s = ``factor``, lambda_i = 2 pi b^(i/n) the wavelength in positions.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any

import mpmath

from posinfo.reference.rounding import UNIT, gamma

#: A context of its own: the digits of the global one may be changed by others.
MP = mpmath.mp.clone()
MP.dps = 50

Number = mpmath.mpf

U32 = UNIT["float32"]


# --- wavelengths, in positions ----------------------------------------------------------------


def wavelengths(head_dim: int, base: float) -> list[Number]:
    """Positions that each pair needs for one turn: 2 pi exp((i/n) ln b)."""
    pairs = head_dim // 2
    step = MP.log(base) / pairs
    return [2 * MP.pi * MP.exp(pair * step) for pair in range(pairs)]


def _none(head_dim: int, base: float, trained_length: float, factor: float) -> list[Number]:
    return wavelengths(head_dim, base)


def _pi(head_dim: int, base: float, trained_length: float, factor: float) -> list[Number]:
    return [length * MP.mpf(factor) for length in wavelengths(head_dim, base)]


def _stretched_geometrically(head_dim: int, base: float, growth: Number) -> list[Number]:
    """Pair 0 kept, the last pair's wavelength times ``growth``, a geometric series between."""
    last = head_dim // 2 - 1
    step = MP.log(growth) / last
    return [length * MP.exp(pair * step) for pair, length in enumerate(wavelengths(head_dim, base))]


def _ntk(head_dim: int, base: float, trained_length: float, factor: float) -> list[Number]:
    return _stretched_geometrically(head_dim, base, MP.mpf(factor))


def _dynamic_ntk(
    head_dim: int, base: float, trained_length: float, factor: float, length: float | None = None
) -> list[Number]:
    trained = MP.mpf(trained_length)
    overflow = MP.mpf(factor) * trained - trained if length is None else MP.mpf(length) - trained
    return _stretched_geometrically(head_dim, base, 1 + factor * max(overflow, 0) / trained)


def _abf(
    head_dim: int, base: float, trained_length: float, factor: float, new_base: float = 500000.0
) -> list[Number]:
    step = MP.log(MP.mpf(new_base) / MP.mpf(base)) * 2 / head_dim
    return [length * MP.exp(pair * step) for pair, length in enumerate(wavelengths(head_dim, base))]


def correction_dim(turns: float, head_dim: int, base: float, trained_length: float) -> Number:
    """Pair, as a real number, with ``turns`` turns within L: ln(L / (2 pi turns)) in steps."""
    shortest = 2 * MP.pi
    step = MP.log(base) * 2 / head_dim
    return (MP.log(trained_length) - MP.log(shortest) - MP.log(turns)) / step


def correction_range(
    head_dim: int,
    base: float,
    trained_length: float,
    beta_fast: float = 32,
    beta_slow: float = 1,
    truncate: bool = True,
) -> tuple[Number, Number]:
    """Range of pairs that YaRN's code blends over, clamped as the code clamps it."""
    low = correction_dim(beta_fast, head_dim, base, trained_length)
    high = correction_dim(beta_slow, head_dim, base, trained_length)
    if truncate:
        low, high = MP.floor(low), MP.ceil(high)
    low, high = max(low, MP.zero), min(high, MP.mpf(head_dim - 1))
    return (low, high + MP.mpf("0.001")) if low == high else (low, high)


def _blended(length: Number, factor: float, interpolated: Number) -> Number:
    """Wavelength of a frequency of which the share ``interpolated`` is divided by ``factor``."""
    return length / (1 - interpolated * (1 - 1 / MP.mpf(factor)))


def _yarn(
    head_dim: int,
    base: float,
    trained_length: float,
    factor: float,
    beta_fast: float = 32,
    beta_slow: float = 1,
    truncate: bool = True,
) -> list[Number]:
    low, high = correction_range(head_dim, base, trained_length, beta_fast, beta_slow, truncate)
    stretched = []
    for pair, length in enumerate(wavelengths(head_dim, base)):
        # Clamped as a quotient: below L = 2 pi positions high can be negative, and the code
        # then interpolates nothing.
        share = min(max((pair - low) / (high - low), MP.zero), MP.one)
        stretched.append(_blended(length, factor, share))
    return stretched


def _by_wavelength(
    head_dim: int, base: float, trained_length: float, factor: float, few: float, many: float
) -> list[Number]:
    """Kept below L/many, times s above L/few, blended linearly in L/lambda between."""
    stretched = []
    for length in wavelengths(head_dim, base):
        if length < MP.mpf(trained_length) / many:
            stretched.append(length)
        elif length > MP.mpf(trained_length) / few:
            stretched.append(length * factor)
        else:
            missing = many - trained_length / length
            stretched.append(_blended(length, factor, missing / (many - few)))
    return stretched


def _yarn_paper(
    head_dim: int,
    base: float,
    trained_length: float,
    factor: float,
    alpha: float = 1,
    beta: float = 32,
) -> list[Number]:
    return _by_wavelength(head_dim, base, trained_length, factor, few=alpha, many=beta)


def _llama3(
    head_dim: int,
    base: float,
    trained_length: float,
    factor: float,
    low_freq_factor: float = 1,
    high_freq_factor: float = 4,
) -> list[Number]:
    return _by_wavelength(
        head_dim, base, trained_length, factor, few=low_freq_factor, many=high_freq_factor
    )


def _longrope(
    head_dim: int,
    base: float,
    trained_length: float,
    factor: float,
    short_factor: Sequence[float] = (),
    long_factor: Sequence[float] = (),
    length: float | None = None,
) -> list[Number]:
    fits = factor <= 1 if length is None else length <= trained_length
    divisors = short_factor if fits else long_factor
    return [
        wavelength * MP.mpf(divisor)
        for wavelength, divisor in zip(wavelengths(head_dim, base), divisors, strict=True)
    ]


_WAVELENGTHS: dict[str, Callable[..., list[Number]]] = {
    "none": _none,
    "pi": _pi,
    "ntk": _ntk,
    "dynamic_ntk": _dynamic_ntk,
    "abf": _abf,
    "yarn": _yarn,
    "yarn_paper": _yarn_paper,
    "llama3": _llama3,
    "longrope": _longrope,
}


def extended_wavelengths(
    method: str, head_dim: int, base: float, trained_length: float, factor: float, **options: Any
) -> list[Number]:
    """Wavelengths in positions, shape [d/2], under a method of :data:`posinfo.scaling.METHODS`.

    Raises
    ------
    KeyError
        If the method is unknown.
    """
    return _WAVELENGTHS[method](head_dim, base, trained_length, factor, **options)


def frequencies(
    method: str, head_dim: int, base: float, trained_length: float, factor: float, **options: Any
) -> list[Number]:
    """Inverse frequencies in radians per position, shape [d/2], under a method."""
    return [
        2 * MP.pi / length
        for length in extended_wavelengths(
            method, head_dim, base, trained_length, factor, **options
        )
    ]


# --- changed bases and attention factors ------------------------------------------------------


def ntk_base(base: float, factor: float, head_dim: int) -> Number:
    """Base whose last pair has s times the wavelength: (b^(last/n) s)^(n/last), by logarithms."""
    pairs = head_dim // 2
    last = pairs - 1
    return MP.exp((MP.log(base) * last / pairs + MP.log(factor)) * pairs / last)


def dynamic_ntk_base(
    base: float, factor: float, head_dim: int, length: float, trained_length: float
) -> Number:
    """Base of dynamic NTK: that of a factor of 1 + s (n - L) / L."""
    trained = MP.mpf(trained_length)
    return ntk_base(base, 1 + factor * max(length - trained, 0) / trained, head_dim)


def attention_factor(method: str, factor: float, trained_length: float) -> Number:
    """What cos and sin are multiplied by; one for methods that have no such factor.

    YaRN: 1 + ln of the tenth root of s. LongRoPE: the root of log_L(s L).
    """
    if method in ("yarn", "yarn_paper"):
        return 1 + MP.log(MP.root(factor, 10))
    if method == "longrope":
        return MP.sqrt(MP.log(MP.mpf(factor) * trained_length, trained_length))
    return MP.one


# --- turns, and the range of angles that training covered -------------------------------------


def turns(head_dim: int, base: float, trained_length: float) -> list[Number]:
    """Turns of each pair within the trained length: r_i = L / lambda_i."""
    return [trained_length / length for length in wavelengths(head_dim, base)]


def pairs_below_one_turn(head_dim: int, base: float, trained_length: float) -> int:
    """Number of pairs that never complete a turn within the trained length (r_i < 1).

    Closed form: those with an index above :func:`correction_dim` of one turn.
    """
    pairs = head_dim // 2
    complete = MP.floor(correction_dim(1, head_dim, base, trained_length)) + 1
    return pairs - int(min(max(complete, 0), pairs))


def outside_pairs(
    method: str, head_dim: int, base: float, trained_length: int, factor: float, **options: Any
) -> list[int]:
    """Pairs that reach an angle never trained when the context is ``factor`` times as long.

    A pair is *outside* when two things hold. It makes less than one full turn within the
    trained length (L theta_i < 2 pi, theta_i the trained frequency): a pair that completed a
    turn has met the whole circle, so no angle is new to it. And at position s L - 1, the last
    one, its angle under the method reaches or passes the angle that RoPE as trained has at
    position L, the first position never trained: (s L - 1) theta'_i >= L theta_i.

    Why L and not L - 1: position interpolation puts the last position at (s L - 1) / s =
    (L - 1) + (1 - 1/s), past the last trained angle by less than one position's step, which
    is not an angle of a position never trained.

    Returns
    -------
    list of int
        Indices of the pairs, in order. Decided by the ratio of wavelengths: a pair stays
        inside when the method stretches its wavelength by more than s - 1/L.
    """
    trained = wavelengths(head_dim, base)
    extended = extended_wavelengths(method, head_dim, base, trained_length, factor, **options)
    needed = MP.mpf(factor) - 1 / MP.mpf(trained_length)
    return [
        pair
        for pair, (before, after) in enumerate(zip(trained, extended, strict=True))
        if before > trained_length and after / before <= needed
    ]


def largest_interpolated_position(trained_length: int, factor: float) -> Number:
    """Where interpolation puts the last position of an s times longer context: L - 1/s."""
    return trained_length - 1 / MP.mpf(factor)


# --- the base that fits given frequencies best ------------------------------------------------


def best_fit(frequencies: Sequence[Number]) -> tuple[Number, Number, Number]:
    """Base whose RoPE frequencies are nearest in root-mean-square log frequency.

    Minimises the sum over pairs of (ln theta'_i + (i/n) ln b')^2 over ln b'. The derivative is
    linear in ln b', so its zero is found exactly by one secant through two of its values.

    Parameters
    ----------
    frequencies
        Inverse frequencies, shape [n].

    Returns
    -------
    tuple
        The base b', the root-mean-square log error it leaves, and the largest; errors that
        are nothing but the rounding of the 50 digits are given as 0.
    """
    count = len(frequencies)
    logs = [MP.log(value) for value in frequencies]

    def errors(log_base: Number) -> list[Number]:
        return [value + MP.mpf(pair) / count * log_base for pair, value in enumerate(logs)]

    def derivative(log_base: Number) -> Number:
        return MP.fsum(pair * error for pair, error in enumerate(errors(log_base)))

    at_zero, at_one = derivative(MP.zero), derivative(MP.one)
    log_base = at_zero / (at_zero - at_one)
    left = errors(log_base)
    rms = MP.sqrt(MP.fsum(error**2 for error in left) / count)
    largest = max(abs(error) for error in left)
    noise = MP.mpf(10) ** (10 - MP.dps)
    return MP.exp(log_base), MP.chop(rms, noise), MP.chop(largest, noise)


def interpolation_exponent(pairs: Any) -> Any:
    """Exponent k of the base b s^k nearest to position interpolation: 3n / (2n - 1).

    Interpolation has ln theta'_i = -(i/n) ln b - ln s, so with x_i = i/n least squares gives
    ln b' = ln b + ln s (sum x_i) / (sum x_i^2), and those sums are (n-1)/2 and
    (n-1)(2n-1)/(6n). Takes numbers and symbols.
    """
    return 3 * pairs / (2 * pairs - 1)


def interpolation_mean_square(pairs: Any) -> Any:
    """Mean square of what that base leaves, in units of (ln s)^2: (n + 1) / (2 (2n - 1)).

    The errors are ln s (3i/(2n-1) - 1). The largest is pair 0's, ln s, which is the same for
    every base: pair 0 has frequency 1 whatever the base. So no base leaves less than ln s.
    """
    return (pairs + 1) / (2 * (2 * pairs - 1))


def interpolation_best_base(base: float, factor: float, head_dim: int) -> Number:
    """Base nearest to position interpolation: b s^(3n / (2n - 1))."""
    return base * MP.power(factor, interpolation_exponent(MP.mpf(head_dim) / 2))


def interpolation_rms(factor: float, head_dim: int) -> Number:
    """Root-mean-square log error that the base nearest to position interpolation leaves."""
    return MP.log(factor) * MP.sqrt(interpolation_mean_square(MP.mpf(head_dim) / 2))


# --- what rounding can do ---------------------------------------------------------------------


def is_float32(value: float) -> bool:
    """Whether a number is a float32, so that storing it as one rounds nothing."""
    return struct.unpack("f", struct.pack("f", float(value)))[0] == float(value)


def _is_power_of_two(value: float) -> bool:
    return value > 0 and float(value).hex().split("p")[0] == "0x1.0000000000000"


def _theta_roundings(head_dim: int, base: float, exact_base: bool) -> list[float]:
    """Relative error of 1 / base^(2i/d) in float32, in units of u, to first order.

    The power is good to one unit in the last place (2u), its reciprocal to half of one (u). A
    base that is no float32 is rounded: x u for the exponent x = 2i/d. An exponent that is no
    float32 (d not a power of two) is rounded: x u ln(base). Pair 0 is exact.
    """
    roundings = []
    for dim in range(0, head_dim, 2):
        exponent = dim / head_dim
        total = 3.0 if dim else 0.0
        total += 0.0 if exact_base else exponent
        total += 0.0 if is_float32(exponent) else exponent * float(MP.log(base))
        roundings.append(total)
    return roundings


def _blend_roundings(
    theta: list[float], kept: list[float], kept_error: list[float], factor: float
) -> list[float]:
    """Relative error of theta/s (1 - g) + theta g in units of u.

    Of theta itself; of each product (the division by s unless exact, the difference 1 - g and
    the multiplication for the first, the multiplication for the second), weighted by its share
    of the sum; of the sum; and of g, whose error moves the sum by theta (1 - 1/s).
    """
    division = 0.0 if _is_power_of_two(factor) else 1.0 + (not is_float32(factor))
    totals = []
    for own, share, error in zip(theta, kept, kept_error, strict=True):
        if error == 0 and share == 1:
            totals.append(own)  # the first product is zero and the second exact
        elif error == 0 and share == 0:
            totals.append(own + division)
        else:
            interpolated = (1 - share) / factor
            whole = interpolated + share
            products = (interpolated * (division + 2) + share) / whole
            totals.append(own + products + 1 + error * (1 - 1 / factor) / whole)
    return totals


def _clamped(raw: list[float], error: list[float]) -> tuple[list[float], list[float]]:
    """Clamp to [0, 1]: a value that lies outside by more than its error (in u) is exact."""
    sure = [
        value <= -slack * U32 or value >= 1 + slack * U32
        for value, slack in zip(raw, error, strict=True)
    ]
    return (
        [min(max(value, 0.0), 1.0) for value in raw],
        [0.0 if exact else slack for exact, slack in zip(sure, error, strict=True)],
    )


def _index_ramp_roundings(
    head_dim: int, base: float, trained_length: float, options: dict[str, Any]
) -> tuple[list[float], list[float]]:
    """The share that YaRN's code keeps and its absolute error in u.

    (i - low) / (high - low): the division rounds; a low that is no float32 is rounded, which
    moves the ramp by low / (high - low), and the differences then round too. Then 1 - ramp.
    """
    low, high = map(float, correction_range(head_dim, base, trained_length, **options))
    width = high - low
    raw, error = [], []
    for pair in range(head_dim // 2):
        ramp = (pair - low) / width
        slack = abs(ramp)
        if not is_float32(low):
            slack += low / width + abs(ramp)
        if not is_float32(width):
            slack += abs(ramp)
        raw.append(ramp)
        error.append(slack)
    ramp, error = _clamped(raw, error)
    kept = [1 - value for value in ramp]
    return kept, [slack + share if slack else 0.0 for slack, share in zip(error, kept, strict=True)]


def _turn_ramp_roundings(
    head_dim: int,
    base: float,
    trained_length: float,
    theta: list[float],
    few: float,
    many: float,
    turn_roundings: int,
) -> tuple[list[float], list[float]]:
    """The share that a ramp over turns keeps and its absolute error in u.

    r = theta L / (2 pi) carries the error of theta, of the rounded L / (2 pi) and of the
    product; then r - few and the division by many - few round. So the error is r (own + 2) /
    (many - few) and two times the ramp, and one more each for thresholds that are no float32.
    """
    width = many - few
    raw, error = [], []
    for own, made in zip(theta, turns(head_dim, base, trained_length), strict=True):
        made = float(made)
        ramp = (made - few) / width
        slack = made * (own + turn_roundings) / width + 2 * abs(ramp)
        slack += 0.0 if is_float32(few) else few / width
        slack += 0.0 if is_float32(width) else abs(ramp)
        raw.append(ramp)
        error.append(slack)
    return _clamped(raw, error)


#: The turns below which a pair is interpolated and above which it is kept, with usual values.
_THRESHOLDS = {
    "yarn_paper": {"alpha": 1, "beta": 32},
    "llama3": {"low_freq_factor": 1, "high_freq_factor": 4},
}


def rounding_bounds(
    method: str,
    head_dim: int,
    base: float,
    trained_length: float,
    factor: float,
    *,
    turn_roundings: int = 2,
    **options: Any,
) -> list[float]:
    """Bound of the relative error of each float32 frequency that :mod:`posinfo.scaling` gives.

    Counts the roundings of its formulas in units of u = 2^-24, the conditioning of the blends
    included; what it assumes of the machine is a power good to one unit in the last place and
    correctly rounded + - * /.

    Parameters
    ----------
    turn_roundings
        Roundings of a pair's turns within L beside those of its frequency: L / (2 pi) and a
        product here. Who divides L by the wavelength 2 pi / theta has three.

    Returns
    -------
    list of float
        Shape [d/2]; 0 where no rounding happens at all, as for pair 0 of a changed base.
    """
    if method in ("ntk", "dynamic_ntk"):
        # The changed base exceeds the trained one; it is a float32 only by accident.
        length = options.get("length") or factor * trained_length
        grown = factor if method == "ntk" else 1 + factor * (length / trained_length - 1)
        new_base = float(ntk_base(base, max(grown, 1.0), head_dim))
        theta = _theta_roundings(head_dim, new_base, exact_base=is_float32(new_base))
        return [gamma(roundings) for roundings in theta]
    if method == "abf":
        base = options.get("new_base", 500000.0)
    theta = _theta_roundings(head_dim, base, exact_base=is_float32(base))
    if method == "pi":
        division = 0.0 if _is_power_of_two(factor) else 1.0 + (not is_float32(factor))
        theta = [own + division for own in theta]
    elif method == "longrope":
        fits = (options.get("length") or factor * trained_length) <= trained_length
        divisors = options["short_factor" if fits else "long_factor"]
        theta = [
            own + (0.0 if _is_power_of_two(divisor) else 1.0 + (not is_float32(divisor)))
            for own, divisor in zip(theta, divisors, strict=True)
        ]
    elif method == "yarn":
        kept, error = _index_ramp_roundings(head_dim, base, trained_length, options)
        theta = _blend_roundings(theta, kept, error, factor)
    elif method in _THRESHOLDS:
        few, many = (options.get(name, usual) for name, usual in _THRESHOLDS[method].items())
        kept, error = _turn_ramp_roundings(
            head_dim, base, trained_length, theta, few, many, turn_roundings
        )
        theta = _blend_roundings(theta, kept, error, factor)
    return [gamma(roundings) for roundings in theta]
