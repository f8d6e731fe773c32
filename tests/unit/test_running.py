"""The running error analysis: what it bounds, that nothing real exceeds it, and where it ends."""

import math

import pytest
import torch

from posinfo.encodings import layers
from posinfo.reference import layers as reference
from posinfo.reference import rounding, running
from posinfo.stacks import ENCODINGS, exact_outputs, most_used, outputs_of, stack, tokens

U = rounding.UNIT["float64"]
SIZES = {"seed": 5, "base": 10000.0, "heads": 2, "head_dim": 8, "hidden": 32}


def test_one_sum_is_off_by_its_own_rounding():
    x, y = torch.tensor([3.0, -4.0]).double(), torch.tensor([1.0, 1.0]).double()
    found = running.bounds(lambda note: note(x + y, "sum"), "float64")
    assert found.tolist() == pytest.approx([4 * U, 3 * U], rel=1e-9)


def test_what_follows_multiplies_what_came_before():
    """((x + y) * 10), its own rounding aside: ten times the sum's."""
    x = torch.tensor([3.0]).double()
    found = running.bounds(lambda note: note(x + x, "sum") * 10, "float64")
    assert found.item() == pytest.approx(60 * U)


def test_errors_that_cancel_are_not_added():
    """A shared disturbance that drops out costs nothing, as with absolute values it would."""
    x = torch.tensor([3.0]).double()

    def program(note):
        shared = note(x + x, "sum")
        return note(shared - shared + x, "sum")

    assert running.bounds(program, "float64").item() == pytest.approx(3 * U)


def test_the_bounds_scale_with_the_unit():
    x = tokens(5, 16, 1)
    model = stack(SIZES, 2)
    wide, fine = (model.bounds(x, torch.arange(5), d, outputs_of) for d in ("float32", "float64"))
    ratio = rounding.UNIT["float32"] / rounding.UNIT["float64"]
    assert torch.allclose(wide / fine, torch.tensor(ratio).double(), rtol=0.05)


def test_a_departure_from_linearity_widens_the_bounds():
    """A square, disturbed by u of itself: half of u squared is left out by the linear estimate."""
    steep = torch.tensor([1.0]).double()

    def program(note):
        return (1e7 * note(steep + 0.0, "sum")) ** 2

    unit = rounding.UNIT["float32"]
    found = running.bounds(program, "float32").item() / (2e14 * unit)
    # Twice the departure, which is half of u.
    assert found - 1 == pytest.approx(unit, rel=0.05)


def test_a_bound_holds_where_the_linear_estimate_alone_would_not():
    """The exponential of a large sum: disturbed by its bound, it grows by more than its slope."""
    x = torch.tensor([15000.0]).double()

    def program(note):
        return torch.exp(100 * (note(x + x, "sum") - 30000.0))

    size = 30000 * rounding.UNIT["float32"]
    bound = running.bounds(program, "float32").item()
    assert 100 * size < math.expm1(100 * size) < bound


def test_what_is_not_finite_is_refused():
    x = torch.tensor([0.0]).double()
    with pytest.raises(ValueError, match="not finite"):
        running.bounds(lambda note: torch.sqrt(note(x + 0.0, "code")), "float64")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ENCODINGS)
def test_no_disturbance_within_the_steps_bounds_leaves_the_bound(name, causal):
    """Every step disturbed at random by up to its own bound, many times, in float32's size."""
    x, positions = tokens(5, 16, 2), torch.arange(5) + 7
    model = stack(SIZES, 2, name, causal=causal, table_rows=16)
    bound = model.bounds(x, positions, "float32", outputs_of)
    plain = model.run(x, positions).outputs
    generator = torch.Generator().manual_seed(3)
    watcher = running._Watcher("float32")
    model.run(x, positions, watcher)

    worst = 0.0
    for number in range(50):
        given = []
        for size in watcher.bounds:
            share = 2 * torch.rand(size.shape, generator=generator, dtype=torch.float64) - 1
            given.append(size * (share.sign() if number % 2 else share))
        moved = model.run(x, positions, running._Watcher("float32", given)).outputs
        worst = max(worst, ((moved - plain).abs() / bound).max().item())
    assert 0.01 < worst < 1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ENCODINGS)
def test_no_real_rounding_leaves_the_bound(name, seed):
    x, positions = tokens(6, 16, seed), torch.arange(6) + 100
    model = stack(SIZES | {"seed": seed}, 3, name, causal=True, table_rows=128)
    bound = model.bounds(x, positions, "float32", outputs_of)
    rounded = model.measure(x, positions, torch.float32)
    found, allowed = most_used(rounded - model.measure(x, positions, torch.float64), bound)
    assert 1e-4 * allowed < found < 0.5 * allowed


def test_every_kind_of_step_that_layers_name_has_a_bound():
    named = set()

    def note(value, step, *operands):
        named.add(step)
        return value

    for name in ENCODINGS:
        stack(SIZES, 1, name, causal=True, table_rows=8).run(
            tokens(3, 16, 1), torch.arange(3), note
        )
    assert named == {*running.STEPS, "frequency"}


# The reference of the layers, which is other code.


def test_t5s_buckets_are_the_published_ones():
    distances = [0, 1, 15, 16, 17, 31, 32, 64, 127, 128, 1000]
    assert [reference.bucket(-d, bidirectional=False) for d in distances] == [
        0, 1, 15, 16, 16, 21, 21, 26, 31, 31, 31,
    ]  # fmt: skip
    assert reference.bucket(5, bidirectional=False) == 0
    assert reference.bucket(1, bidirectional=True) == 17
    assert reference.bucket(-1, bidirectional=True) == 1


def test_alibis_slopes_are_the_published_ones():
    assert [float(reference.slope(h, 8)) for h in range(8)] == [2.0**-n for n in range(1, 9)]
    tail = [float(reference.slope(h, 12)) for h in range(8, 12)]
    assert tail == pytest.approx([0.7071, 0.3536, 0.1768, 0.0884], abs=5e-5)


def test_a_stack_agrees_with_torchs_own_attention():
    """A third road: torch's fused attention and its root-mean-square norm."""
    x, functional = tokens(5, 16, 4), torch.nn.functional
    model = stack(SIZES, 2, causal=True)
    y = x
    for layer in model.layers:
        seen = functional.rms_norm(y, (16,), eps=layers.EPSILON)
        q, k, v = (
            (seen @ w).unflatten(-1, (2, 8)).transpose(0, 1)
            for w in (layer.query, layer.key, layer.value)
        )
        gathered = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y + gathered.transpose(0, 1).flatten(1) @ layer.output
        middle = functional.silu(functional.rms_norm(y, (16,), eps=layers.EPSILON) @ layer.up)
        y = y + middle @ layer.down
    exact = exact_outputs(model, x, torch.arange(5), 10000.0)
    assert (y - exact).abs().max() < 1e-13
    assert (model.measure(x, torch.arange(5), torch.float64) - y).abs().max() < 1e-13


def test_nan_uses_more_than_any_bound():
    found, _ = most_used(torch.tensor([0.5, math.nan, 0.1]), torch.tensor([1.0, 1.0, 1e-9]))
    assert math.isnan(found)
