"""From what was read to what is shown: pure functions, each making one part of the page."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from posinfo import __version__
from posinfo.catalogue import SUITES, code_path, listing
from posinfo.claims import Claim, Inconsistency, Selector, Weight
from posinfo.errors import InputError
from posinfo.extras import advice
from posinfo.gate import comparison_lines, control_lines, problems
from posinfo.ledger import select
from posinfo.numbers_text import at_most, significant
from posinfo.rehearsal.result import Portability, as_a_run, moved_of
from posinfo.report import words
from posinfo.report.changes import changes_view
from posinfo.report.exercises import EXERCISES, exercises
from posinfo.report.findings import findings
from posinfo.report.grids import Role, Row, row_table, table_grid
from posinfo.report.inputs import THEMES, Data, Inputs, Record, Suite
from posinfo.report.model import (
    AsARun,
    ClaimLink,
    ClaimView,
    Control,
    Count,
    EnvironmentView,
    EvidenceKind,
    Exhibit,
    ExhibitLink,
    Finding,
    InconsistencyView,
    LessonView,
    Margins,
    Mark,
    Methods,
    Page,
    PortabilityRow,
    PortabilityView,
    Read,
    Section,
    Side,
    SuiteView,
    Term,
)
from posinfo.report.pictures import data_uri, picture, svg_size
from posinfo.rows import ACCEPTED, CONTRADICTION_MARGIN, EVIDENCE, PASSING, TIGHT_ABOVE, WIDE_BELOW
from posinfo.tidy import Fields, csv_text

PAGE = "report/index.html"

#: How many rows of a claim are shown before the rest is folded away.
SHOWN_ROWS = 4

#: How many of the rows at either end of the margins are shown: those that use most of their bound.
SHOWN_EXTREMES = 12

#: Marks whose claims the contents list names: what a reader should not miss.
_NOTABLE = ("refuted", "conditional", "undecided")

#: The columns of the ledger that the page carries for who cites a verdict.
VERDICT_COLUMNS = ("id", "covers", "kind", "recorded", "reproduced")

#: How many numbers of a figure stand on the page; its CSV, which the page carries, has them all.
FIGURE_RECORDS = 12


def build(inputs: Inputs) -> Page:
    """The whole page."""
    claims = sorted(inputs.claims, key=_place)
    entries = {entry["id"]: entry for entry in inputs.ledger}
    controls = {row["claim"]: row for row in inputs.controls}
    links = {claim.id: claim_link(claim, entries.get(claim.id)) for claim in claims}
    selected = claim_rows(claims, inputs.rows)
    about = claims_about(claims)
    exhibits = [exhibit(data, claims, links) for data in inputs.exhibits]
    placed = place_exhibits(inputs.exhibits, claims)
    answers = exercises(inputs.exhibits, links)
    if answers:
        placed[EXERCISES] = ""  # which has a section of its own
    covers = {(data.kind, data.key): data.caption.covers for data in inputs.exhibits}
    by_key = {(shown.kind, shown.key): shown for shown in exhibits}
    fields = {suite.name: suite.fields for suite in inputs.suites}
    views = {
        claim.id: claim_view(
            claim,
            entries.get(claim.id),
            *selected[claim.id],
            control=controls.get(claim.id),
            links=links,
            about=about,
            fields=fields,
            number=number,
            exhibits=[
                _beside(by_key[name], links[claim.id])
                for name, owner in placed.items()
                if owner == claim.id
            ],
            see=[
                by_key[name]
                for name, owner in placed.items()
                if owner != claim.id and _bears_on(covers[name], claim)
            ],
            inconsistencies=inputs.inconsistencies,
            ledger_digest=inputs.ledger_digest,
        )
        for number, claim in enumerate(claims, start=1)
    }
    stated, unfilled = findings(
        inputs.findings, inputs.finding_drawings, inputs.finding_files, entries, selected, links
    )
    lessons = sorted({claim.lesson for claim in claims} | set(words.LESSONS))
    awaiting = [claim for claim in claims if claim.kind == "awaiting"]
    in_chapter = {
        (data.kind, data.key)
        for data in inputs.exhibits
        if data.caption.section == words.MODELS_CHAPTER
    }
    unplaced = {name for name, owner in placed.items() if owner is None} - in_chapter
    carried = verdicts(inputs.ledger)
    return Page(
        version=__version__,
        problems=(
            *inputs.problems,
            *(
                f"{shown.kind} {shown.key}: {shown.problem}"
                for data, shown in zip(inputs.exhibits, exhibits, strict=True)
                if shown.problem and not data.problem
            ),
            *problems(
                inputs.rows,
                inputs.ledger,
                [suite.path for suite in inputs.suites],
                inputs.implementations,
            ),
            *control_lines(inputs.controls, inputs.ledger, inputs.controls_path),
            *comparison_lines(inputs.changes, inputs.rows),
            *unfilled,
        ),
        counts=counts(links.values()),
        claims=len(claims),
        statements=len({name for claim in claims for name in claim.covers}),
        rows=sum(row["outcome"] != "not run" for row in inputs.rows),
        awaiting=tuple(links[claim.id] for claim in awaiting),
        awaiting_statements=tuple(sorted({name for claim in awaiting for name in claim.covers})),
        not_run=tuple(link for link in links.values() if link.mark.name == "notrun"),
        not_run_advice=tuple(advice(inputs.rows)),
        accepted=sum(entry["standing"] == ACCEPTED for entry in inputs.ledger),
        stale=tuple(link for link in links.values() if link.mark.name == "stale"),
        findings=stated,
        more_findings=tuple(
            Finding(entries[claim.id]["headline"], links[claim.id])
            for claim in claims
            if claim.id in entries
            and entries[claim.id]["headline"]
            and links[claim.id] not in [one.claim for one in stated]
        ),
        inconsistencies=tuple(
            inconsistency_view(one, claims, links) for one in inputs.inconsistencies
        ),
        lessons=tuple(
            lesson_view(
                lesson,
                [claim for claim in claims if claim.lesson == lesson],
                views,
                links,
                [
                    by_key[data.kind, data.key]
                    for data in inputs.exhibits
                    if (data.kind, data.key) in unplaced
                    # What belongs to both lessons stands at the end of the last one.
                    and (data.caption.lesson if data.caption.lesson in lessons else lessons[-1])
                    == lesson
                ],
            )
            for lesson in lessons
        ),
        exercises=answers,
        exercises_exhibit=by_key[EXERCISES] if answers else None,
        models=tuple(
            by_key[data.kind, data.key]
            for data in inputs.exhibits
            if (data.kind, data.key) in in_chapter
        ),
        exhibits=tuple(exhibit_link(shown) for shown in exhibits),
        kinds=evidence_kinds(inputs.rows, selected.values()),
        not_holding=sum(row["outcome"] != "holds" for row in inputs.rows),
        suites=tuple(suite_view(suite, inputs.rows) for suite in inputs.suites),
        margins=margins(inputs.rows),
        methods=methods(inputs.suites),
        environments=environments(inputs.environments),
        changes=changes_view(inputs.changes, inputs.changes_path),
        portability=portability(inputs.portability, inputs.portability_stands),
        faults=len({row["fault"] for row in inputs.controls}),
        controlled=len(inputs.controls),
        controls_path=inputs.controls_path,
        controls_digest=inputs.controls_digest,
        ledger_path=inputs.ledger_path,
        ledger_digest=inputs.ledger_digest,
        verdicts=data_uri("text/csv;charset=utf-8", carried),
        verdicts_digest=hashlib.sha256(carried).hexdigest(),
    )


def verdicts(ledger: Sequence[Record]) -> bytes:
    """The ledger without its prose, which stands on the page, as CSV."""
    records = [{name: entry[name] for name in VERDICT_COLUMNS} for entry in ledger]
    return csv_text(records, VERDICT_COLUMNS).encode()


def _place(claim: Claim) -> tuple[str, str]:
    """Where a claim stands in its lesson: at the first statement that it covers there."""
    own = [name for name in claim.covers if name.startswith(claim.lesson)]
    return claim.lesson, min(own or claim.covers)


def claim_mark(claim: Claim, entry: Record | None) -> Mark:
    """The mark of a claim by its ledger entry; without one it is undecided."""
    if entry is None:
        return words.MARKS["undecided"]
    mark = words.MARKS.get(entry["reproduced"].replace(" ", ""), words.MARKS["undecided"])
    if mark.name == "read":
        return replace(mark, word=words.READINGS[claim.verdict])
    if entry["standing"] == ACCEPTED and mark.name in words.VERDICTS:
        return replace(mark, word=f"{mark.word}, accepted")
    return mark


def claim_link(claim: Claim, entry: Record | None) -> ClaimLink:
    """How other places link to a claim: its id as words, a statement's id while it waits."""
    name = re.sub(r"(?<!\de)-", " ", claim.id)
    if claim.kind == "awaiting":
        name = ", ".join(claim.covers)
    return ClaimLink(f"#claim-{claim.id}", name, claim_mark(claim, entry))


