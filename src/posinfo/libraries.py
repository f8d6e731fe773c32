"""Independent libraries under one signature: how each computes RoPE, in its own words.

Each class calls one library of the extra ``peers`` and nothing of ours. It imports it when it is
made: the libraries are large, and may not be there. None of this reaches for a network.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from posinfo.offline import QUIET


class Transformers:
    """Hugging Face's ``transformers``: the rotary embedding of its Llama, and its functions."""

    package = "transformers"
    rotation = "transformers LlamaRotaryEmbedding"
    #: Our names of its methods, with its own.
    methods: Mapping[str, str] = {
        "none": "default",
        "pi": "linear",
        "dynamic_ntk": "dynamic",
        "yarn": "yarn",
        "longrope": "longrope",
        "llama3": "llama3",
    }

    def __init__(self) -> None:
        os.environ.update(QUIET)
        from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
        from transformers.models.llama import modeling_llama
        from transformers.models.llama.configuration_llama import LlamaConfig

        self._functions, self._llama, self._config = (
            ROPE_INIT_FUNCTIONS,
            modeling_llama,
            LlamaConfig,
        )

    def config(
        self, head_dim: int, base: float, max_position: int, kind: str = "default", **more: Any
    ) -> Any:
        """A Llama's configuration with one head; ``more`` are its ``rope_parameters``."""
        return self._config(
            hidden_size=head_dim,
            num_attention_heads=1,
            head_dim=head_dim,
            max_position_embeddings=max_position,
            rope_parameters={"rope_type": kind, "rope_theta": base, **more},
        )

    def method_config(
        self,
        method: str,
        head_dim: int,
        base: float,
        trained_length: int,
        factor: float,
        **options: Any,
    ) -> Any:
        """The configuration of a model that was extended by one of :attr:`methods`."""
        kind = self.methods[method]
        if method == "none":
            return self.config(head_dim, base, trained_length)
        if method in ("pi", "dynamic_ntk"):
            # Dynamic NTK follows the length from ``max_position_embeddings`` on.
            return self.config(head_dim, base, trained_length, kind, factor=factor)
        if method == "llama3":
            options = {"low_freq_factor": 1.0, "high_freq_factor": 4.0} | options
        stated = int(factor * trained_length)
        return self.config(
            head_dim, base, stated, kind, factor=factor,
            original_max_position_embeddings=trained_length, **options,
        )  # fmt: skip

    def frequencies(
        self,
        method: str,
        head_dim: int,
        base: float,
        trained_length: int,
        factor: float,
        **options: Any,
    ) -> tuple[Tensor, float]:
        """Frequencies [d/2] at the extended length, and the attention factor."""
        config = self.method_config(method, head_dim, base, trained_length, factor, **options)
        return self.computed(config, int(factor * trained_length))

    def computed(self, config: Any, length: int | None = None) -> tuple[Tensor, float]:
        """What the function that a configuration asks for gives at a length."""
        kind = config.rope_parameters["rope_type"]
        if kind == "default":
            return self._llama.LlamaRotaryEmbedding.compute_default_rope_parameters(config)
        return self._functions[kind](config, device="cpu", seq_len=length)

    def module(self, config: Any, dtype: torch.dtype = torch.float32) -> Any:
        """The rotary embedding of a Llama, converted to a precision."""
        return self._llama.LlamaRotaryEmbedding(config).to(dtype)

    def turn(self, module: Any, x: Tensor, start: int = 0) -> Tensor:
        """Rotate ``x`` [h, T, d], which begins at a position."""
        positions = torch.arange(start, start + x.shape[-2])[None]
        cos, sin = module(x, positions)
        return self._llama.apply_rotary_pos_emb(x[None], x[None], cos, sin)[0][0]

    def rotate(self, x: Tensor, base: float, start: int = 0) -> Tensor:
        """Rotate ``x`` [h, T, d] without an extension."""
        return self.turn(self.module(self.config(x.shape[-1], base, start + x.shape[-2])), x, start)

    def cos_sin(self, head_dim: int, base: float, length: int, module: torch.dtype,
                given: torch.dtype) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Cosines and sines [length, d/2] of a module and an input in given precisions."""
        made = self.module(self.config(head_dim, base, length), module)
        found = made(torch.zeros(1, dtype=given), torch.arange(length)[None])
        return tuple(part[0, :, : head_dim // 2] for part in found)


class RotaryEmbeddingTorch:
    """``rotary-embedding-torch``: one module, which scales positions or the base."""

    package = "rotary-embedding-torch"
    rotation = "rotary_embedding_torch.RotaryEmbedding"
    methods: Mapping[str, str] = {
        "none": "",
        "pi": "interpolate_factor",
        "ntk": "theta_rescale_factor",
    }

    def __init__(self) -> None:
        import rotary_embedding_torch

        self._module = rotary_embedding_torch.RotaryEmbedding

    def module(self, head_dim: int, base: float, dtype: torch.dtype = torch.float32,
               **options: float) -> Any:  # fmt: skip
        """The module, converted to a precision."""
        return self._module(head_dim, theta=base, **options).to(dtype)

    def frequencies(
        self,
        method: str,
        head_dim: int,
        base: float,
        trained_length: int,
        factor: float,
        **_: Any,
    ) -> tuple[Tensor, float]:
        """Frequencies [d/2] in effect: the angles at position 1; and the attention factor."""
        options = {self.methods[method]: factor} if self.methods[method] else {}
        module = self.module(head_dim, base, **options)
        return module(module.get_seq_pos(2), seq_len=2)[1, ::2].detach(), 1.0

    def rotate(self, x: Tensor, base: float, start: int = 0) -> Tensor:
        """Rotate ``x`` [h, T, d], which begins at position ``start``."""
        module = self.module(x.shape[-1], base)
        return module.rotate_queries_or_keys(x[None], offset=start)[0].detach()

    def angles(self, head_dim: int, base: float, length: int, module: torch.dtype,
               given: torch.dtype) -> Tensor:  # fmt: skip
        """The angles [length, d/2] by which an input of a precision is rotated."""
        made = self.module(head_dim, base, module)
        return made(made.get_seq_pos(length, dtype=given), seq_len=length)[:, ::2].detach()


class XTransformers:
    """``x-transformers``: a module for angles, and a function that rotates by them."""

    package = "x-transformers"
    rotation = "x_transformers RotaryEmbedding"
    methods: Mapping[str, str] = {
        "none": "",
        "pi": "interpolation_factor",
        "ntk": "base_rescale_factor",
    }

    def __init__(self) -> None:
        from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

        self._module, self._apply = RotaryEmbedding, apply_rotary_pos_emb

    def module(self, head_dim: int, base: float, dtype: torch.dtype = torch.float32,
               **options: float) -> Any:  # fmt: skip
        """The module, converted to a precision."""
        return self._module(head_dim, base=base, **options).to(dtype)

    def frequencies(
        self,
        method: str,
        head_dim: int,
        base: float,
        trained_length: int,
        factor: float,
        **_: Any,
    ) -> tuple[Tensor, float]:
        """Frequencies [d/2] in effect: the angles at position 1; and the attention factor."""
        options = {self.methods[method]: factor} if self.methods[method] else {}
        angles, _scale = self.module(head_dim, base, **options)(torch.arange(2))
        return angles[0, 1, ::2], 1.0

    def rotate(self, x: Tensor, base: float, start: int = 0) -> Tensor:
        """Rotate ``x`` [h, T, d], which begins at position ``start``."""
        positions = torch.arange(start, start + x.shape[-2])
        angles, _scale = self.module(x.shape[-1], base)(positions)
        return self._apply(x[None], angles)[0]

    def angles(self, head_dim: int, base: float, length: int, module: torch.dtype,
               given: torch.dtype) -> Tensor:  # fmt: skip
        """The angles [length, d/2]; the precision of the input has no say in them."""
        angles, _scale = self.module(head_dim, base, module)(torch.arange(length))
        return angles[0, :, ::2]


Library = Transformers | RotaryEmbeddingTorch | XTransformers

#: The libraries by the name of their package.
LIBRARIES: Mapping[str, type[Library]] = {
    library.package: library for library in (Transformers, RotaryEmbeddingTorch, XTransformers)
}


def layout(turned: Sequence[Sequence[float]]) -> str:
    """How dimensions are paired, from what becomes of unit vectors.

    Parameters
    ----------
    turned
        Row j is the vector that has a one at j alone, rotated by angles that are no multiple of a
        quarter turn: two of its components are not zero, j and its partner.

    Returns
    -------
    str
        ``neighbours`` (2i, 2i + 1), ``halves`` (i, i + d/2), or ``neither``.
    """
    width = len(turned)
    partners = []
    for place, row in enumerate(turned):
        others = [other for other, value in enumerate(row) if value != 0 and other != place]
        partners.append(others[0] if len(others) == 1 else None)
    if partners == [place ^ 1 for place in range(width)]:
        return "neighbours"
    if partners == [(place + width // 2) % width for place in range(width)]:
        return "halves"
    return "neither"
