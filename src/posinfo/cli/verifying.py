"""The command ``verify``: results made anew, and held against those that are there."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from typer import Exit, Option

from posinfo.catalogue import SUITES
from posinfo.cli.common import ROOT, load_config, print_json
from posinfo.errors import InputError, nearest
from posinfo.verify import rerun, verdict

#: Differences that are shown of one file before the rest is counted.
SHOWN = 10


def verify(
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SUITE]...", help="Suites; everything if none is given."),
    ] = None,
    results: Annotated[
        str, Option("--results", metavar="DIR", help="The folder of results to verify.")
    ] = "results",
    config: Annotated[
        str | None,
        Option(
            metavar="FILE",
            help="What was laid over config/config.yaml when the results were made, as with "
            "`snakemake --configfile`.",
        ),
    ] = None,
    with_training: Annotated[
        bool,
        Option("--with-training", help="Train the decoders anew too, instead of lending weights."),
    ] = False,
    cores: Annotated[
        int | None, Option(min=1, metavar="N", help="Jobs side by side; every core if not given.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Make results anew in a temporary folder, and compare them with those that are there.

    Finds what the gate of a run cannot: a result that was forged together with its digest, the
    provenance and the data package. Nothing is written into the results. Of a suite its job alone
    is repeated, in seconds; everything but the training takes about as long as a run, a minute or
    two. The training takes minutes more and is repeated with --with-training alone.

    For example: posinfo verify norms; posinfo verify --results old/results --cores 4

    Exit status: 0 all the same, 1 something differs, 2 wrong usage, or another config.
    """
    chosen = tuple(dict.fromkeys(suites or ()))
    for suite in chosen:
        if suite not in SUITES:
            raise InputError("suite", f"{suite!r} is unknown: {nearest(suite, SUITES)}")
    request = verdict.Request(
        Path(results), chosen, load_config(config), config, with_training,
        cores or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores or 2,
        ROOT,
    )  # fmt: skip
    document = verdict.check(request)
    show = _Progress()
    show.start(", ".join(chosen) or "everything")
    try:
        found = verdict.verify(request, document, show)
    except rerun.Failed as error:
        show.end()
        print(f"posinfo: the results could not be made anew: {error}", file=sys.stderr)
        raise Exit(1) from error
    show.end()
    if as_json:
        print_json(
            {
                "schema": 1,
                "verified": found.verified,
                "re_executed": list(chosen) or "everything",
                "trained_anew": with_training,
                "files": found.files,
                "differences": [vars(one) for one in found.differences],
                "notes": found.notes,
            }
        )
    else:
        _print(found)
    if not found.verified:
        raise Exit(1)


def _print(found: verdict.Verdict) -> None:
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    of_file = Counter(one.file for one in found.differences)
    shown: Counter[str] = Counter()
    for one in found.differences:
        shown[one.file] += 1
        if shown[one.file] <= SHOWN:
            print(one)
        elif shown[one.file] == of_file[one.file]:
            print(f"{one.file}: {of_file[one.file] - SHOWN} more differences")
    counts = Counter(found.files.values())
    counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    files = f"{len(found.files)} file{'s' * (len(found.files) != 1)}: {counted}"
    number = len(found.differences)
    if number:
        print(f"NOT VERIFIED: {number} difference{'s' * (number != 1)} above. {files}")
    else:
        print(f"Verified. {files}")


class _Progress:
    """Says on standard error how far it is: in one line of a terminal, in few lines elsewhere."""

    def __init__(self) -> None:
        self._tenth = 0
        self._open = False

    def start(self, what: str) -> None:
        print(f"re-executing {what} in a temporary folder", file=sys.stderr, flush=True)

    def __call__(self, done: int, of: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{done} of {of} jobs done", end="", file=sys.stderr, flush=True)
            self._open = True
        elif done == of or 10 * done // of > self._tenth:
            print(f"{done} of {of} jobs done", file=sys.stderr, flush=True)
        self._tenth = 10 * done // of

    def end(self) -> None:
        """Leave the line that was written to."""
        if self._open:
            print(file=sys.stderr)
            self._open = False
