"""Batteries for what is added to scores: ALiBi's penalty and T5's relative bias.

Nothing here calls :mod:`posinfo.encodings`: slopes come from closed forms and from published
values, buckets from whole numbers. Both are read off the bias itself, so that an implementation
needs to offer nothing but that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from posinfo.battery.base import (
    Battery,
    Check,
    Finding,
    Misbehaviour,
    NotAsked,
    stated,
    verdict,
    worst_of,
)
from posinfo.battery.calls import called, draw, tensor
from posinfo.reference import layers
from posinfo.reference.rounding import gamma

# --- ALiBi ----------------------------------------------------------------------------------------

#: Positions with gaps, and distances that few bits do not hold.
SPREAD = (0, 1, 2, 3, 5, 8, 64, 257, 1001, 4095)
POWERS, OTHERS = (1, 2, 4, 8, 16, 32, 64), (3, 6, 12, 20, 40)

#: Slopes of 8 heads (arXiv 2108.12409, section 3), and the last four of 12 heads, as the authors'
#: code gives them (attention_with_linear_biases, ``fairseq/models/transformer.py``): 4 decimals.
PUBLISHED_8 = tuple(2.0**-power for power in range(1, 9))
PUBLISHED_12 = (0.7071, 0.3536, 0.1768, 0.0884)


@dataclass(frozen=True)
class Alibi:
    """An implementation of ALiBi, as the checks call it.

    Parameters
    ----------
    name
        What people call it.
    bias
        Takes positions [T] and a number of heads h, and returns what is added to the scores,
        [h, T, T]: head, query, key.
    sees_ahead
        Whether its numbers for keys ahead are meant; under a causal mask they are not.
    by_key
        Whether it counts from the key alone, as BLOOM does: each row is then right up to a number
        that the softmax takes away.
    """

    name: str
    bias: Callable[[Tensor, int], Tensor]
    sees_ahead: bool = True
    by_key: bool = False


class AlibiProbe:
    """One subject, its bias without what the softmax takes away, and what that must be."""

    def __init__(self, subject: Alibi) -> None:
        self.subject = subject

    def bias(self, positions: Sequence[int], heads: int) -> np.ndarray:
        """The subject's bias [h, T, T] in float64; 0 ahead where that is not meant."""
        size = len(positions)
        about = f"for {size} positions and {heads} heads"
        found = called(self.subject.bias, torch.tensor(positions), heads, about=about)
        numbers = tensor(found, [heads, size, size], about=about).detach().double().numpy()
        if self.subject.by_key:
            numbers = numbers - np.diagonal(numbers, axis1=1, axis2=2)[..., None]
        if not self.subject.sees_ahead:
            ahead = np.subtract.outer(np.array(positions), np.array(positions)) < 0
            numbers = np.where(ahead, 0.0, numbers)
        return numbers

    def distances(self, positions: Sequence[int]) -> np.ndarray:
        """Distances [T, T] that count: 0 ahead where that is not meant."""
        offsets = np.subtract.outer(np.array(positions, float), np.array(positions, float))
        return np.abs(offsets) if self.subject.sees_ahead else np.maximum(offsets, 0.0)

    def slopes(self, heads: int) -> np.ndarray:
        """The slope of each head: minus the bias at distance 1."""
        return -self.bias([0, 1], heads)[:, 1, 0]

    def compare(self, positions: Sequence[int], heads: int) -> Finding:
        """The bias against minus slope times distance.

        A slope may be a power of a rounded base, whose error the head's number amplifies: up to
        2 n + 4 roundings, n heads; then one product. Counted from the key, the product is that of
        the last position, and a difference of two such.
        """
        found = self.bias(positions, heads)
        slopes = np.array([float(layers.slope(head, heads)) for head in range(heads)])
        slope = slopes[:, None, None]
        expected = -slope * self.distances(positions)
        reach = 2 * max(positions) + 1 if self.subject.by_key else self.distances(positions)
        bound = np.broadcast_to(slope * reach * gamma(2 * heads + 5), expected.shape)
        error = np.abs(found - expected)
        at = np.unravel_index(np.argmax(error / np.where(bound == 0, 1e-30, bound)), error.shape)
        head, i, j = (int(index) for index in at)
        words = f"head {head} of {heads}, distance {abs(positions[i] - positions[j]):,}"
        return verdict(float(error[at]), float(bound[at]), words)


