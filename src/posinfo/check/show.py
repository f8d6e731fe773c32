"""A result as lines on a terminal, and in a pipe: shapes and words first, colour on top."""

from typing import Any

from posinfo.check.result import CHECK_FAILS, FAILS, HOLDS, NOT_ASKED, Finding, Result, Stated
from posinfo.numbers_text import significant

MARKS = {HOLDS: "✓", FAILS: "✗", NOT_ASKED: "–"}
COLOURS = {HOLDS: "green", FAILS: "red", NOT_ASKED: "dim"}

#: Digits of errors and bounds; ``--json`` has them all.
DIGITS = 2
#: How many failing checks are named before all findings follow.
FIRST = 3


def show(result: Result, console: Any) -> None:
    """Print a result.

    Parameters
    ----------
    result
        What was found.
    console
        A console of rich. Nothing in the result is taken for its markup.
    """
    from rich.table import Table
    from rich.text import Text

    console.print(Text.assemble((plain(result.target.name), "bold"), f": {called(result)}"))
    # What to do comes first: the rest is for whoever wants to know why.
    for line in advice(result) + described(result):
        console.print(Text(line))
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("verdict", no_wrap=True)
    table.add_column("property", no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("bound", justify="right", no_wrap=True)
    # Folded, never cut: the end of the words may be what matters.
    table.add_column("finding", overflow="fold")
    for name, finding in listed(result):
        colour = COLOURS[finding.outcome]
        table.add_row(
            Text(f"{MARKS[finding.outcome]} {finding.outcome}", style=colour),
            Text(name),
            Text(significant(finding.measured, DIGITS)),
            Text(bound(finding)),
            Text(said(result, finding)),
        )
    console.print(table)
    console.print()
    console.print(Text(counted(result)))
    for line in claimed(result):
        console.print(Text(line))


def plain(text: str) -> str:
    """Text without what would steer a terminal: a function's own words may hold anything."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def called(result: Result) -> str:
    """The form that the function was called in."""
    axes = {"td": "[..., T, d]", "btd": "[B, T, d]", "bhtd": "[B, h, T, d]", "bthd": "[B, T, h, d]"}
    return f"{result.text}, called with {axes[result.axes]}"


def described(result: Result) -> list[str]:
    """What was found about pairs and tables, and what else a reader should know."""
    pairing = next((f for f in result.findings if f.check == "pairing"), None)
    layout = result.layout or "none can be told"
    if pairing is not None and pairing.outcome != HOLDS and result.layout:
        layout = f"closest to {layout}"
    lines = [f"pairs: {layout}"]
    if result.tables:
        lines.append(f"tables that fit: cos and sin {result.tables}")
    lines += [f"note: {plain(note)}" for note in result.notes]
    for finding in result.findings:
        lines += [f"note: {finding.check}: {plain(note)}" for note in finding.notes]
    return lines


def listed(result: Result) -> list[tuple[str, Finding]]:
    """The findings by name; of checks in a row, not asked for one reason, how many they are."""
    lines: list[list[Finding]] = []
    for finding in result.findings:
        before = lines[-1][0] if lines else None
        if (
            before
            and before.outcome == finding.outcome == NOT_ASKED
            and (before.words == finding.words)
        ):
            lines[-1].append(finding)
        else:
            lines.append([finding])
    return [(f"{len(one)} checks" if one[1:] else one[0].check, one[0]) for one in lines]


def bound(finding: Finding) -> str:
    """The bound, with the sign of how the measured value compares."""
    if finding.bound is None:
        return ""
    sign = "≤" if finding.outcome == HOLDS else ">"
    return f"{sign} {significant(finding.bound, DIGITS)}"


def said(result: Result, finding: Finding) -> str:
    """What is said of a check: its promise if that is kept, else what was found instead."""
    if finding.outcome == HOLDS:
        return result.info(finding.check).promise
    words = plain(finding.words)
    return f"not asked: {words}" if finding.outcome == NOT_ASKED else words


def counted(result: Result) -> str:
    """How many checks have which outcome."""
    counts = result.counts
    words = {HOLDS: "hold", FAILS: "fail", NOT_ASKED: "not asked"}
    if counts[HOLDS] == 1:
        words[HOLDS] = "holds"
    if counts[FAILS] == 1:
        words[FAILS] = "fails"
    shown = [f"{number} {words[outcome]}" for outcome, number in counts.items() if number]
    return f"{len(result.findings)} checks: {', '.join(shown)}"


def rejected(result: Result) -> list[str]:
    """The first checks that fail, each with what it found, and how many more there are."""
    lines = [f"{f.check}: {plain(f.words)}" for f in result.findings if f.outcome == FAILS]
    more = len(lines) - FIRST
    return lines[:FIRST] + ([f"and {more} more"] if more > 0 else [])


def claimed(result: Result) -> list[str]:
    """Which statements of the lessons hold, by their ids, and which rest on which failing check."""
    if not result.claims:
        return []
    by = {
        outcome: [claim for claim in result.claims if claim.outcome == outcome]
        for outcome in (HOLDS, CHECK_FAILS, NOT_ASKED)
    }
    lines = []
    for outcome, title in (
        (HOLDS, "hold for it"),
        (NOT_ASKED, "were not asked"),
    ):
        if by[outcome]:
            ids = " ".join(_covers(claim) for claim in by[outcome])
            lines.append(f"{MARKS[outcome]} statements of the lessons that {title}: {ids}")
    if by[CHECK_FAILS]:
        lines.append(f"{MARKS[FAILS]} statements of the lessons that rest on a check that fails:")
    for finding in result.findings:
        ids = [_covers(claim) for claim in by[CHECK_FAILS] if finding.check in claim.checks]
        if finding.outcome == FAILS and ids:
            lines.append(f"    {finding.check}: {' '.join(ids)}")
    return lines


def _covers(claim: Stated) -> str:
    return "/".join(claim.covers)


def advice(result: Result) -> list[str]:
    """What to do about a function that fails."""
    if result.other_axes:
        command = f"posinfo check {plain(result.target.name)} --axes {result.other_axes}"
        return [f"with other axes everything holds: {command}"]
    lines = list(result.diagnosis)
    near = result.nearest
    if near is None:
        return lines
    if near.compared == "checks":
        mostly = "" if near.same else "mostly "
        return [*lines, f"fails {mostly}the same checks as: {near.name}"]
    return [
        *lines,
        f"behaves {'' if near.share == 1 else 'most '}like: {near.name}",
        *(f"    {line}" for line in near.hint.splitlines()),
    ]
