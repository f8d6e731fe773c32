"""What every job of the workflow shares: its log, its end, and its record of what it wrote."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from posinfo import digests, runlock
from posinfo.errors import InputError

#: Lines that the terminal shows last, whatever Snakemake prints before it ends.
LAST_WORDS = Path("logs/last-words.txt")


def say_last(line: str) -> None:
    """Add a line to those that the terminal shows last."""
    LAST_WORDS.parent.mkdir(parents=True, exist_ok=True)
    # One short write to a file opened for appending is atomic: jobs side by side do not mix.
    with open(LAST_WORDS, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run a script's body as a job.

    Everything it prints goes to its log; wrong input ends it with one line, a crash with one
    line and the traceback in the log; what it wrote is recorded with its sha256 in the
    output named ``digest``, if the rule has one.
    """
    log = Path(str(snakemake.log[0])) if snakemake.log else None
    try:
        runlock.end_with_run()
        if log:
            _redirect(log)
        yield
        recorded_in = snakemake.output.get("digest")
        if recorded_in:
            others = [path for path in snakemake.output if path != recorded_in]
            digests.record(others, recorded_in)
    except InputError as error:
        print(error, file=sys.stderr)
        say_last(f"{snakemake.rule}: {error}")
        sys.exit(1)
    except Exception as error:
        traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        say_last(f"{snakemake.rule} crashed: {text} (traceback in {log})")
        sys.exit(1)


def _redirect(log: Path) -> None:
    """Send standard output and error to the log, those of C++ libraries too."""
    log.parent.mkdir(parents=True, exist_ok=True)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)
