"""Adjacent pairs, and tables repeated pairwise."""

import torch


def rotate_every_two(x):
    return torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)


def rotate(q, k, cos, sin, unsqueeze_dim=2):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_every_two(q) * sin, k * cos + rotate_every_two(k) * sin
