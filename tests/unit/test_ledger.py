"""The ledger: a verdict follows from rows, and anything that is off leaves it undecided."""

from typing import Any

import pytest

from posinfo.claims import Claim, Selector
from posinfo.ledger import contradiction_problems, decide_claims, fill, row_problem
from posinfo.rows import COLUMNS, CONTRADICTION_MARGIN, Row, decide


def row(
    quantity: str = "q",
    *,
    measured: float = 1.0,
    reference: float = 1.25,
    bound: float = 0.5,
    relation: str = "within",
    **more: Any,
) -> dict[str, Any]:
    """A row as the ledger gets it, decided as every row is."""
    shared = {key: more.pop(key) for key in list(more) if key in COLUMNS}
    return Row(
        **{
            "suite": "norms", "case": "c", "quantity": quantity, "subject": "x",
            "relation": relation, "evidence": "float32", "basis": "b",
            "measured": measured, "reference": reference, "bound": bound,
            "decision": decide(relation, measured=measured, reference=reference, bound=bound),
        } | shared, extra=more,
    ).record()  # fmt: skip


ROWS = [
    row("short, first", scale=1),
    row("short, second", scale=1, reference=1.5, evidence="reference"),
    row("long", relation="exceeds", measured=9.0, reference=0.0, bound=5.0, scale=100),
    row("another suite", suite="angles", scale=1),
]


def selector(rows: int, suite: str = "norms", **where: Any) -> Selector:
    values = {key: value if isinstance(value, tuple) else (value,) for key, value in where.items()}
    return Selector(suite, values, rows)


SHORT, LONG = selector(2, scale=1), selector(1, scale=100)


def claim(**changed: Any) -> Claim:
    return Claim(
        **{
            "id": "one", "covers": ("A01", "A02"), "lesson": "A", "section": "s",
            "kind": "computed", "statement": "It is so.", "file": "claims.yaml",
            "verdict": "verified", "why": "Measured.", "supports": (SHORT,),
        } | changed
    )  # fmt: skip


def decided(rows=ROWS, **changed: Any):
    (entry,) = decide_claims([claim(**changed)], rows)
    return entry


CONDITIONAL = {
    "breaks": (LONG,), "differs_in": ("scale",), "condition": "c", "verdict": "conditional",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "verdict", "count"),
    [
        ({}, "verified", 2),
        (CONDITIONAL, "conditional", 3),
        ({"supports": (), "breaks": (LONG,)}, "refuted", 1),
    ],
)
def test_the_verdict_follows_from_what_is_found(changed, verdict, count):
    entry = decided(**changed)
    assert entry.reproduced == verdict
    assert len(entry.rows) == count
    assert entry.problems == ()


@pytest.mark.parametrize("recorded", ["verified", "conditional", "refuted"])
def test_the_recorded_verdict_decides_nothing(recorded):
    assert decided(verdict=recorded).reproduced == "verified"


@pytest.mark.parametrize(
    ("kind", "reproduced"),
    [("source", "read"), ("judgement", "judgement"), ("awaiting", "awaiting")],
)
def test_other_kinds_are_never_verified(kind, reproduced):
    entry = decided(kind=kind, verdict="", supports=())
    assert entry.reproduced == reproduced
    assert entry.rows == ()


def undecided(rows=ROWS, **changed: Any) -> str:
    entry = decided(rows, **changed)
    assert entry.reproduced == "undecided"
    # Prose over rows that are not what they should be would state what was not measured.
    assert (entry.why, entry.headline) == ("", "")
    assert entry.record()["problem"].removesuffix(" (in claims.yaml)") == "; ".join(entry.problems)
    return entry.record()["problem"].removesuffix(" (in claims.yaml)")


@pytest.mark.parametrize(("expected", "found"), [(1, 2), (3, 2)])
def test_another_number_of_rows_leaves_it_undecided(expected, found):
    problem = undecided(supports=(selector(expected, scale=1),))
    assert problem == f"norms: scale = 1 finds {found} rows, expected {expected}"


def test_no_rows_leave_it_undecided():
    assert undecided([]) == "norms: scale = 1 finds 0 rows, expected 2"
    assert undecided(rows=ROWS[3:]) == "norms: scale = 1 finds 0 rows, expected 2"


def test_a_misspelt_column_leaves_it_undecided():
    assert "scal = 1 finds 0 rows, expected 2" in undecided(supports=(selector(2, scal=1),))


