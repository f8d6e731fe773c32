"""The suite that the modules beside this one add their cases to, and the rows that they share.

Nothing is measured here: the readings are those that were accepted, and this suite says what
follows from them. Where windows of text are compared, it is window by window: *more* asserts that
the mean of the differences exceeds half of its 95 % interval, and at least
:data:`posinfo.reference.spread.LEAST` nats; *keeps* that no window's difference exceeds a bound.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posinfo.pretrained import accepted
from posinfo.pretrained.sources import SOURCES
from posinfo.reference import spread
from posinfo.reference.guessing import evenly
from posinfo.schemas import table_fields
from posinfo.suites.base import Recorder, Suite

SUITE = Suite(
    "pretrained",
    "Real trained models, read past their trained length",
    columns=(
        "model", "method", "against", "task", "context", "position", "shift", "distance",
        "table_rows", "windows", "lowest", "highest", "standing",
    ),
)  # fmt: skip

EVIDENCE = "trained"
#: Nats that a loss may rise by and still count as kept: a hundredth of what guessing costs.
KEPT = 0.01 * evenly(49152)
_KEPT = "margin: a hundredth of what guessing evenly costs, for the window with the most"


@dataclass(frozen=True)
class Real:
    """The accepted readings of one model, and what every row of it says."""

    model: str
    settings: Mapping[str, Any]
    found: accepted.Accepted
    standing: str

    @classmethod
    def given(cls, model: str, parameters: Mapping[str, Any]) -> "Real":
        """From what the suite is told."""
        found = accepted.load(parameters["accepted"], table_fields(parameters["schema"]))
        settings = parameters["settings"]
        standing = found.standing(parameters["code"], settings)
        # Stale readings are read by the settings that they were made with.
        return cls(model, found.about["settings"][model], found, standing)

    @property
    def subject(self) -> str:
        """What rows name as measured."""
        return SOURCES[self.model].title

    @property
    def about(self) -> dict[str, Any]:
        """Columns that all rows of the model have."""
        return {"model": self.model, "standing": self.standing}

    def _where(self, measurement: str, quantity: str, **where: Any) -> list[accepted.Record]:
        return [
            record
            for record in self.found.records
            if (record["model"], record["measurement"]) == (self.model, measurement)
            and record["quantity"] == quantity
            and all(record[column] == value for column, value in where.items())
        ]

    def values(self, measurement: str, quantity: str, **where: Any) -> list[float]:
        """A quantity in every window, in their order; ``where`` holds columns and their values.

        Raises
        ------
        LookupError
            If the readings have it not once in each window, or as no finite number.
        """
        rows = self._where(measurement, quantity, **where)
        ordered = sorted(rows, key=lambda row: row["window"] or 0)
        found = [row["value"] for row in ordered]
        windows = [row["window"] for row in ordered]
        if windows != self._windows(measurement) or not all(map(_finite, found)):
            told = ", ".join(f"{column} = {value}" for column, value in where.items())
            raise LookupError(
                f"{self.found.path}: {len(rows)} readings of {self.model}, {measurement}, "
                f"{quantity}, {told}: one a window is needed, each a number"
            )
        return found

    def _windows(self, measurement: str) -> list[int | None]:
        """The windows, phrases or texts that a measurement has a reading of."""
        if measurement == "table":
            return [None]
        if measurement == "shift":
            return list(range(len(self.settings["phrases"])))
        return list(range(self.settings["texts" if measurement == "texts" else "windows"]))

    def stretch(
        self, measurement: str, quantity: str, start: int, end: int, **where: Any
    ) -> list[float]:
        """The mean of a quantity over the tokens of a stretch of positions, in every window.

        Raises
        ------
        LookupError
            If no reading lies in the stretch, of some window, or one is no finite number, or does
            not say of which window, positions and tokens it is.
        """
        sums: dict[int, list[float]] = {}
        needed = ("window", "position_from", "position_to", "value", "tokens")
        for record in self._where(measurement, quantity, **where):
            lacking = [name for name in needed if record[name] is None]
            if lacking:
                raise LookupError(
                    f"{self.found.path}: a reading of {self.model}, {quantity}, has no "
                    f"{' and no '.join(lacking)}"
                )
            if start <= record["position_from"] and record["position_to"] <= end:
                total = sums.setdefault(record["window"], [0.0, 0.0])
                total[0] += record["value"] * record["tokens"]
                total[1] += record["tokens"]
        means = [total / tokens for _, (total, tokens) in sorted(sums.items())]
        if sorted(sums) != self._windows(measurement) or not all(map(_finite, means)):
            raise LookupError(
                f"{self.found.path}: readings of {self.model}, {quantity}, from {start} to {end}: "
                "some in each window are needed, all numbers"
            )
        return means

    def texts(self, measurement: str, **where: Any) -> list[str]:
        """What the model said, as text.

        Raises
        ------
        LookupError
            If there is no such reading.
        """
        found = [
            record["value_text"]
            for record in self.found.records
            if (record["model"], record["measurement"]) == (self.model, measurement)
            and all(record[column] == value for column, value in where.items())
        ]
        if not found:
            told = ", ".join(f"{column} = {value}" for column, value in where.items())
            raise LookupError(
                f"{self.found.path}: no reading of {self.model}, {measurement}, {told}"
            )
        return found


def _finite(value: float | None) -> bool:
    """Whether it is a number: the worst of several comparisons would pass over NaN."""
    return value is not None and math.isfinite(value)


def mean(numbers: Sequence[float]) -> float:
    """The mean of a few numbers."""
    return sum(numbers) / len(numbers)


def _differences(there: Sequence[float], here: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(there, here, strict=True)]


def _basis(count: int, least: float) -> str:
    return (
        f"the spread over {count} windows of text: half the 95 % interval of the mean of their "
        f"differences, and at least {least:g}"
    )


def more(
    rows: Recorder,
    real: Real,
    quantity: str,
    there: Sequence[float],
    here: Sequence[float],
    least: float = spread.LEAST,
    **about: Any,
) -> None:
    """Assert that values are higher ``there`` than ``here``, by more than the windows' spread."""
    _higher(rows, real, quantity, _differences(there, here), least, **about)


