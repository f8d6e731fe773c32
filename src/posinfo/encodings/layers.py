"""A small stack of transformer layers that takes a position encoding, or none.

Each layer is attention and a two-layer perceptron, each behind a root-mean-square norm without
gain and with a residual connection around it (Touvron et al. 2023, arXiv 2302.13971, section
2.2; the perceptron's activation is SiLU). Where an encoding acts is the encoding's matter: on
the embeddings, on queries and keys, or on the scores.

Every step that rounds is handed to ``note``, which returns the value to go on with. The default
returns it as it is; an error analysis can add a disturbance to it, so that what is analysed is
this very code.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from posinfo.encodings import alibi, rotary, sinusoidal, t5

#: Added to the mean square before the root, as in Llama's code.
EPSILON = 1e-6


class Note(Protocol):
    """Takes the result of a step, the step's name and what went into it; returns the result."""

    def __call__(self, value: Tensor, step: str, *operands: Any) -> Tensor:
        """The value to go on with."""


def unwatched(value: Tensor, step: str, *operands: Any) -> Tensor:
    """The result as it is."""
    return value


class Encoding:
    """No position encoding; the others replace what they need to."""

    name = "none"

    def add(self, x: Tensor, positions: Tensor, note: Note) -> Tensor:
        """Embeddings [..., T, d] with whatever of the positions [T] is added to them."""
        return x

    def turn(
        self, q: Tensor, k: Tensor, v: Tensor, positions: Tensor, note: Note
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [..., h, T, d_head] with positions in them."""
        return q, k, v

    def turn_back(self, attended: Tensor, positions: Tensor, note: Note) -> Tensor:
        """What attention returns [..., h, T, d_head], with positions taken out of it."""
        return attended

    def bias(
        self, positions: Tensor, heads: int, causal: bool, dtype: torch.dtype, note: Note
    ) -> Tensor | None:
        """What is added to the scores, [h, T, T], or None."""
        return None


@dataclass(frozen=True)
class Learned(Encoding):
    """A table [max_position, d] with a row a position, added to the embeddings."""

    table: Tensor
    name = "learned"

    def add(self, x: Tensor, positions: Tensor, note: Note) -> Tensor:
        """Embeddings plus the rows of the positions; an IndexError if there is no such row."""
        rows = torch.nn.functional.embedding(positions, self.table.to(x.dtype))
        return note(x + rows, "sum")


@dataclass(frozen=True)
class Sinusoidal(Encoding):
    """Sinusoidal codes added to the last ``width`` components of the embeddings (0: to all)."""

    base: float
    width: int = 0
    name = "sinusoidal"

    def add(self, x: Tensor, positions: Tensor, note: Note) -> Tensor:
        """Embeddings plus the codes of the positions."""
        width = self.width or x.shape[-1]
        angle = _angles(width, self.base, positions, x.dtype, note)
        code = note(sinusoidal.interleave(angle), "code")
        return note(x + torch.nn.functional.pad(code, (x.shape[-1] - width, 0)), "sum")


@dataclass(frozen=True)
class Rotary(Encoding):
    """RoPE on adjacent pairs of queries and keys; if asked for, on values, and undone after."""

    base: float
    values: bool = False
    undone: bool = False
    name = "rotary"

    def turn(
        self, q: Tensor, k: Tensor, v: Tensor, positions: Tensor, note: Note
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys turned to their positions, and the values if they are to be."""
        angle = _angles(q.shape[-1], self.base, positions, q.dtype, note)
        turned = [note(rotary.rotate_adjacent(x, angle), "turn", x) for x in (q, k)]
        if self.values:
            v = note(rotary.rotate_adjacent(v, angle), "turn", v)
        return turned[0], turned[1], v

    def turn_back(self, attended: Tensor, positions: Tensor, note: Note) -> Tensor:
        """What each query gathered, turned back by the query's own angle if that is asked for."""
        if not self.undone:
            return attended
        angle = _angles(attended.shape[-1], self.base, positions, attended.dtype, note)
        return note(rotary.rotate_adjacent(attended, -angle), "turn", attended)


@dataclass(frozen=True)
class Alibi(Encoding):
    """ALiBi: scores fall linearly with the distance."""

    name = "alibi"

    def bias(
        self, positions: Tensor, heads: int, causal: bool, dtype: torch.dtype, note: Note
    ) -> Tensor:
        """Minus slope times distance; the same on both sides where both are seen."""
        return note(alibi.bias(positions, heads, dtype), "slope")


@dataclass(frozen=True)
class T5Bias(Encoding):
    """T5's relative bias, from a table [buckets, h]; with a causal mask it looks back only."""

    table: Tensor
    name = "t5 bias"

    def bias(
        self, positions: Tensor, heads: int, causal: bool, dtype: torch.dtype, note: Note
    ) -> Tensor:
        """The table's numbers for each pair of positions: copied, and nothing is rounded."""
        return t5.bias(self.table.to(dtype), positions, bidirectional=not causal)


def _angles(width: int, base: float, positions: Tensor, dtype: torch.dtype, note: Note) -> Tensor:
    thetas = note(rotary.frequencies(width, base, dtype), "frequency", width, base)
    return note(rotary.angles(positions, thetas), "product of two")


@dataclass(frozen=True)
class Layer:
    """Weights of a layer, applied as x @ w: query, key, value, output, and the perceptron's two.

    The first four have shape [d, d], then [d, hidden] and [hidden, d].
    """

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    up: Tensor
    down: Tensor

    def to(self, dtype: torch.dtype) -> "Layer":
        """The same weights in another precision."""
        return Layer(*(weight.to(dtype) for weight in vars(self).values()))


@dataclass(frozen=True)
class Passed:
    """What a stack returns, and what the attention of its first layer did.

    ``outputs`` [..., T, d]; ``scores`` and ``weights`` [..., h, T, T], before and after the
    softmax; what a causal mask hides is minus infinity, and 0.
    """

    outputs: Tensor
    scores: Tensor
    weights: Tensor


def draw_layers(count: int, width: int, hidden: int, generator: torch.Generator) -> list[Layer]:
    """Layers with normal weights of variance 1 / inputs, which float32 holds exactly.

    Drawn and returned in float64, so that a float32 copy has the very same weights.

    Parameters
    ----------
    count
        Number of layers.
    width, hidden
        Width d of the model, and of the perceptron's middle.
    generator
        Where the numbers come from.
    """

    def weight(inputs: int, outputs: int) -> Tensor:
        drawn = torch.randn(inputs, outputs, generator=generator, dtype=torch.float64)
        return (drawn / math.sqrt(inputs)).float().double()

    return [
        Layer(
            *(weight(width, width) for _ in range(4)), weight(width, hidden), weight(hidden, width)
        )
        for _ in range(count)
    ]


def separate(layers: Sequence[Layer], heads: int, generator: torch.Generator) -> list[Layer]:
    """Weights that keep content and position apart, for a sinusoidal code in the second half.

    The first half of the model's components is content, the second the position's. In each head
    the first half of the query and key components reads content alone, with the weights that
    are given; the second half reads a share of the position's pairs, each turned and scaled by
    numbers of its own. A pair (sin pθ, cos pθ) turned by any angle and multiplied with another
    depends on the difference of positions alone, as for RoPE. Values, the attention's output and
    the perceptron read content and write content.

    Parameters
    ----------
    layers
        Layers of width d; d is divisible by 4 times ``heads``.
    heads
        Number of heads.
    generator
        Where the turns and scales come from.

    Raises
    ------
    ValueError
        If the width does not divide so.
    """
    width = layers[0].query.shape[0]
    if width % (4 * heads):
        raise ValueError(f"a width of {width} cannot be shared by {heads} heads in pairs")
    half, size = width // 2, width // heads
    place = torch.arange(width)
    content = place < half
    of_content = content.unsqueeze(1) & (place % size < size // 2)

    def comparing(weight: Tensor) -> Tensor:
        """Content to the first half of each head, whole pairs of the code to the second."""
        kept = weight * of_content
        for head in range(heads):
            for pair in range(size // 4):
                row = half + head * (size // 2) + 2 * pair
                column = head * size + size // 2 + 2 * pair
                a, b = torch.randn(2, generator=generator, dtype=torch.float64).float().double()
                kept[row : row + 2, column : column + 2] = torch.stack(
                    [torch.stack([a, b]), torch.stack([-b, a])]
                )
        return kept

    return [
        Layer(
            comparing(layer.query), comparing(layer.key), layer.value * content.unsqueeze(1),
            layer.output * content, layer.up * content.unsqueeze(1), layer.down * content,
        )
        for layer in layers
    ]  # fmt: skip


def normalise(x: Tensor) -> Tensor:
    """Divide by the root of the mean square over the last dimension (arXiv 1910.07467)."""
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + EPSILON)


def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), written out so that its roundings can be counted."""
    return x / (1 + torch.exp(-x))


def run(
    x: Tensor,
    layers: Sequence[Layer],
    *,
    heads: int,
    encoding: Encoding,
    positions: Tensor,
    causal: bool,
    note: Note = unwatched,
) -> Passed:
    """Pass token embeddings through a stack of layers.

    Parameters
    ----------
    x
        Token embeddings, shape [..., T, d].
    layers
        At least one layer, in the order in which they are applied.
    heads
        Number of heads h; divides d.
    encoding
        How positions enter.
    positions
        Positions of the T tokens, integer, shape [T].
    causal
        Whether a token sees only itself and what stands before it in the sequence.
    note
        Is given every step that rounds.
    """
    first: tuple[Tensor, Tensor] | None = None
    x = encoding.add(x, positions, note)
    for weights in (layer.to(x.dtype) for layer in layers):
        attended, *looked = _attention(
            note(normalise(x), "norm"), weights, heads, encoding, positions, causal, note
        )
        first = first or (looked[0], looked[1])
        x = note(x + attended, "sum")
        middle = note(silu(_product(note(normalise(x), "norm"), weights.up, note)), "silu")
        x = note(x + _product(middle, weights.down, note), "sum")
    if first is None:
        raise ValueError("a stack has at least one layer")
    return Passed(x, *first)


def _attention(
    x: Tensor,
    layer: Layer,
    heads: int,
    encoding: Encoding,
    positions: Tensor,
    causal: bool,
    note: Note,
) -> tuple[Tensor, Tensor, Tensor]:
    """What attention adds to each token [..., T, d], its scores and its weights [..., h, T, T]."""
    q, k, v = (
        _product(x, weight, note).unflatten(-1, (heads, -1)).transpose(-2, -3)
        for weight in (layer.query, layer.key, layer.value)
    )
    q, k, v = encoding.turn(q, k, v, positions, note)
    scores = _product(q, k.transpose(-1, -2), note)
    scores = note(scores / math.sqrt(q.shape[-1]), "scaling")
    bias = encoding.bias(positions, heads, causal, x.dtype, note)
    if bias is not None:
        scores = note(scores + bias, "sum")
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    weights = note(scores.softmax(dim=-1), "softmax", scores)
    attended = encoding.turn_back(_product(weights, v, note), positions, note)
    return _product(attended.transpose(-2, -3).flatten(-2), layer.output, note), scores, weights


def _product(a: Tensor, b: Tensor, note: Note) -> Tensor:
    return note(a @ b, "product", a, b)
