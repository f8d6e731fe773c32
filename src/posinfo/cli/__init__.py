"""The command ``posinfo``: measure, control, check one's function, read a model, cite, verify.

It also compares results with the accepted ones, and accepts them.

Exit status: 0 if everything holds, 1 if something does not, 2 for wrong usage or input, with one
line that says what would be allowed.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer import Exit, Option
from typer.exceptions import TyperException

from posinfo import __version__
from posinfo.check.process import Broken
from posinfo.cli import (
    accepting,
    checking,
    citing,
    comparing,
    controlling,
    measuring,
    modelling,
    rehearsing,
    verifying,
)
from posinfo.cli.common import load_config
from posinfo.errors import InputError

__all__ = ["app", "load_config", "main"]

app = typer.Typer(
    name="posinfo",
    help="Measure what lessons say about positions in transformers, and show every row.",
    epilog="Exit status: 0 everything holds, 1 something does not, 2 wrong usage or input.",
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


app.command()(measuring.suites)
app.command()(measuring.measure)
app.command()(controlling.control)
app.command()(checking.check)
app.command()(comparing.diff)
app.command()(accepting.accept)
app.command()(citing.cite)
app.command()(verifying.verify)
app.command()(rehearsing.rehearse)
app.command()(modelling.model)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status."""
    try:
        status = app(args=arguments, prog_name="posinfo", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        print(f"posinfo: {error}", file=sys.stderr)
        sys.exit(2)
    except Broken as error:
        print(f"posinfo: {error}", file=sys.stderr)
        if os.environ.get("POSINFO_DEBUG"):
            print(error.trace, file=sys.stderr)
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
