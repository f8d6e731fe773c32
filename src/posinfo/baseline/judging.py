"""What becomes of a difference: whether it was promised not to be, and why it can be there.

Bytes are promised of what is measured with the accepted config, in the accepted versions, under
the numerical profile, on the same kind of x86-64 processor and system; on others rows are promised
to a share of their bounds, and training everywhere to its seeds' spread. What is made of rows
(ledger, controls, tables, figures) is promised as its rows are.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo.baseline import layout
from posinfo.baseline.basis import NAME, Cause, causes
from posinfo.baseline.comparing import Change, Comparison

#: It was promised not to differ, and it fails a run until it is accepted.
MOVED = "moved"
#: It follows from another config than the accepted one.
CONFIG = "other config"
#: Versions, profile or machine are others than the accepted ones, of which no bytes are promised.
BENEATH = "other versions or machine"
#: It was measured on another kind of processor or with another C library, which have sines and
#: roots of their own, and its row uses about as much of its bound.
PROCESSOR = "other processor or system"
#: It rests on training and lies within the spread of the seeds.
TRAINING = "within the spread of training"
#: It follows from a suite whose rows differ, and which is judged itself.
FOLLOWS = "follows from its rows"
#: It is worded otherwise.
WORDING = "other words"
#: It cannot be read, which a run says by itself.
UNREADABLE = "unreadable"

#: A file whose digest is not the recorded one: no job wrote what it holds.
HAND = Cause("hand", "touched by hand (its recorded digest differs)")
#: Of results whose run did not reach the end, at which it says what they rest on.
NO_BASIS = Cause("unknown", f"no {NAME}: only part of a run was made")

#: In the order in which they are shown.
STANDINGS = (MOVED, UNREADABLE, BENEATH, PROCESSOR, TRAINING, CONFIG, FOLLOWS, WORDING)

#: Suites whose rows rest on training, which differs between machines.
TRAINED_SUITES = ("suites/trained.csv",)
#: Where such rows say how far their seeds lie apart, and what of them is judged by it. The other
#: numbers of such a row are those of its seeds, too, and stand under its own assertion.
LOWEST, HIGHEST = "lowest", "highest"
_OF_SEEDS = ("measured", "reference", "error", "bound", "ratio", LOWEST, HIGHEST)

#: What of a row says what it asserts and what came of it.
_ASSERTION = ("relation", "outcome", "evidence", "basis", "measured_text", "reference_text")

#: Columns of the ledger that hold words, with numbers from rows in them.
_PROSE = (
    "lesson", "section", "statement", "condition", "rejects", "no_fault", "why", "headline",
    "problem",
)  # fmt: skip
#: Tables that are made of the claims' words.
_OF_WORDS = ("tables/sources.csv", "tables/judgement.csv")


@dataclass(frozen=True)
class Judged:
    """A change, what became of it, and why it can be there, as text: empty if nothing is known."""

    change: Change
    standing: str
    why: str

    def record(self, verdicts: Mapping[str, tuple[str, str]]) -> dict[str, object]:
        """The change as a row of ``results/comparison.csv``."""
        change = self.change
        moved = [
            f"{claim}: {verdicts[claim][0] or 'nothing'} → {verdicts[claim][1] or 'nothing'}"
            for claim in change.claims
            if claim in verdicts
        ]
        return {
            "file": change.file,
            "kind": change.kind,
            "key": change.key,
            "column": change.column,
            "old": change.old,
            "new": change.new,
            "absolute": change.absolute,
            "relative": change.relative,
            "ulp": change.ulp,
            "precision": change.precision,
            "claims": " ".join(change.claims),
            "verdict": "; ".join(moved),
            "standing": self.standing,
            "why": self.why,
        }


def judge(
    comparison: Comparison,
    old: Mapping[str, Any],
    new: Mapping[str, Any] | None,
    source: Path,
    spreads: float,
    of_bound: float,
    touched: Collection[str] = (),
) -> list[Judged]:
    """Judge every change of a comparison.

    Parameters
    ----------
    comparison
        The accepted results against others.
    old, new
        What both rest on, see :mod:`posinfo.baseline.basis`; None if it is not known.
    source
        The folder that holds the package of now.
    spreads
        By how many times the spreads of both runs' seeds, added up, training may move a value.
    of_bound
        By which share of its bound another kind of processor may move a row.
    touched
        Names of the files that were edited after their job: their changes moved, whatever else
        differs.
    """
    files = Counter(change.file for change in comparison.changes)
    known = {
        name: ([HAND] if name in touched else [] if new is not None else [NO_BASIS])
        + (causes(name, old, new, source) if new is not None else [])
        for name in files
    }
    suites = [name for name in files if name.startswith("suites/")]
    return [
        Judged(
            change,
            _standing(change, known[change.file], suites, spreads, of_bound),
            _why(change, known[change.file], suites),
        )
        for change in comparison.changes
    ]


def _standing(
    change: Change,
    beneath: Sequence[Cause],
    suites: Sequence[str],
    spreads: float,
    of_bound: float,
) -> str:
    kinds = {cause.kind for cause in beneath}
    if change.kind == "unreadable":
        return UNREADABLE
    if HAND in beneath:
        return MOVED
    if change.file.startswith("suites/"):
        if "config" in kinds:
            return CONFIG
        if change.file in TRAINED_SUITES and within_spread(change, spreads):
            return TRAINING
        if kinds & {"CPU", "system"} and within_bound(change, of_bound):
            return PROCESSOR
    elif suites:
        return FOLLOWS
    elif "config" in kinds:
        return CONFIG
    elif "claims" in kinds and _is_wording(change):
        return WORDING
    return BENEATH if kinds & {"versions", "machine", "profile"} else MOVED


def within_spread(change: Change, spreads: float) -> bool:
    """Whether a value of trained decoders lies as close to the accepted one as seeds lie together.

    ``|new - old| <= spreads * (spread of the old run + spread of the new one)``, a spread being
    the highest value of a seed less the lowest. At 1 it holds whenever the seeds of both runs
    overlap at all. Rounding turns a seed into another one at most, so this is judged by what
    other seeds would give; see docs/reproduced.md.
    """
    if change.kind != "value" or change.column not in _OF_SEEDS:
        return False
    return means_within_spread(change.was, change.row, spreads)


def within_bound(change: Change, share: float) -> bool:
    """Whether a row that another kind of processor measured uses about as much of its bound.

    All that says what it asserts is the same, and its column ``ratio`` differs by at most
    ``share``; so does the error of a row ``within`` a bound, over that bound. A row that is the
    worst of many cases may name another case as the worst. Of a row without a bound only what
    is measured beside what it asserts may differ, by that share of itself.
    """
    if change.kind != "value" or change.column in _ASSERTION:
        return False
    rows = (change.was, change.row)
    if any(change.was.get(name) != change.row.get(name) for name in _ASSERTION):
        return False
    if all(row.get("ratio") is None for row in rows):
        beside = change.column not in ("measured", "reference", "error", "bound")
        return beside and change.relative is not None and change.relative <= share
    numbers = [[row.get(name) for name in ("measured", "reference", "bound")] for row in rows]
    shares = [row.get("ratio") for row in rows]
    if change.row["relation"] == "within":
        shares += [
            None if None in row or not row[2] else abs(row[0] - row[1]) / row[2] for row in numbers
        ]
    # max and min pass over NaN, unless it stands first.
    if any(one is None or not math.isfinite(one) for one in shares):
        return False
    return max(shares) - min(shares) <= share


def means_within_spread(
    was: Mapping[str, Any], now: Mapping[str, Any], spreads: float = 1.0
) -> bool:
    """Whether the means of two rows lie no further apart than their seeds do, see above."""
    rows = (was, now)
    if any(row.get(name) is None for row in rows for name in (LOWEST, HIGHEST, "measured")):
        return False
    spread = sum(row[HIGHEST] - row[LOWEST] for row in rows)
    return abs(now["measured"] - was["measured"]) <= spreads * spread


def _is_wording(change: Change) -> bool:
    if change.kind != "value":
        return False
    if change.file == layout.LEDGER:
        return change.column in _PROSE
    return change.file in _OF_WORDS and change.column != "verdict"


def _why(change: Change, beneath: Sequence[Cause], suites: Sequence[str]) -> str:
    texts = [cause.text for cause in beneath]
    if suites and not change.file.startswith("suites/") and HAND not in beneath:
        shown = ", ".join(Path(name).stem for name in suites[:4])
        more = f" and {len(suites) - 4} more" if len(suites) > 4 else ""
        texts.insert(0, f"rows of {shown}{more}")
    return "; ".join(texts)


def gate_lines(records: Sequence[Mapping[str, Any]], red: Collection[str] = ()) -> list[str]:
    """A line for each file in which something moved that was promised to stay.

    Parameters
    ----------
    records
        The rows of ``results/comparison.csv``.
    red
        Files with rows that do not hold, such as ``suites/norms.csv``: what is wrong there has a
        line already, and its values moved with it.
    """
    lines = [record["new"] for record in records if record["standing"] == UNREADABLE]
    moved: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        if record["standing"] == MOVED and record["file"] not in red:
            moved.setdefault(record["file"], []).append(record)
    for file, changes in moved.items():
        first = changes[0]
        more = f" (and {len(changes) - 1} more changes of this file)" if len(changes) > 1 else ""
        lines.append(
            f"results/{file}: {_said(first)}{more}, because of "
            f"{first['why'] or 'nothing that is known'}; if it is right: posinfo accept --because "
            '"…"'
        )
    return lines


def _said(record: Mapping[str, Any]) -> str:
    if record["kind"] == "value":
        return (
            f"{record['key']}: {record['column']} was accepted as {record['old'] or 'empty'}, is "
            f"{record['new'] or 'empty'}"
        )
    where = record["key"] or record["column"]
    return f"{record['kind']}{f', {where}' if where else ''}"
