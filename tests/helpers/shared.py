"""What is made once for all workers of a run of the tests."""

import fcntl
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Made = TypeVar("Made")


def once(path: Path, make: Callable[[], Made]) -> Made:
    """What ``make`` returns to the first who asks for this path; the others wait, and read it."""
    with open(path.with_name(f"{path.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return pickle.loads(path.read_bytes())  # noqa: S301  (written below)
        made = make()
        path.write_bytes(pickle.dumps(made))
        return made
