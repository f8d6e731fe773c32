"""Captions: every table and figure has one, its numbers come from its rows, and it says enough."""

import re
from pathlib import Path

import pytest
import yaml

from posinfo.captions import TEMPLATES, Caption, load
from posinfo.errors import InputError
from posinfo.ledger import decide_claims
from posinfo.report.view import margins
from posinfo.report.words import MODELS_CHAPTER
from posinfo.schemas import load_yaml, table_fields
from posinfo.tables import FIGURES, TABLES, Data
from posinfo.tidy import read, write

#: Digits that are names and not measurements.
NAMES = ("pair 0", "2π", "GPT-2", "float32", "bfloat16")


@pytest.fixture(scope="module")
def schema(root):
    return load_yaml(root / "workflow" / "schemas" / "captions.schema.yaml")


@pytest.fixture(scope="module")
def captions(root, schema) -> dict[str, Caption]:
    path = root / "workflow" / "report" / "captions.yaml"
    return load(path, schema, tables=TABLES, figures=FIGURES)


@pytest.fixture(scope="module")
def filled(captions, claims, records, config, root, tmp_path_factory) -> dict[str, Caption]:
    """Every caption over the records of its CSV, as the page fills it."""
    folder = tmp_path_factory.mktemp("filled")
    ledger = [entry.record() for entry in decide_claims(claims, records)]
    data = Data(records, ledger, config, claims)
    found = {}
    for key, each in captions.items():
        fields = table_fields(root / "workflow" / "schemas" / f"{each.kind}s" / f"{key}.yaml")
        write(folder / f"{key}.csv", {**TABLES, **FIGURES}[key](data), fields)
        found[key] = each.filled(read(folder / f"{key}.csv", fields))
    return found


def entry(**changed) -> dict:
    return {
        "key": "angles", "kind": "figure", "lesson": "A", "section": "Exercise", "title": "Angles",
        "caption": "Up to {{ largest(rows, 'angle') | sig }} rad.", "alt": "A line.",
        "text": "All of it.", "covers": ["A24"],
    } | changed  # fmt: skip


def written(folder: Path, *entries: dict) -> Path:
    path = folder / "captions.yaml"
    path.write_text(yaml.safe_dump(list(entries)), encoding="utf-8")
    return path


def caption(tmp_path, schema, **changed) -> Caption:
    return load(written(tmp_path, entry(**changed)), schema)["angles"]


@pytest.mark.parametrize("key", [*TABLES, *FIGURES])
def test_a_filled_caption_is_whole_sentences_without_leftovers(key, filled):
    for part in TEMPLATES:
        # One fault is that None is returned.
        text = getattr(filled[key], part).replace("returns None", "")
        assert not re.search(r"[{}]|  |None|nan|Undefined", text), text
        assert text == "" or re.fullmatch(r"[A-Z0-9].*\.", text.strip(), re.DOTALL), text


@pytest.mark.parametrize("key", [*TABLES, *FIGURES])
@pytest.mark.parametrize("part", TEMPLATES)
def test_no_measured_number_is_typed(key, part, captions):
    typed = re.sub(r"{%.*?%}|{{.*?}}", "", getattr(captions[key], part))
    for name in NAMES:
        typed = typed.replace(name, "")
    assert not re.search(r"\d", typed), typed


@pytest.mark.parametrize("key", FIGURES)
def test_an_alternative_text_carries_a_fact_that_the_caption_does_not_repeat(key, captions, filled):
    assert "{{" in captions[key].alt
    assert re.search(r"\d", filled[key].alt)
    assert filled[key].alt != filled[key].caption
    assert len(filled[key].text) > len(filled[key].alt)


def test_every_statement_that_a_caption_covers_has_a_claim(captions, claims):
    known = {statement for claim in claims for statement in claim.covers}
    for each in captions.values():
        assert set(each.covers) <= known, each.key


def test_every_section_is_one_of_the_claims(captions, claims):
    """So that the page can put a table where the lesson has it."""
    for each in captions.values():
        # About the run, or in the chapter on models: not about a part of a lesson.
        if not each.covers or each.section == MODELS_CHAPTER:
            continue
        lessons = "AB" if each.lesson == "both" else each.lesson
        sections = [claim.section for claim in claims if claim.lesson in lessons]
        assert any(each.section in section for section in sections), each.key


def test_the_numbers_of_a_caption_follow_its_rows(tmp_path, schema):
    found = caption(tmp_path, schema)
    assert found.filled([{"angle": 3.0}, {"angle": 0.5}]).caption == "Up to 3 rad."
    assert found.filled([{"angle": 50.0}]).caption == "Up to 50 rad."


