"""Sine and cosine swapped."""

import torch


def rotate(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.sin(), angles.cos()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
