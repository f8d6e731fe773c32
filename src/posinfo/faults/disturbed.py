"""Right rotary embeddings with a disturbance of a size: how small a fault a check detects."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from posinfo.battery.base import Battery, Check, Finding, examine
from posinfo.battery.lessons import PAIRS
from posinfo.battery.rotary import BASES, SEED, STILL, WIDTHS, Probe, Rotary
from posinfo.faults import right

#: Sizes from which and to which the smallest detected one is searched for.
LOWEST, HIGHEST = 2.0**-30, 1.0

Sized = Callable[[float], Rotary]


@dataclass(frozen=True)
class Disturbance:
    """One way to disturb a right implementation by a size.

    Parameters
    ----------
    words
        What is done, for people.
    subject
        The disturbed implementation, by size.
    moves
        By how much it moves what the check measures, at the least, for each unit of size.
    threshold
        The bound where the check states none.
    """

    words: str
    subject: Sized
    moves: float = 1.0
    threshold: float | None = None


def _noisy(size: float, quiet: int = 0) -> Rotary:
    """Each component off by ``size`` of its pair's length, up or down as drawn for each call.

    The first ``quiet`` calls are left undisturbed.
    """
    calls = 0

    def turn(q: Tensor, k: Tensor, positions: Tensor, base: float) -> tuple[Tensor, ...]:
        nonlocal calls
        noisy = []
        for x in right.float64_inside(q.double(), k.double(), positions, base):
            calls += 1
            generator = torch.Generator().manual_seed(SEED + calls)
            signs = 2.0 * torch.randint(2, x.shape, generator=generator) - 1
            lengths = x.unflatten(-1, (-1, 2)).norm(dim=-1).repeat_interleave(2, dim=-1)
            # Queries and keys are drawn for one after the other.
            noise = size * signs * lengths if calls > 2 * quiet else 0
            noisy.append((x + noise).to(q.dtype))
        return tuple(noisy)

    return Rotary("noise", turn)


def _scaled_from(position: int) -> Sized:
    """Queries longer by ``size`` from a position on: their scores are larger by that share."""

    def sized(size: float) -> Rotary:
        def turn(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
            turned = right.float64_inside(q.double(), k.double(), at, base)
            longer = torch.where(at >= position, 1 + size, 1.0).double()[:, None]
            return (turned[0] * longer).to(q.dtype), turned[1].to(k.dtype)

        # One width alone, so that there is one bound.
        return Rotary("longer queries", turn, rotary_dim=WIDTHS[-1])

    return sized


def _coupled(size: float) -> Rotary:
    """The first dimension takes ``size`` of the third."""

    def turn(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, ...]:
        turned = right.float64_inside(q.double(), k.double(), at, base)
        for x, part in zip((q, k), turned, strict=True):
            part[..., 0] += size * x[..., 2]
        return tuple(part.to(q.dtype) for part in turned)

    return Rotary("coupled pairs", turn)


def _beyond(size: float) -> Rotary:
    """A declared partial rotation whose last dimension, which is not rotated, grows by ``size``."""

    def turn(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, ...]:
        turned = right.partial_rotation(q, k, at, base)
        for x, part in zip((q, k), turned, strict=True):
            part[..., -1] += size * x[..., -1]
        return turned

    return replace(right.RIGHT["partial rotation, declared"](), turn=turn)


def _score(offset: int, salts: tuple[int, int]) -> float:
    """Size of the score of the probes' vectors at an offset, by the closed form."""
    probe = Probe(_scaled_from(0)(0.0))
    q, k = (probe.draw(1, WIDTHS[-1], salt=salt) for salt in salts)
    products = probe.pairs(q)[0] * np.conj(probe.pairs(k)[0])
    angles = probe.angles(WIDTHS[-1], [offset], BASES[0])[0]
    return abs(float((products * np.exp(1j * angles)).real.sum()))


