"""Tables of half-split pairs on adjacent ones."""

import torch


def rotate(x, angles):
    angles = torch.cat([angles, angles], dim=-1)
    swapped = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)
    return x * angles.cos() + swapped * angles.sin()
