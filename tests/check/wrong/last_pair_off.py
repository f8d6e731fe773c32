"""The last frequency is 1 % too large."""

import torch


def rotate(x, positions, base=10_000.0):
    width = x.shape[-1]
    frequencies = base ** -(torch.arange(0, width, 2).float() / width)
    frequencies[-1] *= 1.01
    angles = torch.outer(positions.float(), frequencies)
    even, odd, cos, sin = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)
