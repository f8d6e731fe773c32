"""The folder of accepted results: reading it, and replacing it whole or not at all."""

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from posinfo.baseline import basis
from posinfo.digests import sha256
from posinfo.errors import InputError
from posinfo.tidy import json_text

#: Its record: what the results rest on, and ``files`` with the sha256 of each.
RECORD = "accepted.json"
#: The ids of the page, one a line: addresses that others may have cited.
PAGE_IDS = "page-ids.txt"

_AT_FDCWD, _EXCHANGE = -100, 2


def load(folder: str | Path) -> dict[str, Any]:
    """Read the record.

    Raises
    ------
    InputError
        If it is missing or is not what it should be.
    """
    path = Path(folder, RECORD)
    try:
        record = basis.load(path)
    except InputError as error:
        raise InputError(str(error), "git has the accepted one, posinfo accept makes it") from error
    files = record.get("files")
    if not isinstance(files, dict) or not files:
        raise InputError(str(path), "does not say: files")
    return record


def problems(folder: str | Path) -> list[str]:
    """A line for each accepted file that is not what was accepted; nothing if all are."""
    try:
        files = load(folder)["files"]
    except InputError as error:
        return [str(error)]
    lines = []
    for name, expected in files.items():
        path = Path(folder, name)
        if not path.is_file():
            lines.append(f"{path}: was accepted as {expected[:12]}, but is gone; git has it")
        elif (found := sha256(path)) != expected:
            what = "is empty" if path.stat().st_size == 0 else f"is {found[:12]}"
            lines.append(f"{path}: was accepted as {expected[:12]}, {what}; git has it")
    return lines


def write(
    folder: str | Path,
    files: Mapping[str, bytes],
    about: Mapping[str, Any],
    before_exchange: Callable[[], None] = lambda: None,
) -> None:
    """Replace the folder. Whoever is killed meanwhile leaves the old one or the new one, whole.

    Parameters
    ----------
    folder
        Where the accepted results lie.
    files
        Content by name.
    about
        What they rest on.
    before_exchange
        Called when all is written, right before it becomes what was accepted.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in folder.parent.glob(f".{folder.name}.*"):  # by one that was killed
            shutil.rmtree(left)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        made.chmod(0o755)
        for name, content in files.items():
            (made / name).parent.mkdir(exist_ok=True)
            (made / name).write_bytes(content)
        digests = {name: sha256(made / name) for name in sorted(files)}
        (made / RECORD).write_text(json_text({**about, "files": digests}), encoding="utf-8")
        before_exchange()
        _exchange(made, folder)
    except OSError as error:
        raise InputError(str(folder), f"cannot be written: {error.strerror}") from error
    shutil.rmtree(made, ignore_errors=True)


def _exchange(made: Path, folder: Path) -> None:
    """Put one folder in the place of another, in one step where the system can."""
    if not folder.exists():
        made.rename(folder)
        return
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        done = rename(_AT_FDCWD, os.fsencode(made), _AT_FDCWD, os.fsencode(folder), _EXCHANGE) == 0
    except (AttributeError, OSError, TypeError):
        done = False
    if not done:  # elsewhere than on Linux: two steps, with nothing between them
        aside = made.with_name(f"{made.name}.old")
        folder.rename(aside)
        made.rename(folder)
        shutil.rmtree(aside, ignore_errors=True)


def page_ids(html: str) -> Iterable[str]:
    """The ids of a page that others can cite, sorted: those that are made from a key.

    ``says-`` and a number names the heading of an article for screen readers; no link leads there.
    """
    from html.parser import HTMLParser

    found: set[str] = set()

    class Ids(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.update(value for name, value in attrs if name == "id" and value)

    Ids().feed(html)
    return sorted(one for one in found if not one.startswith("says-"))
