"""What a battery is: checks, each of which asks a subject one question and returns a finding."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

#: What a check may find. ``not asked`` is no evidence: the subject has nothing to be asked about,
#: such as a base that its form does not take.
OUTCOMES = ("holds", "fails", "not asked")


class Misbehaviour(Exception):
    """The subject did something that no implementation of its kind may do; the words say what."""


#: Attribute of an exception that says, as ``rope.py:27``, where it was raised. Set by who knows.
PLACE = "_posinfo_place"


class NotAsked(Exception):
    """The check has nothing to ask this subject; the words say why."""


@dataclass(frozen=True)
class Finding:
    """What one check found out about one subject.

    Parameters
    ----------
    check
        Name of the check.
    outcome
        One of :data:`OUTCOMES`.
    words
        What was found, for people: where the worst value lies, or what the subject did instead.
    measured, bound
        The worst error and its bound, in the unit of the check; None where nothing is measured,
        as for a shape. Infinite for NaN.
    notes
        What a reader should know although nothing fails.
    """

    check: str
    outcome: str
    words: str = ""
    measured: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def rejects(self) -> bool:
        """Whether the check rejected the subject."""
        return self.outcome == "fails"

    @property
    def used(self) -> float | None:
        """How much of the bound the error uses; None where nothing is measured."""
        if self.measured is None or self.bound is None:
            return None
        if self.bound == 0:
            return 0.0 if self.measured == 0 else math.inf
        return self.measured / self.bound


@dataclass(frozen=True)
class Check:
    """One question to a subject.

    Parameters
    ----------
    name
        Stable name, in a few words: the column of the detection matrix.
    promise
        What a right implementation does, as a sentence.
    unit
        Unit of the measured value and its bound; empty where nothing is measured.
    ask
        Takes what the battery's ``open`` makes of a subject. May raise :class:`Misbehaviour`
        or :class:`NotAsked`; :func:`examine` turns both into findings.
    decides
        Ids of the lessons' statements that hold for a subject only if this check holds.
    """

    name: str
    promise: str
    unit: str
    ask: Callable[[Any], Finding]
    decides: tuple[str, ...] = ()


@dataclass(frozen=True)
class Battery:
    """The checks of one kind of implementation.

    Parameters
    ----------
    kind
        Such as ``rotary``.
    checks
        In the order in which people read them: a check after those that it builds upon.
    open
        Makes of a subject what the checks take. Called anew for each check, so that none sees
        what another left behind.
    """

    kind: str
    checks: tuple[Check, ...]
    open: Callable[[Any], Any]

    def names(self) -> tuple[str, ...]:
        """The names of the checks, in order."""
        return tuple(check.name for check in self.checks)


def examine(
    battery: Battery,
    make: Callable[[], Any],
    *,
    only: Sequence[str] | None = None,
    say: Callable[[Finding], None] = lambda _: None,
) -> list[Finding]:
    """Ask a subject all questions of its battery.

    Parameters
    ----------
    battery
        The checks.
    make
        Returns the subject. Called once a check: a faulty subject that keeps state cannot then
        spoil the checks that come after. For a reader's function it returns the same one.
    only
        Names of the checks to ask; all if None.
    say
        Is told each finding at once.

    Returns
    -------
    list of Finding
        One a check, in the order of the battery. An exception that the subject raises is a
        finding, whichever it is.
    """
    findings = []
    for check in battery.checks:
        if only is not None and check.name not in only:
            continue
        try:
            finding = replace(check.ask(battery.open(make())), check=check.name)
        except NotAsked as reason:
            finding = Finding(check.name, "not asked", str(reason))
        except Misbehaviour as what:
            finding = Finding(check.name, "fails", str(what))
        findings.append(finding)
        say(finding)
    return findings


def verdict(measured: float, bound: float, words: str = "", notes: Sequence[str] = ()) -> Finding:
    """A finding from an error and its bound; NaN fails, for no comparison with it is true."""
    holds = measured <= bound
    measured = math.inf if math.isnan(measured) else measured
    return Finding("", "holds" if holds else "fails", words, measured, bound, tuple(notes))


def stated(holds: bool, words: str = "", notes: Sequence[str] = ()) -> Finding:
    """A finding where nothing is measured."""
    return Finding("", "holds" if holds else "fails", words, notes=tuple(notes))


def worst_of(findings: Sequence[Finding]) -> Finding:
    """The finding that uses most of its bound, of several that measure."""
    return max(findings, key=lambda finding: finding.used or 0.0)
