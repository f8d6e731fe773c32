"""Faulty decoding with a cache, and the right one that the library holds."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from posinfo.battery.cache import Cache, Frequencies
from posinfo.encodings import cache
from posinfo.faults.base import Fault


def _library(q, k, v, frequencies, steps):
    return cache.decode(q, k, v, frequencies, rotate_before_caching=False)


def _library_rotated(q, k, v, frequencies, steps):
    return cache.decode(q, k, v, frequencies)


#: Right implementations, by kind and name.
RIGHT: dict[str, dict[str, Callable[[], Any]]] = {
    "cache": {
        "library, keys cached as they are": lambda: Cache("library", _library),
        "library, keys rotated once": lambda: Cache("library", _library_rotated, False),
    }
}


def _turned(x: Tensor, positions: Tensor, theta: Tensor) -> Tensor:
    """x [h, n, d] in adjacent pairs, turned to positions [n]."""
    angles = positions[:, None] * theta
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack(
        [even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()], dim=-1
    )
    return turned.flatten(-2)


class Decoder:
    """A decoder with a cache, right as it stands; a fault replaces one of its methods.

    Keys are cached before rotation and turned anew at each step, so that they follow frequencies
    that change with the length.
    """

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, frequencies: Frequencies, steps: Sequence[int]
    ) -> Tensor:
        """Outputs [h, T, d] of a sequence that is taken in steps."""
        self.begin()
        outputs, start = [], 0
        for size in steps:
            part = slice(start, start + size)
            outputs.append(self.step(q[:, part], k[:, part], v[:, part], frequencies, start))
            start += size
        return torch.cat(outputs, dim=1)

    def begin(self) -> None:
        """Empty the cache."""
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []

    def theta(self, frequencies: Frequencies, length: int) -> Tensor:
        """Frequencies of a step."""
        return frequencies(length)

    def places(self, start: int, size: int) -> Tensor:
        """Positions of a step's queries."""
        return torch.arange(start, start + size)

    def key_places(self, start: int, size: int) -> Tensor:
        """Positions of all cached keys."""
        return torch.arange(start + size)

    def remember(self, k: Tensor, v: Tensor, start: int, theta: Tensor) -> None:
        """Put a step's keys and values into the cache."""
        self.keys.append(k)
        self.values.append(v)

    def all_keys(self, start: int, size: int, theta: Tensor) -> Tensor:
        """Rotated keys of all tokens so far."""
        return _turned(torch.cat(self.keys, dim=1), self.key_places(start, size), theta)

    def hidden(self, start: int, size: int) -> Tensor:
        """Which keys [n, m] a step's queries may not see: the later ones."""
        return torch.arange(start + size) > torch.arange(start, start + size)[:, None]

    def step(self, q, k, v, frequencies, start):
        """Outputs of the tokens of one step."""
        size = q.shape[1]
        theta = self.theta(frequencies, start + size)
        self.remember(k, v, start, theta)
        queries = _turned(q, self.places(start, size), theta)
        scores = queries @ self.all_keys(start, size, theta).mT / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(self.hidden(start, size), -math.inf)
        return scores.softmax(dim=-1) @ torch.cat(self.values, dim=1)


class _KeysAtZero(Decoder):
    def remember(self, k, v, start, theta):
        # Only the step's own length decides: the number of tokens before it is left out.
        self.keys.append(_turned(k, torch.arange(k.shape[1]), theta))
        self.values.append(v)

    def all_keys(self, start, size, theta):
        return torch.cat(self.keys, dim=1)


class _StartAgain(_KeysAtZero):
    def places(self, start, size):
        return torch.arange(size)


class _QueryAtZero(Decoder):
    def places(self, start, size):
        return torch.arange(size)


class _RotatedOnce(Decoder):
    def remember(self, k, v, start, theta):
        self.keys.append(_turned(k, torch.arange(start, start + k.shape[1]), theta))
        self.values.append(v)

    def all_keys(self, start, size, theta):
        return torch.cat(self.keys, dim=1)


class _RotatedAgain(_RotatedOnce):
    def all_keys(self, start, size, theta):
        return _turned(torch.cat(self.keys, dim=1), self.key_places(start, size), theta)


class _FirstTable(Decoder):
    def theta(self, frequencies, length):
        if not hasattr(self, "table"):
            self.table = frequencies(length)
        return self.table


class _OneFurther(Decoder):
    def places(self, start, size):
        # The count of tokens is read after the step's own were added.
        return torch.arange(start, start + size) + (1 if start else 0)


class _PromptTwice(Decoder):
    def places(self, start, size):
        self.prompt = size if start == 0 else self.prompt
        return torch.arange(start, start + size) + (self.prompt if start else 0)

    def key_places(self, start, size):
        places = torch.arange(start + size)
        return torch.where(places < self.prompt, places, places + self.prompt)


class _QueryNotTurned(Decoder):
    def step(self, q, k, v, frequencies, start):
        back = _turned(q, -self.places(start, q.shape[1]), self.theta(frequencies, start + 1))
        return super().step(q if start == 0 else back, k, v, frequencies, start)


