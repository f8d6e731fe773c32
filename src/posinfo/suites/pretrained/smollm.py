"""SmolLM2: what its losses, its memory of facts and its logits say of RoPE past its training.

Which readings must rise, and which must stay, is written down as data: :data:`RISES` and its
relatives. A reading that is in none of them decides nothing.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

from posinfo.reference.guessing import evenly
from posinfo.suites.base import Recorder
from posinfo.suites.pretrained.suite import (
    EVIDENCE,
    SUITE,
    Real,
    above,
    below,
    keeps,
    like,
    more,
    rises,
)

MODEL = "smollm2"
#: What guessing evenly costs: a token of the model's vocabulary, and one of ten digits.
TOKEN, DIGIT = evenly(49152), evenly(10)
#: Positions of a stretch along a text.
STRETCH = 1024
#: Quantities of the readings.
LOSS, TOLD, NEVER = "loss", "loss of digits told at the start", "loss of digits never told"
DIFFERENCE = "largest difference of a token's loss from the library's"
#: The two tasks: the tokens of a text, and digits that its start tells.
TEXT, FACTS = "text", "facts"

Parameters = Mapping[str, Any]


def _given(parameters: Parameters) -> tuple[Real, list[int], list[int]]:
    """The readings, and the lengths within and past the trained one."""
    real = Real.given(MODEL, parameters)
    trained, lengths = real.settings["trained_length"], real.settings["lengths"]
    return (
        real,
        [length for length in lengths if length <= trained],
        [length for length in lengths if length > trained],
    )


def _pass(real: Real, method: str, end: int) -> int:
    """The context of the pass that a method's readings up to ``end`` come from.

    Most are read along one long pass, as a causal model allows; where frequencies follow the
    length, each length past the trained one has a pass of its own.
    """
    longest = real.settings["lengths"][-1]
    own = method == "dynamic_ntk" and end > real.settings["trained_length"]
    return end if own else longest


def _read_at(real: Real, end: int) -> list[str]:
    """The methods whose readings at a length are those of a text so long.

    One that follows the length changes nothing within the trained one; what its longest pass says
    of shorter stretches is read with the frequencies of the whole, and is no reading of theirs.
    """
    inside = end <= real.settings["trained_length"]
    return [name for name in real.settings["methods"] if not (inside and name == "dynamic_ntk")]


def along(real: Real, method: str, quantity: str, end: int) -> list[float]:
    """A quantity at a length of the long passes, in every window."""
    return real.values(
        "long", quantity, method=method, context=_pass(real, method, end), position_to=end
    )


def behind(real: Real, quantity: str, context: int, end: int) -> list[float]:
    """The same tokens up to ``end``, read as trained behind no more than ``context`` positions."""
    return real.values("lengths", quantity, context=context, position_to=end)


@SUITE.case("library")
def library(rows: Recorder, parameters: Parameters) -> None:
    """Our rotary embedding in the library's model, in both layouts, and in the wrong one."""
    real, within, _ = _given(parameters)
    context = within[0]

    def loss(method: str, quantity: str = LOSS) -> list[float]:
        return real.values("layout", quantity, method=method, context=context)

    theirs = loss("library")
    below(rows, real, f"loss at {context}, the library's own", theirs, TOKEN, method="library",
          task=TEXT, context=context)  # fmt: skip
    for method in ("half-split", "adjacent, weights reordered"):
        keeps(
            rows, real, f"largest difference of a token's loss, {method}",
            loss(method, DIFFERENCE), [0.0] * len(theirs), bound=1e-3,
            basis="margin: a fiftieth of what counts as a difference of mean losses, for one token",
            method=method, against="library", task=TEXT, context=context,
        )  # fmt: skip
    method = "adjacent, weights of the other layout"
    more(rows, real, f"rise of the loss, {method}", loss(method), theirs, method=method,
         against="library", task=TEXT, context=context)  # fmt: skip


