"""Makes results anew in a temporary folder, by the workflow itself."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from posinfo.errors import InputError
from posinfo.runlock import LOCK_VARIABLE

#: What a run writes into its folder; everything else there may be read by it.
_WRITTEN = ("results", "report", "logs", "weights")
_STEPS = re.compile(r"^(\d+) of (\d+) steps")
#: Records of the jobs that train.
TRAINING_RECORDS = ("train_decoder_*.sha256", "tune_decoder_*.sha256")


class Failed(Exception):
    """The workflow ended before the results were there; the text is what it said last."""


@contextmanager
def elsewhere(run_folder: Path) -> Iterator[Path]:
    """A temporary folder that has what lies in the folder of a run, but nothing that it wrote.

    A config names files (claims, implementations) by paths from the folder of the run, and these
    may import others beside them: so all of them are there, as links.
    """
    folder = Path(tempfile.mkdtemp(prefix="posinfo-verify-"))
    try:
        for entry in sorted(run_folder.iterdir()):
            if entry.name not in _WRITTEN and not entry.name.startswith("."):
                (folder / entry.name).symlink_to(entry)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def lend_training(results: Path, folder: Path) -> None:
    """Copy trained weights and their records, as made after all that they rest on.

    A run in a new folder looks at times alone: so it trains nothing.
    """
    shutil.copytree(results / "trained", folder / "results" / "trained")
    records = folder / "results" / "digests"
    records.mkdir()
    for pattern in TRAINING_RECORDS:
        for record in (results / "digests").glob(pattern):
            shutil.copyfile(record, records / record.name)
    now = time.time()
    for path in (folder / "results").rglob("*"):
        if path.is_file():
            os.utime(path, (now, now))


def run(
    folder: Path,
    workflow: Path,
    targets: Sequence[str],
    *,
    cores: int,
    config: str | None,
    progress: Callable[[int, int], None],
) -> None:
    """Run the workflow in a folder until the targets are made; a red gate is no failure.

    Parameters
    ----------
    folder
        Where to run.
    workflow
        The Snakefile.
    targets
        Paths of results; everything if there are none.
    cores
        How many jobs may run side by side.
    config
        The file that was laid over the config, or None.
    progress
        Is told how many jobs are done, and how many there are.

    Raises
    ------
    InputError
        If the workflow refuses its input.
    Failed
        If a target, or without targets the last file of a run, was not made.
    """
    command = [sys.executable, "-m", "snakemake", "-s", str(workflow), "--cores", str(cores)]
    if config is not None:
        command += ["--configfile", str(Path(config).resolve())]
    environment = {key: value for key, value in os.environ.items() if key != LOCK_VARIABLE}
    process = subprocess.Popen(  # noqa: S603  (our own interpreter and workflow)
        [*command, "--", *targets],
        cwd=folder,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    said = []
    try:
        for line in process.stdout:
            said.append(line.rstrip("\n"))
            if steps := _STEPS.match(line):
                progress(int(steps[1]), int(steps[2]))
        process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    refused = [line.removeprefix("posinfo: ") for line in said if line.startswith("posinfo: ")]
    if process.returncode == 2 and refused:
        where, _, problem = refused[0].partition(": ")
        raise InputError(where, problem)
    needed = targets or ["results/provenance.json"]
    if not all((folder / path).is_file() for path in needed):
        last = [line for line in said if line.strip()][-3:]
        raise Failed(" / ".join(_last_words(folder) or last or [f"exit {process.returncode}"]))


def _last_words(folder: Path) -> list[str]:
    words = folder / "logs" / "last-words.txt"
    return words.read_text(encoding="utf-8").splitlines()[:3] if words.is_file() else []
