"""A digest of the code that measures real weights: of what it does, not of how it is worded."""

import hashlib
from pathlib import Path

from posinfo.imports import library_files
from posinfo.syntax import dumped

#: The modules that measure; what they import of the package belongs to them.
MODULES = ("posinfo.pretrained.smollm", "posinfo.pretrained.minilm")
#: What it does not depend on: the file that holds the package's version.
ASIDE = ("posinfo/__init__.py",)


def digest(source: str | Path) -> str:
    """sha256 of the measuring code, without comments, docstrings and layout.

    Parameters
    ----------
    source
        The folder that holds the package; it must be on the import path.
    """
    whole = hashlib.sha256()
    for path in library_files(str(source), MODULES):
        if path in ASIDE:
            continue
        text = dumped(Path(source, path).read_text(encoding="utf-8"))
        whole.update(f"{path}\n{text}\n".encode())
    return whole.hexdigest()