def test_a_listed_value_that_is_not_found_leaves_it_undecided():
    problem = undecided(supports=(selector(2, scale=(1, 1000)),))
    assert problem == "norms: scale = 1 or 1000 finds no row with scale = 1000"


def test_a_row_in_the_place_of_a_missing_one_is_noticed():
    """The number is right, and one of the values has gone."""
    rows = [row("a", scale=1), row("b", scale=1)]
    problem = undecided(rows, supports=(selector(2, scale=(1, 100)),))
    assert "finds no row with scale = 100" in problem


@pytest.mark.parametrize(
    ("bad", "outcome"),
    [
        (row("short, second", scale=1, reference=9.0), "fails"),
        (row("short, second", scale=1, measured=float("nan")), "error"),
    ],
)
def test_a_row_that_does_not_hold_leaves_it_undecided(bad, outcome):
    assert bad["outcome"] == outcome
    problem = undecided([ROWS[0], bad])
    assert problem == "1 of its 2 rows do not hold, such as norms: c / short, second / x"


def test_a_bug_does_not_refute():
    """A counter-example that does not hold is no counter-example."""
    bad = row("long", relation="exceeds", measured=1.0, reference=0.0, bound=5.0, scale=100)
    assert "1 of its 1 rows do not hold" in undecided([bad], supports=(), breaks=(LONG,))


def test_a_condition_that_does_not_separate_leaves_it_undecided():
    same = [*ROWS[:2], row("long", relation="exceeds", measured=9.0, reference=0.0, scale=1)]
    problem = undecided(
        same,
        supports=(selector(2, relation="within"),),
        breaks=(selector(1, relation="exceeds"),),
        differs_in=("scale",),
    )
    assert problem == "scale do not separate what holds from what breaks: both have 1"


def test_a_condition_over_a_column_that_is_not_there_leaves_it_undecided():
    assert "both have None" in undecided(**CONDITIONAL | {"differs_in": ("no such column",)})


def test_several_columns_separate_together():
    rows = [
        row("a", scale=1, dtype="float32"),
        row("b", scale=1, dtype="float16", relation="exceeds"),
        row("c", scale=100, dtype="float32", relation="exceeds"),
    ]
    changed = {
        "supports": (selector(1, quantity="a"),),
        "breaks": (selector(2, quantity=("b", "c")),),
    }
    rows = [entry | {"outcome": "holds"} for entry in rows]
    assert decided(rows, **changed, differs_in=("scale", "dtype")).reproduced == "conditional"
    assert "do not separate" in undecided(rows, **changed, differs_in=("scale",))


def test_a_row_that_two_selectors_find_counts_once():
    entry = decided(supports=(SHORT, selector(1, quantity="short, first")))
    assert len(entry.rows) == 2


def test_one_claims_problem_is_not_anothers():
    first, second = decide_claims([claim(), claim(id="two", supports=(selector(7),))], ROWS)
    assert (first.reproduced, second.reproduced) == ("verified", "undecided")


def test_a_record_is_a_row_of_the_ledger(root):
    from posinfo.schemas import table_fields

    record = decided(**CONDITIONAL).record()
    fields = table_fields(root / "workflow" / "schemas" / "ledger.yaml")
    assert list(record) == [field["name"] for field in fields]
    assert record["covers"] == "A01 A02"
    assert record["evidence"] == "float32 reference"
    assert record["rows"] == 3
    assert record["files"] == "results/suites/norms.csv"
    assert record["tightest_ratio"] == 1.0
    assert (record["recorded"], record["reproduced"]) == ("conditional", "conditional")


def test_prose_states_what_the_rows_measured():
    text = (
        "{{ supports.count }}, {{ breaks.error.max | sig(2) }}, {{ supports.error.min | sig(2) }}"
    )
    entry = decided(**CONDITIONAL, why=text, headline="{{ supports.scale.max | sig }}")
    assert (entry.why, entry.headline) == ("2, 9, 0.25", "1")


@pytest.mark.parametrize(
    "text",
    [
        "{{ supports.eror.max }}",
        "{{ supports.error.mean }}",
        "{{ supports.error.max | significant }}",
        "{{ breaks.error.max }}",
        "{{ rows.error.max }}",
        "{{ supports.error.max",
        "{% if %}",
    ],
)
def test_prose_that_asks_for_what_is_not_there_is_refused(text):
    for place in ("why", "headline"):
        entry = decided(**{place: text})
        assert (entry.reproduced, entry.why, entry.headline) == ("undecided", "", "")
        [problem] = entry.problems
        assert problem.startswith(f"{place}: ")
        assert "\n" not in problem


