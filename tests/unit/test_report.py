"""The report's view: what is shown, in which order, and that text stays text."""

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import jinja2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posinfo.captions import Caption
from posinfo.cite.results import (
    LEDGER_DIGEST_ID,
    VERDICTS_DIGEST_ID,
    VERDICTS_ID,
    FolderResults,
    PageResults,
)
from posinfo.claims import Claim, Selector, Weight, load_entries
from posinfo.digests import record
from posinfo.errors import InputError
from posinfo.ledger import decide_claims
from posinfo.report import build, pictures, read_inputs, render, view, words
from posinfo.report.grids import FOLDED_ROWS, most_telling, row_group, table_grid
from posinfo.report.inputs import Data
from posinfo.report.model import ALIGNED, Column, Grid
from posinfo.report.page import breakable, prose, style_hash
from posinfo.schemas import table_fields
from posinfo.tables import FIGURES, TABLES, build_all
from posinfo.tables import Data as TableData
from posinfo.tidy import json_text, write, write_atomically

TEMPLATES = str(Path(__file__).parents[2] / "workflow" / "report")


def claim(name: str, *covers: str, **values: Any) -> Claim:
    usual = {
        "id": name, "covers": covers, "lesson": covers[0][0], "section": "The claim",
        "kind": "computed", "statement": name, "verdict": "verified", "file": "claims.yaml",
    }  # fmt: skip
    return Claim(**usual | values)


def row(**values: Any) -> dict[str, Any]:
    return {
        "suite": "norms", "case": "run", "quantity": "difference", "subject": "rotate",
        "relation": "within", "measured": 1e-7, "reference": 0.0, "error": 1e-7, "bound": 1e-5,
        "ratio": 0.01, "outcome": "holds", "evidence": "float32", "basis": "rounding",
        "measured_text": "", "reference_text": "",
    } | values  # fmt: skip


def decided(reproduced: str) -> dict[str, str]:
    """What the ledger says of a claim's verdict."""
    return {"reproduced": reproduced, "standing": ""}


def links_of(*claims: Claim, reproduced: str = "verified") -> dict[str, Any]:
    return {one.id: view.claim_link(one, decided(reproduced)) for one in claims}


def caption(key: str, *covers: str, **values: Any) -> Caption:
    usual = {
        "key": key, "kind": "table", "lesson": covers[0][0], "section": "The claim",
        "title": key.title(), "caption": f"About {key}.", "covers": covers, "file": "captions.yaml",
    }  # fmt: skip
    return Caption(**usual | values)


def data(key: str, *covers: str, **values: Any) -> Data:
    usual = {
        "key": key, "kind": "table", "path": f"results/tables/{key}.csv",
        "fields": [{"name": "n", "type": "integer", "title": "N", "unit": "rad"}],
        "caption": caption(key, *covers), "content": b"n\n1\n", "records": [{"n": 1}],
    }  # fmt: skip
    return Data(**usual | values)


def content_of(address: str) -> bytes:
    """What a ``data:`` address holds."""
    kind, _, content = address.partition(",")
    return base64.b64decode(content) if kind.endswith(";base64") else unquote_to_bytes(content)


# ---------------------------------------------------------------- verdicts and order


@pytest.mark.parametrize("name", ["verified", "conditional", "refuted", "undecided", "awaiting"])
def test_a_mark_is_what_the_ledger_says(name: str) -> None:
    # Recorded as verified: the word comes from what was reproduced.
    assert view.claim_mark(claim("a", "A01"), decided(name)).name == name


def test_a_verdict_on_accepted_readings_says_so_and_one_on_stale_readings_is_none():
    one = claim("a", "A01", verdict="refuted")
    there = {"reproduced": "refuted", "standing": "accepted"}
    assert view.claim_mark(one, there).word == "refuted, accepted"
    assert view.claim_mark(one, there).name == "refuted"
    stale = view.claim_mark(one, {"reproduced": "stale", "standing": "stale"})
    assert (stale.name, stale.word) == ("stale", "stale")
    undecided = {"reproduced": "undecided", "standing": "accepted"}
    assert view.claim_mark(one, undecided).word == "undecided"


def test_what_was_not_run_has_a_mark_of_its_own_and_no_recorded_verdict_beside_it() -> None:
    one = claim("a", "A01", verdict="refuted")
    entry = {
        **decided("not run"), "why": "It needs x 1.0.", "problem": "", "condition": "",
        "tightest_ratio": None,
    }  # fmt: skip
    mark = view.claim_mark(one, entry)
    assert (mark.name, mark.word) == ("notrun", "not run")
    links = {"a": view.claim_link(one, entry)}
    shown = view.claim_view(one, entry, [], [], links=links, fields={})
    assert (shown.recorded, shown.why, shown.problem) == ("", "It needs x 1.0.", "")
    other = view.claim_view(
        one,
        entry,
        [],
        [],
        links={"a": view.claim_link(one, decided("verified"))},
        fields={},
    )
    assert other.recorded == "refuted"


