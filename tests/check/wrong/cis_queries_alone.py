"""Keys stay as they are."""

import torch


def as_pairs(x):
    return torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))


def rotate(xq, xk, freqs_cis):
    q = torch.view_as_real(as_pairs(xq) * freqs_cis[:, None]).flatten(3)
    return q.type_as(xq), xk