class _KeysAtTheQuery(Decoder):
    def key_places(self, start, size):
        return torch.full((start + size,), start + size - 1)


class _NotCleared(Decoder):
    def begin(self) -> None:
        if not hasattr(self, "keys"):
            super().begin()

    def all_keys(self, start, size, theta):
        keys = torch.cat(self.keys, dim=1)
        before = keys.shape[1] - start - size
        return _turned(keys, torch.arange(keys.shape[1]) - before, theta)

    def hidden(self, start, size):
        before = sum(key.shape[1] for key in self.keys) - start - size
        return torch.nn.functional.pad(super().hidden(start, size), (before, 0))


class _TopLeft(Decoder):
    def hidden(self, start, size):
        if size == 1:
            return super().hidden(start, size)
        return torch.arange(start + size) > torch.arange(size)[:, None]


class _NoMask(Decoder):
    def hidden(self, start, size):
        return torch.zeros(size, start + size, dtype=torch.bool)


class _MaskAtTheStart(Decoder):
    def hidden(self, start, size):
        return super().hidden(start, size) if start == 0 else torch.zeros(
            size, start + size, dtype=torch.bool
        )  # fmt: skip


class _NewTokenUnseen(Decoder):
    def hidden(self, start, size):
        places = torch.arange(start, start + size)[:, None]
        own = torch.arange(start + size) == places
        return super().hidden(start, size) | (own & (places > 0))


class _EmptyPlaces(Decoder):
    """A cache of fixed size, whose places are zeros until they are filled."""

    def step(self, q, k, v, frequencies, start):
        size, theta = q.shape[1], self.theta(frequencies, start + q.shape[1])
        self.remember(k, v, start, theta)
        empty = (0, 0, 0, 16 - start - size)
        keys, values = (torch.nn.functional.pad(x, empty) for x in (
            self.all_keys(start, size, theta), torch.cat(self.values, dim=1)))  # fmt: skip
        queries = _turned(q, self.places(start, size), theta)
        scores = queries @ keys.mT / math.sqrt(q.shape[-1])
        hidden = torch.nn.functional.pad(self.hidden(start, size), (0, 16 - start - size))
        return scores.masked_fill(hidden, -math.inf).softmax(dim=-1) @ values


class _InPlace(Decoder):
    def step(self, q, k, v, frequencies, start):
        theta = self.theta(frequencies, start + q.shape[1])
        q.copy_(_turned(q, self.places(start, q.shape[1]), theta))
        undone = _turned(q, -self.places(start, q.shape[1]), theta)
        return super().step(undone, k, v, frequencies, start)


def _cache(decoder: type[Decoder], *, stands: bool = True) -> dict[str, Any]:
    def stand_in(q, k, v, frequencies, *, rotate_before_caching=True, position=lambda step: step):
        return decoder()(q, k, v, frequencies, [1] * q.shape[1])

    return {
        "kind": "cache",
        "stage": "caching",
        "make": partial(_make, decoder),
        "replaces": {"posinfo.encodings.cache.decode": stand_in} if stands else {},
    }


def _make(decoder: type[Decoder]) -> Cache:
    return Cache("faulty", decoder())


