"""Rotary position embeddings (RoPE): each pair of dimensions is turned by position times frequency.

Source: Su et al. 2021 (arXiv 2104.09864), equations 13 to 15 and 34. Three formulations of
adjacent pairs (2i, 2i + 1) stand here: real arithmetic on even and odd dimensions, complex
multiplication as in the Llama 2 reference code, and block-diagonal matrices. A fourth pairs the
halves (i, i + d/2), as GPT-NeoX and Hugging Face do; :func:`adjacent_to_half_split` reorders the
weights of one layout for the other.
"""

from typing import Any

import torch
from torch import Tensor


def rotate_pair(x: Any, y: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    """Rotate the point (x, y) counter-clockwise: the one place where the rotation's signs stand.

    Takes tensors, numbers and symbols alike, so that the proofs are about this very function.
    Source: arXiv 2104.09864, equation 13.
    """
    return x * cos - y * sin, x * sin + y * cos


def frequency(pair: Any, head_dim: Any, base: Any) -> Any:
    """Frequency of pair i: 1 / base^(2i / head_dim), in radians per position.

    The one place where the formula stands, written as public implementations compute it. Takes
    tensors, numbers and symbols alike, so that the proofs are about this very function. Source:
    arXiv 2104.09864, section 3.2.2.
    """
    return 1 / base ** (2 * pair / head_dim)


def frequencies(head_dim: int, base: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """Frequencies of all pairs, by :func:`frequency` in the precision asked for.

    Parameters
    ----------
    head_dim
        Width of a head, d; even and positive.
    base
        Base of the geometric progression; positive.
    dtype
        Precision of the computation.

    Returns
    -------
    Tensor
        Shape [d/2], radians per position, from 1 downwards.

    Raises
    ------
    ValueError
        If ``head_dim`` is odd or not positive, or ``base`` is not positive.
    """
    if head_dim <= 0 or head_dim % 2:
        raise ValueError(f"head_dim must be even and positive, got {head_dim}")
    if base <= 0:
        raise ValueError(f"base must be positive, got {base}")
    return frequency(torch.arange(head_dim // 2, dtype=dtype), head_dim, base)


def angles(positions: Tensor, frequencies: Tensor) -> Tensor:
    """Angles in radians: the outer product of positions [T] and frequencies [d/2], shape [T, d/2].

    The positions are cast to the precision of the frequencies first, as implementations do.
    """
    return torch.outer(positions.to(frequencies.dtype), frequencies)


def rotate_adjacent(x: Tensor, angles: Tensor) -> Tensor:
    """Rotate adjacent pairs (2i, 2i + 1) of ``x`` by ``angles``, in real arithmetic.

    Parameters
    ----------
    x
        Shape [..., T, d].
    angles
        Radians, shape [T, d/2], or any shape that broadcasts with [..., T, d/2].

    Returns
    -------
    Tensor
        Shape and precision of ``x``; the rotation is computed in the wider of both precisions.
    """
    return rotate_by(x, angles.cos(), angles.sin())


def rotate_by(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate adjacent pairs of ``x`` [..., T, d] by angles of which cos and sin are given.

    ``cos`` and ``sin`` broadcast with [..., T, d/2]. Extension methods multiply both by an
    attention factor, and models in half precision round both first.
    """
    even, odd = rotate_pair(x[..., ::2], x[..., 1::2], cos, sin)
    return torch.stack([even, odd], dim=-1).flatten(-2).to(x.dtype)


def rotate_half_split(x: Tensor, angles: Tensor) -> Tensor:
    """Rotate the pairs (i, i + d/2) of ``x`` by ``angles``: the layout of half-split pairs.

    Written as its users write it, x cos + h(x) sin, where h swaps the halves and negates the
    first. Source: GPT-NeoX, ``megatron/model/positional_embeddings.py``, lines 103 to 116.

    Parameters
    ----------
    x
        Shape [..., T, d].
    angles
        Radians, shape [T, d/2], or any shape that broadcasts with [..., T, d/2].

    Returns
    -------
    Tensor
        Shape and precision of ``x``; the rotation is computed in the wider of both precisions.
    """
    first, second = x.chunk(2, dim=-1)
    cos, sin = (torch.cat([part, part], dim=-1) for part in (angles.cos(), angles.sin()))
    return (x * cos + torch.cat([-second, first], dim=-1) * sin).to(x.dtype)


def rotation_matrices(angles: Tensor) -> Tensor:
    """Block-diagonal rotations of adjacent pairs, one matrix a position.

    Parameters
    ----------
    angles
        Radians, shape [T, d/2].

    Returns
    -------
    Tensor
        Shape [T, d, d]. Source: arXiv 2104.09864, equation 15.
    """
    length, pairs = angles.shape
    matrices = angles.new_zeros(length, 2 * pairs, 2 * pairs)
    even = torch.arange(0, 2 * pairs, 2)
    matrices[:, even, even] = matrices[:, even + 1, even + 1] = angles.cos()
    matrices[:, even, even + 1] = -angles.sin()
    matrices[:, even + 1, even] = angles.sin()
    return matrices


def rotate_by_matrix(x: Tensor, matrices: Tensor) -> Tensor:
    """Multiply ``x`` [..., T, d] by one matrix a position, [T, d, d]; shape [..., T, d].

    Added over the last dimension term by term, without a library's matrix product: the order
    of its additions, and so its rounding, depends on the processor's make.
    """
    return (matrices * x.unsqueeze(-2)).sum(dim=-1)


def adjacent_to_half_split(weight: Tensor, head_dim: int) -> Tensor:
    """Reorder the rows of a query or key projection from adjacent to half-split pairs.

    Within each head row 2i goes to i and row 2i + 1 to i + d/2, so that half-split rotation of
    what the reordered weight gives is the adjacent rotation of what the first one gave, in
    another order of dimensions. Source: Hugging Face's ``convert_llama_weights_to_hf.py``.

    Parameters
    ----------
    weight
        Shape [heads * d, in].
    head_dim
        Width of a head, d.

    Returns
    -------
    Tensor
        Shape of ``weight``.
    """
    pairs = weight.view(-1, head_dim // 2, 2, weight.shape[-1])
    return pairs.transpose(1, 2).reshape(weight.shape)


def unit_complex(angles: Tensor) -> Tensor:
    """The complex numbers cos + i sin of the angles, complex64 for float32 (Llama's freqs_cis)."""
    return torch.polar(torch.ones_like(angles), angles)


def broadcast_over_heads(rotations: Tensor, x: Tensor) -> Tensor:
    """Reshape rotations [T, d/2] to [1, T, 1, d/2], to multiply complex queries [B, T, h, d/2].

    Raises
    ------
    ValueError
        If the rotations are not those of the sequence length and pairs of ``x``.
    """
    if rotations.shape != (x.shape[1], x.shape[-1]):
        raise ValueError(
            f"rotations of shape {list(rotations.shape)} do not fit x of shape {list(x.shape)}: "
            f"expected {[x.shape[1], x.shape[-1]]}"
        )
    return rotations.view(1, x.shape[1], 1, x.shape[-1])


def as_complex_pairs(x: Tensor) -> Tensor:
    """View [..., d] as complex pairs [..., d/2], in float32 as the Llama code casts first."""
    return torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))


def rotate_complex(q: Tensor, k: Tensor, rotations: Tensor) -> tuple[Tensor, Tensor]:
    """Rotate queries and keys by complex multiplication, as the Llama 2 reference code.

    Parameters
    ----------
    q, k
        Shape [B, T, h, d].
    rotations
        Complex numbers of unit modulus, shape [T, d/2].

    Returns
    -------
    tuple of Tensor
        Rotated queries and keys, of the shapes and precisions of ``q`` and ``k``.
    """
    rotated = []
    for x in (q, k):
        pairs = as_complex_pairs(x)
        turned = pairs * broadcast_over_heads(rotations, pairs)
        rotated.append(torch.view_as_real(turned).flatten(3).type_as(x))
    return rotated[0], rotated[1]


class RotaryTable(torch.nn.Module):
    """RoPE with its rotations computed once and cached, as reference implementations hold them.

    The formula has no last position; this table has. Nothing in it is a parameter.

    Parameters
    ----------
    head_dim, base
        As for :func:`frequencies`.
    max_position
        Number of positions that are cached.
    """

    def __init__(self, head_dim: int, max_position: int, base: float) -> None:
        super().__init__()
        rotations = unit_complex(angles(torch.arange(max_position), frequencies(head_dim, base)))
        self.register_buffer("rotations", rotations)

    def forward(self, q: Tensor, k: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """Rotate ``q`` and ``k`` [B, T, h, d] that begin at position ``start``.

        Raises
        ------
        ValueError
            If the table ends before the last position.
        """
        return rotate_complex(q, k, self.rotations[start : start + q.shape[1]])
