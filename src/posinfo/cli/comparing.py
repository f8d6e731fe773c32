"""The command ``diff``: how results differ from the accepted ones, and why they can."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Exit, Option

from posinfo import digests
from posinfo.baseline import Change, accepted, basis, judging, layout
from posinfo.baseline.run import Compared, compared
from posinfo.catalogue import SUITES
from posinfo.claims import load_claims
from posinfo.cli.common import CLAIMS_SCHEMA, ROOT, console, load_config, print_json
from posinfo.errors import InputError, nearest
from posinfo.numbers_text import significant
from posinfo.parameters import SOURCE
from posinfo.schemas import load_yaml

RESULTS = "results"
BASELINE = ROOT / "baseline" / "results"
SCHEMAS = ROOT / "workflow" / "schemas"
#: How many changes are shown without --all.
SHOWN = 40
#: More units in the last place say no more than that the values are others; --json has them.
MOST_ULP = 1_000_000
#: Characters of a name that are never broken, at the cost of the columns beside it.
MOST_NAME = 50
_HEADS = ("row and column", "accepted", "now", "absolute", "relative", "ulp", "claims")
#: How many of them are texts.
_TEXTS = 3


def diff(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SUITE or FILE]...",
            help="Suites, or files such as tables/peers.csv; everything if none is given.",
        ),
    ] = None,
    results: Annotated[
        str, Option("--results", metavar="FOLDER", help="The results to compare.")
    ] = RESULTS,
    baseline: Annotated[
        str | None,
        Option("--baseline", metavar="FOLDER", help="Accepted results other than the committed."),
    ] = None,
    whole: Annotated[
        bool, Option("--all", help=f"Show all changes, not the first {SHOWN}.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show how results differ from the accepted ones, cell by cell, and why they can.

    Files, columns and rows come first, then values: accepted and now, the relative difference,
    units in the last place (of float32 where both values are numbers of it, else of float64), the
    claims that use the row, what becomes of the change, and what is known to differ beneath.

    For example: posinfo diff; posinfo diff norms tables/peers.csv; posinfo diff --results other
    """
    against = Path(baseline) if baseline is not None else BASELINE
    if not Path(results).is_dir():
        raise InputError(
            results, "is no folder of results: make one with snakemake --cores 4, or give --results"
        )
    wrong = accepted.problems(against)
    if wrong:
        raise InputError(wrong[0], f"{len(wrong)} such problems" if len(wrong) > 1 else "see git")
    found = compare_with(against, results, names or [])
    if found.comparison.unreadable:
        raise InputError(*_place(found.comparison.unreadable[0]))
    if as_json:
        print_json(_json(found, results, against))
    else:
        _print(found, results, against, whole)
    if not found.comparison.same:
        raise Exit(1)


def compare_with(against: Path, results: str | Path, names: Sequence[str]) -> Compared:
    """Compare results with accepted ones by what this working copy knows of both."""
    config = load_config(None)
    claims = load_claims([ROOT / path for path in config["claims"]], load_yaml(CLAIMS_SCHEMA))
    of_results = layout.names(results)
    known = sorted({*layout.names(against), *of_results})
    path = Path(results, basis.NAME)
    return compared(
        against,
        results,
        schemas=SCHEMAS,
        claims=claims,
        basis=basis.load(path) if path.is_file() else None,
        source=SOURCE,
        **config["comparison"],
        files=[_named(name, known) for name in names] or None,
        touched=_touched(Path(results), of_results),
    )


def _touched(results: Path, names: Sequence[str]) -> list[str]:
    """The files that are not what their job recorded; none if the folder has no records."""
    recorded: dict[str, str] = {}
    for file in sorted((results / "digests").glob("*.sha256")):
        recorded |= digests.recorded(file)
    kept = [name for name in names if f"{RESULTS}/{name}" in recorded]
    return [
        name for name in kept if digests.sha256(results / name) != recorded[f"{RESULTS}/{name}"]
    ]


