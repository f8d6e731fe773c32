"""The command ``accept``: what was measured becomes what every run reads."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from posinfo.digests import sha256
from posinfo.errors import InputError, nearest
from posinfo.parameters import ACCEPTED, READINGS_SCHEMA
from posinfo.pretrained.accepted import ABOUT, READINGS, load
from posinfo.schemas import table_fields
from posinfo.tidy import write_atomically

#: What can be accepted, and where it was measured.
MEASURED = {"trained_models": Path("results", "pretrained")}
#: What was accepted, when and why.
CHANGES = ACCEPTED / "CHANGES.md"


def accept(
    what: Annotated[str, typer.Argument(help=f"What to accept: {', '.join(MEASURED)}.")],
    because: Annotated[str, Option("--because", metavar="TEXT", help="Why, in a sentence.")] = "",
) -> None:
    """Make what was measured on real models the readings that every run rests on.

    The readings go into baseline/, with a line in its list of changes that says why. Nothing else
    is measured or changed; commit the folder to share them.
    """
    if what not in MEASURED:
        raise InputError("what", f"{what!r} is unknown: {nearest(what, MEASURED)}")
    if not because.strip():
        raise InputError("--because", "is needed: a sentence that says why they are right")
    folder = MEASURED[what]
    if not (folder / ABOUT).is_file():
        raise InputError(
            str(folder), f"has no {ABOUT}: measure first, with snakemake --cores 4 {what}"
        )
    found = load(folder, table_fields(READINGS_SCHEMA))
    if found.digest != found.about["readings_sha256"]:
        raise InputError(
            str(folder / READINGS),
            f"was changed after it was measured: sha256 {found.digest}, measured "
            f"{found.about['readings_sha256']}; make it anew with snakemake --cores 4 {what}",
        )
    changed = _changed(folder)
    ACCEPTED.mkdir(parents=True, exist_ok=True)
    for name in (READINGS, ABOUT):
        shutil.copyfile(folder / name, ACCEPTED / name)
    if changed:
        _note(because, found.digest, found.about)
    print(
        f"{what}: {len(found.records)} readings "
        f"{'accepted' if changed else 'are the accepted ones already'}"
    )


def _changed(folder: Path) -> bool:
    return any(
        not (ACCEPTED / name).is_file() or sha256(ACCEPTED / name) != sha256(folder / name)
        for name in (READINGS, ABOUT)
    )


def _note(because: str, digest: str, about: Any) -> None:
    before = CHANGES.read_text(encoding="utf-8") if CHANGES.is_file() else "# What was accepted\n"
    day = datetime.now(UTC).date().isoformat()
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    because = " ".join(because.split())
    write_atomically(
        CHANGES,
        f"{before.rstrip()}\n\n- {day}: {because}\n  Readings `{digest[:12]}`, code "
        f"`{about['code'][:12]}`, {versions}, Python {about['text']['python']}.\n",
    )
