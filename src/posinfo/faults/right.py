"""Right rotary implementations, written in ten ways: none of them may be rejected.

Each stands on its own, as someone would write it: they are the controls of the battery, and the
sources from which :mod:`posinfo.faults.mutants` makes faults. The library's own stand beside them.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from posinfo.battery.rotary import Rotary
from posinfo.encodings import rotary


def adjacent(q, k, positions, base):
    """Pairs (2i, 2i+1), in real arithmetic."""

    def rotate(x):
        dim = x.shape[-1]
        frequencies = 1 / base ** (torch.arange(0, dim, 2) / dim)
        angles = torch.outer(positions.float(), frequencies)
        cos, sin = angles.cos(), angles.sin()
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
        return turned.flatten(-2).to(x.dtype)

    return rotate(q), rotate(k)


def half_split(q, k, positions, base):
    """Pairs (i, i + d/2): x cos + h(x) sin, h swapping the halves."""

    def rotate(x):
        dim = x.shape[-1]
        frequencies = 1 / base ** (torch.arange(0, dim, 2) / dim)
        angles = positions.float()[:, None] * frequencies
        cos = torch.cat([angles.cos(), angles.cos()], dim=-1)
        sin = torch.cat([angles.sin(), angles.sin()], dim=-1)
        first, second = x[..., : dim // 2], x[..., dim // 2 :]
        return (x * cos + torch.cat([-second, first], dim=-1) * sin).to(x.dtype)

    return rotate(q), rotate(k)


def half_split_by_halves(q, k, positions, base):
    """Pairs (i, i + d/2), each half by itself."""

    def rotate(x):
        half = x.shape[-1] // 2
        frequencies = base ** -(torch.arange(half) / half)
        angles = torch.outer(positions.float(), frequencies)
        first, second = x.chunk(2, dim=-1)
        turned_first = first * angles.cos() - second * angles.sin()
        turned_second = second * angles.cos() + first * angles.sin()
        return torch.cat([turned_first, turned_second], dim=-1).to(x.dtype)

    return rotate(q), rotate(k)


def float64_inside(q, k, positions, base):
    """Everything in float64, rounded once at the end."""

    def rotate(x):
        dim = x.shape[-1]
        frequencies = 1 / base ** (torch.arange(0, dim, 2).double() / dim)
        angles = torch.outer(positions.double(), frequencies)
        even, odd = x[..., 0::2].double(), x[..., 1::2].double()
        turned_even = even * angles.cos() - odd * angles.sin()
        turned_odd = even * angles.sin() + odd * angles.cos()
        return torch.stack([turned_even, turned_odd], dim=-1).flatten(-2).to(x.dtype)

    return rotate(q), rotate(k)


def by_complex_numbers(q, k, positions, base):
    """Pairs (2i, 2i+1) as complex numbers, multiplied by cos + i sin."""

    def rotate(x):
        dim = x.shape[-1]
        frequencies = 1 / base ** (torch.arange(0, dim, 2) / dim)
        angles = torch.outer(positions.float(), frequencies)
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], dim // 2, 2))
        turned = pairs * torch.complex(angles.cos(), angles.sin())
        return torch.view_as_real(turned).flatten(-2).to(x.dtype)

    return rotate(q), rotate(k)


def by_polar(q, k, positions, base):
    """Pairs (2i, 2i+1) as complex numbers; the factors by ``torch.polar``, from exponentials."""

    def rotate(x):
        half = x.shape[-1] // 2
        frequencies = torch.exp(torch.arange(half) * (-math.log(base) / half))
        angles = positions.float()[:, None] * frequencies
        factors = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(x.float().unflatten(-1, (half, 2)))
        return torch.view_as_real(pairs * factors).flatten(-2).to(x.dtype)

    return rotate(q), rotate(k)


def by_matrices(q, k, positions, base):
    """One block-diagonal matrix a position."""

    def rotate(x):
        dim = x.shape[-1]
        frequencies = 1 / base ** (torch.arange(0, dim, 2) / dim)
        angles = torch.outer(positions.float(), frequencies)
        matrices = torch.zeros(len(positions), dim, dim)
        even = torch.arange(0, dim, 2)
        odd = even + 1
        matrices[:, even, even] = matrices[:, odd, odd] = angles.cos()
        matrices[:, even, odd] = -angles.sin()
        matrices[:, odd, even] = angles.sin()
        return (matrices @ x.float().unsqueeze(-1)).squeeze(-1).to(x.dtype)

    return rotate(q), rotate(k)


def by_einsum(q, k, positions, base):
    """One small matrix a pair, contracted by ``einsum``."""

    def rotate(x):
        dim = x.shape[-1]
        frequencies = 1 / base ** (torch.arange(0, dim, 2) / dim)
        angles = torch.einsum("t,f->tf", positions.float(), frequencies)
        cos, sin = angles.cos(), angles.sin()
        turns = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
        pairs = x.float().unflatten(-1, (dim // 2, 2))
        return torch.einsum("tfij,...tfj->...tfi", turns, pairs).flatten(-2).to(x.dtype)

    return rotate(q), rotate(k)


def exponential_of_logarithm(q, k, positions, base):
    """Frequencies as exponentials; even and odd dimensions written into a new tensor."""

    def rotate(x):
        dim = x.shape[-1]
        frequencies = torch.exp(-math.log(base) * torch.arange(0, dim, 2) / dim)
        angles = positions.float().unsqueeze(-1) * frequencies
        turned = torch.empty_like(x)
        turned[..., 0::2] = x[..., 0::2] * angles.cos() - x[..., 1::2] * angles.sin()
        turned[..., 1::2] = x[..., 1::2] * angles.cos() + x[..., 0::2] * angles.sin()
        return turned

    return rotate(q), rotate(k)


def cached_table(rows):
    """A table of whole positions for each width and base, made once and looked up."""
    tables = {}

    def turn(q, k, positions, base):
        dim = q.shape[-1]
        if (dim, base) not in tables:
            frequencies = 1 / base ** (torch.arange(0, dim, 2) / dim)
            angles = torch.outer(torch.arange(rows).float(), frequencies)
            tables[dim, base] = torch.cat([angles.cos(), angles.sin()], dim=-1)
        if positions.is_floating_point() and (positions % 1 != 0).any():
            raise ValueError("whole positions alone")
        cos, sin = tables[dim, base][positions.long()].chunk(2, dim=-1)

        def rotate(x):
            even, odd = x[..., 0::2], x[..., 1::2]
            turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
            return turned.flatten(-2).to(x.dtype)

        return rotate(q), rotate(k)

    return turn


def growing_table():
    """A table of half-split pairs that is made anew, longer, when a position lies beyond it."""
    tables = {}

    def turn(q, k, positions, base):
        dim, needed = q.shape[-1], int(positions.max()) + 1
        if positions.is_floating_point() and (positions % 1 != 0).any():
            raise ValueError("whole positions alone")
        if (dim, base) not in tables or len(tables[dim, base][0]) < needed:
            frequencies = 1 / base ** (torch.arange(0, dim, 2) / dim)
            angles = torch.outer(torch.arange(needed).float(), frequencies)
            tables[dim, base] = angles.cos(), angles.sin()
        cos, sin = (table[positions.long()] for table in tables[dim, base])

        def rotate(x):
            first, second = x.chunk(2, dim=-1)
            turned = [first * cos - second * sin, second * cos + first * sin]
            return torch.cat(turned, dim=-1).to(x.dtype)

        return rotate(q), rotate(k)

    return turn


def partial_rotation(q, k, positions, base):
    """The leading 32 dimensions alone, as declared; the exponent over these 32."""
    turned = half_split(q[..., :32], k[..., :32], positions, base)
    return tuple(
        torch.cat([part, x[..., 32:]], dim=-1) for part, x in zip(turned, (q, k), strict=True)
    )


def _library(rotate: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """The library's rotation of one tensor, for queries and keys."""

    def turn(q, k, positions, base):
        angles = rotary.angles(positions, rotary.frequencies(q.shape[-1], base))
        return rotate(q, angles), rotate(k, angles)

    return turn