def _named(name: str, known: Sequence[str]) -> str:
    """The file that is meant by a suite's name, or by a path."""
    if name in SUITES:
        return f"suites/{name}.csv"
    for form in (name, f"{name}.csv", name.removeprefix(f"{RESULTS}/")):
        if form in known:
            return form
    raise InputError(name, f"is neither a suite nor a file: {nearest(name, known)}")


def _place(line: str) -> tuple[str, str]:
    where, _, problem = line.partition(": ")
    return where, problem


def _print(found: Compared, results: str, against: Path, whole: bool) -> None:
    from rich.table import Table

    out = console()
    files = len(found.comparison.files)
    if found.comparison.same:
        out.print(f"{results}: the same bytes as accepted, in {files} files")
        return
    out.print(_plain(f"{results} against {_short_path(against)}"))
    shown = found.judged if whole else found.judged[:SHOWN]
    groups: dict[tuple[str, str, str], list[Any]] = {}
    for one in shown:
        groups.setdefault((one.change.file, one.standing, one.why), []).append(one.change)
    for (file, standing, why), changes in groups.items():
        out.print(_plain(f"\n{file}: {standing}; why: {why or 'nothing that is known'}"))
        # Ids are long: they stand below, where a line has room for them, once for all their rows.
        claims = list(dict.fromkeys(filter(None, map(_claims, changes))))
        marks = {ids: f"[{mark}]" for mark, ids in enumerate(claims, start=1)}
        lines = [[*_cells(change), marks.get(_claims(change), "")] for change in changes]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        # A column of nothing takes room from the rows' names.
        used = [at for at in range(len(_HEADS)) if at < _TEXTS or any(line[at] for line in lines)]
        for at in used:
            # Where the key is a claim's id, that stays whole.
            longest = (
                max(len(word) for line in lines for word in line[at].split()) if at == 0 else 0
            )
            table.add_column(
                _HEADS[at],
                overflow="fold",
                no_wrap=at >= _TEXTS,
                justify="right" if at >= _TEXTS else "left",
                min_width=min(longest, MOST_NAME) or None,
            )
        for line in lines:
            table.add_row(*(_plain(line[at]) for at in used))
        out.print(table)
        for mark, ids in enumerate(claims, start=1):
            out.print(_plain(f"claims [{mark}]: {', '.join(ids)}"))
    out.print()
    if len(shown) < len(found.judged):
        out.print(f"and {len(found.judged) - len(shown):,} more: --all shows them, --json too")
    for claim, (old, new) in found.comparison.verdicts.items():
        out.print(_plain(f"verdict of {claim}: {old or 'nothing'} → {new or 'nothing'}"))
    counted = Counter(one.standing for one in found.judged)
    for standing in judging.STANDINGS:
        if counted[standing]:
            out.print(f"{counted[standing]:,} {standing}")
    differing = len({one.change.file for one in found.judged})
    out.print(f"{differing} of {files} files differ")


def _cells(change: Change) -> Sequence[str]:
    where = [change.key, change.column] if change.kind == "value" else [change.kind, change.key]
    if change.kind.startswith("column"):
        where.append(change.column)
    return (
        ": ".join(filter(None, where)),
        change.old,
        change.new,
        significant(change.absolute, 2),
        significant(change.relative, 2),
        _ulp(change),
    )


def _claims(change: Change) -> tuple[str, ...]:
    """The claims that rest on a row, where its key does not name them."""
    return () if change.claims == (change.key,) else change.claims


def _ulp(change: Change) -> str:
    if change.ulp is None:
        return ""
    return f"{change.ulp:,} {change.precision}" if change.ulp <= MOST_ULP else "many"


def _plain(text: str) -> Any:
    """Text in which brackets mean nothing to rich."""
    from rich.text import Text

    return Text(text)


def _short_path(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _json(found: Compared, results: str, against: Path) -> dict[str, Any]:
    return {
        "results": results,
        "baseline": _short_path(against),
        "same": found.comparison.same,
        "files": list(found.comparison.files),
        "verdicts": {
            claim: {"old": old, "new": new}
            for claim, (old, new) in found.comparison.verdicts.items()
        },
        "changes": found.records(),
    }
