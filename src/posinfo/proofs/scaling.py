"""Proofs about context extension, by sympy, on the functions that run in torch.

A proof is a function without arguments that returns what it shows, the expression that sympy
arrives at, as text, and the text expected. A wrong formula gives another text; a test puts
wrong ones in and sees every proof fail.
"""

from collections.abc import Callable

import sympy
from sympy import Eq, Integer, diff, log, simplify, solve, summation

from posinfo import scaling
from posinfo.encodings.rotary import frequency
from posinfo.reference import scaling as reference

Proof = tuple[str, str, str]

b = sympy.Symbol("b", positive=True)
d = sympy.Symbol("d", positive=True)
s = sympy.Symbol("s", positive=True)
L = sympy.Symbol("L", positive=True)
i = sympy.Symbol("i", positive=True)
n = sympy.Symbol("n", integer=True, positive=True)
#: The last pair, at least 1: every even width above 2 is 2 (last + 1), and NTK needs d > 2.
last = sympy.Symbol("last", integer=True, positive=True)
wide = 2 * (last + 1)


def _text(expression: object) -> str:
    return str(expression)


def _log_of_implied_base(pair_frequency: sympy.Expr, width: sympy.Expr) -> sympy.Expr:
    """ln B of the base B for which pair i's frequency is B^(-2i/d): -d/(2i) ln theta'_i."""
    return simplify(-width / (2 * i) * sympy.expand_log(log(pair_frequency), force=True))


def ntk_keeps_first_pair() -> Proof:
    """Pair 0 under the NTK-aware base has the frequency that it had."""
    changed = frequency(Integer(0), wide, scaling.ntk_base(b, s, wide))
    return (
        "NTK-aware base: pair 0 keeps its frequency, theta'_0 / theta_0",
        _text(simplify(changed / frequency(Integer(0), wide, b))),
        "1",
    )


def ntk_divides_last_pair() -> Proof:
    """The last pair, d/2 - 1, has its frequency divided by exactly s."""
    changed = frequency(last, wide, scaling.ntk_base(b, s, wide))
    return (
        "NTK-aware base: the last pair is divided by s, theta_last / theta'_last",
        _text(simplify(frequency(last, wide, b) / changed)),
        "s",
    )


def ntk_is_a_base_change() -> Proof:
    """NTK-aware scaling stretches wavelengths geometrically, and one base does that for all.

    The base implied by theta_i s^(-i/last) is solved for pair i. It is free of i, and it is
    the base of :func:`posinfo.scaling.ntk_base`: their logarithms are the same.
    """
    stretched = frequency(i, wide, b) * s ** (-i / last)
    implied = _log_of_implied_base(stretched, wide)
    changed = sympy.expand_log(log(scaling.ntk_base(b, s, wide)), force=True)
    return (
        "NTK-aware scaling is one base: ln of what pair i implies, less ln of b s^(d/(d-2))",
        _text(simplify(implied - changed)),
        "0",
    )


def abf_is_a_base_change() -> Proof:
    """ABF's base is b s for s = b'/b: it multiplies each theta_i by s^(-2i/d).

    theta_i s^(-2i/d) over the frequency of base b s: 1 for every pair.
    """
    stretched = frequency(i, d, b) * s ** (-2 * i / d)
    return (
        "ABF is one base: theta_i s^(-2i/d) over pair i's frequency under base b s",
        _text(simplify(stretched / frequency(i, d, b * s))),
        "1",
    )


def no_base_interpolates() -> Proof:
    """Pair 0 has frequency 1 whatever the base, and interpolation asks for 1/s: so s = 1.

    Here b is the base looked for; it drops out, and the only solution is no interpolation.
    """
    any_base = frequency(Integer(0), d, b)
    demanded = scaling.interpolate(any_base, s)
    return (
        "no base interpolates: factors s for which one gives pair 0 the frequency 1/s",
        _text(solve(Eq(demanded, any_base), s)),
        "[1]",
    )


def no_base_is_yarn() -> Proof:
    """A pair that YaRN keeps asks for base b, one that it interpolates for another: so s = 1.

    Pairs i >= 1 of both kinds exist whenever the ramp lies inside the pairs. The kept one
    (share 1) implies base b; the logarithm of base over b that the interpolated one (share 0)
    implies is d ln(s) / (2 i), which is zero for s = 1 only.
    """
    kept = scaling.blend(frequency(i, d, b), s, Integer(1))
    interpolated = scaling.blend(frequency(i, d, b), s, Integer(0))
    difference = simplify(_log_of_implied_base(interpolated, d) - _log_of_implied_base(kept, d))
    return (
        "no base is YaRN: ln of the bases that an interpolated and a kept pair imply; s if equal",
        f"{_text(difference)}; {_text(solve(Eq(difference, 0), s))}",
        "d*log(s)/(2*i); [1]",
    )


