"""Rotary encodings and their arbitrary-precision reference: what makes them what they are."""

import math

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posinfo.encodings import rotary
from posinfo.reference import rotary as reference

DIMS = st.sampled_from([2, 4, 6, 8, 10, 64, 96, 128])
ANGLES = st.floats(-1e4, 1e4)
PARTS = st.floats(-100, 100)
POSITIONS = st.integers(0, 100_000)
U64 = 2.0**-53


def vector(dim: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(dim, generator=generator, dtype=torch.float64).to(dtype)


SEEDS = st.integers(0, 2**32)


def turn(x: torch.Tensor, *positions: int, base: float = 1e4) -> torch.Tensor:
    """Rotate [..., T, d] or [d] to its positions, with frequencies in float64."""
    thetas = rotary.frequencies(x.shape[-1], base, torch.float64)
    angles = rotary.angles(torch.tensor(positions), thetas)
    flat = rotary.rotate_adjacent(x if x.ndim > 1 else x.unsqueeze(0), angles)
    return flat if x.ndim > 1 else flat.squeeze(0)


# The rotation of a pair: a property for each of what it must be.


@given(PARTS, PARTS, ANGLES)
def test_a_pair_keeps_its_norm(x, y, angle):
    turned = rotary.rotate_pair(x, y, math.cos(angle), math.sin(angle))
    assert math.hypot(*turned) == pytest.approx(math.hypot(x, y), rel=1e-14, abs=1e-300)


@given(PARTS, PARTS, ANGLES, ANGLES)
def test_angles_add(x, y, first, second):
    once = rotary.rotate_pair(x, y, math.cos(first), math.sin(first))
    twice = rotary.rotate_pair(*once, math.cos(second), math.sin(second))
    direct = rotary.rotate_pair(x, y, math.cos(first + second), math.sin(first + second))
    # The sum of two angles below 10^4 is rounded by at most 2e4 u.
    assert twice == pytest.approx(direct, abs=(math.hypot(x, y) + 1e-300) * 2.1e4 * U64)


@given(PARTS, PARTS, ANGLES)
def test_the_opposite_angle_turns_back(x, y, angle):
    there = rotary.rotate_pair(x, y, math.cos(angle), math.sin(angle))
    back = rotary.rotate_pair(*there, math.cos(-angle), math.sin(-angle))
    assert back == pytest.approx((x, y), abs=(math.hypot(x, y) + 1e-300) * 16 * U64)


def test_a_quarter_turn_is_counter_clockwise():
    assert rotary.rotate_pair(1, 0, 0, 1) == (0, 1)
    assert rotary.rotate_pair(0, 1, 0, 1) == (-1, 0)


@given(PARTS, PARTS)
def test_no_angle_changes_nothing(x, y):
    assert rotary.rotate_pair(x, y, 1.0, 0.0) == (x, y)


# Frequencies and angles.


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_frequencies_of_the_lesson(dtype):
    thetas = rotary.frequencies(8, 1e4, dtype)
    assert thetas.dtype == dtype
    torch.testing.assert_close(
        thetas, torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=dtype), rtol=4e-7, atol=0
    )


