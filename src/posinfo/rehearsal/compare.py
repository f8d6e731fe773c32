"""Rows of two measurements side by side: which kept their bytes, which moved, and by how much."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from posinfo.claims import Claim
from posinfo.ledger import decide_claims
from posinfo.rows import COLUMNS, DECIDING, KEY
from posinfo.tidy import number_text

Record = Mapping[str, Any]

#: Bits of a float32's significand after the leading one, and its smallest exponent.
_BITS, _SMALLEST = 23, -126


@dataclass(frozen=True)
class Changes:
    """What became of rows; sums and largest values of several are made by :func:`together`.

    Attributes
    ----------
    rows
        Rows that the reference has.
    kept
        Those of them that are the same to the last byte.
    moved
        Those in which a cell is another one.
    lost, added
        Rows that only the reference has, and that it has not.
    elsewhere
        Rows that moved and whose reference or bound is another one, too: the row is the worst of
        many comparisons, and the worst is another one now. Their measured values are of different
        things, so that the changes below leave them out, but for the share of the bound.
    beside
        Rows that moved in other columns alone: what was measured, and what decides, is the same.
    not_finite
        Rows that moved to, or from, a measured value that is NaN, infinite or missing.
    texts
        Rows whose measured text is another one.
    outcomes
        Rows that have another outcome; each lost row is one.
    ulps
        Largest change of a measured value in units in the last place of float32 at the
        reference's value. Rows that are to be zero are left out: their measured value is a
        distance already, and its own last place means nothing.
    absolute
        Largest absolute change of a measured value.
    relative
        The same relative to the reference's value, or one where that is zero; rows that are to be
        zero are left out.
    of_bound
        Largest change of a measured value as a share of the row's bound. Of rows whose worst is
        elsewhere, and of those that must exceed their bound, the change of the column ``ratio``.
    others
        Largest relative change of a number in the columns that only its suite has.
    """

    rows: int = 0
    kept: int = 0
    moved: int = 0
    lost: int = 0
    added: int = 0
    elsewhere: int = 0
    beside: int = 0
    not_finite: int = 0
    texts: int = 0
    outcomes: int = 0
    ulps: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
    of_bound: float = 0.0
    others: float = 0.0

    def record(self) -> dict[str, Any]:
        """The changes as columns."""
        return dict(vars(self))


def together(several: Iterable[Changes]) -> Changes:
    """Sums of the counts, and the largest of each change."""
    found = list(several)
    return Changes(
        **{
            field.name: (sum if field.type is int else max)(
                (getattr(one, field.name) for one in found),
                **({} if field.type is int else {"default": 0.0}),
            )
            for field in fields(Changes)
        }
    )


def ulp(value: float) -> float:
    """The distance of float32's numbers at a value: its unit in the last place.

    >>> ulp(1.0) == 2.0**-23, ulp(0.0) == 2.0**-149
    (True, True)
    """
    exponent = math.frexp(value)[1] - 1 if value else _SMALLEST
    return math.ldexp(1.0, max(exponent, _SMALLEST) - _BITS)


def by_case(reference: Sequence[Record], found: Sequence[Record]) -> dict[tuple[str, str], Changes]:
    """What became of the reference's rows, by suite and case.

    Parameters
    ----------
    reference, found
        Rows as :func:`posinfo.tidy.read` gives them.
    """
    before, after = _by_key(reference), _by_key(found)
    changes: dict[tuple[str, str], list[Changes]] = {}
    for key in [*before, *(key for key in after if key not in before)]:
        changes.setdefault(key[:2], []).append(_change(before.get(key), after.get(key)))
    return {case: together(several) for case, several in changes.items()}


def _by_key(rows: Iterable[Record]) -> dict[tuple[str, ...], Record]:
    return {(row["suite"], *(row[name] for name in KEY)): row for row in rows}


def _change(before: Record | None, after: Record | None) -> Changes:
    """What became of one row."""
    if before is None:
        return Changes(added=1)
    if after is None:
        return Changes(rows=1, lost=1, outcomes=1)
    if _cells(before) == _cells(after):
        return Changes(rows=1, kept=1)
    old, new = before["measured"], after["measured"]
    finite = all(value is not None and math.isfinite(value) for value in (old, new))
    elsewhere = any(before[name] != after[name] for name in ("reference", "bound"))
    sizes = {}
    if finite and (elsewhere or before["relation"] == "exceeds"):
        sizes["of_bound"] = abs((after["ratio"] or 0.0) - (before["ratio"] or 0.0))
    if finite and not elsewhere:
        distance = abs(new - old)
        sizes["absolute"] = distance
        if before["reference"]:
            sizes["ulps"] = distance / ulp(old)
            sizes["relative"] = distance / abs(old) if old else 1.0
        if before["bound"] and before["relation"] == "within":
            sizes["of_bound"] = distance / before["bound"]
    return Changes(
        rows=1,
        moved=1,
        elsewhere=int(elsewhere),
        beside=int(all(before[name] == after[name] for name in DECIDING)),
        # A row of texts has no number in either.
        not_finite=int(not finite and not (old is None and new is None)),
        texts=int(before["measured_text"] != after["measured_text"]),
        outcomes=int(before["outcome"] != after["outcome"]),
        others=_others(before, after),
        **sizes,
    )


def _others(before: Record, after: Record) -> float:
    """The largest relative change of a number that is in none of the columns that all suites have.

    One that was zero, or is no number now, changes the scale of nothing, and counts as one.
    """
    changes = [0.0]
    for name in before:
        old, new = before[name], after.get(name)
        if name in COLUMNS or old == new or not isinstance(old, (int, float)):
            continue
        known = isinstance(new, (int, float)) and math.isfinite(new) and math.isfinite(old)
        changes.append(abs(new - old) / abs(old) if known and old else 1.0)
    return max(changes)


def _cells(row: Record) -> list[str]:
    """A row as it stands in its file: NaN is the same text as NaN, and −0 another than 0."""
    return [
        number_text(value) if value is None or isinstance(value, (int, float)) else str(value)
        for value in row.values()
    ]


@dataclass(frozen=True)
class Verdicts:
    """Claims decided from the rows of two measurements.

    Attributes
    ----------
    claims
        How many were decided.
    changed
        Those whose verdict is another one, as ``id: verdict of the reference → verdict here``.
    """

    claims: int
    changed: tuple[str, ...]


def verdicts(
    claims: Sequence[Claim], reference: Sequence[Record], found: Sequence[Record]
) -> Verdicts:
    """Decide claims from both, and see which come out another way.

    Parameters
    ----------
    claims
        Claims of which all rows are among the reference's suites; see :func:`decidable`.
    reference, found
        The rows.
    """
    pairs = zip(decide_claims(claims, reference), decide_claims(claims, found), strict=True)
    return Verdicts(
        len(claims),
        tuple(
            f"{before.claim.id}: {before.reproduced} → {after.reproduced}"
            for before, after in pairs
            if before.reproduced != after.reproduced
        ),
    )


def decidable(claims: Iterable[Claim], suites: Iterable[str]) -> list[Claim]:
    """The computed claims all of whose rows are in these suites."""
    there = set(suites)
    return [
        claim for claim in claims if claim.kind == "computed" and there.issuperset(claim.suites)
    ]
