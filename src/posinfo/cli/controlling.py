"""The command ``control``: a claim decided anew with a fault in place."""

import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from typer import Exit, Option

from posinfo.catalogue import faults
from posinfo.claims import Claim, suites_under_faults, under_faults
from posinfo.cli.common import (
    COLOURS,
    MARKS,
    computed_claim,
    console,
    load_config,
    print_json,
)
from posinfo.errors import InputError, nearest
from posinfo.parameters import suite_parameters

# Imported inside functions: torch, which takes a second, and rich, which most calls can spare.


def control(
    claim: Annotated[str, typer.Argument(help="The id of a claim, as in config/claims.")],
    fault: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Put this fault in place instead of the one it names."),
    ] = None,
    every_fault: Annotated[
        bool, Option("--every-fault", help="Try all faults that the library can have, in turn.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Decide a claim anew with a fault in place, as a run does: it must be undecided.

    Exit status 1 if a fault that was asked for, or that the claim names, leaves it its verdict.
    Nothing is written.
    """
    config = load_config(None)
    one = computed_claim(claim, config)
    for name in fault or []:
        if name not in faults():
            raise InputError("fault", f"{name!r} is unknown: {nearest(name, faults())}")
    asked = fault or [one.rejects] * bool(one.rejects)
    if not asked and not every_fault:
        raise InputError("claim", _without_fault(one))
    rows = _controlled(one, None if every_fault else asked, config)
    if as_json:
        print_json({"claim": claim, "rows": rows})
    else:
        _print_controls(rows, asked)
    if any(row["outcome"] != "holds" for row in rows if row["fault"] in asked):
        raise Exit(1)


def _controlled(
    claim: Claim, names: Sequence[str] | None, config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A row for each fault, all that there are if ``names`` is None."""
    from posinfo import numerics
    from posinfo.controls import control as run

    numerics.set_environment()
    from posinfo.faults.stand_ins import with_stand_ins

    asked = [replace(claim, rejects=name) for name in names or with_stand_ins()]
    told = {suite: suite_parameters(config, suite) for suite in suites_under_faults(asked)}
    with contextlib.redirect_stdout(sys.stderr):
        return run(under_faults(asked), told)


def _without_fault(claim: Claim) -> str:
    """Why a claim has no control, and what to do instead."""
    if claim.verdict == "verified":
        return f"{claim.id!r} names no fault; choose one with --fault"
    return (
        f"{claim.id!r} is {claim.verdict}: it has no control; see its rows with "
        f"posinfo measure --claim {claim.id}"
    )


#: What becomes of a fault: a claim that keeps its verdict has let it through.
_FATES = {"holds": "✓ caught", "fails": "✗ let through"}


def _print_controls(rows: Sequence[Mapping[str, Any]], asked: Sequence[str]) -> None:
    """A line a fault: whether the claim catches it, and the first quantity that does not hold.

    Of faults that were not ``asked`` for by name, those that it lets through are counted: no claim
    is about all of them.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for name in ("fault", "the claim", "rows lost", "the first", "found"):
        table.add_column(name, overflow="fold")
    shown = [row for row in rows if row["outcome"] == "holds" or row["fault"] in asked]
    for row in shown:
        style = COLOURS[row["outcome"]]
        fate = _FATES.get(row["outcome"], f"{MARKS[row['outcome']]} {row['outcome']}")
        verdict = f"{fate}: {row['measured_text']}"
        lost = f"{row['rows_lost']} of {row['rows_asked']}"
        table.add_row(
            Text(row["fault"]), Text(verdict, style=style),
            *map(Text, (lost, row["first_lost"], row["found"])),
        )  # fmt: skip
    out = console()
    if shown:
        out.print(table)
    if rest := len(rows) - len(shown):
        several = (
            "faults that it does not look for" if rest > 1 else "fault that it does not look for"
        )
        out.print(Text(f"{rest} more {several}: its rows hold with {'them' if rest > 1 else 'it'}"))
