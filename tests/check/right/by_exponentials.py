"""Frequencies as exponentials of a logarithm."""

import math

import torch


def turn(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def rotate(x, positions, theta=10000.0):
    dim = x.shape[-1]
    thetas = torch.exp(-math.log(theta) * torch.arange(0, dim, 2).float() / dim)
    return turn(x, positions[:, None] * thetas)
