"""What the commands share: the config of the working copy, and how things are printed."""

import difflib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posinfo.check.result import finite
from posinfo.checks import check_agreement, check_config
from posinfo.claims import Claim, load_claims
from posinfo.errors import InputError
from posinfo.parameters import overlay
from posinfo.schemas import load_yaml

# Imported inside functions: rich, which most calls can spare.

#: The working copy that this file belongs to: code and config of one copy go together.
ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "config" / "config.yaml"
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
CLAIMS_SCHEMA = ROOT / "workflow" / "schemas" / "claims.schema.yaml"
TEMPLATES = ROOT / "workflow" / "report"

#: An outcome is a shape and a word, not a colour.
MARKS = {"holds": "✓", "fails": "✗", "error": "!", "not run": "–"}
COLOURS = {"holds": "green", "fails": "red", "error": "yellow", "not run": "dim"}


def load_config(above: str | None) -> dict[str, Any]:
    """Read and check the config of the working copy.

    Parameters
    ----------
    above
        A file to lay over it, or None.

    Raises
    ------
    InputError
        Naming file, key and what is allowed.
    """
    if not SCHEMA.is_file():
        raise InputError(
            "this installation", "has no config beside it; install the package with pip install -e"
        )
    files = [_shown(CONFIG), *([above] if above else [])]
    loaded = [load_yaml(file) for file in files]
    for file, content in zip(files, loaded, strict=True):
        if not isinstance(content, dict):
            raise InputError(file, "must hold keys with values")
    merged = loaded[0] if above is None else overlay(*loaded)
    check_config(merged, files, load_yaml(SCHEMA))
    check_agreement(merged, files)
    return merged


def computed_claim(name: str, config: Mapping[str, Any]) -> Claim:
    """The computed claim of that id, in the files that the config names.

    Raises
    ------
    InputError
        If there is none.
    """
    known = load_claims([ROOT / path for path in config["claims"]], load_yaml(CLAIMS_SCHEMA))
    computed = {one.id: one for one in known if one.kind == "computed"}
    if name not in computed:
        near = difflib.get_close_matches(name, computed, n=3, cutoff=0.5)
        meant = f": did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise InputError("claim", f"{name!r} is no computed claim{meant}")
    return computed[name]


def _shown(path: Path) -> str:
    """A path as a person would type it: relative where that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)


def print_json(content: object) -> None:
    """Print JSON that any reader takes."""
    print(json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False))


def console() -> Any:
    """Where to print, as wide as the terminal."""
    from rich.console import Console

    # A pipe has no width: wide enough there for a row to stay on few lines.
    return Console(width=None if sys.stdout.isatty() else 160, highlight=False)


def check_page(path: str) -> None:
    """Refuse a page that could not be written, before anything is read or measured."""
    if not TEMPLATES.is_dir():
        raise InputError("--html", "this installation has no templates; use pip install -e")
    place = Path(path)
    if place.is_dir():
        raise InputError(f"--html {path}", "is a folder: name a file")
    if not place.resolve().parent.is_dir():
        raise InputError(f"--html {path}", f"the folder {place.parent} does not exist")


def write_page(path: str, text: str) -> None:
    """Write the page that ``--html`` asks for."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--html {path}", f"cannot be written: {error.strerror}") from error
