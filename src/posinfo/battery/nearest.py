"""Which known fault a rejected rotary implementation behaves like."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from posinfo.battery.base import Misbehaviour, examine
from posinfo.battery.rotary import BASES, BATTERY, Probe, Rotary
from posinfo.faults import RIGHT, of_kind
from posinfo.faults.base import Fault

#: Below this share a likeness says nothing.
LEAST = 0.5
#: The largest share of a fault that does not give the same results in every call.
MOST = 0.99


class Likeness(NamedTuple):
    """A known fault, and how much a subject is like it.

    Parameters
    ----------
    fault
        The fault.
    share
        1 if all ``results`` agree; below that the share of the subject's wrong results that the
        fault gives as well, or of the checks that reject either which reject both.
    compared
        ``results``, or ``checks`` if no fault gives such results: others may fail these as well.
    same
        Whether all results agree, or exactly the same checks reject both.
    """

    fault: Fault
    share: float
    compared: str
    same: bool


@dataclass(frozen=True)
class _Question:
    """One call: queries and keys [*leading, T, width], positions, base, and what counts as equal.

    The tolerance is relative to the largest component: the roundings of float32 at these positions
    stay below it, the faults exceed it.
    """

    leading: tuple[int, ...]
    width: int
    positions: tuple[float, ...]
    base: float = BASES[0]
    dtype: torch.dtype = torch.float32
    tolerance: float = 1e-4


def _questions(subject: Rotary) -> list[_Question]:
    """Calls that tell the faults apart, in an order that shows state; the first opens a cache."""
    widths = Probe(subject).widths()
    first, second, last = widths[0], widths[min(1, len(widths) - 1)], widths[-1]
    asked = [
        _Question((), first, tuple(range(6))),
        _Question((), first, (7, 3, 3, 0, 90, 12)),
        _Question((2, 5), first, tuple(range(1, 6))),
        _Question((5, 3), first, tuple(range(1, 6))),
        *([_Question((), last, (0, 4, 9, 33), base=BASES[1])] if subject.takes_base else []),
        _Question((), last, (0, 4, 9, 33)),
        _Question((), first, (0.5, 1.25, 100.25, 1000.75), tolerance=1e-3),
        _Question((), first, (1, 3, 257, 1001), dtype=torch.bfloat16, tolerance=0.03),
        _Question((), first, (1, 3, 257, 2049), dtype=torch.float16, tolerance=0.01),
        # An angle of 70,001 radians is off by up to 0.02 in float32.
        _Question((), second, (257, 2049, 4097, 70_001), tolerance=0.05),
        _Question((), first, tuple(range(6))),
    ]
    return [one for one in asked if max(one.positions) <= subject.last_position]


@dataclass(frozen=True)
class _Answer:
    """What a call gave: rotated queries and keys, or words, and what it did besides."""

    values: tuple[Tensor, ...]
    words: str


def _answers(
    subject: Rotary, asked: Sequence[_Question], order: Callable[[int], Tensor] | None = None
) -> list[_Answer]:
    """Ask a subject; ``order`` lists its dimensions in the order of adjacent pairs, by width."""
    probe = Probe(subject)
    found = []
    for one in asked:
        shape = (*one.leading, len(one.positions), one.width)
        q, k = (probe.draw(*shape, salt=salt).to(one.dtype) for salt in (1, 2))
        index = torch.arange(one.width) if order is None else order(one.width)
        inverse = index.argsort()
        given = [x[..., inverse].clone() for x in (q, k)] + [probe.positions(one.positions)]
        before = [x.clone() for x in given]
        said = len(probe.printed.getvalue())
        values: tuple[Tensor, ...] = ()
        try:
            values = probe._call(*given, one.base)
            words = f"gives {values[0].dtype}, {values[1].dtype}, of {list(values[0].shape)}"
            values = tuple(
                x[..., index].double() if x.shape == q.shape else x.double() for x in values
            )
        except Misbehaviour as what:
            # The words of an exception are its own; that there was one is what is compared.
            words = "raises" if str(what).startswith("raises") else str(what)
        changed = [not torch.equal(a, b) for a, b in zip(given, before, strict=True)]
        printed = len(probe.printed.getvalue()) > said
        found.append(_Answer(values, f"{words} changed {changed} printed {printed}"))
    return found


def _distance(a: _Answer, b: _Answer) -> float:
    """Largest distance of two answers' components, relative to the largest; infinite for words."""
    if a.words != b.words:
        return float("inf")
    if any(x.shape != y.shape for x, y in zip(a.values, b.values, strict=True)):
        return float("inf")
    gaps = []
    for x, y in zip(a.values, b.values, strict=True):
        # Two that are not finite in the same places are alike there.
        both = ~x.isfinite() & ~y.isfinite()
        gap = (x - y).abs().masked_fill(both, 0).max() / y.abs().masked_fill(both, 1).max()
        gaps.append(float(gap.nan_to_num(nan=float("inf"))))
    return max(gaps, default=0.0)