@SUITE.case("rounded positions")
def rounded_positions(rows: Recorder, parameters: Parameters) -> None:
    """Positions rounded to bfloat16 before they are turned into angles."""
    real, within, beyond = _given(parameters)
    method = "positions in bfloat16"
    for context in within:
        there = real.values("layout", LOSS, method=method, context=context)
        below(rows, real, f"loss at {context}, {method}", there, TOKEN, method=method, task=TEXT,
              context=context)  # fmt: skip
        more(
            rows, real, f"rise of the loss at {context}, {method}", there,
            behind(real, LOSS, context, beyond[-1]), method=method, against="none", task=TEXT,
            context=context,
        )  # fmt: skip


@SUITE.case("as trained")
def as_trained(rows: Recorder, parameters: Parameters) -> None:
    """The same last tokens behind contexts of every length, within and past the trained one."""
    real, within, beyond = _given(parameters)
    for end in beyond:
        for context in within:
            below(
                rows, real, f"loss of the tokens before {end}, behind {context}",
                behind(real, LOSS, context, end), TOKEN, method="none", task=TEXT,
                context=context, position=end,
            )  # fmt: skip
        more(
            rows, real, f"fall of the loss of the tokens before {end}, {within[-1]} for "
            f"{within[0]}", behind(real, LOSS, within[0], end),
            behind(real, LOSS, within[-1], end), method="none", against=f"behind {within[-1]}",
            task=TEXT, context=within[0], position=end,
        )  # fmt: skip


@SUITE.case("along a long text")
def along_a_long_text(rows: Recorder, parameters: Parameters) -> None:
    """Loss by stretches of positions in one pass over the longest text, by every method."""
    real, _, _ = _given(parameters)
    longest = real.settings["lengths"][-1]
    for method in real.settings["methods"]:
        for start in range(0, longest, STRETCH):
            below(
                rows, real, f"loss of positions {start} to {start + STRETCH}, {method}",
                real.stretch("long", "loss along the text", start, start + STRETCH, method=method,
                             context=longest),
                TOKEN, method=method, task=TEXT, context=longest, position=start + STRETCH,
            )  # fmt: skip


@SUITE.case("extension methods")
def extension_methods(rows: Recorder, parameters: Parameters) -> None:
    """Past the trained length: as trained and by each method, against as many as were trained."""
    real, within, beyond = _given(parameters)
    trained = within[-1]
    for end in beyond:
        here = behind(real, LOSS, trained, end)
        unextended = along(real, "none", LOSS, end)
        for method in real.settings["methods"]:
            there = along(real, method, LOSS, end)
            about = {"method": method, "task": TEXT, "context": end, "position": end}
            below(rows, real, f"loss at {end}, {method}", there, TOKEN, **about)
            against = f"the same tokens behind {trained}"
            if method in RISES.get(end, ()):
                rises(rows, real, f"rise of the loss at {end}, {method}", there, here,
                     against=against, **about)  # fmt: skip
            if method in STAYS.get(end, ()):
                keeps(rows, real, f"rise of the loss at {end}, {method}", there, here,
                      against=against, **about)  # fmt: skip
            if method in BETTER.get(end, ()):
                more(rows, real, f"loss at {end} of none above that of {method}", unextended,
                     there, against="none", **about)  # fmt: skip


@SUITE.case("methods within the trained length")
def methods_within(rows: Recorder, parameters: Parameters) -> None:
    """What each method, set for a longer text, costs where the model would need none."""
    real, within, _ = _given(parameters)
    for end in within:
        here = along(real, "none", LOSS, end)
        for method in _read_at(real, end):
            there = along(real, method, LOSS, end)
            about = {"method": method, "task": TEXT, "context": end, "position": end}
            below(rows, real, f"loss at {end}, {method}", there, TOKEN, **about)
            if method in COSTS_WITHIN.get(end, ()):
                rises(rows, real, f"rise of the loss at {end}, {method}", there, here,
                     against="none", **about)  # fmt: skip
            if method in FREE_WITHIN.get(end, ()):
                keeps(rows, real, f"rise of the loss at {end}, {method}", there, here,
                      against="none", **about)  # fmt: skip


