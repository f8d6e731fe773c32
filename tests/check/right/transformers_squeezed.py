"""As the transformers library had it before: tables [1, 1, T, d], and rows by their number."""

import torch


def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


def rotate(q, k, cos, sin, position_ids):
    cos, sin = cos.squeeze(1).squeeze(0), sin.squeeze(1).squeeze(0)
    cos, sin = cos[position_ids].unsqueeze(1), sin[position_ids].unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
