"""A digest of code: of what it does, not of how it is worded. Above all of what reads weights."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from posinfo.imports import library_files
from posinfo.syntax import dumped

#: The modules that measure; what they import of the package belongs to them.
MODULES = ("posinfo.pretrained.smollm", "posinfo.pretrained.minilm")
#: What it does not depend on: the file that holds the package's version.
ASIDE = ("posinfo/__init__.py",)


def digest(
    source: str | Path, modules: Iterable[str] = MODULES, aside: Sequence[str] = ASIDE
) -> str:
    """sha256 of measuring code, without comments, docstrings and layout.

    Parameters
    ----------
    source
        The folder that holds the package; it must be on the import path.
    modules
        The modules that measure.
    aside
        How paths begin, from ``source``, that do not count.
    """
    whole = hashlib.sha256()
    for path in library_files(str(source), modules):
        if path.startswith(tuple(aside)):
            continue
        text = dumped(Path(source, path).read_text(encoding="utf-8"))
        whole.update(f"{path}\n{text}\n".encode())
    return whole.hexdigest()
