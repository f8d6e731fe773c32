"""How small a fault the checks of each kind detect: right implementations, disturbed by a size.

Those of rotary embeddings are in :mod:`posinfo.faults.disturbed`. The disturbed implementations of
the other kinds are computed in float64, so that their own rounding hides nothing.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posinfo.battery.bias import T5, Alibi
from posinfo.battery.cache import Cache
from posinfo.battery.extension import SETTINGS, Extension
from posinfo.battery.tables import Learned, Sinusoidal
from posinfo.encodings import t5
from posinfo.faults import disturbed
from posinfo.faults.bias import RIGHT as RIGHT_BIAS
from posinfo.faults.cache import Decoder
from posinfo.faults.disturbed import Disturbance
from posinfo.reference import layers
from posinfo.reference import scaling as exact

#: A right implementation with the smallest change that there is, in words and as a maker.
Smallest = tuple[str, Callable[[], Any]]


def _next(x: Tensor) -> Tensor:
    """A copy with the first component moved by one bit."""
    moved = x.detach().clone()
    moved.view(-1)[0] = torch.nextafter(moved.view(-1)[0], moved.new_tensor(math.inf))
    return moved


# --- learned tables -------------------------------------------------------------------------------


def _learned_bit(tokens: Tensor, table: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
    return _next(tokens[ids] + torch.nn.functional.embedding(positions, table))


def _learned_gradient(tokens: Tensor, table: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
    rows = torch.nn.functional.embedding(positions, table)
    share = rows * 2.0**-20
    return tokens[ids] + rows + (share - share.detach())


_BIT = "one component moved by one bit"
_LEARNED: dict[str, Smallest] = {
    **dict.fromkeys(
        ("row of the position", "each sequence", "one at a time", "every length", "added once"),
        (_BIT, partial(Learned, "one bit", _learned_bit)),
    ),
    "gradient": ("gradients larger by 2^-20", partial(Learned, "gradient", _learned_gradient)),
}


# --- sinusoidal codes -----------------------------------------------------------------------------


def _code(positions: Tensor, width: int, base: float) -> Tensor:
    theta = torch.exp(torch.arange(0, width, 2).double() * (-math.log(base) / width))
    angles = positions.double()[:, None] * theta
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def _code_noise(size: float) -> Sinusoidal:
    return Sinusoidal("noise", lambda *given: _code(*given) + size)


def _code_longer(size: float) -> Sinusoidal:
    return Sinusoidal("longer", lambda *given: _code(*given) * (1 + size))


def _least_product(offset: int = 5) -> float:
    """The smaller dot product of two codes at the check's offset, of the widths that it asks."""
    return min(
        float(np.cos(offset * 10_000.0 ** (-np.arange(0, width, 2) / width)).sum())
        for width in (8, 64)
    )


_SINUSOIDAL = {
    **dict.fromkeys(
        ("near positions", "second base", "any order", "far positions"),
        Disturbance("each component larger by this", _code_noise),
    ),
    "pair norms": Disturbance("codes longer by this share", _code_longer),
    "offset alone": Disturbance(
        "codes longer by this share, as a change of the dot product",
        _code_longer,
        moves=2 * _least_product(),
    ),
}


# --- ALiBi and T5 ---------------------------------------------------------------------------------


def _penalty(positions: Tensor, heads: int) -> Tensor:
    slopes = torch.tensor(
        [float(layers.slope(head, heads)) for head in range(heads)], dtype=torch.float64
    )
    return -slopes[:, None, None] * (positions[:, None] - positions).abs()


def _alibi_noise(size: float, beyond: int = 0) -> Alibi:
    """Scores lower by ``size`` at distances beyond the given one."""

    def bias(positions: Tensor, heads: int) -> Tensor:
        far = (positions[:, None] - positions).abs() > beyond
        return _penalty(positions, heads) - size * far

    return Alibi("noise", bias)


def _alibi_bit(place: tuple[int, int, int]) -> Callable[[], Alibi]:
    """One number moved by one bit."""

    def bias(positions: Tensor, heads: int) -> Tensor:
        numbers = _penalty(positions, heads)
        numbers[place] = torch.nextafter(numbers[place], numbers.new_tensor(-math.inf))
        return numbers

    return lambda: Alibi("one bit", bias)


_ALIBI = {
    **dict.fromkeys(
        ("published slopes", "powers of two", "other numbers of heads", "offset alone"),
        Disturbance("scores lower by this, but for a token's with itself", _alibi_noise),
    ),
    "linear": Disturbance(
        "scores lower by this beyond distance 1", partial(_alibi_noise, beyond=1)
    ),
}
_ALIBI_SMALLEST: dict[str, Smallest] = {
    "diagonal": ("one number on the diagonal moved by one bit", _alibi_bit((0, 0, 0))),
    "both sides": ("one number ahead moved by one bit", _alibi_bit((0, 0, 1))),
}


def _one_bucket_off(offset: int, step: int) -> Callable[[], T5]:
    """One offset, key minus query, in the bucket beside its own."""

    def bias(table: Tensor, positions: Tensor, bidirectional: bool) -> Tensor:
        offsets = positions[None, :] - positions[:, None]
        chosen = t5.bucket(offsets, bidirectional=bidirectional, buckets=len(table))
        return table[chosen + step * (offsets == offset)].movedim(-1, 0)

    return lambda: T5("one bucket off", bias)


def _t5_bit() -> T5:
    right = RIGHT_BIAS["t5"]["library"]()
    return T5("one bit", lambda *given: _next(right.bias(*given)))


