"""Multiplies by the conjugate."""

import torch


def as_pairs(x):
    return torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))


def rotate(xq, xk, freqs_cis):
    turns = freqs_cis.conj()[:, None]
    q, k = (torch.view_as_real(as_pairs(x) * turns).flatten(3) for x in (xq, xk))
    return q.type_as(xq), k.type_as(xk)
