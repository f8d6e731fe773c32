"""A folder of results against the accepted ones: found, judged, and as rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo.baseline import accepted, layout
from posinfo.baseline.comparing import Change, Comparison, compare
from posinfo.baseline.judging import UNREADABLE, Judged, judge
from posinfo.claims import Claim
from posinfo.errors import InputError


@dataclass(frozen=True)
class Compared:
    """What differs, and what is to be thought of it."""

    comparison: Comparison
    judged: Sequence[Judged]

    def records(self) -> list[dict[str, object]]:
        """The rows of ``results/comparison.csv``."""
        return [one.record(self.comparison.verdicts) for one in self.judged]


def compared(
    baseline: str | Path,
    results: str | Path,
    *,
    schemas: str | Path,
    claims: Sequence[Claim],
    basis: Mapping[str, Any] | None,
    source: str | Path,
    spreads: float,
    of_bound: float,
    files: Iterable[str] | None = None,
    touched: Collection[str] = (),
) -> Compared:
    """Compare results with the accepted ones and judge every change.

    Parameters
    ----------
    baseline, results
        Both folders.
    schemas, claims
        See :func:`posinfo.baseline.comparing.compare`.
    basis
        What the results rest on, None if that is not known.
    source, spreads, of_bound
        See :func:`posinfo.baseline.judging.judge`.
    files
        Names of the files to compare; all if None.
    touched
        Names of the files that were edited after their job.

    Returns
    -------
    Compared
        If there is nothing that was accepted, this is the only change.
    """
    try:
        record = accepted.load(baseline)
    except InputError as error:
        change = Change(accepted.RECORD, "unreadable", new=str(error))
        return Compared(Comparison((change,), ()), [Judged(change, UNREADABLE, "")])
    if files is None:
        kept = [name for name in record["files"] if name != accepted.PAGE_IDS]
        files = dict.fromkeys([*layout.names(baseline), *kept, *layout.names(results)])
    found = compare(baseline, results, schemas, files=files, claims=claims)
    judged = judge(found, record, basis, Path(source), spreads, of_bound, touched)
    return Compared(found, judged)