def counts(links: Iterable[ClaimLink]) -> tuple[Count, ...]:
    """How many claims have each mark; readings count as one kind."""
    found = Counter(link.mark.name for link in links)
    return tuple(Count(mark, found[name]) for name, mark in words.MARKS.items() if found[name])


def exhibit_link(shown: Exhibit) -> ExhibitLink:
    """How other places link to a table or figure."""
    return ExhibitLink(f"#{shown.anchor}", shown.kind, shown.title)


def claim_rows(
    claims: Sequence[Claim], rows: Sequence[Row]
) -> dict[str, tuple[list[Row], list[Row]]]:
    """For each claim the rows that support it and those that break it, each once."""
    by_suite: dict[str, list[Row]] = {}
    for row in rows:
        by_suite.setdefault(row["suite"], []).append(row)

    def found(selectors: Sequence[Selector]) -> list[Row]:
        lists = [select(selector, by_suite) for selector in selectors]
        return list({id(row): row for rows in lists for row in rows}.values())

    return {claim.id: (found(claim.supports), found(claim.breaks)) for claim in claims}


def claim_view(
    claim: Claim,
    entry: Record | None,
    supporting: Sequence[Row],
    breaking: Sequence[Row],
    *,
    links: Mapping[str, ClaimLink],
    fields: Mapping[str, Fields],
    about: Mapping[str, Sequence[str]] | None = None,
    control: Record | None = None,
    number: int = 1,
    exhibits: Sequence[Exhibit] = (),
    see: Sequence[Exhibit] = (),
    inconsistencies: Sequence[Inconsistency] = (),
    ledger_digest: str = "",
) -> ClaimView:
    """A claim's article.

    Parameters
    ----------
    claim, entry
        The claim, and its row of the ledger, None if the ledger could not be read.
    supporting, breaking
        Its rows.
    links
        The link to every claim.
    fields
        The columns of every suite.
    about
        For each statement the claims about it, in the order of the page.
    control
        Its row of the controls, None if it names no fault.
    number
        Which of the page's claims it is, counted from 1.
    exhibits, see
        Tables and figures that stand in this article, and those elsewhere that bear on it.
    inconsistencies
        All of them; those that the claim is a side of are named in its article.
    ledger_digest
        The sha256 of the ledger, for the citation.
    """
    mark = links[claim.id].mark
    both = bool(supporting and breaking)
    limit = SHOWN_ROWS // 2 if both else SHOWN_ROWS
    titles = {
        field["name"]: field.get("title", field["name"])
        for suite in claim.suites
        for field in fields.get(suite, [])
    }
    separating = {name: titles.get(name, name) for name in claim.differs_in}
    rows = [*supporting, *breaking]
    shown = row_table(
        [
            Role("Support it", supporting, limit),
            Role(
                "Break it outside the condition" if both else "Break it: counter-examples",
                breaking, limit, breaking=True,
            ),
        ],
        separating,
        told=("suite", "evidence"),
    )  # fmt: skip
    # What was not run has no verdict to set against the recorded one, which its text names.
    differs = claim.kind == "computed" and mark.name not in (claim.verdict, "notrun", "stale")
    kinds = Counter(row["evidence"] for row in rows)
    tightest = entry["tightest_ratio"] if entry else None
    return ClaimView(
        anchor=f"claim-{claim.id}",
        number=number,
        id=claim.id,
        covers=claim.covers,
        statement=claim.statement,
        mark=mark,
        recorded=claim.verdict if differs else "",
        problem=entry["problem"] if entry else "the ledger has no entry for it",
        condition=entry["condition"] if entry else "",
        why=entry["why"] if entry else "",
        awaits=claim.awaits,
        evidence=tuple((kind, kinds[kind]) for kind in EVIDENCE if kinds[kind]),
        tightest=significant(tightest, 2),
        rows=shown,
        # By which columns the rows are found that the page does not show.
        selectors=tuple(
            selector.text()
            for selector in (*claim.supports, *claim.breaks)
            if shown and shown.left_out
        ),
        control=control_view(control),
        no_fault=claim.no_fault,
        sources=tuple(
            Read(source.document, source.revision, source.place, source.says)
            for source in claim.sources
        ),
        weighs_for=weights(claim.weighs_for, links),
        weighs_against=weights(claim.weighs_against, links),
        related=tuple(links[other] for other in condensed(claim, about or {})),
        part_of=tuple(
            (f"#{inconsistency_anchor(one)}", one.statement)
            for one in inconsistencies
            if claim.id in one.says + one.denies
        ),
        commands=(f"posinfo measure --claim {claim.id}",) if rows else (),
        suites=tuple(claim.suites),
        code=code_places(rows),
        exhibits=tuple(exhibits),
        see=tuple(exhibit_link(shown) for shown in see),
        citation=claim_citation(claim, mark, ledger_digest),
    )  # fmt: skip