def _published(probe: AlibiProbe) -> Finding:
    found = probe.slopes(8)
    first = verdict(float(np.abs(found - PUBLISHED_8).max()), gamma(21) / 2, "slopes of 8 heads")
    tail = probe.slopes(12)[8:]
    words = "last four slopes of 12 heads: " + ", ".join(f"{slope:.4f}" for slope in tail)
    # Half a unit in the last decimal that is printed.
    second = verdict(float(np.abs(tail - PUBLISHED_12).max()), 0.00005 + gamma(21), words)
    return worst_of([first, second])


def _powers(probe: AlibiProbe) -> Finding:
    return worst_of([probe.compare([0, 1], heads) for heads in POWERS])


def _others(probe: AlibiProbe) -> Finding:
    return worst_of([probe.compare([0, 1], heads) for heads in OTHERS])


def _diagonal(probe: AlibiProbe) -> Finding:
    if probe.subject.by_key:
        raise NotAsked("it counts from the key alone")
    largest = float(np.abs(np.diagonal(probe.bias(SPREAD, 8), axis1=1, axis2=2)).max())
    return verdict(largest, 0.0, "largest number on the diagonal")


def _sign(probe: AlibiProbe) -> Finding:
    found = probe.bias(SPREAD, 8)
    wrong = (found >= 0) & (probe.distances(SPREAD) > 0)
    if not wrong.any():
        return stated(True)
    behind = bool((wrong & (np.tri(len(SPREAD), k=-1) > 0)).any())
    where = "behind" if behind else "ahead"
    return stated(False, f"keys {where} are raised or left as they are, not lowered")


def _linear(probe: AlibiProbe) -> Finding:
    """The bias at a distance m is m times that at distance 1, by the subject's own slopes."""
    found, slopes = probe.bias(SPREAD, 8), probe.slopes(8)
    expected = -slopes[:, None, None] * probe.distances(SPREAD)
    reach = 2 * max(SPREAD) + 1 if probe.subject.by_key else probe.distances(SPREAD)
    bound = np.broadcast_to(np.abs(slopes)[:, None, None] * reach * gamma(4), expected.shape)
    error = np.abs(found - expected)
    at = np.unravel_index(np.argmax(error / np.where(bound == 0, 1e-30, bound)), error.shape)
    distance = abs(SPREAD[int(at[1])] - SPREAD[int(at[2])])
    return verdict(float(error[at]), float(bound[at]), f"distance {distance:,}")


def _offset_alone(probe: AlibiProbe) -> Finding:
    """The same distances elsewhere: 10,001 positions later."""
    return probe.compare([position + 10_001 for position in SPREAD], 8)


def _both_sides(probe: AlibiProbe) -> Finding:
    if not probe.subject.sees_ahead:
        raise NotAsked("its numbers for keys ahead are not meant")
    found = probe.bias(SPREAD, 8)
    gap = float(np.abs(found - found.transpose(0, 2, 1)).max())
    bound = 2 * max(SPREAD) * gamma(25) if probe.subject.by_key else 0.0
    return verdict(gap, bound, "largest difference between a key behind and one ahead")


ALIBI = Battery(
    "alibi",
    (
        Check("published slopes", "has the slopes that the paper and its code give", "slope",
              _published),
        Check("powers of two", "has slopes 2^(-8h/n) for n heads, a power of two", "bias", _powers),
        Check("other numbers of heads", "takes every second slope of the next power", "bias",
              _others),
        Check("diagonal", "leaves a token's score with itself as it is", "bias", _diagonal),
        Check("sign", "lowers scores with distance", "", _sign),
        Check("linear", "is linear in the distance", "bias", _linear),
        Check("offset alone", "depends on the distance alone", "bias", _offset_alone),
        Check("both sides", "treats keys behind and ahead alike", "bias", _both_sides),
    ),
    AlibiProbe,
)  # fmt: skip


