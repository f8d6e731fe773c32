"""Context extension: properties of the methods, and proofs that a wrong formula breaks."""

import math

import mpmath
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posinfo import scaling
from posinfo.encodings.rotary import frequencies
from posinfo.proofs import scaling as proofs

HEAD_DIMS = st.sampled_from([4, 8, 64, 96, 128])
BASES = st.floats(100, 1e7)
LENGTHS = st.integers(2, 10**6)
FACTORS = st.floats(1, 64)


def options(name: str, head_dim: int) -> dict:
    if name != "longrope":
        return {}
    pairs = head_dim // 2
    return {"short_factor": [1.0] * pairs, "long_factor": [1.0 + pair for pair in range(pairs)]}


def extended(name: str, head_dim: int, base: float, length: int, factor: float) -> torch.Tensor:
    method = scaling.METHODS[name]
    return method.frequencies(head_dim, base, length, factor, **options(name, head_dim))


@pytest.mark.parametrize("name", scaling.METHODS)
def test_every_method_gives_one_float32_frequency_a_pair(name):
    got = extended(name, 96, 1e4, 2048, 4.0)
    assert got.shape == (48,)
    assert got.dtype == torch.float32
    assert bool((got > 0).all())
    assert scaling.METHODS[name].name == name


@pytest.mark.parametrize("name", [name for name in scaling.METHODS if name not in ("abf",)])
def test_factor_one_changes_nothing(name):
    got = extended(name, 128, 1e4, 4096, 1.0)
    torch.testing.assert_close(got, frequencies(128, 1e4), rtol=3e-7, atol=0)
    assert scaling.METHODS[name].attention_factor(1.0, 4096) == 1.0


@pytest.mark.parametrize("name", scaling.METHODS)
@pytest.mark.parametrize("factor", [0.5, 0.0, -1.0, math.nan])
def test_factor_below_one_is_refused(name, factor):
    with pytest.raises(ValueError, match=r"factor is .* expected at least 1"):
        extended(name, 8, 1e4, 128, factor)


def test_no_trained_length_is_refused():
    with pytest.raises(ValueError, match="trained_length is 0"):
        scaling.pi(8, 1e4, 0, 2.0)


@settings(deadline=None, max_examples=60)
@given(HEAD_DIMS, BASES, LENGTHS, FACTORS)
def test_blends_stay_between_interpolation_and_no_change(head_dim, base, length, factor):
    kept = scaling.none(head_dim, base, length, factor).double()
    interpolated = scaling.pi(head_dim, base, length, factor).double()
    for name in ("yarn", "yarn_paper", "llama3"):
        got = extended(name, head_dim, base, length, factor).double()
        assert bool((got >= interpolated * (1 - 4e-7)).all()), name
        assert bool((got <= kept * (1 + 4e-7)).all()), name


@settings(deadline=None, max_examples=60)
@given(HEAD_DIMS, BASES, FACTORS)
def test_ntk_keeps_the_first_pair_and_divides_the_last(head_dim, base, factor):
    got = scaling.ntk(head_dim, base, 4096, factor, dtype=torch.float64)
    assert got[0] == 1
    last = frequencies(head_dim, base, dtype=torch.float64)[-1]
    assert (last / got[-1]).item() == pytest.approx(factor, rel=1e-12)


@settings(deadline=None, max_examples=30)
@given(HEAD_DIMS, BASES, LENGTHS, FACTORS)
def test_interpolating_frequencies_is_interpolating_positions(head_dim, base, length, factor):
    position = factor * length - 1
    frequency = frequencies(head_dim, base, dtype=torch.float64)
    by_frequency = position * scaling.pi(head_dim, base, length, factor, dtype=torch.float64)
    by_position = scaling.interpolate(position, factor) * frequency
    torch.testing.assert_close(by_frequency, by_position, rtol=1e-14, atol=0)


def test_dynamic_ntk_leaves_the_trained_length_alone_and_grows_beyond():
    plain = frequencies(128, 1e4)
    for length in (1, 2048):
        assert torch.equal(scaling.dynamic_ntk(128, 1e4, 2048, 10.0, length=length), plain)
    assert scaling.dynamic_factor(10, 16384, 2048) == 71
    assert scaling.ntk_base(1e4, 71, 128) == pytest.approx(759702.23, abs=0.005)


@pytest.mark.parametrize(
    ("factor", "base"),
    [(2, 20221.26), (4, 40889.94), (8, 82684.62), (16, 167198.74), (32, 338096.95)],
)
def test_ntk_bases(factor, base):
    assert scaling.ntk_base(10000, factor, 128) == pytest.approx(base, abs=0.005)


def test_ntk_needs_two_pairs():
    with pytest.raises(ValueError, match="head_dim > 2"):
        scaling.ntk_base(10000, 2, 2)


@pytest.mark.parametrize(
    ("setting", "truncate", "expected"),
    [
        ((128, 1e4, 2048), True, (16, 41)),
        ((128, 1e4, 4096), True, (20, 46)),
        ((128, 1e6, 32768), True, (23, 40)),
        ((64, 1e4, 4096), True, (10, 23)),
        ((64, 150000, 4096), False, (8.09278, 17.39802)),
    ],
)
def test_ranges_that_yarn_blends_over(setting, truncate, expected):
    got = scaling.correction_range(*setting, truncate=truncate)
    assert got == pytest.approx(expected, abs=5e-6)


def test_an_empty_range_is_widened_and_the_range_is_clamped():
    low, high = scaling.correction_range(128, 1e4, 6, truncate=True)
    assert (low, high) == (0, 0.001)
    assert scaling.correction_range(8, 2.0, 10**6)[1] == 7