def code_places(rows: Iterable[Row]) -> tuple[str, ...]:
    """Where the rows are measured: file and line of each case, as far as the source has it."""
    cases = dict.fromkeys((row["suite"], row["case"]) for row in rows)
    return tuple(
        dict.fromkeys(
            listing(suite).places[case]
            for suite, case in cases
            if suite in SUITES and case in listing(suite).places
        )
    )


def control_view(row: Record | None) -> Control | None:
    """What became of a claim with its fault in place; nothing if it was not run."""
    if row is None or row["measured_text"] == "not run":
        return None
    return Control(
        fault=row["fault"],
        rejects=row["outcome"] == "holds",
        asked=row["rows_asked"],
        lost=row["rows_lost"],
        first=row["first_lost"],
    )


def inconsistency_anchor(one: Inconsistency) -> str:
    """Where an inconsistency stands on the page."""
    return f"inconsistency-{one.id}"


def inconsistency_view(
    one: Inconsistency, claims: Sequence[Claim], links: Mapping[str, ClaimLink]
) -> InconsistencyView:
    """An inconsistency with the statements of both sides, in the order of the lessons."""

    def side(ids: Sequence[str]) -> tuple[Side, ...]:
        return tuple(
            Side(claim.covers, claim.statement, links[claim.id])
            for claim in claims
            if claim.id in ids
        )

    return InconsistencyView(
        anchor=inconsistency_anchor(one),
        statement=one.statement,
        says=side(one.says),
        denies=side(one.denies),
        why=one.why,
        bears_on=tuple(links[other] for other in one.bears_on),
    )


