"""Claims files: what is refused, with the file and the claim named in one line."""

import copy
from pathlib import Path

import pytest
import yaml

from posinfo.claims import Selector, load_claims, load_entries
from posinfo.errors import InputError

COMMON = {"lesson": "A", "section": "s", "statement": "It is so."}
SELECTOR = {"suite": "norms", "case": "scale", "rows": 1}
COMPUTED = COMMON | {
    "id": "one",
    "covers": ["A01"],
    "kind": "computed",
    "verdict": "verified",
    "why": "Measured.",
    "supports": [SELECTOR],
    "rejects": "reflection",
}
CONDITIONAL = COMPUTED | {
    "verdict": "conditional",
    "condition": "At unit scale.",
    "differs_in": ["scale"],
    "breaks": [SELECTOR],
}
REFUTED = {key: value for key, value in COMPUTED.items() if key not in ("supports", "rejects")} | {
    "verdict": "refuted",
    "breaks": [SELECTOR],
}
DOCUMENT = {"document": "d", "revision": "r", "place": "p", "says": "s"}
SOURCE = COMMON | {
    "id": "two",
    "covers": ["A02"],
    "kind": "source",
    "verdict": "partly",
    "why": "Read.",
    "sources": [DOCUMENT],
}
JUDGEMENT = COMMON | {
    "id": "three",
    "covers": ["B01"],
    "kind": "judgement",
    "why": "Nothing decides it.",
    "weighs_for": [{"id": "one", "reason": "r"}],
    "weighs_against": [{"id": "A02", "reason": "r"}],
}
AWAITING = COMMON | {"id": "four", "covers": ["B02"], "kind": "awaiting", "awaits": "a suite"}
INCONSISTENCY = {
    "id": "five",
    "kind": "inconsistency",
    "statement": "Both are said.",
    "says": ["one"],
    "denies": ["A02", "four"],
    "why": "They differ.",
}
ALL = [COMPUTED, SOURCE, JUDGEMENT, AWAITING]


@pytest.fixture
def load(tmp_path, claims_schema):
    """Write files of claims and load them."""

    def load(*files: object):
        paths = [tmp_path / f"lesson-{number}.yaml" for number, _ in enumerate(files)]
        for path, content in zip(paths, files, strict=True):
            text = content if isinstance(content, str) else yaml.safe_dump(content)
            path.write_text(text, encoding="utf-8")
        return load_claims(paths, claims_schema)

    return load


@pytest.fixture
def refusal(load, tmp_path):
    """The line with which files are refused, without the folder's name."""

    def refusal(*files: object) -> str:
        with pytest.raises(InputError) as refused:
            load(*files)
        assert "\n" not in str(refused.value)
        return str(refused.value).replace(f"{tmp_path}/", "")

    return refusal


def test_every_kind_is_loaded_in_the_order_of_the_files(load):
    claims = load(ALL[:2], ALL[2:])
    assert [claim.id for claim in claims] == ["one", "two", "three", "four"]
    assert [claim.kind for claim in claims] == ["computed", "source", "judgement", "awaiting"]
    files = [Path(claim.file).name for claim in claims]
    assert files == ["lesson-0.yaml"] * 2 + ["lesson-1.yaml"] * 2
    assert claims[0].supports == (Selector("norms", {"case": ("scale",)}, 1),)
    assert claims[0].suites == ["norms"]
    assert claims[1].sources[0].says == "s"


@pytest.mark.parametrize("entry", [COMPUTED, CONDITIONAL, REFUTED])
def test_any_verdict_can_be_recorded_for_the_gate_to_judge(load, entry):
    for verdict in ("verified", "conditional", "refuted"):
        assert load([entry | {"verdict": verdict}])[0].verdict == verdict


@pytest.mark.parametrize("entry", [COMPUTED, CONDITIONAL, REFUTED])
def test_any_computed_claim_may_name_a_fault(load, entry):
    assert load([entry | {"rejects": "reflection"}])[0].rejects == "reflection"


def test_a_claim_may_say_why_there_is_no_fault(load):
    (claim,) = load([without(COMPUTED, "rejects") | {"no_fault": "A\n count."}])
    assert (claim.rejects, claim.no_fault) == ("", "A count.")


