"""Snakemake in a copy of one process that has imported it: half of a short run is its imports.

What it does is what ``python -m snakemake`` does. Nothing of this project is imported before the
copy is made, for each run reads the library of its own folder.
"""

import atexit
import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    ["snakemake.cli", "snakemake.workflow", "snakemake.report.html_reporter", "grimp", "jsonschema"]
)


def snakemake(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[int, str]:
    """Exit status, and everything on the terminal.

    Raises
    ------
    TimeoutError
        If it has not ended after so many seconds.
    """
    with tempfile.NamedTemporaryFile() as terminal:
        process = _SERVER.Process(
            target=_run, args=[list(arguments), folder, dict(environment), terminal.name]
        )
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"snakemake {' '.join(arguments)}: not done after {seconds} s")
        return process.exitcode, terminal.read().decode()


def _run(arguments: list[str], folder: Path, environment: dict[str, str], terminal: str) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # As `python -m` has it: what pytest has put there is the library of another folder.
    added = environment.get("PYTHONPATH", "").split(os.pathsep)
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = [str(folder), *filter(None, added), *installed]
    opened = os.open(terminal, os.O_WRONLY | os.O_APPEND)
    os.dup2(opened, 1)
    os.dup2(opened, 2)
    from snakemake import cli

    sys.argv = ["snakemake", *arguments]
    status = 0
    try:
        cli.main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        status = 1
    # A copy ends without them otherwise, and the workflow's last lines are printed by one.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
