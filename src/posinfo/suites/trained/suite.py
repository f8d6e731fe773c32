"""The suite that the modules beside this one add their cases to, and the rows that they share.

A loss decides nothing by itself: it is written down as the mean over two sets of texts that agree.
What verdicts rest on are differences between two readings, taken seed by seed. *More* asserts that
the mean of the differences exceeds their spread, *keeps* that no seed's difference is above a tenth
of what guessing costs. Which of them is asserted stands in the code of each case.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from posinfo.decoder import settings
from posinfo.decoder.evaluation import Bench, Losses
from posinfo.decoder.tasks import TASKS
from posinfo.decoder.weights import load
from posinfo.reference import guessing, spread
from posinfo.suites.base import Recorder, Suite

SUITE = Suite(
    "trained",
    "Decoders trained here, read at and past the length that they were trained on",
    columns=(
        "encoding", "method", "reading", "tuned_steps", "factor", "task", "position_from",
        "position_to", "seeds", "lowest", "highest", "stage", "distance",
    ),
)  # fmt: skip

#: What rows name as measured.
DECODER = "posinfo.decoder"
EVIDENCE = "trained"
#: A mean over one set of texts may differ from that of all by so many standard errors of that
#: difference, and by this many nats.
ERRORS, FLOOR = 6.0, 1e-3
#: Texts in a set without which a stretch is left out.
FEWEST = 4
#: Share of what guessing costs up to which a loss counts as kept.
KEPT = 0.1
BOTH = "both"
#: What is asserted of some readings: factors and tasks.
Expected = Mapping[str, tuple[tuple[int, str], ...]]


@dataclass(frozen=True)
class Trained:
    """What a suite reads: the config's section, the texts, and where the weights lie."""

    decoder: Mapping[str, Any]
    files: Mapping[str, str]
    bench: Bench
    conclude: bool

    @classmethod
    def given(cls, parameters: Mapping[str, Any]) -> "Trained":
        """From what the suite is told."""
        decoder = parameters["decoder"]
        bench = Bench(
            settings.language(decoder), settings.sizes(decoder), parameters["texts"],
            parameters["seed"],
        )  # fmt: skip
        return cls(decoder, parameters["weights"], bench, parameters["conclude"])

    @property
    def length(self) -> int:
        """Positions that training showed, L."""
        return self.decoder["trained_length"]

    @property
    def factors(self) -> list[int]:
        """How many times longer the contexts become."""
        return self.decoder["factors"]

    def weights(self, name: str, part: str = "") -> dict[str, Tensor]:
        """The weights of a file, or those of it whose names begin with ``part``.

        Raises
        ------
        InputError
            If there is no such file.
        """
        found, _ = load(self.files[name])
        return {
            key.removeprefix(part): value for key, value in found.items() if key.startswith(part)
        }

    def guess(self, task: str) -> float:
        """What guessing costs on a task, or the mean of both."""
        tasks = self.decoder["tasks"]
        costs = {
            "repeat": guessing.evenly(tasks["symbols"]), "recall": guessing.evenly(tasks["values"]),
        }  # fmt: skip
        return costs.get(task, sum(costs.values()) / len(costs))


def note_losses(
    rows: Recorder, trained: Trained, name: str, read: Losses, factor: int, **about: Any
) -> None:
    """Write down the losses of a reading by task, as a whole and over each half of its stretch."""
    end = factor * trained.length
    start = end - trained.length
    middle = (start + end) // 2
    for task in TASKS:
        sample = read.by_task[task]
        for first, last in ((start, end), (start, middle), (middle, end)):
            one, other = sample.halves(first, last)
            if len(other) < FEWEST:
                continue  # of a few texts no error can be told
            seeds = sample.by_seed(first, last)
            # The mean of all lies half as far from that of one set as that of the other does.
            bound = ERRORS * (_error(one) ** 2 + _error(other) ** 2) ** 0.5 / 2 + FLOOR
            rows.within(
                f"loss, {name}, {task}, positions {first} to {last}", sum(seeds) / len(seeds),
                one.mean().item(), bound=bound, subject=DECODER, evidence=EVIDENCE,
                basis=f"half of the texts against all: {ERRORS:g} standard errors of that",
                factor=factor, task=task, position_from=first, position_to=last,
                seeds=len(seeds), lowest=min(seeds), highest=max(seeds), **about,
            )  # fmt: skip


def _error(means: Tensor) -> float:
    return (means.std() / len(means) ** 0.5).item()


def more(
    rows: Recorder,
    trained: Trained,
    quantity: str,
    there: Losses,
    here: Losses,
    task: str,
    **about: Any,
) -> None:
    """Assert that the loss ``there`` is higher than ``here``, by more than the seeds' spread."""
    if not trained.conclude:
        return
    differences = _differences(there, here, task)
    mean = sum(differences) / len(differences)
    rows.exceeds(
        f"{quantity}, {task}", max(mean, 0.0), 0.0, bound=spread.margin(differences),
        subject=DECODER, evidence=EVIDENCE, basis=spread.basis(len(differences)), task=task,
        seeds=len(differences), lowest=min(differences), highest=max(differences), **about,
    )  # fmt: skip


def keeps(
    rows: Recorder,
    trained: Trained,
    quantity: str,
    there: Losses,
    here: Losses | None,
    task: str,
    **about: Any,
) -> None:
    """Assert that no seed's loss ``there`` is above ``here``, or 0, by a tenth of guessing."""
    if not trained.conclude:
        return
    differences = _differences(there, here, task) if here else there.seeds(task)
    # The largest would pass over NaN, for every comparison with it is false.
    worst = math.nan if any(map(math.isnan, differences)) else max(*differences, 0.0)
    rows.within(
        f"{quantity}, {task}", worst, 0.0, bound=KEPT * trained.guess(task),
        subject=DECODER, evidence=EVIDENCE,
        basis="margin: a tenth of what guessing costs, for the seed with the highest", task=task,
        seeds=len(differences), lowest=min(differences), highest=max(differences), **about,
    )  # fmt: skip


def _differences(there: Losses, here: Losses, task: str) -> list[float]:
    return [a - b for a, b in zip(there.seeds(task), here.seeds(task), strict=True)]


def mean(numbers: Sequence[float]) -> float:
    """The mean of a few numbers."""
    return sum(numbers) / len(numbers)
