"""The command ``posinfo``: reproduce one suite, a case or a control, without a whole run.

Exit status: 0 if every row holds, 1 if one does not, 2 for wrong usage or input, with one line
that says what would be allowed.
"""

import contextlib
import difflib
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Exit, Option
from typer.exceptions import TyperException

from posinfo import __version__
from posinfo.catalogue import SUITES, faults, listing
from posinfo.checks import check_agreement, check_config
from posinfo.claims import Claim, load_claims, suites_under_faults, under_faults
from posinfo.errors import InputError, nearest
from posinfo.extras import advice
from posinfo.numbers_text import significant
from posinfo.parameters import overlay, suite_parameters
from posinfo.rows import PASSING
from posinfo.schemas import load_yaml

# Imported inside functions: torch, which takes a second, and rich, which most calls can spare.

#: The working copy that this file belongs to: code and config of one copy go together.
ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "config" / "config.yaml"
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
CLAIMS_SCHEMA = ROOT / "workflow" / "schemas" / "claims.schema.yaml"

#: An outcome is a shape and a word, not a colour.
MARKS = {"holds": "✓", "fails": "✗", "error": "!", "not run": "–"}
COLOURS = {"holds": "green", "fails": "red", "error": "yellow", "not run": "dim"}
RELATIONS = {"within": "≤", "exceeds": "≥"}

app = typer.Typer(
    name="posinfo",
    help="Measure what lessons say about positions in transformers, and show every row.",
    epilog="Exit status: 0 every row holds, 1 a row does not, 2 wrong usage or input.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"posinfo {__version__}")
        raise Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options before the command."""


@app.command()
def suites(
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of a list.")] = False,
) -> None:
    """List the suites and their cases."""
    found = {suite: listing(suite) for suite in SUITES}
    if as_json:
        _print_json({name: {"title": one.title, "cases": one.cases} for name, one in found.items()})
        return
    from rich.table import Table
    from rich.text import Text

    console = _console()
    for name, one in found.items():
        table = Table.grid(padding=(0, 2), pad_edge=True)
        for case, summary in one.cases.items():
            table.add_row(Text(case), Text(summary, style="dim"))
        console.print(Text.assemble((name, "bold"), f": {one.title}"))
        console.print(table)


@app.command()
def measure(
    suite: Annotated[str, typer.Argument(help=f"What to measure: {', '.join(SUITES)}.")],
    case: Annotated[
        str | None,
        Option(metavar="CASE", help="Measure this case alone; `posinfo suites` lists the cases."),
    ] = None,
    quantity: Annotated[
        str | None,
        Option(metavar="TEXT", help="Show the rows whose quantity contains this text alone."),
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
    if suite not in SUITES:
        raise InputError("suite", f"{suite!r} is unknown: {nearest(suite, SUITES)}")
    cases = listing(suite).cases
    if case is not None and case not in cases:
        raise InputError("case", f"{case!r} is not in the suite {suite}: {nearest(case, cases)}")
    rows = _measured(suite, suite_parameters(load_config(config), suite), case)
    if quantity is not None:
        rows = _with_quantity(rows, quantity)
    if as_json:
        _print_json({"suite": suite, "outcomes": _outcomes(rows), "rows": rows})
    else:
        _print_rows(rows)
    for line in advice(rows):
        print(f"posinfo: {line}", file=sys.stderr)
    if not rows or any(row["outcome"] not in PASSING for row in rows):
        raise Exit(1)


@app.command()
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
    known = load_claims([ROOT / path for path in config["claims"]], load_yaml(CLAIMS_SCHEMA))
    computed = {one.id: one for one in known if one.kind == "computed"}
    if claim not in computed:
        near = difflib.get_close_matches(claim, computed, n=3, cutoff=0.5)
        meant = f": did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise InputError("claim", f"{claim!r} is no computed claim{meant}")
    one = computed[claim]
    for name in fault or []:
        if name not in faults():
            raise InputError("fault", f"{name!r} is unknown: {nearest(name, faults())}")
    asked = fault or [one.rejects] * bool(one.rejects)
    if not asked and not every_fault:
        raise InputError("claim", f"{claim!r} names no fault; choose one with --fault")
    rows = _controlled(one, None if every_fault else asked, config)
    if as_json:
        _print_json({"claim": claim, "rows": rows})
    else:
        _print_controls(rows)
    if any(row["outcome"] != "holds" for row in rows if row["fault"] in asked):
        raise Exit(1)


def load_config(above: str | None) -> dict[str, Any]:
    """Read and check the config of the working copy.

    Parameters
    ----------
    above
        A file to lay over it, or None.

    Raises
    ------
    InputError
        Naming file, key and what is allowed.
    """
    if not SCHEMA.is_file():
        raise InputError(
            "this installation", "has no config beside it; install the package with pip install -e"
        )
    files = [_shown(CONFIG), *([above] if above else [])]
    loaded = [load_yaml(file) for file in files]
    for file, content in zip(files, loaded, strict=True):
        if not isinstance(content, dict):
            raise InputError(file, "must hold keys with values")
    merged = loaded[0] if above is None else overlay(*loaded)
    check_config(merged, files, load_yaml(SCHEMA))
    check_agreement(merged, files)
    return merged


def _shown(path: Path) -> str:
    """A path as a person would type it: relative where that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)


