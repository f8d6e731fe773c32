"""One block-diagonal matrix a position."""

import torch


def frequencies(dim, base=10000.0):
    return 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)


def rotate(x, positions, base=10000.0):
    angles = torch.outer(positions.float(), frequencies(x.shape[-1], base))
    blocks = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], -1)
    matrices = torch.stack([torch.block_diag(*row.view(-1, 2, 2)) for row in blocks])
    return (matrices @ x.float().unsqueeze(-1)).squeeze(-1).to(x.dtype)