def _interpolation_errors(log_ratio: sympy.Expr, log_factor: sympy.Symbol) -> sympy.Expr:
    """Log error of pair i of position interpolation against the base b exp(log_ratio)."""
    interpolated = scaling.interpolate(Integer(1), sympy.exp(log_factor))
    return sympy.expand_log(log(interpolated), force=True) + i / n * log_ratio


def best_base_of_interpolation() -> Proof:
    """At the base b s^(3n/(2n-1)) the derivative of the squared log error is zero."""
    log_factor, log_ratio = sympy.symbols("l c", positive=True)
    error = _interpolation_errors(log_ratio, log_factor)
    slope = summation(sympy.expand(diff(error**2, log_ratio)), (i, 0, n - 1))
    at_best = slope.subs(log_ratio, reference.interpolation_exponent(n) * log_factor)
    return (
        "best base of interpolation, b s^(3n/(2n-1)): derivative of the squared log error",
        _text(simplify(at_best)),
        "0",
    )


def best_base_leaves() -> Proof:
    """What that base leaves: the mean square over (ln s)^2 is (n + 1) / (2 (2n - 1))."""
    log_factor = sympy.Symbol("l", positive=True)
    best = reference.interpolation_exponent(n) * log_factor
    error = _interpolation_errors(best, log_factor)
    mean = summation(sympy.expand(error**2), (i, 0, n - 1)) / n / log_factor**2
    return (
        "what it leaves: mean squared log error / (ln s)^2, less (n + 1)/(2 (2n - 1))",
        _text(simplify(mean - reference.interpolation_mean_square(n))),
        "0",
    )


def first_pair_error_is_the_same() -> Proof:
    """Pair 0's log error is ln s for every base: the base drops out."""
    error = log(frequency(Integer(0), d, b)) - log(scaling.interpolate(Integer(1), s))
    return (
        "no base leaves less: log error of pair 0 of interpolation against any base b",
        _text(sympy.expand_log(simplify(error), force=True)),
        "log(s)",
    )


def interpolation_overshoots() -> Proof:
    """The last of s L positions lands 1 - 1/s past the last trained one, L - 1."""
    overshoot = scaling.interpolate(s * L - 1, s) - (L - 1)
    return (
        "interpolation passes the last trained position: (s L - 1)/s - (L - 1)",
        _text(sympy.expand(simplify(overshoot))),
        "1 - 1/s",
    )


def yarn_scales_logits() -> Proof:
    """YaRN multiplies logits by the square of its attention factor: 1 for s = 1 only.

    With s = e^t, t >= 0, the square less one is t/5 + t^2/100, a sum of positive terms.
    """
    t = sympy.Symbol("t", positive=True)
    square = scaling.yarn_attention_factor(sympy.exp(t), log=log) ** 2
    return (
        "YaRN scales the logits: square of its attention factor at s = e^t, less 1",
        _text(sympy.expand(square - 1)),
        "t**2/100 + t/5",
    )


#: Every proof, with the function it is about.
PROOFS: tuple[tuple[Callable[[], Proof], str], ...] = (
    (ntk_keeps_first_pair, "posinfo.scaling.ntk_base"),
    (ntk_divides_last_pair, "posinfo.scaling.ntk_base"),
    (ntk_is_a_base_change, "posinfo.scaling.ntk_base"),
    (abf_is_a_base_change, "posinfo.encodings.rotary.frequency"),
    (no_base_interpolates, "posinfo.scaling.interpolate"),
    (no_base_is_yarn, "posinfo.scaling.blend"),
    (best_base_of_interpolation, "posinfo.reference.scaling.interpolation_exponent"),
    (best_base_leaves, "posinfo.reference.scaling.interpolation_mean_square"),
    (first_pair_error_is_the_same, "posinfo.scaling.interpolate"),
    (interpolation_overshoots, "posinfo.scaling.interpolate"),
    (yarn_scales_logits, "posinfo.scaling.yarn_attention_factor"),
)