@SUITE.case("far retrieval")
def far_retrieval(rows: Recorder, parameters: Parameters) -> None:
    """Keys that the start tells, asked for at the end: by length and method, against guessing."""
    real, within, beyond = _given(parameters)
    for end in (*within, *beyond):
        for method in _read_at(real, end):
            digits = along(real, method, TOLD, end)
            about = {"method": method, "task": FACTS, "context": end, "position": end}
            quantity = f"loss of a digit at {end}, {method}"
            if method in FOUND.get(end, ()):
                below(rows, real, quantity, digits, DIGIT, **about)
            elif method in LOST.get(end, ()):
                above(rows, real, quantity, digits, DIGIT, **about)
            else:
                like(rows, real, quantity, digits, DIGIT, **about)
    short, trained = within[-2:]
    more(
        rows, real, f"rise of the loss of a digit from {short} to {trained}, none",
        along(real, "none", TOLD, trained), along(real, "none", TOLD, short), method="none",
        against=f"at {short}", task=FACTS, context=trained, position=trained,
    )  # fmt: skip
    for end in beyond:
        never = behind(real, NEVER, trained, end)
        more(
            rows, real, f"loss of a digit before {end} that nothing told, above one that the start "
            f"told, at {within[0]}", never, along(real, "none", TOLD, within[0]), method="none",
            against=f"told, at {within[0]}", task=FACTS, context=trained, position=end,
        )  # fmt: skip


@SUITE.case("shifted phrases")
def shifted_phrases(rows: Recorder, parameters: Parameters) -> None:
    """Logits of short phrases, all of whose positions are moved by the same amount."""
    real, _, _ = _given(parameters)
    for shift, angles in product(real.settings["shifts"], ("float32", "float64")):
        where = {"method": f"angles in {angles}", "shift": shift}
        name = f"by {shift}, angles in {angles}"
        largest, divergence, changed = (
            real.values("shift", quantity, **where)
            for quantity in (
                "largest difference of a logit", "largest KL divergence",
                "share of top tokens that change",
            )
        )  # fmt: skip
        zeros = [0.0] * len(largest)
        quantity = f"largest difference of a logit {name}"
        beyond = 1.0 if angles == "float64" else max(1.0, shift / real.settings["trained_length"])
        keeps(rows, real, quantity, largest, zeros, bound=LOGIT * beyond,
              basis=LOGIT_BASIS + GROWS * (beyond > 1), **where)  # fmt: skip
        if angles == "float32" and shift >= FAR:
            rows.exceeds(
                f"{quantity}, of the phrase with the smallest", min(largest), 0.0,
                bound=10 * LOGIT, subject=real.subject, evidence=EVIDENCE,
                basis=f"{LOGIT_BASIS}; ten times that", windows=len(largest),
                lowest=min(largest), highest=max(largest), **real.about, **where,
            )  # fmt: skip
        at = max(range(len(divergence)), key=divergence.__getitem__)
        rows.within(
            f"largest KL divergence {name}", divergence[at], 0.0, bound=largest[at] ** 2 / 2,
            subject=real.subject, evidence=EVIDENCE, basis=HOEFFDING, windows=len(divergence),
            lowest=min(divergence), highest=max(divergence), **real.about, **where,
        )  # fmt: skip
        if not any(changed):
            rows.equals(
                f"top tokens that change {name}", sum(changed), 0.0, subject=real.subject,
                evidence=EVIDENCE, basis="exact: the likeliest next token, at every token of "
                "every phrase", windows=len(changed), **real.about, **where,
            )  # fmt: skip


