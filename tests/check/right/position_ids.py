"""Takes positions [B, T], a row for each sequence of the batch."""

import torch


def frequencies(dim, base=10000.0):
    return 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)


def turn(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def rotate(hidden_states, position_ids, base=10000.0):
    batch, length = position_ids.shape
    ids = position_ids.view(batch, 1, length, 1)
    return turn(hidden_states, ids.float() * frequencies(hidden_states.shape[-1], base))