_T5: dict[str, Smallest] = {
    "table": (_BIT, _t5_bit),
    **{
        check: (f"offset {offset:+} in the bucket {'after' if step > 0 else 'before'} its own",
                _one_bucket_off(offset, step))
        for check, offset, step in (
            ("keys ahead", 1, 1), ("near distances", -5, 1), ("published buckets", -127, -1),
            ("every distance", -100, -1), ("two sides", 100, -1), ("halves", 100, -1),
            ("last bucket", -128, -1), ("number of buckets", -5, 1),
        )
    },
}  # fmt: skip


# --- context extension ----------------------------------------------------------------------------


def _scaled(method: str, size: float, factor_size: float = 0.0) -> Extension:
    """Frequencies, and attention factors, larger by a share."""

    def frequencies(*setting: Any, **options: Any) -> Tensor:
        values = exact.frequencies(method, *setting, **options)
        return torch.tensor([float(value) for value in values], dtype=torch.float64) * (1 + size)

    def attention_factor(factor: float, trained_length: int) -> float:
        return float(exact.attention_factor(method, factor, trained_length)) * (1 + factor_size)

    return Extension("disturbed", method, frequencies, attention_factor)


def _faster(method: str) -> Callable[[float], Extension]:
    return partial(_scaled, method)


_SHARE = "frequencies larger by this share"
#: The least that a share of a blend moves for each unit of a frequency's relative change.
_LEAST_SHARE = min(1 / (factor - 1) for _, _, _, factor in SETTINGS)

_EXTENSION = {
    **dict.fromkeys(
        ("factor one", "first and last pair", "frequencies"), Disturbance(_SHARE, _faster("yarn"))
    ),
    "blend": Disturbance(
        f"{_SHARE}, as a change of the share kept", _faster("yarn"), moves=_LEAST_SHARE
    ),
    "current length": Disturbance(_SHARE, _faster("dynamic_ntk")),
    # Of the frequencies that are published the slowest moves least.
    "published values": Disturbance(
        f"{_SHARE}, as a change of the slowest", _faster("yarn"), moves=4.3007e-4
    ),
    "attention factor": Disturbance(
        "attention factors larger by this share",
        lambda size: _scaled("yarn", 0.0, size),
    ),
}


# --- decoding with a cache ------------------------------------------------------------------------


class _Noisy(Decoder):
    """A right decoder in float64, whose outputs are larger by a size."""

    def __init__(self, size: float) -> None:
        self.size = size

    def theta(self, frequencies, length):
        """Frequencies in float64, so that angles are not rounded to float32."""
        return frequencies(length).double()

    def step(self, q, k, v, frequencies, start):
        """Outputs of a step, disturbed."""
        return super().step(q.double(), k.double(), v.double(), frequencies, start) + self.size


class _FirstBit(Decoder):
    """The first token's output is moved by one bit."""

    def step(self, q, k, v, frequencies, start):
        """Outputs of a step."""
        outputs = super().step(q, k, v, frequencies, start)
        return outputs if start else _next(outputs)


class _InputBit(Decoder):
    """The first query is moved by one bit, after it was used."""

    def step(self, q, k, v, frequencies, start):
        """Outputs of a step."""
        outputs = super().step(q, k, v, frequencies, start)
        q.copy_(_next(q))
        return outputs


_CACHE = dict.fromkeys(
    ("token by token", "whole prompt", "after a prompt", "in parts", "next sequence",
     "another base", "growing length"),
    Disturbance("outputs larger by this", lambda size: Cache("noise", _Noisy(size))),
)  # fmt: skip
_CACHE_SMALLEST: dict[str, Smallest] = {
    "first token": (_BIT, lambda: Cache("one bit", _FirstBit())),
    "inputs untouched": (
        "one component of a query moved by one bit",
        lambda: Cache("one bit", _InputBit()),
    ),
}


# --- all kinds ------------------------------------------------------------------------------------

#: Checks whose findings have a size, by kind and check: what disturbs, and by how much.
SIZED: dict[str, dict[str, Disturbance]] = {
    "learned": {},
    "sinusoidal": _SINUSOIDAL,
    "alibi": _ALIBI,
    "t5": {},
    "extension": _EXTENSION,
    "cache": _CACHE,
}

#: Checks that compare bits or whole numbers, by kind and check: the smallest change that there is.
SMALLEST: dict[str, dict[str, Smallest]] = {
    "learned": _LEARNED,
    "sinusoidal": {
        "position zero": (
            _BIT,
            lambda: Sinusoidal("one bit", lambda *given: _next(_code(*given).float())),
        ),
    },
    "alibi": _ALIBI_SMALLEST,
    "t5": _T5,
    "extension": {},
    "cache": _CACHE_SMALLEST,
}

#: Checks for which size does not apply: something is so or it is not.
WITHOUT_SIZE: dict[str, tuple[str, ...]] = {
    "learned": ("end of the table", "below zero"),
    "sinusoidal": ("layout",),
    "alibi": ("sign",),
    "t5": (),
    "extension": ("falling",),
    "cache": (),
}


def of_kind(kind: str) -> tuple[dict[str, Disturbance], dict[str, Smallest]]:
    """Disturbances of a size, and the smallest changes, of the checks of a kind."""
    if kind == "rotary":
        bits = {
            check: (words, partial(make, 0.0))
            for check, (words, make) in disturbed.ONE_BIT.items()
        }  # fmt: skip
        return disturbed.disturbances(), bits
    return SIZED[kind], SMALLEST[kind]