@SUITE.case("cached decoding")
def cached_decoding(rows: Recorder, parameters: Parameters) -> None:
    """A cache of rotated keys against one pass: for fixed frequencies, and for those that grow."""
    real, _, _ = _given(parameters)
    settings = real.settings
    for name, told in settings["caches"].items():
        total = told["prefill"] + settings["piece"] * settings["pieces"]
        where = {"method": told["method"], "context": total}
        recomputed, cached, largest = (
            real.values("cache", quantity, **where)
            for quantity in ("loss, recomputed", "loss, cached", "largest difference of a logit")
        )
        about = {**where, "against": "one pass"}
        quantity = f"largest difference of a logit, {name}, at {total}"
        zeros = [0.0] * len(largest)
        if name in PARTS:
            more(rows, real, quantity, largest, zeros, least=10 * LOGIT, **about)
            more(rows, real, f"rise of the loss, {name}, at {total}", cached, recomputed,
                 task=TEXT, **about)  # fmt: skip
        else:
            keeps(rows, real, quantity, largest, zeros, bound=LOGIT, basis=LOGIT_BASIS, **about)
        below(rows, real, f"loss, {name}, cached, at {total}", cached, TOKEN, task=TEXT, **about)
        below(rows, real, f"loss, {name}, recomputed, at {total}", recomputed, TOKEN, task=TEXT,
              **about)  # fmt: skip


# --- what is asserted ------------------------------------------------------------------------

_YARN = ("yarn", "yarn, no attention factor")
#: Methods whose loss rises past the trained length, by the length, and those whose loss stays.
RISES: Mapping[int, tuple[str, ...]] = {
    12288: ("none", "pi", "abf"),
    16384: ("none", "pi", "ntk", "dynamic_ntk", "abf"),
}
STAYS: Mapping[int, tuple[str, ...]] = {
    12288: ("ntk", "dynamic_ntk", *_YARN),
    16384: _YARN,
}
#: Methods that are better than none there.
BETTER: Mapping[int, tuple[str, ...]] = {
    12288: ("ntk", "dynamic_ntk", *_YARN, "abf"),
    16384: ("pi", "ntk", "dynamic_ntk", *_YARN, "abf"),
}
#: Methods that cost something where the model would need none, by the length, and those that do
#: not.
COSTS_WITHIN: Mapping[int, tuple[str, ...]] = {
    1024: ("pi", "abf"),
    4096: ("pi",),
    8192: ("pi", "abf"),
}
FREE_WITHIN: Mapping[int, tuple[str, ...]] = {
    1024: ("ntk", *_YARN),
    4096: ("ntk", "yarn"),
    8192: ("ntk", *_YARN),
}
#: Where digits are found better than by guessing, and worse; elsewhere they are guessed.
FOUND: Mapping[int, tuple[str, ...]] = {
    1024: ("none", "ntk", *_YARN, "abf"),
    4096: ("none", "ntk", *_YARN, "abf"),
    8192: ("ntk", *_YARN, "abf"),
    12288: (*_YARN, "abf"),
    16384: ("abf",),
}
LOST: Mapping[int, tuple[str, ...]] = {
    1024: ("pi",),
    4096: ("pi",),
    8192: ("pi",),
    12288: ("none", "pi"),
    16384: ("none", "pi", "ntk", "dynamic_ntk", *_YARN),
}
#: Difference of two logits up to which predictions count as the same, and the shift from which
#: those by angles in float32 no longer do.
LOGIT, FAR = 1e-2, 10_000_000
LOGIT_BASIS = "margin: 0.01 of a logit, by which no probability changes by more than 2 %"
GROWS = "; past the trained length in proportion, as the rounding of angles in float32 grows"
HOEFFDING = (
    "Hoeffding's lemma: half the square of the largest difference of a logit, for the same phrase"
)
#: Caches whose logits differ by more than that from one pass.
PARTS = ("dynamic",)
