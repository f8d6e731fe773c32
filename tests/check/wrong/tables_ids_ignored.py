"""Takes the rows of its tables one after the other."""

import torch


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def rotate(q, k, cos, sin, position_ids):
    cos, sin = cos[: q.shape[2]], sin[: q.shape[2]]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
