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
    Trained,
    keeps,
    more,
    note_losses,
)

#: What holds of each intervention, by factor and task: the loss rises still, or stays.
DEGRADES: Mapping[str, tuple[tuple[int, str], ...]] = {}
STAYS: Mapping[str, tuple[tuple[int, str], ...]] = {}


def interventions(length: int) -> dict[str, Reading]:
    """Changes of the reading, each of which takes one cause away; L is the trained length."""
    return {
        "distances clamped to L - 1": Reading(clamp=length - 1),
        "distances clamped to L / 2": Reading(clamp=length // 2),
        "window of L": Reading(window=length),
        "temperature": Reading(temperature_from=length),
    }


@SUITE.case("cause")
def cause(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Interventions on rotary decoders: one cause of the rise taken away at a time."""
    trained = Trained.given(parameters)
    weights = trained.weights("rotary")
    here = trained.bench.read("rotary", weights, 1)
    for factor in trained.factors:
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
