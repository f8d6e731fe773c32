"""The commands ``suites`` and ``measure``: what there is to measure, and one suite's rows."""

import contextlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from typer import Exit, Option

from posinfo.catalogue import SUITES, listing
from posinfo.checks import check_implementations
from posinfo.cli.common import COLOURS, MARKS, computed_claim, console, load_config, print_json
from posinfo.errors import InputError, nearest
from posinfo.extras import advice
from posinfo.numbers_text import significant
from posinfo.parameters import suite_parameters
from posinfo.rows import PASSING

# Imported inside functions: torch, which takes a second, and rich, which most calls can spare.

RELATIONS = {"within": "≤", "exceeds": "≥"}
#: What a row may be, in the order in which they are counted.
OUTCOMES = ("holds", "fails", "error", "not run")


def suites(
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of a list.")] = False,
) -> None:
    """List the suites and their cases."""
    found = {suite: listing(suite) for suite in SUITES}
    if as_json:
        print_json({name: {"title": one.title, "cases": one.cases} for name, one in found.items()})
        return
    from rich.table import Table
    from rich.text import Text

    out = console()
    for name, one in found.items():
        table = Table.grid(padding=(0, 2), pad_edge=True)
        for case, summary in one.cases.items():
            table.add_row(Text(case), Text(summary, style="dim"))
        out.print(Text.assemble((name, "bold"), f": {one.title}"))
        out.print(table)


