"""The changelog of numbers, ``baseline/CHANGES.md``: an entry each time that something is accepted.

It carries the day: it is read by people and compared with nothing.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from posinfo.baseline.comparing import Change, Comparison
from posinfo.baseline.judging import Judged
from posinfo.tidy import write_atomically

HEAD = """# What was accepted

An entry each time, the newest last, written by `posinfo accept`: when, what, why, and what moved.
"""
#: How many changes of numbers, and verdicts, an entry names.
NAMED = 5


def entry(what: str, because: str, lines: Sequence[str], mark: str) -> str:
    """An entry as Markdown; ``mark`` is a digest of what was accepted."""
    day = datetime.now(UTC).date().isoformat()
    body = "".join(f"  - {line}\n" for line in lines)
    return f"- {day}, {what} `{mark}`: {' '.join(because.split())}\n{body}"


def append(path: str | Path, text: str, begun: str = "") -> None:
    """Append an entry.

    If the last one has the text ``begun`` in its first line, it is replaced: a command that was
    killed before it accepted anything has left it.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    path = Path(path)
    before = path.read_text(encoding="utf-8") if path.is_file() else HEAD
    start = before.rfind("\n- ") + 1
    if start and begun and begun in before[start:].partition("\n")[0]:
        before = before[:start]
    write_atomically(path, f"{before.rstrip()}\n\n{text}")


def lines(
    comparison: Comparison | None, judged: Sequence[Judged], counts: str, rows: int
) -> list[str]:
    """What an entry says of a comparison with the results accepted before; None if there were none.

    Parameters
    ----------
    comparison, judged
        What differs, and why.
    counts
        The verdicts of the results, as the gate counts them.
    rows
        How many rows the suites have.
    """
    said = [f"{rows:,} rows. {counts}."]
    if comparison is None:
        return [*said, "The first: nothing was accepted before."]
    verdicts = [
        f"{claim}: {old or 'nothing'} → {new or 'nothing'}"
        for claim, (old, new) in comparison.verdicts.items()
    ]
    said.append(f"Verdicts that moved: {_some(verdicts) if verdicts else 'none'}.")
    kinds = Counter(change.kind for change in comparison.changes)
    files = len({change.file for change in comparison.changes})
    counted = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    said.append(f"Changes in {files} files: {counted}.")
    said += [f"Among the largest: {text}." for text in largest(comparison.changes)]
    why = Counter(one.why for one in judged if one.why and one.change.file.startswith("suites/"))
    said += [f"Beneath: {text}." for text, _ in why.most_common(NAMED)]
    return said


def largest(changes: Sequence[Change]) -> list[str]:
    """The largest relative changes of what was measured, a text each, one a row."""
    numbers = [
        change
        for change in changes
        if change.relative is not None
        and change.file.startswith("suites/")
        and change.column == "measured"
    ]
    numbers.sort(key=lambda change: -(change.relative or 0))
    return [
        f"{change.file}, {change.key}: {change.old} → {change.new} ({change.relative:.2g} of it)"
        for change in numbers[:NAMED]
    ]


def _some(texts: Sequence[str]) -> str:
    rest = len(texts) - 4 * NAMED
    return ", ".join(texts[: 4 * NAMED]) + (f" and {rest} more" if rest > 0 else "")