def test_a_claim_is_measured_by_its_name_if_it_has_rows() -> None:
    one = claim("a-b", "A01")
    links = {"a-b": view.claim_link(one, None)}
    shown = view.claim_view(one, None, [row()], [], links=links, fields={})
    assert shown.commands == ("posinfo measure --claim a-b",)
    assert view.claim_view(one, None, [], [], links=links, fields={}).commands == ()


def test_a_claim_without_a_ledger_entry_is_undecided() -> None:
    assert view.claim_mark(claim("a", "A01"), None).name == "undecided"


@pytest.mark.parametrize("verdict", ["confirmed", "partly", "contradicted"])
def test_a_reading_is_marked_as_read(verdict: str) -> None:
    mark = view.claim_mark(claim("a", "A01", kind="source", verdict=verdict), decided("read"))
    assert mark.name == "read"
    assert mark.word.endswith(", read")
    assert mark.word.startswith(verdict)


def test_every_mark_has_its_own_shape_and_word() -> None:
    style = (Path(TEMPLATES) / "report.css").read_text(encoding="utf-8")
    found = re.findall(
        r"^\.(\w+) \{\n  --colour: var\(--\1\);\n  --shape: url\((.*)\);", style, re.MULTILINE
    )
    drawn = dict(found)
    assert len(drawn) == len(found)
    assert set(drawn) == set(words.MARKS)
    assert len(set(drawn.values())) == len(drawn)
    assert len({mark.word for mark in words.MARKS.values()}) == len(words.MARKS)


def test_counts_keep_what_awaits_apart() -> None:
    one, two, three = claim("a", "A01"), claim("b", "A02"), claim("c", "A03", kind="awaiting")
    links = [
        view.claim_link(one, decided("verified")),
        view.claim_link(two, decided("refuted")),
        view.claim_link(three, decided("awaiting")),
    ]
    found = {count.mark.name: count.number for count in view.counts(links)}
    assert found == {"verified": 1, "refuted": 1, "awaiting": 1}


def test_a_lesson_follows_its_headings_then_its_ids() -> None:
    claims = [
        claim("d", "A40", section="Failure mode: context"),
        claim("c", "A20", section="Worked example: RoPE, rotating"),
        claim("a", "A03", section="The claim; Exercise"),
        claim("b", "A01", section="The claim"),
        claim("e", "A02", section="A part that no list knows"),
    ]
    ordered = sorted(claims, key=view._place)
    views = {
        one.id: view.claim_view(one, None, [], [], links=links_of(*claims), fields={})
        for one in claims
    }
    lesson = view.lesson_view("A", ordered, views, links_of(*claims), [])
    shown = [(part.title, [one.id for one in part.claims]) for part in lesson.sections]
    assert shown == [
        ("The claim", ["b", "a"]),
        ("Worked example: RoPE", ["c"]),
        ("Failure mode", ["d"]),
        ("A part that no list knows", ["e"]),
    ]
    assert len({part.anchor for part in lesson.sections}) == 4


def test_contents_name_what_a_reader_should_not_miss() -> None:
    verdicts = {"verified": False, "conditional": True, "refuted": True, "undecided": True}
    for reproduced, expected in verdicts.items():
        one = claim("a", "A01")
        assert view._notable(one, links_of(one, reproduced=reproduced)) is expected
    for verdict, expected in {"confirmed": False, "contradicted": True}.items():
        one = claim("a", "A01", kind="source", verdict=verdict)
        assert view._notable(one, links_of(one, reproduced="read")) is expected


def test_a_claim_shows_that_its_verdict_is_not_the_recorded_one() -> None:
    one = claim("a", "A01", verdict="verified")
    links = links_of(one, reproduced="undecided")
    entry = {**decided("undecided"), "problem": "finds 2 rows, expected 3", "why": "",
             "condition": "",
             "tightest_ratio": None}  # fmt: skip
    shown = view.claim_view(one, entry, [], [], links=links, fields={})
    assert (shown.mark.name, shown.recorded) == ("undecided", "verified")
    assert shown.problem == "finds 2 rows, expected 3"


def test_weights_link_with_their_reasons() -> None:
    one, two = claim("a-b", "A01"), claim("c", "A02")
    given = [Weight("a-b", "measured here"), Weight("c", "read there")]
    found = view.weights(given, links_of(one, two))
    assert [(link.href, link.name, link.reason) for link in found] == [
        ("#claim-a-b", "a b", "measured here"),
        ("#claim-c", "c", "read there"),
    ]


@pytest.mark.parametrize(
    ("name", "shown"), [("kept-to-1e-5-here", "kept to 1e-5 here"), ("one-row", "one row")]
)
def test_names_of_links(name: str, shown: str) -> None:
    assert view.claim_link(claim(name, "A01"), None).name == shown


