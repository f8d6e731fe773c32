"""One sine term is missing."""

import torch


def rotate(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, odd * cos], dim=-1).flatten(-2)
