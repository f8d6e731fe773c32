"""The decoder: layers of causal attention and a perceptron, with one of six position encodings.

As in :mod:`posinfo.encodings.layers`, each half of a layer stands behind a root-mean-square norm
without gain and has a residual connection around it. Several decoders, which differ in their seed
alone, are held and computed side by side: each weight has the seed as its first dimension.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import embedding, gelu

from posinfo.encodings import alibi, rotary, sinusoidal, t5

#: The encodings that a decoder can have.
ENCODINGS = ("none", "learned", "sinusoidal", "alibi", "t5", "rotary")
#: Added to the mean square before the root.
EPSILON = 1e-6
#: Queries whose scores are computed at once: keys behind the last of them are left out, for no
#: query of theirs sees them. In long texts that saves nearly half of the scores.
BLOCK = 32

Weights = Mapping[str, Tensor]
#: Queries and keys, turned.
Turned = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Sizes:
    """Sizes of a decoder, and of what its encoding is made from.

    Parameters
    ----------
    vocabulary
        Number of tokens.
    length
        Positions that it is trained on, L: the rows of a learned table.
    width, heads, layers, hidden
        Of the model; ``hidden`` is the width of the perceptron's middle.
    base
        Base of the frequencies of rotary embeddings and of sinusoidal codes.
    buckets
        Buckets of T5's bias; all distances from ``length`` on share the last.
    """

    vocabulary: int
    length: int
    width: int
    heads: int
    layers: int
    hidden: int
    base: float
    buckets: int

    @property
    def head_dim(self) -> int:
        """Width of a head."""
        return self.width // self.heads


@dataclass(frozen=True)
class Reading:
    """How a trained decoder is made to read a text: as it was trained, unless something is set.

    Parameters
    ----------
    table
        Rows [S, T, d] that stand in the place of a learned table.
    rows
        The row of each position [T] in a learned table; the position itself if None.
    frequencies
        Frequencies [d_head/2] of rotary embeddings in the place of the trained ones.
    factor
        What an extension method multiplies cosines and sines by.
    clamp
        Distances above this one are rotated as if they were this one.
    window
        Only keys less than this far behind are seen.
    temperature_from
        Length from which on scores grow with the logarithm of the number of keys that are seen.
    """

    table: Tensor | None = None
    rows: Tensor | None = None
    frequencies: Tensor | None = None
    factor: float = 1.0
    clamp: int | None = None
    window: int | None = None
    temperature_from: int | None = None


AS_TRAINED = Reading()


def draw(encoding: str, sizes: Sizes, seeds: list[int], deviation: float) -> dict[str, Tensor]:
    """Fresh weights, float32, one generator a seed.

    Parameters
    ----------
    encoding
        One of :data:`ENCODINGS`.
    sizes
        Of the decoder.
    seeds
        One decoder is drawn from each.
    deviation
        Standard deviation of a learned position table and of T5's biases.

    Raises
    ------
    ValueError
        If the encoding is unknown.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"unknown encoding {encoding!r}, allowed: {', '.join(ENCODINGS)}")
    width, hidden = sizes.width, sizes.hidden
    shapes = {
        "tokens": ((sizes.vocabulary, width), 1.0),
        "readout": _linear(width, sizes.vocabulary),
    }
    for layer in range(sizes.layers):
        shapes |= {
            f"{layer}.qkv": _linear(width, 3 * width),
            f"{layer}.output": _linear(width, width, 0.5),
            f"{layer}.up": _linear(width, hidden),
            f"{layer}.down": _linear(hidden, width, 0.5),
        }
    if encoding == "learned":
        shapes["positions"] = ((sizes.length, width), deviation)
    if encoding == "t5":
        shapes["biases"] = ((sizes.buckets, sizes.heads), deviation)
    drawn: dict[str, list[Tensor]] = {name: [] for name in shapes}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        for name, (shape, scale) in shapes.items():
            numbers = torch.randn(*shape, generator=generator, dtype=torch.float64)
            drawn[name].append((scale * numbers).float())
    return {name: torch.stack(parts) for name, parts in drawn.items()}


def _linear(inputs: int, outputs: int, gain: float = 1.0) -> tuple[tuple[int, int], float]:
    return (inputs, outputs), gain / math.sqrt(inputs)


def logits(
    encoding: str, sizes: Sizes, weights: Weights, ids: Tensor, reading: Reading = AS_TRAINED
) -> Tensor:
    """Scores of the next token at each place.

    Parameters
    ----------
    encoding
        One of :data:`ENCODINGS`, that of the weights.
    sizes
        Of the decoder.
    weights
        As :func:`draw` makes them, for S seeds.
    ids
        Token ids, shape [S, N, T].
    reading
        How positions are read.

    Returns
    -------
    Tensor
        Shape [S, N, T, vocabulary].

    Raises
    ------
    IndexError
        If a learned table has no row for a position.
    """
    length = ids.shape[-1]
    positions = torch.arange(length)
    x = _per_seed(weights["tokens"], ids)
    if encoding == "learned":
        table = weights["positions"] if reading.table is None else reading.table
        rows = positions if reading.rows is None else reading.rows
        x = x + torch.stack([embedding(rows, one) for one in table]).unsqueeze(1)
    elif encoding == "sinusoidal":
        x = x + sinusoidal.code(positions, sizes.width, sizes.base)
    hidden, bias = _mask(positions, reading), _bias(encoding, sizes, weights, positions)
    added = hidden if bias is None else bias + hidden
    scale = _temperature(positions, reading) / math.sqrt(sizes.head_dim)
    turn = _rotation(encoding, sizes, positions, reading)
    for layer in range(sizes.layers):
        q, k, v = _heads(_times(_norm(x), weights[f"{layer}.qkv"]), sizes.heads)
        near, far = turn(q * scale, k)
        attended = torch.cat(
            [
                _attend(near, far, v, added, reading.clamp, start, min(start + BLOCK, length))
                for start in range(0, length, BLOCK)
            ],
            -2,
        )
        x = x + _times(attended.transpose(2, 3).flatten(-2), weights[f"{layer}.output"])
        x = x + _times(gelu(_times(_norm(x), weights[f"{layer}.up"])), weights[f"{layer}.down"])
    return _times(_norm(x), weights["readout"])


