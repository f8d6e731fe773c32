"""Rows on the page: which are shown, what is said once, what is counted."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posinfo.claims import Selector
from posinfo.report import view
from posinfo.report.grids import (
    FOLDED_COUNTEREXAMPLES,
    FOLDED_ROWS,
    Role,
    most_telling,
    row_table,
)
from posinfo.report.model import ALIGNED, Column, Grid
from reported import TEMPLATES, claim, row


def test_rows_are_those_that_the_selectors_find_each_once() -> None:
    rows = [row(case="a"), row(case="b"), row(case="c")]
    select = Selector("norms", {"case": ("a", "b")}, 2), Selector("norms", {"case": ("b",)}, 1)
    found = view.claim_rows([claim("x", "A01", supports=select, breaks=(select[1],))], rows)
    assert [one["case"] for one in found["x"][0]] == ["a", "b"]
    assert [one["case"] for one in found["x"][1]] == ["b"]


def test_most_telling_rows() -> None:
    rows = [
        row(ratio=0.9),
        row(ratio=0.2),
        row(ratio=None, evidence="proof"),
        row(ratio=0.8),
        row(ratio=None, outcome="error"),
        row(ratio=0.1, evidence="reference"),
    ]
    assert most_telling(rows, 1) == [4]
    assert most_telling(rows, 4) == [0, 2, 4, 5]
    assert most_telling(rows, 5) == [0, 2, 3, 4, 5]
    assert most_telling(rows, 99) == list(range(6))


ROWS = st.lists(
    st.builds(
        row,
        case=st.sampled_from("ab"),
        quantity=st.sampled_from("xy"),
        subject=st.sampled_from("pq"),
        evidence=st.sampled_from(["proof", "float32"]),
        outcome=st.sampled_from(["holds", "fails"]),
        ratio=st.one_of(st.none(), st.floats(0, 2)),
    ),
    max_size=20,
)


@given(ROWS, ROWS, st.integers(0, 5))
def test_a_table_shows_folds_or_counts_every_row(
    supporting: list[dict[str, Any]], breaking: list[dict[str, Any]], limit: int
) -> None:
    roles = [Role("Support it", supporting, limit), Role("Break it", breaking, limit, True)]
    table = row_table(roles)
    given = [role for role in roles if role.rows]
    if not given:
        assert table is None
        return
    assert table.count == len(supporting) + len(breaking)
    assert table.folded == sum(len(group.rest) for group in table.groups)
    assert [(group.title, group.breaking) for group in table.groups] == [
        (role.title, role.breaking) for role in given
    ]
    for role, group in zip(given, table.groups, strict=True):
        assert len(group.shown) + len(group.rest) + group.left_out == group.count == len(role.rows)
        # All that is not shown is folded, or none of it: some of many serves nobody.
        most = FOLDED_COUNTEREXAMPLES if role.breaking else FOLDED_ROWS
        assert len(group.rest) <= most
        assert not (group.rest and group.left_out)
        assert group.left_out == 0 or group.left_out > most
        assert all(len(line) == len(table.head.columns) for line in (*group.shown, *group.rest))
        assert group.all_hold == all(one["outcome"] == "holds" for one in role.rows)
        # What does not hold is never said to hold, and is shown whatever the limit.
        shown = [cell.text for line in group.shown for cell in line]
        bad = sum(one["outcome"] != "holds" for one in role.rows)
        assert shown.count("fails") == bad
        if bad:
            assert "Outcome" in [column.title for column in table.head.columns]


def titles_of(table: Any) -> list[str]:
    return [column.title for column in table.head.columns]


def facts_of(facts: Any) -> dict[str, str]:
    return {fact.label: fact.cell.text for fact in facts}


def test_what_all_rows_share_is_said_once() -> None:
    rows = [row(dtype=name, quantity=f"in {name}", basis="rounding") for name in ("f4", "f2")]
    table = row_table([Role("Rows", rows)], separating={"dtype": "Precision"})
    assert titles_of(table) == [
        "Quantity",
        "Precision",
        "Measured",
        "Reference",
        "Error",
        "Bound",
        "Bound used",
    ]
    said = {
        "Suite": "norms", "Case": "run", "Measured on": "rotate", "Evidence": "float32",
        "Basis": "rounding",
    }  # fmt: skip
    assert facts_of(table.facts) == said
    told = row_table([Role("Rows", rows)], {"dtype": "Precision"}, told=("suite", "evidence"))
    assert facts_of(told.facts) == {name: said[name] for name in ("Case", "Measured on", "Basis")}


def test_what_the_rows_of_one_role_share_is_said_with_the_role() -> None:
    supporting = [row(quantity=str(n), basis="rounding") for n in range(2)]
    breaking = [row(quantity=str(n), basis="a margin", case=str(n)) for n in range(2)]
    table = row_table([Role("Support it", supporting), Role("Break it", breaking)])
    assert "Basis" not in titles_of(table)
    assert "Basis" not in facts_of(table.facts)
    assert [facts_of(group.facts) for group in table.groups] == [
        {"Basis": "rounding"},
        {"Basis": "a margin"},
    ]
    # What differs within a role has a column, whatever the other role's rows share.
    assert "Case" in titles_of(table)


def test_the_subject_heads_a_row_where_it_alone_differs() -> None:
    table = row_table([Role("Rows", [row(subject="p"), row(subject="q")])])
    assert titles_of(table)[0] == "Measured on"
    assert facts_of(table.facts)["Quantity"] == "difference"


def test_neighbours_that_say_the_same_share_a_cell() -> None:
    bases = ["rounding", "rounding", "a paper", "rounding"]
    rows = [row(quantity=str(n), basis=basis) for n, basis in enumerate(bases)]
    [group] = row_table([Role("Rows", rows)]).groups
    cells = [line[-1] for line in group.shown]
    assert [cell.text for cell in cells] == bases
    assert [cell.span for cell in cells] == [2, 0, 1, 1]
    # Numbers are aligned by their place: what stands before them is never joined.
    assert all(cell.span == 1 for line in group.shown for cell in line[:-1])


@given(ROWS, ROWS)
def test_joined_cells_cover_each_row_once(
    supporting: list[dict[str, Any]], breaking: list[dict[str, Any]]
) -> None:
    roles = [Role("Support it", supporting, 2), Role("Break it", breaking, 2, True)]
    table = row_table(roles, separating={"case": "Case"})
    columns = table.head.columns if table else ()
    numeric = [place for place, one in enumerate(columns) if one.numeric]
    for lines in (
        part for group in (table.groups if table else ()) for part in (group.shown, group.rest)
    ):
        for column in zip(*lines, strict=True):
            spans = [cell.span for cell in column]
            assert sum(spans) == len(spans)
            for place, span in enumerate(spans):
                assert spans[place + 1 : place + span] == [0] * (span - 1)
                assert len({cell.text for cell in column[place : place + span]}) <= 1
        for line in lines:
            assert all(cell.span == 1 for cell in line[: max(numeric, default=0) + 1])


def test_the_style_knows_every_column_of_numbers() -> None:
    style = (Path(TEMPLATES) / "report.css").read_text(encoding="utf-8")
    found = re.findall(r"^  \.n(\d+) :nth-child\((\d+)\):is\(td, thead th\)", style, re.MULTILINE)
    assert found == [(str(place), str(place)) for place in ALIGNED]
    columns = tuple(Column("", numeric=place != 2) for place in range(30))
    assert Grid(columns, ()).aligned == (2, *ALIGNED[2:])


@pytest.mark.parametrize(("relation", "sign"), [("within", "≤"), ("exceeds", "≥")])
def test_a_bound_shows_its_direction(relation: str, sign: str) -> None:
    [group] = row_table([Role("Rows", [row(relation=relation)])]).groups
    assert f"{sign} 1.0 × 10⁻⁵".replace(" ", "\u00a0") in [cell.text for cell in group.shown[0]]


def test_margins_list_both_ends_and_count_the_exact() -> None:
    rows = [
        row(quantity="tight", ratio=0.51),
        row(quantity="not tight", ratio=0.5),
        row(quantity="wide", ratio=9e-4),
        row(quantity="not wide", ratio=1e-3),
        row(quantity="exact", ratio=0.0, error=0.0),
        row(quantity="exact too", ratio=0.0, error=0.0, suite="angles"),
        row(quantity="broken", ratio=3.0, outcome="fails"),
        row(quantity="far", ratio=1e-6, relation="exceeds"),
    ]

    def quantities(table: Any) -> list[str]:
        return [line[0].text for group in table.groups for line in group.shown]

    found = view.margins(rows)
    assert quantities(found.tight) == ["tight"]
    assert quantities(found.wide) == ["wide"]
    assert (found.exact, found.exact_count) == ((("angles", 1), ("norms", 1)), 2)
    assert view.margins([]).tight is None


def test_all_rows_are_counted_by_kind_of_evidence() -> None:
    rows = [row(evidence="proof"), *(row(evidence="float32") for _ in range(3))]
    shown = {kind.name: (kind.rows, kind.share) for kind in view.evidence_kinds(rows)}
    assert shown["proof"] == (1, "25 %")
    assert shown["float32"] == (3, "75 %")
    assert shown["peer"] == (0, "")
    assert {kind.share for kind in view.evidence_kinds([])} == {""}