@pytest.mark.parametrize(
    "text",
    [
        "{{ supports.error.max | sig('two') }}",
        "{{ supports.error.max / 0 }}",
        "{{ supports.error.max + 'x' }}",
        "{{ supports.error | sig }}",
    ],
)
def test_prose_that_cannot_be_computed_is_refused_in_one_line_too(text):
    entry = decided(why=text)
    assert entry.reproduced == "undecided"
    assert entry.problems[0].startswith("why: ")


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a & b", "\"'", "100 %", "{x}"])
def test_hostile_prose_stays_text(text):
    """The page escapes it, once: escaped here it would be shown with its signs."""
    entry = decided(why=text, headline=text, statement=text)
    assert (entry.why, entry.headline) == (text, text)
    assert entry.record()["statement"] == text


def test_rows_cannot_put_text_into_prose():
    hostile = row("{{ 1 }}<script>", subject="</td>", scale=1)
    entry = decided([hostile], supports=(selector(1),), why="{{ supports.subject.max }}")
    assert entry.reproduced == "undecided"
    assert fill("{{ supports.count }}", [hostile], [], "w") == "1"


WITHIN = row("short", scale=1)
CONTRADICTED = "c / short / x"


def contradicting(**changed: Any) -> dict[str, Any]:
    bound = CONTRADICTION_MARGIN * WITHIN["bound"]
    return row(
        "long",
        **{"relation": "exceeds", "measured": 99.0, "reference": 0.0, "bound": bound}
        | {"contradicts": CONTRADICTED}
        | changed,
    )


def test_a_contradiction_of_ten_times_the_bound_is_accepted():
    assert contradiction_problems([WITHIN, contradicting()]) == []


def test_a_contradiction_with_a_narrower_margin_is_not():
    (problem,) = contradiction_problems([WITHIN, contradicting(bound=4.5)])
    assert problem == (
        "norms: c / long / x: its bound 4.50 is not 10 times the bound of c / short / x"
    )


@pytest.mark.parametrize(
    "named",
    ["c / shor / x", "c / short / y", "short", "c / long / x"],
)
def test_a_contradiction_of_a_row_that_is_not_there_is_not(named):
    (problem,) = contradiction_problems([WITHIN, contradicting(contradicts=named)])
    assert problem == f"norms: c / long / x: contradicts no 'within' row named {named}"


def test_a_contradiction_stays_in_its_suite():
    elsewhere = WITHIN | {"suite": "angles"}
    assert len(contradiction_problems([elsewhere, contradicting()])) == 1


@pytest.mark.parametrize("bound", [None, float("nan")])
@pytest.mark.parametrize("damaged", ["contradicting", "contradicted"])
def test_a_contradiction_without_a_bound_is_a_problem_and_no_crash(bound, damaged):
    """A CSV that was edited by hand may lack it."""
    without = {"bound": bound}
    rows = [WITHIN, contradicting() | without]
    if damaged == "contradicted":
        rows = [WITHIN | without, contradicting()]
    assert len(contradiction_problems(rows)) == 1


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (row(reference=2.0), "norms: c / q / x: error 1 is not ≤ 0.500"),
        (
            row(relation="exceeds", bound=2.0),
            "norms: c / q / x: error 0.250 is not ≥ 2",
        ),
        (row(relation="equals"), "norms: c / q / x: measured 1.0, expected 1.25"),
        (row(measured=float("nan")), "norms: c / q / x: error, measured nan"),
    ],
)
def test_a_row_that_does_not_hold_is_explained(bad, problem):
    assert bad["outcome"] != "holds"
    assert row_problem(bad).startswith(problem)


def test_a_text_that_differs_is_explained():
    bad = row(measured=None, reference=None, bound=None, relation="equals") | {
        "outcome": "fails",
        "measured_text": "[5, 2]",
        "reference_text": "[2, 5]",
    }
    assert row_problem(bad) == "norms: c / q / x: measured [5, 2], expected [2, 5]"


def test_a_row_with_a_bound_that_is_none_says_so():
    """Its measured value is fine: only naming that would send a reader the wrong way."""
    assert "bound" in row_problem(row(bound=0.0))


