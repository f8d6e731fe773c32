"""The command ``cite``: what Markdown says of the results, kept equal to them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Exit, Option

from posinfo.cite.document import UNBOUND
from posinfo.cite.markers import ADDRESS
from posinfo.cite.plan import CURRENT, DRIFTED, NEW, Outcome, Plan, plan
from posinfo.cite.results import Results, open_results
from posinfo.cite.suggest import LEAST, SHOWN, suggestions, too_common
from posinfo.cli.common import ROOT, TEMPLATES, print_json
from posinfo.errors import InputError
from posinfo.tidy import write_atomically

#: Where results are looked for, in this order.
PLACES = ("results", "report/index.html")


def cite(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Markdown files.")],
    check: Annotated[
        bool,
        Option("--check", help="Change nothing; exit 1 if a file would change what it says."),
    ] = False,
    source: Annotated[
        str | None,
        Option(
            "--from",
            metavar="PATH",
            help="A folder of results, or a report file alone; results, or else "
            "report/index.html, if not given.",
        ),
    ] = None,
    address: Annotated[
        str,
        Option(
            "--report",
            metavar="ADDRESS",
            help="Where readers find the report, for files that do not say with a marker.",
        ),
    ] = ADDRESS,
    strict: Annotated[
        bool, Option("--strict", help="Exit 1 for unbound numbers and other notes too.")
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Write blocks that were edited by hand anew as well.")
    ] = False,
    suggest: Annotated[
        bool,
        Option(
            "--suggest", help="Print the markers that give the unbound numbers; change nothing."
        ),
    ] = False,
    whole: Annotated[
        bool, Option("--all", help=f"With --suggest: all markers of a number, not {SHOWN}.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Bring the numbers, verdicts and tables that Markdown files cite up to date.

    A file says in HTML comments what it cites, as in

    <!-- posinfo: claim norms-kept-in-the-lesson-run --><!-- /posinfo -->

    and docs/citing.md says what else. No byte outside of such blocks is changed.
    What has a wrong marker, or a block that was edited by hand, is left as it is.
    """
    if check and force:
        raise InputError("--force", "writes, and --check changes nothing: give one of them")
    if suggest and (check or force or as_json):
        raise InputError("--suggest", "stands alone: give no --check, --force or --json")
    if whole and not suggest:
        raise InputError("--all", "says how many markers --suggest prints: give both")
    results = open_results(_source(source), ROOT / "workflow" / "schemas", TEMPLATES)
    plans, failed = [], []
    for file in dict.fromkeys(files):
        try:
            text = _read(file)
            made = plan(file, text, results, address, force)
            if suggest:
                _suggest(made, results, whole)
                continue
            stale = _stale_pictures(made)
            if not check:
                _write(made, text, stale)
                made = made.renewed()
        except InputError as error:
            # What was written before it is still to be told, and what comes after to be written.
            failed.append(str(error))
        else:
            plans.append((made, stale))
    if as_json:
        print_json(
            {"source": results.source, "files": [_json(made, stale) for made, stale in plans]}
        )
    else:
        for made, stale in plans:
            _print(made, stale, check)
    for made, _ in plans:
        for problem in made.wrong:
            print(f"posinfo: {made.file} line {problem.line}: {problem.text}", file=sys.stderr)
    for line in failed:
        print(f"posinfo: {line}", file=sys.stderr)
    status = max((_status(made, stale, check, strict) for made, stale in plans), default=0)
    status = 2 if failed else status
    if status:
        raise Exit(status)


def _suggest(made: Plan, results: Results, whole: bool) -> None:
    """For each number that nobody generated the markers that would."""
    # Tables and figures first: a report alone has them, too.
    order = ("tables", "figures", "suites")
    names = [name for name in results.names() if name.partition("/")[0] in order]
    names.sort(key=lambda name: order.index(name.partition("/")[0]))
    for number in made.counted(UNBOUND):
        found = suggestions(number.text, results, names, number.sentence)
        said = "" if found else ": if it is yours, mark it as given"
        if too_common(number.text):
            said = (
                f": not looked for: whole numbers below {LEAST:,} are most often yours; if it is a "
                "result, name its row"
            )
        print(f"{made.file}:{number.line}: `{number.text}`{said}")
        shown = found if whole else found[:SHOWN]
        for marker in shown:
            print(f"    <!-- posinfo: {marker} --><!-- /posinfo -->")
        if len(found) > len(shown):
            print(f"    … {len(found) - len(shown):,} more: --suggest --all")


