"""Half-split pairs, all of it in float64."""

import torch


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def rotate(x, positions, base=10000.0):
    exponents = torch.arange(0, x.shape[-1], 2, dtype=torch.float64) / x.shape[-1]
    angles = torch.outer(positions.double(), base**-exponents)
    cos, sin = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))
    return (x.double() * cos + rotate_half(x.double()) * sin).to(x.dtype)