def test_every_claim_of_the_project_comes_out_as_recorded(claims, records):
    entries = decide_claims(claims, records)
    off = [
        f"{entry.claim.id}: {'; '.join(entry.problems) or entry.reproduced}"
        for entry in entries
        if entry.claim.kind == "computed" and entry.reproduced != entry.claim.verdict
    ]
    assert off == []
    assert contradiction_problems(records) == []
    assert sum(entry.claim.kind == "computed" for entry in entries) > 50


@pytest.mark.parametrize(
    "suite", ["shapes", "norms", "angles", "offsets", "extension", "lookup", "cache"]
)
def test_without_a_suite_its_claims_and_no_others_are_undecided(claims, records, suite):
    left = [record for record in records if record["suite"] != suite]
    entries = decide_claims(claims, left)
    undecided = {entry.claim.id for entry in entries if entry.reproduced == "undecided"}
    assert undecided == {claim.id for claim in claims if suite in claim.suites}
    assert undecided


def test_every_row_of_support_counts(claims, records):
    """Any single row of a claim taken away leaves that claim undecided."""
    for entry in decide_claims(claims, records):
        if entry.claim.kind != "computed":
            continue
        gone = entry.rows[len(entry.rows) // 2]
        left = [record for record in records if record is not gone]
        (again,) = decide_claims([entry.claim], left)
        assert again.reproduced == "undecided", entry.claim.id


# --- packages that may be left out ----------------------------------------------------------------


def needs(package: str, found: str = "not installed", suite: str = "peers") -> dict[str, Any]:
    """The row that says whether a package is there."""
    return Row(
        suite=suite, case="libraries", quantity=f"version of {package}", subject=package,
        relation="needs", evidence="peer", basis="b", measured_text=found, reference_text="1.0",
        decision=decide("needs", measured_text=found, reference_text="1.0"),
        extra={"library": package},
    ).record()  # fmt: skip


def of_library(package: str, **more: Any) -> dict[str, Any]:
    return row(f"q of {package}", suite="peers", library=package, **more)


BOTH = selector(2, suite="peers", quantity=("q of one", "q of two"), library=("one", "two"))


def test_a_claim_on_a_package_that_is_not_there_is_not_run():
    entry = decided([needs("one", "1.0"), needs("two"), of_library("one")], supports=(BOTH,))
    assert (entry.reproduced, entry.problems, entry.headline) == ("not run", (), "")
    assert entry.why == "It needs two 1.0; the recorded verdict is verified."
    record = entry.record()
    assert (record["reproduced"], record["problem"]) == ("not run", "")


def test_with_its_packages_it_is_decided():
    rows = [needs("one", "1.0"), needs("two", "1.0"), of_library("one"), of_library("two")]
    assert decided(rows, supports=(BOTH,)).reproduced == "verified"


def test_a_package_of_the_claim_s_counter_examples_counts_too():
    rows = [*ROWS, needs("two")]
    entry = decided(
        rows, breaks=(selector(1, suite="peers", library="two"),), differs_in=("scale",),
        condition="c", verdict="conditional",
    )  # fmt: skip
    assert entry.reproduced == "not run"


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        # A row of the library that is there does not hold.
        ([needs("two"), of_library("one", bound=0.01)], "1 of its 1 rows do not hold"),
        # Nothing says that the package is not there.
        ([needs("one", "1.0"), of_library("one")], "finds 1 rows, expected 2"),
        # Another suite's package is not this one's.
        ([needs("two", suite="norms"), of_library("one")], "finds 1 rows, expected 2"),
        # A package that the claim does not name excuses nothing.
        ([needs("three"), of_library("one")], "finds 1 rows, expected 2"),
    ],
)
def test_what_is_wrong_otherwise_stays_undecided(rows, problem):
    assert problem in undecided(rows, supports=(BOTH,))


def test_another_selector_of_the_claim_is_checked_all_the_same():
    wrong = selector(7, scale=1)
    assert "finds 2 rows, expected 7" in undecided([*ROWS, needs("two")], supports=(BOTH, wrong))


def test_a_selector_that_names_no_package_is_not_excused():
    unnamed = selector(2, suite="peers", evidence="float32")
    assert "finds 1 rows, expected 2" in undecided(
        [needs("two"), of_library("one")], supports=(unnamed,)
    )