# --- T5 -------------------------------------------------------------------------------------------

HEADS = 3
BUCKETS, LAST_DISTANCE = 32, 128
#: Causal distances and their buckets, as huggingface/transformers, ``modeling_t5.py``, gives them.
PUBLISHED = {0: 0, 1: 1, 15: 15, 16: 16, 17: 16, 31: 21, 32: 21, 64: 26, 127: 31, 128: 31, 1000: 31}
#: One position, and others at every distance that is told apart, and beyond.
PLACES = (*range(LAST_DISTANCE + 2), 200, 512, 1000)


@dataclass(frozen=True)
class T5:
    """An implementation of T5's relative bias, as the checks call it.

    Parameters
    ----------
    name
        What people call it.
    bias
        Takes a table [buckets, h], positions [T] and whether keys ahead have buckets of their own,
        and returns what is added to the scores, [h, T, T]: head, query, key.
    """

    name: str
    bias: Callable[[Tensor, Tensor, bool], Tensor]


class T5Probe:
    """One subject; the buckets are read off the bias of a table that numbers its rows."""

    def __init__(self, subject: T5) -> None:
        self.subject = subject

    def bias(self, table: Tensor, positions: Sequence[int], bidirectional: bool) -> Tensor:
        """The subject's bias [h, T, T]."""
        size = len(positions)
        mode = "bidirectional" if bidirectional else "causal"
        about = f"for {size} positions, {len(table)} buckets, {mode}"
        given = torch.tensor(positions)
        found = called(self.subject.bias, table.clone(), given, bidirectional, about=about)
        return tensor(found, [table.shape[1], size, size], about=about).detach()

    def buckets(self, bidirectional: bool, buckets: int = BUCKETS) -> dict[int, int]:
        """The bucket of each offset, key minus query, between 0 and each of :data:`PLACES`."""
        table = torch.arange(buckets).float()[:, None].expand(buckets, HEADS)
        found = self.bias(table, PLACES, bidirectional)[0]
        if not torch.equal(found, found.round()):
            raise Misbehaviour("adds numbers that stand nowhere in the table")
        ahead = {place: int(found[0, n]) for n, place in enumerate(PLACES)}
        return {-place: int(found[n, 0]) for n, place in enumerate(PLACES)} | ahead


@cache
def accepted(offset: int, *, bidirectional: bool, buckets: int = BUCKETS) -> set[int]:
    """Buckets that a right implementation may give an offset, key minus query.

    One, by whole numbers; two where the distance is exactly the end of a bucket, for a logarithm
    in floats may then lie on either side of a whole number.
    """
    bucket = layers.bucket(offset, bidirectional=bidirectional, buckets=buckets)
    half = buckets // 2 if bidirectional else buckets
    exact, distance = half // 2, abs(offset) if bidirectional else max(-offset, 0)
    step = bucket % half - exact
    rest = half - exact
    whole = LAST_DISTANCE**step * exact**rest == distance**rest * exact**step
    return {bucket, bucket - 1} if step > 0 and whole else {bucket}


def _table(probe: T5Probe) -> Finding:
    """Each number comes from the table, bit for bit, with the head along the first axis."""
    table, positions = draw(BUCKETS, HEADS), (0, 1, 5, 9, 40)
    for bidirectional in (False, True):
        found = probe.bias(table, positions, bidirectional)
        for i, query in enumerate(positions):
            for j, key in enumerate(positions):
                column = found[:, i, j]
                if not any(torch.equal(column, row) for row in table):
                    return stated(False, f"query {query}, key {key}: no row of the table")
    return stated(True)