# ---------------------------------------------------------------- rows


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


@given(ROWS, st.integers(0, 5))
def test_a_group_shows_folds_or_counts_every_row(rows: list[dict[str, Any]], limit: int) -> None:
    group = row_group("r", "Rows", rows, limit=limit)
    if not rows:
        assert group is None
        return
    rest = group.rest.rows if group.rest else ()
    assert len(group.shown.rows) + len(rest) + group.left_out == group.count == len(rows)
    assert group.left_out == 0 or len(rest) == FOLDED_ROWS
    assert all(len(line) == len(group.shown.columns) for line in (*group.shown.rows, *rest))
    assert group.all_hold == all(one["outcome"] == "holds" for one in rows)
    # What does not hold is never said to hold, and is shown before anything else.
    if not group.all_hold:
        assert "Outcome" in [column.title for column in group.shown.columns]


def test_what_all_rows_share_is_said_once() -> None:
    rows = [row(dtype=name, quantity=f"in {name}", basis="rounding") for name in ("f4", "f2")]
    group = row_group("r", "Rows", rows, separating={"dtype": "Precision"})
    titles = [column.title for column in group.shown.columns]
    assert titles == [
        "Quantity",
        "Precision",
        "Measured",
        "Reference",
        "Error",
        "Bound",
        "Bound used",
    ]
    assert {fact.label: fact.cell.text for fact in group.facts} == {
        "Suite": "norms", "Case": "run", "Measured on": "rotate", "Evidence": "float32",
        "Basis": "rounding",
    }  # fmt: skip


def test_the_subject_heads_a_row_where_it_alone_differs() -> None:
    group = row_group("r", "Rows", [row(subject="p"), row(subject="q")])
    assert group.shown.columns[0].title == "Measured on"
    assert ("Quantity", "difference") in [(fact.label, fact.cell.text) for fact in group.facts]


def test_neighbours_that_say_the_same_share_a_cell() -> None:
    bases = ["rounding", "rounding", "a paper", "rounding"]
    rows = [row(quantity=str(n), basis=basis) for n, basis in enumerate(bases)]
    group = row_group("r", "Rows", rows)
    cells = [line[-1] for line in group.shown.rows]
    assert [cell.text for cell in cells] == bases
    assert [cell.span for cell in cells] == [2, 0, 1, 1]
    # Numbers are aligned by their place: what stands before them is never joined.
    assert all(cell.span == 1 for line in group.shown.rows for cell in line[:-1])


@given(ROWS)
def test_joined_cells_cover_each_row_once(rows: list[dict[str, Any]]) -> None:
    group = row_group("r", "Rows", rows, separating={"case": "Case"})
    for grid in (group.shown, group.rest) if group else ():
        for column in zip(*(grid.rows if grid else ()), strict=True):
            spans = [cell.span for cell in column]
            assert sum(spans) == len(spans)
            for place, span in enumerate(spans):
                assert spans[place + 1 : place + span] == [0] * (span - 1)
                assert len({cell.text for cell in column[place : place + span]}) <= 1
        numeric = [place for place, one in enumerate(grid.columns if grid else ()) if one.numeric]
        for line in grid.rows if grid else ():
            assert all(cell.span == 1 for cell in line[: max(numeric, default=0) + 1])


def test_the_style_knows_every_column_of_numbers() -> None:
    style = (Path(TEMPLATES) / "report.css").read_text(encoding="utf-8")
    found = re.findall(r"^  \.n(\d+) :nth-child\((\d+)\):is\(td, thead th\)", style, re.MULTILINE)
    assert found == [(str(place), str(place)) for place in ALIGNED]
    columns = tuple(Column("", numeric=place != 2) for place in range(30))
    assert Grid(columns, ()).aligned == (2, *ALIGNED[2:])


@pytest.mark.parametrize(("relation", "sign"), [("within", "≤"), ("exceeds", "≥")])
def test_a_bound_shows_its_direction(relation: str, sign: str) -> None:
    group = row_group("r", "Rows", [row(relation=relation)])
    assert f"{sign} 1.0 × 10⁻⁵".replace(" ", "\u00a0") in [
        cell.text for cell in group.shown.rows[0]
    ]


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

    def quantities(group: Any) -> list[str]:
        return [line[0].text for line in group.shown.rows + (group.rest.rows if group.rest else ())]

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


# ---------------------------------------------------------------- tables and figures


