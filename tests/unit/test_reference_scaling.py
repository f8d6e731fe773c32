"""The 50-digit side of context extension: closed forms, bounds, and that bounds can be broken."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posinfo import scaling
from posinfo.reference import rounding
from posinfo.reference import scaling as reference

HEAD_DIMS = st.sampled_from([4, 24, 64, 80, 96, 128, 256])
BASES = st.one_of(st.sampled_from([1e4, 5e5, 1e6]), st.floats(100, 1e7))
LENGTHS = st.integers(2, 10**6)
FACTORS = st.one_of(st.sampled_from([1.0, 2.0, 8.0, 10.0]), st.floats(1, 64))


def options(name: str, head_dim: int) -> dict:
    if name != "longrope":
        return {}
    pairs = head_dim // 2
    return {"short_factor": [1.0] * pairs, "long_factor": [1 + pair / 3 for pair in range(pairs)]}


def relative_errors(name: str, head_dim: int, *setting: float, **more: object) -> list[float]:
    more = options(name, head_dim) | more
    got = scaling.METHODS[name].frequencies(head_dim, *setting, **more)
    exact = reference.frequencies(name, head_dim, *setting, **more)
    return [float(abs(x - y) / y) for x, y in zip(got.tolist(), exact, strict=True)]


@pytest.mark.parametrize("name", scaling.METHODS)
@settings(deadline=None, max_examples=25)
@given(HEAD_DIMS, BASES, LENGTHS, FACTORS)
def test_float32_stays_within_the_derived_bound(name, head_dim, base, length, factor):
    errors = relative_errors(name, head_dim, base, length, factor)
    more = options(name, head_dim)
    bounds = reference.rounding_bounds(name, head_dim, base, length, factor, **more)
    for pair, (error, bound) in enumerate(zip(errors, bounds, strict=True)):
        assert error <= bound, f"pair {pair}: {error} > {bound}"


def test_the_bound_rejects_a_wrong_ramp():
    errors = relative_errors("yarn", 128, 1e4, 2048, 10.0)
    bounds = reference.rounding_bounds("yarn", 128, 1e4, 2048, 10.0)
    wrong = reference.frequencies("yarn", 128, 1e4, 2048, 10.0, truncate=False)
    right = reference.frequencies("yarn", 128, 1e4, 2048, 10.0)
    assert all(error <= bound for error, bound in zip(errors, bounds, strict=True))
    assert any(abs(w / r - 1) > 100 * b for w, r, b in zip(wrong, right, bounds, strict=True) if b)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("yarn", {"truncate": False, "beta_fast": 24.3, "beta_slow": 1.7}),
        ("yarn_paper", {"alpha": 1.3, "beta": 17.9}),
        ("llama3", {"low_freq_factor": 1.1, "high_freq_factor": 3.3}),
        ("abf", {"new_base": 123456.7}),
        ("dynamic_ntk", {"length": 5000}),
        ("longrope", {"length": 100}),
    ],
)
def test_options_reach_both_sides_and_the_bound(name, more):
    setting = (128, 1e4, 2048, 10.0)
    errors = relative_errors(name, *setting, **more)
    bounds = reference.rounding_bounds(name, *setting, **(options(name, 128) | more))
    assert all(error <= bound for error, bound in zip(errors, bounds, strict=True))
    usual = reference.frequencies(name, *setting, **options(name, 128))
    changed = reference.frequencies(name, *setting, **(options(name, 128) | more))
    assert usual != changed


def test_pair_zero_rounds_nothing():
    for name in ("none", "ntk", "abf"):
        bounds = reference.rounding_bounds(name, 128, 1e4, 4096, 8.0)
        assert bounds[0] == 0
        assert min(bounds[1:]) > 0
    assert reference.rounding_bounds("pi", 128, 1e4, 4096, 8.0)[0] == 0
    assert reference.rounding_bounds("pi", 128, 1e4, 4096, 10.0)[0] > 0


def test_wavelengths_of_the_slowest_pair():
    longest = reference.wavelengths(128, 10000)[-1]
    assert float(longest) == pytest.approx(54410.143, abs=5e-4)
    for name, stretch in (("pi", 8), ("ntk", 8), ("yarn", 8), ("llama3", 8), ("none", 1)):
        got = reference.extended_wavelengths(name, 128, 10000, 4096, 8.0)[-1]
        assert abs(got / longest - stretch) < 1e-40, name


def test_an_unknown_method_is_an_error():
    with pytest.raises(KeyError):
        reference.frequencies("linear", 128, 10000, 4096, 8.0)


@settings(deadline=None, max_examples=60)
@given(HEAD_DIMS, BASES, st.integers(2, 10**7))
def test_pairs_below_one_turn_by_counting(head_dim, base, length):
    counted = sum(turns < 1 for turns in reference.turns(head_dim, base, length))
    assert reference.pairs_below_one_turn(head_dim, base, length) == counted


def test_llama_2_has_eighteen_pairs_below_one_turn():
    assert reference.pairs_below_one_turn(128, 10000, 4096) == 18
    assert reference.pairs_below_one_turn(128, 10000, 54410) == 1
    assert reference.pairs_below_one_turn(128, 10000, 54411) == 0


@settings(deadline=None, max_examples=40)
@given(HEAD_DIMS, BASES, LENGTHS, st.sampled_from([2, 4, 8]))
def test_outside_pairs_by_their_definition(head_dim, base, length, factor):
    trained = reference.frequencies("none", head_dim, base, length, factor)
    for name in scaling.METHODS:
        extended = reference.frequencies(
            name, head_dim, base, length, factor, **options(name, head_dim)
        )
        by_definition = [
            pair
            for pair, (before, after) in enumerate(zip(trained, extended, strict=True))
            if length * before < 2 * reference.MP.pi
            and (factor * length - 1) * after >= length * before
        ]
        got = reference.outside_pairs(
            name, head_dim, base, length, factor, **options(name, head_dim)
        )
        assert got == by_definition, name


def test_who_leaves_the_trained_angles():
    def count(name):
        return len(reference.outside_pairs(name, 128, 10000, 4096, 2))

    assert count("none") == reference.pairs_below_one_turn(128, 10000, 4096)
    assert count("pi") == count("yarn") == count("yarn_paper") == count("llama3") == 0
    # Only its last pair is stretched by the whole factor.
    assert count("ntk") == count("none") - 1


def test_largest_interpolated_position():
    assert reference.largest_interpolated_position(4096, 8) == 4095.875
    assert reference.largest_interpolated_position(4096, 8) - 4095 == 1 - 1 / 8


@settings(deadline=None, max_examples=40)
@given(HEAD_DIMS, BASES, st.floats(1.01, 64))
def test_best_base_of_interpolation_has_a_closed_form(head_dim, base, factor):
    exact = reference.frequencies("pi", head_dim, base, 4096, factor)
    best, rms, largest = reference.best_fit(exact)
    assert abs(best / reference.interpolation_best_base(base, factor, head_dim) - 1) < 1e-35
    assert abs(rms / reference.interpolation_rms(factor, head_dim) - 1) < 1e-35
    assert abs(largest / reference.MP.log(factor) - 1) < 1e-35


@settings(deadline=None, max_examples=40)
@given(HEAD_DIMS, BASES, st.floats(2.0, 1e8))
def test_no_base_is_nearer_than_the_best(head_dim, base, other):
    exact = reference.frequencies("yarn_paper", head_dim, base, 4096, 8.0)
    best, rms, _ = reference.best_fit(exact)
    pairs = head_dim // 2
    errors = [
        reference.MP.log(value) + reference.MP.mpf(pair) / pairs * reference.MP.log(other)
        for pair, value in enumerate(exact)
    ]
    assert reference.MP.sqrt(sum(e * e for e in errors) / pairs) >= rms * (1 - 1e-40)
    assert best > 1


@pytest.mark.parametrize("name", [name for name, m in scaling.METHODS.items() if m.changes_base])
def test_a_base_change_leaves_nothing(name):
    best, rms, largest = reference.best_fit(reference.frequencies(name, 128, 10000, 4096, 8.0))
    assert rms == 0
    assert largest == 0
    assert best >= 9999


@pytest.mark.parametrize(
    "name", [name for name, m in scaling.METHODS.items() if not m.changes_base]
)
def test_every_other_method_leaves_something(name):
    exact = reference.frequencies(name, 128, 10000, 4096, 8.0, **options(name, 128))
    assert reference.best_fit(exact)[2] > 0.1


def test_interpolation_misses_pair_zero_by_ln_s_whatever_the_base():
    for base in torch.logspace(0.5, 9, 20, dtype=torch.float64).tolist():
        error = math.log(scaling.none(128, base, 4096, 8.0)[0]) - math.log(
            scaling.pi(128, base, 4096, 8.0)[0]
        )
        assert error == pytest.approx(math.log(8), rel=1e-15)


def test_far_bases_leave_more_than_ln_s():
    """The largest error is ln s only from b to about b s^2: beyond, other pairs err by more."""
    logs = [reference.MP.log(f) for f in reference.frequencies("pi", 128, 10000, 4096, 8.0)]

    def largest(base):
        return max(
            abs(log + reference.MP.mpf(pair) / 64 * reference.MP.log(base))
            for pair, log in enumerate(logs)
        )

    assert abs(largest(10000 * 8) - reference.MP.log(8)) < 1e-40
    assert largest(5000) > reference.MP.log(8) + 0.1
    assert largest(10000 * 8**3) > reference.MP.log(8) + 0.1


def test_changed_bases_and_attention_factors():
    assert float(reference.ntk_base(10000, 8, 128)) == pytest.approx(82684.62, abs=0.005)
    dynamic = reference.dynamic_ntk_base(10000, 10, 128, 16384, 2048)
    assert float(dynamic) == pytest.approx(759702.23, abs=0.005)
    assert float(reference.dynamic_ntk_base(10000, 10, 128, 100, 2048)) == pytest.approx(10000)
    assert float(reference.attention_factor("yarn", 40, 4096)) == pytest.approx(1.3689, abs=5e-5)
    assert float(reference.attention_factor("longrope", 32, 4096)) == pytest.approx(
        1.19024, abs=5e-6
    )
    assert reference.attention_factor("pi", 40, 4096) == 1


@pytest.mark.parametrize(("value", "held"), [(0.5, True), (500000.0, True), (0.1, False)])
def test_which_numbers_are_float32(value, held):
    assert reference.is_float32(value) is held


def test_gamma_grows_faster_than_linearly():
    assert rounding.gamma(3) == pytest.approx(3 * 2.0**-24, rel=1e-6)
    assert rounding.gamma(2000) > 2000 * rounding.gamma(1)
