"""Rounding bounds: they bind, over widths, bases and positions, and they are not idle."""

import math

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from posinfo.encodings import rotary
from posinfo.reference import rotary as reference
from posinfo.reference import rounding
from posinfo.suites import offsets

DIMS = st.sampled_from([2, 4, 6, 8, 10, 48, 64, 80, 96, 100, 128, 256])
BASES = st.one_of(st.sampled_from([1e4, 5e5, 1e6]), st.floats(1.5, 1e7))
POSITIONS = st.one_of(st.integers(0, 1000), st.integers(0, 2**24))
DTYPES = {"float32": torch.float32, "float64": torch.float64}
SEEDS = st.integers(0, 2**32)


def vectors(count: int, *shape: int, seed: int, dtype: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)
        for _ in range(count)
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@given(dim=DIMS, base=BASES)
def test_the_bound_on_frequencies_binds(dtype, dim, base):
    bound = rounding.frequency(dim, base, dtype)
    measured = rotary.frequencies(dim, base, DTYPES[dtype]).tolist()
    with mpmath.workdps(reference.DIGITS):
        for value, exact in zip(measured, reference.frequencies(dim, base), strict=True):
            assert abs(mpmath.mpf(value) / exact - 1) <= bound


@given(dim=DIMS, base=st.floats(0.001, 0.999))
def test_the_bound_on_frequencies_binds_below_one_too(dim, base):
    """A base below 1 is positive, as the formula asks, and its logarithm is not."""
    bound = rounding.frequency(dim, base)
    measured = rotary.frequencies(dim, base).tolist()
    with mpmath.workdps(reference.DIGITS):
        for value, exact in zip(measured, reference.frequencies(dim, base), strict=True):
            assert abs(mpmath.mpf(value) / exact - 1) <= bound


@given(dim=DIMS, base=BASES, position=POSITIONS)
def test_the_bounds_on_angles_cosines_and_sines_bind(dim, base, position):
    exact = reference.frequencies(dim, base)
    frequency_bound = rounding.frequency(dim, base)
    angles = rotary.angles(torch.tensor([position]), rotary.frequencies(dim, base))[0]
    cosines, sines = angles.cos().tolist(), angles.sin().tolist()
    with mpmath.workdps(reference.DIGITS):
        for pair, theta in enumerate(exact):
            angle = reference.angle(position, theta)
            bound = rounding.angle(position, float(theta), frequency_bound)
            assert abs(mpmath.mpf(angles[pair].item()) - angle) <= bound
            limit = rounding.cosine(bound)
            assert abs(mpmath.mpf(cosines[pair]) - mpmath.cos(angle)) <= limit
            assert abs(mpmath.mpf(sines[pair]) - mpmath.sin(angle)) <= limit


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(dim=DIMS, seed=SEEDS, scale=st.sampled_from([1e-3, 1.0, 1e3]))
def test_the_bounds_on_norms_bind(dtype, dim, seed, scale):
    kind = DTYPES[dtype]
    (x,) = vectors(1, 4, dim, seed=seed, dtype=kind)
    x = x * scale
    angles = rotary.angles(torch.arange(4), rotary.frequencies(dim, 1e4, kind))
    turned = rotary.rotate_adjacent(x, angles)
    with mpmath.workdps(reference.DIGITS):
        for before, after in zip(x.tolist(), turned.tolist(), strict=True):
            change = abs(reference.norm(after) / reference.norm(before) - 1)
            assert change <= rounding.norm_change(dim, dtype, norms_exact=True)
    norms = [torch.linalg.vector_norm(part, dim=-1).double() for part in (x, turned)]
    assert ((norms[1] / norms[0] - 1).abs() <= rounding.norm_change(dim, dtype)).all()


