"""Numbers that other projects' tests expect of RoPE, from our code.

Each is written here as printed there, with its digits: half a unit of the last one is what a right
implementation may be off by, and float32 rounding.
"""

import math

import pytest
import torch

from posinfo import numerics, scaling
from posinfo.encodings import rotary
from posinfo.reference import scaling as reference

#: huggingface/transformers, tests/utils/test_modeling_rope_utils.py: a head of 128, base 10,000,
#: trained length 2048; five significant digits each, so that a unit in the last is at most 1e-4.
HF = {"head_dim": 128, "base": 1e4, "trained_length": 2048}
UNIT_OF_FIVE_DIGITS = 1e-4

#: test_default_rope_numerically: 10^(-i/16).
DEFAULT = [10 ** (-pair / 16) for pair in range(64)]
#: Some of them as printed.
DEFAULT_PRINTED = {
    0: 1.0,
    1: 8.6596e-01,
    2: 7.4989e-01,
    3: 6.4938e-01,
    4: 5.6234e-01,
    63: 1.1548e-04,
}

#: test_dynamic_rope_numerically: factor 10 at a length of 16,384; some of the printed values.
DYNAMIC_PRINTED = {0: 1.0, 1: 8.0931e-01, 2: 6.5498e-01, 36: 4.9220e-04, 63: 1.6265e-06}

#: test_yarn_rope_numerically: factor 10, beta_fast 32, beta_slow 1; pairs 17 to 40. Before them
#: pairs are as trained, after them they are divided by the factor.
YARN_PRINTED = [
    8.3479e-02, 6.9590e-02, 5.7925e-02, 4.8136e-02, 3.9931e-02, 3.3061e-02, 2.7315e-02, 2.2515e-02,
    1.8512e-02, 1.5177e-02, 1.2403e-02, 1.0101e-02, 8.1924e-03, 6.6143e-03, 5.3120e-03, 4.2400e-03,
    3.3599e-03, 2.6396e-03, 2.0520e-03, 1.5746e-03, 1.1882e-03, 8.7713e-04, 6.2810e-04, 4.3007e-04,
]  # fmt: skip

#: test_llama3_rope_numerically: factor 10, low_freq_factor 1, high_freq_factor 4; pairs 31 to 40.
LLAMA3_PRINTED = [
    1.0730e-02, 7.7785e-03, 5.6009e-03, 3.9991e-03, 2.8248e-03, 1.9675e-03, 1.3449e-03, 8.9549e-04,
    5.7363e-04, 3.4539e-04,
]  # fmt: skip


def near(found: torch.Tensor, printed: list[float]) -> None:
    """Each within half a unit of the fifth digit, relative at most, and float32's rounding."""
    expected = torch.tensor(printed, dtype=torch.float64)
    rounding = max(reference.rounding_bounds("yarn", 128, 1e4, 2048, 10)) + 1e-6
    apart = (found.double() / expected - 1).abs().max().item()
    assert apart <= UNIT_OF_FIVE_DIGITS / 2 + rounding


def exact(found: torch.Tensor, expected: list[float] | torch.Tensor) -> None:
    """Equal but for float32 rounding."""
    torch.testing.assert_close(
        found.double(), torch.as_tensor(expected, dtype=torch.float64), rtol=1e-6, atol=0
    )


def test_hugging_faces_default_values():
    found = scaling.none(**HF, factor=1)
    exact(found, DEFAULT)
    near(found[list(DEFAULT_PRINTED)], list(DEFAULT_PRINTED.values()))


@pytest.mark.parametrize("factor", [2.0, 10.0, 20.0])
def test_hugging_faces_linear_values(factor):
    """test_linear_rope_scaling_numerically: the default divided by the factor."""
    exact(scaling.pi(**HF, factor=factor), [value / factor for value in DEFAULT])


def test_hugging_faces_dynamic_values():
    found = scaling.dynamic_ntk(**HF, factor=10.0, length=16384)
    near(found[list(DYNAMIC_PRINTED)], list(DYNAMIC_PRINTED.values()))


@pytest.mark.parametrize("factor", [2.0, 10.0, 20.0])
@pytest.mark.parametrize("length", [1, 2048])
def test_hugging_faces_dynamic_values_within_the_trained_length(factor, length):
    """test_dynamic_rope_numerically: up to the trained length nothing changes."""
    exact(scaling.dynamic_ntk(**HF, factor=factor, length=length), DEFAULT)


def test_hugging_faces_yarn_values():
    found = scaling.yarn(**HF, factor=10.0)
    exact(found[:17], DEFAULT[:17])
    near(found[17:41], YARN_PRINTED)
    exact(found[41:], [value / 10 for value in DEFAULT[41:]])


@pytest.mark.parametrize("factor", [2.0, 10.0, 20.0])
def test_hugging_faces_yarn_attention_factor(factor):
    """test_yarn_rope_numerically: 0.1 ln s + 1."""
    found = scaling.METHODS["yarn"].attention_factor(factor, 2048)
    assert found == pytest.approx(0.1 * math.log(factor) + 1, rel=1e-15)


