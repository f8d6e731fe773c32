"""What the report says of claims: verdicts, order, links."""

import re
from pathlib import Path

import pytest

from posinfo.claims import Weight
from posinfo.report import view, words
from reported import TEMPLATES, claim, decided, links_of, row


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