def disturbances() -> dict[str, Disturbance]:
    """A fitting disturbance for each check whose findings have a size, by the check's name."""
    noise = Disturbance("each component off by this share of its pair's length", _noisy)
    longer = "queries longer by this share from position {} on, as a change of the score"
    offsets = [i - j for i, j in PAIRS]

    def scores(first: int, size: float) -> Disturbance:
        return Disturbance(longer.format(first), _scaled_from(first), moves=size)

    moved = max(_score(offset, (1, 2)) for offset in offsets)
    by_noise = (
        "position zero", "near positions", "widths", "second base", "any order",
        "fractional positions", "far positions", "pair norms", "composition", "linear",
        "batch shapes", "q and k alike", "half precision", "lesson B: norm",
    )  # fmt: skip
    return {
        **dict.fromkeys(by_noise, noise),
        # The first call must come out right, and two more find the layout and what is taken.
        "no memory": replace(noise, subject=partial(_noisy, quiet=3)),
        "offset alone": scores(10, _score(5, (1, 2))),
        "direction": scores(1, _score(3, (1, 2))),
        "lesson A: equal scores": scores(10, max(_score(offset, (0, 0)) for offset in offsets)),
        "exercise: two vectors": scores(10, moved),
        "exercise: values": scores(10, moved),
        "pairing": Disturbance(
            "the first dimension takes this share of the third", _coupled, threshold=STILL
        ),
        "whole width": Disturbance(
            "the last dimension, beyond a declared part, longer by this share",
            _beyond,
            threshold=STILL,
        ),
    }


def smallest_detected(
    battery: Battery, check: Check, disturbance: Disturbance, steps: int
) -> tuple[float, Finding]:
    """The smallest size that a check detects, by bisection of its logarithm, and the finding.

    Raises
    ------
    ValueError
        If the check detects the lowest size, or not the highest.
    """

    def asked(size: float) -> Finding:
        return examine(battery, lambda: disturbance.subject(size), only=[check.name])[0]

    low, high, found = LOWEST, HIGHEST, asked(HIGHEST)
    if asked(low).rejects or not found.rejects:
        raise ValueError(f"{check.name}: its limit is not between {LOWEST:g} and {HIGHEST:g}")
    for _ in range(steps):
        middle = (low * high) ** 0.5
        finding = asked(middle)
        if finding.rejects:
            high, found = middle, finding
        else:
            low = middle
    return high, found


def resolution(steps: int) -> float:
    """By how much the smallest detected size may exceed the largest undetected one."""
    return (HIGHEST / LOWEST) ** (0.5**steps)


# --- checks that compare bits ---------------------------------------------------------------------


def _one_bit_of_the_input(size: float) -> Rotary:
    def turn(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
        turned = right.adjacent(q, k, at, base)
        q.view(-1)[0] = torch.nextafter(q.view(-1)[0], q.new_tensor(torch.inf))
        return turned

    return Rotary("input changed by one bit", turn)


def _one_bit_of_the_second_call(size: float) -> Rotary:
    calls = 0

    def turn(q: Tensor, k: Tensor, at: Tensor, base: float) -> tuple[Tensor, Tensor]:
        nonlocal calls
        calls += 1
        turned = right.adjacent(q, k, at, base)
        if calls > 2:
            first = turned[0].view(-1)
            first[0] = torch.nextafter(first[0], first.new_tensor(torch.inf))
        return turned

    return Rotary("another bit at later calls", turn)


#: Checks that compare bits, with the smallest difference that there is.
ONE_BIT: dict[str, tuple[str, Sized]] = {
    "input untouched": ("one component of a query moved by one bit", _one_bit_of_the_input),
    "repeatable": ("one component differs by one bit at a later call", _one_bit_of_the_second_call),
}

#: Checks for which size does not apply: something is there or it is not.
WITHOUT_SIZE = (
    "runs", "shape", "dtype", "prints nothing", "positions count", "table end", "lesson B: shape",
)  # fmt: skip
