"""Each encoding as it is: within the trained length, and at longer contexts."""

from collections.abc import Mapping
from typing import Any

from posinfo.decoder.tasks import TASKS
from posinfo.reference import guessing, spread
from posinfo.suites.base import Recorder
from posinfo.suites.trained.suite import (
    BOTH,
    DECODER,
    EVIDENCE,
    SUITE,
    Trained,
    keeps,
    mean,
    more,
    note_losses,
)

#: Encodings that come near the best possible loss on both tasks within the trained length.
SOLVE = ("learned", "sinusoidal", "t5", "rotary")
#: Where a loss leaves that within the trained length, by encoding: factors and tasks.
DEGRADES: Mapping[str, tuple[tuple[int, str], ...]] = {}
#: Where it stays.
STAYS: Mapping[str, tuple[tuple[int, str], ...]] = {}


@SUITE.case("trained length")
def within_the_trained_length(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Within the trained length: how near each encoding comes to the best possible loss."""
    trained = Trained.given(parameters)
    for encoding in trained.decoder["encodings"]:
        weights = trained.weights(encoding)
        read = trained.bench.read(encoding, weights, 1)
        about = {"encoding": encoding, "reading": "as trained"}
        note_losses(rows, trained, encoding, read, 1, **about)
        tasks = TASKS if encoding in SOLVE else ("recall",)
        for task in tasks:
            keeps(rows, trained, f"loss above the best possible, {encoding}", read, None, task,
                  factor=1, **about)  # fmt: skip
        if encoding == "none" and trained.conclude:
            tasks_of = trained.decoder["tasks"]
            bag = guessing.recall_from_a_bag(tasks_of["pairs"], tasks_of["values"])
            less = [bag - loss for loss in read.seeds("recall")]
            rows.exceeds(
                "how far the loss is below that of a bag of tokens, none, recall",
                max(mean(less), 0.0), 0.0, bound=spread.margin(less),
                subject=DECODER, evidence=EVIDENCE, basis=spread.basis(len(less)), task="recall",
                factor=1, seeds=len(less), lowest=min(less), highest=max(less), **about,
            )  # fmt: skip


@SUITE.case("past the trained length")
def past_the_trained_length(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Longer contexts, read as trained: where the loss rises, and where it stays."""
    trained = Trained.given(parameters)
    for encoding in trained.decoder["encodings"]:
        if encoding == "learned":
            continue
        weights = trained.weights(encoding)
        about = {"encoding": encoding, "reading": "as trained"}
        here = trained.bench.read(encoding, weights, 1)
        for factor in trained.factors:
            there = trained.bench.read(encoding, weights, factor)
            note_losses(rows, trained, encoding, there, factor, **about)
            for task in (*TASKS, BOTH):
                quantity = f"rise of the loss at {factor} L, {encoding}"
                if (factor, task) in DEGRADES.get(encoding, ()):
                    more(rows, trained, quantity, there, here, task, factor=factor, **about)
                if (factor, task) in STAYS.get(encoding, ()):
                    keeps(rows, trained, quantity, there, here, task, factor=factor, **about)
