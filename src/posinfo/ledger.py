"""The ledger: each claim joined to its rows, and the verdict that follows.

A verdict is never looked up: it follows from which rows a claim selects, how many, and
whether they hold. Whatever is off (a row missing or one too many, a row that does not hold,
a condition that does not separate support from counter-example) makes the claim *undecided*,
which the gate refuses. A claim that selects rows by a package which is not there is *not run*, and
one whose rows rest on readings of another code than the one of now is *stale*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from posinfo.claims import Claim, Selector
from posinfo.errors import InputError
from posinfo.numbers_text import at_least, at_most, significant
from posinfo.rows import (
    CONTRADICTION_MARGIN,
    DECIDING,
    KEY,
    LIBRARY,
    STALE,
    STANDING,
    decide,
    key_text,
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """A claim with what this run made of it."""

    claim: Claim
    reproduced: str
    supporting: tuple[Row, ...]
    breaking: tuple[Row, ...]
    problems: tuple[str, ...]
    condition: str
    why: str
    headline: str

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows that decide the claim: those that support it, then those that break it."""
        return self.supporting + self.breaking

    @property
    def evidence(self) -> list[str]:
        """The kinds of evidence among the rows, in alphabetical order."""
        return sorted({row["evidence"] for row in self.rows})

    @property
    def standing(self) -> str:
        """What its rows of real models rest on: *accepted* or *stale* readings, or nothing."""
        found = {row.get(STANDING) for row in self.rows} - {None, ""}
        return STALE if STALE in found else "".join(sorted(found))

    @property
    def tightest(self) -> float | None:
        """The largest ratio among the rows: how much of its bound the closest one used."""
        return max((row["ratio"] for row in self.rows if row["ratio"] is not None), default=None)

    def record(self) -> dict[str, object]:
        """The entry as a row of ``results/ledger.csv``."""
        claim = self.claim
        return {
            "id": claim.id,
            "covers": " ".join(claim.covers),
            "lesson": claim.lesson,
            "section": claim.section,
            "kind": claim.kind,
            "statement": claim.statement,
            "condition": self.condition,
            "recorded": claim.verdict,
            "reproduced": self.reproduced,
            "standing": self.standing,
            "evidence": " ".join(self.evidence),
            "tightest_ratio": self.tightest,
            "rows": len(self.rows),
            "files": " ".join(f"results/suites/{suite}.csv" for suite in claim.suites),
            "rejects": claim.rejects,
            "no_fault": claim.no_fault,
            "why": self.why,
            "headline": self.headline,
            "problem": "; ".join(self.problems) + (f" (in {claim.file})" if self.problems else ""),
        }


def decide_claims(claims: Sequence[Claim], rows: Sequence[Row]) -> list[Entry]:
    """Join every claim to its rows and decide it."""
    by_suite: dict[str, list[Row]] = {}
    lacking: dict[tuple[str, Any], str] = {}
    for row in rows:
        if row["outcome"] == "not run":  # decides nothing: it says why others are not there
            lacking[row["suite"], row.get(LIBRARY)] = f"{row['subject']} {row['reference_text']}"
        else:
            by_suite.setdefault(row["suite"], []).append(row)
    return [_decide(claim, by_suite, lacking) for claim in claims]


def _decide(
    claim: Claim, by_suite: Mapping[str, Sequence[Row]], lacking: Mapping[tuple[str, Any], str]
) -> Entry:
    if claim.kind != "computed":
        reproduced = {"source": "read", "judgement": "judgement", "awaiting": "awaiting"}
        return Entry(claim, reproduced[claim.kind], (), (), (), "", claim.why, claim.headline)
    problems: list[str] = []
    not_run: dict[str, None] = {}
    supporting = _collect(claim.supports, by_suite, lacking, problems, not_run)
    breaking = _collect(claim.breaks, by_suite, lacking, problems, not_run)
    bad = [row for row in supporting + breaking if row["outcome"] != "holds"]
    if bad:
        problems.append(
            f"{len(bad)} of its {len(supporting) + len(breaking)} rows do not hold, "
            f"such as {row_name(bad[0])}"
        )
    if not_run and not problems:
        *others, last = sorted(not_run)
        needed = f"{', '.join(others)} and {last}" if others else last
        why = f"It needs {needed}; the recorded verdict is {claim.verdict}."
        return Entry(claim, "not run", tuple(supporting), tuple(breaking), (), "", why, "")
    if claim.differs_in and not problems:
        common = _values(supporting, claim.differs_in) & _values(breaking, claim.differs_in)
        if common:
            problems.append(
                f"{' and '.join(claim.differs_in)} do not separate what holds from what breaks: "
                f"both have {' and '.join(map(str, sorted(common, key=str)[0]))}"
            )
    prose = {"condition": "", "why": "", "headline": ""}
    if not problems:
        try:
            prose = {key: fill(getattr(claim, key), supporting, breaking, key) for key in prose}
        except InputError as error:
            problems.append(str(error))
    if problems:
        return Entry(
            claim, "undecided", tuple(supporting), tuple(breaking), tuple(problems), "", "", ""
        )
    if any(row.get(STANDING) == STALE for row in supporting + breaking):
        why = (
            "The code that measures real models, or its settings, have changed since they were "
            f"measured; the recorded verdict is {claim.verdict}."
        )
        return Entry(claim, STALE, tuple(supporting), tuple(breaking), (), "", why, "")
    verdict = ("conditional" if supporting else "refuted") if breaking else "verified"
    return Entry(claim, verdict, tuple(supporting), tuple(breaking), (), **prose)


