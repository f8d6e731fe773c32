"""Reads what the page is made from; the only module of this package that opens files.

A file that cannot be read never keeps the page from being made: it becomes a line among the
page's problems, and whatever rests on it is shown as missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from posinfo import digests, environment
from posinfo.captions import FINDING, Caption, load
from posinfo.catalogue import listing
from posinfo.claims import Claim, Inconsistency, load_entries
from posinfo.errors import InputError
from posinfo.gate import file_lines, missing_lines
from posinfo.rehearsal import result as rehearsal
from posinfo.rehearsal.result import Portability
from posinfo.report import findings as finding_texts
from posinfo.report.findings import FindingText
from posinfo.schemas import fields_by_name, load_yaml, table_fields
from posinfo.tidy import Fields, read, read_all

Record = Mapping[str, Any]

THEMES = ("light", "dark")


@dataclass(frozen=True)
class Data:
    """A table's or figure's data as it lies on disk, and as it was read.

    ``content`` holds the file's bytes, None if there is no file; ``problem`` says why the
    records are not there. ``svg`` holds a figure's drawings by theme.
    """

    key: str
    kind: str
    path: str
    fields: Fields
    caption: Caption
    content: bytes | None
    records: Sequence[Record]
    problem: str = ""
    svg: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """A suite's title, its columns and cases, where its rows lie, and where a case is measured."""

    name: str
    title: str
    cases: Mapping[str, str]
    fields: Fields
    path: str
    digest: str
    places: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Inputs:
    """Everything that the page is made from; ``problems`` has a line for all that is missing."""

    suites: Sequence[Suite]
    rows: Sequence[Record]
    claims: Sequence[Claim]
    controls: Sequence[Record]
    controls_path: str
    controls_digest: str
    inconsistencies: Sequence[Inconsistency]
    ledger: Sequence[Record]
    ledger_path: str
    ledger_digest: str
    exhibits: Sequence[Data]
    problems: Sequence[str]
    implementations: Sequence[Mapping[str, Any]] = ()
    environments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    changes: Sequence[Record] = ()
    changes_path: str = ""
    portability: Portability | None = None
    portability_stands: str = ""
    findings: Sequence[FindingText] = ()
    finding_drawings: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    finding_files: Mapping[str, bytes] = field(default_factory=dict)


