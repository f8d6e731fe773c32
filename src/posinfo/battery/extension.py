"""The battery for methods that extend the context: their frequencies and attention factors.

Nothing here calls :mod:`posinfo.scaling`. The expected values come from wavelengths in 50 digits
(:mod:`posinfo.reference.scaling`), from each method's definition at its ends, and from values that
other projects assert. Bounds hold for any right road in float32: powers or exponentials, ramps
over turns or over wavelengths.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from torch import Tensor

from posinfo.battery.base import (
    Battery,
    Check,
    Finding,
    Misbehaviour,
    NotAsked,
    stated,
    verdict,
    worst_of,
)
from posinfo.battery.calls import called, tensor
from posinfo.battery.rotary import frequency_bound
from posinfo.reference import scaling as exact
from posinfo.reference.rounding import UNIT, gamma

#: Head dimension, base, trained length and factor: of Llama, Llama 3.2 1B and Qwen, and one whose
#: head dimension is no power of two.
Setting = tuple[int, float, int, float]
SETTINGS: tuple[Setting, ...] = (
    (128, 10_000.0, 2048, 10.0),
    (64, 500_000.0, 8192, 32.0),
    (128, 1_000_000.0, 32_768, 4.0),
    (96, 10_000.0, 4096, 8.0),
)
#: Where YaRN's limits are clamped: at the fastest pair, for a short trained length, and past the
#: slowest, for a small base.
CLAMPED: tuple[Setting, ...] = ((64, 10_000.0, 128, 4.0), (32, 12.0, 1024, 4.0))
#: The setting that huggingface/transformers' own tests of these methods use.
TESTED = SETTINGS[0]
FACTORS = (1.0, 2.0, 4.0, 10.0, 32.0, 40.0)

METHODS = ("pi", "ntk", "dynamic_ntk", "abf", "yarn", "yarn_paper", "llama3", "longrope")
#: Turns below which a pair is interpolated, and from which it is kept.
TURNS = {"yarn": (1.0, 32.0), "yarn_paper": (1.0, 32.0), "llama3": (1.0, 4.0)}
#: Methods whose frequencies depend on the current length.
FOLLOW_LENGTH = ("dynamic_ntk", "longrope")


@dataclass(frozen=True)
class Extension:
    """An implementation of one method, as the checks call it.

    Parameters
    ----------
    name
        What people call it.
    method
        One of :data:`METHODS`: what it claims to be.
    frequencies
        Takes a head dimension, a base, a trained length and a factor, and returns frequencies
        [d/2] in radians per position. By keyword: ``length``, the current one, for the methods of
        :data:`FOLLOW_LENGTH`; ``short_factor`` and ``long_factor`` for LongRoPE; ``new_base``
        for ABF.
    attention_factor
        Takes a factor and a trained length, and returns what cos and sin are multiplied by.
    options
        Options of :func:`posinfo.reference.scaling.frequencies` in which it departs from the
        usual, and declares to, such as ``truncate`` for YaRN; it is not handed them.
    """

    name: str
    method: str
    frequencies: Callable[..., Tensor]
    attention_factor: Callable[[float, int], float] = lambda factor, trained_length: 1.0
    options: Mapping[str, Any] = field(default_factory=dict)


@cache
def _exact(method: str, setting: Setting, options: tuple[tuple[str, Any], ...] = ()) -> np.ndarray:
    """Frequencies of a method in float64, from 50 digits."""
    values = exact.frequencies(method, *setting, **dict(options))
    return np.array([float(value) for value in values])


@cache
def _turns(dim: int, base: float, length: int) -> np.ndarray:
    return np.array([float(value) for value in exact.turns(dim, base, length)])


class ExtensionProbe:
    """One subject, and what its method prescribes."""

    def __init__(self, subject: Extension) -> None:
        self.subject = subject

    def given(self, setting: Setting) -> dict[str, Any]:
        """Keyword arguments that the method needs: LongRoPE's lists, in numbers of few bits."""
        dim, base, _, _ = setting
        if self.subject.method == "abf":
            return {"new_base": 50 * base}
        if self.subject.method == "longrope":
            pairs = range(dim // 2)
            return {
                "short_factor": [1 + pair / 64 for pair in pairs],
                "long_factor": [1.0 + pair for pair in pairs],
            }
        return {}

    def frequencies(self, setting: Setting, **options: Any) -> np.ndarray:
        """The subject's frequencies [d/2] in float64."""
        dim, base, length, factor = setting
        about = f"for d={dim}, base {base:,.0f}, L={length:,}, s={factor:g}"
        given = self.given(setting) | options
        found = called(self.subject.frequencies, dim, base, length, factor, about=about, **given)
        numbers = tensor(found, [dim // 2], about=about).detach().double().numpy()
        if (numbers <= 0).any():
            raise Misbehaviour(f"returns a frequency of {numbers.min():g} {about}")
        return numbers

    def exact(self, setting: Setting, **options: Any) -> np.ndarray:
        """What the method prescribes, from 50 digits."""
        given = self.given(setting) | dict(self.subject.options) | options
        # Lists as tuples: what was computed once, in 50 digits, is kept.
        kept = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        return _exact(self.subject.method, setting, tuple(kept.items()))

    def bound(self, setting: Setting, **options: Any) -> np.ndarray:
        """Relative bound on each frequency in float32, by whichever road; shape [d/2].

        A frequency of a base carries 4 roundings and 3 (2i/d) ln b more by exponentials; a base
        that was changed before carries 4, times the exponent. A division adds 2. A blend adds 4,
        and what its share is off by: of a ramp over pairs, three roundings, and those of its ends
        if they are no whole numbers; of a ramp over turns r, those of r, (own + 4) r over the
        ramp's width, and three. The frequency moves by that times 1 - 1/s.
        """
        dim, base, length, factor = setting
        method = self.subject.method
        share = np.arange(dim // 2) * 2 / dim
        if method == "abf":
            base = self.given(setting)["new_base"]
        elif method in ("ntk", "dynamic_ntk"):
            current = options.get("length") or factor * length
            growth = factor if method == "ntk" else 1 + factor * max(current / length - 1, 0)
            base = float(exact.ntk_base(base, growth, dim))
        own = frequency_bound(dim, base) / UNIT["float32"]
        if method in ("ntk", "dynamic_ntk"):
            own = own + 4 * share
        elif method in ("pi", "longrope"):
            own = own + 2
        elif method in TURNS:
            own = own + 4 + self._share_bound(setting, own)
        return own * UNIT["float32"]

    def _share_bound(self, setting: Setting, own: np.ndarray) -> np.ndarray:
        """How far the share of a blend moves a frequency, relative to it, in units of u."""
        dim, base, length, factor = setting
        few, many = TURNS[self.subject.method]
        kept = self.shares(setting)
        if self.subject.method == "yarn":
            low, high = map(float, exact.correction_range(dim, base, length,
                                                          **self.subject.options))  # fmt: skip
            # Ends that are not whole: a logarithm's quotient, 8 roundings of the larger end.
            ends = 0.0 if self.subject.options.get("truncate", True) else 8 * high / (high - low)
            off = np.full(dim // 2, 3 + 2 * ends)
        else:
            turns = _turns(dim, base, length)
            off = np.minimum(turns, many + 1) * (own + 4) / (many - few) + 3
        # Where the exact share is 0 or 1 by far, the clamp takes the error away.
        sure = self._surely_clamped(setting)
        whole = (1 - kept) / factor + kept
        return np.where(sure, 0.0, off * (1 - 1 / factor) / whole)

    def _surely_clamped(self, setting: Setting) -> np.ndarray:
        raw = self._ramp(setting)
        return (raw < -1e-3) | (raw > 1 + 1e-3)

    def _ramp(self, setting: Setting) -> np.ndarray:
        """The share of each pair that is kept, before it is clamped to 0 and 1."""
        dim, base, length, _ = setting
        few, many = TURNS[self.subject.method]
        if self.subject.method == "yarn":
            low, high = map(float, exact.correction_range(dim, base, length,
                                                          **self.subject.options))  # fmt: skip
            return 1 - (np.arange(dim // 2) - low) / (high - low)
        turns = _turns(dim, base, length)
        return (turns - few) / (many - few)

    def shares(self, setting: Setting) -> np.ndarray:
        """The share of each pair that the method keeps: 1 unchanged, 0 divided by the factor."""
        return np.clip(self._ramp(setting), 0.0, 1.0)

    def compare(self, setting: Setting, words: str = "", **options: Any) -> Finding:
        """Each frequency against the prescribed one, relative to it."""
        found, expected = self.frequencies(setting, **options), self.exact(setting, **options)
        error = np.abs(found / expected - 1)
        bound = self.bound(setting, **options)
        pair = int(np.argmax(error / bound))
        dim, base, length, factor = setting
        where = words or f"d={dim}, base {base:,.0f}, L={length:,}, s={factor:g}"
        ratio = found[pair] / expected[pair]
        return verdict(float(error[pair]), float(bound[pair]),
                       f"{where}: pair {pair} is {ratio:.4g} times what it must be")  # fmt: skip


def _values(probe: ExtensionProbe) -> Finding:
    return worst_of([probe.compare(setting) for setting in SETTINGS + CLAMPED])


def _factor_one(probe: ExtensionProbe) -> Finding:
    """Nothing changes where the context stays as it is: frequencies of RoPE as trained."""
    found: list[Finding] = []
    if probe.subject.method not in ("abf", "longrope"):
        for dim, base, length, _ in SETTINGS:
            trained = _exact("none", (dim, base, length, 1.0))
            error = np.abs(probe.frequencies((dim, base, length, 1.0)) / trained - 1)
            # A blend adds the two shares of one number, and an NTK base is the base itself.
            bound = frequency_bound(dim, base) + gamma(8)
            pair = int(np.argmax(error / bound))
            found.append(verdict(float(error[pair]), float(bound[pair]), f"d={dim}, pair {pair}"))
    factor = _factor(probe, 1.0, 2048)
    found.append(verdict(abs(factor - 1), gamma(4), f"attention factor {factor:.6g}"))
    return worst_of(found)


#: What the trained frequencies of the first and the last pair are divided by.
_ENDS: dict[str, Callable[[ExtensionProbe, Setting], tuple[float, float]]] = {
    "pi": lambda probe, s: (s[3], s[3]),
    "ntk": lambda probe, s: (1.0, s[3]),
    # At s times the trained length.
    "dynamic_ntk": lambda probe, s: (1.0, 1 + s[3] * (s[3] - 1)),
    "abf": lambda probe, s: (1.0, 50 ** (1 - 2 / s[0])),
    "yarn": lambda probe, s: (1.0, s[3]),
    "yarn_paper": lambda probe, s: (1.0, s[3]),
    "llama3": lambda probe, s: (1.0, s[3]),
    "longrope": lambda probe, s: (1.0, s[0] / 2),
}


def _ends(probe: ExtensionProbe) -> Finding:
    """The first and the last pair, from the trained frequencies and the definition alone."""
    findings = []
    for setting in SETTINGS:
        dim, base, _, _ = setting
        options = {"length": setting[3] * setting[2]} if (
            probe.subject.method in FOLLOW_LENGTH) else {}  # fmt: skip
        found, bound = probe.frequencies(setting, **options), probe.bound(setting, **options)
        for pair, divisor in zip((0, -1), _ENDS[probe.subject.method](probe, setting), strict=True):
            trained = base ** (-2 * (pair % (dim // 2)) / dim)
            ratio = trained / found[pair]
            findings.append(
                verdict(
                    float(abs(ratio / divisor - 1)),
                    float(bound[pair]) * 1.001,
                    f"d={dim}, s={setting[3]:g}: the {'first' if pair == 0 else 'last'} pair is "
                    f"divided by {ratio:.4g}, not by {divisor:.4g}",
                )
            )
    return worst_of(findings)


def _falling(probe: ExtensionProbe) -> Finding:
    """Frequencies fall from pair to pair, and none exceeds the trained one."""
    for setting in SETTINGS:
        found = probe.frequencies(setting)
        rising = np.flatnonzero(np.diff(found) >= 0)
        if len(rising):
            return stated(False, f"d={setting[0]}: pair {rising[0] + 1} is not slower than pair "
                          f"{rising[0]}")  # fmt: skip
        trained = _exact("none", setting)
        faster = np.flatnonzero(found > trained * (1 + 2 * probe.bound(setting)))
        if len(faster):
            return stated(False, f"d={setting[0]}: pair {faster[0]} is faster than trained")
    return stated(True)


def _blend(probe: ExtensionProbe) -> Finding:
    """The share that each pair keeps, read off its frequency: linear in frequency, by the ramp."""
    if probe.subject.method not in TURNS:
        raise NotAsked("it blends nothing")
    findings = []
    for setting in SETTINGS + CLAMPED:
        dim, base, _, factor = setting
        trained = _exact("none", setting)
        ratio = probe.frequencies(setting) / trained
        shares = (ratio - 1 / factor) / (1 - 1 / factor)
        error = np.abs(shares - probe.shares(setting))
        bound = probe.bound(setting) * ratio.clip(min=1 / factor) / (1 - 1 / factor) * 1.001
        pair = int(np.argmax(error / bound))
        words = (
            f"d={dim}, base {base:,.0f}: pair {pair} keeps {shares[pair]:.3g} of its frequency, "
            f"not {probe.shares(setting)[pair]:.3g}"
        )
        findings.append(verdict(float(error[pair]), float(bound[pair]), words))
    return worst_of(findings)


def _length(probe: ExtensionProbe) -> Finding:
    """Within the trained length and beyond it, and within it again after a longer text."""
    if probe.subject.method not in FOLLOW_LENGTH:
        raise NotAsked("its frequencies do not depend on the current length")
    findings = []
    for setting in SETTINGS[:2]:
        trained = setting[2]
        for length in (1, trained, trained + 1, 2 * trained, 8 * trained, trained // 2):
            where = f"at length {length:,}, trained {trained:,}"
            findings.append(probe.compare(setting, where, length=length))
    return worst_of(findings)


def _factor(probe: ExtensionProbe, factor: float, length: int) -> float:
    about = f"for s={factor:g}, L={length:,}"
    found = called(probe.subject.attention_factor, factor, length, about=about)
    try:
        return float(found)
    except (TypeError, ValueError) as error:
        raise Misbehaviour(f"its attention factor {about} is no number") from error


def _attention(probe: ExtensionProbe) -> Finding:
    """What cos and sin are multiplied by: logits get its square."""
    findings = []
    for factor in FACTORS:
        for length in (2048, 4096):
            found = _factor(probe, factor, length)
            expected = float(exact.attention_factor(probe.subject.method, factor, length))
            # Two logarithms, a quotient, a sum and a root, in float32 or finer.
            findings.append(verdict(abs(found / expected - 1), gamma(8),
                                    f"s={factor:g}, L={length:,}: {found:.5g}, not "
                                    f"{expected:.5g}"))  # fmt: skip
    return worst_of(findings)


#: Frequencies by pair at d=128, base 10000, L=2048 and factor 10, as huggingface/transformers
#: asserts them in its tests, to five digits; dynamic NTK at a length of 16384.
PUBLISHED: dict[str, dict[int, str]] = {
    "pi": {0: ".1", 1: ".086596", 2: ".074989", 63: "1.1548e-5"},
    "dynamic_ntk": {1: ".80931", 2: ".65498", 36: "4.9220e-4", 63: "1.6265e-6"},
    "yarn": dict(enumerate(
        ["8.3479e-2", "6.9590e-2", "5.7925e-2", "4.8136e-2", "3.9931e-2", "3.3061e-2",
         "2.7315e-2", "2.2515e-2", "1.8512e-2", "1.5177e-2", "1.2403e-2", "1.0101e-2",
         "8.1924e-3", "6.6143e-3", "5.3120e-3", "4.2400e-3", "3.3599e-3", "2.6396e-3",
         "2.0520e-3", "1.5746e-3", "1.1882e-3", "8.7713e-4", "6.2810e-4", "4.3007e-4"], 17)),
    "llama3": dict(enumerate(
        ["1.0730e-2", "7.7785e-3", "5.6009e-3", "3.9991e-3", "2.8248e-3", "1.9675e-3",
         "1.3449e-3", "8.9549e-4", "5.7363e-4", "3.4539e-4"], 31)),
}  # fmt: skip
#: Bases of NTK-aware scaling at d=128 and base 10000 (YaRN, arXiv 2309.00071, equation 16).
PUBLISHED_BASES = {2: "20221.26", 4: "40889.94", 8: "82684.62", 16: "167198.74", 32: "338096.95"}
#: YaRN's attention factors (equation 22), to four decimals, and LongRoPE's at L=4096.
PUBLISHED_FACTORS = {
    "yarn": {2: "1.0693", 4: "1.1386", 8: "1.2079", 16: "1.2773", 32: "1.3466", 40: "1.3689"},
    "longrope": {32: "1.19024"},
}


def _half_unit(printed: str) -> float:
    """Half a unit in the last digit that is printed."""
    return 0.5 * 10.0 ** int(Decimal(printed).as_tuple().exponent)


def _published(probe: ExtensionProbe) -> Finding:
    method, findings = probe.subject.method, []
    if method in PUBLISHED and not probe.subject.options:
        options = {"length": 16_384} if method == "dynamic_ntk" else {}
        found, bound = probe.frequencies(TESTED, **options), probe.bound(TESTED, **options)
        for pair, printed in PUBLISHED[method].items():
            value = float(printed)
            words = f"pair {pair}: {found[pair]:.4e}, not {value:.4e}"
            allowed = _half_unit(printed) + value * float(bound[pair])
            findings.append(verdict(float(abs(found[pair] - value)), allowed, words))
    if method == "ntk":
        for factor, printed in PUBLISHED_BASES.items():
            setting = (128, 10_000.0, 2048, float(factor))
            found, bound = probe.frequencies(setting), probe.bound(setting)
            # The last pair's exponent is nearest to 1: its error is amplified least.
            base = found[-1] ** (-128 / 126)
            allowed = float(_half_unit(printed) + base * bound[-1] * 1.1)
            words = f"s={factor}: base {base:,.2f}, not {printed}"
            findings.append(verdict(float(abs(base - float(printed))), allowed, words))
    for factor, printed in PUBLISHED_FACTORS.get(method.removesuffix("_paper"), {}).items():
        value = _factor(probe, float(factor), 4096)
        words = f"s={factor}: attention factor {value:.5g}, not {printed}"
        allowed = _half_unit(printed) + gamma(8)
        findings.append(verdict(abs(value - float(printed)), allowed, words))
    if not findings:
        raise NotAsked("no published values are at hand")
    return worst_of(findings)


_RELATIVE = "of the frequency"


def _checks() -> Sequence[Check]:
    return (
        Check("factor one", "changes nothing at factor 1", _RELATIVE, _factor_one),
        Check("first and last pair", "changes the fastest and the slowest pair as defined",
              _RELATIVE, _ends),
        Check("falling", "keeps frequencies falling, and none above the trained", "", _falling),
        Check("blend", "blends frequencies, each pair by its place on the ramp", "share", _blend),
        Check("frequencies", "has the method's frequencies", _RELATIVE, _values),
        Check("current length", "follows the current length where it must", _RELATIVE, _length),
        Check("attention factor", "scales cos and sin as the method says", "of the factor",
              _attention),
        Check("published values", "has the values that others assert", "value", _published),
    )  # fmt: skip


BATTERY = Battery("extension", tuple(_checks()), ExtensionProbe)
