"""Angles cached by width and base, longer where they must be."""

import torch


def frequencies(dim, base=10000.0):
    return 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)


def turn(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


cache = {}


def rotate(x, positions, base=10000.0):
    if (positions % 1 != 0).any():
        raise ValueError("positions must be whole")
    key, last = (x.shape[-1], base), int(positions.max())
    if key not in cache or len(cache[key]) <= last:
        cache[key] = torch.outer(torch.arange(last + 1).float(), frequencies(*key))
    return turn(x, cache[key][positions.long()])
