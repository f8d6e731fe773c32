"""The findings of the first screen: as ``workflow/report/findings.yaml`` has them, and filled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo.captions import FINDING
from posinfo.errors import InputError
from posinfo.ledger import fill
from posinfo.report.grids import Row
from posinfo.report.model import ClaimLink, Finding
from posinfo.report.pictures import data_uri, picture
from posinfo.report.words import VERDICTS
from posinfo.schemas import first_problem, load_yaml


@dataclass(frozen=True)
class FindingText:
    """One finding; ``text`` and ``alt`` are templates over the rows of its claim.

    See ``findings.schema.yaml`` for each field.
    """

    key: str
    claim: str
    title: str
    text: str
    alt: str


def load(path: str | Path, schema: Mapping[str, Any]) -> list[FindingText]:
    """Load the findings, in the order of the page.

    Parameters
    ----------
    path
        ``workflow/report/findings.yaml``.
    schema
        ``workflow/schemas/findings.schema.yaml``, loaded.

    Raises
    ------
    InputError
        If the file breaks the schema, or a key stands twice.
    """
    entries = load_yaml(path)
    problem = first_problem(entries, schema)
    if problem:
        raise InputError(
            str(path), f"{problem.key}: {problem.text}" if problem.key else problem.text
        )
    findings = [
        FindingText(**{name: " ".join(text.split()) for name, text in entry.items()})
        for entry in entries
    ]
    keys = [finding.key for finding in findings]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"{path} {key}", "the key stands twice")
    return findings


def findings(
    texts: Sequence[FindingText],
    drawings: Mapping[str, Mapping[str, bytes]],
    files: Mapping[str, bytes],
    entries: Mapping[str, Mapping[str, Any]],
    selected: Mapping[str, tuple[Sequence[Row], Sequence[Row]]],
    links: Mapping[str, ClaimLink],
) -> tuple[tuple[Finding, ...], list[str]]:
    """The findings of the first screen, and a line for each whose numbers are not to be had.

    A finding is left out where its claim is not among the config's, or has no verdict: then the
    numbers of its sentence are nothing that a reader should believe.

    Parameters
    ----------
    texts
        The findings as loaded.
    drawings, files
        By the key of a finding its drawings by theme, and the CSV that they are drawn from.
    entries, selected, links
        By the id of a claim its row of the ledger, the rows that support and that break it, and
        the link to it.
    """
    stated, problems = [], []
    for one in texts:
        entry = entries.get(one.claim)
        if entry is None or entry["reproduced"] not in VERDICTS or one.claim not in links:
            continue
        try:
            text, alt = (
                fill(template, *selected[one.claim], f"finding {one.key}")
                for template in (one.text, one.alt)
            )
        except InputError as error:
            problems.append(str(error))
            continue
        drawing = picture(drawings.get(one.key, {}))
        content = files.get(one.key, b"")
        stated.append(
            Finding(
                text,
                links[one.claim],
                title=one.title,
                anchor=f"{FINDING}{one.key}",
                picture=drawing,
                alt=alt,
                filename=f"{FINDING}{one.key}.csv",
                download=data_uri("text/csv;charset=utf-8", content) if content else "",
            )
        )
    return tuple(stated), problems