def _per_seed(tables: Tensor, ids: Tensor) -> Tensor:
    """Rows of each seed's table [S, V, d], looked up by its ids [S, N, T]: all in one look-up."""
    seeds, rows, width = tables.shape
    first = rows * torch.arange(seeds).view(-1, 1, 1)
    return embedding(ids + first, tables.reshape(-1, width))


def _times(x: Tensor, weight: Tensor) -> Tensor:
    """Each seed's x [S, N, T, in] times its weight [S, in, out]."""
    return torch.bmm(x.reshape(x.shape[0], -1, x.shape[-1]), weight).view(*x.shape[:-1], -1)


def _norm(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON)


def _heads(x: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values [S, N, h, T, d_head] out of [S, N, T, 3 h d_head]."""
    split = x.view(*x.shape[:-1], 3, heads, -1).permute(3, 0, 1, 4, 2, 5)
    return split[0], split[1], split[2]


def _mask(positions: Tensor, reading: Reading) -> Tensor:
    """Zero where a query [T] may see a key [T], minus infinity elsewhere."""
    distance = positions.unsqueeze(-1) - positions
    hidden = distance < 0
    if reading.window is not None:
        hidden = hidden | (distance >= reading.window)
    return torch.zeros(hidden.shape).masked_fill(hidden, float("-inf"))


def _temperature(positions: Tensor, reading: Reading) -> Tensor | float:
    """What the scores of each query [T, 1] are multiplied by: ln n / ln L from L keys on.

    Source: Chiang and Cholak 2022 (arXiv 2202.12172), who multiply by ln n; here the trained length
    is the unit, so that nothing changes within it.
    """
    if reading.temperature_from is None:
        return 1.0
    keys = (positions + 1).clamp(min=reading.temperature_from).float()
    return (keys.log() / math.log(reading.temperature_from)).unsqueeze(-1)


def _bias(encoding: str, sizes: Sizes, weights: Weights, positions: Tensor) -> Tensor | None:
    """What is added to the scores, [h, T, T] or [S, 1, h, T, T], if anything."""
    if encoding == "alibi":
        return alibi.bias(positions, sizes.heads)
    if encoding == "t5":
        each = [
            t5.bias(one, positions, bidirectional=False, max_distance=sizes.length)
            for one in weights["biases"]
        ]
        return torch.stack(each).unsqueeze(1)
    return None


def _rotation(
    encoding: str, sizes: Sizes, positions: Tensor, reading: Reading
) -> Callable[[Tensor, Tensor], tuple[Turned, Turned | None]]:
    """How queries and keys [..., T, d_head] are turned: for all, and for those beyond a clamp."""
    if encoding != "rotary":
        return lambda q, k: ((q, k), None)
    thetas = reading.frequencies
    if thetas is None:
        thetas = rotary.frequencies(sizes.head_dim, sizes.base)
    angles = rotary.angles(positions, thetas)
    constant = rotary.angles(torch.tensor([reading.clamp or 0]), thetas)

    def turned(x: Tensor, by: Tensor) -> Tensor:
        return rotary.rotate_by(x, reading.factor * by.cos(), reading.factor * by.sin())

    def both(q: Tensor, k: Tensor) -> tuple[Turned, Turned | None]:
        near = turned(q, angles), turned(k, angles)
        if reading.clamp is None:
            return near, None
        # All that lies further than the clamp is as far as the clamp: the query turned by so many
        # positions, the key by none.
        return near, (turned(q, constant), turned(k, 0 * constant))

    return both


def _attend(
    near: Turned,
    far: Turned | None,
    v: Tensor,
    added: Tensor,
    clamp: int | None,
    start: int,
    end: int,
) -> Tensor:
    """What the queries from ``start`` to before ``end`` read, [..., end - start, d_head].

    ``far`` is what counts in the place of ``near`` where the distance is above ``clamp``.
    """
    scores = _scores(near, start, end)
    if far is not None:
        distance = torch.arange(start, end).unsqueeze(-1) - torch.arange(end)
        scores = torch.where(distance > clamp, _scores(far, start, end), scores)
    return (scores + added[..., start:end, :end]).softmax(-1) @ v[..., :end, :]


def _scores(turned: Turned, start: int, end: int) -> Tensor:
    q, k = turned
    return q[..., start:end, :] @ k[..., :end, :].transpose(-1, -2)
