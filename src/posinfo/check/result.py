"""What was found out about a function, and which statements of the lessons hold for it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from posinfo.check.target import Target

#: Version of the form of ``--json``: raised when a key changes its meaning or goes.
SCHEMA = 1

HOLDS, FAILS, NOT_ASKED = "holds", "fails", "not asked"
#: What comes of a statement if a check that it rests on fails: no verdict on the statement, for a
#: check asks about more than one.
CHECK_FAILS = "check fails"


@dataclass(frozen=True)
class CheckInfo:
    """A check as people read it; see :class:`posinfo.battery.base.Check`."""

    name: str
    promise: str
    unit: str
    decides: Sequence[str]
    asked: bool = True


@dataclass(frozen=True)
class Finding:
    """What a check found; see :class:`posinfo.battery.base.Finding`."""

    check: str
    outcome: str
    words: str = ""
    measured: float | None = None
    bound: float | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Nearest:
    """The known fault that the function behaves like, and what to do about it.

    ``share`` is how much alike they are: 1 if they agree in every call that was compared.
    ``compared`` is ``results``, or ``checks`` if all that is alike is which checks fail: then there
    is no hint. ``same`` says whether all of what was compared is the same.
    """

    name: str
    hint: str
    wrong: str
    share: float
    compared: str = "results"
    same: bool = False


@dataclass(frozen=True)
class Stated:
    """A claim of the lessons, and what is known of it for the function.

    ``outcome`` is that all its ``checks`` hold, that one fails (:data:`CHECK_FAILS`), or that one
    was not asked.
    """

    id: str
    covers: tuple[str, ...]
    statement: str
    recorded: str
    outcome: str
    checks: tuple[str, ...]


@dataclass
class Result:
    """All that was found out about one function.

    ``form``, ``text`` and ``axes`` say how it was called, ``tables`` and ``layout`` what was found
    about its tables and its pairs. ``other_axes`` are axes with which it would be right,
    ``diagnosis`` says what could be read off its rotations.
    """

    target: Target
    form: str = ""
    text: str = ""
    axes: str = ""
    tables: str | None = None
    layout: str | None = None
    known: list[CheckInfo] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    diagnosis: list[str] = field(default_factory=list)
    nearest: Nearest | None = None
    other_axes: str | None = None
    claims: list[Stated] = field(default_factory=list)

    @property
    def checks(self) -> list[CheckInfo]:
        """The checks that were to be asked: all that are known, unless some were chosen."""
        return [info for info in self.known if info.asked]

    @property
    def good(self) -> bool:
        """Whether everything that was asked holds, and something was."""
        outcomes = {finding.outcome for finding in self.findings}
        return FAILS not in outcomes and HOLDS in outcomes

    @property
    def counts(self) -> dict[str, int]:
        """How many checks have each outcome."""
        return {
            outcome: sum(finding.outcome == outcome for finding in self.findings)
            for outcome in (HOLDS, FAILS, NOT_ASKED)
        }

    def info(self, check: str) -> CheckInfo:
        """The check of that name."""
        return next(info for info in self.checks if info.name == check)

    def ended(self, check: str, words: str) -> None:
        """Note that the process ended, or did not, in a check; the later ones were not asked."""
        done = {finding.check for finding in self.findings}
        rest = [info.name for info in self.checks if info.name not in done]
        self.findings.append(Finding(check or rest[0], FAILS, words))

    def complete(self) -> None:
        """Give each check a finding, in their order."""
        found = {finding.check: finding for finding in self.findings}
        self.findings = [
            found.get(info.name, Finding(info.name, NOT_ASKED, "it ended in an earlier check"))
            for info in self.checks
        ]

    def record(self) -> dict[str, Any]:
        """The result for machines; numbers in full, infinity and NaN as text."""
        return finite(
            {
                "schema": SCHEMA,
                "file": self.target.file,
                "function": self.target.function,
                "outcome": HOLDS if self.good else FAILS,
                "form": self.form,
                "axes": self.axes,
                "tables": self.tables,
                "layout": self.layout,
                "rotary_dim": self.target.rotary_dim,
                "last_position": self.target.last_position,
                "counts": self.counts,
                "checks": [
                    {
                        "check": finding.check,
                        "promise": self.info(finding.check).promise,
                        "outcome": finding.outcome,
                        "measured": finding.measured,
                        "bound": finding.bound,
                        "unit": self.info(finding.check).unit,
                        "words": finding.words,
                        "notes": list(finding.notes),
                    }
                    for finding in self.findings
                ],
                "claims": [
                    {
                        "id": claim.id,
                        "covers": list(claim.covers),
                        "statement": claim.statement,
                        "recorded": claim.recorded,
                        "outcome": claim.outcome,
                        "checks": list(claim.checks),
                    }
                    for claim in self.claims
                ],
                "diagnosis": self.diagnosis,
                "nearest_fault": asdict(self.nearest) if self.nearest else None,
                "right_with_axes": self.other_axes,
                "notes": self.notes,
            }
        )


def finite(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become text, for null would read as missing."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value
