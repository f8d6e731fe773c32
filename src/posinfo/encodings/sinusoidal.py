"""Sinusoidal position codes: sines and cosines of position times frequency, added to embeddings.

Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5. The frequencies are those of RoPE.
"""

import torch
from torch import Tensor

from posinfo.encodings import rotary


def interleave(angles: Tensor) -> Tensor:
    """Sines at even and cosines at odd places: angles [T, d/2] in radians to codes [T, d]."""
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def code(positions: Tensor, width: int, base: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """Codes of some positions.

    Parameters
    ----------
    positions
        Shape [T]; cast to ``dtype``, which must hold them exactly.
    width
        Width d of the code, even and positive.
    base
        Base of the geometric progression of frequencies.
    dtype
        Precision of the computation.

    Returns
    -------
    Tensor
        Shape [T, d]; every pair of components has norm 1.

    Raises
    ------
    ValueError
        If ``width`` is odd or not positive, or ``base`` is not positive.
    """
    return interleave(rotary.angles(positions, rotary.frequencies(width, base, dtype)))
