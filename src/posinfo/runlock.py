"""One run at a time in a folder, and no job that outlives its run.

A run's process holds locks on files for as long as it lives; the kernel lets go of them when the
process ends, however it ends. So a lock that Snakemake left behind when it was killed can be told
from one that a living run holds; a job can wait in a thread for the lock of its run, and end when
it gets it; and a new run can wait until the last job of a killed one is gone.
"""

import fcntl
import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import IO

from posinfo.errors import InputError

#: Where a run's lock lies, below the working directory.
LOCK_FILE = Path(".snakemake/posinfo.lock")
#: Where Snakemake keeps its own locks, which outlive a killed run.
SNAKEMAKE_LOCKS = Path(".snakemake/locks")
#: Beside the lock, for each run a file that only it ever locks, and one that its jobs share.
RUNS, JOBS_FILE = "posinfo-runs", "posinfo-jobs.lock"
#: Tells a job the file of its own run.
LOCK_VARIABLE = "POSINFO_RUN_LOCK"
#: Jobs of a killed run need a moment to end.
GRACE_SECONDS = 3.0


def hold(path: Path = LOCK_FILE, snakemake_locks: Path = SNAKEMAKE_LOCKS) -> list[IO[str]]:
    """Take the run's locks and clear what a killed run left behind.

    Returns
    -------
    list of file
        Keep them open: the locks last as long as they.

    Raises
    ------
    InputError
        If a living run holds the lock, jobs of a killed one do not end, or the lock cannot be
        written.
    """
    folder = str(path.parent.parent.resolve())
    try:
        runs = path.with_name(RUNS)
        runs.mkdir(parents=True, exist_ok=True)
        lock = open(path, "a+", encoding="utf-8")  # noqa: SIM115  (held for the run's life)
        jobs = open(path.with_name(JOBS_FILE), "a", encoding="utf-8")  # noqa: SIM115
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror}") from error
    if not _lock_within_grace(lock):
        lock.seek(0)
        owner = lock.read().strip() or "unknown"
        raise InputError(
            folder, f"another run (process {owner}) is at work in this folder; wait for its end"
        )
    with jobs:
        if not _lock_within_grace(jobs):
            raise InputError(folder, "jobs of a killed run are still at work in this folder")
    try:
        own = _begin(lock, runs, snakemake_locks)
    except OSError as error:
        raise InputError(str(runs), f"cannot be written: {error.strerror}") from error
    os.environ[LOCK_VARIABLE] = str(Path(own.name).resolve())
    return [lock, own]


def _begin(lock: IO[str], runs: Path, snakemake_locks: Path) -> IO[str]:
    """Say whose run it is now, clear what others left, and lock a file of our own."""
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    for left in runs.iterdir():
        left.unlink()
    own = open(runs / f"{os.getpid()}.lock", "w", encoding="utf-8")  # noqa: SIM115
    fcntl.flock(own, fcntl.LOCK_EX)
    if snakemake_locks.is_dir() and any(snakemake_locks.iterdir()):
        shutil.rmtree(snakemake_locks)
        print("The last run here was killed: its lock is cleared, its unfinished files are made "
              "anew.", file=sys.stderr)  # fmt: skip
    return own


def _lock_within_grace(file: IO[str]) -> bool:
    """Lock a file that nobody else holds, or that whoever holds it lets go of in time."""
    deadline = time.monotonic() + GRACE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True


def own_run() -> Path | None:
    """The file that this process's run holds locked; None outside of a run."""
    path = os.environ.get(LOCK_VARIABLE)
    return Path(path) if path else None


def end_with_run() -> None:
    """End this process when the run that started it dies; does nothing outside of a run.

    Until then the process counts as one of the run's jobs, for whose end a new run waits.
    """
    run = own_run()
    if run is None:
        return
    if not run.exists():  # a later run has cleared it: ours is long over
        os._exit(1)
    jobs = open(run.parent.with_name(JOBS_FILE), "a", encoding="utf-8")  # noqa: SIM115
    fcntl.flock(jobs, fcntl.LOCK_SH)
    threading.Thread(target=_wait_for_death, args=(run, jobs), daemon=True).start()


def _wait_for_death(run: Path, jobs: IO[str]) -> None:
    with jobs, open(run, encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        # Not sys.exit: it would end this thread only. What was written so far is written whole.
        os._exit(1)


def is_over(file: IO[str]) -> bool:
    """Whether the run of this file, opened from :func:`own_run`, has ended."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