def _adjacent(width: int) -> Tensor:
    return torch.arange(width)


def _half_split(width: int) -> Tensor:
    """The dimensions of half-split pairs in the order of adjacent ones: 0, d/2, 1 and so on."""
    return torch.arange(width).view(2, -1).T.flatten()


def _half_split_in(part: Callable[[int], int]) -> Callable[[int], Tensor]:
    """The same within the leading ``part`` of the width."""

    def order(width: int) -> Tensor:
        return torch.cat([_half_split(part(width)), torch.arange(part(width), width)])

    return order


@cache
def _known(asked: tuple[_Question, ...]) -> tuple[list[_Answer], list[tuple[Fault, list[_Answer]]]]:
    """The answers of a right implementation and of each fault that has a wrong one among them.

    What the questions cannot tell from a right one is no explanation of any answer: that a base is
    ignored, say, where none is given.
    """
    right = _answers(RIGHT["rotary"]["adjacent pairs"](), asked)
    faults = [(fault, _answers(fault.make(), asked)) for fault in of_kind("rotary")]
    return right, [(fault, theirs) for fault, theirs in faults if any(_wrong(theirs, right, asked))]


def _wrong(
    found: Sequence[_Answer], right: Sequence[_Answer], asked: Sequence[_Question]
) -> list[bool]:
    """Which answers differ from the right ones."""
    return [_distance(a, b) > one.tolerance for a, b, one in zip(found, right, asked, strict=True)]


def nearest_fault(subject: Rotary, rejected: Collection[str] | None = None) -> Likeness | None:
    """The known fault that a subject behaves like, and how sure that is.

    Its results at some positions, widths, shapes and precisions are compared with those of each
    fault, in either layout. Where no fault gives its results, the checks that rejected it are
    compared with those that reject each fault.

    Parameters
    ----------
    subject
        The implementation.
    rejected
        Names of the battery's checks that rejected it; None to ask them here.

    Returns
    -------
    Likeness or None
        None if no check rejects it, or none is at least half like it.
    """
    if rejected is None:
        rejected = [f.check for f in examine(BATTERY, lambda: subject) if f.rejects]
    if not rejected:
        return None
    asked = tuple(_questions(subject))
    # A declared part of the head is measured against faults of a part of that width alone.
    orders = [_adjacent, _half_split_in(lambda d: subject.rotary_dim or d)]
    orders += [_half_split_in(lambda d: d // 2), _half_split]
    right, faults = _known(asked)
    best: tuple[float, float, Fault] | None = None
    for order in orders:
        mine = _answers(subject, asked, order)
        wrong = _wrong(mine, right, asked)
        for fault, theirs in faults:
            gaps = [_distance(a, b) for a, b in zip(mine, theirs, strict=True)]
            same = [gap <= one.tolerance for gap, one in zip(gaps, asked, strict=True)]
            shared = sum(a and b for a, b in zip(same, wrong, strict=True))
            share = 1.0 if all(same) else min(MOST, shared / max(sum(wrong), 1))
            candidate = (share, -sum(gap for gap in gaps if gap < float("inf")), fault)
            if best is None or candidate[:2] > best[:2]:
                best = candidate
        if best and best[0] == 1.0:
            break
    if best and best[0] >= LEAST:
        return Likeness(best[2], best[0], "results", best[0] == 1)
    names = set(BATTERY.names())
    alike = [
        (len(set(rejected) & reject) / len(set(rejected) | reject), fault)
        for fault, _ in faults
        if (reject := names & set(fault.rejected_by))
    ]
    share, fault = max(alike, key=lambda one: one[0])
    return Likeness(fault, min(MOST, share), "checks", share == 1) if share >= LEAST else None