def test_a_table_shows_units_and_rounds() -> None:
    fields = [
        {"name": "pair", "type": "integer", "title": "Pair"},
        {"name": "angle", "type": "number", "title": "Angle", "unit": "rad"},
        {"name": "error", "type": "number", "title": "Error"},
    ]
    grid = table_grid(fields, [{"pair": 3, "angle": -1.23456, "error": 1.23456e-9}])
    assert [(column.title, column.unit, column.numeric) for column in grid.columns] == [
        ("Pair", "", True), ("Angle", "rad", True), ("Error", "", True),
    ]  # fmt: skip
    assert [cell.text for cell in grid.rows[0]] == ["3", "−1.235", "1.2\u00a0×\u00a010⁻⁹"]


def test_an_exhibit_can_be_checked() -> None:
    content = b"n\n1\n"
    shown = view.exhibit(data("angles", "A01", content=content), [], {})
    assert shown.download.startswith("data:text/csv;charset=utf-8,")
    assert content_of(shown.download) == content
    assert shown.digest == hashlib.sha256(content).hexdigest()
    assert (shown.anchor, shown.filename) == ("table-angles", "angles.csv")
    for part in ("table angles", shown.digest[:12], "#table-angles", shown.path):
        assert part in shown.citation


@given(st.one_of(st.binary(), st.text().map(str.encode)))
@example('a,b\n"it\'s 5 %",<#&> − × é\u00a0[1]{2}^|`\\\t\r\n'.encode())
@example(b"%41'")
def test_an_address_holds_its_content_and_ends_no_attribute(content: bytes) -> None:
    address = pictures.data_uri("text/csv", content)
    assert content_of(address) == content
    # Nothing that ends an address or an attribute in double quotes, or that needs an escape there.
    assert not re.search(r"[\x00-\x20\x7f\"<>&#\\^`{|}\[\]]", address)
    assert len(address.encode()) <= len("data:text/csv;base64,") + len(base64.b64encode(content))


def test_an_exhibit_that_was_not_made_says_why() -> None:
    shown = view.exhibit(data("angles", "A01", records=[], problem="no row of the case x"), [], {})
    assert shown.problem == "no row of the case x"
    assert "no row of the case x" in shown.caption
    assert shown.grid.rows == ()


def test_a_caption_that_asks_for_too_much_is_a_problem_not_a_crash() -> None:
    broken = caption("angles", "A01", section="s")
    broken = Caption(**vars(broken) | {"caption": "{{ largest(rows, 'nothing') }}"})
    shown = view.exhibit(data("angles", "A01", caption=broken), [], {})
    assert "nothing" in shown.problem


def test_exhibits_stand_beside_the_first_claim_they_are_about() -> None:
    claims = [
        claim("waits", "A01", kind="awaiting"),
        claim("elsewhere", "A02", section="Exercise"),
        claim("here", "A03"),
        claim("other-lesson", "B01"),
    ]
    found = view.place_exhibits(
        [
            data("x", "A01", "A02", "A03"),
            data("y", "A01", "B01"),
            data("z", "B01"),
            data("w", "A09"),
        ],
        claims,
    )
    assert found == {
        ("table", "x"): "here",
        ("table", "y"): "waits",
        ("table", "z"): "other-lesson",
        ("table", "w"): None,
    }


def test_a_section_of_ones_own_comes_before_one_that_is_shared() -> None:
    shown = data("x", "A01", "A02")
    section = shown.caption.section
    shared = claim("shared", "A01", section=f"Another; {section}")
    own = claim("own", "A02", section=section)
    assert view.place_exhibits([shown], [shared, own]) == {("table", "x"): "own"}
    assert view.place_exhibits([shown], [shared]) == {("table", "x"): "shared"}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ('width="90pt" height="60pt"', (120, 80)),
        ('width="90px" height="60"', (90, 60)),
        ('width="100%" height="60"', None),
        ("", None),
    ],
)
def test_size_of_a_drawing(size: str, expected: tuple[int, int] | None) -> None:
    assert (
        pictures.svg_size(f'<svg xmlns="http://www.w3.org/2000/svg" {size}/>'.encode()) == expected
    )


@pytest.mark.parametrize("content", [b"", b"<svg", b"\xff\xfe", b"not a drawing"])
def test_no_picture_from_what_is_no_drawing(content: bytes) -> None:
    good = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    assert pictures.picture({"light": good, "dark": good}) is not None
    assert pictures.picture({"light": good, "dark": content}) is None
    assert pictures.picture({"light": good}) is None


def themed(light: str, dark: str) -> dict[str, bytes]:
    shape = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><style>{}</style></svg>'
    return {"light": shape.format(light).encode(), "dark": shape.format(dark).encode()}


def test_two_themes_are_one_drawing() -> None:
    svg = themed("*{x:1}.a{fill:#123;stroke:#000}.b{y:2}", "*{x:1}.a{fill:#123;stroke:#fff}.b{y:2}")
    drawing = content_of(pictures.picture(svg).source).decode().replace("'", '"')
    assert drawing.startswith(svg["light"].decode().removesuffix("</style></svg>"))
    assert drawing.endswith(
        "svg{background:#fff}@media screen and (prefers-color-scheme:dark)"
        "{svg{background:none}.a{stroke:#fff}}</style></svg>"
    )
    ElementTree.fromstring(drawing)  # noqa: S314  (drawn here)


