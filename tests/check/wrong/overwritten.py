"""The first component is overwritten before the second is made."""

import torch


def frequencies(dim, base=10000.0):
    return 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)


def rotate(x, positions, base=10000.0):
    angles = torch.outer(positions.float(), frequencies(x.shape[-1], base)).to(x.dtype)
    x = x.clone()
    x[..., ::2] = x[..., ::2] * angles.cos() - x[..., 1::2] * angles.sin()
    x[..., 1::2] = x[..., ::2] * angles.sin() + x[..., 1::2] * angles.cos()
    return x
