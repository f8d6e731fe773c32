"""Our frequencies and rotations, put into the real Llama of transformers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from posinfo import scaling
from posinfo.encodings import rotary

#: How YaRN reads when its attention factor is left out.
PLAIN = ", no attention factor"


class Embedding(nn.Module):
    """Stands in for a Llama's rotary embedding: cos and sin of our angles, in its layout.

    Parameters
    ----------
    method
        A key of :data:`posinfo.scaling.METHODS`, with :data:`PLAIN` behind it where its attention
        factor is left out.
    head_dim, base, trained_length, factor
        As in :mod:`posinfo.scaling`.
    options
        What the method takes besides.
    positions
        The precision that positions are rounded to before anything else.
    angles
        The precision in which angles, and their cos and sin, are computed.
    """

    def __init__(
        self,
        method: str,
        head_dim: int,
        base: float,
        trained_length: int,
        factor: float,
        options: Mapping[str, Any] | None = None,
        *,
        positions: torch.dtype = torch.float32,
        angles: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.method = scaling.METHODS[method.removesuffix(PLAIN)]
        self.told = (head_dim, base, trained_length, factor)
        self.options = dict(options or {})
        self.attention = (
            1.0 if method.endswith(PLAIN) else self.method.attention_factor(factor, trained_length)
        )
        self.precisions = (positions, angles)

    def frequencies(self, length: int) -> Tensor:
        """Frequencies [d/2] when the context has this length; only dynamic methods ask for it."""
        options = dict(self.options)
        if "length" in self.method.options:
            options["length"] = length
        return self.method.frequencies(*self.told, dtype=self.precisions[1], **options)

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Cos and sin [1, T, d] of the positions [1, T], each angle twice: pairs (i, i + d/2)."""
        positions = position_ids[0]
        length = int(positions.max()) + 1
        angles = rotary.angles(positions.to(self.precisions[0]), self.frequencies(length))
        whole = torch.cat([angles, angles], dim=-1)[None]
        return tuple((part * self.attention).to(x.dtype) for part in (whole.cos(), whole.sin()))


@contextmanager
def adjacent(modeling: Any) -> Iterator[None]:
    """Let transformers' Llama rotate pairs (2i, 2i + 1) instead of (i, i + d/2).

    Parameters
    ----------
    modeling
        The module ``transformers.models.llama.modeling_llama``.
    """

    def rotate(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, **_: Any) -> tuple[Tensor, Tensor]:
        half = cos.shape[-1] // 2
        cos, sin = cos[..., :half].unsqueeze(1), sin[..., :half].unsqueeze(1)
        return rotary.rotate_by(q, cos, sin), rotary.rotate_by(k, cos, sin)

    kept = modeling.apply_rotary_pos_emb
    modeling.apply_rotary_pos_emb = rotate
    try:
        yield
    finally:
        modeling.apply_rotary_pos_emb = kept


def half_split_to_adjacent(weight: Tensor, head_dim: int) -> Tensor:
    """The inverse of :func:`posinfo.encodings.rotary.adjacent_to_half_split`, same shapes."""
    halves = weight.view(-1, 2, head_dim // 2, weight.shape[-1])
    return halves.transpose(1, 2).reshape(weight.shape)
