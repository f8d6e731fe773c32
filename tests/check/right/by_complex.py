"""Complex numbers."""

import torch


def frequencies(dim, base=10000.0):
    return 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)


def rotate(x, positions, base=10000.0):
    angles = torch.outer(positions.float(), frequencies(x.shape[-1], base))
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2).type_as(x)