_TOKEN, _PROMPT, _AFTER, _PARTS, _NEXT, _BASE, _GROWING = (
    "token by token", "whole prompt", "after a prompt", "in parts", "next sequence",
    "another base", "growing length",
)  # fmt: skip

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="cached keys without their offset",
        wrong="Each step's keys are turned as if it began the sequence: the number of tokens "
        "before is left out.",
        seen="lucidrains/rotary-embedding-torch#11: the key of a cache of angles held the length "
        "and not the offset; Blaizzy/mlx-vlm#1983.",
        hint="Turn new keys to positions that go on from the cache.",
        caught_by=_TOKEN,
        rejected_by=(_TOKEN, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_KeysAtZero),
    ),
    Fault(
        name="decoding starts again at zero",
        wrong="After the prompt both queries and keys are turned from position 0 on.",
        seen="Blaizzy/mlx-vlm#1983; pytorch/executorch#2010 takes the rows of a table from its "
        "beginning.",
        hint="Count positions on from the tokens that the cache holds.",
        caught_by=_AFTER,
        rejected_by=(_TOKEN, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_StartAgain),
    ),
    Fault(
        name="query at zero over a cache",
        wrong="The query of a step is turned from position 0, its keys from where they stand.",
        seen="RobertCsordas/moeut#6: the offset of queries was computed before the cache was "
        "added.",
        hint="Take the query's position from the length of all keys.",
        caught_by=_TOKEN,
        rejected_by=(_TOKEN, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_QueryAtZero),
    ),
    Fault(
        name="query one position too far",
        wrong="The count of cached tokens is read after the new ones were added: queries stand "
        "one further than their keys.",
        seen="fla-org/flash-linear-attention#766.",
        hint="Read the length of the cache before the step.",
        caught_by=_TOKEN,
        rejected_by=(_TOKEN, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_OneFurther),
    ),
    Fault(
        name="prompt counted twice",
        wrong="After the first step positions jump by its length.",
        seen="skyzh/tiny-llm#46; mlx-node/mlx-node#33 in a prompt in parts.",
        hint="Add the tokens of a step to the offset once.",
        caught_by=_AFTER,
        rejected_by=(_TOKEN, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_PromptTwice),
    ),
    Fault(
        name="cached keys keep the old base",
        wrong="Keys are rotated once, by the frequencies of their own step; queries by those of "
        "the current length.",
        seen="huggingface/transformers#25104; arXiv 2309.00071, section 3.3, names it.",
        hint="Cache keys before rotation where frequencies follow the length.",
        caught_by=_GROWING,
        rejected_by=(_GROWING,),
        **_cache(_RotatedOnce),
    ),
    Fault(
        name="cached keys rotated again",
        wrong="Keys are cached after rotation, and rotated at each step once more.",
        seen="Not seen as a report; stands for one half of the change to a cache of keys before "
        "rotation. Rotation left out of one path: kvcache-ai/sglang#66.",
        hint="Cache keys before rotation, or rotate them once.",
        caught_by=_TOKEN,
        rejected_by=(_TOKEN, _PROMPT, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_RotatedAgain),
    ),
    Fault(
        name="table of the first frequencies kept",
        wrong="Frequencies are taken once and kept for whatever is asked later.",
        seen="huggingface/transformers#27226 and #25306: a table that is renewed on growing alone.",
        hint="Key the table by base and method, or make it anew.",
        caught_by=_BASE,
        rejected_by=(_BASE, _GROWING),
        **_cache(_FirstTable),
    ),
    Fault(
        name="query not turned after the prompt",
        wrong="Queries of later steps are used as they are.",
        seen="Not seen as such; kvcache-ai/sglang#66 left the key of the current token unrotated.",
        hint="Rotate the query of every step.",
        caught_by=_TOKEN,
        rejected_by=(_TOKEN, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_QueryNotTurned),
    ),
    Fault(
        name="all keys at the query's position",
        wrong="Cached keys are turned to the position of the current step: no offset is left.",
        seen="NVIDIA/TensorRT-LLM#2084 reports one position for all tokens of a prompt.",
        hint="Turn each key to its own position.",
        caught_by=_TOKEN,
        rejected_by=(_TOKEN, _PROMPT, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_KeysAtTheQuery),
    ),
    Fault(
        name="cache not emptied",
        wrong="A second sequence still sees the tokens of the first.",
        seen="ml-explore/mlx-lm#1039, mybigday/llama.rn#259, Lightning-AI/litgpt#1596.",
        hint="Empty the cache when a sequence begins.",
        caught_by=_NEXT,
        rejected_by=(_NEXT, _BASE),
        **_cache(_NotCleared, stands=False),
    ),
    Fault(
        name="empty places of the cache seen",
        wrong="A cache of fixed size is attended to as a whole: keys of zeros take part.",
        seen="hw-native-sys/simpler#72: places not yet filled took part in the softmax; "
        "openvinotoolkit/openvino.genai#1043.",
        hint="Cut the cache at its length, or mask what lies beyond.",
        caught_by="first token",
        rejected_by=("first token", _TOKEN, _PROMPT, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_EmptyPlaces),
    ),
    Fault(
        name="mask from the first key",
        wrong="The causal mask of a later part starts at the first key: its queries miss the keys "
        "before it.",
        seen="pytorch/pytorch#103082 and #108108, onnx/onnx#8068, pytorch/executorch#21749.",
        hint="Align the mask with the last key.",
        caught_by=_PARTS,
        rejected_by=(_PARTS,),
        **_cache(_TopLeft, stands=False),
    ),
    Fault(
        name="no mask over a cache",
        wrong="A later part is not masked: its tokens see those after them.",
        seen="mlx-node/mlx-node#24, found in review.",
        hint="Mask whenever a step has more than one token.",
        caught_by=_PARTS,
        rejected_by=(_PARTS,),
        **_cache(_MaskAtTheStart, stands=False),
    ),
    Fault(
        name="no mask in a prompt",
        wrong="Tokens of a prompt see those after them.",
        seen="Not seen as a report of its own; stands for a mask that one path lacks.",
        hint="Mask the prompt causally.",
        caught_by=_PROMPT,
        rejected_by=(_PROMPT, _AFTER, _PARTS, _NEXT),
        **_cache(_NoMask, stands=False),
    ),
    Fault(
        name="new token not seen",
        wrong="A token does not see itself: the cache is read before it is added.",
        seen="Not seen in public; stands for the order of reading and writing.",
        hint="Add the step's keys before attention.",
        caught_by=_TOKEN,
        rejected_by=(_TOKEN, _PROMPT, _AFTER, _PARTS, _NEXT, _BASE, _GROWING),
        **_cache(_NewTokenUnseen),
    ),
    Fault(
        name="queries rotated in place",
        wrong="The caller's queries are overwritten by their rotation.",
        seen="Kernels rotate in place by design, as vLLM's do; a fault where the caller goes on "
        "with its tensor.",
        hint="Write the rotation into a new tensor.",
        caught_by="inputs untouched",
        rejected_by=("inputs untouched",),
        **_cache(_InPlace, stands=False),
    ),
)  # fmt: skip
