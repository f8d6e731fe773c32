"""Tables of half the width, without a batch."""

import torch


def rotate(query, key, cos, sin):
    def turn(x):
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)

    assert cos.dim() == 2
    return turn(query), turn(key)
