"""Decoding with a cache of keys and values, and the same without one.

Sources: Touvron et al. 2023 (Llama 2), ``llama/model.py``, for a cache of rotated keys and for
the finite layout; Peng et al. 2023 (YaRN, arXiv 2309.00071), section 3.3, for keys that are
cached before they are rotated.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from posinfo.encodings.attention import attend
from posinfo.encodings.rotary import RotaryTable, angles, rotate_adjacent

#: Frequencies [d/2] of a model whose sequence is so many tokens long.
Frequencies = Callable[[int], Tensor]


def last_output(q: Tensor, k: Tensor, v: Tensor, frequencies: Tensor) -> Tensor:
    """Output of the last of T tokens, all rotated from the formula: no table and no cache.

    Parameters
    ----------
    q, k, v
        Queries, keys and values before rotation, shape [h, T, d].
    frequencies
        Shape [d/2], radians per position; the first token stands at position 0.

    Returns
    -------
    Tensor
        Shape [h, 1, d].
    """
    turns = angles(torch.arange(q.shape[1]), frequencies)
    query = rotate_adjacent(q[:, -1:], turns[-1:])
    return attend(query, rotate_adjacent(k, turns), v, causal=False)


def recompute(q: Tensor, k: Tensor, v: Tensor, frequencies: Frequencies) -> Tensor:
    """Outputs of a decoder that computes every token anew at every step: nothing is cached.

    Parameters
    ----------
    q, k, v
        As for :func:`last_output`.
    frequencies
        Frequencies at a given length: all tokens up to a step are rotated by those of its length.

    Returns
    -------
    Tensor
        Shape [h, T, d]: the output of each token over the tokens up to it.
    """
    steps = range(1, q.shape[1] + 1)
    return torch.cat(
        [last_output(q[:, :n], k[:, :n], v[:, :n], frequencies(n)) for n in steps], dim=1
    )


def decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    frequencies: Frequencies,
    *,
    rotate_before_caching: bool = True,
    position: Callable[[int], int] = lambda step: step,
) -> Tensor:
    """Outputs of a decoder that caches keys and values and takes one token a step.

    Parameters
    ----------
    q, k, v, frequencies
        As for :func:`recompute`.
    rotate_before_caching
        Whether a key is rotated once, by the frequencies of its own step, and then cached; if
        not, keys are cached as they are, and all are rotated anew at each step.
    position
        Position that each step is given: the number of tokens in the cache, if it is right.

    Returns
    -------
    Tensor
        Shape [h, T, d].
    """
    cached: list[Tensor] = []
    outputs = []
    for step in range(q.shape[1]):
        here = frequencies(step + 1)
        turn = angles(torch.tensor([position(step)]), here)
        query, key = q[:, step : step + 1], k[:, step : step + 1]
        cached.append(rotate_adjacent(key, turn) if rotate_before_caching else key)
        keys = torch.cat(cached, dim=1)
        if not rotate_before_caching:
            turns = torch.tensor([position(earlier) for earlier in range(step + 1)])
            keys = rotate_adjacent(keys, angles(turns, here))
        outputs.append(attend(rotate_adjacent(query, turn), keys, v[:, : step + 1], causal=False))
    return torch.cat(outputs, dim=1)


class FiniteAttention(torch.nn.Module):
    """Attention whose rotations and cache are tables of fixed size, as in Llama 2's program.

    The rotations have twice as many rows as the cache has places, as there.

    Parameters
    ----------
    max_length
        Places in the cache, a position each.
    heads, head_dim, base
        As for :class:`~posinfo.encodings.rotary.RotaryTable`.
    """

    def __init__(self, max_length: int, heads: int, head_dim: int, base: float) -> None:
        super().__init__()
        self.rotary = RotaryTable(head_dim, 2 * max_length, base)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, max_length, heads, head_dim))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, start: int) -> Tensor:
        """Output [1, T, h, d] of a prompt (``start`` 0), or of one more token at ``start``.

        Queries, keys and values have the shape [1, T, h, d], before rotation.

        Raises
        ------
        ValueError
            If the table of rotations ends before the last position.
        RuntimeError
            If more than one token is to be cached past the last place. A single one is not: the
            slice is then empty, torch broadcasts a length of 1 to it, and nothing is stored.
        """
        q, k = self.rotary(q, k, start)
        end = start + q.shape[1]
        self.keys[:, start:end] = k
        self.values[:, start:end] = v
        keys, values = self.keys[:, :end], self.values[:, :end]
        heads_first = (x.transpose(1, 2) for x in (q, keys, values))
        return attend(*heads_first, causal=q.shape[1] > 1).transpose(1, 2)
