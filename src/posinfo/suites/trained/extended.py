"""Rotary decoders at longer contexts by each method of extension, as they are and tuned."""

from collections.abc import Mapping
from typing import Any

from posinfo.decoder.settings import extended
from posinfo.decoder.tasks import TASKS
from posinfo.suites.base import Recorder
from posinfo.suites.trained.suite import (
    BOTH,
    SUITE,
    Expected,
    Trained,
    keeps,
    more,
    note_losses,
)

#: Methods that are read without further training; the last is YaRN without its attention factor.
METHODS = ("none", "pi", "ntk", "dynamic_ntk", "abf", "yarn", "yarn, no attention factor")
PLAIN = ", no attention factor"
#: What holds of each method, by factor and task, zero-shot: the loss rises, or stays.
DEGRADES: Expected = {
    "none": ((2, "repeat"), (4, "repeat"), (4, "recall"), (8, "repeat"), (8, "recall")),
    "pi": (
        (2, "repeat"), (2, "recall"), (4, "repeat"), (4, "recall"), (8, "repeat"), (8, "recall"),
    ),
    "ntk": ((4, "repeat"), (8, "repeat")),
    "dynamic_ntk": ((4, "repeat"), (8, "repeat")),
    "abf": ((4, "repeat"), (8, "repeat")),
    "yarn": ((4, "repeat"), (8, "repeat")),
    "yarn, no attention factor": ((4, "repeat"), (8, "repeat")),
}  # fmt: skip
STAYS: Expected = {
    "yarn": ((2, "recall"), (2, BOTH)),
    "yarn, no attention factor": ((2, "recall"),),
    "dynamic_ntk": ((2, "recall"),),
}
#: The same after tuning.
DEGRADES_TUNED: Expected = {
    "none": ((4, "repeat"), (4, "recall"), (8, "repeat"), (8, "recall")),
    "pi": ((2, "repeat"), (4, "repeat"), (4, "recall"), (8, "repeat"), (8, "recall")),
    "ntk": ((8, "repeat"),),
    "abf": ((4, "repeat"), (8, "repeat")),
    "yarn": ((4, "repeat"), (8, "repeat")),
}
STAYS_TUNED: Expected = {
    "ntk": ((2, "recall"),),
    "abf": ((2, "repeat"), (2, "recall")),
    "yarn": ((2, "repeat"), (2, "recall"), (4, "recall")),
}
#: Where tuning lowers the loss, and where a method, zero-shot, is better than none.
HELPED: Expected = {
    "none": ((2, BOTH), (4, BOTH), (8, BOTH)),
    "pi": ((2, BOTH), (4, BOTH), (8, BOTH)),
    "ntk": ((2, BOTH), (4, BOTH), (8, BOTH)),
    "abf": ((4, BOTH), (8, BOTH)),
    "yarn": ((4, BOTH), (8, BOTH)),
}
BETTER: Expected = {
    "ntk": ((2, BOTH), (4, BOTH), (8, BOTH)),
    "dynamic_ntk": ((2, BOTH), (4, BOTH), (8, BOTH)),
    "abf": ((2, BOTH), (4, BOTH), (8, BOTH)),
    "yarn": ((2, BOTH), (4, BOTH), (8, BOTH)),
    "yarn, no attention factor": ((2, BOTH), (4, BOTH), (8, BOTH)),
}
#: Where a method, zero-shot, is worse than none.
WORSE: Expected = {"pi": ((4, "repeat"), (8, "repeat"))}
#: Where YaRN's attention factor lowers the loss, beside its frequencies.
SHARPENED = ((4, "repeat"), (8, "repeat"))


@SUITE.case("extension methods")
def extension_methods(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Methods of extension: zero-shot, and after a short training at the longer length."""
    trained = Trained.given(parameters)
    weights = trained.weights("rotary")
    here = trained.bench.read("rotary", weights, 1)
    steps = trained.decoder["tuning"]["steps"]
    for factor in trained.factors:
        zero: dict[str, Any] = {}
        for method in METHODS:
            reading = extended(
                trained.decoder, method.removesuffix(PLAIN), factor, plain=method.endswith(PLAIN)
            )
            zero[method] = there = trained.bench.read("rotary", weights, factor, reading)
            about = {"encoding": "rotary", "method": method, "tuned_steps": 0}
            note_losses(rows, trained, f"rotary, {method}", there, factor, **about)
            for task in (*TASKS, BOTH):
                told = {"factor": factor, **about}
                quantity = f"rise of the loss at {factor} L, {method}"
                if (factor, task) in DEGRADES.get(method, ()):
                    more(rows, trained, quantity, there, here, task, **told)
                if (factor, task) in STAYS.get(method, ()):
                    keeps(rows, trained, quantity, there, here, task, **told)
                if (factor, task) in BETTER.get(method, ()):
                    more(rows, trained, f"loss at {factor} L of none above that of {method}",
                         zero["none"], there, task, reading="against none", **told)  # fmt: skip
                if (factor, task) in WORSE.get(method, ()):
                    more(rows, trained, f"loss at {factor} L of {method} above that of none",
                         there, zero["none"], task, reading="above none", **told)  # fmt: skip
        for task in (task for at, task in SHARPENED if at == factor):
            more(rows, trained, f"loss at {factor} L of YaRN's frequencies above that of YaRN",
                 zero[f"yarn{PLAIN}"], zero["yarn"], task, factor=factor, encoding="rotary",
                 method="yarn", reading="against its frequencies alone",
                 tuned_steps=0)  # fmt: skip
        for method in trained.decoder["tuning"]["methods"]:
            tuned = trained.weights(f"rotary-{method}", f"{factor}/")
            reading = extended(trained.decoder, method, factor)
            there = trained.bench.read("rotary", tuned, factor, reading)
            about = {"encoding": "rotary", "method": method, "tuned_steps": steps}
            name = f"rotary, {method}, tuned"
            note_losses(rows, trained, name, there, factor, **about)
            for task in (*TASKS, BOTH):
                told = {"factor": factor, **about}
                quantity = f"rise of the loss at {factor} L, {method}, tuned"
                if (factor, task) in DEGRADES_TUNED.get(method, ()):
                    more(rows, trained, quantity, there, here, task, **told)
                if (factor, task) in STAYS_TUNED.get(method, ()):
                    keeps(rows, trained, quantity, there, here, task, **told)
                if (factor, task) in HELPED.get(method, ()):
                    more(rows, trained, f"loss at {factor} L before tuning above that after it, "
                         f"{method}", zero[method], there, task, reading="against zero-shot",
                         **told)  # fmt: skip