def test_published_yarn_and_llama3_frequencies():
    yarn = scaling.yarn(128, 1e4, 2048, 10.0)
    for pair, printed in ((16, 1e-1), (17, 8.3479e-2), (32, 4.2400e-3), (40, 4.3007e-4)):
        assert yarn[pair].item() == pytest.approx(printed, rel=6e-5)
    llama3 = scaling.llama3(128, 1e4, 2048, 10.0)
    for pair, printed in ((30, 1.3335e-2), (31, 1.0730e-2), (36, 1.9675e-3), (40, 3.4539e-4)):
        assert llama3[pair].item() == pytest.approx(printed, rel=6e-5)


def test_llama3_keeps_blends_and_interpolates():
    ratio = scaling.llama3(128, 5e5, 8192, 8.0) / frequencies(128, 5e5)
    assert bool((ratio[:29] == 1).all())
    assert bool(((ratio[29:35] < 1) & (ratio[29:35] > 1 / 8)).all())
    assert bool((ratio[35:] == 1 / 8).all())


def test_longrope_picks_its_list_by_length():
    lists = {"short_factor": [2.0] * 4, "long_factor": [1.0, 2.0, 3.0, 4.0]}
    plain = frequencies(8, 1e4)
    short = scaling.longrope(8, 1e4, 128, 4.0, length=128, **lists)
    assert torch.equal(short, plain / 2)
    long = torch.tensor(lists["long_factor"])
    assert torch.equal(scaling.longrope(8, 1e4, 128, 4.0, length=129, **lists), plain / long)
    assert torch.equal(scaling.longrope(8, 1e4, 128, 4.0, **lists), plain / long)


@pytest.mark.parametrize("name", ["short_factor", "long_factor"])
def test_longrope_lists_have_one_entry_a_pair(name):
    lists = {"short_factor": [1.0] * 4, "long_factor": [1.0] * 4} | {name: [1.0] * 3}
    with pytest.raises(ValueError, match=f"{name} has 3 entries, expected 4"):
        scaling.longrope(8, 1e4, 128, 2.0, **lists)


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(2, 1.0693), (4, 1.1386), (8, 1.2079), (10, 1.2303), (16, 1.2773), (32, 1.3466), (40, 1.3689)],
)
def test_yarn_attention_factors(factor, expected):
    assert scaling.METHODS["yarn"].attention_factor(factor, 4096) == pytest.approx(
        expected, abs=5e-5
    )


def test_longrope_attention_factor():
    assert scaling.METHODS["longrope"].attention_factor(32, 4096) == pytest.approx(
        1.19024, abs=5e-6
    )


def test_only_yarn_and_longrope_have_an_attention_factor():
    scaled = {
        name for name, method in scaling.METHODS.items() if method.attention_factor(8, 4096) != 1
    }
    assert scaled == {"yarn", "yarn_paper", "longrope"}


def test_formulas_take_symbols_and_mpmath_numbers():
    assert scaling.yarn_attention_factor(mpmath.mpf(2), log=mpmath.log) == 1 + mpmath.log(2) / 10
    squared = scaling.longrope_attention_factor(
        sympy.Symbol("s", positive=True), 4, log=sympy.log, sqrt=sympy.sqrt
    )
    assert squared.has(sympy.log)
    assert float(
        scaling.correction_dim(32, 128, 10000, mpmath.mpf(2048), log=mpmath.log, pi=mpmath.pi)
    ) == pytest.approx(16.128, abs=5e-4)


@pytest.mark.parametrize("proof", [proof for proof, _ in proofs.PROOFS], ids=lambda p: p.__name__)
def test_proofs_hold(proof):
    shows, found, expected = proof()
    assert found == expected, shows


def test_proofs_state_different_things():
    stated = [proof()[0] for proof, _ in proofs.PROOFS]
    assert len(set(stated)) == len(stated)


WRONG = {
    "ntk_divides_last_pair": (scaling, "ntk_base", lambda b, s, d: b * s),
    "ntk_keeps_first_pair": (proofs, "frequency", lambda i, d, b: b ** (-2 * (i + 1) / d)),
    "ntk_is_a_base_change": (scaling, "ntk_base", lambda b, s, d: b * s ** (d / (d - 1))),
    "abf_is_a_base_change": (proofs, "frequency", lambda i, d, b: b ** (-2 * i / d) / b),
    "no_base_interpolates": (scaling, "interpolate", lambda q, s: q),
    "no_base_is_yarn": (scaling, "blend", lambda q, s, kept: q),
    "best_base_of_interpolation": (
        proofs.reference, "interpolation_exponent", lambda n: 3 * n / (2 * n + 1),
    ),
    "best_base_leaves": (
        proofs.reference, "interpolation_mean_square", lambda n: (n - 1) / (2 * (2 * n - 1)),
    ),
    "first_pair_error_is_the_same": (
        proofs, "frequency", lambda i, d, b: b ** (-2 * (i + 1) / d),
    ),
    "interpolation_overshoots": (scaling, "interpolate", lambda q, s: (q + 1) / s),
    "yarn_scales_logits": (scaling, "yarn_attention_factor", lambda s, log: log(s) / 5 + 1),
}  # fmt: skip


def test_every_proof_has_a_wrong_formula():
    assert set(WRONG) == {proof.__name__ for proof, _ in proofs.PROOFS}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_formula_breaks_the_proof(name, monkeypatch):
    monkeypatch.setattr(*WRONG[name])
    _, found, expected = getattr(proofs, name)()
    assert found != expected
