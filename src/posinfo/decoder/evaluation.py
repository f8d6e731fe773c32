"""What trained decoders make of texts of any length: losses by task and stretch of positions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from posinfo.decoder.model import AS_TRAINED, Reading, Sizes, Weights
from posinfo.decoder.tasks import Batch, Language, recall, repeat
from posinfo.decoder.training import losses

#: Texts of each task that are read at once: more would only need more memory.
AT_ONCE = 4


@dataclass(frozen=True)
class Bench:
    """Texts to read, drawn from a seed: the same for whatever is compared.

    Parameters
    ----------
    language, sizes
        As the decoders were trained.
    texts
        Texts of each task at each length; half of them are one set, half another.
    seed
        Of the texts.
    """

    language: Language
    sizes: Sizes
    texts: int
    seed: int

    def draw(self, factor: int) -> dict[str, Batch]:
        """Texts of each task, ``factor`` times as long as the trained length L and one token more.

        A longer text ends as one of L tokens does: the pattern begins in the last L places, as far
        into them, and there all keys are asked for, as closely. What counts has no longer past to
        repeat than within L, which would make it easier, and each value lies more than L back.
        """
        length = factor * self.sizes.length
        first = length - self.sizes.length
        asked = first + 2 * self.language.pairs
        generator = torch.Generator().manual_seed(self.seed + factor)
        return {
            "repeat": repeat(self.language, self.texts, length + 1, generator, first=first),
            "recall": recall(self.language, self.texts, length + 1, generator, first=asked),
        }

    def read(
        self, encoding: str, weights: Weights, factor: int, reading: Reading = AS_TRAINED
    ) -> "Losses":
        """The losses of decoders on the texts of a length.

        Raises
        ------
        IndexError
            If a learned table has no row for a position.
        """
        found = {}
        for task, given in self.draw(factor).items():
            found[task] = self.of(encoding, weights, given, reading)
        return Losses(found)

    def of(self, encoding: str, weights: Weights, given: Batch, reading: Reading) -> "Sample":
        """The losses on given texts [N, T]."""
        seeds = next(iter(weights.values())).shape[0]
        nats, counts = [], []
        with torch.no_grad():
            for part in zip(*(t.split(AT_ONCE) for t in given), strict=True):
                each = Batch(*(t.expand(seeds, *t.shape) for t in part))
                loss, where = losses(encoding, self.sizes, weights, each, reading)
                nats.append(loss)
                counts.append(where)
        return Sample(torch.cat(nats, 1), torch.cat(counts, 1))


@dataclass(frozen=True)
class Sample:
    """Losses of tokens [S, N, T], and which of them count; place t is the token t + 1."""

    nats: Tensor
    counts: Tensor

    def by_text(self, start: int = 0, end: int | None = None) -> Tensor:
        """Mean of each text [S, N] over the places from ``start`` to before ``end``.

        Texts without a token that counts there are left out.
        """
        nats, counts = self.nats[..., start:end], self.counts[..., start:end]
        some = counts[0].any(-1)
        return ((nats * counts).sum(-1) / counts.sum(-1).clamp(min=1))[:, some]

    def by_seed(self, start: int = 0, end: int | None = None) -> list[float]:
        """Mean of each seed."""
        return self.by_text(start, end).double().mean(1).tolist()

    def halves(self, start: int = 0, end: int | None = None) -> tuple[Tensor, Tensor]:
        """Means of the texts over all seeds: those of the one set, and of the other."""
        means = self.by_text(start, end).double().mean(0)
        middle = (len(means) + 1) // 2
        return means[:middle], means[middle:]


@dataclass(frozen=True)
class Losses:
    """What was read, by task."""

    by_task: Mapping[str, Sample]

    def seeds(self, task: str) -> list[float]:
        """Mean loss of each seed on a task, or on both of them alike for ``both``."""
        if task in self.by_task:
            return self.by_task[task].by_seed()
        both = [self.seeds(one) for one in self.by_task]
        return [sum(parts) / len(parts) for parts in zip(*both, strict=True)]


def interpolated(table: Tensor, factor: int) -> Tensor:
    """A learned table [S, L, d] stretched to ``factor`` times as many rows, by straight lines.

    Row p is what position interpolation reads at p / factor; past the last row, that row.
    """
    rows = table.shape[1]
    place = torch.arange(factor * rows) / factor
    low = place.long()
    high = (low + 1).clamp(max=rows - 1)
    share = (place - low).unsqueeze(-1)
    return table[:, low] * (1 - share) + table[:, high] * share


def enlarged(table: Tensor, factor: int, deviation: float, seed: int) -> Tensor:
    """A learned table [S, L, d] with fresh rows behind its own, which training never reached."""
    seeds, rows, width = table.shape
    generator = torch.Generator().manual_seed(seed)
    fresh = torch.randn(seeds, (factor - 1) * rows, width, generator=generator, dtype=torch.float64)
    return torch.cat([table, (deviation * fresh).float()], 1)


def cosines(table: Tensor, distances: Sequence[int]) -> Tensor:
    """Mean cosine of rows so far apart, [S, distances] of a table [S, L, d]."""
    unit = table.double() / table.double().norm(dim=-1, keepdim=True)
    all_pairs = unit @ unit.transpose(1, 2)
    return torch.stack([all_pairs.diagonal(distance, 1, 2).mean(-1) for distance in distances], -1)
