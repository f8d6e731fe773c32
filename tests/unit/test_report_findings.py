"""The first screen's findings, the filter, and the exercises: what is shown, and when it is not."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from posinfo.claims import Claim
from posinfo.errors import InputError
from posinfo.report import view, words
from posinfo.report.exercises import EXERCISES, exercises
from posinfo.report.findings import FindingText, findings, load
from posinfo.rows import EVIDENCE
from posinfo.schemas import load_yaml
from reported import TEMPLATES, claim, data, decided, links_of, row

FINDINGS = Path(TEMPLATES) / "findings.yaml"


@pytest.fixture(scope="module")
def schema(root: Path) -> dict[str, Any]:
    return load_yaml(root / "workflow" / "schemas" / "findings.schema.yaml")


@pytest.fixture(scope="module")
def project(schema: dict[str, Any]) -> list[FindingText]:
    return load(FINDINGS, schema)


def stated(
    text: FindingText, reproduced: str = "verified", **known: Any
) -> tuple[Sequence[Any], list[str]]:
    one = claim("a", "A01")
    given = {
        "drawings": {}, "files": {}, "entries": {"a": decided(reproduced)},
        "selected": {"a": ([row(error=2.5e-7)], [])}, "links": links_of(one),
    }  # fmt: skip
    return findings([text], **given | known)


TEXT = FindingText(
    "k", "a", "A title", "{{ supports.error.max | sig }} off.", "{{ supports.count }}"
)


def test_a_finding_has_the_numbers_of_its_claim() -> None:
    [shown], problems = stated(TEXT)
    assert (shown.text, shown.alt, shown.title) == ("2.50 × 10⁻⁷ off.", "1", "A title")
    assert (shown.anchor, shown.claim.href, problems) == ("finding-k", "#claim-a", [])
    assert (shown.picture, shown.download) == (None, "")


def test_a_finding_carries_its_drawing_and_the_csv_of_it() -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    [shown], _ = stated(TEXT, drawings={"k": {"light": svg, "dark": svg}}, files={"k": b"n\n1\n"})
    assert (shown.picture.width, shown.picture.height) == (9, 9)
    assert shown.filename == "finding-k.csv"
    assert shown.download == "data:text/csv;charset=utf-8,n%0A1%0A"


@pytest.mark.parametrize("reproduced", ["undecided", "not run", "stale", "read"])
def test_a_finding_without_a_verdict_is_not_stated(reproduced: str) -> None:
    assert stated(TEXT, reproduced) == ((), [])


def test_a_finding_whose_claim_is_not_there_is_not_stated() -> None:
    assert stated(TEXT, entries={}) == ((), [])
    assert stated(TEXT, links={}) == ((), [])


def test_a_finding_that_asks_for_what_is_not_there_is_a_problem_and_not_stated() -> None:
    shown, [problem] = stated(FindingText("k", "a", "t", "{{ breaks.error.max }}", "x"))
    assert shown == ()
    assert "finding k" in problem


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"claim": None}, "claim"),
        ({"more": "x"}, "more"),
        ({"key": "No key"}, "No key"),
        ({"title": "t" * 61}, "title"),
    ],
)
def test_a_wrong_finding_is_refused(
    change: Mapping[str, Any], expected: str, schema: dict[str, Any], tmp_path: Path
) -> None:
    entry = {"key": "k", "claim": "a", "title": "t", "text": "x", "alt": "y"} | dict(change)
    path = tmp_path / "findings.yaml"
    path.write_text("- " + "\n  ".join(f"{k}: {v or ''}" for k, v in entry.items()) + "\n")
    with pytest.raises(InputError, match=expected):
        load(path, schema)


def test_a_key_stands_once(schema: dict[str, Any], tmp_path: Path) -> None:
    entry = "- {key: k, claim: a, title: t, text: x, alt: y}\n"
    path = tmp_path / "findings.yaml"
    path.write_text(entry * 2)
    with pytest.raises(InputError, match="stands twice"):
        load(path, schema)


def test_every_finding_of_the_project_is_about_a_claim_that_is_decided(
    project: list[FindingText], claims: Sequence[Claim]
) -> None:
    known = {one.id: one for one in claims}
    assert 4 <= len(project) <= 6
    for one in project:
        assert known[one.claim].verdict in words.VERDICTS, one.key
        # One sentence, and no measured number typed into it.
        plain = re.sub(r"\{\{.*?\}\}", "#", one.text)
        assert plain.count(". ") == 0, one.key
        assert plain.endswith("."), one.key
        # What is left of digits are names: float32, SmolLM2-135M, pair 0.
        named = re.sub(r"float32|SmolLM2-135M|pair 0", "", re.sub(r"\{\{.*?\}\}", "", one.text))
        assert not re.search(r"\d", named), one.key


def test_every_finding_of_the_project_is_filled(
    project: list[FindingText], claims: Sequence[Claim], records: Sequence[dict[str, Any]]
) -> None:
    chosen = [one for one in claims if one.id in {text.claim for text in project}]
    shown, problems = findings(
        project, {}, {}, {one.id: decided(one.verdict) for one in chosen},
        view.claim_rows(chosen, records), links_of(*chosen),
    )  # fmt: skip
    assert problems == []
    assert [one.anchor for one in shown] == [f"finding-{text.key}" for text in project]
    assert all(len(one.text) < 180 for one in shown)


# The filter is style alone: each of its choices needs a rule, or it would do nothing.


def test_each_choice_of_the_filter_has_its_rule(claims: Sequence[Claim]) -> None:
    style = (Path(TEMPLATES) / "report.css").read_text(encoding="utf-8")
    rules = set(re.findall(r":root:has\(#only-([\w-]+):checked\)", style))
    lessons = {f"lesson-{letter.lower()}" for letter in words.LESSONS}
    assert rules == {*words.MARKS, *EVIDENCE, *lessons}
    for name in words.MARKS:
        assert f".claim:not(.{name}, :target)" in style
    for kind in EVIDENCE:
        assert f".claim:not(.k-{kind}, :target)" in style
    assert {one.lesson for one in claims} <= set(words.LESSONS)


def test_the_filter_hides_nothing_on_paper_and_is_hidden_where_it_cannot_work() -> None:
    style = (Path(TEMPLATES) / "report.css").read_text(encoding="utf-8")
    before, _, after = style.partition("@media screen {")
    assert "#only-" not in before
    assert "#only-" in after.partition("\n}\n")[0]
    assert "#only-" not in after.partition("\n}\n")[2]
    assert re.search(r"\.filter,\n\.filtered \{\n  display: none;", before)
    assert re.search(
        r"@supports selector\(:has\(\*\)\) \{\n  \.filter \{\n    display: grid", before
    )


def answers(**values: Any) -> dict[str, Any]:
    usual = {
        "lesson": "A", "exercise": "", "question": "Q?", "part": "p", "answer": "x", "value": None,
        "claim": "a", "decides": "", "verdict": "verified",
    }  # fmt: skip
    return usual | values


def exercised(*records: Mapping[str, Any], **values: Any) -> Sequence[Any]:
    table = data(EXERCISES[1], "A01", records=list(records), **values)
    return exercises([table], links_of(claim("a", "A01"), claim("b", "A02")))


def test_exercises_have_their_parts_and_each_part_its_claims() -> None:
    shown = exercised(
        answers(),
        answers(claim="b"),
        answers(part="q", answer="y"),
        answers(lesson="B", exercise="2", question="R?"),
    )
    assert [(one.anchor, one.name, one.question) for one in shown] == [
        ("exercise-a", "Lesson A, exercise", "Q?"),
        ("exercise-b-2", "Lesson B, exercise 2", "R?"),
    ]
    found = [
        (part.part, part.text, [link.name for link in part.claims]) for part in shown[0].answers
    ]
    assert found == [("p", "x", ["a", "b"]), ("q", "y", ["a"])]


def test_without_the_table_or_its_claims_there_are_no_exercises() -> None:
    assert exercised(problem="gone") == ()
    assert exercised(answers(claim="other")) == ()
    assert exercises([data("other", "A01")], {}) == ()


# What stands for many: the first claim about a statement, and the places of code.


def test_of_the_claims_about_one_statement_the_first_stands_for_all() -> None:
    one, two, three = claim("a", "A01"), claim("b", "A01"), claim("c", "A02")
    other = claim("d", "A03", related=("a", "b", "c"))
    about = view.claims_about([one, two, three, other])
    assert about == {"A01": ["a", "b"], "A02": ["c"], "A03": ["d"]}
    assert view.condensed(other, about) == ["a", "c"]
    # The second alone was named for itself.
    assert view.condensed(claim("d", "A03", related=("b", "c")), about) == ["b", "c"]
    # Of a claim's own statement the others stand beside it.
    assert view.condensed(claim("a", "A01", related=("b", "c")), about) == ["b", "c"]
    assert [one.id for one in view.first_claims(["A01", "A02", "A09"], [one, two, three])] == [
        "a",
        "c",
    ]


def test_rows_name_the_code_that_measures_them(root: Path) -> None:
    found = view.code_places([row(suite="norms", case="lesson run"), row(suite="none", case="x")])
    [(path, line)] = [place.split(":") for place in found]
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    assert lines[int(line) - 1].startswith("def ")
    assert '"lesson run"' in lines[int(line) - 2]


def test_kinds_of_evidence_count_the_claims_that_rest_on_them() -> None:
    rows = [row(), row(evidence="proof")]
    kinds = view.evidence_kinds(rows, [([rows[0]], [rows[0]]), (rows, [])])
    assert {kind.name: kind.claims for kind in kinds if kind.claims} == {"float32": 2, "proof": 1}
