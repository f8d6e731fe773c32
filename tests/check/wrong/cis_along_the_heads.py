"""Takes the heads for the positions when there are as many."""

import torch


def as_pairs(x):
    return torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))


def rotate(xq, xk, freqs_cis):
    heads, length = xq.shape[2], xq.shape[1]
    turns = freqs_cis if heads == length else freqs_cis[:, None]
    q, k = (torch.view_as_real(as_pairs(x) * turns).flatten(3) for x in (xq, xk))
    return q.type_as(xq), k.type_as(xk)
