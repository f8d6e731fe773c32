"""As Llama's code has it."""

import torch


def as_pairs(x):
    return torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))


def rotate(xq, xk, freqs_cis):
    q, k = as_pairs(xq), as_pairs(xk)
    turns = freqs_cis.view(1, q.shape[1], 1, q.shape[-1])
    q, k = (torch.view_as_real(x * turns).flatten(3) for x in (q, k))
    return q.type_as(xq), k.type_as(xk)
