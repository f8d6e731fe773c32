"""The learned table: past its end, stretched, enlarged, and what training makes of its rows."""

from collections.abc import Mapping
from typing import Any

import torch

from posinfo.decoder import settings
from posinfo.decoder.evaluation import cosines, enlarged, interpolated
from posinfo.decoder.model import AS_TRAINED, Reading, draw
from posinfo.decoder.tasks import TASKS
from posinfo.reference import spread
from posinfo.suites.base import Recorder
from posinfo.suites.trained.suite import (
    BOTH,
    DECODER,
    EVIDENCE,
    SUITE,
    Trained,
    mean,
    more,
    note_losses,
)

#: What an embedding says of an index past its end.
OUT_OF_RANGE = "IndexError: index out of range in self"
ENCODING = "learned"


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
            note_losses(rows, trained, f"{ENCODING}, {way}", there, factor, encoding=ENCODING,
                        reading=way)  # fmt: skip
            for task in (*TASKS, BOTH):
                more(rows, trained, f"rise of the loss at {factor} L, {ENCODING}, {way}", there, here,
                     task, reading=way, **about)  # fmt: skip
                more(rows, trained, f"loss at {factor} L above that of rotary, {ENCODING}, {way}",
                     there, turned, task, reading=f"{way}, against rotary", **about)  # fmt: skip
        inside = trained.bench.inside(ENCODING, weights, factor, ways["interpolated"])
        for task in (*TASKS, BOTH):
            more(rows, trained, f"rise of the loss within L, {ENCODING}, interpolated to {factor} L",
                 inside, here, task, reading="interpolated, within L", **about)  # fmt: skip


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
            rows.within(
                f"mean cosine of rows {distance} apart, {stage}", mean(values), 0.0, bound=1.0,
                subject=DECODER, evidence=EVIDENCE, basis="no cosine is above 1", stage=stage,
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