def _wrong(
    probe: T5Probe, offsets: Sequence[int], bidirectional: bool, buckets: int = BUCKETS
) -> str:
    found = probe.buckets(bidirectional, buckets)
    for offset in offsets:
        expected = accepted(offset, bidirectional=bidirectional, buckets=buckets)
        if found[offset] not in expected:
            mode = "bidirectional" if bidirectional else "causal"
            return (f"{mode}: offset {offset:+,} falls into bucket {found[offset]} of {buckets}, "
                    f"not {max(expected)}")  # fmt: skip
    return ""


def _near_distances(probe: T5Probe) -> Finding:
    """One distance a bucket in the first half: 16 behind, or 8 on each side."""
    words = _wrong(probe, range(-15, 1), False) or _wrong(probe, range(-7, 8), True)
    return stated(not words, words)


def _published_buckets(probe: T5Probe) -> Finding:
    found = probe.buckets(False)
    wrong = [d for d, bucket in PUBLISHED.items() if found[-d] != bucket]
    words = f"distance {wrong[0]:,} falls into bucket {found[-wrong[0]]}, not " \
            f"{PUBLISHED[wrong[0]]}" if wrong else ""  # fmt: skip
    return stated(not wrong, words)


def _behind(probe: T5Probe) -> Finding:
    words = _wrong(probe, [-place for place in PLACES], False)
    return stated(not words, words)


def _two_sides(probe: T5Probe) -> Finding:
    both = [*PLACES, *(-place for place in PLACES)]
    words = _wrong(probe, sorted(both, key=abs), True)
    return stated(not words, words)


def _halves(probe: T5Probe) -> Finding:
    """Keys ahead have the buckets of keys behind, half of all further on; distance 0 is behind."""
    found, half = probe.buckets(True), BUCKETS // 2
    for place in PLACES[1:]:
        if found[place] != found[-place] + half:
            return stated(False, f"offsets {-place:+,} and {place:+,} fall into buckets "
                          f"{found[-place]} and {found[place]}, not {half} apart")  # fmt: skip
    return stated(found[0] == 0, f"offset 0 falls into bucket {found[0]}")


def _ahead(probe: T5Probe) -> Finding:
    found = probe.buckets(False)
    wrong = [place for place in PLACES if found[place]]
    words = f"offset {wrong[0]:+,} falls into bucket {found[wrong[0]]}" if wrong else ""
    return stated(not wrong, words)


def _saturates(probe: T5Probe) -> Finding:
    """Buckets never fall with distance, and reach the last at distance 128, to stay there."""
    found = probe.buckets(False)
    for before, place in pairwise(PLACES):
        if found[-place] < found[-before]:
            return stated(False, f"bucket {found[-before]} at distance {before:,}, and "
                          f"{found[-place]} at {place:,}")  # fmt: skip
    far = {found[-place] for place in PLACES if place >= LAST_DISTANCE}
    last = BUCKETS - 1
    return stated(far == {last}, f"distances from {LAST_DISTANCE} on fall into {sorted(far)}, "
                  f"not {last}")  # fmt: skip


def _number(probe: T5Probe) -> Finding:
    """Other sizes of the table than 32."""
    behind = [-place for place in PLACES]
    words = _wrong(probe, behind, False, 16) or _wrong(probe, behind, True, 64)
    return stated(not words, words)


T5_BIAS = Battery(
    "t5",
    (
        Check("table", "adds numbers of its table, a head along the first axis", "", _table),
        Check("keys ahead", "puts keys ahead into bucket 0 if it looks back only", "", _ahead),
        Check("near distances", "has one distance a bucket in the first half", "",
              _near_distances),
        Check("published buckets", "gives the published buckets", "", _published_buckets),
        Check("every distance", "widens logarithmically, looking back", "", _behind),
        Check("two sides", "does so on both sides with half of the buckets", "", _two_sides),
        Check("halves", "keeps keys ahead and behind apart", "", _halves),
        Check("last bucket", "grows up to the last bucket, at distance 128", "", _saturates),
        Check("number of buckets", "follows the size of its table", "", _number),
    ),
    T5Probe,
)  # fmt: skip
