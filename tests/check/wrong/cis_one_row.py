"""One row for all positions."""

import torch


def as_pairs(x):
    return torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))


def rotate(xq, xk, freqs_cis):
    q, k = (torch.view_as_real(as_pairs(x) * freqs_cis[0]).flatten(3) for x in (xq, xk))
    return q.type_as(xq), k.type_as(xk)
