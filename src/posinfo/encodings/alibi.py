"""ALiBi: a penalty on the score that grows linearly with the distance, by another slope a head.

Source: Press et al. 2022 (arXiv 2108.12409), section 3, and their code
(ofirpress/attention_with_linear_biases, ``fairseq/models/transformer.py``) for numbers of heads
that are no power of two.
"""

import torch
from torch import Tensor


def slopes(heads: int) -> list[float]:
    """Slope of each head: 2^(-8(h + 1)/n) for n heads, n a power of two.

    For other numbers the slopes of the next lower power of two come first, and then every second
    one of its double.

    Raises
    ------
    ValueError
        If ``heads`` is not positive.
    """
    if heads < 1:
        raise ValueError(f"heads must be positive, got {heads}")
    if heads & (heads - 1):
        lower = 1 << (heads.bit_length() - 1)
        return slopes(lower) + slopes(2 * lower)[::2][: heads - lower]
    return [2.0 ** (-8.0 * (head + 1) / heads) for head in range(heads)]


def bias(positions: Tensor, heads: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """What is added to the scores: minus the slope times the distance, whichever comes first.

    The distance is an integer before it meets the slope. Without a causal mask this is the
    symmetric form; under one, only what lies behind is seen.

    Parameters
    ----------
    positions
        Shape [T], integer.
    heads
        Number of heads h.
    dtype
        Precision of the result.

    Returns
    -------
    Tensor
        Shape [h, T, T]: head, query, key.
    """
    distance = (positions.unsqueeze(-1) - positions.unsqueeze(-2)).abs()
    slope = torch.tensor(slopes(heads), dtype=torch.float64).to(dtype)
    return -slope.view(-1, 1, 1) * distance.to(dtype)
