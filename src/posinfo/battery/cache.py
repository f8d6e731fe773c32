"""The battery for decoding with a cache of keys and values: the same outputs as without one.

Nothing here calls :mod:`posinfo.encodings`. The expected outputs come from the relative property,
with no vector rotated and nothing cached, in float64; the bounds from rounding analysis. A cache
whose positions are all shifted by one number is right, for scores depend on offsets alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

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
from posinfo.battery.calls import called, draw, tensor
from posinfo.battery.rotary import ADJACENT, HALF_SPLIT
from posinfo.reference import attention as exact

#: Frequencies [d/2] of a model whose sequence is so many tokens long.
Frequencies = Callable[[int], Tensor]

HEADS, DIM, TOKENS = 2, 8, 12
BASES = (10_000.0, 100.0)


@dataclass(frozen=True)
class Cache:
    """An implementation of cached decoding with rotary embeddings, as the checks call it.

    Parameters
    ----------
    name
        What people call it.
    decode
        Takes queries, keys and values before rotation [h, T, d], frequencies at a given length,
        and how many tokens are taken at each step; returns outputs [h, T, d], each over the
        tokens up to it. The first step is the prompt; its tokens stand at 0, 1, ….
    follows_length
        Whether it promises to rotate all tokens by the frequencies of the current length, as
        dynamic NTK needs it; if not, it is asked with frequencies that stay alone.
    """

    name: str
    decode: Callable[[Tensor, Tensor, Tensor, Frequencies, Sequence[int]], Tensor]
    follows_length: bool = True


def _fixed(base: float, length: int = 0) -> Tensor:
    return torch.tensor([base ** (-2 * pair / DIM) for pair in range(DIM // 2)])


def _growing(length: int) -> Tensor:
    """Frequencies that fall with the length, from 4 tokens on, as dynamic NTK's do."""
    return _fixed(BASES[0] * max(length / 4, 1.0) ** 3)


def _halves_to_pairs(x: Tensor) -> Tensor:
    """Dimensions i and i + d/2 side by side: what is half-split becomes adjacent."""
    return x.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)


