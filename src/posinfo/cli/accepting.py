"""The command ``accept``: results, or readings of real models, become what runs are held to."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Exit, Option

from posinfo.baseline import accepted, basis, changelog, layout, standing
from posinfo.catalogue import SUITES
from posinfo.cli.common import ROOT, load_config
from posinfo.cli.comparing import BASELINE, RESULTS, SCHEMAS, compare_with
from posinfo.digests import sha256
from posinfo.errors import InputError, nearest
from posinfo.gate import verdict_line
from posinfo.parameters import ACCEPTED, READINGS_SCHEMA, SOURCE
from posinfo.pretrained.accepted import ABOUT, READINGS, load
from posinfo.rehearsal import result
from posinfo.rehearsal import run as rehearsal
from posinfo.schemas import table_fields
from posinfo.tidy import read

#: What can be accepted, and where it was measured.
MEASURED = {
    "results": Path(RESULTS),
    "trained_models": Path("results", "pretrained"),
    "rehearsal": rehearsal.FOLDER,
}
#: What was accepted, when and why.
CHANGES = ROOT / "baseline" / "CHANGES.md"


def accept(
    what: Annotated[
        str, typer.Argument(help=f"What to accept: {', '.join(MEASURED)}.")
    ] = "results",
    because: Annotated[str, Option("--because", metavar="TEXT", help="Why, in a sentence.")] = "",
    results: Annotated[
        str, Option("--results", metavar="FOLDER", help="The folder of results to accept.")
    ] = RESULTS,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Say what would be accepted, and change nothing.")
    ] = False,
) -> None:
    """Make results what every later run is compared with, and say why in baseline/CHANGES.md.

    Only the results of a whole run of this working copy are accepted, in which everything holds;
    that they moved is no hindrance. What trained_models measured is accepted by that name, and is
    what every run reads in place of measuring it; what posinfo rehearse measured by the name
    rehearsal, and the report shows it. Commit the folder baseline to share it.

    For example: posinfo accept --because "theta is computed in float64 now"
    """
    if what not in MEASURED:
        raise InputError("what", f"{what!r} is unknown: {nearest(what, MEASURED)}")
    if not because.strip() and not dry_run:
        raise InputError("--because", "is needed: a sentence that says why they are right")
    if what != "results" and results != RESULTS:
        raise InputError("--results", "goes with results alone")
    if what == "trained_models":
        _accept_readings(because, dry_run)
    elif what == "rehearsal":
        _accept_rehearsal(because, dry_run)
    else:
        _accept_results(Path(results), because, dry_run)


def _accept_results(folder: Path, because: str, dry_run: bool) -> None:
    if not folder.is_dir():
        raise InputError(str(folder), "is no folder: make the results with snakemake --cores 4")
    with _inside(folder) as name:
        problems = standing.problems(
            name, SCHEMAS, source=SOURCE, config=load_config(None), suites=SUITES
        )
        if problems:
            more = f" (and {len(problems) - 1} more problems)" if len(problems) > 1 else ""
            typer.echo(f"posinfo: not accepted: {problems[0]}{more}", err=True)
            raise Exit(1)
        files = {one: Path(name, one).read_bytes() for one in layout.names(name)}
        page = Path(name).parent / "report" / "index.html"
        ids = accepted.page_ids(page.read_text(encoding="utf-8"))
        files[accepted.PAGE_IDS] = "".join(f"{one}\n" for one in ids).encode()
        about = basis.load(Path(name, basis.NAME))
        ledger = read(Path(name, layout.LEDGER), table_fields(SCHEMAS / "ledger.yaml"))
        mark = _mark(files | {basis.NAME: Path(name, basis.NAME).read_bytes()})
        # Accepted results that are damaged are replaced as if there were none.
        first = bool(accepted.problems(BASELINE))
        found = None if first else compare_with(BASELINE, name, [])
    rows = sum(content.count(b"\n") - 1 for one, content in files.items() if "suites/" in one)
    lines = changelog.lines(
        found.comparison if found else None,
        found.judged if found else [],
        verdict_line(ledger),
        rows,
    )
    same = found is not None and found.comparison.same
    if dry_run:
        typer.echo(f"{folder}: would be accepted, {len(files)} files")
        for line in lines:
            typer.echo(f"  {line}")
        return
    if same and accepted.load(BASELINE) == about | {"files": _digests(files)}:
        typer.echo(f"{folder}: these are the accepted results already")
        return
    entry = changelog.entry("results", because, lines, mark)
    accepted.write(
        BASELINE, files, about,
        before_exchange=lambda: changelog.append(CHANGES, entry, f", results `{mark}`: "),
    )  # fmt: skip
    typer.echo(f"{folder}: {len(files)} files accepted; commit baseline/ to share them")


def _mark(files: dict[str, bytes]) -> str:
    """A digest of what is accepted, by which the changelog knows it."""
    whole = hashlib.sha256()
    for name, digest in sorted(_digests(files).items()):
        whole.update(f"{digest}  {name}\n".encode())
    return whole.hexdigest()[:12]


def _digests(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[str]:
    """Work in the folder of the run, from which its jobs recorded their paths."""
    if folder.resolve().name != RESULTS:
        raise InputError(str(folder), f"a run calls its folder {RESULTS}: give that of a run")
    before = os.getcwd()
    os.chdir(folder.resolve().parent)
    try:
        yield RESULTS
    finally:
        os.chdir(before)


def _accept_readings(because: str, dry_run: bool) -> None:
    what = "trained_models"
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
    if dry_run:
        said = "would be accepted" if changed else "are the accepted ones already"
        typer.echo(f"{what}: {len(found.records)} readings {said}")
        return
    ACCEPTED.mkdir(parents=True, exist_ok=True)
    for name in (READINGS, ABOUT):
        shutil.copyfile(folder / name, ACCEPTED / name)
    if changed:
        mark = found.digest[:12]
        lines = [_rests_on(found.about)]
        changelog.append(CHANGES, changelog.entry(what, because, lines, mark))
    print(
        f"{what}: {len(found.records)} readings "
        f"{'accepted' if changed else 'are the accepted ones already'}"
    )


def _accept_rehearsal(because: str, dry_run: bool) -> None:
    what = "rehearsal"
    folder = MEASURED[what]
    found = result.load(folder)
    changed = result.differs(folder)
    count = len(found.configurations)
    if dry_run:
        said = "would be accepted" if changed else "are the accepted ones already"
        typer.echo(f"{what}: {count} configurations {said}")
        return
    result.accept(folder)
    if changed:
        mark = sha256(folder / result.ABOUT)[:12]
        changelog.append(CHANGES, changelog.entry(what, because, result.described(found), mark))
    print(
        f"{what}: {count} configurations "
        f"{'accepted' if changed else 'are the accepted ones already'}"
    )


def _changed(folder: Path) -> bool:
    return any(
        not (ACCEPTED / name).is_file() or sha256(ACCEPTED / name) != sha256(folder / name)
        for name in (READINGS, ABOUT)
    )


def _rests_on(about: Any) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return f"Code `{about['code'][:12]}`, {versions}, Python {about['text']['python']}."
