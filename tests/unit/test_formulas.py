"""Formulas of the page: set as MathML where the texts have them, and plain text everywhere else."""

import html
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from posinfo.captions import load as load_captions
from posinfo.claims import load_claims
from posinfo.errors import InputError
from posinfo.report import formulas
from posinfo.report.page import prose
from posinfo.report.words import LESSONS
from posinfo.schemas import load_yaml


@pytest.fixture(scope="module")
def schema(root):
    return load_yaml(root / "workflow/schemas/formulas.schema.yaml")


@pytest.fixture(scope="module")
def known(root, schema):
    Draft202012Validator.check_schema(schema)
    return formulas.load(root / "workflow/report/formulas.yaml", schema)


@pytest.fixture(scope="module")
def given_file(root):
    return load_yaml(root / "workflow/report/formulas.yaml")


def every_math(known):
    return [
        *known.inline.values(),
        *(head.math for heads in known.heads.values() for head in heads),
    ]


def test_each_is_well_formed_and_has_its_plain_text(known, given_file):
    plain = [entry["plain"] for entry in (*given_file["inline"], *given_file["heads"])]
    for math, text in zip(every_math(known), plain, strict=True):
        root = ElementTree.fromstring(str(math))  # noqa: S314  (made here)
        assert root.tag == "math"
        assert root.get("alttext") == text
        tags = {element.tag for element in root.iter()}
        # No command of TeX was left as text, and nothing that is not mathematics came in.
        assert tags <= {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msub", "msup",
                        "msubsup", "mfrac", "mtable", "mtr", "mtd", "mstyle"}, tags  # fmt: skip
        assert "\\" not in "".join(root.itertext())


def test_each_formula_of_a_text_stands_in_some_text(known, root, config):
    """One that no text has would never be seen."""
    schema = load_yaml(root / "workflow/schemas/claims.schema.yaml")
    claims = load_claims([root / path for path in config["claims"]], schema)
    texts = [
        text
        for claim in claims
        for text in (claim.statement, claim.why, claim.condition, claim.no_fault,
                     *(source.says for source in claim.sources))
        if text
    ]  # fmt: skip
    captions = load_captions(
        root / "workflow/report/captions.yaml",
        load_yaml(root / "workflow/schemas/captions.schema.yaml"),
    )
    texts += [text for one in captions.values() for text in (one.caption, one.text)]
    texts += [head.says for heads in known.heads.values() for head in heads]
    for plain, math in known.inline.items():
        assert any(str(math) in str(known.set_in(text)) for text in texts), plain


def test_heads_stand_under_headings_that_there_are(known):
    for lesson, heading in known.heads:
        assert heading in LESSONS[lesson].headings or any(
            heading.startswith(one) for one in LESSONS[lesson].headings
        ), heading


def test_heads_are_found_by_the_heading(known):
    placed = [
        head
        for letter, lesson in LESSONS.items()
        for heading in lesson.headings
        for head in known.at(letter, heading)
    ]
    assert len(placed) == sum(len(heads) for heads in known.heads.values())


@given(st.text())
def test_hostile_text_stays_text(text):
    known = formulas.Formulas({"2^24": formulas.mathml("2^{24}", "2^24")})
    shown = str(prose(text, known))
    assert set(re.findall(r"<[^>]*>", shown)) <= {"<code>", "</code>"}
    assert html.unescape(re.sub(r"</?code>", "", shown)).replace("\N{NO-BREAK SPACE}", " ") == (
        re.sub(r"`([^`]+)`", r"\1", text).replace("\N{NO-BREAK SPACE}", " ")
    )


def test_a_formula_is_set_only_where_it_stands_alone_and_not_in_code():
    known = formulas.Formulas({"2^8": formulas.mathml("2^{8}", "2^8"),
                               "x": formulas.mathml("<script>", "<b>&")})  # fmt: skip
    shown = str(prose("2^8, 12^8, 2^80 and `2^8` <b>2^8</b>", known))
    assert shown.count("<math") == 2
    assert "12^8, 2^80 and <code>2^8</code> &lt;b&gt;<math" in shown
    # What TeX and plain text say is escaped, too.
    assert "<script" not in str(known.inline["x"])
    assert 'alttext="&lt;b&gt;&amp;"' in str(known.inline["x"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("inline: [{plain: a}]\nheads: []\n", "inline"),
        ("inline: []\n", "heads"),
        ("inline: [{plain: a, tex: a_b_c}]\nheads: []\n", "tex"),
        ("inline: []\nheads: [{lesson: C, section: x, says: x, plain: x, tex: x}]\n", "lesson"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(content, said, schema, tmp_path):
    path = tmp_path / "formulas.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        formulas.load(path, schema)
    assert said in str(refused.value)
    assert "formulas.yaml" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_a_file_there_are_none(tmp_path):
    assert formulas.load(tmp_path / "formulas.yaml") == formulas.Formulas()