def rises(
    rows: Recorder, real: Real, quantity: str, there: Sequence[float], here: Sequence[float],
    **about: Any,
) -> None:  # fmt: skip
    """Assert that a loss rises, and in one window at least by more than :func:`keeps` allows."""
    differences = _differences(there, here)
    kept = max(differences) <= KEPT
    _higher(rows, real, quantity, [0.0] * len(differences) if kept else differences, **about)


def _higher(
    rows: Recorder, real: Real, quantity: str, differences: Sequence[float],
    least: float = spread.LEAST, **about: Any,
) -> None:  # fmt: skip
    rows.exceeds(
        quantity, max(mean(differences), 0.0), 0.0, bound=spread.margin(differences, least),
        subject=real.subject, evidence=EVIDENCE, basis=_basis(len(differences), least),
        windows=len(differences), lowest=min(differences), highest=max(differences),
        **real.about, **about,
    )  # fmt: skip


def keeps(
    rows: Recorder,
    real: Real,
    quantity: str,
    there: Sequence[float],
    here: Sequence[float],
    bound: float = KEPT,
    basis: str = _KEPT,
    **about: Any,
) -> None:
    """Assert that no window's value ``there`` is further from ``here`` than a bound."""
    differences = _differences(there, here)
    rows.within(
        quantity, max(differences, key=abs), 0.0, bound=bound, subject=real.subject,
        evidence=EVIDENCE, basis=basis, windows=len(differences), lowest=min(differences),
        highest=max(differences), **real.about, **about,
    )  # fmt: skip


def below(
    rows: Recorder, real: Real, quantity: str, values: Sequence[float], guess: float, **about: Any
) -> None:
    """Write down a mean loss, by asserting that it is below that of guessing evenly."""
    _beside(rows, real, quantity, values, guess, min(mean(values), guess), **about)


def above(
    rows: Recorder, real: Real, quantity: str, values: Sequence[float], guess: float, **about: Any
) -> None:
    """Write down a mean loss, by asserting that it is above that of guessing evenly."""
    _beside(rows, real, quantity, values, guess, max(mean(values), guess), **about)


def like(
    rows: Recorder, real: Real, quantity: str, values: Sequence[float], guess: float, **about: Any
) -> None:
    """Write down a mean loss, by asserting that it cannot be told from that of guessing evenly."""
    differences = _differences(values, [guess] * len(values))
    rows.within(
        quantity, mean(values), guess, bound=spread.margin(differences), subject=real.subject,
        evidence=EVIDENCE, basis=_basis(len(values), spread.LEAST) + ", from guessing evenly",
        windows=len(values), lowest=min(values), highest=max(values), **real.about, **about,
    )  # fmt: skip


def _beside(
    rows: Recorder, real: Real, quantity: str, values: Sequence[float], guess: float,
    measured: float, **about: Any,
) -> None:  # fmt: skip
    differences = _differences(values, [guess] * len(values))
    rows.exceeds(
        quantity, measured, guess, bound=spread.margin(differences), subject=real.subject,
        evidence=EVIDENCE, basis=_basis(len(values), spread.LEAST) + ", from guessing evenly",
        windows=len(values), lowest=min(values), highest=max(values), **real.about, **about,
    )  # fmt: skip
