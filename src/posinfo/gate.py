"""The gate: everything that keeps a run from being green, a line each.

It runs at every call, also when there is nothing else to do, and imports nothing heavy.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from posinfo import digests, environment, provenance
from posinfo.baseline.judging import gate_lines
from posinfo.errors import InputError
from posinfo.ledger import (
    contradiction_problems,
    decided_anew,
    row_name,
    row_problem,
)
from posinfo.rows import PASSING, STALE, STANDING

#: The suite in which the functions of the config are rows.
IMPLEMENTATIONS = "implementations"
#: How many rows of one kind are named one by one before the rest is counted.
NAMED = 3


def implementation_lines(
    rows: Sequence[Mapping[str, Any]], listed: Sequence[Mapping[str, Any]]
) -> list[str]:
    """A line for each implementation of the config that checks reject, and how to see them.

    Parameters
    ----------
    rows
        All rows that were read.
    listed
        ``implementations`` of the config.
    """
    lines = []
    for entry in listed:
        mine = [r for r in rows if (r["suite"], r["subject"]) == (IMPLEMENTATIONS, entry["name"])]
        bad = [row["quantity"] for row in mine if row["outcome"] not in PASSING]
        if not bad:
            continue
        target = f"{entry['file']}:{entry['function']}"
        command = ["posinfo", "check", target]
        for key in ("signature", "axes", "rotary_dim", "last_position"):
            if entry.get(key) is not None:
                command += [f"--{key.replace('_', '-')}", str(entry[key])]
        fail = f"{len(mine)} check{'s' * (len(mine) != 1)} fail{'s' * (len(bad) == 1)}"
        lines.append(
            f"implementation {entry['name']} ({target}): {len(bad)} of {fail}: "
            f"{', '.join(bad)}; see {shlex.join(command)}"
        )
    return lines


def row_lines(
    rows: Sequence[Mapping[str, Any]], listed: Sequence[Mapping[str, Any]] = ()
) -> list[str]:
    """A line for each case and subject of which rows do not hold: counts, and the first few.

    Those of the implementations ``listed`` in the config are :func:`implementation_lines`.
    """
    names = {(IMPLEMENTATIONS, entry["name"]) for entry in listed}
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["outcome"] not in PASSING and (row["suite"], row["subject"]) not in names:
            groups.setdefault((row["suite"], row["subject"]), []).append(row)
    lines = []
    for (suite, subject), bad in groups.items():
        total = sum(row["suite"] == suite and row["subject"] == subject for row in rows)
        if len(bad) > NAMED:
            lines.append(
                f"results/suites/{suite}.csv: {len(bad)} of {total} rows of {subject} do not "
                f"hold, such as"
            )
        lines += [f"results/suites/{suite}.csv: {row_problem(row)}" for row in bad[:NAMED]]
    return lines + implementation_lines(rows, listed)


def suite_lines(rows: Sequence[Mapping[str, Any]], paths: Iterable[str]) -> list[str]:
    """A line for each suite's file that has no rows."""
    found = {row["suite"] for row in rows}
    return [
        f"{path}: has no rows; make it anew: snakemake --cores 4 --forcerun {path}"
        for path in paths
        if Path(path).stem not in found
    ]


