"""What the page shows, as plain values: the template lays them out and decides nothing.

Every text here is plain text; the template escapes it. Only addresses that this package
made itself (``data:`` URIs and anchors) stand in attributes.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A verdict as a reader sees it: a shape and a word, with a colour on top.

    ``name`` names shape and colour, ``word`` is shown beside the shape, ``note`` says what
    the word means.
    """

    name: str
    word: str
    note: str


@dataclass(frozen=True)
class Count:
    """How many claims have a mark."""

    mark: Mark
    number: int


@dataclass(frozen=True)
class ClaimLink:
    """A link to a claim, with its verdict; ``reason`` says how it bears on a judgement."""

    href: str
    name: str
    mark: Mark
    reason: str = ""


@dataclass(frozen=True)
class ExhibitLink:
    """A link to a table or figure."""

    href: str
    kind: str
    title: str


@dataclass(frozen=True)
class Picture:
    """A figure in both themes: its ``data:`` URI, and the size in CSS pixels."""

    source: str
    width: int
    height: int


@dataclass(frozen=True)
class Finding:
    """One sentence that changes what one believes, with the claim that carries it.

    One of the first screen has a title and an anchor, and a small drawing with its CSV, if they
    are there.
    """

    text: str
    claim: ClaimLink
    title: str = ""
    anchor: str = ""
    picture: Picture | None = None
    alt: str = ""
    filename: str = ""
    download: str = ""


@dataclass(frozen=True)
class Side:
    """A statement of one side of an inconsistency, in the words of its claim."""

    covers: tuple[str, ...]
    statement: str
    claim: ClaimLink


@dataclass(frozen=True)
class InconsistencyView:
    """Statements of the lessons that cannot all be true, shown as one."""

    anchor: str
    statement: str
    says: tuple[Side, ...]
    denies: tuple[Side, ...]
    why: str
    bears_on: tuple[ClaimLink, ...]


@dataclass(frozen=True)
class Column:
    """The head of a column: ``unit`` and ``description`` may be empty."""

    title: str
    unit: str = ""
    description: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Cell:
    """One cell: ``kind`` is text, number, code, or the name of a mark.

    ``span`` counts the rows that it stands for; 0 if the cell above says the same for it.
    """

    text: str
    kind: str = "text"
    span: int = 1


#: Places of columns for which the style has a class; the first column's cells name their rows.
ALIGNED = range(2, 17)


@dataclass(frozen=True)
class Grid:
    """A table's head and body; the first cell of each row names the row."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def aligned(self) -> tuple[int, ...]:
        """Columns of numbers that the style knows as such by their place, counted from 1."""
        return tuple(
            place
            for place, column in enumerate(self.columns, start=1)
            if column.numeric and place in ALIGNED
        )


@dataclass(frozen=True)
class Fact:
    """What all rows of a table share, said once above it instead of in every row."""

    label: str
    cell: Cell


@dataclass(frozen=True)
class RowGroup:
    """Measured rows of one role: those that matter most, those to unfold, the others counted.

    ``facts`` hold for all rows of this role, and not for all of the table.
    """

    title: str
    breaking: bool
    count: int
    all_hold: bool
    facts: tuple[Fact, ...]
    shown: tuple[tuple[Cell, ...], ...]
    rest: tuple[tuple[Cell, ...], ...]
    left_out: int


@dataclass(frozen=True)
class RowTable:
    """Measured rows under one head, by their roles; ``facts`` hold for all of them."""

    head: Grid
    facts: tuple[Fact, ...]
    groups: tuple[RowGroup, ...]

    @property
    def count(self) -> int:
        """How many rows there are, shown or not."""
        return sum(group.count for group in self.groups)

    @property
    def folded(self) -> int:
        """How many can be unfolded."""
        return sum(len(group.rest) for group in self.groups)

    @property
    def left_out(self) -> int:
        """How many stand in the suites' CSV files alone."""
        return sum(group.left_out for group in self.groups)


@dataclass(frozen=True)
class Read:
    """A document that was read."""

    document: str
    revision: str
    place: str
    says: str


@dataclass(frozen=True)
class Exhibit:
    """A table or figure with all that lets a reader cite and check it."""

    kind: str
    anchor: str
    key: str
    title: str
    caption: str
    alt: str
    text: str
    grid: Grid
    problem: str
    picture: Picture | None
    filename: str
    path: str
    download: str
    digest: str
    citation: str
    claims: tuple[ClaimLink, ...]
    left_out: int


@dataclass(frozen=True)
class Control:
    """A claim decided anew with a fault in place: how many of its rows were lost to it.

    ``first`` is the first quantity that no longer held; ``rejects`` says whether the claim was
    left undecided, as it must be.
    """

    fault: str
    rejects: bool
    asked: int
    lost: int
    first: str


@dataclass(frozen=True)
class ClaimView:
    """A claim with everything that stands in its article.

    ``part_of`` holds address and statement of each inconsistency that the claim is a side of.
    """

    anchor: str
    number: int
    id: str
    covers: tuple[str, ...]
    statement: str
    mark: Mark
    recorded: str
    problem: str
    condition: str
    why: str
    awaits: str
    evidence: tuple[tuple[str, int], ...]
    tightest: str
    rows: RowTable | None
    selectors: tuple[str, ...]
    control: Control | None
    no_fault: str
    sources: tuple[Read, ...]
    weighs_for: tuple[ClaimLink, ...]
    weighs_against: tuple[ClaimLink, ...]
    related: tuple[ClaimLink, ...]
    part_of: tuple[tuple[str, str], ...]
    commands: tuple[str, ...]
    suites: tuple[str, ...]
    code: tuple[str, ...]
    exhibits: tuple[Exhibit, ...]
    see: tuple[ExhibitLink, ...]
    citation: str


