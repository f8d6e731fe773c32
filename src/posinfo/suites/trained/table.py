"""The learned table: past its end, stretched, enlarged, and what training makes of its rows."""

from collections.abc import Mapping
from typing import Any

import torch

from posinfo.decoder import settings
from posinfo.decoder.evaluation import cosines, enlarged, interpolated
from posinfo.decoder.model import AS_TRAINED, Reading, draw
from posinfo.reference import spread
from posinfo.suites.base import Recorder
from posinfo.suites.trained.suite import (
    BOTH,
    DECODER,
    ERRORS,
    EVIDENCE,
    SUITE,
    Trained,
    keeps,
    mean,
    more,
    note_losses,
)

#: What an embedding says of an index past its end.
OUT_OF_RANGE = "IndexError: index out of range in self"
ENCODING = "learned"
#: On which tasks the loss rises by each way around the end, and on which it stays. What was stated
#: in trained rows is found by content from anywhere; the order past the end is lost.
RISES = {
    "clamped": ("repeat",), "interpolated": ("repeat", BOTH), "untrained rows": ("repeat",),
}  # fmt: skip
STAYS = {"clamped": ("recall",), "interpolated": (), "untrained rows": ("recall",)}


def readings(trained: Trained, table: torch.Tensor, factor: int, seed: int) -> dict[str, Reading]:
    """Ways to have a row for each position of a longer context, by name."""
    length = factor * trained.length
    return {
        "clamped": Reading(rows=torch.arange(length).clamp(max=trained.length - 1)),
        "interpolated": Reading(table=interpolated(table, factor)),
        "untrained rows": Reading(
            table=enlarged(table, factor, trained.decoder["deviation"], seed)
        ),
    }


@SUITE.case("learned table past its end")
def past_the_end(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A learned table at longer contexts: the error, and three ways around it."""
    trained = Trained.given(parameters)
    if ENCODING not in trained.decoder["encodings"]:
        return
    weights = trained.weights(ENCODING)
    here = trained.bench.read(ENCODING, weights, 1)
    rotary = trained.weights("rotary")
    for factor in trained.factors:
        about = {"encoding": ENCODING, "factor": factor}
        rows.raises(
            f"reading {factor} L as trained",
            lambda factor=factor: trained.bench.read(ENCODING, weights, factor, AS_TRAINED),
            OUT_OF_RANGE, subject=DECODER, evidence=EVIDENCE, reading="as trained",
            basis="torch's own type and message, on a CPU", **about,
        )  # fmt: skip
        turned = trained.bench.read("rotary", rotary, factor)
        ways = readings(trained, weights["positions"], factor, parameters["seed"])
        for way, reading in ways.items():
            there = trained.bench.read(ENCODING, weights, factor, reading)
            name = f"{ENCODING}, {way}"
            note_losses(rows, trained, name, there, factor, encoding=ENCODING, reading=way)
            rise = f"rise of the loss at {factor} L, {name}"
            for task in RISES[way]:
                more(rows, trained, rise, there, here, task, reading=way, **about)
            for task in STAYS[way]:
                keeps(rows, trained, rise, there, here, task, reading=way, **about)
            # Rotary decoders beside it: better at what is near by, and worse at what is far back.
            against = {"reading": f"{way}, against rotary", **about}
            if factor == min(trained.factors):
                more(rows, trained, f"loss at {factor} L above that of rotary, {name}", there,
                     turned, "repeat", **against)  # fmt: skip
            elif "recall" in STAYS[way]:
                more(rows, trained, f"loss of rotary at {factor} L above that of {name}", turned,
                     there, "recall", **against)  # fmt: skip
        # No token sees what comes after it: the first L tokens of a longer text are one of L.
        inside = trained.bench.read(ENCODING, weights, 1, ways["interpolated"])
        rise = f"rise of the loss within L, {ENCODING}, interpolated to {factor} L"
        for task in RISES["interpolated"]:
            more(rows, trained, rise, inside, here, task, reading="interpolated, within L",
                 **about)  # fmt: skip


@SUITE.case("rows of the learned table")
def rows_of_the_table(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Cosines of rows, near and far, before training and after it."""
    trained = Trained.given(parameters)
    if ENCODING not in trained.decoder["encodings"]:
        return
    size, seeds = settings.sizes(trained.decoder), trained.decoder["seeds"]
    distances = list(range(1, trained.length - 1))
    fresh = draw(ENCODING, size, seeds, trained.decoder["deviation"])["positions"]
    tables = {"before training": fresh, "after training": trained.weights(ENCODING)["positions"]}
    near, far = [], []
    for stage, table in tables.items():
        found = cosines(table, distances)
        for place, distance in enumerate(distances):
            values = found[:, place].tolist()
            bound, basis = 1.0, "no cosine is above 1"
            if stage == "before training":
                # Cosines of independent directions have the variance 1/d, and no two covary.
                pairs = len(values) * (trained.length - distance)
                bound = ERRORS / (size.width * pairs) ** 0.5
                basis = f"rows at random: {ERRORS:g} standard deviations of the mean over {pairs}"
            rows.within(
                f"mean cosine of rows {distance} apart, {stage}", mean(values), 0.0, bound=bound,
                subject=DECODER, evidence=EVIDENCE, basis=basis, stage=stage,
                encoding=ENCODING, distance=distance, seeds=len(values), lowest=min(values),
                highest=max(values),
            )  # fmt: skip
        near = found[:, : parameters["near"]].mean(1).tolist()
        far = found[:, trained.length // 2 :].mean(1).tolist()
        more_alike = [a - b for a, b in zip(near, far, strict=True)]
        if not trained.conclude:
            continue
        common = {
            "subject": DECODER, "evidence": EVIDENCE, "encoding": ENCODING, "stage": stage,
            "seeds": len(near), "lowest": min(more_alike), "highest": max(more_alike),
        }  # fmt: skip
        quantity = (
            f"mean cosine of rows at most {parameters['near']} apart, less that of distant ones"
        )
        if stage == "after training":
            rows.exceeds(
                f"{quantity}, {stage}", max(mean(more_alike), 0.0), 0.0,
                bound=spread.half_width(more_alike),
                basis=f"the spread over {len(near)} seeds: half the 95 % interval of their mean",
                **common,
            )  # fmt: skip
