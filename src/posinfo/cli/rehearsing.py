"""The command ``rehearse``: the suites measured as on other machines, and what moves there."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from typer import Exit, Option

from posinfo.claims import load_claims
from posinfo.cli.common import CLAIMS_SCHEMA, ROOT, console, load_config, print_json
from posinfo.errors import InputError, nearest
from posinfo.numbers_text import significant
from posinfo.rehearsal import plan, result, run
from posinfo.schemas import load_yaml

# Imported inside functions: rich, which most calls can spare.


def rehearse(
    machine: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help=f"Measure on this processor alone: {', '.join(one.name for one in plan.MACHINES)}."
            " Give it several times for several; the default is all.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, Option(min=1, help="Processes side by side; the default is one a core.")
    ] = None,
    table: Annotated[
        bool, Option("--table", help="Measure nothing: the table of what is measured already.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the suites as other processors would, and say which rows move and how far.

    Each configuration (a processor, one thread or two, with the numerical profile or without) is
    measured in a process of its own, other processors under Debian's qemu-user, and compared with
    this machine under the profile on one thread. All of it takes a core about two hours; what is
    measured in results/rehearsal is not measured again, so it goes on where it was stopped.

    Exit status 1 if any outcome or verdict is another one, or if more rows of a case move under
    the profile, on one thread, than in the accepted table.
    """
    known = [one.name for one in plan.MACHINES]
    for name in machine or []:
        if name not in known:
            raise InputError("--machine", f"{name!r} is unknown: {nearest(name, known)}")
    config = load_config(None)
    wanted = plan.configurations(machine or [])
    if not table:
        try:
            run.run(wanted, config, jobs=jobs or plan.cores())
        except KeyboardInterrupt:
            print("posinfo: stopped; what is measured stays, and the next call goes on",
                  file=sys.stderr)  # fmt: skip
            raise Exit(130) from None
    claims = load_claims([ROOT / path for path in config["claims"]], load_yaml(CLAIMS_SCHEMA))
    rows = result.summarise(config, claims, plan.configurations())
    if as_json:
        print_json({"reference": plan.REFERENCE.columns, "configurations": rows})
    else:
        _print(rows)
    new = _newly_moved()
    for case in new:
        print(f"posinfo: moves under the profile, and did not: {case}", file=sys.stderr)
    if new or any(map(result.breaks, rows)):
        raise Exit(1)


def _newly_moved() -> list[str]:
    """Cases that move under the profile and did not in the accepted table, if there is one."""
    if not (result.ACCEPTED / result.ABOUT).is_file():
        return []
    return result.newly_moved(result.load(run.FOLDER).cases, result.load().cases)


def _print(rows: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table(box=None, pad_edge=False)
    for name in ("processor", "profile", "threads", "rows", "moved", "last places", "of the bound",
                 "outcomes", "verdicts"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("processor", "profile") else "right")
    for row in rows:
        cells = [row["machine"], row["profile"], *map(significant, (row["threads"], row["rows"])),
                 significant(result.moved_of(row)),
                 significant(row["ulps"], 2), significant(row["of_bound"], 2),
                 significant(row["outcomes"]), significant(row["verdicts"])]  # fmt: skip
        table.add_row(*map(Text, cells))
    out.print(table)
    for row in rows:
        if row["changed"]:
            where = f"{row['machine']}, profile {row['profile']}, {row['threads']} threads"
            out.print(f"{where}: {row['changed']}", markup=False)
    out.print(f"\nFiles: {run.FOLDER}; posinfo accept rehearsal --because TEXT keeps them.",
              markup=False)  # fmt: skip