@given(DIMS, st.floats(1.5, 1e7))
def test_frequencies_fall_in_equal_ratios_from_one(dim, base):
    thetas = rotary.frequencies(dim, base, torch.float64)
    assert thetas.shape == (dim // 2,)
    assert thetas[0] == 1
    ratios = thetas[1:] / thetas[:-1]
    torch.testing.assert_close(ratios, torch.full_like(ratios, base ** (-2 / dim)))


@given(DIMS, st.floats(1.5, 1e7), st.data())
def test_the_symbolic_frequency_is_the_computed_one(dim, base, data):
    pair = data.draw(st.integers(0, dim // 2 - 1))
    thetas = rotary.frequencies(dim, base, torch.float64)
    assert thetas[pair].item() == pytest.approx(rotary.frequency(pair, dim, base), rel=1e-14)


@pytest.mark.parametrize("dim", [0, -2, 7, 1])
def test_a_width_that_has_no_pairs_is_refused(dim):
    with pytest.raises(ValueError, match=f"head_dim must be even and positive, got {dim}"):
        rotary.frequencies(dim, 1e4)


@pytest.mark.parametrize("base", [0, 0.0, -1e4])
def test_a_base_that_is_not_positive_is_refused(base):
    with pytest.raises(ValueError, match=f"base must be positive, got {base}"):
        rotary.frequencies(8, base)


def test_angles_are_position_times_frequency():
    thetas = torch.tensor([1.0, 0.5, 0.25])
    found = rotary.angles(torch.tensor([0, 3, 100]), thetas)
    assert found.dtype == torch.float32
    assert found.tolist() == [[0, 0, 0], [3, 1.5, 0.75], [100, 50, 25]]


# Rotating vectors.


@given(DIMS, SEEDS, POSITIONS)
def test_vectors_keep_their_norm(dim, seed, position):
    x = vector(dim, seed)
    torch.testing.assert_close(turn(x, position).norm(), x.norm(), rtol=1e-14, atol=0)


@given(DIMS, SEEDS, POSITIONS, POSITIONS)
def test_positions_add(dim, seed, first, second):
    x = vector(dim, seed)
    twice, direct = turn(turn(x, first), second), turn(x, first + second)
    torch.testing.assert_close(twice, direct, rtol=0, atol=1e-9)


@given(DIMS, SEEDS, POSITIONS)
def test_the_opposite_position_turns_back(dim, seed, position):
    x = vector(dim, seed)
    torch.testing.assert_close(turn(turn(x, position), -position), x, rtol=0, atol=1e-13)


@given(DIMS, SEEDS, POSITIONS, POSITIONS, POSITIONS)
def test_a_score_depends_on_the_offset_alone(dim, seed, i, j, shift):
    q, k = vector(dim, seed), vector(dim, seed + 1)
    here = turn(q, i) @ turn(k, j)
    there = turn(q, i + shift) @ turn(k, j + shift)
    torch.testing.assert_close(there, here, rtol=0, atol=1e-9 * dim)


@given(st.sampled_from([8, 64]), SEEDS, st.integers(1, 100))
def test_the_sign_of_the_offset_shows(dim, seed, offset):
    """For distinct vectors; a score that knew only the distance would pass all of the above."""
    q, k = vector(dim, seed), vector(dim, seed + 1)
    ahead, behind = (turn(q, 200 + n) @ turn(k, 200) for n in (offset, -offset))
    assert abs(ahead - behind) > 1e-9
    same = turn(q, 200 + offset) @ turn(q, 200) - turn(q, 200 - offset) @ turn(q, 200)
    assert abs(same) < 1e-11 * dim


@given(DIMS, SEEDS, st.lists(POSITIONS, min_size=1, max_size=5), st.booleans())
def test_real_and_complex_arithmetic_agree(dim, seed, positions, single):
    thetas = rotary.frequencies(dim, 1e4)
    angles = rotary.angles(torch.tensor(positions), thetas)
    dtype = torch.float32 if single else torch.float64
    generator = torch.Generator().manual_seed(seed)
    q, k = (
        torch.randn(2, len(positions), 3, dim, generator=generator, dtype=torch.float64).to(dtype)
        for _ in range(2)
    )
    by_complex = rotary.rotate_complex(q, k, rotary.unit_complex(angles))
    for x, turned in zip((q, k), by_complex, strict=True):
        by_pairs = rotary.rotate_adjacent(x, angles.unsqueeze(1))
        assert turned.dtype == x.dtype
        assert turned.shape == x.shape
        # Both turn in float32, each within (3 + sqrt 2) u of the pair.
        torch.testing.assert_close(turned, by_pairs, rtol=0, atol=x.abs().max().item() * 1e-6)


def test_adjacent_dimensions_are_the_pairs():
    """Not the halves: dimension 0 turns into dimension 1."""
    x = torch.zeros(1, 4)
    x[0, 0] = 1.0
    turned = rotary.rotate_adjacent(x, torch.tensor([[math.pi / 2, 0.0]]))
    torch.testing.assert_close(turned, torch.tensor([[0.0, 1.0, 0.0, 0.0]]))
    rotations = rotary.unit_complex(torch.tensor([[math.pi / 2, 0.0]]))
    by_complex, _ = rotary.rotate_complex(x.view(1, 1, 1, 4), x.view(1, 1, 1, 4), rotations)
    torch.testing.assert_close(by_complex.flatten(), turned.flatten())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_shape_and_precision_of_the_input_come_back(dtype):
    x = torch.ones(2, 3, 5, 8, dtype=dtype)
    angles = rotary.angles(torch.arange(5), rotary.frequencies(8, 1e4))
    turned = rotary.rotate_adjacent(x, angles)
    assert (turned.shape, turned.dtype) == (x.shape, dtype)
    # Turned in float32 or more and rounded once: not as coarse as the precision itself.
    wide = rotary.rotate_adjacent(x.double(), angles)
    unit = torch.finfo(dtype).eps / 2
    torch.testing.assert_close(turned.double(), wide, rtol=0, atol=1.5 * unit + 1e-6)


def test_the_input_is_not_changed():
    x = torch.ones(5, 8)
    angles = rotary.angles(torch.arange(5), rotary.frequencies(8, 1e4))
    rotary.rotate_adjacent(x, angles)
    rotary.rotate_complex(x.view(1, 5, 1, 8), x.view(1, 5, 1, 8), rotary.unit_complex(angles))
    assert bool((x == 1).all())


def test_rotations_are_complex64_of_modulus_one():
    angles = rotary.angles(torch.arange(1000), rotary.frequencies(8, 1e4))
    rotations = rotary.unit_complex(angles)
    assert rotations.dtype == torch.complex64
    torch.testing.assert_close(rotations.abs(), torch.ones(1000, 4))
    torch.testing.assert_close(rotations.real, angles.cos())
    torch.testing.assert_close(rotations.imag, angles.sin())


@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (5, 8), (1, 4), (5, 1)])
def test_rotations_of_another_length_or_width_are_refused(shape):
    """Broadcasting would accept one row or one column, and rotate all alike."""
    with pytest.raises(ValueError, match=r"do not fit x of shape .* expected \[5, 4\]"):
        rotary.broadcast_over_heads(torch.ones(shape), torch.ones(2, 5, 3, 4))


class TestTable:
    def test_it_has_nothing_to_train(self):
        assert list(rotary.RotaryTable(8, 10, 1e4).parameters()) == []

    @given(st.integers(0, 5))
    def test_it_starts_where_it_is_told(self, start):
        x = torch.ones(1, 5, 2, 8)
        q, k = rotary.RotaryTable(8, 10, 1e4)(x, 2 * x, start)
        angles = rotary.angles(torch.arange(start, start + 5), rotary.frequencies(8, 1e4))
        torch.testing.assert_close(q, rotary.rotate_adjacent(x, angles.unsqueeze(1)))
        torch.testing.assert_close(k, 2 * q)

    @pytest.mark.parametrize("start", [6, 9, 10, 1000])
    def test_past_its_end_it_refuses(self, start):
        x = torch.ones(1, 5, 2, 8)
        with pytest.raises(ValueError, match="do not fit"):
            rotary.RotaryTable(8, 10, 1e4)(x, x, start)


# The reference, held against what is known without it.


class TestReference:
    def test_the_frequencies_of_the_lesson_are_powers_of_ten(self):
        with mpmath.workdps(reference.DIGITS):
            for pair, theta in enumerate(reference.frequencies(8, 1e4)):
                assert abs(theta * mpmath.mpf(10) ** pair - 1) < mpmath.mpf(10) ** -45

    @given(DIMS, st.floats(1.5, 1e7))
    def test_frequencies_multiply_up_to_the_base(self, dim, base):
        """The product of theta_i and theta_(d/2 - i) is 1/base, a relation, not the formula."""
        thetas = reference.frequencies(dim, base)
        with mpmath.workdps(reference.DIGITS):
            for pair in range(1, dim // 2):
                product = thetas[pair] * thetas[dim // 2 - pair] * mpmath.mpf(base)
                assert abs(product - 1) < mpmath.mpf(10) ** -44

    def test_a_quarter_turn_is_counter_clockwise(self):
        with mpmath.workdps(reference.DIGITS):
            x, y = reference.turned(1, 0, mpmath.pi / 2)
            assert abs(x) < mpmath.mpf(10) ** -45
            assert abs(y - 1) < mpmath.mpf(10) ** -45

    @given(DIMS, SEEDS, st.integers(-1000, 1000), st.integers(0, 1000))
    def test_the_score_is_that_of_two_rotations(self, dim, seed, offset, position):
        """By the road that the formula of the offset avoids."""
        q, k = vector(dim, seed).tolist(), vector(dim, seed + 1).tolist()
        thetas = reference.frequencies(dim, 1e4)
        turned = [
            [
                part
                for pair, theta in enumerate(thetas)
                for part in reference.turned(
                    *x[2 * pair : 2 * pair + 2], reference.angle(at, theta)
                )
            ]
            for x, at in ((q, position + offset), (k, position))
        ]
        with mpmath.workdps(reference.DIGITS):
            difference = reference.dot(*turned) - reference.score(q, k, offset, thetas)
            assert abs(difference) < mpmath.mpf(10) ** -40

    def test_dot_and_norm_are_exact(self):
        """In float64 the first is 0, and the second loses its last part."""
        big = 2.0**60
        assert reference.dot([big, 1.0, -big], [1.0, 1.0, 1.0]) == 1
        with mpmath.workdps(reference.DIGITS):
            assert abs(reference.norm([3.0, 4.0]) - 5) < mpmath.mpf(10) ** -45

    def test_its_unit_is_that_of_its_digits(self):
        assert 10.0 ** -(reference.DIGITS + 2) < reference.UNIT < 10.0**-reference.DIGITS

    def test_it_carries_its_digits_whatever_the_caller_set(self):
        with mpmath.workdps(5):
            (_, theta) = reference.frequencies(4, 10.0)
        with mpmath.workdps(reference.DIGITS):
            assert abs(theta**2 * 10 - 1) < mpmath.mpf(10) ** -45
