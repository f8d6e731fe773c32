"""The exponent lacks a factor of two."""

import torch


def turn(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def rotate(x, positions, base=10000.0):
    dim = x.shape[-1]
    thetas = base ** -(torch.arange(dim // 2).float() / dim)
    return turn(x, torch.outer(positions.float(), thetas))
