"""Claims: what the lessons state, what would support it and what would break it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo.errors import InputError
from posinfo.schemas import first_problem, load_yaml

#: The kind of an entry that is no claim but says which claims cannot all be true.
INCONSISTENCY = "inconsistency"


@dataclass(frozen=True)
class Selector:
    """Rows of one suite: every named column has one of the named values.

    ``rows`` is the number of rows that must be found, and each value of each column must be
    found at least once: support cannot shrink without being seen.
    """

    suite: str
    where: Mapping[str, tuple[Any, ...]]
    rows: int

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is one of those selected."""
        return row["suite"] == self.suite and all(
            row.get(column) in values for column, values in self.where.items()
        )

    def text(self) -> str:
        """The selector as a reader would say it: ``norms: case = lesson run``."""
        parts = [
            f"{column} = {' or '.join(str(value) for value in values)}"
            for column, values in self.where.items()
        ]
        return f"{self.suite}: {', '.join(parts) or 'all rows'}"


@dataclass(frozen=True)
class Source:
    """A document that was read: revision and place, and what stands there in our words."""

    document: str
    revision: str
    place: str
    says: str


@dataclass(frozen=True)
class Weight:
    """A claim, by its id, that bears on a judgement, and how."""

    claim: str
    reason: str


@dataclass(frozen=True)
class Claim:
    """One statement of a lesson; see ``workflow/schemas/claims.schema.yaml`` for each field."""

    id: str
    covers: tuple[str, ...]
    lesson: str
    section: str
    kind: str
    statement: str
    file: str
    verdict: str = ""
    condition: str = ""
    differs_in: tuple[str, ...] = ()
    why: str = ""
    headline: str = ""
    awaits: str = ""
    rejects: str = ""
    no_fault: str = ""
    supports: tuple[Selector, ...] = ()
    breaks: tuple[Selector, ...] = ()
    sources: tuple[Source, ...] = ()
    related: tuple[str, ...] = ()
    weighs_for: tuple[Weight, ...] = ()
    weighs_against: tuple[Weight, ...] = ()

    @property
    def suites(self) -> list[str]:
        """The suites whose rows decide this claim, in alphabetical order."""
        return sorted({selector.suite for selector in self.supports + self.breaks})


@dataclass(frozen=True)
class Inconsistency:
    """Statements of the lessons that cannot all be true: a side that says so, one that denies it.

    Each side holds ids of claims, and ``bears_on`` those of claims that tell which is right.
    """

    id: str
    statement: str
    says: tuple[str, ...]
    denies: tuple[str, ...]
    why: str
    bears_on: tuple[str, ...] = ()


def load_claims(paths: Iterable[str | Path], schema: Mapping[str, Any]) -> list[Claim]:
    """Load the claims of several files; see :func:`load_entries`."""
    return load_entries(paths, schema)[0]


def load_entries(
    paths: Iterable[str | Path], schema: Mapping[str, Any]
) -> tuple[list[Claim], list[Inconsistency]]:
    """Load the claims of several files, and the inconsistencies, in the order of the files.

    Raises
    ------
    InputError
        If a file breaks the schema, two entries share an id, one is linked to an id that no
        claim has or covers, or a weight names a statement that several claims cover. The line
        names the file and the claim.
    """
    entries_of: list[tuple[str, dict[str, Any]]] = []
    seen: dict[str, str] = {}
    for path in map(str, paths):
        entries = load_yaml(path)
        if not isinstance(entries, list) or not entries:
            raise InputError(path, "must hold a list of claims, each beginning with '- id:'")
        for number, entry in enumerate(entries):
            name = entry.get("id") if isinstance(entry, dict) else None
            where = f"{path} claim {name or f'number {number + 1}'}"
            _check(entry, schema, where)
            if name in seen:
                raise InputError(where, f"the id {name!r} is taken already, in {seen[name]}")
            seen[name] = path
            entries_of.append((path, entry))
    claims = [(path, entry) for path, entry in entries_of if entry["kind"] != INCONSISTENCY]
    links = _Links(claims)
    return (
        [_build(entry, path, links) for path, entry in claims],
        [
            _inconsistency(entry, path, links)
            for path, entry in entries_of
            if entry["kind"] == INCONSISTENCY
        ],
    )


