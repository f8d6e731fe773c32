"""Why rotary decoders degrade: distances never seen, against what else changes with the length."""

from collections.abc import Mapping
from typing import Any

import torch

from posinfo.decoder.model import Reading
from posinfo.decoder.tasks import TASKS
from posinfo.suites.base import Recorder
from posinfo.suites.trained.suite import (
    BOTH,
    DECODER,
    EVIDENCE,
    SUITE,
    Expected,
    Trained,
    keeps,
    more,
    note_losses,
)

CLAMPED, CLOSER = "distances clamped to L - 1", "distances clamped to L / 2"
WINDOW, TEMPERATURE = "window of L", "temperature"
#: What holds of each intervention, by factor and task: the loss rises still, or stays.
DEGRADES: Expected = {
    CLAMPED: ((4, "repeat"), (8, "repeat")),
    WINDOW: ((2, "recall"), (4, "recall"), (8, "recall")),
    TEMPERATURE: ((2, "repeat"), (4, "repeat"), (4, "recall"), (8, "repeat"), (8, "recall")),
}
STAYS: Expected = {
    CLAMPED: ((2, "recall"), (4, "recall")),
    CLOSER: ((2, "repeat"), (2, "recall"), (4, "repeat"), (4, "recall"), (8, "recall")),
}
#: Where an intervention lowers the loss, whether or not it brings it back.
BETTER: Expected = {
    CLAMPED: ((4, "recall"), (8, "recall")),
    CLOSER: ((2, "repeat"), (4, "repeat"), (4, "recall"), (8, "repeat"), (8, "recall")),
    WINDOW: ((2, "repeat"), (4, "repeat"), (8, "repeat")),
}


def interventions(length: int) -> dict[str, Reading]:
    """Changes of the reading, each of which takes one cause away; L is the trained length."""
    return {
        CLAMPED: Reading(clamp=length - 1),
        CLOSER: Reading(clamp=length // 2),
        WINDOW: Reading(window=length),
        TEMPERATURE: Reading(temperature_from=length),
    }


@SUITE.case("cause")
def cause(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Interventions on rotary decoders: one cause of the rise taken away at a time."""
    trained = Trained.given(parameters)
    weights = trained.weights("rotary")
    here = trained.bench.read("rotary", weights, 1)
    for factor in trained.factors:
        plain = trained.bench.read("rotary", weights, factor)
        for name, reading in interventions(trained.length).items():
            there = trained.bench.read("rotary", weights, factor, reading)
            about = {"encoding": "rotary", "reading": name}
            note_losses(rows, trained, f"rotary, {name}", there, factor, **about)
            for task in (*TASKS, BOTH):
                quantity = f"rise of the loss at {factor} L, {name}"
                if (factor, task) in DEGRADES.get(name, ()):
                    more(rows, trained, quantity, there, here, task, factor=factor, **about)
                if (factor, task) in STAYS.get(name, ()):
                    keeps(rows, trained, quantity, there, here, task, factor=factor, **about)
                if (factor, task) in BETTER.get(name, ()):
                    against = {"encoding": "rotary", "reading": f"{name}, against as trained"}
                    more(rows, trained, f"loss at {factor} L as trained above that of {name}",
                         plain, there, task, factor=factor, **against)  # fmt: skip


@SUITE.case("distances never seen")
def distances_never_seen(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The share of pairs of a query and a key that lie further apart than any in training."""
    trained = Trained.given(parameters)
    for factor in trained.factors:
        length = factor * trained.length
        positions = torch.arange(length)
        distance = positions.unsqueeze(-1) - positions
        unseen = int((distance >= trained.length).sum())
        rows.equals(
            f"pairs further apart than L - 1, of all in {factor} L", unseen,
            (length - trained.length) * (length - trained.length + 1) // 2,
            subject=DECODER, evidence=EVIDENCE, factor=factor,
            basis="a triangle of distances from L to the last: counted against its formula",
        )  # fmt: skip