def measure(
    suite: Annotated[
        str | None, typer.Argument(help=f"What to measure: {', '.join(SUITES)}.")
    ] = None,
    case: Annotated[
        str | None,
        Option(metavar="CASE", help="Measure this case alone; `posinfo suites` lists the cases."),
    ] = None,
    quantity: Annotated[
        str | None,
        Option(metavar="TEXT", help="Show the rows whose quantity contains this text alone."),
    ] = None,
    claim: Annotated[
        str | None,
        Option(
            metavar="ID",
            help="Instead of a suite: the rows that decide this claim, from the cases they are in.",
        ),
    ] = None,
    config: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="A YAML file whose keys replace those of config/config.yaml, as with "
            "`snakemake --configfile`.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure a suite as a run does, and show its rows.

    The numbers are those of results/suites/SUITE.csv: the same code, parameters and numerical
    profile. Nothing is written.
    """
    if claim is not None:
        if suite is not None or case is not None or quantity is not None:
            raise InputError("--claim", "selects the rows itself: give no suite, case or quantity")
        _measure_claim(claim, load_config(config), as_json)
        return
    if suite is None:
        raise InputError("measure", f"name a suite ({', '.join(SUITES)}), or a claim with --claim")
    if suite not in SUITES:
        raise InputError("suite", f"{suite!r} is unknown: {nearest(suite, SUITES)}")
    cases = listing(suite).cases
    if case is not None and case not in cases:
        raise InputError("case", f"{case!r} is not in the suite {suite}: {nearest(case, cases)}")
    loaded = load_config(config)
    if suite == "implementations":
        check_implementations(loaded, [config or "config/config.yaml"])
    rows = _measured(suite, suite_parameters(loaded, suite), case)
    if quantity is not None:
        rows = _with_quantity(rows, quantity)
    if as_json:
        print_json({"suite": suite, "outcomes": _outcomes(rows), "rows": rows})
    else:
        _print_rows(rows)
    for line in advice(rows):
        print(f"posinfo: {line}", file=sys.stderr)
    if not rows or any(row["outcome"] not in PASSING for row in rows):
        raise Exit(1)


def _measure_claim(name: str, config: Mapping[str, Any], as_json: bool) -> None:
    """Measure the cases of which a claim selects rows, and show these and what follows.

    Exit status 1 if the verdict is another than the recorded one.
    """
    claim = computed_claim(name, config)
    if "implementations" in claim.suites:
        check_implementations(config, ["config/config.yaml"])
    from posinfo.controls import cases_of, needed_by
    from posinfo.ledger import decide_claims

    cases = cases_of(claim, {one: tuple(listing(one).cases) for one in claim.suites})
    rows = [
        row
        for one, case in dict.fromkeys([*cases, *needed_by(claim)])
        for row in _measured(one, suite_parameters(config, one), case)
    ]
    [entry] = decide_claims([claim], rows)
    sides = {"supports": entry.supporting, "breaks": entry.breaking}
    if as_json:
        print_json(
            {"claim": claim.id, "recorded": claim.verdict, "reproduced": entry.reproduced,
             "problems": list(entry.problems), **{side: list(one) for side, one in sides.items()}}
        )  # fmt: skip
    else:
        out = console()
        for side, decisive in sides.items():
            if decisive:
                out.print(f"Rows that {'support' if side == 'supports' else 'break'} it:\n")
                _print_rows(decisive)
                out.print()
        for problem in entry.problems:
            out.print(problem, markup=False)
        out.print(
            f"{claim.id} ({', '.join(claim.covers)}): {entry.reproduced}, recorded as "
            f"{claim.verdict}", markup=False,
        )  # fmt: skip
    for line in advice(rows):
        print(f"posinfo: {line}", file=sys.stderr)
    if entry.reproduced not in (claim.verdict, "not run", "stale"):
        raise Exit(1)


def _measured(
    suite: str, parameters: Mapping[str, Any], case: str | None
) -> list[dict[str, object]]:
    """The rows; what the suite says on its way goes to standard error, the result's is free."""
    from posinfo.measure import measure as run

    with contextlib.redirect_stdout(sys.stderr):
        return run(suite, parameters, only=case)


def _with_quantity(rows: Sequence[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    found = [row for row in rows if text.casefold() in row["quantity"].casefold()]
    if not found:
        quantities = {row["quantity"] for row in rows}
        raise InputError("quantity", f"{text!r} is in no row: {nearest(text, quantities)}")
    return found


def _outcomes(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    counts = Counter(row["outcome"] for row in rows)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """A table for each case, and the count of outcomes."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    for case in dict.fromkeys(row["case"] for row in rows):
        table = Table(title=Text(case), title_justify="left", title_style="bold", box=None)
        table.add_column("outcome", no_wrap=True)
        # Folded, never cut: a number without its end is another number.
        for name in ("quantity", "subject", "measured", "expected", "error and bound"):
            table.add_column(name, overflow="fold")
        table.add_column("ratio", justify="right", no_wrap=True)
        for row in rows:
            if row["case"] == case:
                table.add_row(*_cells(row))
        out.print(table)
        out.print()
    out.print(Text(_counted(rows)))


def _counted(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many rows have which outcome, as a sentence."""
    several = {"holds": "hold", "fails": "fail", "error": "errors"}
    counts = ", ".join(
        f"{count} {outcome if count == 1 else several.get(outcome, outcome)}"
        for outcome, count in _outcomes(rows).items()
        if count
    )
    return f"{len(rows)} row{'s' * (len(rows) != 1)}: {counts or 'none was measured'}"


def _cells(row: Mapping[str, Any]) -> list[Any]:
    """A row's cells as text that means nothing to rich: ``[T]`` is a shape, no style."""
    from rich.text import Text

    outcome = row["outcome"]
    texts = row["measured"] is None
    measured, reference = (
        (row["measured_text"], row["reference_text"])
        if texts
        else (_number(row["measured"]), _number(row["reference"]))
    )
    bounded = row["relation"] in RELATIONS
    bound = (
        f"{significant(row['error'])} {RELATIONS[row['relation']]} {significant(row['bound'])}"
        if bounded
        else row["relation"]
    )
    return [
        Text(f"{MARKS[outcome]} {outcome}", style=COLOURS[outcome]),
        *map(Text, (row["quantity"], row["subject"], measured, reference, bound)),
        Text(significant(row["ratio"], 2)),
    ]


def _number(value: float | None) -> str:
    """A number with the nine digits that tell any two float32 apart."""
    return "" if value is None else f"{value:.9g}"