def weights(given: Sequence[Weight], links: Mapping[str, ClaimLink]) -> tuple[ClaimLink, ...]:
    """Links to claims that bear on a judgement, each with its reason."""
    return tuple(replace(links[weight.claim], reason=weight.reason) for weight in given)


def rerun(suite: str) -> str:
    """The command that measures a suite anew."""
    return f"snakemake --cores 4 --forcerun results/suites/{suite}.csv"


def claim_citation(claim: Claim, mark: Mark, digest: str) -> str:
    """One line that names a claim, its verdict and the ledger that it stands in."""
    return (
        f"Positional Information, Verified {__version__}, claim {claim.id} "
        f"({', '.join(claim.covers)}): {mark.word}; results/ledger.csv, sha256 {digest[:12]}; "
        f"{PAGE}#claim-{claim.id}"
    )


def shown_records(data: Data) -> Sequence[Record]:
    """The records that stand on the page: all of a table, the first of a figure's many numbers."""
    return data.records if data.kind == "table" else data.records[:FIGURE_RECORDS]


def exhibit(data: Data, claims: Sequence[Claim], links: Mapping[str, ClaimLink]) -> Exhibit:
    """A table or figure, with what is missing said where something is."""
    problem, title = data.problem, data.caption.title
    try:
        caption = data.caption.filled(data.records, problem)
    except InputError as error:
        problem = str(error)
        caption = data.caption.filled([], problem)
    if data.kind == "figure" and not problem:
        files = {t: f"{data.path.removesuffix('.csv')}.{t}.svg" for t in THEMES}
        undrawn = [files[t] for t in THEMES if svg_size(data.svg.get(t, b"")) is None]
        problem = " and ".join(f"{path} is missing or is no drawing" for path in undrawn)
        if not undrawn and picture(data.svg) is None:
            problem = f"{' and '.join(files.values())} differ in more than their style"
    content = data.content or b""
    digest = hashlib.sha256(content).hexdigest() if content else ""
    return Exhibit(
        kind=data.kind,
        anchor=f"{data.kind}-{data.key}",
        key=data.key,
        title=title,
        caption=caption.caption,
        alt=caption.alt,
        text=caption.text,
        grid=table_grid(data.fields, shown_records(data)),
        left_out=len(data.records) - len(shown_records(data)),
        problem=problem,
        picture=picture(data.svg),
        filename=f"{data.key}.csv",
        path=data.path,
        download=data_uri("text/csv;charset=utf-8", content),
        digest=digest,
        citation=(
            f"Positional Information, Verified {__version__}, {data.kind} {data.key}: "
            f"{title}; {data.path}, sha256 {digest[:12]}; {PAGE}#{data.kind}-{data.key}"
        ),
        claims=tuple(links[claim.id] for claim in first_claims(caption.covers, claims)),
    )


