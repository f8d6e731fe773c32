"""Two synthetic tasks whose best possible loss is 0 nats at every token that counts.

*Repeat*: after some symbols at random, others in some order, repeated to the end. Once a symbol has
come back each token follows from what stands one period before. The pattern is found near by and
nowhere else, so that the order of what was just read matters at any length.

*Recall*: a text begins with pairs of a key and a value; among random symbols, each key comes once
more, and its value after it. Only the beginning tells the value, so whoever ignores what lies far
back can do no better than guess.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

#: The tasks, in the order in which a batch holds them.
TASKS = ("repeat", "recall")


@dataclass(frozen=True)
class Language:
    """Sizes of the tasks.

    Parameters
    ----------
    symbols
        Tokens of which patterns and fillers are made: the first ids.
    keys, values
        Tokens that are keys, and tokens that are values; their ids follow.
    pairs
        Pairs of a key and a value at the start of a text.
    period
        Shortest and longest period of a pattern, the longest less than ``symbols``.
    prefix
        Most random symbols before a pattern.
    """

    symbols: int
    keys: int
    values: int
    pairs: int
    period: tuple[int, int]
    prefix: int

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return self.symbols + self.keys + self.values


class Batch(NamedTuple):
    """Token ids [N, T], and which of them count [N, T]: those that can be foretold."""

    ids: Tensor
    counts: Tensor


def repeat(
    language: Language, number: int, length: int, generator: torch.Generator, *, first: int = 0
) -> Batch:
    """Texts [number, length] that end in a repeated pattern; after its first return all counts.

    In half of the texts it begins as early as it may, in the others up to ``prefix`` later: without
    the first half training needs many times as long to find what repeats.

    Parameters
    ----------
    first
        No pattern begins before this position; before it stand symbols that the pattern has not.
    """
    low, high = language.period
    period = torch.randint(low, high + 1, (number, 1), generator=generator)
    begin = first + torch.randint(0, language.prefix + 1, (number, 1), generator=generator)
    begin[::2] = first
    order = torch.rand(number, language.symbols, generator=generator).argsort(-1)
    # The first symbols of the order are the pattern, the others stand before it.
    others = torch.rand(number, length, generator=generator) * (language.symbols - period)
    place = torch.arange(length) - begin
    chosen = torch.where(place >= 0, place % period, period + others.long())
    return Batch(order.gather(1, chosen), place > period)


def recall(
    language: Language, number: int, length: int, generator: torch.Generator, *, first: int = 0
) -> Batch:
    """Texts [number, length] that ask for the values of the keys at their start, each once.

    Parameters
    ----------
    first
        No key is asked for before this position.

    Raises
    ------
    ValueError
        If there is no room for the questions.
    """
    stated = 2 * language.pairs
    # A question takes two places, and begins at an even one: so no two overlap.
    begin = max(stated, first + first % 2)
    places = (length - begin) // 2
    if places < language.pairs:
        raise ValueError(f"no room for {language.pairs} questions in {length} tokens")

    def distinct(among: int) -> Tensor:
        return torch.rand(number, among, generator=generator).argsort(-1)[:, : language.pairs]

    keys = language.symbols + distinct(language.keys)
    values = language.symbols + language.keys + torch.randint(
        0, language.values, (number, language.pairs), generator=generator
    )  # fmt: skip
    ids = torch.randint(0, language.symbols, (number, length), generator=generator)
    ids[:, 0:stated:2], ids[:, 1:stated:2] = keys, values
    asked, order = begin + 2 * distinct(places), distinct(language.pairs)
    ids.scatter_(1, asked, keys.gather(1, order))
    ids.scatter_(1, asked + 1, values.gather(1, order))
    counts = torch.zeros(number, length, dtype=torch.bool).scatter_(1, asked + 1, True)
    return Batch(ids, counts)


def batch(
    language: Language, texts: tuple[int, int], length: int, generator: torch.Generator
) -> Batch:
    """So many texts of either task, repeat first: [sum of both, length]."""
    parts = [
        task(language, number, length, generator)
        for task, number in zip((repeat, recall), texts, strict=True)
    ]
    return Batch(*map(torch.cat, zip(*parts, strict=True)))
