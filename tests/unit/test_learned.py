"""Learned position tables and attention: sums, refusals, gradients."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from posinfo.encodings.attention import attend
from posinfo.encodings.learned import LearnedPositions, embed


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("shape", ["[T]", "[1, T]", "[B, T]"])
def test_token_row_and_position_row_are_added(shape):
    tokens, table = numbers(7, 4), numbers(5, 4, seed=1)
    ids = torch.tensor([[6, 0, 2], [1, 1, 3]])
    flat = torch.tensor([4, 0, 1])
    positions = {"[T]": flat, "[1, T]": flat.unsqueeze(0), "[B, T]": flat.expand(2, 3)}[shape]
    found = embed(tokens, table, ids, positions)
    assert found.shape == (2, 3, 4)
    for batch in range(2):
        for step in range(3):
            expected = tokens[ids[batch, step]] + table[flat[step]]
            assert torch.equal(found[batch, step], expected)


def test_every_sequence_may_have_positions_of_its_own():
    table = numbers(5, 4)
    positions = torch.tensor([[0, 1], [3, 4]])
    found = embed(torch.zeros(1, 4), table.float(), torch.zeros(2, 2, dtype=torch.long), positions)
    assert torch.equal(found, table.float()[positions])


@pytest.mark.parametrize("outside", [5, 100, -1])
def test_a_position_that_is_no_row_is_refused(outside):
    """-1 too, which indexing a tensor would take for the last row."""
    with pytest.raises(IndexError):
        embed(numbers(7, 4), numbers(5, 4), torch.tensor([[0]]), torch.tensor([outside]))


@pytest.mark.parametrize("outside", [7, -1])
def test_an_id_that_is_no_row_is_refused(outside):
    with pytest.raises(IndexError):
        embed(numbers(7, 4), numbers(5, 4), torch.tensor([[outside]]), torch.tensor([0]))


def module(seed: int = 0, rows: int = 512, width: int = 64) -> LearnedPositions:
    return LearnedPositions(rows, width, torch.Generator().manual_seed(seed))


def test_the_table_is_trained_and_starts_as_in_gpt2():
    learned = module()
    assert [tuple(p.shape) for p in learned.parameters()] == [(512, 64)]
    assert learned.table.dtype == torch.float32
    # 32768 draws: the mean of a standard deviation of 0.01 is off by 0.01 / sqrt(32768), and the
    # deviation by 0.01 / sqrt(2 * 32768); five times that is never reached by chance.
    count = 512 * 64
    assert abs(learned.table.mean().item()) < 5 * 0.01 / math.sqrt(count)
    assert abs(learned.table.std().item() - 0.01) < 5 * 0.01 / math.sqrt(2 * count)


def test_the_draw_comes_from_the_generator_alone():
    torch.manual_seed(1)
    first = module(seed=3).table
    torch.manual_seed(2)
    assert torch.equal(first, module(seed=3).table)
    assert not torch.equal(first, module(seed=4).table)


def test_making_a_table_leaves_the_global_generator_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    module()
    assert torch.equal(torch.get_rng_state(), before)


def test_the_module_adds_the_rows_of_the_positions():
    learned, x = module(), numbers(2, 3, 64).float()
    positions = torch.tensor([5, 0, 511])
    assert torch.equal(learned(x, positions), x + learned.table[positions])
    with pytest.raises(IndexError):
        learned(x, torch.tensor([0, 1, 512]))


def test_only_rows_that_were_looked_up_get_a_gradient():
    learned = module(rows=8)
    learned(torch.zeros(2, 3, 64), torch.tensor([0, 2, 2])).sum().backward()
    touched = learned.table.grad.abs().sum(dim=1) > 0
    assert touched.nonzero().flatten().tolist() == [0, 2]
    assert learned.table.grad[2, 0] == 2 * learned.table.grad[0, 0]


# Attention.


@given(st.integers(1, 6), st.sampled_from([1, 4, 8]), st.booleans(), st.integers(0, 1000))
def test_attention_is_torchs(length, dim, causal, seed):
    q, k, v = (numbers(2, 3, length, dim, seed=seed + n) for n in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.testing.assert_close(attend(q, k, v, causal=causal), expected)


def test_a_position_sees_nothing_that_comes_later():
    q, k, v = (numbers(1, 4, 8, seed=n) for n in range(3))
    before = attend(q, k, v)
    k[:, 2:], v[:, 2:] = 100.0, 100.0
    after = attend(q, k, v)
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.equal(before[:, 2:], after[:, 2:])
    assert not torch.equal(attend(q, k, v, causal=False)[:, :2], after[:, :2])


def test_the_first_position_returns_its_own_value_bit_for_bit():
    q, k, v = (numbers(1, 4, 8, seed=n).float() for n in range(3))
    assert torch.equal(attend(q, k, v)[:, 0], v[:, 0])