class _Links:
    """What an id in an entry stands for."""

    def __init__(self, claims: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.known = {entry["id"] for _, entry in claims}
        self.covering: dict[str, list[str]] = {}
        for _, entry in claims:
            for statement in entry["covers"]:
                self.covering.setdefault(statement, []).append(entry["id"])

    def resolve(self, name: str, key: str, path: str, owner: str) -> tuple[str, ...]:
        """A claim's id as it is, a statement's id (A01) as all claims that cover it."""
        ids = [name] if name in self.known else self.covering.get(name, [])
        others = tuple(other for other in ids if other != owner)
        if not others:
            raise InputError(
                f"{path} claim {owner}", f"{key}: no other claim is or covers {name!r}"
            )
        return others

    def one(self, name: str, key: str, path: str, owner: str) -> str:
        """The one claim that is meant: of several, some might bear the other way."""
        first, *more = self.resolve(name, key, path, owner)
        if more:
            raise InputError(
                f"{path} claim {owner}",
                f"{key}: several claims cover {name!r}, name the one that is meant: "
                f"{', '.join([first, *more])}",
            )
        return first

    def all(self, entry: Mapping[str, Any], key: str, path: str) -> tuple[str, ...]:
        """The ids that a list of an entry stands for, each once."""
        found = [self.resolve(name, key, path, entry["id"]) for name in entry.get(key, ())]
        return tuple(dict.fromkeys(other for ids in found for other in ids))


def _inconsistency(entry: Mapping[str, Any], path: str, links: _Links) -> Inconsistency:
    says, denies, bears_on = (links.all(entry, key, path) for key in ("says", "denies", "bears_on"))
    both = sorted(set(says) & set(denies))
    if both:
        raise InputError(f"{path} claim {entry['id']}", f"denies: {both[0]!r} is on both sides")
    text = {key: " ".join(entry[key].split()) for key in ("statement", "why")}
    return Inconsistency(entry["id"], says=says, denies=denies, bears_on=bears_on, **text)


def under_faults(claims: Iterable[Claim]) -> list[dict[str, Any]]:
    """What is asked for the claims that name a fault, as plain values: see :func:`asked_for`.

    Their prose is left out: to word a claim anew measures nothing anew.
    """
    return [
        {
            "id": claim.id,
            "rejects": claim.rejects,
            "differs_in": list(claim.differs_in),
            "supports": [_plain(selector) for selector in claim.supports],
            "breaks": [_plain(selector) for selector in claim.breaks],
        }
        for claim in claims
        if claim.rejects
    ]


def _plain(selector: Selector) -> dict[str, Any]:
    where = {column: list(values) for column, values in selector.where.items()}
    return {"suite": selector.suite, "rows": selector.rows, **where}


def asked_for(entry: Mapping[str, Any]) -> Claim:
    """The claim of which :func:`under_faults` made plain values, without its prose."""
    return Claim(
        id=entry["id"], covers=(), lesson="", section="", kind="computed", statement="", file="",
        rejects=entry["rejects"], differs_in=tuple(entry["differs_in"]),
        supports=tuple(map(_selector, entry["supports"])),
        breaks=tuple(map(_selector, entry["breaks"])),
    )  # fmt: skip


def suites_under_faults(claims: Iterable[Claim]) -> list[str]:
    """The suites on which claims rest that name a fault, in alphabetical order."""
    return sorted({suite for claim in claims if claim.rejects for suite in claim.suites})


def _check(entry: Any, schema: Mapping[str, Any], where: str) -> None:
    """Check one entry under the schema of its kind: a union's errors would name all kinds."""
    kinds = schema["$defs"]["kinds"]
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise InputError(where, f"kind: {kind!r} is unknown, allowed: {', '.join(kinds)}")
    problem = first_problem(entry, {**kinds[kind], "$defs": schema["$defs"]})
    if problem:
        key, text = problem.key, problem.text
        raise InputError(where, f"{key}: {text}" if key else text)
    if kind == "computed":
        _check_computed(entry, where)


def _check_computed(entry: Mapping[str, Any], where: str) -> None:
    supports, breaks = entry.get("supports", []), entry.get("breaks", [])
    if not supports and not breaks:
        raise InputError(where, "rests on no row: give supports or breaks")
    # Whether the verdict is what the rows give is not decided here: that is the gate's, and the
    # page is made all the same.
    conditional = bool(supports and breaks)
    for name in ("condition", "differs_in"):
        if conditional and not entry.get(name):
            raise InputError(where, f"{name}: a claim with supports and breaks needs it")
        if not conditional and name in entry:
            raise InputError(where, f"{name}: only a claim with supports and breaks has it")
    _check_control(entry, where)


def _check_control(entry: Mapping[str, Any], where: str) -> None:
    """A claim that nothing breaks says what would: a fault, or why there is none."""
    supported = not entry.get("breaks")
    if "rejects" in entry and "no_fault" in entry:
        raise InputError(where, "no_fault: a claim that rejects a fault has none; give one of both")
    if supported and not ("rejects" in entry or "no_fault" in entry):
        raise InputError(
            where,
            "the key 'rejects' is missing: name a fault that its rows reject, or say in 'no_fault' "
            "why none can exist",
        )
    if not supported and "no_fault" in entry:
        raise InputError(where, "no_fault: only a claim with supports alone has it")


def _build(entry: Mapping[str, Any], path: str, links: _Links) -> Claim:
    values = dict(entry)
    for name in ("supports", "breaks"):
        values[name] = tuple(_selector(selector) for selector in entry.get(name, []))
    values["sources"] = tuple(Source(**source) for source in entry.get("sources", []))
    for name in ("covers", "differs_in"):
        values[name] = tuple(entry.get(name, ()))
    values["related"] = links.all(entry, "related", path)
    for name in ("weighs_for", "weighs_against"):
        values[name] = tuple(
            Weight(links.one(weight["id"], name, path, entry["id"]), weight["reason"])
            for weight in entry.get(name, ())
        )
    for name in ("statement", "condition", "why", "headline", "awaits", "no_fault"):
        values[name] = " ".join(entry.get(name, "").split())
    return Claim(file=path, **values)


def _selector(entry: Mapping[str, Any]) -> Selector:
    where = {
        column: tuple(value) if isinstance(value, list) else (value,)
        for column, value in entry.items()
        if column not in ("suite", "rows")
    }
    return Selector(entry["suite"], where, entry["rows"])