@given(dim=DIMS, seed=SEEDS, turn=st.floats(0, 2 * math.pi))
def test_the_bound_on_one_rotation_binds(dim, seed, turn):
    """For float32 cosines and sines of an angle that float32 holds exactly."""
    (x,) = vectors(1, 1, dim, seed=seed, dtype=torch.float32)
    angle = torch.full((1, dim // 2), turn, dtype=torch.float32)
    turned = rotary.rotate_adjacent(x, angle).flatten().tolist()
    given = x.flatten().tolist()
    with mpmath.workdps(reference.DIGITS):
        for pair in range(dim // 2):
            exact = reference.turned(
                *given[2 * pair : 2 * pair + 2], mpmath.mpf(angle[0, 0].item())
            )
            error = mpmath.hypot(turned[2 * pair] - exact[0], turned[2 * pair + 1] - exact[1])
            size = math.hypot(*given[2 * pair : 2 * pair + 2])
            assert error <= rounding.ROTATION * rounding.UNIT["float32"] * size * 1.001


@settings(max_examples=200)
@given(dim=DIMS, base=BASES, seed=SEEDS, i=POSITIONS, j=POSITIONS)
def test_the_bound_on_scores_binds(dim, base, seed, i, j):
    q, k = vectors(2, dim, seed=seed, dtype=torch.float32)
    found = offsets.score(q, k, i, j, base)
    assert abs(found.measured - found.exact) <= found.bound


@given(
    values=st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=130),
    seed=SEEDS,
)
def test_the_bound_on_pairwise_sums_binds(values, seed):
    a = torch.tensor(values)
    (b,) = vectors(1, len(values), seed=seed, dtype=torch.float32)
    measured = offsets.pairwise_dot(a, b).item()
    exact = reference.dot(a.tolist(), b.tolist())
    size = math.fsum(abs(x * y) for x, y in zip(a.tolist(), b.tolist(), strict=True))
    bound = rounding.pairwise_sum(len(values), rounding.UNIT["float32"]) * size * 1.001
    # Below the smallest normal float32 a product has an absolute error of half its last place.
    assert abs(measured - float(exact)) <= bound + len(values) * 2.0**-150


@pytest.mark.parametrize("dim", [8, 64, 96, 128])
def test_the_bounds_are_not_idle(dim):
    """A bound that nothing comes near would accept anything: each is used to a hundredth."""
    bound = rounding.frequency(dim, 1e4)
    with mpmath.workdps(reference.DIGITS):
        errors = [
            abs(mpmath.mpf(value) / exact - 1)
            for value, exact in zip(
                rotary.frequencies(dim, 1e4).tolist(), reference.frequencies(dim, 1e4), strict=True
            )
        ]
    assert max(errors) > bound / 100
    used = []
    for seed in range(30):
        q, k = vectors(2, dim, seed=seed, dtype=torch.float32)
        found = offsets.score(q, k, 1003 + seed, 1000 + seed, 1e4)
        used.append(abs(found.measured - found.exact) / found.bound)
    assert max(used) > 0.01


@pytest.mark.parametrize(
    "wrong",
    [
        lambda thetas: thetas * (1 + 1e-5),
        lambda thetas: thetas.bfloat16().float(),
        lambda thetas: thetas.roll(1),
    ],
    ids=["a little off", "in bfloat16", "of other pairs"],
)
def test_wrong_frequencies_leave_the_bound(wrong):
    thetas = wrong(rotary.frequencies(64, 1e4)).tolist()
    bound = rounding.frequency(64, 1e4)
    errors = [
        abs(value / float(exact) - 1)
        for value, exact in zip(thetas, reference.frequencies(64, 1e4), strict=True)
    ]
    assert max(errors) > 10 * bound


@given(dim=DIMS, base=BASES, near=st.integers(0, 1000), far=st.integers(1001, 2**24))
def test_the_bound_on_scores_grows_with_the_position(dim, base, near, far):
    thetas = [float(theta) for theta in reference.frequencies(dim, base)]
    ones = [1.0] * len(thetas)
    bound = rounding.frequency(dim, base)
    close = rounding.score(ones, thetas, (near + 3, near), bound)
    away = rounding.score(ones, thetas, (far + 3, far), bound)
    assert 0 < close < away


@given(position=st.integers(0, 2**24), frequency=st.floats(0, 1))
def test_bounds_scale_with_their_units(position, frequency):
    single = rounding.angle(position, frequency, 0.0)
    double = rounding.angle(position, frequency, 0.0, "float64")
    assert single == pytest.approx(double * 2.0**29)
    assert single == rounding.angle(-position, frequency, 0.0)


def test_a_cosine_is_never_off_by_more_than_two():
    assert rounding.cosine(1e9) == 2.0
    assert rounding.cosine(0.0) == rounding.UNIT["float32"]


def test_exact_norms_take_fewer_roundings():
    for dtype in rounding.UNIT:
        assert rounding.norm_change(8, dtype, norms_exact=True) < rounding.norm_change(8, dtype)
    assert rounding.norm_change(8) < rounding.norm_change(128)


def test_units_are_half_of_the_distance_to_the_next_number():
    for name, unit in rounding.UNIT.items():
        assert unit == torch.finfo(getattr(torch, name)).eps / 2


def test_a_rounded_exponent_and_a_rounded_base_cost_more():
    assert rounding.frequency(96, 1e4) > rounding.frequency(64, 1e4)
    assert rounding.frequency(64, 1e4 + 1e-4) > rounding.frequency(64, 1e4)
