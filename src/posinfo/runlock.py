"""One run at a time in a folder, and no job that outlives its run.

The run's process holds an exclusive lock on a file for as long as it lives; the kernel lets
go of it when the process ends, however it ends. So a lock that Snakemake left behind when it
was killed can be told from one that a living run holds, and a job can wait for the lock in a
thread: if it ever gets it, its run is dead, and the job ends before it writes over a new run.
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
#: Tells a job where its run's lock is.
LOCK_VARIABLE = "POSINFO_RUN_LOCK"
#: Jobs of a killed run hold the lock for the moment that they need to end.
GRACE_SECONDS = 3.0


def hold(path: Path = LOCK_FILE, snakemake_locks: Path = SNAKEMAKE_LOCKS) -> IO[str]:
    """Take the run's lock and clear what a killed run left behind.

    Returns
    -------
    file
        Keep it open: the lock lasts as long as it.

    Raises
    ------
    InputError
        If a living run holds the lock, or the lock cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  (held for the run's life)
    except OSError as error:
        raise InputError(str(path), f"cannot be written: {error.strerror}") from error
    deadline = time.monotonic() + GRACE_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                file.seek(0)
                owner = file.read().strip() or "unknown"
                file.close()
                raise InputError(
                    str(path.parent.parent.resolve()),
                    f"another run (process {owner}) is at work in this folder; wait for its end",
                ) from error
            time.sleep(0.1)
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    if snakemake_locks.is_dir() and any(snakemake_locks.iterdir()):
        shutil.rmtree(snakemake_locks)
        print("The last run here was killed: its lock is cleared, its unfinished files are made "
              "anew.", file=sys.stderr)  # fmt: skip
    os.environ[LOCK_VARIABLE] = str(path.resolve())
    return file


def end_with_run() -> None:
    """End this process when the run that started it dies; does nothing outside of a run."""
    path = os.environ.get(LOCK_VARIABLE)
    if path and os.path.exists(path):
        threading.Thread(target=_wait_for_death, args=(path,), daemon=True).start()


def _wait_for_death(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        # Not sys.exit: it would end this thread only. What was written so far is written whole.
        os._exit(1)