def claims_about(claims: Iterable[Claim]) -> dict[str, list[str]]:
    """For each statement the claims about it, in the order of the page."""
    about: dict[str, list[str]] = {}
    for claim in claims:
        for name in claim.covers:
            about.setdefault(name, []).append(claim.id)
    return about


def condensed(claim: Claim, about: Mapping[str, Sequence[str]]) -> list[str]:
    """Related claims, of all those about one statement the first: the others stand behind it."""
    later: set[str] = set()
    for names in about.values():
        others = [name for name in names if name != claim.id]
        if set(others) <= set(claim.related):
            later.update(others[1:])
    return [name for name in claim.related if name not in later]


def first_claims(covers: Iterable[str], claims: Sequence[Claim]) -> list[Claim]:
    """Of the claims about each statement the first: the others stand behind it in the lesson."""
    found = (next((claim for claim in claims if name in claim.covers), None) for name in covers)
    return list({claim.id: claim for claim in found if claim}.values())


def _beside(shown: Exhibit, owner: ClaimLink) -> Exhibit:
    """The exhibit without the link to the claim that it stands beside."""
    return replace(shown, claims=tuple(link for link in shown.claims if link != owner))


def _bears_on(covers: Iterable[str], claim: Claim) -> bool:
    return not set(covers).isdisjoint(claim.covers)


def place_exhibits(
    exhibits: Sequence[Data], claims: Sequence[Claim]
) -> dict[tuple[str, str], str | None]:
    """The claim beside which each table or figure stands, None where no claim is about it.

    It stands once: beside the first claim that it bears on, one of its own lesson if there is
    any, a decided one rather than one still awaiting, and best one of its own section, before one
    that has this section beside another. What belongs to the chapter on models stands there.
    """
    placed: dict[tuple[str, str], str | None] = {}
    for data in exhibits:
        caption = data.caption
        if caption.section == words.MODELS_CHAPTER:
            placed[data.kind, data.key] = None
            continue
        candidates = sorted(
            (claim for claim in claims if _bears_on(caption.covers, claim)),
            key=lambda claim: (
                caption.lesson in words.LESSONS and claim.lesson != caption.lesson,
                claim.kind == "awaiting",
                caption.section not in claim.section,
                not claim.section.startswith(caption.section),
            ),
        )
        placed[data.kind, data.key] = candidates[0].id if candidates else None
    return placed


def lesson_view(
    lesson: str,
    claims: Sequence[Claim],
    views: Mapping[str, ClaimView],
    links: Mapping[str, ClaimLink],
    exhibits: Sequence[Exhibit],
) -> LessonView:
    """A lesson: its headings in the lesson's order, the claims of each by what they cover."""
    known = words.LESSONS.get(lesson, words.Lesson("", ()))
    groups: dict[str, list[Claim]] = {heading: [] for heading in known.headings}
    for claim in claims:
        groups.setdefault(heading_of(claim.section, known.headings), []).append(claim)
    sections = tuple(
        Section(
            anchor=f"lesson-{lesson.lower()}-{number}",
            title=heading,
            counts=counts(links[claim.id] for claim in members),
            claims=tuple(views[claim.id] for claim in members),
            notable=tuple(links[claim.id] for claim in members if _notable(claim, links)),
        )
        for number, (heading, members) in enumerate(groups.items(), start=1)
        if members
    )
    return LessonView(
        letter=lesson,
        anchor=f"lesson-{lesson.lower()}",
        name=f"Lesson {lesson}",
        title=known.title,
        counts=counts(links[claim.id] for claim in claims),
        sections=sections,
        exhibits=tuple(exhibits),
    )


