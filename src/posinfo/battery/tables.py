"""Batteries for codes that are added to embeddings: learned tables and sinusoidal codes.

Nothing here calls :mod:`posinfo.encodings`. A learned table is looked up again by plain loops over
numbers; a sinusoidal code is compared with 50 digits, within bounds that every right road in
float32 keeps.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from posinfo.battery.base import (
    Battery,
    Check,
    Finding,
    NotAsked,
    stated,
    verdict,
    worst_of,
)
from posinfo.battery.calls import called, draw, refused, tensor
from posinfo.battery.rotary import FAR, frequency_bound
from posinfo.reference import rotary as exact
from posinfo.reference.rounding import UNIT, gamma

# --- learned tables -------------------------------------------------------------------------------

#: Sizes that are told apart: tokens, rows of the table, width, sequences.
VOCABULARY, ROWS, WIDTH, BATCH = 11, 16, 6, 3
#: Unordered, repeated and with gaps; the last row is asked about by itself.
MIXED = (7, 3, 3, 0, 14, 12)


@dataclass(frozen=True)
class Learned:
    """An implementation of a learned table of positions, as the checks call it.

    Parameters
    ----------
    name
        What people call it.
    embed
        Takes the table of tokens [vocabulary, d], that of positions [rows, d], ids [B, T] and
        positions [T], [1, T] or [B, T], and returns embeddings [B, T, d].
    """

    name: str
    embed: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class LearnedProbe:
    """One subject with tables of numbers for it."""

    def __init__(self, subject: Learned) -> None:
        self.subject = subject
        self.tokens, self.table = draw(VOCABULARY, WIDTH, salt=1), draw(ROWS, WIDTH, salt=2)

    def ids(self, length: int) -> Tensor:
        """Ids [BATCH, length], none of which is its position."""
        count = torch.arange(BATCH * length)
        return ((7 * count + 5) % VOCABULARY).view(BATCH, length)

    def embed(self, ids: Tensor, positions: Tensor, **tables: Tensor) -> Tensor:
        """What the subject returns for the given tables, or for the drawn ones."""
        tokens, table = tables.get("tokens", self.tokens), tables.get("table", self.table)
        about = f"for ids of shape {list(ids.shape)} and positions {positions.tolist()}"
        found = called(
            self.subject.embed, tokens, table, ids.clone(), positions.clone(), about=about
        )
        return tensor(found, [*ids.shape, WIDTH], about=about)

    def differs(self, ids: Tensor, positions: Tensor, **tables: Tensor) -> str:
        """Where the subject's result is not the sum of the two rows, bit for bit; "" if nowhere.

        The sum is Python's, in 53 digits, and then rounded to 24: what float32 adds itself, since
        53 is at least twice 24 and two more (Figueroa 1995, When is double rounding innocuous?).
        """
        found = self.embed(ids, positions, **tables)
        tokens, table = (tables.get(name, getattr(self, name)).detach().tolist()
                         for name in ("tokens", "table"))  # fmt: skip
        places = positions.expand(ids.shape).tolist()
        for batch, row in enumerate(ids.tolist()):
            for step, token in enumerate(row):
                place = places[batch][step]
                sums = [a + b for a, b in zip(tokens[token], table[place], strict=True)]
                if not torch.equal(found[batch, step], torch.tensor(sums, dtype=torch.float32)):
                    return self._instead(found[batch, step], tokens[token], place)
        return ""

    def _instead(self, found: Tensor, token: list[float], place: int) -> str:
        """In words: which row stands there instead of that of ``place``."""
        for row in range(ROWS):
            if row != place and torch.allclose(found, torch.tensor(token) + self.table[row]):
                return f"position {place} gets the row of position {row}"
        if torch.allclose(found, torch.tensor(token)):
            return f"position {place} gets no row"
        return f"position {place} gets something else than its token's row plus its own"


def _row(probe: LearnedProbe) -> Finding:
    words = probe.differs(probe.ids(len(MIXED)), torch.tensor(MIXED))
    return stated(not words, words)


def _each_sequence(probe: LearnedProbe) -> Finding:
    """Positions by sequence, as they are where a batch is padded on the left."""
    positions = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 2], [9, 10, 11, 12]])
    words = probe.differs(probe.ids(4), positions)
    return stated(not words, words)


def _one_at_a_time(probe: LearnedProbe) -> Finding:
    """Decoding: one token, at the position that it is given."""
    ids = probe.ids(ROWS)
    for place in (0, 1, 5, ROWS - 1):
        words = probe.differs(ids[:, place : place + 1], torch.tensor([place]))
        if words:
            return stated(False, f"one token alone: {words}")
    return stated(True)


def _every_length(probe: LearnedProbe) -> Finding:
    ids = probe.ids(ROWS)
    for length in (2, 5, ROWS):
        words = probe.differs(ids[:, :length], torch.arange(length))
        if words:
            return stated(False, f"among {length} tokens, {words}")
    return stated(True)


def _added_once(probe: LearnedProbe) -> Finding:
    """With zeros in one table the other's rows come out as they are."""
    ids, positions = probe.ids(4), torch.tensor([2, 3, 4, 8])
    for name in ("tokens", "table"):
        zeros = torch.zeros_like(getattr(probe, name))
        found = probe.embed(ids, positions, **{name: zeros}).double()
        alone = probe.table[positions].expand(BATCH, 4, WIDTH) if name == "tokens" else (
            probe.tokens[ids])  # fmt: skip
        if not torch.equal(found, alone.double()):
            ratio = float((found / alone.double()).median())
            other = "positions" if name == "tokens" else "tokens"
            return stated(False, f"rows of {other} come out times {ratio:.3g}")
    return stated(True)


