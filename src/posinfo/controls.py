"""Negative controls of claims: measured with a fault in place, a claim must come out undecided.

A claim that names a fault (``rejects``) is decided anew from the cases that it selects, measured
with the fault's stand-ins in the place of the library's functions. If it still has a verdict, its
rows would let that faulty implementation through, and the claim says less than it seems to. A case
that crashes under the fault is evidence for nothing: what it should have measured is left out.
"""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from posinfo import numerics
from posinfo.claims import Claim, Selector, asked_for, suites_under_faults
from posinfo.extras import NEEDED
from posinfo.ledger import decide_claims, row_problem, select
from posinfo.rows import Row, decide

#: What the rows of controls carry in the columns ``suite`` and ``case``.
SUITE = "controls"
CASE = "claims under faults"
#: What a claim must be under the fault that it names.
REJECTED = "undecided"
#: The measured text where every case of a claim crashes under its fault.
CRASHED = "crashed"
#: The case that says which packages there are, in a suite that can do without some.
LIBRARIES = "libraries"
NOT_RUN = "not run"

Record = Mapping[str, Any]


def control(
    claims: Sequence[Mapping[str, Any]], parameters: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, object]]:
    """Decide claims anew, each with its fault in place.

    Parameters
    ----------
    claims
        As :func:`posinfo.claims.under_faults` makes them.
    parameters
        What each suite is told, by its name.

    Returns
    -------
    list of dict
        A row a claim, in the order of the claims. It asserts that the claim is undecided.

    Raises
    ------
    InputError
        If a fault has no stand-ins, or one replaces what does not exist.
    KeyError
        If a suite has no such case.
    """
    numerics.set_environment()
    numerics.torch_with_profile()
    # Imported here: torch is with them.
    from posinfo.faults.inject import injected
    from posinfo.faults.stand_ins import stand_ins

    built = [asked_for(entry) for entry in claims]
    # All suites are imported before any fault is in place.
    suites = {
        name: importlib.import_module(f"posinfo.suites.{name}").SUITE
        for name in suites_under_faults(built)
    }
    by_fault: dict[str, dict[tuple[str, str], None]] = {}
    for claim in built:
        cases = cases_of(claim, {name: tuple(suite.cases) for name, suite in suites.items()})
        by_fault.setdefault(claim.rejects, {}).update(cases)
    in_place = {fault: stand_ins(fault) for fault in by_fault}
    measured: dict[str, list[_Case]] = {}
    for fault, cases in by_fault.items():
        print(f"With the fault {fault!r} in place:", flush=True)
        with injected(in_place[fault]):
            measured[fault] = [
                _measure(suites[name], case, parameters[name]) for name, case in cases
            ]
    lacking = [
        row
        for name in NEEDED
        if name in suites
        for row in _measure(suites[name], LIBRARIES, parameters[name]).rows
        if row["outcome"] == NOT_RUN
    ]
    return [_row(claim, measured[claim.rejects], lacking).record() for claim in built]


class _Case(NamedTuple):
    """A case measured with a fault in place; one that crashed has no rows."""

    suite: str
    name: str
    rows: list[Record]
    crashed: str


def _measure(suite: Any, name: str, parameters: Mapping[str, Any]) -> _Case:
    rows = [
        row.record()
        for row in suite.run(parameters, only=name, say=lambda line: print(line, flush=True))
    ]
    crash = next((row for row in rows if row["quantity"] == "measurement completes"), None)
    return _Case(suite.name, name, [] if crash else rows, crash["measured_text"] if crash else "")


def cases_of(claim: Claim, known: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], None]:
    """The cases of which a claim selects rows, as keys in its order."""
    return {
        (selector.suite, case): None
        for selector in claim.supports + claim.breaks
        for case in selector.where.get("case", known[selector.suite])
    }


def needed_by(claim: Claim) -> list[tuple[str, str]]:
    """The cases that say whether the packages are there which a claim's suites can do without."""
    return [(suite, LIBRARIES) for suite in claim.suites if suite in NEEDED]


def _row(claim: Claim, measured: Sequence[_Case], lacking: Sequence[Record]) -> Row:
    """The assertion that a claim is undecided, from cases that were measured under its fault.

    ``lacking`` are the rows that name packages which are not there: a claim that needs them is
    not run, under its fault too.
    """
    crashed = {(case.suite, case.name): case.crashed for case in measured if case.crashed}
    rows = [row for case in measured for row in case.rows]
    kept = replace(
        claim, **{
            side: tuple(
                selector for selector in getattr(claim, side) if not _crashed(selector, crashed)
            )
            for side in ("supports", "breaks")
        },
    )  # fmt: skip
    selectors = claim.supports + claim.breaks
    asked = sum(selector.rows for selector in selectors)
    if not (kept.supports or kept.breaks):
        text, found, first, holding = CRASHED, next(iter(crashed.values())), "", 0
    else:
        [entry] = decide_claims([kept], [*rows, *lacking])
        text = entry.reproduced
        holding = sum(row["outcome"] == "holds" for row in entry.rows)
        first, found = _first(entry.rows, kept, rows, entry.problems)
    values = {"measured_text": text, "reference_text": REJECTED}
    return Row(
        suite=SUITE, case=CASE, quantity=f"verdict of {claim.id}", subject=claim.rejects,
        relation="equals", evidence="control",
        basis="rows measured with the fault in place must not decide the claim",
        decision=decide("equals", **values),
        extra={
            "claim": claim.id, "fault": claim.rejects, "rows_asked": asked,
            "rows_lost": max(asked - holding, 0), "first_lost": first, "found": found,
        },
        **values,
    )  # fmt: skip


def _crashed(selector: Selector, crashed: Mapping[tuple[str, str], str]) -> bool:
    """Whether a case of which rows are selected crashed."""
    cases = selector.where.get("case")
    return any(
        suite == selector.suite and (cases is None or case in cases) for suite, case in crashed
    )


def _first(
    selected: Sequence[Record], claim: Claim, rows: Sequence[Record], problems: Sequence[str]
) -> tuple[str, str]:
    """The first quantity that does not hold any more, and what was found of it."""
    bad = [row for row in selected if row["outcome"] != "holds"]
    if not bad:
        # A row may have left the selection because of its value: then it is the same without it.
        by_suite: dict[str, list[Record]] = {}
        for row in rows:
            by_suite.setdefault(row["suite"], []).append(row)
        values = ("measured", "measured_text", "bound", "reference")
        bad = [
            row
            for selector in claim.supports + claim.breaks
            for row in select(
                replace(
                    selector,
                    where={
                        column: asked
                        for column, asked in selector.where.items()
                        if column not in values
                    },
                ),
                by_suite,
            )
            if row["outcome"] != "holds"
        ]
    if bad:
        return bad[0]["quantity"], row_problem(bad[0]).rpartition(f"{bad[0]['subject']}: ")[2]
    return "", "; ".join(problems)