def heading_of(section: str, headings: Sequence[str]) -> str:
    """The heading of the lesson that a claim stands under: the first of those it names."""
    first = section.partition(";")[0].strip()
    return next((heading for heading in headings if first.startswith(heading)), first)


def _notable(claim: Claim, links: Mapping[str, ClaimLink]) -> bool:
    return links[claim.id].mark.name in _NOTABLE or claim.verdict == "contradicted"


def suite_view(suite: Suite, rows: Sequence[Row]) -> SuiteView:
    """A suite in the overview, with its rows counted by kind of evidence."""
    own = [row for row in rows if row["suite"] == suite.name and row["outcome"] != "not run"]
    kinds = Counter(row["evidence"] for row in own)
    return SuiteView(
        anchor=f"suite-{suite.name}",
        name=suite.name,
        title=suite.title,
        cases=tuple(Term(name, meaning) for name, meaning in suite.cases.items()),
        places=tuple(suite.places.get(name, "") for name in suite.cases),
        rows=len(own),
        by_evidence=tuple(kinds[kind] for kind in EVIDENCE),
        not_holding=sum(row["outcome"] not in PASSING for row in own),
        path=suite.path,
        digest=suite.digest,
        code=code_path(suite.name),
        command=rerun(suite.name),
    )


def evidence_kinds(
    rows: Sequence[Row], selected: Iterable[tuple[Sequence[Row], Sequence[Row]]] = ()
) -> tuple[EvidenceKind, ...]:
    """All rows by kind of evidence, and the claims that rest on them, by their rows."""
    kinds = Counter(row["evidence"] for row in rows)
    claims = Counter(
        kind
        for supporting, breaking in selected
        for kind in {row["evidence"] for row in (*supporting, *breaking)}
    )
    return tuple(
        EvidenceKind(
            name=kind,
            rows=kinds[kind],
            share=f"{significant(100 * kinds[kind] / len(rows), 2)} %" if kinds[kind] else "",
            claims=claims[kind],
        )
        for kind in EVIDENCE
    )


def margins(rows: Sequence[Row]) -> Margins:
    """Rows close to their bound, rows far inside it, and rows with no error at all."""
    judged = [row for row in rows if row["outcome"] == "holds" and row["ratio"] is not None]
    within = [row for row in judged if row["relation"] == "within"]
    exact = Counter(row["suite"] for row in within if row["error"] == 0)
    return Margins(
        tight=row_table(
            [
                Role(
                    "Close to the bound",
                    [row for row in judged if row["ratio"] > TIGHT_ABOVE],
                    SHOWN_EXTREMES,
                )
            ]
        ),
        wide=row_table(
            [
                Role(
                    "Far inside the bound",
                    [row for row in within if row["error"] and row["ratio"] < WIDE_BELOW],
                    SHOWN_EXTREMES,
                )
            ]
        ),
        exact=tuple(sorted(exact.items())),
        exact_count=sum(exact.values()),
    )


def methods(suites: Sequence[Suite]) -> Methods:
    """The words of the method; the columns' meanings come from the suites' schema."""
    described = {
        field["title"]: field["description"]
        for suite in suites[:1]
        for field in suite.fields
        if field.get("description")
    }
    return Methods(
        verdicts=tuple(words.MARKS.values()),
        relations=words.RELATION_TERMS,
        outcomes=words.OUTCOME_TERMS,
        evidence=words.EVIDENCE_TERMS,
        columns=tuple(Term(title, meaning) for title, meaning in described.items()),
        tight_above=f"{TIGHT_ABOVE:g}",
        wide_below=f"{WIDE_BELOW:g}",
        contradiction_margin=f"{CONTRADICTION_MARGIN:g}",
    )