def _end(probe: LearnedProbe) -> Finding:
    """The last row is there, and no row after it is made up."""
    words = probe.differs(probe.ids(1), torch.tensor([ROWS - 1]))
    if words:
        return stated(False, words)
    return _refuses(probe, (ROWS, ROWS + 3))


def _below_zero(probe: LearnedProbe) -> Finding:
    return _refuses(probe, (-1,))


def _refuses(probe: LearnedProbe, places: Sequence[int]) -> Finding:
    for place in places:
        ids, positions = probe.ids(1), torch.tensor([place])
        if not refused(probe.subject.embed, probe.tokens, probe.table, ids, positions):
            row = probe.embed(ids, positions, tokens=torch.zeros(VOCABULARY, WIDTH))[0, 0]
            same = [n for n in range(ROWS) if torch.equal(row, probe.table[n])]
            got = f"the row of position {same[0]}" if same else "something"
            return stated(False, f"position {place} of {ROWS} rows silently gets {got}")
    return stated(True)


def _gradient(probe: LearnedProbe) -> Finding:
    """Each row gets the sum of what its uses get: whole numbers, so that nothing rounds."""
    ids, places = probe.ids(4), [2, 3, 3, 9]
    table = probe.table.clone().requires_grad_()
    found = probe.embed(ids, torch.tensor(places), table=table)
    if not found.requires_grad:
        return stated(False, "the table of positions gets no gradient")
    upstream = torch.arange(found.numel(), dtype=torch.float32).view(found.shape) % 7 - 3
    called((found * upstream).sum().backward, about="when its gradient is taken")
    expected = [[0.0] * WIDTH for _ in range(ROWS)]
    for sequence in upstream.tolist():
        for place, gradient in zip(places, sequence, strict=True):
            expected[place] = [a + b for a, b in zip(expected[place], gradient, strict=True)]
    got = torch.zeros_like(table) if table.grad is None else table.grad
    wrong = [row for row in range(ROWS) if got[row].tolist() != expected[row]]
    return stated(not wrong, f"row {wrong[0]} gets another gradient than its uses" if wrong else "")


LEARNED = Battery(
    "learned",
    (
        Check("row of the position", "adds the row of the position, bit for bit", "", _row),
        Check("each sequence", "follows positions of each sequence of a batch", "", _each_sequence),
        Check("one at a time", "gives one token the row of the position given", "", _one_at_a_time),
        Check("every length", "gives a position one row, however long the rest", "", _every_length),
        Check("added once", "adds both rows once and as they are", "", _added_once),
        Check("end of the table", "refuses positions past its rows", "", _end),
        Check("below zero", "refuses negative positions", "", _below_zero),
        Check("gradient", "trains the rows that were used, and no other", "", _gradient),
    ),
    LearnedProbe,
)


# --- sinusoidal codes -----------------------------------------------------------------------------

WIDTHS = (8, 64, 96)
BASES = (10_000.0, 500.0)
UNORDERED = (7, 3, 3, 0, 90, 12)


@dataclass(frozen=True)
class Sinusoidal:
    """An implementation of sinusoidal codes, as the checks call it.

    Parameters
    ----------
    name
        What people call it.
    code
        Takes positions [T], a width d and a base, and returns codes [T, d]: sine and cosine of
        each frequency's angle side by side (arXiv 1706.03762, section 3.5).
    takes_base
        Whether it takes any base; if not, it is asked with 10,000 alone.
    """

    name: str
    code: Callable[[Tensor, int, float], Tensor]
    takes_base: bool = True