def _source(given: str | None) -> str:
    if given is not None:
        return given
    for place in PLACES:
        if (Path(place) / "ledger.csv").is_file() or Path(place).is_file():
            return place
    raise InputError(
        "results",
        "there are none here, and no report/index.html: make them with snakemake --cores 4, or "
        "give a folder of results or a report with --from",
    )


def _read(file: str) -> str:
    try:
        return Path(file).read_bytes().decode()
    except FileNotFoundError as error:
        raise InputError(file, "does not exist") from error
    except OSError as error:
        raise InputError(file, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(file, f"is not UTF-8 at byte {error.start}") from error


def _stale_pictures(made: Plan) -> dict[str, bytes]:
    """The drawings that are not what the results say, by their path."""
    folder = Path(made.file).resolve().parent
    stale = {}
    for name, picture in made.pictures.items():
        if Path(name).is_absolute() or "://" in name or not name.endswith(".svg"):
            raise InputError(
                made.file, f"image: {name!r} is no path of an .svg file, relative to this one"
            )
        path = folder / name
        if not path.is_file() or path.read_bytes() != picture:
            stale[name] = picture
    return stale


def _write(made: Plan, text: str, pictures: dict[str, bytes]) -> None:
    """Write what changed, whole, with the file's own permissions."""
    if made.refused:
        return
    # A link stays one: what it points to is written, and the drawings beside that.
    path = Path(made.file).resolve()
    for name, picture in pictures.items():
        write_atomically(path.parent / name, picture)
    if made.text != text:
        mode = path.stat().st_mode & 0o7777
        write_atomically(path, made.text.encode(), mode=mode)


def _status(made: Plan, stale: dict[str, bytes], check: bool, strict: bool) -> int:
    if made.wrong:
        return 2
    if made.refused:
        return 1
    if check and (made.having(DRIFTED, NEW) or stale):
        return 1
    return int(strict and bool(made.counted(UNBOUND) or made.notes))


def _print(made: Plan, stale: dict[str, bytes], check: bool) -> None:
    # Nothing is said to be written in a file that is left as it is.
    check = check or made.refused
    for one in made.outcomes:
        if one.status != CURRENT:
            print(f"{made.file}:{chr(10).join(_lines(one, check))}")
    for name in stale:
        print(f"{made.file}: {name} {'is not the drawing of the results' if check else 'written'}")
    for problem in made.unfit:
        print(f"{made.file}:{problem.line}: {problem.text}")
    for note in made.notes:
        print(f"{made.file}:{note.line}: note: {note.text}")
    # With a marker that cannot be read nobody knows which numbers it binds.
    if not made.wrong:
        print(f"{made.file}: {made.numbers_line()}")


_SAID = {
    (DRIFTED, True): "drifted",
    (DRIFTED, False): "renewed",
    (NEW, True): "not generated yet",
    (NEW, False): "generated",
}


def _lines(one: Outcome, check: bool) -> Sequence[str]:
    """What is said of a block that is not as the results say: a line, and what follows it."""
    said = _SAID.get(
        (one.status, check), "edited by hand: put words outside of the block, or give --force"
    )
    head = f"{one.block.line}: {one.block.marker}: {said}"
    if one.sentence:
        return [f"{head}: {_quoted(one.old)} → {_quoted(one.new)}", f"    in: {one.sentence}"]
    if one.status == NEW:
        return [head]
    return [head, *_difference(one.old.split("\n"), one.new.split("\n"))]


def _quoted(text: str) -> str:
    return f"`{text}`" if text else "nothing"


def _difference(old: Sequence[str], new: Sequence[str], shown: int = 6) -> list[str]:
    """The first lines in which two tables differ."""
    import difflib

    changes = [
        f"    {line}"
        for line in difflib.unified_diff(old, new, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    if len(changes) > shown:
        return [*changes[:shown], f"    … {len(changes) - shown} more lines"]
    return changes


def _json(made: Plan, stale: dict[str, bytes]) -> dict[str, Any]:
    return {
        "file": made.file,
        "blocks": [
            {
                "line": one.block.line,
                "marker": str(one.block.marker),
                "status": one.status,
                "old": one.old,
                "new": one.new,
                "sentence": one.sentence,
                "data": one.cited.digest,
                "permalink": one.permalink,
            }
            for one in made.outcomes
        ],
        "pictures": list(stale),
        "errors": [
            {"line": problem.line, "text": problem.text} for problem in (*made.wrong, *made.unfit)
        ],
        "notes": [{"line": note.line, "text": note.text} for note in made.notes],
        "numbers": [
            {"line": number.line, "text": number.text, "status": number.status}
            for number in made.numbers
        ],
    }
