"""Which code made the results: its commit, if git knows it, and a digest of its files."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: What makes the results, from the top of a working copy; Python's own caches aside.
CODE = ("Snakefile", "profiles", "scripts", "src/posinfo", "workflow")
_SUFFIXES = (".pyc", ".pyo")
#: Git answers at once, or not at all: a hanging file system must not hold up a run.
_SECONDS = 20


def of_working_copy(folder: str | Path) -> dict[str, Any]:
    """Commit and state of the working copy in a folder.

    Returns
    -------
    dict
        ``commit``, and ``dirty``: whether a file differs from it or is new to it, in which case
        the commit alone does not say what ran. Empty where there is no git, or where it does not
        hold the folder's Snakefile: a repository around it then says nothing of this code.
    """
    known = _git(folder, "rev-parse", "HEAD", "HEAD:./Snakefile")
    changed = _git(folder, "status", "--porcelain", "--", ".") if known else None
    if not known or changed is None:
        return {}
    return {"commit": known.split()[0], "dirty": bool(changed.strip())}


def digest(folder: str | Path) -> str:
    """A sha256 of the files of :data:`CODE` with their paths: the same code has the same one.

    Unlike a commit it is known without git, and does not change when something else does.
    """
    whole = hashlib.sha256()
    for path in _files(Path(folder)):
        name = path.relative_to(folder).as_posix()
        whole.update(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n".encode())
    return whole.hexdigest()


def _files(folder: Path) -> Iterable[Path]:
    found = [
        path
        for top in CODE
        for path in ([folder / top] if (folder / top).is_file() else (folder / top).rglob("*"))
        if path.is_file() and path.suffix not in _SUFFIXES
    ]
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())


def _git(folder: str | Path, *arguments: str) -> str | None:
    """What git says of a folder; None if there is none, or it refuses."""
    git = shutil.which("git")
    if git is None:
        return None
    # A hook that starts a run has variables set that name another repository. Looking must not
    # write either, as status does to refresh its index.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(  # noqa: S603  (git, as the path names it)
            [git, "--no-optional-locks", *arguments],
            cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