def test_hugging_faces_yarn_values_with_a_beta_fast_of_1000():
    """test_yarn_rope_numerically: all but pair 0 are interpolated, the last twenty wholly."""
    found = scaling.yarn(**HF, factor=10.0, beta_fast=1000).double()
    trained = torch.tensor(DEFAULT, dtype=torch.float64)
    assert found[0] == 1
    assert bool((found[1:] < trained[1:] * (1 - 1e-6)).all())
    exact(found[-20:], trained[-20:] / 10)


def test_hugging_faces_llama3_values():
    found = scaling.llama3(**HF, factor=10.0)
    exact(found[:31], DEFAULT[:31])
    near(found[31:41], LLAMA3_PRINTED)
    exact(found[41:], [value / 10 for value in DEFAULT[41:]])
    trained = torch.tensor(DEFAULT, dtype=torch.float64)
    assert bool((found.double() <= trained * (1 + 1e-6)).all())
    assert bool((found.double() >= trained / 10 * (1 - 1e-6)).all())


@pytest.mark.parametrize("factor", [2.0, 10.0, 20.0])
def test_hugging_faces_longrope_values(factor):
    """test_longrope_rope_numerically: half of the default, or divided by 1 to 64; its factor."""
    lists = {"short_factor": [2.0] * 64, "long_factor": [1.0 + pair for pair in range(64)]}
    short = scaling.longrope(**HF, factor=factor, length=2048, **lists)
    exact(short, [value / 2 for value in DEFAULT])
    long = scaling.longrope(**HF, factor=factor, length=2049, **lists)
    exact(long, [value / (pair + 1) for pair, value in enumerate(DEFAULT)])
    found = scaling.METHODS["longrope"].attention_factor(factor, 2048)
    assert found == pytest.approx(math.sqrt(1 + math.log(factor) / math.log(2048)), rel=1e-15)


# --- pytorch/torchtune: statistics of rotated random tensors [batch, positions, heads, d] --------
#
# Its tests draw with the global seed 0 and compare with a tolerance of 1e-4. Sums of 33 million
# numbers depend on how they are added, by more than their last digit; means and largest values
# do not.


def drawn(*shape: int) -> torch.Tensor:
    numerics.torch_with_profile()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return torch.randn(*shape)


def rotated(x: torch.Tensor, frequencies: torch.Tensor, turn=rotary.rotate_adjacent):
    """Rotate [b, T, h, d] at positions 0 to T - 1, in place of ``x`` and a batch at a time."""
    angles = rotary.angles(torch.arange(x.shape[1]), frequencies)
    for number in range(len(x)):
        x[number] = turn(x[number].transpose(0, 1), angles).transpose(0, 1)
    return x


def statistics(x: torch.Tensor) -> tuple[float, float, float]:
    total = x.double().sum().item() if x.numel() < 2**21 else sum(
        part.double().sum().item() for part in x
    )  # fmt: skip
    return total / x.numel(), total, x.max().item()


def test_torchtunes_llama2_statistics():
    """tests/torchtune/modules/test_position_embeddings.py, TestRotaryPositionEmbedding."""
    found = rotated(drawn(4, 2048, 32, 128), rotary.frequencies(128, 1e4))
    mean, total, largest = statistics(found)
    assert mean == pytest.approx(6.4543e-05, abs=5e-9)
    assert total == pytest.approx(2165.7053, abs=0.5)
    assert largest == pytest.approx(5.4546, abs=1e-4)


def test_torchtunes_llama3_statistics():
    """tests/torchtune/models/llama3_1/test_position_embeddings.py: base 10,000, factor 8."""
    theta = scaling.llama3(128, 1e4, 8192, 8.0)
    angles = rotary.angles(torch.arange(4096), theta)
    table = torch.stack([angles.cos(), angles.sin()], dim=-1)
    mean, total, _ = statistics(table)
    assert mean == pytest.approx(0.1738, abs=5e-5)
    assert total == pytest.approx(91141.7656, abs=0.5)
    mean, total, largest = statistics(rotated(drawn(4, 2048, 32, 128), theta))
    assert mean == pytest.approx(-2.4781e-06, abs=5e-9)
    assert total == pytest.approx(-83.1523, abs=0.5)
    assert largest == pytest.approx(5.4625, abs=1e-4)


def test_torchtunes_phi3_statistics():
    """tests/torchtune/models/phi3/test_phi3_position_embeddings.py: halves are pairs."""
    x = drawn(4, 60, 32, 96)
    found = rotated(x.clone(), rotary.frequencies(96, 1e4), rotary.rotate_half_split)
    mean, total, _ = statistics(found)
    assert mean == pytest.approx(-0.0005, abs=5e-5)
    assert total == pytest.approx(-381.0620, abs=1e-2)
    # The other layout has another sum: the number tells the layouts apart.
    _, other, _ = statistics(rotated(x, rotary.frequencies(96, 1e4)))
    assert abs(other + 381.0620) > 1
