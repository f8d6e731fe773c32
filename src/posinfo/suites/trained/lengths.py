"""Each encoding as it is: within the trained length, and at longer contexts."""

from collections.abc import Mapping
from typing import Any

from posinfo.decoder.evaluation import Losses
from posinfo.decoder.tasks import TASKS
from posinfo.reference import guessing
from posinfo.suites.base import Recorder
from posinfo.suites.trained.suite import (
    BOTH,
    DECODER,
    ERRORS,
    EVIDENCE,
    FLOOR,
    SUITE,
    Expected,
    Trained,
    keeps,
    more,
    note_losses,
)

#: Encodings that come near the best possible loss on both tasks within the trained length. By
#: ALiBi's slopes the last token is hard to single out, and without positions harder still.
SOLVE = ("learned", "sinusoidal", "t5", "rotary")
#: Where a loss leaves that within the trained length, by encoding: factors and tasks.
DEGRADES: Expected = {
    "rotary": ((2, "repeat"), (4, "repeat"), (4, "recall"), (8, "repeat"), (8, "recall")),
    "sinusoidal": ((2, "repeat"), (4, "repeat"), (8, "repeat")),
    "t5": ((2, "repeat"), (4, "repeat"), (8, "repeat")),
    "none": ((2, "repeat"), (4, "repeat"), (8, "repeat")),
    "alibi": ((2, "repeat"), (4, "repeat"), (8, "repeat")),
}
#: Where it stays.
STAYS: Expected = {
    "sinusoidal": ((2, "recall"), (4, "recall")),
    "t5": ((2, "recall"), (4, "recall"), (8, "recall")),
}


@SUITE.case("trained length")
def within_the_trained_length(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Within the trained length: how near each encoding comes to the best possible loss."""
    trained = Trained.given(parameters)
    for encoding in trained.decoder["encodings"]:
        weights = trained.weights(encoding)
        read = trained.bench.read(encoding, weights, 1)
        about = {"encoding": encoding, "reading": "as trained"}
        note_losses(rows, trained, encoding, read, 1, **about)
        for task in TASKS if encoding in SOLVE else ():
            keeps(rows, trained, f"loss above the best possible, {encoding}", read, None, task,
                  factor=1, **about)  # fmt: skip
        if encoding == "none" and trained.conclude:
            _below_a_bag(rows, trained, read, **about)


def _below_a_bag(rows: Recorder, trained: Trained, read: Losses, **about: Any) -> None:
    """Assert that one decoder recalls better than any reader of its tokens as a bag can.

    One suffices to show that order is learned without positions, so it is the best of the seeds,
    and the margin is that of its texts.
    """
    told = trained.decoder["tasks"]
    bag = guessing.recall_from_a_bag(told["pairs"], told["values"])
    texts = read.by_task["recall"].by_text().double()
    best = texts[texts.mean(1).argmin()]
    seeds = read.seeds("recall")
    rows.exceeds(
        "how far the best decoder's loss is below that of a bag of tokens, none, recall",
        max(bag - best.mean().item(), 0.0), 0.0,
        bound=ERRORS * (best.std() / len(best) ** 0.5).item() + FLOOR,
        subject=DECODER, evidence=EVIDENCE, task="recall", factor=1, seeds=len(seeds),
        basis=f"margin: {ERRORS:g} standard errors of the mean of its texts",
        lowest=min(seeds), highest=max(seeds), **about,
    )  # fmt: skip


@SUITE.case("past the trained length")
def past_the_trained_length(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Longer contexts, read as trained: where the loss rises, and where it stays."""
    trained = Trained.given(parameters)
    read: dict[tuple[str, int], Losses] = {}
    for encoding in trained.decoder["encodings"]:
        if encoding == "learned":
            continue
        weights = trained.weights(encoding)
        about = {"encoding": encoding, "reading": "as trained"}
        here = trained.bench.read(encoding, weights, 1)
        for factor in trained.factors:
            read[encoding, factor] = there = trained.bench.read(encoding, weights, factor)
            note_losses(rows, trained, encoding, there, factor, **about)
            for task in (*TASKS, BOTH):
                quantity = f"rise of the loss at {factor} L, {encoding}"
                if (factor, task) in DEGRADES.get(encoding, ()):
                    more(rows, trained, quantity, there, here, task, factor=factor, **about)
                if (factor, task) in STAYS.get(encoding, ()):
                    keeps(rows, trained, quantity, there, here, task, factor=factor, **about)
    for factor in trained.factors:
        about = {"encoding": "rotary", "factor": factor}
        there = read["rotary", factor]
        if (shorter := factor // 2) in trained.factors:
            for task in TASKS:
                more(rows, trained, f"loss at {factor} L above that at {shorter} L, rotary", there,
                     read["rotary", shorter], task, reading="against half the length",
                     **about)  # fmt: skip
        if ("alibi", factor) in read:
            more(rows, trained, f"loss of rotary at {factor} L above that of alibi", there,
                 read["alibi", factor], "repeat", reading="against alibi", **about)  # fmt: skip