def _library_by_matrices(x: Tensor, angles: Tensor) -> Tensor:
    return rotary.rotate_by_matrix(x.float(), rotary.rotation_matrices(angles)).to(x.dtype)


def _library_complex(q, k, positions, base):
    """The library's complex multiplication, which takes queries and keys [B, T, h, d] together."""
    angles = rotary.angles(positions, rotary.frequencies(q.shape[-1], base))
    flat = (x.reshape(-1, *x.shape[-2:]).unsqueeze(2) for x in (q, k))
    turned = rotary.rotate_complex(*flat, rotary.unit_complex(angles))
    return tuple(part.reshape(x.shape) for part, x in zip(turned, (q, k), strict=True))


#: Those that hold no state, by name; each turns queries, keys, positions and a base.
STATELESS = {
    "adjacent pairs": adjacent,
    "half-split pairs": half_split,
    "half-split pairs by halves": half_split_by_halves,
    "float64 inside": float64_inside,
    "complex numbers": by_complex_numbers,
    "polar, exponentials": by_polar,
    "matrices": by_matrices,
    "einsum": by_einsum,
    "exponential of a logarithm": exponential_of_logarithm,
    "library, adjacent pairs": _library(lambda x, angles: rotary.rotate_adjacent(x, angles)),
    "library, half-split pairs": _library(lambda x, angles: rotary.rotate_half_split(x, angles)),
    "library, complex numbers": _library_complex,
    "library, matrices": _library(_library_by_matrices),
}

#: Rows of the cached table: it declares that it ends there.
CACHED_ROWS = 2048


def _stateless(name: str, turn: Callable) -> Rotary:
    return Rotary(name, turn)


RIGHT: dict[str, Callable[[], Rotary]] = {
    **{name: partial(_stateless, name, turn) for name, turn in STATELESS.items()},
    "cached table": lambda: Rotary(
        "cached table", cached_table(CACHED_ROWS), last_position=CACHED_ROWS - 1
    ),
    # It ends nowhere; asked up to here, since each check makes it anew.
    "growing table": lambda: Rotary("growing table", growing_table(), last_position=16_383),
    "partial rotation, declared": lambda: Rotary(
        "partial rotation, declared", partial_rotation, rotary_dim=32
    ),
}