@pytest.mark.parametrize("dark", [".b{fill:#fff}", ".a{fill:#fff}.b{x:1}", ""])
def test_themes_that_differ_in_more_than_colours_are_a_problem(dark: str) -> None:
    svg = themed(".a{fill:#000}", dark)
    assert pictures.picture(svg) is None
    of = caption("x", "A01", kind="figure")
    figure = data("x", "A01", kind="figure", path="results/figures/x.csv", caption=of, svg=svg)
    shown = view.exhibit(figure, [], {})
    assert "x.light.svg and results" in shown.problem
    assert shown.problem.endswith("x.dark.svg differ in more than their style")
    assert shown.picture is None


def test_templates_hold_no_attribute_in_single_quotes() -> None:
    """For apostrophes of data stand in the page as they are."""
    for path in Path(TEMPLATES).glob("*.j2"):
        assert not re.search(r"<[^>]*='", path.read_text(encoding="utf-8")), path


# ---------------------------------------------------------------- text stays text


@given(st.text())
@example("28 % of 7.6 × 10⁻⁶")
def test_prose_is_escaped_and_keeps_its_text(text: str) -> None:
    shown = str(prose(text))
    assert set(re.findall(r"<[^>]*>", shown)) <= {"<code>", "</code>"}
    plain = html.unescape(re.sub(r"</?code>", "", shown))
    spaces = str.maketrans("\N{NO-BREAK SPACE}", " ")
    assert plain.translate(spaces) == re.sub(r"`([^`]+)`", r"\1", text).translate(spaces)


def test_a_number_keeps_its_percent_sign_and_its_power_of_ten_on_its_line() -> None:
    shown = str(prose("28 % of 7.6 × 10⁻⁶, and 4 × 7"))
    assert shown.replace("\N{NO-BREAK SPACE}", "_") == "28_% of 7.6_×_10⁻⁶, and 4 × 7"


@given(st.text())
def test_breakable_is_escaped_and_keeps_its_text(text: str) -> None:
    shown = str(breakable(text))
    assert set(re.findall(r"<[^>]*>", shown)) <= {"<wbr>"}
    assert html.unescape(shown.replace("<wbr>", "")) == text


# ---------------------------------------------------------------- the page from files