def read_inputs(
    *,
    suites: Sequence[str],
    suite_schemas: Sequence[str],
    controls: str,
    controls_schema: str,
    ledger: str,
    ledger_schema: str,
    claims: Sequence[str],
    claims_schema: str,
    tables: Sequence[str],
    table_schemas: Sequence[str],
    figures: Sequence[str],
    figure_schemas: Sequence[str],
    drawings: Sequence[str],
    missing: Sequence[str],
    missing_schema: str,
    captions: str,
    captions_schema: str,
    comparison: str = "",
    comparison_schema: str = "",
    recorded: Sequence[str] = (),
    implementations: Sequence[Mapping[str, Any]] = (),
    environments: Sequence[str] = (),
    portability: str = "",
    rehearsed: Mapping[str, str] | None = None,
    findings: str = "",
    findings_schema: str = "",
) -> Inputs:
    """Read rows, controls, ledger, claims, tables and figures.

    Parameters
    ----------
    suites, tables, figures
        Paths of CSV files, each named after its suite or key; suites in the order of the page.
    drawings
        Paths of SVG files, named ``<key>.<theme>.svg``: the figures', and those of findings.
    controls, ledger, claims, captions
        Paths of the controls, of the ledger, of the claims' files, and of the captions.
    missing
        Paths of the lists of tables and figures that could not be made.
    comparison, comparison_schema
        Path of what differs from the accepted results, and of its schema; none if empty.
    suite_schemas, controls_schema, ledger_schema, claims_schema, table_schemas, figure_schemas, \
    missing_schema, captions_schema
        Paths of their schemas.
    implementations
        Those of the config.
    environments
        Paths of what the measuring jobs wrote of their processes, each named after its suite.
    portability
        The folder of the accepted rehearsal, if there is one.
    rehearsed
        What a rehearsal of now would rest on, by :func:`posinfo.rehearsal.run.state`.
    findings, findings_schema
        Paths of the findings of the first screen and of their schema; without them there are none.

    Raises
    ------
    InputError
        If claims, captions, findings or a schema are wrong: there is no page without them.
    """
    fields = fields_by_name(suite_schemas)
    # First what was touched by hand: the other problems may follow from it.
    problems = file_lines(recorded)
    rows, unreadable = read_all(suites, fields)
    problems += unreadable
    controlled, unreadable = read_all([controls], fields_by_name([controls_schema]))
    problems += unreadable
    entries, unreadable = read_all([ledger], fields_by_name([ledger_schema]))
    problems += unreadable
    changes: list[dict[str, Any]] = []
    if comparison:
        changes, unreadable = read_all([comparison], fields_by_name([comparison_schema]))
        problems += unreadable
    missing_fields = table_fields(missing_schema)
    unmade, unreadable = read_all(missing, {Path(path).stem: missing_fields for path in missing})
    problems += [*unreadable, *missing_lines(unmade)]
    reasons = {(entry["kind"], entry["key"]): entry["reason"] for entry in unmade}
    captioned = load(
        captions,
        load_yaml(captions_schema),
        tables=[Path(path).stem for path in tables],
        # A small one beside a finding has no caption: the finding says it all.
        figures=[path.stem for path in map(Path, figures) if not path.stem.startswith(FINDING)],
    )
    paths = {("table", Path(path).stem): path for path in tables}
    paths |= {("figure", Path(path).stem): path for path in figures}
    columns = {"table": fields_by_name(table_schemas), "figure": fields_by_name(figure_schemas)}
    loaded, inconsistencies = load_entries(claims, load_yaml(claims_schema))
    stated = finding_texts.load(findings, load_yaml(findings_schema)) if findings else []
    facts, unreadable = environment.read_all(environments)
    problems += unreadable
    table, stands, unreadable = _portability(portability, rehearsed or {}, suites)
    problems += unreadable
    exhibits = []
    for key, caption in captioned.items():
        reason = reasons.get((caption.kind, key), "")
        data = _data(paths[caption.kind, key], columns[caption.kind][key], caption, reason)
        if data.problem and not reason:
            problems.append(data.problem)
        if data.kind == "figure":
            data = replace(data, svg=_drawings(key, drawings))
        exhibits.append(data)
    return Inputs(
        suites=[_suite(path, fields[Path(path).stem]) for path in suites],
        rows=rows,
        controls=controlled,
        controls_path=controls,
        controls_digest=_digest(controls),
        claims=loaded,
        inconsistencies=inconsistencies,
        ledger=entries,
        ledger_path=ledger,
        ledger_digest=_digest(ledger),
        exhibits=exhibits,
        problems=problems,
        implementations=implementations,
        changes=changes,
        changes_path=comparison,
        environments={
            Path(path).stem: found for path, found in zip(environments, facts, strict=True)
        },
        portability=table,
        portability_stands=stands,
        findings=stated,
        finding_drawings={one.key: _drawings(f"{FINDING}{one.key}", drawings) for one in stated},
        finding_files={
            Path(path).stem.removeprefix(FINDING): Path(path).read_bytes()
            for path in figures
            if Path(path).stem.startswith(FINDING) and Path(path).is_file()
        },
    )


def _portability(
    folder: str, rehearsed: Mapping[str, str], suites: Sequence[str]
) -> tuple[Portability | None, str, list[str]]:
    """The accepted rehearsal, how it stands to the code of now, and what is wrong with it."""
    if not folder:
        return None, "", []
    try:
        found = rehearsal.load(folder)
    except InputError as error:
        return None, "", [str(error)]
    if not found.stale(rehearsed):
        return found, rehearsal.CURRENT, []
    return found, rehearsal.SAME_ROWS if found.same_rows(suites) else rehearsal.STALE, []


def _suite(path: str, fields: Fields) -> Suite:
    name = Path(path).stem
    listed = listing(name)
    return Suite(name, listed.title, listed.cases, fields, path, _digest(path), listed.places)


def _digest(path: str) -> str:
    return digests.sha256(path) if Path(path).is_file() else ""


def _data(path: str, fields: Fields, caption: Caption, reason: str) -> Data:
    """A table's or figure's data, and why they are not there if they are not."""
    content = Path(path).read_bytes() if Path(path).is_file() else None
    records: list[dict[str, Any]] = []
    problem = reason
    try:
        records = read(path, fields)
    except InputError as error:
        problem = problem or str(error)
    if not records and not problem:
        problem = f"{path}: has no rows"
    return Data(caption.key, caption.kind, path, fields, caption, content, records, problem)


def _drawings(key: str, paths: Sequence[str]) -> dict[str, bytes]:
    """A figure's drawings by theme, those that are there."""
    return {
        theme: Path(path).read_bytes()
        for theme in THEMES
        for path in paths
        if Path(path).name == f"{key}.{theme}.svg" and Path(path).is_file()
    }
