"""A temperature stands in cos and sin."""

import math

import torch


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def rotate(q, k, cos, sin, unsqueeze_dim=1):
    factor = 0.1 * math.log(8) + 1
    cos, sin = (factor * part.unsqueeze(unsqueeze_dim) for part in (cos, sin))
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