def without(entry: dict, key: str) -> dict:
    return {name: value for name, value in entry.items() if name != key}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (without(COMPUTED, "supports"), "rests on no row: give supports or breaks"),
        (COMPUTED | {"supports": []}, "rests on no row: give supports or breaks"),
        (without(CONDITIONAL, "condition"), "condition: a claim with supports and breaks needs it"),
        (
            without(CONDITIONAL, "differs_in"),
            "differs_in: a claim with supports and breaks needs it",
        ),
        (COMPUTED | {"condition": "c"}, "condition: only a claim with supports and breaks has it"),
        (
            REFUTED | {"differs_in": ["scale"]},
            "differs_in: only a claim with supports and breaks has it",
        ),
        (without(COMPUTED, "rejects"), "the key 'rejects' is missing: name a fault"),
        (COMPUTED | {"no_fault": "A count."}, "no_fault: a claim that rejects a fault has none"),
        (REFUTED | {"no_fault": "A count."}, "no_fault: only a claim with supports alone has it"),
        (COMPUTED | {"rejects": ""}, "rejects: "),
        (COMPUTED | {"rejects": ["reflection"]}, "rejects: "),
        (SOURCE | {"rejects": "reflection"}, "unknown key 'rejects'"),
        (COMPUTED | {"verdict": "true"}, "verdict: 'true' is unknown"),
        (COMPUTED | {"verdict": "confirmed"}, "verdict: 'confirmed' is unknown"),
        (SOURCE | {"verdict": "verified"}, "verdict: 'verified' is unknown"),
        (COMPUTED | {"kind": "computd"}, "kind: 'computd' is unknown, allowed: computed, source"),
        (without(COMPUTED, "kind"), "kind: None is unknown, allowed: computed, source"),
        (COMPUTED | {"kind": ["computed"]}, "kind: ['computed'] is unknown"),
        (without(COMPUTED, "why"), "the key 'why' is missing"),
        (without(SOURCE, "sources"), "the key 'sources' is missing"),
        (COMPUTED | {"suports": []}, "unknown key 'suports': did you mean 'supports'?"),
        (JUDGEMENT | {"verdict": "verified"}, "unknown key 'verdict'"),
        (AWAITING | {"verdict": "verified"}, "unknown key 'verdict'"),
        (AWAITING | {"supports": [SELECTOR]}, "unknown key 'supports'"),
        (COMPUTED | {"covers": []}, "covers: "),
        (COMPUTED | {"covers": ["A1"]}, "covers[0]: 'A1' does not match"),
        (COMPUTED | {"covers": ["A01", "A01"]}, "covers: "),
        (COMPUTED | {"lesson": "C"}, "lesson: 'C' is unknown"),
        (COMPUTED | {"supports": [without(SELECTOR, "rows")]}, "supports[0]: the key 'rows'"),
        (COMPUTED | {"supports": [without(SELECTOR, "suite")]}, "supports[0]: the key 'suite'"),
        (COMPUTED | {"supports": [SELECTOR | {"rows": 0}]}, "supports[0].rows: 0 must be"),
        (COMPUTED | {"supports": [SELECTOR | {"rows": "1"}]}, "supports[0].rows: '1' is not of"),
        (COMPUTED | {"supports": [SELECTOR | {"scale": []}]}, "supports[0].scale: "),
    ],
)
def test_a_claim_that_cannot_be_right_is_refused(refusal, entry, problem):
    line = refusal([entry])
    assert line.startswith(f"lesson-0.yaml claim {entry['id']}: {problem}")


@pytest.mark.parametrize("name", ["One", "one claim", "one_claim", "-one", ""])
def test_an_id_that_cannot_be_cited_is_refused(refusal, name):
    assert "id: " in refusal([COMPUTED | {"id": name}])


@pytest.mark.parametrize("content", ["", "a: 1\n", "text\n", "5\n"])
def test_a_file_that_is_no_list_is_refused(refusal, content):
    assert refusal(content) == (
        "lesson-0.yaml: must hold a list of claims, each beginning with '- id:'"
    )


def test_an_entry_without_a_name_is_found_by_its_number(refusal):
    assert refusal([COMPUTED, "text"]).startswith("lesson-0.yaml claim number 2: ")
    assert refusal([COMPUTED, without(SOURCE, "id")]).startswith("lesson-0.yaml claim number 2: ")


def test_no_claims_at_all_are_refused(refusal):
    """A ledger without claims would be green."""
    assert refusal([])


def test_two_claims_of_one_id_are_refused(refusal):
    again = SOURCE | {"id": "one"}
    for files in ([[COMPUTED, again]], [[COMPUTED], [again]]):
        line = refusal(*files)
        assert f"lesson-{len(files) - 1}.yaml claim one: the id 'one' is taken already" in line
        assert line.endswith("in lesson-0.yaml")


def test_a_key_given_twice_is_refused(refusal):
    text = yaml.safe_dump([COMPUTED]) + "  verdict: refuted\n"
    assert "the key 'verdict' stands twice" in refusal(text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("related", ["nine"]),
        ("related", ["B78"]),
        ("related", ["three"]),
        ("weighs_for", [{"id": "nine", "reason": "r"}]),
        ("weighs_against", [{"id": "B78", "reason": "r"}]),
    ],
)
def test_a_link_to_nothing_or_to_itself_is_refused(refusal, key, value):
    name = value[0] if isinstance(value[0], str) else value[0]["id"]
    line = refusal([COMPUTED, SOURCE, JUDGEMENT | {key: value}])
    assert line == f"lesson-0.yaml claim three: {key}: no other claim is or covers {name!r}"


