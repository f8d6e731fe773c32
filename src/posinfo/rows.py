"""A measurement row: one assertion that must hold, and the only place where that is decided.

Every suite writes rows of this form. A row states what was measured, what it is compared
with, how, and where the bound comes from. Whether it holds is decided by :func:`decide`
alone, so that no suite can have its own idea of success.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

RELATIONS = ("within", "exceeds", "equals", "raises", "needs")
EVIDENCE = ("proof", "reference", "float32", "control", "peer", "trained")
OUTCOMES = ("holds", "fails", "error", "not run")
#: Outcomes that do not fail a run; what was not run is evidence for nothing all the same.
PASSING = ("holds", "not run")

#: The columns every suite has, in the order of the CSV; a suite's own columns follow.
COLUMNS = (
    "suite",
    "case",
    "quantity",
    "subject",
    "relation",
    "measured",
    "reference",
    "error",
    "bound",
    "ratio",
    "outcome",
    "evidence",
    "basis",
    "measured_text",
    "reference_text",
    "contradicts",
)

#: The columns from which a row is decided, beside its relation.
DECIDING = ("measured", "reference", "bound", "measured_text", "reference_text")

#: The column in which rows name the package that they need, in a suite that can do without it.
LIBRARY = "library"

#: The column that says of rows which no run measures whether what they rest on was accepted and is
#: what the code of now would measure, or is stale.
STANDING, ACCEPTED, STALE = "standing", "accepted", "stale"

#: What identifies a row within its suite.
KEY = ("case", "quantity", "subject")

#: An ``exceeds`` row that contradicts a ``within`` row states at least this many times its bound.
CONTRADICTION_MARGIN = 10.0

#: A row that uses more of its bound than this is tight: it may not hold elsewhere.
TIGHT_ABOVE = 0.5
#: A ``within`` row that uses less than this has a bound too wide to say much.
WIDE_BELOW = 1e-3


@dataclass(frozen=True)
class Decision:
    """What :func:`decide` found: ``error`` and ``ratio`` are None where they mean nothing."""

    outcome: str
    error: float | None = None
    ratio: float | None = None


def decide(
    relation: str,
    *,
    measured: float | None = None,
    reference: float | None = None,
    bound: float | None = None,
    measured_text: str = "",
    reference_text: str = "",
) -> Decision:
    """Decide whether an assertion holds.

    ``within``: abs(measured - reference) <= bound, ratio = error / bound.
    ``exceeds``: abs(measured - reference) >= bound, ratio = bound / error.
    ``equals``: the two numbers, or the two texts, are the same.
    ``raises``: the two texts, an exception's type and message, are the same.
    ``needs``: the two texts, the version of a package that is there and the one that the
    measurement needs, are the same; otherwise it was *not run*, which is no failure.

    A missing value, NaN or infinity on either side, or a bound that is not a positive
    number, gives the outcome ``error``: it is evidence for nothing.

    Raises
    ------
    ValueError
        If the relation is unknown; that is a fault of the suite, not of what it measures.
    """
    if relation not in RELATIONS:
        raise ValueError(f"unknown relation {relation!r}, allowed: {', '.join(RELATIONS)}")
    if relation == "raises" or (relation == "equals" and measured is None and reference is None):
        if not measured_text or not reference_text:
            return Decision("error")
        return Decision("holds" if measured_text == reference_text else "fails")
    if relation == "needs":
        if not measured_text or not reference_text:
            return Decision("error")
        return Decision("holds" if measured_text == reference_text else "not run")
    if not _finite(measured) or not _finite(reference):
        return Decision("error")
    error = abs(measured - reference)
    if relation == "equals":
        return Decision("holds" if error == 0 else "fails", error)
    if not _finite(bound) or bound <= 0 or not _finite(error):
        return Decision("error")
    if relation == "within":
        return Decision("holds" if error <= bound else "fails", error, error / bound)
    if error == 0:
        return Decision("fails", error)
    return Decision("holds" if error >= bound else "fails", error, bound / error)


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


@dataclass(frozen=True)
class Row:
    """One decided assertion; ``extra`` holds the columns that only its suite has."""

    suite: str
    case: str
    quantity: str
    subject: str
    relation: str
    evidence: str
    basis: str
    decision: Decision
    measured: float | None = None
    reference: float | None = None
    bound: float | None = None
    measured_text: str = ""
    reference_text: str = ""
    contradicts: str = ""
    extra: Mapping[str, object] = field(default_factory=dict)

    def record(self) -> dict[str, object]:
        """The row as a flat mapping from column to value."""
        own = {name: getattr(self, name, None) for name in COLUMNS}
        own["error"] = self.decision.error
        own["ratio"] = self.decision.ratio
        own["outcome"] = self.decision.outcome
        return own | dict(self.extra)


def key_text(case: str, quantity: str, subject: str) -> str:
    """How a row is named in ``contradicts`` and in messages."""
    return f"{case} / {quantity} / {subject}"
