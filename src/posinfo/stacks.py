"""The small stacks of layers that suites measure: seeded weights and tokens, and each encoding.

Every number that is drawn is one that float32 holds, so that a stack in float32 and one in
float64 have the same weights, and their difference is rounding alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from posinfo.encodings import layers, t5
from posinfo.encodings.layers import Encoding, Layer, Passed
from posinfo.reference import layers as reference
from posinfo.reference import running

#: The encodings by the name that rows carry.
ENCODINGS = ("none", "learned", "sinusoidal", "rotary", "alibi", "t5 bias")


def outputs_of(passed: Passed) -> Tensor:
    """Outputs of the last layer, [..., T, d]."""
    return passed.outputs


def scores_of(passed: Passed) -> Tensor:
    """Scores of the first layer before the softmax, [..., h, T, T]."""
    return passed.scores


@dataclass(frozen=True)
class Stack:
    """Layers, how positions enter, and what a token sees.

    Attributes
    ----------
    layers
        The weights of each layer, in float64.
    heads
        Number of heads.
    encoding
        How positions enter.
    causal
        Whether a token sees only itself and what stands before it.
    """

    layers: Sequence[Layer]
    heads: int
    encoding: Encoding
    causal: bool

    @property
    def subject(self) -> str:
        """What rows name as measured."""
        if type(self.encoding) is Encoding:
            return "posinfo.encodings.layers.run"
        return f"posinfo.encodings.layers.{type(self.encoding).__name__}"

    @property
    def mask(self) -> str:
        """The mask's name in rows."""
        return "causal" if self.causal else "none"

    def with_(self, **changed: Any) -> "Stack":
        """The same stack with something changed."""
        return replace(self, **changed)

    def run(self, tokens: Tensor, positions: Tensor, note: Any = layers.unwatched) -> Passed:
        """Pass tokens [..., T, d] at positions [T] through, in the precision of the tokens."""
        return layers.run(
            tokens, self.layers, heads=self.heads, encoding=self.encoding,
            positions=positions, causal=self.causal, note=note,
        )  # fmt: skip

    def measure(
        self,
        tokens: Tensor,
        positions: Tensor,
        dtype: torch.dtype,
        of: Callable[[Passed], Tensor] = outputs_of,
    ) -> Tensor:
        """What ``of`` takes from a run in ``dtype``, as float64; the outputs [..., T, d]."""
        return of(self.run(tokens.to(dtype), positions)).double()

    def bounds(
        self, tokens: Tensor, positions: Tensor, dtype: str, of: Callable[[Passed], Tensor]
    ) -> Tensor:
        """Bound on the rounding of each component of what ``of`` takes from a run.

        Parameters
        ----------
        tokens
            Shape [T, d], float64, of numbers that ``dtype`` holds.
        positions
            Shape [T].
        dtype
            The precision whose rounding is meant.
        of
            Such as :func:`outputs_of`; what it takes must be finite.
        """
        return running.bounds(lambda note: of(self.run(tokens, positions, note)), dtype)


def tokens(count: int, width: int, seed: int) -> Tensor:
    """Embeddings of ``count`` tokens, [count, width]: standard normal, rounded to float32."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(count, width, generator=generator, dtype=torch.float64)
    return drawn.float().double()


def stack(
    parameters: Mapping[str, Any],
    count: int,
    encoding: str = "none",
    *,
    causal: bool = False,
    table_rows: int = 1,
) -> Stack:
    """A stack of ``count`` layers with one of the encodings.

    Parameters
    ----------
    parameters
        A suite's: seed, base, heads, head_dim and hidden.
    count
        Number of layers; the first layers of two stacks are the same.
    encoding
        One of :data:`ENCODINGS`.
    causal
        Whether a token sees only itself and what stands before it.
    table_rows
        Rows of the learned table: positions from there on are not in it.

    Raises
    ------
    ValueError
        If the encoding is unknown.
    """
    heads, width = parameters["heads"], parameters["heads"] * parameters["head_dim"]
    seed, base = parameters["seed"], parameters["base"]
    generator = torch.Generator().manual_seed(seed)
    drawn = layers.draw_layers(count, width, parameters["hidden"], generator)
    if encoding == "none":
        chosen = Encoding()
    elif encoding == "learned":
        chosen = layers.Learned(tokens(table_rows, width, seed + 1))
    elif encoding == "sinusoidal":
        chosen = layers.Sinusoidal(base)
    elif encoding == "rotary":
        chosen = layers.Rotary(base)
    elif encoding == "alibi":
        chosen = layers.Alibi()
    elif encoding == "t5 bias":
        chosen = layers.T5Bias(tokens(t5.BUCKETS, heads, seed + 2))
    else:
        raise ValueError(f"unknown encoding {encoding!r}, allowed: {', '.join(ENCODINGS)}")
    return Stack(drawn, heads, chosen, causal)


def most_used(difference: Tensor, bound: Tensor) -> tuple[float, float]:
    """The difference that uses most of its bound, and that bound; NaN uses all of it and more."""
    difference, bound = torch.broadcast_tensors(difference.abs(), bound)
    used = (difference / bound).nan_to_num(nan=torch.inf).flatten()
    place = int(used.argmax())
    return difference.flatten()[place].item(), bound.flatten()[place].item()


def _lists(layer: Layer) -> dict[str, list[list[float]]]:
    return {name: weight.tolist() for name, weight in vars(layer).items()}


def exact_scores(model: Stack, x: Tensor) -> Tensor:
    """First scores of a stack without positions in arbitrary precision, rounded to float64."""
    exact = reference.scores(
        x.tolist(), _lists(model.layers[0]), heads=model.heads, epsilon=layers.EPSILON
    )
    return torch.tensor(
        [[[float(value) for value in row] for row in head] for head in exact], dtype=torch.float64
    )


def exact_outputs(model: Stack, x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Outputs of a stack in arbitrary precision, rounded to float64."""
    encoding = model.encoding
    table = (
        encoding.table.tolist() if isinstance(encoding, layers.Learned | layers.T5Bias) else base
    )
    exact = reference.stack(
        x.tolist(), list(map(_lists, model.layers)), heads=model.heads, encoding=encoding.name,
        settings=table, positions=positions.tolist(), causal=model.causal, epsilon=layers.EPSILON,
    )  # fmt: skip
    return torch.tensor([[float(value) for value in row] for row in exact], dtype=torch.float64)
