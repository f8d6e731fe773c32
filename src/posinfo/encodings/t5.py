"""T5's relative bias: a learned number a head and bucket of offsets, added to the scores.

Source: Raffel et al. 2020 (arXiv 1910.10683), section 2.1; the buckets are those of
huggingface/transformers, ``modeling_t5.py``, ``_relative_position_bucket``.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import embedding

BUCKETS = 32
MAX_DISTANCE = 128


def bucket(
    offsets: Tensor,
    *,
    bidirectional: bool,
    buckets: int = BUCKETS,
    max_distance: int = MAX_DISTANCE,
) -> Tensor:
    """Bucket of each offset, key position minus query position.

    Half of the buckets hold one distance each; the others widen logarithmically, and the last
    one holds everything from ``max_distance`` on.

    Parameters
    ----------
    offsets
        Integer, of any shape.
    bidirectional
        Whether keys behind and ahead have buckets of their own, half each. Otherwise every key
        ahead falls into bucket 0.
    buckets, max_distance
        Number of buckets, and the distance from which on all share one.

    Returns
    -------
    Tensor
        Integer, of the shape of ``offsets``.
    """
    first = torch.zeros_like(offsets)
    if bidirectional:
        buckets //= 2
        first = buckets * (offsets > 0).long()
        distance = offsets.abs()
    else:
        distance = (-offsets).clamp(min=0)
    exact = buckets // 2
    steps = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = (exact + (steps * (buckets - exact)).long()).clamp(max=buckets - 1)
    return first + torch.where(distance < exact, distance, far)


def bias(
    table: Tensor, positions: Tensor, *, bidirectional: bool, max_distance: int = MAX_DISTANCE
) -> Tensor:
    """What is added to the scores: the table's number for each pair of positions.

    Parameters
    ----------
    table
        Shape [buckets, h].
    positions
        Shape [T], integer.
    bidirectional, max_distance
        As for :func:`bucket`.

    Returns
    -------
    Tensor
        Shape [h, T, T]: head, query, key.
    """
    offsets = positions.unsqueeze(-2) - positions.unsqueeze(-1)
    chosen = bucket(
        offsets,
        bidirectional=bidirectional,
        buckets=table.shape[0],
        max_distance=max_distance,
    )
    # The gradient of an embedding is summed faster than that of an index.
    return embedding(chosen, table).movedim(-1, 0)