def ledger_lines(ledger: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each computed claim whose verdict is not the recorded one.

    That it was not run, or is stale, is no verdict. Whether it could be is seen from the rows,
    which say which package is not there, or what they rest on: see :func:`not_run_lines`.
    """
    lines = [] if ledger else ["results/ledger.csv: has no claims"]
    for claim in ledger:
        if claim["reproduced"] in ("not run", STALE):
            continue
        if claim["kind"] == "computed" and claim["reproduced"] != claim["recorded"]:
            because = f": {claim['problem']}" if claim["problem"] else ""
            lines.append(
                f"claim {claim['id']} ({claim['covers']}): recorded {claim['recorded']}, "
                f"reproduced {claim['reproduced']}{because}"
            )
    return lines


def control_lines(
    controls: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]], path: str
) -> list[str]:
    """A line for each claim whose fault its rows let through, or that was not put to the test.

    Parameters
    ----------
    controls, ledger
        What was read of the controls and of the ledger.
    path
        The file of the controls.
    """
    lines = []
    found = {(row["claim"], row["fault"]): row for row in controls}
    for entry in ledger:
        claim, fault = entry["id"], entry["rejects"]
        if not fault:
            if entry["recorded"] == "verified" and not entry["no_fault"]:
                lines.append(f"claim {claim} ({entry['covers']}): names no fault to reject")
            continue
        row = found.pop((claim, fault), None)
        if row is None:
            lines.append(
                f"claim {claim} ({entry['covers']}): has no control, {path} has no row of it with "
                f"the fault {fault!r}{digests.anew(path)}"
            )
        elif row["measured_text"] == entry["reproduced"] and entry["reproduced"] in (
            "not run",
            STALE,
        ):
            continue  # what it needs is not there, with the fault or without
        elif row["outcome"] != "holds" or row["measured_text"] != row["reference_text"]:
            because = f", {row['found']}" if row["found"] else ""
            lines.append(
                f"claim {claim} ({entry['covers']}): its rows do not reject the fault {fault!r}: "
                f"{row['measured_text']} with it in place{because}"
            )
    return lines + [
        f"{path}: decides the claim {claim} under the fault {fault!r}, which no claim asks for"
        f"{digests.anew(path)}"
        for claim, fault in found
    ]


def not_run_lines(
    rows: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]]
) -> list[str]:
    """A line for each claim that is said to be not run, or stale, though no row says why."""
    old = {f"results/suites/{row['suite']}.csv" for row in rows if row.get(STANDING) == STALE}
    files = {f"results/suites/{row['suite']}.csv" for row in rows if row["outcome"] == "not run"}
    return [
        f"claim {claim['id']} ({claim['covers']}): is said to be not run, and no package that it "
        "needs is missing"
        for claim in ledger
        if claim["reproduced"] == "not run" and files.isdisjoint(claim["files"].split())
    ] + [
        f"claim {claim['id']} ({claim['covers']}): is said to be stale, and its rows are not"
        for claim in ledger
        if claim["reproduced"] == STALE and old.isdisjoint(claim["files"].split())
    ]


def missing_lines(missing: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each table and figure that could not be made."""
    return [f"{item['kind']} {item['key']}: cannot be made, {item['reason']}" for item in missing]


def file_lines(
    digest_files: Iterable[str | Path], expected: Iterable[str | Path] = ()
) -> list[str]:
    """A line for each result that is not what its job wrote.

    Parameters
    ----------
    digest_files
        What the jobs recorded.
    expected
        Every result of the run: each must stand in one of those records.
    """
    lines = []
    vouched: set[str] = set()
    for digest_file in digest_files:
        try:
            recorded = digests.recorded(digest_file)
        except InputError as error:
            lines.append(f"{error}{digests.anew(str(digest_file))}")
            continue
        vouched |= set(recorded)
        lines += digests.touched(recorded, digest_file)
    return lines + [
        f"{path}: no job has recorded it{digests.anew(str(path))}"
        for path in expected
        if str(path) not in vouched
    ]


def environment_lines(paths: Iterable[str | Path]) -> list[str]:
    """A line for each measured result whose process was not under the numerical profile.

    Parameters
    ----------
    paths
        What the measuring jobs wrote of their processes; what cannot be read is named, too.
    """
    lines = []
    for path in paths:
        try:
            found = environment.outside_profile(environment.read(path))
        except InputError as error:
            lines.append(f"{error}{digests.anew(str(path))}")
            continue
        if found:
            lines.append(
                f"{path}: was not measured under the numerical profile: {', '.join(found)}"
                f"{digests.anew(str(path))}"
            )
    return lines


def provenance_lines(
    document: str, digest_files: Iterable[str | Path], results: Iterable[str]
) -> list[str]:
    """A line for each result of which the provenance says something else than its job recorded.

    What differs from its record on disk is left to :func:`file_lines`, and so is a record that
    cannot be read.

    Parameters
    ----------
    document
        Path of ``results/provenance.json``.
    digest_files
        What the jobs recorded.
    results
        Every result that it must list.
    """
    try:
        listed = provenance.listed(document)
    except InputError as error:
        return [f"{error}{digests.anew(document)}"]
    vouched: dict[str, str] = {}
    for digest_file in digest_files:
        with suppress(InputError):
            vouched |= digests.recorded(digest_file)
    lines = []
    for result in results:
        recorded = vouched.get(result)
        if result not in listed:
            lines.append(f"{document}: does not list {result}{digests.anew(document)}")
        elif recorded not in (None, listed[result]) and not digests.touched({result: recorded}):
            lines.append(
                f"{document}: lists {result} as {listed[result][:12]}, its job recorded "
                f"{recorded[:12]}{digests.anew(result)}"
            )
    return lines


def comparison_lines(
    changes: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[str]:
    """A line for each file in which something left the accepted results that was promised to stay.

    Where rows do not hold, those lines say enough: values moved with them.

    Parameters
    ----------
    changes
        What was read of ``results/comparison.csv``.
    rows
        All rows that were read.
    """
    red = {f"suites/{row['suite']}.csv" for row in rows if row["outcome"] not in PASSING}
    return gate_lines(changes, red)


def redecided_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each row that is said to pass and whose own values say otherwise."""
    lines = []
    for row in rows:
        if row["outcome"] not in PASSING:
            continue  # named already
        outcome = decided_anew(row)
        if outcome != row["outcome"]:
            said = "hold" if row["outcome"] == "holds" else "be not run"
            lines.append(
                f"results/suites/{row['suite']}.csv: {row_name(row)}: is said to {said}, and its "
                f"own values give {outcome}"
            )
    return lines


def problems(
    rows: Sequence[Mapping[str, Any]],
    ledger: Sequence[Mapping[str, Any]],
    paths: Iterable[str],
    implementations: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """Everything that keeps the measured results from being green.

    Parameters
    ----------
    rows, ledger
        What was read of the suites' files and of the ledger.
    paths
        The suites' files: each must have rows.
    implementations
        Those of the config: each that is rejected is one problem.
    """
    return [
        *suite_lines(rows, paths),
        *row_lines(rows, implementations),
        *redecided_lines(rows),
        *contradiction_problems(rows),
        *ledger_lines(ledger),
        *not_run_lines(rows, ledger),
    ]


def verdict_line(ledger: Sequence[Mapping[str, Any]]) -> str:
    """The verdicts of a run in one line, such as ``52 verified, 14 conditional, …``."""
    order = (
        "verified", "conditional", "refuted", "undecided", "read", "judgement", "awaiting",
        "not run", STALE,
    )  # fmt: skip
    counts = {
        name: sum(claim["reproduced"] == name for claim in ledger)
        for name in order
    }  # fmt: skip
    words = {"read": "read in sources", "judgement": "left to judgement"}
    shown = [f"{count} {words.get(name, name)}" for name, count in counts.items() if count]
    return f"{len(ledger)} claims: {', '.join(shown)}"
