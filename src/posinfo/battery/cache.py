"""The battery for decoding with a cache of keys and values: the same outputs as without one.

Nothing here calls :mod:`posinfo.encodings`. The expected outputs come from the relative property,
with no vector rotated and nothing cached, in float64; the bounds from rounding analysis. A cache
whose positions are all shifted by one number is right, for scores depend on offsets alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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


class CacheProbe:
    """One subject, with sequences for it and the outputs that they must give."""

    def __init__(self, subject: Cache) -> None:
        self.subject = subject

    def sequence(self, length: int = TOKENS, salt: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [h, T, d]; scores of a size that tells positions apart."""
        q, k, v = (draw(HEADS, length, DIM, salt=3 * salt + part) for part in range(3))
        return 2 * q, k, v

    def decode(
        self, sequence: tuple[Tensor, Tensor, Tensor], frequencies: Frequencies, steps: list[int]
    ) -> Tensor:
        """The subject's outputs [h, T, d]; copies go in, so that none is harmed."""
        about = f"for steps of {', '.join(map(str, _short(steps)))} tokens"
        given = [x.clone() for x in sequence]
        found = called(self.subject.decode, *given, frequencies, list(steps), about=about)
        return tensor(found, sequence[0].shape, about=about).detach().double()

    def compare(
        self,
        sequence: tuple[Tensor, Tensor, Tensor],
        frequencies: Frequencies,
        steps: list[int],
        words: str = "",
    ) -> Finding:
        """Each output against exact attention, in whichever layout of pairs comes closer."""
        found = self.decode(sequence, frequencies, steps)
        lengths = [sum(steps[: n + 1]) for n, size in enumerate(steps) for _ in range(size)]
        first = self._in(ADJACENT, sequence, frequencies, lengths, found, words)
        if not first.rejects:
            return first
        second = self._in(HALF_SPLIT, sequence, frequencies, lengths, found, words)
        return min(first, second, key=lambda finding: finding.used or 0.0)

    def _in(
        self,
        layout: str,
        sequence: tuple[Tensor, Tensor, Tensor],
        frequencies: Frequencies,
        lengths: list[int],
        found: Tensor,
        words: str,
    ) -> Finding:
        q, k, v = (x.double() for x in sequence)
        if layout == HALF_SPLIT:
            q, k = _halves_to_pairs(q), _halves_to_pairs(k)
        findings = []
        for head in range(HEADS):
            for token, length in enumerate(lengths):
                positions = torch.arange(token + 1)
                keys, values = k[head, : token + 1], v[head, : token + 1]
                # Those of the step: a prompt is rotated by the frequencies of its whole length.
                theta = frequencies(length).double()
                scores = exact.scores(q[head, token], keys, token - positions, theta)
                norms = [x.unflatten(-1, (-1, 2)).norm(dim=-1) for x in (q[head, token], keys)]
                errors = exact.score_errors(norms[0] * norms[1], theta, (token, positions))
                bound = exact.output_errors(scores, values, errors)
                error = (found[head, token] - scores.softmax(dim=0) @ values).abs()
                at = int((error / bound).argmax())
                where = f"token {token + 1} of {len(lengths)}, head {head}"
                findings.append(verdict(error[at].item(), bound[at].item(),
                                        f"{words}{where}"))  # fmt: skip
        return worst_of(findings)


def _short(steps: Sequence[int]) -> list[int | str]:
    return list(steps) if len(steps) < 5 else [*steps[:3], "…"]


def _one_by_one(length: int = TOKENS) -> list[int]:
    return [1] * length


_USUAL = partial(_fixed, BASES[0])


def _first_token(probe: CacheProbe) -> Finding:
    """A token alone takes its own value, wherever it stands: the weight is exactly 1."""
    sequence = probe.sequence()
    found = probe.decode(sequence, _USUAL, _one_by_one())[:, 0]
    gap = (found - sequence[2][:, 0].double()).abs().max().item()
    return verdict(gap, 0.0, "output of the first token, less its value")


def _token_by_token(probe: CacheProbe) -> Finding:
    return probe.compare(probe.sequence(), _USUAL, _one_by_one())


def _whole_prompt(probe: CacheProbe) -> Finding:
    return probe.compare(probe.sequence(), _USUAL, [TOKENS])


def _after_a_prompt(probe: CacheProbe) -> Finding:
    return probe.compare(probe.sequence(), _USUAL, [5, *_one_by_one(TOKENS - 5)])


def _in_parts(probe: CacheProbe) -> Finding:
    """A prompt in parts: several tokens meet a cache that holds some already."""
    return probe.compare(probe.sequence(), _USUAL, [5, 4, 3])


def _next_sequence(probe: CacheProbe) -> Finding:
    """A second sequence in the same object, shorter and then longer than the first."""
    findings = []
    for salt, length in enumerate((8, 5, TOKENS)):
        steps = [3, *_one_by_one(length - 3)]
        words = f"sequence {salt + 1}: "
        findings.append(probe.compare(probe.sequence(length, salt), _USUAL, steps, words))
    return worst_of(findings)


def _another_base(probe: CacheProbe) -> Finding:
    """The same object with other frequencies."""
    findings = []
    for base in BASES:
        words = f"base {base:,.0f}: "
        frequencies = partial(_fixed, base)
        findings.append(probe.compare(probe.sequence(), frequencies, _one_by_one(), words))
    return worst_of(findings)


def _growing_length(probe: CacheProbe) -> Finding:
    if not probe.subject.follows_length:
        raise NotAsked("it promises nothing where frequencies follow the length")
    return probe.compare(probe.sequence(), _growing, _one_by_one())


def _untouched(probe: CacheProbe) -> Finding:
    """Queries, keys and values are those of the caller."""
    sequence = probe.sequence()
    given = [x.clone() for x in sequence]
    called(probe.subject.decode, *given, _USUAL, _one_by_one(), about="token by token")
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
