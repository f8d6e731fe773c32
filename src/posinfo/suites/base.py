"""What a suite is: a name and a list of measurements, each of which asserts rows."""

import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from posinfo.rows import EVIDENCE, Decision, Row, decide, key_text

Measurement = Callable[["Recorder", Mapping[str, Any]], None]


def describe(error: Exception) -> str:
    """An exception as one line: ``TypeName: message``."""
    return " ".join(f"{type(error).__name__}: {error}".split())


class Recorder:
    """Collects the rows of one case of a suite.

    Parameters
    ----------
    suite, case
        The names that all rows of this recorder carry.
    columns
        The columns that only this suite has; a row may leave some empty, not add others.
    """

    def __init__(self, suite: str, case: str, columns: Iterable[str]) -> None:
        self.suite = suite
        self.case = case
        self.columns = tuple(columns)
        self.rows: list[Row] = []
        self._keys: set[tuple[str, str]] = set()

    def within(
        self,
        quantity: str,
        measured: float,
        reference: float,
        *,
        bound: float,
        subject: str,
        evidence: str,
        basis: str,
        **extra: object,
    ) -> None:
        """Assert abs(measured - reference) <= bound."""
        self._add(
            "within", quantity, subject, evidence, basis, extra,
            measured=float(measured), reference=float(reference), bound=float(bound),
        )  # fmt: skip

    def exceeds(
        self,
        quantity: str,
        measured: float,
        reference: float,
        *,
        bound: float,
        subject: str,
        evidence: str,
        basis: str,
        contradicts: tuple[str, str, str] | None = None,
        **extra: object,
    ) -> None:
        """Assert abs(measured - reference) >= bound.

        ``contradicts`` names the ``within`` row that this one shows to break, as
        (case, quantity, subject) in the same suite.
        """
        self._add(
            "exceeds", quantity, subject, evidence, basis, extra,
            measured=float(measured), reference=float(reference), bound=float(bound),
            contradicts=key_text(*contradicts) if contradicts else "",
        )  # fmt: skip

    def equals(
        self,
        quantity: str,
        measured: object,
        reference: object,
        *,
        subject: str,
        evidence: str,
        basis: str,
        **extra: object,
    ) -> None:
        """Assert that two numbers, or two texts (shapes, types, formulas), are the same."""
        if isinstance(measured, (int, float)) and isinstance(reference, (int, float)):
            values = {"measured": float(measured), "reference": float(reference)}
        elif isinstance(measured, str) and isinstance(reference, str):
            values = {"measured_text": measured, "reference_text": reference}
        else:
            raise TypeError(
                f"{quantity}: two numbers or two texts are compared, got "
                f"{type(measured).__name__} and {type(reference).__name__}"
            )
        self._add("equals", quantity, subject, evidence, basis, extra, **values)

    def raises(
        self,
        quantity: str,
        call: Callable[[], object],
        reference: str,
        *,
        subject: str,
        evidence: str,
        basis: str,
        **extra: object,
    ) -> None:
        """Assert that ``call`` raises ``reference``, written as ``TypeName: message``."""
        try:
            result = call()
        except Exception as error:  # whatever it raises is what is measured
            measured = describe(error)
        else:
            measured = f"no error: returned {type(result).__name__}"
        self._add(
            "raises", quantity, subject, evidence, basis, extra,
            measured_text=measured, reference_text=reference,
        )  # fmt: skip

    def needs(
        self,
        package: str,
        found: str,
        version: str,
        *,
        evidence: str,
        basis: str,
        **extra: object,
    ) -> bool:
        """Record whether a package is there in its version; without it the caller goes on.

        Returns
        -------
        bool
            Whether its rows can be made. If not, the row's outcome is *not run*.
        """
        self._add(
            "needs", f"version of {package}", package, evidence, basis, extra,
            measured_text=found, reference_text=version,
        )  # fmt: skip
        return self.rows[-1].decision.outcome == "holds"

    def crashed(self, error: Exception, *, subject: str) -> None:
        """Record that the measurement itself failed: an ``error`` row, whatever is claimed."""
        self.rows.append(
            Row(
                suite=self.suite, case=self.case, quantity="measurement completes",
                subject=subject, relation="raises", evidence="float32",
                basis="a crash is evidence for nothing", decision=Decision("error"),
                measured_text=describe(error), reference_text="no error",
            )
        )  # fmt: skip

    def _add(
        self,
        relation: str,
        quantity: str,
        subject: str,
        evidence: str,
        basis: str,
        extra: Mapping[str, object],
        contradicts: str = "",
        **values: Any,
    ) -> None:
        unknown = set(extra) - set(self.columns)
        if unknown:
            raise ValueError(f"suite {self.suite} has no column {', '.join(sorted(unknown))}")
        key = (quantity, subject)
        if key in self._keys:
            raise ValueError(f"two rows named {key_text(self.case, *key)!r}")
        self._keys.add(key)
        if evidence not in EVIDENCE:
            raise ValueError(f"unknown evidence {evidence!r}, allowed: {', '.join(EVIDENCE)}")
        self.rows.append(
            Row(
                suite=self.suite, case=self.case, quantity=quantity, subject=subject,
                relation=relation, evidence=evidence, basis=basis,
                decision=decide(relation, **values), contradicts=contradicts,
                extra=dict(extra), **values,
            )
        )  # fmt: skip


class Suite:
    """A named list of measurements.

    Parameters
    ----------
    name
        The suite's name: its section in the config and its CSV carry it.
    title
        What it measures, for people.
    columns
        The columns it adds to the common ones, in the order of the CSV.
    """

    def __init__(self, name: str, title: str, columns: Iterable[str] = ()) -> None:
        self.name = name
        self.title = title
        self.columns = tuple(columns)
        self.cases: dict[str, Measurement] = {}

    def case(self, name: str) -> Callable[[Measurement], Measurement]:
        """Register a measurement under the name that its rows carry in the column ``case``."""

        def register(measurement: Measurement) -> Measurement:
            if name in self.cases:
                raise ValueError(f"suite {self.name} has two cases named {name!r}")
            self.cases[name] = measurement
            return measurement

        return register

    def run(
        self,
        parameters: Mapping[str, Any],
        *,
        only: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> list[Row]:
        """Measure and return the rows, sorted by their key.

        A measurement that crashes keeps the rows it had and adds one with the outcome
        ``error``; its traceback goes to ``say``. A crash is evidence for nothing, and one
        case's crash does not keep the others from being measured.
        """
        rows: list[Row] = []
        chosen = {only: self.cases[only]} if only else self.cases
        for number, (name, measurement) in enumerate(chosen.items(), start=1):
            recorder = Recorder(self.name, name, self.columns)
            try:
                measurement(recorder, parameters)
            except Exception as error:
                say(traceback.format_exc())
                recorder.crashed(error, subject=f"{measurement.__module__}.{measurement.__name__}")
            rows += recorder.rows
            say(f"{self.name}: {number} of {len(chosen)} cases, {name}: {len(recorder.rows)} rows")
        return sorted(rows, key=lambda row: (row.case, row.quantity, row.subject))