def _measured(
    suite: str, parameters: Mapping[str, Any], case: str | None
) -> list[dict[str, object]]:
    """The rows; what the suite says on its way goes to standard error, the result's is free."""
    from posinfo.measure import measure as run

    with contextlib.redirect_stdout(sys.stderr):
        return run(suite, parameters, only=case)


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


def _print_controls(rows: Sequence[Mapping[str, Any]]) -> None:
    """A line a fault: what becomes of the claim, and the first quantity that does not hold."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None)
    for name in ("fault", "with it in place", "rows lost", "the first", "found"):
        table.add_column(name, overflow="fold")
    for row in rows:
        style = COLOURS[row["outcome"]]
        verdict = f"{MARKS[row['outcome']]} {row['measured_text']}"
        lost = f"{row['rows_lost']} of {row['rows_asked']}"
        table.add_row(
            Text(row["fault"]), Text(verdict, style=style),
            *map(Text, (lost, row["first_lost"], row["found"])),
        )  # fmt: skip
    _console().print(table)


def _with_quantity(rows: Sequence[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    found = [row for row in rows if text.casefold() in row["quantity"].casefold()]
    if not found:
        quantities = {row["quantity"] for row in rows}
        raise InputError("quantity", f"{text!r} is in no row: {nearest(text, quantities)}")
    return found


def _outcomes(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    counts = Counter(row["outcome"] for row in rows)
    return {outcome: counts[outcome] for outcome in MARKS}


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """A table for each case, and the count of outcomes."""
    from rich.table import Table
    from rich.text import Text

    console = _console()
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
        console.print(table)
        console.print()
    counts = ", ".join(f"{count} {outcome}" for outcome, count in _outcomes(rows).items() if count)
    console.print(Text(f"{len(rows)} rows: {counts or 'none was measured'}"))


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


def _print_json(content: object) -> None:
    print(json.dumps(_finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(value: object) -> object:
    """JSON has no NaN and no infinity: they become text, for null would read as missing."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _console() -> Any:
    from rich.console import Console

    # A pipe has no width: wide enough there for a row to stay on few lines.
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status."""
    try:
        status = app(args=arguments, prog_name="posinfo", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        print(f"posinfo: {error}", file=sys.stderr)
        sys.exit(2)
    except TyperException as error:
        text = " ".join(error.format_message().split()).rstrip(".")
        print(f"posinfo: {text}; see posinfo --help", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # Whoever read our output has enough; without this Python complains while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(status or 0)
