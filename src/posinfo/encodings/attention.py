"""Scaled dot-product attention, written out so that each step can be measured."""

import math

import torch
from torch import Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = True) -> Tensor:
    """Softmax of the scaled scores, times V.

    Parameters
    ----------
    q, k, v
        Shape [..., T, d].
    causal
        Whether a position sees only itself and what came before.

    Returns
    -------
    Tensor
        Shape [..., T, d]. Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1.
    """
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        length = q.shape[-2]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return scores.softmax(dim=-1) @ v