@cache
def _sequence(length: int = TOKENS, salt: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values [h, T, d]; scores of a size that tells positions apart."""
    q, k, v = (draw(HEADS, length, DIM, salt=3 * salt + part) for part in range(3))
    return 2 * q, k, v


@dataclass(frozen=True)
class _Task:
    """A sequence to decode: frequencies, how many tokens a step takes, and which is drawn."""

    frequencies: Frequencies
    steps: tuple[int, ...]
    salt: int = 0
    words: str = ""

    @property
    def length(self) -> int:
        """Number of tokens."""
        return sum(self.steps)


@cache
def _expected(task: _Task, layout: str) -> tuple[Tensor, Tensor]:
    """Outputs [h, T, d] that a task must give in a layout of pairs, and their bounds."""
    q, k, v = (x.double() for x in _sequence(task.length, task.salt))
    if layout == HALF_SPLIT:
        q, k = _halves_to_pairs(q), _halves_to_pairs(k)
    outputs, bounds = torch.empty_like(v), torch.empty_like(v)
    ends = [sum(task.steps[: n + 1]) for n, size in enumerate(task.steps) for _ in range(size)]
    for head in range(HEADS):
        for token, length in enumerate(ends):
            positions = torch.arange(token + 1)
            keys, values = k[head, : token + 1], v[head, : token + 1]
            # Those of the step: a prompt is rotated by the frequencies of its whole length.
            theta = task.frequencies(length).double()
            scores = exact.scores(q[head, token], keys, token - positions, theta)
            norms = [x.unflatten(-1, (-1, 2)).norm(dim=-1) for x in (q[head, token], keys)]
            errors = exact.score_errors(norms[0] * norms[1], theta, (token, positions))
            outputs[head, token] = scores.softmax(dim=0) @ values
            bounds[head, token] = exact.output_errors(scores, values, errors)
    return outputs, bounds


class CacheProbe:
    """One subject, and the outputs that it must give."""

    def __init__(self, subject: Cache) -> None:
        self.subject = subject

    def decode(self, task: _Task) -> Tensor:
        """The subject's outputs [h, T, d] in float64; copies go in, so that none is harmed."""
        about = f"for steps of {', '.join(map(str, _short(task.steps)))} tokens"
        given = [x.clone() for x in _sequence(task.length, task.salt)]
        found = called(self.subject.decode, *given, task.frequencies, list(task.steps), about=about)
        return tensor(found, given[0].shape, about=about).detach().double()

    def compare(self, task: _Task) -> Finding:
        """Each output against exact attention, in whichever layout of pairs comes closer."""
        found = self.decode(task)
        findings = []
        for layout in (ADJACENT, HALF_SPLIT):
            outputs, bounds = _expected(task, layout)
            error = (found - outputs).abs()
            head, token, part = map(int, np.unravel_index(int((error / bounds).argmax()),
                                                          error.shape))  # fmt: skip
            words = f"{task.words}token {token + 1} of {task.length}, head {head}"
            at = head, token, part
            findings.append(verdict(error[at].item(), bounds[at].item(), words))
            if not findings[-1].rejects:
                break
        return min(findings, key=lambda finding: finding.used or 0.0)


def _short(steps: Sequence[int]) -> list[int | str]:
    return list(steps) if len(steps) < 5 else [*steps[:3], "…"]


def _one_by_one(length: int = TOKENS) -> tuple[int, ...]:
    return (1,) * length


_USUAL = partial(_fixed, BASES[0])
_OTHER = partial(_fixed, BASES[1])
_TOKEN_BY_TOKEN = _Task(_USUAL, _one_by_one())


def _first_token(probe: CacheProbe) -> Finding:
    """A token alone takes its own value, wherever it stands: the weight is exactly 1."""
    found = probe.decode(_TOKEN_BY_TOKEN)[:, 0]
    gap = (found - _sequence()[2][:, 0].double()).abs().max().item()
    return verdict(gap, 0.0, "output of the first token, less its value")


def _token_by_token(probe: CacheProbe) -> Finding:
    return probe.compare(_TOKEN_BY_TOKEN)


def _whole_prompt(probe: CacheProbe) -> Finding:
    return probe.compare(_Task(_USUAL, (TOKENS,)))


def _after_a_prompt(probe: CacheProbe) -> Finding:
    return probe.compare(_Task(_USUAL, (5, *_one_by_one(TOKENS - 5))))


def _in_parts(probe: CacheProbe) -> Finding:
    """A prompt in parts: several tokens meet a cache that holds some already."""
    return probe.compare(_Task(_USUAL, (5, 4, 3)))


def _next_sequence(probe: CacheProbe) -> Finding:
    """More sequences in the same object, shorter and longer than the first."""
    return worst_of(
        [
            probe.compare(
                _Task(_USUAL, (3, *_one_by_one(length - 3)), salt, f"sequence {salt + 1}: ")
            )
            for salt, length in enumerate((8, 5, TOKENS))
        ]
    )


def _another_base(probe: CacheProbe) -> Finding:
    """The same object with other frequencies."""
    return worst_of(
        [
            probe.compare(_Task(frequencies, _one_by_one(), words=f"base {base:,.0f}: "))
            for base, frequencies in zip(BASES, (_USUAL, _OTHER), strict=True)
        ]
    )


def _growing_length(probe: CacheProbe) -> Finding:
    if not probe.subject.follows_length:
        raise NotAsked("it promises nothing where frequencies follow the length")
    return probe.compare(_Task(_growing, _one_by_one()))


def _untouched(probe: CacheProbe) -> Finding:
    """Queries, keys and values are those of the caller."""
    sequence = _sequence()
    given = [x.clone() for x in sequence]
    called(probe.subject.decode, *given, _USUAL, list(_one_by_one()), about="token by token")
    changed = [name for name, a, b in zip("qkv", given, sequence, strict=True)
               if not torch.equal(a, b)]  # fmt: skip
    return stated(not changed, f"changes {' and '.join(changed)} in place" if changed else "")


BATTERY = Battery(
    "cache",
    (
        Check("first token", "gives the first token its own value", "output", _first_token),
        Check("token by token", "gives what recomputing gives, a token a step", "output",
              _token_by_token),
        Check("whole prompt", "does so for a prompt at once", "output", _whole_prompt),
        Check("after a prompt", "goes on where the prompt ended", "output", _after_a_prompt),
        Check("in parts", "takes a prompt in parts", "output", _in_parts),
        Check("next sequence", "forgets a sequence when the next begins", "output",
              _next_sequence),
        Check("another base", "forgets frequencies when others are given", "output",
              _another_base),
        Check("growing length", "rotates all keys by the current length's frequencies", "output",
              _growing_length),
        Check("inputs untouched", "leaves queries, keys and values as they were", "", _untouched),
    ),
    CacheProbe,
)  # fmt: skip