class SinusoidalProbe:
    """One subject, and what its codes must be."""

    def __init__(self, subject: Sinusoidal) -> None:
        self.subject = subject

    def code(self, positions: Sequence[int], width: int, base: float = BASES[0]) -> np.ndarray:
        """The subject's codes [T, d] in float64."""
        about = f"for {len(positions)} positions at width {width}"
        found = called(self.subject.code, torch.tensor(positions), width, base, about=about)
        return tensor(found, [len(positions), width], about=about).detach().double().numpy()

    def values(
        self, positions: Sequence[int], widths: Sequence[int], base: float = BASES[0]
    ) -> Finding:
        """Codes against sines and cosines of exact angles.

        An angle carries the frequency's error and one rounding, and a sine or cosine is off by at
        most that and one unit in the last place below 1.
        """
        findings = []
        for width in widths:
            found = self.code(positions, width, base)
            angles = np.outer(positions, _frequencies(width, base))
            reach = angles * (frequency_bound(width, base) + UNIT["float32"])
            bound = np.repeat(np.minimum(reach + UNIT["float32"], 2.0), 2, axis=1)
            error = np.abs(found - _interleaved(angles))
            at = np.unravel_index(np.argmax(error / bound), error.shape)
            where = f"position {positions[at[0]]:,}, place {at[1]} of width {width}"
            findings.append(verdict(float(error[at]), float(bound[at]), where))
        return worst_of(findings)


def _frequencies(width: int, base: float) -> np.ndarray:
    return np.array([float(theta) for theta in exact.frequencies(width, base)])


def _interleaved(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)


def _position_zero(probe: SinusoidalProbe) -> Finding:
    for width in WIDTHS:
        found = probe.code([0], width)[0].tolist()
        if found != [0.0, 1.0] * (width // 2):
            return stated(False, f"position 0 at width {width} starts with {found[:4]}, not with "
                          "0 and 1 in turn")  # fmt: skip
    return stated(True)


def _layout(probe: SinusoidalProbe) -> Finding:
    """Which places hold sines and which cosines, at position 1: the nearest of three layouts."""
    width = WIDTHS[0]
    found = probe.code([1], width)[0]
    theta = _frequencies(width, BASES[0])
    sine, cosine = np.sin(theta), np.cos(theta)
    layouts = {
        "sine and cosine in turn": np.stack([sine, cosine], axis=-1).ravel(),
        "cosine before sine": np.stack([cosine, sine], axis=-1).ravel(),
        "all sines before all cosines": np.concatenate([sine, cosine]),
        "all cosines before all sines": np.concatenate([cosine, sine]),
    }
    nearest = min(layouts, key=lambda name: float(np.abs(found - layouts[name]).max()))
    return stated(nearest == "sine and cosine in turn", nearest)


def _near(probe: SinusoidalProbe) -> Finding:
    return probe.values(range(64), WIDTHS)


def _second_base(probe: SinusoidalProbe) -> Finding:
    if not probe.subject.takes_base:
        raise NotAsked("it takes no base")
    return probe.values(range(64), WIDTHS[:2], BASES[1])


def _far(probe: SinusoidalProbe) -> Finding:
    return probe.values(FAR, WIDTHS[1:2])


def _unordered(probe: SinusoidalProbe) -> Finding:
    return probe.values(UNORDERED, WIDTHS[:2])


def _norms(probe: SinusoidalProbe) -> Finding:
    """Sine and cosine of one angle: both are off by at most a unit in the last place below 1."""
    worst, words = 0.0, ""
    positions = [1, 2, 50, 1001]
    for width in WIDTHS:
        pairs = probe.code(positions, width).reshape(len(positions), -1, 2)
        error = np.abs(np.hypot(pairs[..., 0], pairs[..., 1]) - 1)
        at = np.unravel_index(np.argmax(error), error.shape)
        if error[at] > worst:
            worst = float(error[at])
            words = f"position {positions[at[0]]:,}, pair {at[1]} of width {width}"
    return verdict(worst, gamma(math.sqrt(2)), words)


def _offset_alone(probe: SinusoidalProbe) -> Finding:
    """Dot products of two codes at one offset: the sum of cos(offset theta) wherever they stand.

    Both codes share the frequency's error; the roundings of the angles, which grow with the
    positions, and those of the values do not cancel.
    """
    findings, offset = [], 5
    for width in WIDTHS[:2]:
        theta = _frequencies(width, BASES[0])
        expected = float(np.cos(offset * theta).sum())
        for start in (0, 10, 1000, 4000):
            one, other = probe.code([start, start + offset], width)
            u = UNIT["float32"]
            phase = theta * (offset * frequency_bound(width, BASES[0]) + (2 * start + offset) * u)
            bound = float((np.minimum(phase, 2.0) + gamma(4)).sum())
            found = float(one @ other)
            findings.append(
                verdict(abs(found - expected), bound, f"positions {start:,} and {start + offset:,}")
            )
    return worst_of(findings)


SINUSOIDAL = Battery(
    "sinusoidal",
    (
        Check("position zero", "is 0 and 1 in turn at position 0", "", _position_zero),
        Check("layout", "has sine and cosine of a frequency side by side", "", _layout),
        Check("near positions", "holds sine and cosine of position times frequency", "code", _near),
        Check("second base", "follows the base", "code", _second_base),
        Check("any order", "takes positions unordered and with gaps", "code", _unordered),
        Check("far positions", "is right far out, within float32", "code", _far),
        Check("pair norms", "has pairs of norm 1", "norm", _norms),
        Check("offset alone", "has dot products of the offset alone", "dot product", _offset_alone),
    ),
    SinusoidalProbe,
)
