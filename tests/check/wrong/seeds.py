"""Seeds the random numbers of whoever calls it."""

import torch


def frequencies(dim, base=10000.0):
    return 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)


def turn(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def rotate(x, positions, base=10000.0):
    torch.manual_seed(0)
    return turn(x, torch.outer(positions.float(), frequencies(x.shape[-1], base)))