def environments(found: Mapping[str, Mapping[str, Any]]) -> tuple[EnvironmentView, ...]:
    """With which versions and settings was measured; several if not everything was with the same.

    The processor and the commit are not among them, though both are known: the page shall be the
    same where what it shows is the same. They stand in results/provenance.json.

    Parameters
    ----------
    found
        By suite, or another name for what was measured, the facts about the process that measured.
    """
    views: dict[tuple[tuple[Term, ...], tuple[Term, ...]], list[str]] = {}
    for name, facts in found.items():
        python = facts.get("python", {})
        packages = [Term(words.INTERPRETERS.get(python["implementation"], python["implementation"]),
                         python["version"])] if python else []  # fmt: skip
        packages += [Term(*package) for package in facts.get("packages", {}).items()]
        settings = [
            Term(words.SETTINGS[key], words.setting(facts["numerics"][key]))
            for key in words.SETTINGS
            if key in facts.get("numerics", {})
        ]
        if packages or settings:
            views.setdefault((tuple(packages), tuple(settings)), []).append(name)
    return tuple(
        EnvironmentView(tuple(names) if len(views) > 1 else (), packages, settings)
        for (packages, settings), names in views.items()
    )


def portability(found: Portability | None, stands: str) -> PortabilityView | None:
    """What a rehearsal on other processors found; None if none was accepted.

    Parameters
    ----------
    found
        The accepted rehearsal.
    stands
        How it stands to the code of now.
    """
    if found is None or not found.configurations:
        return None
    about, rows = found.about, found.configurations
    settings = (("on", 1), ("on", 2), ("off", None))
    by_suite = {
        suite: [_most_moved(found.cases, suite, profile, threads) for profile, threads in settings]
        for suite in dict.fromkeys(case["suite"] for case in found.cases)
    }
    return PortabilityView(
        stands=stands,
        reference=about["reference"].get("model", "not known"),
        emulator=about["emulator"],
        torch=about["packages"].get("torch", "not known"),
        rows=significant(rows[0]["rows"]),
        claims=significant(rows[0]["claims"]),
        as_a_run=_as_a_run([row for row in rows if as_a_run(row)]),
        machines=tuple(Term(name, title) for name, title in about["machines"].items()),
        configurations=tuple(map(_portability_row, rows)),
        suites=tuple(
            (suite, *(significant(count) for count in counts))
            for suite, counts in by_suite.items()
            if any(counts)
        ),
        kept=tuple(suite for suite, counts in by_suite.items() if not any(counts)),
        left_out=tuple(Term(suite, why) for suite, why in about["left_out"].items()),
        changed=tuple(
            f"{row['machine']}, profile {row['profile']}, {row['threads']} threads: "
            f"{row['changed']}"
            for row in rows
            if row["changed"]
        ),
        outcomes=sum(row["outcomes"] + row["added"] for row in rows),
        folder="baseline/portability",
    )


def _as_a_run(rows: Sequence[Record]) -> AsARun | None:
    """What is said of the configurations that measure as a run does."""
    if not rows:
        return None
    moved = max(map(moved_of, rows))
    return AsARun(
        significant(moved),
        *(at_most(max(row[name] for row in rows), 2) for name in ("ulps", "of_bound")),
        all_kept=not moved,
    )


def _portability_row(row: Record) -> PortabilityRow:
    """A configuration's cells; what did not change at all is a dash."""
    changes = [significant(row[name], 2) if row[name] else "–" for name in ("ulps", "of_bound")]
    moved = significant(moved_of(row))
    if row["beside"]:
        moved += f" ({significant(moved_of(row) - row['beside'])})"
    counts = [
        significant(count) if count else "–"
        for count in (row["outcomes"] + row["added"], row["verdicts"])
    ]
    return PortabilityRow(
        row["machine"], row["profile"], str(row["threads"]), moved, *changes, *counts
    )


def _most_moved(cases: Sequence[Record], suite: str, profile: str, threads: int | None) -> int:
    """The most rows of a suite that moved in one configuration with this setting."""
    counts: dict[tuple[str, int], int] = {}
    for case in cases:
        if (case["suite"], case["profile"]) != (suite, profile):
            continue
        if threads in (None, case["threads"]):
            key = (case["machine"], case["threads"])
            counts[key] = counts.get(key, 0) + moved_of(case)
    return max(counts.values(), default=0)
