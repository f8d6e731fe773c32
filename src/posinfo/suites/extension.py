"""Context extension: what each method does to the frequencies, and whether a base does the same.

Frequencies and attention factors against arbitrary precision and against values that others
published; turns within the trained length; pairs that reach angles never trained; the base
that fits each method best and what it leaves; where positions land under interpolation.
"""

import math
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from posinfo import scaling
from posinfo.reference import rounding
from posinfo.reference import scaling as reference
from posinfo.reference.rounding import UNIT
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import prove

SUITE = Suite(
    "extension",
    "Context extension: frequencies, turns, angles never trained, and the best-fitting base",
    columns=(
        "method", "model", "head_dim", "base", "trained_length", "factor", "pair", "share",
        "frequency_ratio",
    ),
)  # fmt: skip

_U32, _U64 = UNIT["float32"], UNIT["float64"]

_FREQUENCY = (
    "rounding analysis, u = 2^-24: power 2u, reciprocal u, base and exponent where no float32 "
    "(the exponent times ln base), and the method's own operations, blends with their conditioning"
)
_FITTED = (
    "the frequencies' rounding, carried through least squares: errors of the logarithms weighted "
    "by i/n, and the sums in float64"
)
_COUNT = "a count: the closed form in 50 digits must give the same"


class Setting(NamedTuple):
    """A model's rotary embedding and how far it is extended."""

    head_dim: int
    base: float
    trained_length: int
    factor: float

    @property
    def label(self) -> str:
        """How quantities name the setting: ``d=128 b=10000 L=4096 s=8``."""
        return f"{self.unscaled_label} s={self.factor:g}"

    @property
    def unscaled_label(self) -> str:
        """The same without the factor."""
        return f"d={self.head_dim} b={self.base:.10g} L={self.trained_length}"

    @property
    def columns(self) -> dict[str, float]:
        """The columns that hold the setting."""
        return self._asdict()


def _settings(parameters: Mapping[str, Any]) -> Iterator[Setting]:
    for values in product(
        parameters["head_dims"], parameters["bases"], parameters["trained_lengths"],
        parameters["factors"],
    ):  # fmt: skip
        yield Setting(*values)


def _figure(parameters: Mapping[str, Any]) -> Setting:
    return Setting(**parameters["figure"])