def test_a_link_to_a_statement_is_one_to_all_other_claims_that_cover_it(load):
    another = COMPUTED | {"id": "five", "covers": ["A01", "A02"], "related": ["A01", "A02", "two"]}
    claims = {claim.id: claim for claim in load([COMPUTED, SOURCE], [another])}
    assert claims["five"].related == ("one", "two")


def test_a_weight_is_one_claim_named_by_itself_or_as_the_only_one_that_covers_a_statement(load):
    claims = {claim.id: claim for claim in load([COMPUTED, SOURCE, JUDGEMENT])}
    assert claims["three"].weighs_for[0].claim == "one"
    assert claims["three"].weighs_against[0].claim == "two"


@pytest.mark.parametrize("key", ["weighs_for", "weighs_against"])
def test_a_weight_that_could_mean_several_claims_is_refused(refusal, key):
    another = COMPUTED | {"id": "five", "covers": ["A02"]}
    judged = JUDGEMENT | {"weighs_against": JUDGEMENT["weighs_for"]}
    judged |= {key: [{"id": "A02", "reason": "r"}]}
    assert refusal([COMPUTED, SOURCE, judged], [another]) == (
        f"lesson-0.yaml claim three: {key}: several claims cover 'A02', name the one that is "
        "meant: two, five"
    )


def test_the_projects_weights_name_claims_and_no_statements(root, config):
    entries = [entry for path in config["claims"] for entry in yaml.safe_load((root / path).open())]
    ids = {entry["id"] for entry in entries}
    named = [
        weight["id"]
        for entry in entries
        for key in ("weighs_for", "weighs_against")
        for weight in entry.get(key, ())
    ]
    assert named
    assert set(named) <= ids


def test_an_inconsistency_is_no_claim_and_links_both_sides(tmp_path, claims_schema):
    path = tmp_path / "lesson.yaml"
    path.write_text(yaml.safe_dump([INCONSISTENCY, *ALL]), encoding="utf-8")
    claims, [one] = load_entries([path], claims_schema)
    assert [claim.id for claim in claims] == ["one", "two", "three", "four"]
    assert (one.says, one.denies, one.bears_on) == (("one",), ("two", "four"), ())


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"says": ["nine"]}, "says: no other claim is or covers 'nine'"),
        ({"denies": ["A01"]}, "denies: 'one' is on both sides"),
        ({"denies": []}, "denies: "),
        ({"covers": ["A01"]}, "unknown key 'covers'"),
    ],
)
def test_an_inconsistency_that_cannot_be_one_is_refused(refusal, change, problem):
    line = refusal([*ALL, INCONSISTENCY | change])
    assert line.startswith(f"lesson-0.yaml claim five: {problem}")


def test_texts_are_put_on_one_line(load):
    (claim,) = load([COMPUTED | {"why": "Two\n  lines.\n", "statement": "It\nis."}])
    assert (claim.why, claim.statement) == ("Two lines.", "It is.")


def test_hostile_text_is_kept_as_text(load):
    text = "<script>alert(1)</script> & \"quotes\" 'single' \\ 100 %"
    (claim,) = load([COMPUTED | {"statement": text, "why": text}])
    assert claim.statement == text
    assert claim.why == text


def test_loading_changes_nothing_that_it_was_given(load, claims_schema):
    before = copy.deepcopy(claims_schema)
    load(ALL)
    assert claims_schema == before


ROW = {"suite": "norms", "case": "scale", "scale": 100.0, "dtype": "float32", "pair": None}


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, True),
        ({"case": ("scale",)}, True),
        ({"case": ("dtype", "scale")}, True),
        ({"scale": (100,)}, True),
        ({"case": ("scale",), "dtype": ("float32",)}, True),
        ({"case": ("scale",), "dtype": ("float16",)}, False),
        ({"case": ("Scale",)}, False),
        ({"scale": ("100",)}, False),
        ({"pair": (0,)}, False),
        ({"no such column": ("x",)}, False),
    ],
)
def test_a_selector_finds_rows_by_every_named_column(where, found):
    assert Selector("norms", where, 1).matches(ROW) is found
    assert Selector("angles", where, 1).matches(ROW) is False


def test_a_selector_says_what_it_looks_for():
    selector = Selector("norms", {"case": ("scale",), "scale": (1, 100)}, 2)
    assert selector.text() == "norms: case = scale, scale = 1 or 100"
    assert Selector("norms", {}, 2).text() == "norms: all rows"
