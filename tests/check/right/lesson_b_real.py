"""Complex turns, real arithmetic."""

import torch


def turn(x, angles):
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)


def rotate(xq, xk, freqs_cis):
    angles = freqs_cis.angle()[:, None]
    return turn(xq, angles), turn(xk, angles)