def _options(method: str, head_dim: int, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the configuration sets for a method."""
    if method == "abf":
        return {"new_base": parameters["abf_base"]}
    if method == "longrope":
        return {
            name: [series["first"] + pair * series["step"] for pair in range(head_dim // 2)]
            for name, series in parameters["longrope"].items()
        }
    return {}


def _subject(method: str) -> str:
    return f"posinfo.scaling.{method}"


class _Computed(NamedTuple):
    """A method's frequencies at a setting: float32, in 50 digits, and how far apart at most."""

    measured: Tensor
    exact: list[Any]
    bounds: list[float]

    def relative_errors(self) -> list[float]:
        return [
            float(abs(value - exact) / exact)
            for value, exact in zip(self.measured.tolist(), self.exact, strict=True)
        ]


def _compute(method: str, setting: Setting, options: Mapping[str, Any]) -> _Computed:
    return _Computed(
        scaling.METHODS[method].frequencies(*setting, **options),
        reference.frequencies(method, *setting, **options),
        reference.rounding_bounds(method, *setting, **options),
    )


def _worst(errors: list[float], bounds: list[float]) -> int:
    """The pair that uses most of its bound; a pair that may not err at all comes first if it does.

    Pairs that round nothing have the bound 0 and, when right, the error 0.
    """

    def used(pair: int) -> float:
        # NaN is larger than anything here: a comparison with it is false, and would pass over it.
        if math.isnan(errors[pair]):
            return math.inf
        if bounds[pair] == 0:
            return math.inf if errors[pair] else -1.0
        return errors[pair] / bounds[pair]

    return max(range(len(errors)), key=used)


def _frequencies_row(rows: Recorder, method: str, setting: Setting, options: dict[str, Any]):
    computed = _compute(method, setting, options)
    errors = computed.relative_errors()
    pair = _worst(errors, computed.bounds)
    # A pair that may not err at all, and does, must fail: a bound of 0 would decide nothing.
    bound = computed.bounds[pair] or sys.float_info.min
    uses_factor = scaling.METHODS[method].uses_factor
    columns = setting.columns | ({} if uses_factor else {"factor": None})
    label = setting.label if uses_factor else setting.unscaled_label
    rows.within(
        f"relative error of frequencies, {label}",
        errors[pair], 0, bound=bound, subject=_subject(method),
        evidence="float32", basis=f"{_FREQUENCY}; the pair that uses most of its bound",
        method=method, pair=pair, **columns,
    )  # fmt: skip


@SUITE.case("frequencies")
def frequencies(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The float32 frequencies of every method at every setting, against 50 digits."""
    for setting in _settings(parameters):
        for name, method in scaling.METHODS.items():
            if method.uses_factor or setting.factor == parameters["factors"][0]:
                options = _options(name, setting.head_dim, parameters)
                _frequencies_row(rows, name, setting, options)


@SUITE.case("frequency by pair")
def frequency_by_pair(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Each pair's frequency under each method, at one setting: the rows of the figure."""
    setting = _figure(parameters)
    trained = scaling.none(*setting)
    for method in scaling.METHODS:
        computed = _compute(method, setting, _options(method, setting.head_dim, parameters))
        # The quotient of two float32 numbers, in float64: it adds no rounding that shows.
        ratios = computed.measured.double() / trained.double()
        for pair, (value, exact, bound) in enumerate(
            zip(computed.measured.tolist(), computed.exact, computed.bounds, strict=True)
        ):
            common = {
                "subject": _subject(method), "evidence": "float32", "method": method,
                "pair": pair, "frequency_ratio": ratios[pair].item(), **setting.columns,
            }  # fmt: skip
            quantity = f"frequency of pair {pair:03d}"
            if bound == 0:
                rows.equals(quantity, value, float(exact), basis="nothing rounds here", **common)
            else:
                rows.within(
                    quantity, value, exact, bound=bound * float(exact), basis=_FREQUENCY, **common
                )


@SUITE.case("wavelengths")
def wavelengths(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The longest wavelength under each method, in positions, at the figure's model."""
    for factor in parameters["factors"]:
        setting = _figure(parameters)._replace(factor=factor)
        last = setting.head_dim // 2 - 1
        for name, method in scaling.METHODS.items():
            if not method.uses_factor and factor != parameters["factors"][0]:
                continue
            options = _options(name, setting.head_dim, parameters)
            computed = _compute(name, setting, options)
            exact = reference.extended_wavelengths(name, *setting, **options)[last]
            label = setting.label if method.uses_factor else setting.unscaled_label
            columns = setting.columns | ({} if method.uses_factor else {"factor": None})
            rows.within(
                f"longest wavelength, {label}", 2 * math.pi / computed.measured[last], exact,
                bound=rounding.gamma(computed.bounds[last] / _U32 + 2) * float(exact),
                subject=_subject(name), evidence="float32", method=name, pair=last, **columns,
                basis="rounding analysis, u = 2^-24: the frequency, 2 pi and the quotient",
            )  # fmt: skip


@SUITE.case("attention factor")
def attention_factor(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """What cos and sin are multiplied by, and what that does to the logits."""
    setting = _figure(parameters)
    length = setting.trained_length
    largest = max(parameters["factors"])
    for name, method in scaling.METHODS.items():
        exact = float(reference.attention_factor(name, largest, length))
        if exact == 1.0:
            rows.equals(
                "attention factor, largest s", method.attention_factor(largest, length), exact,
                subject=_subject(name), evidence="reference",
                basis="the method has no attention factor", method=name,
                factor=largest, trained_length=length,
            )  # fmt: skip
            continue
        for factor in parameters["factors"]:
            _attention_rows(rows, name, factor, length)


def _attention_rows(rows: Recorder, method: str, factor: float, length: int) -> None:
    measured = scaling.METHODS[method].attention_factor(factor, length)
    exact = reference.attention_factor(method, factor, length)
    if method == "longrope":
        # sqrt(1 + q): q has two logarithms of 2u and a quotient of u, the sum u, the root u
        # and halves what came before; the stored reference u.
        part = math.log(factor) / math.log(length)
        roundings = (5 * part / (1 + part) + 1) / 2 + 2
        basis = "rounding analysis, u = 2^-53: two logarithms, quotient, sum, root, reference"
    else:
        roundings = 3 * math.log(factor) / 10 / measured + 2
        basis = "rounding analysis, u = 2^-53: logarithm 2u, quotient, sum, reference"
    bound = rounding.gamma(roundings, _U64) * float(exact)
    setting = {"method": method, "factor": factor, "trained_length": length}
    rows.within(
        f"attention factor, s={factor:g} L={length}", measured, exact, bound=bound,
        subject=_subject(method), evidence="reference", basis=basis, **setting,
    )  # fmt: skip
    rows.exceeds(
        f"logits are multiplied by more than 1, s={factor:g} L={length}", measured**2, 1,
        bound=10 * 2 * float(exact) * bound, subject=_subject(method), evidence="reference",
        basis="ten times what rounding can do to the square of the attention factor", **setting,
    )  # fmt: skip


@SUITE.case("changed base")
def changed_base(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The bases of NTK-aware scaling and, at the extended length, of dynamic NTK."""
    for setting in _settings(parameters):
        head_dim, base, length, factor = setting
        exponent = head_dim / (head_dim - 2)
        growth = scaling.dynamic_factor(factor, factor * length, length)
        dynamic = reference.dynamic_ntk_base(base, factor, head_dim, factor * length, length)
        for method, factor_used, exact, own in (
            ("ntk", factor, reference.ntk_base(base, factor, head_dim), 0),
            # its own: two products, a quotient and two differences, each at most s^2 u absolute
            ("dynamic_ntk", growth, dynamic, 5 * exponent * factor**2 / growth),
        ):
            roundings = 4 + exponent * math.log(factor_used) + own
            rows.within(
                f"base, {setting.label}", scaling.ntk_base(base, factor_used, head_dim), exact,
                bound=rounding.gamma(roundings, _U64) * float(exact), subject=_subject(method),
                evidence="reference", method=method, **setting.columns,
                basis="rounding analysis, u = 2^-53: power 2u, product, reference, and the "
                "exponent's rounding times ln s",
            )  # fmt: skip


def _count_of(pairs: Tensor, *from_these: Tensor) -> float:
    """A count of pairs; NaN if what they were judged by is not finite, for NaN is below nothing."""
    return float(pairs.sum()) if all(bool(x.isfinite().all()) for x in from_these) else math.nan


@SUITE.case("angles never trained")
def angles_never_trained(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Pairs that reach an angle never trained, by going through all positions.

    See :func:`posinfo.reference.scaling.outside_pairs` for what counts and why.
    """
    for setting in _settings(parameters):
        pairs = setting.head_dim // 2
        for method in scaling.METHODS:
            options = _options(method, setting.head_dim, parameters)
            count = _outside(method, setting, options)
            common = {
                "subject": _subject(method), "evidence": "float32", "method": method,
                "share": count / pairs, **setting.columns,
            }  # fmt: skip
            rows.equals(
                f"pairs that reach an angle never trained, {setting.label}", count,
                len(reference.outside_pairs(method, *setting, **options)), basis=_COUNT, **common,
            )  # fmt: skip
            if method == "none":  # the contrast to the methods that leave no pair outside
                rows.exceeds(
                    f"some pair reaches an angle never trained, {setting.label}", count, 0,
                    bound=1, basis="a count that is not 0 is at least 1", **common,
                )  # fmt: skip


def _outside(
    method: str, setting: Setting, options: Mapping[str, Any], chunk: int = 2**16
) -> float:
    """Count by brute force: the angles of all positions, in float64 from float32 frequencies."""
    length = setting.trained_length
    trained = scaling.none(*setting).double()
    extended = scaling.METHODS[method].frequencies(*setting, **options).double()
    # A pair that completes a turn within the trained length has met every angle.
    unfinished = trained * length < 2 * math.pi
    limit, frequencies = (trained * length)[unfinished], extended[unfinished]
    reached = torch.zeros_like(limit, dtype=torch.bool)
    last = int(setting.factor * length)
    for start in range(0, last, chunk):
        positions = torch.arange(start, min(start + chunk, last), dtype=torch.float64)
        reached |= (positions[:, None] * frequencies >= limit).any(0)
    return _count_of(reached, trained, extended)


class _Fit(NamedTuple):
    """The base that fits frequencies best, and the log errors it leaves."""

    base: float
    rms: float
    largest: float


def _fit(frequencies: Tensor) -> _Fit:
    """Least squares on the logarithms, by the normal equation, in float64."""
    logs = frequencies.double().log()
    index = torch.arange(len(logs), dtype=torch.float64) / len(logs)
    log_base = -(index * logs).sum() / (index * index).sum()
    left = logs + index * log_base
    return _Fit(log_base.exp().item(), (left * left).mean().sqrt().item(), left.abs().max().item())


def _fit_bounds(frequencies: Tensor, bounds: list[float], base: float) -> _Fit:
    """How far rounding can move each part of a fit (all absolute).

    A relative error e of a frequency is an error e of its logarithm. ln b' then moves by
    sum(x e) / sum(x^2), x = i/n. Removing the best base never enlarges the errors in root mean
    square; the largest moves by at most the largest e + x times the error of ln b'.
    """
    count = len(bounds)
    index = [pair / count for pair in range(count)]
    # float64: a logarithm, a product and a sum of n terms, relative to the largest logarithm.
    largest = frequencies.double().log().abs().max().item()
    double = rounding.gamma(count + 4, _U64) * max(largest, 1.0)
    errors = [bound + double for bound in bounds]
    moved = sum(x * error for x, error in zip(index, errors, strict=True))
    moved /= sum(x * x for x in index)
    return _Fit(
        base * math.expm1(moved),
        math.sqrt(sum(error**2 for error in errors) / count),
        max(error + x * moved for x, error in zip(index, errors, strict=True)),
    )


_BEST_BASE = "best-fitting base"

_PARTS = {
    "base": "best-fitting base",
    "rms": "root-mean-square log error of the best base",
    "largest": "largest log error of the best base",
}


_NO_BASE = "ten times what rounding can leave of NTK-aware scaling, which is a change of base"


def _left_by_rounding(setting: Setting) -> float:
    """Bound of the largest log error that the best base leaves of NTK-aware scaling."""
    ntk = _compute("ntk", setting, {})
    return _fit_bounds(ntk.measured, ntk.bounds, setting.base).largest


def _what_a_base_leaves(setting: Setting) -> tuple[str, str, str]:
    """The row that has this bound."""
    return _BEST_BASE, f"{_PARTS['largest']}, {setting.label}", _subject("ntk")


def _fit_rows(
    rows: Recorder, method: str, setting: Setting, computed: _Computed, exact: tuple[Any, ...]
) -> None:
    uses_factor = scaling.METHODS[method].uses_factor
    label = setting.label if uses_factor else setting.unscaled_label
    columns = setting.columns | ({} if uses_factor else {"factor": None})
    measured = _fit(computed.measured)
    bounds = _fit_bounds(computed.measured, computed.bounds, float(exact[0]))
    for part, value in zip(_PARTS, exact, strict=True):
        rows.within(
            f"{_PARTS[part]}, {label}", getattr(measured, part), value,
            bound=getattr(bounds, part), subject=_subject(method), evidence="float32",
            basis=_FITTED, method=method, **columns,
        )  # fmt: skip


@SUITE.case(_BEST_BASE)
def best_fitting_base(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The base nearest to each method's frequencies, and what it leaves: nothing, or too much."""
    for factor in parameters["factors"]:
        setting = _figure(parameters)._replace(factor=factor)
        yardstick = _left_by_rounding(setting)
        for name, method in scaling.METHODS.items():
            if not method.uses_factor and factor != parameters["factors"][0]:
                continue
            computed = _compute(name, setting, _options(name, setting.head_dim, parameters))
            exact = reference.best_fit(computed.exact)
            _fit_rows(rows, name, setting, computed, exact)
            if method.changes_base:
                continue
            rows.exceeds(
                f"no base gives this method: largest log error of the best, {setting.label}",
                _fit(computed.measured).largest, 0, bound=10 * yardstick,
                subject=_subject(name), evidence="float32", method=name, **setting.columns,
                basis=_NO_BASE, contradicts=_what_a_base_leaves(setting),
            )  # fmt: skip


@SUITE.case("best-fitting base of interpolation")
def best_base_of_interpolation(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Position interpolation at every setting, against the closed forms of its best base."""
    for setting in _settings(parameters):
        head_dim, base, _, factor = setting
        exact = (
            reference.interpolation_best_base(base, factor, head_dim),
            reference.interpolation_rms(factor, head_dim),
            reference.MP.log(factor),
        )
        _fit_rows(rows, "pi", setting, _compute("pi", setting, {}), exact)


@SUITE.case("many bases against interpolation")
def many_bases(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Pair 0 of interpolation against many bases: the same error for all, and none does better."""
    scan = parameters["scan"]
    step = math.log(scan["highest"] / scan["lowest"]) / (scan["count"] - 1)
    bases = [scan["lowest"] * math.exp(number * step) for number in range(scan["count"])]
    figure = _figure(parameters)
    candidates = torch.stack([scaling.none(*figure._replace(base=base)) for base in bases])
    tried = f"{scan['count']} bases from {scan['lowest']:g} to {scan['highest']:g}"
    for factor in parameters["factors"]:
        setting = figure._replace(factor=factor)
        interpolated = scaling.pi(*setting)
        errors = (candidates.double().log() - interpolated.double().log()).abs()
        # Pair 0 of a base is exactly 1; 1/s is rounded unless s is a power of two.
        slack = reference.rounding_bounds("pi", *setting)[0]
        bound = slack + rounding.gamma(3, _U64) * math.log(factor)
        common = {"subject": _subject("pi"), "evidence": "float32", "method": "pi"}
        for word, value in (("smallest", errors[:, 0].min()), ("largest", errors[:, 0].max())):
            rows.within(
                f"{word} log error of pair 0 over {tried}, {setting.label}", value,
                reference.MP.log(factor), bound=bound, pair=0, **common, **setting.columns,
                basis="rounding analysis, u = 2^-53: pair 0 is 1 for every base; logarithm 2u, "
                "reference u",
            )  # fmt: skip
        rows.exceeds(
            f"largest log error of the best of {tried}, {setting.label}",
            errors.max(1).values.min(), 0, bound=10 * _left_by_rounding(setting), basis=_NO_BASE,
            contradicts=_what_a_base_leaves(setting), **common, **setting.columns,
        )  # fmt: skip


@SUITE.case("ramps of YaRN")
def ramps_of_yarn(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """YaRN's code blends over the index of the pair, its paper over turns: how far apart."""
    for ramp in parameters["ramps"]:
        setting = Setting(*(ramp[name] for name in Setting._fields))
        options = {"truncate": ramp["truncate"]}
        code, paper = _compute("yarn", setting, options), _compute("yarn_paper", setting, {})
        apart = [
            abs(theirs / ours - 1) for theirs, ours in zip(paper.exact, code.exact, strict=True)
        ]
        pair = max(range(len(apart)), key=apart.__getitem__)
        # The largest difference may come to lie at another pair by rounding: any pair's bound.
        bound = max(
            rounding.gamma((theirs + ours) / _U32) * float(paper_exact / code_exact)
            for theirs, ours, paper_exact, code_exact in zip(
                paper.bounds, code.bounds, paper.exact, code.exact, strict=True
            )
        )
        measured = (paper.measured.double() / code.measured.double() - 1).abs().max()
        common = {
            "subject": _subject("yarn"), "method": "yarn", "model": ramp["name"],
            **setting.columns,
        }  # fmt: skip
        rows.within(
            f"largest difference of the paper's frequencies, relative to the code's, "
            f"{ramp['name']}, {setting.label}", measured, apart[pair],
            bound=bound, evidence="float32", basis=f"{_FREQUENCY}, of both", pair=pair, **common,
        )  # fmt: skip
        low, high = scaling.correction_range(*setting[:3], **options)
        exact = reference.correction_range(*setting[:3], **options)
        quantity = f"pair where the code's ramp {{}}, {ramp['name']}, {setting.label}"
        for word, value, true in (("begins", low, exact[0]), ("ends", high, exact[1])):
            if ramp["truncate"]:
                rows.equals(
                    quantity.format(word), float(value), float(true), evidence="reference",
                    basis="a whole pair: the same formula by logarithms in 50 digits", **common,
                )  # fmt: skip
            else:
                # d ln(q) / (2 ln b): q = L / (2 pi beta) has four roundings, which its
                # logarithm turns into absolute ones; two logarithms, three operations, reference.
                scale = setting.head_dim / (2 * math.log(setting.base))
                roundings = 4 * scale / float(true) + 8
                rows.within(
                    quantity.format(word), value, true, evidence="reference",
                    bound=rounding.gamma(roundings, _U64) * float(true),
                    basis="rounding analysis, u = 2^-53: two logarithms, the argument's four "
                    "roundings, three operations, reference", **common,
                )  # fmt: skip


@SUITE.case("published values")
def published_values(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Frequencies that another project's tests expect, as printed there."""
    for listed in parameters["published"]:
        setting = Setting(*(listed[name] for name in Setting._fields))
        method = listed["method"]
        options = {"length": listed["length"]} if "length" in listed else {}
        computed = _compute(method, setting, options)
        first, digits = listed["first_pair"], listed["digits"]
        errors, bounds = [], []
        for pair, printed in enumerate(listed["values"], start=first):
            last_digit = 10.0 ** (math.floor(math.log10(printed)) - digits + 1)
            errors.append(abs(computed.measured[pair].item() - printed) / last_digit)
            bounds.append(0.5 + computed.bounds[pair] * printed / last_digit)
        worst = _worst(errors, bounds)
        rows.within(
            f"distance from the values of {listed['name']} in units of their last digit, "
            f"{setting.label}", errors[worst], 0, bound=bounds[worst], subject=_subject(method),
            evidence="reference", method=method, pair=first + worst, **setting.columns,
            basis=f"{len(errors)} values printed with {digits} digits: half a unit of the last, "
            f"and float32 rounding; {listed['source']}",
        )  # fmt: skip
        _frequencies_row(rows, method, setting, options)


@SUITE.case("interpolated positions")
def interpolated_positions(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Where interpolation puts the positions of a longer context."""
    for stretch in parameters["stretches"]:
        length, context = stretch["trained_length"], stretch["context"]
        factor = context / length
        places = scaling.interpolate(torch.arange(context, dtype=torch.float64), factor)
        label = f"{length} to {context}"
        common = {
            "subject": "posinfo.scaling.interpolate", "evidence": "reference", "method": "pi",
            "trained_length": length, "factor": factor,
        }  # fmt: skip
        rows.equals(
            f"factor, {label}", factor, stretch["factor"],
            basis="arithmetic: context over trained length", **common,
        )  # fmt: skip
        largest = reference.largest_interpolated_position(length, factor)
        last = places.max().item()
        for name, value, exact in (
            ("largest interpolated position", last, largest),
            ("how far it passes the last trained one", last - (length - 1), largest - length + 1),
        ):
            if math.frexp(factor)[0] == 0.5:
                rows.equals(
                    f"{name}, {label}", value, float(exact), **common,
                    basis="exact: a whole number over a power of two, and the closed form L - 1/s",
                )  # fmt: skip
            else:
                rows.within(
                    f"{name}, {label}", value, exact, bound=rounding.gamma(3, _U64) * length,
                    basis="rounding analysis, u = 2^-53: s, the quotient, the reference", **common,
                )  # fmt: skip


@SUITE.case("proofs")
def proofs(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The identities behind it, for every width, base and factor."""
    # Imported here: sympy takes a third of a second, which the other cases do not need.
    from posinfo.proofs.scaling import PROOFS

    for proof, subject in PROOFS:
        about = (
            "closed form that references use"
            if ".reference." in subject
            else "function that torch runs"
        )
        prove(rows, proof, subject, about=about)