def test_a_total_counts_equal_numbers_too(tmp_path, schema):
    found = caption(tmp_path, schema, caption="{{ total(rows, 'angle') | sig }} rad.")
    assert found.filled([{"angle": 3.0}, {"angle": 3.0}, {"angle": 1.0}]).caption == "7 rad."


def test_a_bound_in_a_caption_rounds_to_the_side_on_which_it_is_true(tmp_path, schema):
    found = caption(
        tmp_path, schema, caption="{{ rows[0].angle | up(2) }}, {{ rows[0].angle | down(2) }}"
    )
    assert found.filled([{"angle": 1.742}]).caption == "1.8, 1.7"


def test_no_caption_calls_a_number_rounded_either_way_a_bound(captions):
    """``sig`` may round 1.431 to 1.4, which it then is "no more than"."""
    limits = r"(?:at most|at least|more than|further than)\s*\(?{{[^}]*\| sig(?!\(3)[^}]*}}"
    after = r"\| sig\(2\)\s*}}\s*(?:at most|at least|(?:rad )?(?:or|and) more)"
    for key, each in captions.items():
        assert not re.search(f"{limits}|{after}", each.caption), key


def test_the_caption_on_evidence_says_what_the_lists_of_margins_say(filled, records):
    found = margins(records)
    said = re.findall(r"\b\d[\d,]*\b", filled["evidence"].caption)[-3:]
    assert [int(number.replace(",", "")) for number in said] == [
        found.tight.count, found.wide.count, found.exact_count,
    ]  # fmt: skip


def test_without_rows_a_caption_gives_the_reason(tmp_path, schema):
    empty = caption(tmp_path, schema).filled([], "the suite is empty")
    assert empty.caption == "Not made in this run: the suite is empty."
    assert "Angles" in empty.alt


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ largest(rows, 'angel') }}", "no column 'angel'"),
        ("{{ where(rows, pair=7)[0].angle }}", "no row has pair = 7"),
        ("{{ largest(rows, 'empty') }}", "the column 'empty' is empty"),
        ("{{ rows[0].angel }}", "angel"),
        ("{{ angle }}", "'angle' is undefined"),
        ("{{ rows[9].angle }}", "has no element 9"),
        ("{% if %}", "Expected an expression"),
    ],
)
def test_a_template_that_asks_for_what_is_not_there_is_named(tmp_path, schema, template, problem):
    broken = caption(tmp_path, schema, caption=template)
    with pytest.raises(InputError, match=r"captions\.yaml angles: caption: ") as caught:
        broken.filled([{"angle": 3.0, "pair": 0, "empty": None}])
    assert problem in str(caught.value)


def test_hostile_text_stays_text(tmp_path, schema):
    found = caption(tmp_path, schema, caption="{{ rows[0].name }}")
    assert found.filled([{"name": "<script>{{ 7 * 7 }}"}]).caption == "<script>{{ 7 * 7 }}"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ values(rows, 'at') | listed }}", "3, 5 and 50"),
        ("{{ values(rows[:1], 'at') | listed }}", "3"),
        ("{{ count(rows, pair=9) }}", "0"),
        ("{{ count(rows, pair=0) }}", "2"),
        ("{{ row_of_largest(rows, 'at').pair }}", "1"),
        ("{{ row_of_smallest(rows, 'at').pair }}", "0"),
        ("{{ smallest(rows, 'at') }}", "3"),
        ("{{ 0.009999999776 | plain }} {{ 100.0 | plain }}", "0.01 100"),
    ],
)
def test_what_templates_can_ask(tmp_path, schema, template, text):
    rows = [{"pair": 0, "at": 3}, {"pair": 0, "at": 5}, {"pair": 1, "at": 50}]
    assert caption(tmp_path, schema, caption=template).filled(rows).caption == text


@pytest.mark.parametrize(
    ("entries", "tables", "figures", "problem"),
    [
        ([entry()], [], ["angles", "norms"], "the figure norms has no caption"),
        ([entry()], [], [], "angles: there is no such figure"),
        ([entry()], ["angles"], ["angles"], "the table angles has no caption"),
        ([entry(), entry()], [], ["angles"], "angles: the key stands twice"),
        ([entry(kind="picture")], [], [], "'picture' is unknown"),
        ([entry(covers=["B1"])], [], [], "'B1' does not match"),
        ([entry(colour="red")], [], [], "unknown key 'colour'"),
        ([{k: v for k, v in entry().items() if k != "alt"}], [], [], "the key 'alt' is missing"),
    ],
)
def test_captions_that_do_not_fit_are_refused(tmp_path, schema, entries, tables, figures, problem):
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, *entries), schema, tables=tables, figures=figures)
    assert problem in str(caught.value)