def select(selector: Selector, by_suite: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The rows that a selector finds, in the order of the suite's CSV."""
    return [row for row in by_suite.get(selector.suite, ()) if selector.matches(row)]


def _collect(
    selectors: Sequence[Selector],
    by_suite: Mapping[str, Sequence[Row]],
    lacking: Mapping[tuple[str, Any], str],
    problems: list[str],
    not_run: dict[str, None],
) -> list[Row]:
    """The rows that selectors find; what is wrong with them, and which packages they lack."""
    collected: list[Row] = []
    for selector in selectors:
        found = select(selector, by_suite)
        absent = [
            lacking[selector.suite, name]
            for name in selector.where.get(LIBRARY, ())
            if (selector.suite, name) in lacking
        ]
        if absent:
            # Which of its rows there would be is not known: those that there are must hold.
            not_run |= dict.fromkeys(absent)
            collected += [row for row in found if row not in collected]
            continue
        if len(found) != selector.rows:
            problems.append(f"{selector.text()} finds {len(found)} rows, expected {selector.rows}")
        for column, values in selector.where.items():
            absent = [value for value in values if all(row.get(column) != value for row in found)]
            if absent and found:
                problems.append(f"{selector.text()} finds no row with {column} = {absent[0]}")
        collected += [row for row in found if row not in collected]
    return collected


def _values(rows: Sequence[Row], columns: Sequence[str]) -> set[tuple[Any, ...]]:
    return {tuple(row.get(column) for column in columns) for row in rows}


def row_name(row: Row) -> str:
    """How a row is named to a reader: suite, case, quantity and subject."""
    return f"{row['suite']}: {key_text(*(row[name] for name in KEY))}"


def decided_anew(row: Row) -> str:
    """The outcome that a row's own values give."""
    try:
        return decide(row["relation"], **{name: row.get(name) for name in DECIDING}).outcome
    except ValueError as error:
        return f"an error: {error}"


def row_problem(row: Row) -> str:
    """Why a row does not hold, in one line."""
    if row["outcome"] == "fails" and decided_anew(row) == "holds":
        return f"{row_name(row)}: is said to fail, and its own values give holds"
    if row["outcome"] == "error":
        found = row["measured_text"] or ", ".join(
            f"{name} {row[name]}" for name in ("measured", "reference", "bound")
        )
        return f"{row_name(row)}: error, {found}"
    if row["relation"] in ("within", "exceeds"):
        sign = "≤" if row["relation"] == "within" else "≥"
        return (
            f"{row_name(row)}: error {significant(row['error'], 3)} "
            f"is not {sign} {significant(row['bound'], 3)}"
        )
    numbers = row["measured"] is not None
    measured, reference = (
        (row["measured"], row["reference"])
        if numbers
        else (row["measured_text"], row["reference_text"])
    )
    return f"{row_name(row)}: measured {measured}, expected {reference}"


def contradiction_problems(rows: Sequence[Row]) -> list[str]:
    """Rows that claim to contradict another and do not state a wide enough margin."""
    problems = []
    by_name = {(row["suite"], key_text(*(row[name] for name in KEY))): row for row in rows}
    for row in rows:
        if not row["contradicts"]:
            continue
        other = by_name.get((row["suite"], row["contradicts"]))
        if other is None or other["relation"] != "within":
            problems.append(
                f"{row_name(row)}: contradicts no 'within' row named {row['contradicts']}"
            )
        elif not _wide_enough(row["bound"], other["bound"]):
            problems.append(
                f"{row_name(row)}: its bound {significant(row['bound'], 3)} is not "
                f"{CONTRADICTION_MARGIN:g} times the bound of {row['contradicts']}"
            )
    return problems


def _wide_enough(bound: float | None, contradicted: float | None) -> bool:
    """Whether a bound is ten times another: false if either is missing or NaN."""
    if bound is None or contradicted is None:
        return False
    return bound >= CONTRADICTION_MARGIN * contradicted


@dataclass(frozen=True)
class Extremes:
    """The smallest and largest value of one column over a claim's rows, for its prose."""

    min: float
    max: float


class Selected:
    """What a claim's ``why`` may say of its rows: ``{{ breaks.error.max | sig(2) }}``."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.count = len(rows)
        for column in dict.fromkeys(column for row in rows for column in row):
            values = [row[column] for row in rows if isinstance(row.get(column), (int, float))]
            if values:
                setattr(self, column, Extremes(min(values), max(values)))


_PROSE = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701
# "At most" and "at least" round to the side on which they stay true.
_PROSE.filters.update(sig=significant, up=at_most, down=at_least)


def fill(text: str, supporting: Sequence[Row], breaking: Sequence[Row], key: str) -> str:
    """Put measured numbers into a claim's prose, so that none is ever typed.

    Plain text comes out: the page escapes it, as it does every text.

    Raises
    ------
    InputError
        If the text is no template, or asks for what the claim's rows do not have.
    """
    try:
        return _PROSE.from_string(text).render(
            supports=Selected(supporting), breaks=Selected(breaking)
        )
    except Exception as error:  # a template can go wrong in any way that Python can
        raise InputError(key, str(error)) from error