@dataclass(frozen=True)
class Section:
    """A part of a lesson; ``notable`` are its claims that a reader should not miss."""

    anchor: str
    title: str
    counts: tuple[Count, ...]
    claims: tuple[ClaimView, ...]
    notable: tuple[ClaimLink, ...]


@dataclass(frozen=True)
class LessonView:
    """A lesson in its order; ``exhibits`` are those that no claim of it shows."""

    letter: str
    anchor: str
    name: str
    title: str
    counts: tuple[Count, ...]
    sections: tuple[Section, ...]
    exhibits: tuple[Exhibit, ...]


@dataclass(frozen=True)
class Answer:
    """One part of an exercise's answer, with the claims that decide it."""

    part: str
    text: str
    claims: tuple[ClaimLink, ...]


@dataclass(frozen=True)
class ExerciseView:
    """An exercise of a lesson, answered."""

    anchor: str
    name: str
    question: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Term:
    """A word of the method and what it means."""

    word: str
    meaning: str


@dataclass(frozen=True)
class SuiteView:
    """One suite in the overview; ``places`` says by case where it is measured."""

    anchor: str
    name: str
    title: str
    cases: tuple[Term, ...]
    places: tuple[str, ...]
    rows: int
    by_evidence: tuple[int, ...]
    not_holding: int
    path: str
    digest: str
    code: str
    command: str


@dataclass(frozen=True)
class EvidenceKind:
    """How many of all rows are of one kind of evidence, and what share that is, as text.

    ``claims`` counts those that rest on it.
    """

    name: str
    rows: int
    share: str
    claims: int


@dataclass(frozen=True)
class Margins:
    """How much of their bounds the rows used: the ends of the scale, listed."""

    tight: RowTable | None
    wide: RowTable | None
    exact: tuple[tuple[str, int], ...]
    exact_count: int


@dataclass(frozen=True)
class Methods:
    """The words that the page uses, each explained once."""

    verdicts: tuple[Mark, ...]
    relations: tuple[Term, ...]
    outcomes: tuple[Term, ...]
    evidence: tuple[Term, ...]
    columns: tuple[Term, ...]
    tight_above: str
    wide_below: str
    contradiction_margin: str


@dataclass(frozen=True)
class EnvironmentView:
    """Versions and settings, and what was measured with them: nothing named if all of it was."""

    measured: tuple[str, ...]
    packages: tuple[Term, ...]
    settings: tuple[Term, ...]


@dataclass(frozen=True)
class ChangesView:
    """What differs from the accepted results: how much of it and why, and the first of it.

    ``compared`` is false where nothing was compared; ``total`` counts all, ``moved`` those that
    were promised to stay.
    """

    compared: bool
    total: int
    moved: int
    standings: tuple[Term, ...]
    why: tuple[str, ...]
    shown: Grid | None
    rest: Grid | None
    left_out: int
    path: str


@dataclass(frozen=True)
class PortabilityRow:
    """What one processor, with settings, makes of the rows: cells as text."""

    machine: str
    profile: str
    threads: str
    moved: str
    ulps: str
    of_bound: str
    outcomes: str
    verdicts: str


@dataclass(frozen=True)
class AsARun:
    """Where the profile is in effect on one thread: the most rows that moved, and how far."""

    moved: str
    ulps: str
    of_bound: str
    all_kept: bool


@dataclass(frozen=True)
class PortabilityView:
    """What a rehearsal on other processors found.

    Attributes
    ----------
    stands
        ``current``, ``same rows`` or ``stale``: see :mod:`posinfo.rehearsal.result`.
    rows, claims
        How many rows were compared, and how many claims decided, in each configuration.
    as_a_run
        What is said of the configurations that measure as a run does; None if there are none.
    machines
        The processors by the names that rows carry, with what they are.
    suites
        Suites with the most rows that moved in one configuration with the profile, on one thread
        and on two, and without it; those in which none moved are named in ``kept`` alone.
    changed
        Verdicts that are others, with where.
    """

    stands: str
    reference: str
    emulator: str
    torch: str
    rows: str
    claims: str
    as_a_run: AsARun | None
    machines: tuple[Term, ...]
    configurations: tuple[PortabilityRow, ...]
    suites: tuple[tuple[str, ...], ...]
    kept: tuple[str, ...]
    left_out: tuple[Term, ...]
    changed: tuple[str, ...]
    outcomes: int
    folder: str


@dataclass(frozen=True)
class Page:
    """The whole report."""

    version: str
    problems: tuple[str, ...]
    counts: tuple[Count, ...]
    claims: int
    statements: int
    rows: int
    awaiting: tuple[ClaimLink, ...]
    awaiting_statements: tuple[str, ...]
    not_run: tuple[ClaimLink, ...]
    not_run_advice: tuple[str, ...]
    accepted: int
    stale: tuple[ClaimLink, ...]
    findings: tuple[Finding, ...]
    more_findings: tuple[Finding, ...]
    inconsistencies: tuple[InconsistencyView, ...]
    lessons: tuple[LessonView, ...]
    exercises: tuple[ExerciseView, ...]
    exercises_exhibit: Exhibit | None
    models: tuple[Exhibit, ...]
    exhibits: tuple[ExhibitLink, ...]
    kinds: tuple[EvidenceKind, ...]
    not_holding: int
    suites: tuple[SuiteView, ...]
    margins: Margins
    methods: Methods
    environments: tuple[EnvironmentView, ...]
    changes: ChangesView
    portability: PortabilityView | None
    faults: int
    controlled: int
    controls_path: str
    controls_digest: str
    ledger_path: str
    ledger_digest: str
    verdicts: str
    verdicts_digest: str