@pytest.fixture(scope="module")
def results(
    root: Path,
    records: Sequence[dict[str, Any]],
    claims: Sequence[Claim],
    control_records: Sequence[dict[str, Any]],
    config: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder with all that the page is made from; the drawings are empty squares."""
    folder, schemas = tmp_path_factory.mktemp("results"), root / "workflow" / "schemas"
    suites = list(dict.fromkeys(record["suite"] for record in records))
    for suite in suites:
        fields = table_fields(schemas / "suites" / f"{suite}.yaml")
        names = {field["name"] for field in fields}
        own = [
            {name: value for name, value in record.items() if name in names}
            for record in records
            if record["suite"] == suite
        ]
        write(folder / "suites" / f"{suite}.csv", own, fields)
    ledger = [entry.record() for entry in decide_claims(claims, records)]
    write(folder / "ledger.csv", ledger, table_fields(schemas / "ledger.yaml"))
    fields = table_fields(schemas / "controls" / "claim-controls.yaml")
    write(folder / "controls" / "claim-controls.csv", control_records, fields)
    for suite in ("norms", "shapes"):
        write_atomically(folder / "environments" / f"{suite}.json", json_text(FACTS))
    known = TableData(records, ledger, config, claims)
    for kind, makers in (("table", TABLES), ("figure", FIGURES)):
        made, unmade = build_all(makers, known, kind)
        for key, found in made.items():
            fields = table_fields(schemas / f"{kind}s" / f"{key}.yaml")
            write(folder / f"{kind}s" / f"{key}.csv", found, fields)
            if kind == "figure":
                for theme, ink in (("light", "#000"), ("dark", "#fff")):
                    svg = (
                        '<svg xmlns="http://www.w3.org/2000/svg" width="90pt" height="60pt">'
                        f"<style>.a{{stroke:{ink}}}</style></svg>"
                    )
                    (folder / "figures" / f"{key}.{theme}.svg").write_text(svg, encoding="utf-8")
        fields = table_fields(schemas / "missing.yaml")
        write(folder / "missing" / f"{kind}s.csv", unmade, fields)
    return folder


#: What two measuring jobs say of their processes.
FACTS = {
    "python": {"implementation": "cpython", "version": "3.11.7"},
    "packages": {"numpy": "2.4.6", "torch": "2.13.0+cpu"},
    "cpu": {"model": "Some Processor", "level": "x86-64-v3"},
    "numerics": {
        "torch_cpu_capability": "DEFAULT", "torch_threads": 1, "torch_interop_threads": 1,
        "torch_deterministic": True, "torch_mkldnn": False, "numpy_dispatched_features": [],
    },
}  # fmt: skip


def arguments(folder: Path, root: Path, config: dict[str, Any]) -> dict[str, Any]:
    """What ``read_inputs`` is told of the folder."""
    schemas = root / "workflow" / "schemas"

    def files(where: Path, pattern: str) -> list[str]:
        return [str(path) for path in sorted(where.glob(pattern))]

    return {
        "suites": files(folder / "suites", "*.csv"),
        "suite_schemas": files(schemas / "suites", "*.yaml"),
        "controls": str(folder / "controls" / "claim-controls.csv"),
        "controls_schema": str(schemas / "controls" / "claim-controls.yaml"),
        "ledger": str(folder / "ledger.csv"),
        "ledger_schema": str(schemas / "ledger.yaml"),
        "claims": [str(root / path) for path in config["claims"]],
        "claims_schema": str(schemas / "claims.schema.yaml"),
        "tables": files(folder / "tables", "*.csv"),
        "table_schemas": files(schemas / "tables", "*.yaml"),
        "figures": files(folder / "figures", "*.csv"),
        "figure_schemas": files(schemas / "figures", "*.yaml"),
        "drawings": files(folder / "figures", "*.svg"),
        "missing": files(folder / "missing", "*.csv"),
        "missing_schema": str(schemas / "missing.yaml"),
        "captions": str(root / "workflow" / "report" / "captions.yaml"),
        "captions_schema": str(schemas / "captions.schema.yaml"),
        "environments": files(folder / "environments", "*.json"),
    }


@pytest.fixture(scope="module")
def page(results: Path, root: Path, config: dict[str, Any]) -> str:
    return render(build(read_inputs(**arguments(results, root, config))), TEMPLATES)


def test_page_says_that_all_holds(page: str, claims: Sequence[Claim]) -> None:
    assert "Reproduced: every row holds" in page
    assert 'class="status bad"' not in page
    for one in claims:
        assert page.count(f'id="claim-{one.id}"') == 1
        for name in one.covers:
            assert name in page


def test_statements_that_contradict_each_other_are_shown_as_one(
    page: str, root: Path, config: dict[str, Any], claims_schema: dict[str, Any]
) -> None:
    paths = [root / path for path in config["claims"]]
    claims, [one] = load_entries(paths, claims_schema)
    covered = {claim.id: set(claim.covers) for claim in claims}
    assert set().union(*(covered[name] for name in one.says)) == {
        "B05",
        "B37",
        "B49",
        "B51",
        "B57",
        "B60",
    }
    assert set().union(*(covered[name] for name in one.denies)) == {"A42", "A50", "A53", "B64"}
    block = page.partition(f'id="inconsistency-{one.id}"')[2].partition("</section>")[0]
    for name in one.says + one.denies:
        assert f'href="#claim-{name}"' in block
        article = page.partition(f'id="claim-{name}"')[2].partition("</article>")[0]
        assert f'href="#inconsistency-{one.id}"' in article


def test_the_page_alone_is_enough_to_cite_from(page: str, results: Path, tmp_path: Path) -> None:
    """All that it carries is what a folder of results gives: bytes, digests, titles, units."""
    alone = tmp_path / "report.html"
    alone.write_text(page, encoding="utf-8")
    carried = PageResults(str(alone))
    folder = FolderResults(str(results), Path(TEMPLATES).parent / "schemas", Path(TEMPLATES))
    for kind, makers in (("table", TABLES), ("figure", FIGURES)):
        for key in makers:
            shown, expected = carried.exhibit(kind, key), folder.exhibit(kind, key)
            assert shown == expected, key
            assert expected.title
            assert bool(expected.alt) == bool(expected.picture) == (kind == "figure")
    verdicts, ledger = carried.dataset("ledger"), folder.dataset("ledger")
    assert verdicts.digest == ledger.digest
    assert len(verdicts.records) > 100
    names = [name for _, name in re.findall(r'<[a-z0-9]+(?: [^<>]*?)? id=("?)([\w-]+)\1', page)]
    assert sorted(set(names)) == sorted(names)
    assert {VERDICTS_ID, VERDICTS_DIGEST_ID, LEDGER_DIGEST_ID} <= set(names)
    assert verdicts.records == [
        {name: entry[name] for name in view.VERDICT_COLUMNS} for entry in ledger.records
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_drawing_that_was_edited_is_not_cited(results: Path, tmp_path: Path, theme: str) -> None:
    shutil.copytree(results / "figures", tmp_path / "results" / "figures")
    (tmp_path / "results" / "digests").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        record(Path("results").rglob("figures/mechanism.*"), "results/digests/make_figures.sha256")
    folder = str(tmp_path / "results"), Path(TEMPLATES).parent / "schemas", Path(TEMPLATES)
    assert FolderResults(*folder).exhibit("figure", "mechanism").picture
    drawing = tmp_path / "results" / "figures" / f"mechanism.{theme}.svg"
    drawing.write_text(drawing.read_text(encoding="utf-8").replace("60pt", "61pt"))
    with pytest.raises(InputError, match=rf"mechanism\.{theme}\.svg: was touched by hand"):
        FolderResults(*folder).exhibit("figure", "mechanism")


def test_page_says_with_which_versions_and_settings_it_was_measured(page: str) -> None:
    section = page.partition("<h2 id=provenance>")[2].partition("</section>")[0]
    assert 'href="#provenance"' in page
    shown = re.findall(r"<dt>(.+?)<dd>(.+?)\n", section)
    assert shown[:3] == [("CPython", "3.11.7"), ("numpy", "2.4.6"), ("torch", "2.13.0+cpu")]
    assert [value for _, value in shown[3:]] == ["default", "1", "1", "on", "off", "none"]


def test_page_names_neither_processor_nor_commit(page: str, root: Path) -> None:
    """The same results are the same page, at a later commit and on another machine."""
    section = page.partition("<h2 id=provenance>")[2].partition("</section>")[0]
    assert "results/provenance.json" in section
    assert "Some Processor" not in page
    assert "x86-64-v3" not in section
    assert not re.search(r"\b[0-9a-f]{40}\b", section)


def test_one_environment_is_shown_once_and_several_with_what_was_measured_in_each() -> None:
    other = FACTS | {"packages": {"numpy": "2.4.6", "torch": "2.12.0"}}
    [one] = view.environments({"a": FACTS, "b": FACTS | {"cpu": {"model": "Another"}}})
    assert one.measured == ()
    first, second = view.environments({"a": FACTS, "b": other, "c": FACTS})
    assert (first.measured, second.measured) == (("a", "c"), ("b",))
    assert [(term.word, term.meaning) for term in second.packages][-1] == ("torch", "2.12.0")


def test_of_an_environment_that_is_not_known_nothing_is_shown() -> None:
    assert view.environments({"a": {}, "b": {"cpu": {"model": "Another"}}}) == ()
    [known] = view.environments({"a": {}, "b": FACTS})
    assert known.measured == ()
    [some] = view.environments({"a": {"packages": {"torch": "2.13.0"}}})
    assert some.settings == ()


def test_every_setting_that_is_reported_has_words(child_environment: dict[str, str]) -> None:
    code = "from posinfo import numerics; import json; print(json.dumps(numerics.effective()))"
    done = subprocess.run([sys.executable, "-c", code], env=child_environment,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert json.loads(done.stdout).keys() == words.SETTINGS.keys()


def test_each_table_and_figure_stands_once(page: str) -> None:
    for kind, makers in (("table", TABLES), ("figure", FIGURES)):
        for key in makers:
            assert page.count(f'id="{kind}-{key}"') == 1
            assert f'download="{key}.csv"' in page


def test_policy_allows_this_style_alone(page: str) -> None:
    css = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    assert f"style-src '{style_hash(css)}'" in page
    expected = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    assert style_hash(css) == f"sha256-{expected}"


def test_nothing_in_the_page_runs_or_loads(page: str) -> None:
    assert "<script" not in page
    assert not re.search(r"\sstyle=|\son[a-z]+=", page)
    addresses = re.findall(r"(?:href|src|srcset)=\"([^\"]*)\"", page)
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)


def test_same_bytes_under_any_hash_seed_and_no_heavy_import(
    results: Path, root: Path, config: dict[str, Any], page: str, child_environment: dict[str, str]
) -> None:
    code = (
        "import json, sys\n"
        "from posinfo.report import build, read_inputs, render\n"
        "page = render(build(read_inputs(**json.loads(sys.argv[1]))), sys.argv[2])\n"
        "heavy = {'torch', 'pandas', 'matplotlib', 'numpy', 'sympy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "sys.stdout.buffer.write(page.encode())\n"
    )
    told = json.dumps(arguments(results, root, config))
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, told, TEMPLATES],
            capture_output=True, check=False, env=child_environment | {"PYTHONHASHSEED": seed},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout == page.encode()


def test_each_claim_shows_what_it_rejects_or_why_there_is_nothing(
    page: str, claims: Sequence[Claim], control_records: Sequence[dict[str, Any]]
) -> None:
    articles = dict(re.findall(r'<article class="claim[^>]* id="?claim-([\w-]+).*?>(.*?)</article>',
                               page, re.DOTALL))  # fmt: skip
    for row in control_records:
        text = html.unescape(re.sub(r"<[^>]*>", "", articles[row["claim"]]))
        assert f"Rejects the fault “{row['fault']}”: with it in place, " in text
        assert f"{row['rows_lost']} of its {row['rows_asked']} row" in text
        assert row["first_lost"] in text
    for one in claims:
        shown = html.unescape(articles[one.id])
        assert ("Rejects</strong>" in shown) == bool(one.rejects), one.id
        assert ("No fault to reject</strong>" in shown) == bool(one.no_fault), one.id
        assert one.no_fault in shown


def test_a_control_that_passed_is_no_rejection() -> None:
    row = {"fault": "f", "outcome": "fails", "measured_text": "verified", "rows_asked": 2,
           "rows_lost": 0, "first_lost": ""}  # fmt: skip
    assert view.control_view(row).rejects is False
    assert view.control_view(row | {"outcome": "holds"}).rejects is True
    assert view.control_view(None) is None
    assert view.control_view(row | {"measured_text": "not run"}) is None


def red_page(results: Path, root: Path, config: dict[str, Any], tmp_path: Path, spoil: Any) -> str:
    """The page after something happened to the results."""
    for path in results.rglob("*"):
        target = tmp_path / path.relative_to(results)
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    told = arguments(tmp_path, root, config)
    spoil(tmp_path)
    return render(build(read_inputs(**told)), TEMPLATES)


SPOILED = {
    "an empty suite": (lambda folder: (folder / "suites/norms.csv").write_text(""), "norms.csv"),
    "a suite that is gone": (lambda folder: (folder / "suites/norms.csv").unlink(), "norms.csv"),
    "a suite that is no text": (
        lambda folder: (folder / "suites/norms.csv").write_bytes(b"\xff"),
        "not UTF-8",
    ),
    "a ledger that is gone": (lambda folder: (folder / "ledger.csv").unlink(), "ledger.csv"),
    "a table that is gone": (
        lambda folder: (folder / "tables/theta-angles.csv").unlink(),
        "theta-angles",
    ),
    "a table without rows": (
        lambda folder: write_header_only(folder / "tables/theta-angles.csv"),
        "theta-angles",
    ),
    "a drawing that is gone": (
        lambda folder: (folder / "figures/mechanism.dark.svg").unlink(),
        "mechanism.dark.svg",
    ),
    "a row that fails": (
        lambda folder: swap(folder / "suites/norms.csv", ",holds,", ",fails,"),
        "norms: ",
    ),
    "an environment that is gone": (
        lambda folder: (folder / "environments/norms.json").unlink(),
        "norms.json",
    ),
    "an environment that is cut off": (
        lambda folder: (folder / "environments/norms.json").write_text('{"python"'),
        "norms.json",
    ),
    "controls that are gone": (
        lambda folder: (folder / "controls/claim-controls.csv").unlink(),
        "claim-controls.csv",
    ),
    "a control that passed": (
        lambda folder: swap(
            folder / "controls/claim-controls.csv", ",undecided,undecided,", ",verified,undecided,"
        ),
        "do not reject the fault",
    ),
    "another verdict": (
        lambda folder: swap(folder / "ledger.csv", ",verified,verified,", ",verified,refuted,"),
        "reproduced refuted",
    ),
}


def write_header_only(path: Path) -> None:
    path.write_text(path.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")


def swap(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("name", SPOILED)
def test_the_page_is_made_and_says_what_is_wrong(
    name: str, results: Path, root: Path, config: dict[str, Any], tmp_path: Path
) -> None:
    spoil, culprit = SPOILED[name]
    page = red_page(results, root, config, tmp_path, spoil)
    assert "Reproduced: every row holds" not in page
    banner = re.search(r'<section class="status bad".*?</section>', page, re.DOTALL)[0]
    assert culprit in banner.replace("<wbr>", "")


def test_a_caption_for_no_table_is_refused(
    results: Path, root: Path, config: dict[str, Any]
) -> None:
    told = arguments(results, root, config)
    with pytest.raises(InputError, match="there is no such table"):
        read_inputs(**told | {"tables": told["tables"][1:]})


def test_a_template_that_asks_for_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "report.css").write_text("p { color: red }", encoding="utf-8")
    (tmp_path / "index.html.j2").write_text("{{ page.nothing }}", encoding="utf-8")
    with pytest.raises(jinja2.UndefinedError):
        render(object(), str(tmp_path))


def test_a_style_cannot_end_its_element(tmp_path: Path) -> None:
    (tmp_path / "report.css").write_text("p {} </style>", encoding="utf-8")
    (tmp_path / "index.html.j2").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="would end the style"):
        render(object(), str(tmp_path))


def test_every_heading_that_claims_name_is_known(claims: Sequence[Claim]) -> None:
    """A heading that the list lacks would stand after all others."""
    for one in claims:
        headings = words.LESSONS[one.lesson].headings
        assert view.heading_of(one.section, headings) in headings, one.section
