"""``posinfo cite``: markers, what they enclose, what is written, and that nothing else is."""

import dataclasses
import hashlib
import html
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from posinfo.cite import document, numbers
from posinfo.cite.document import BOUND, GIVEN, UNBOUND, read
from posinfo.cite.markers import KINDS, OPTIONS, Ending, Marker, MarkerError, parse
from posinfo.cite.names import nearest
from posinfo.cite.plan import CURRENT, DRIFTED, EDITED, NEW, Plan, normal, plan
from posinfo.cite.results import (
    Column,
    Dataset,
    Exhibit,
    FolderResults,
    NotFound,
    PageResults,
    open_results,
)
from posinfo.cite.suggest import suggestions, telling
from posinfo.cite.wording import Unfit, cite, escaped, number
from posinfo.cli.citing import _suggest
from posinfo.digests import sha256
from posinfo.errors import InputError
from posinfo.schemas import table_fields
from posinfo.tidy import write

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "workflow" / "schemas"
TEXTS = ROOT / "workflow" / "report"
AWKWARD = sorted((ROOT / "tests" / "cite").glob("*.md"))

ROWS = {
    "suites/norms": [
        {"suite": "norms", "case": "run", "quantity": "difference, Q", "subject": "adjacent",
         "relation": "within", "measured": "4.76837158203125e-07", "outcome": "holds",
         "measured_text": "[1, 10, 128]", "head_dim": "128"},
        {"suite": "norms", "case": "run", "quantity": "difference, Q", "subject": "complex",
         "relation": "within", "measured": "2.384185791015625e-07", "outcome": "holds",
         "measured_text": "a|b `c`", "head_dim": "64"},
        {"suite": "norms", "case": "far", "quantity": "difference, K", "subject": "adjacent",
         "relation": "within", "measured": "nan", "outcome": "error", "measured_text": "",
         "head_dim": ""},
    ],
    "tables/angles": [
        {"pair": "0", "angle": "3", "share": "0.28125", "word": "a|b"},
        {"pair": "1", "angle": "-0.0316227766", "share": "0.5", "word": "<b>"},
        {"pair": "2", "angle": "1e-05", "share": "", "word": ""},
    ],
    "figures/curve": [{"x": "1", "y": "2"}],
    "ledger": [
        {"id": "kept", "covers": "A01 B02", "kind": "computed", "recorded": "verified",
         "reproduced": "verified"},
        {"id": "read-it", "covers": "A03", "kind": "source", "recorded": "contradicted",
         "reproduced": "read"},
    ],
}  # fmt: skip
NUMERIC = {"pair", "angle", "share", "x", "y"}
UNITS = {"angle": "rad"}


class Known:
    """Results that a test holds in its hand; ``changed`` replaces cells of a file."""

    source = "known"

    def __init__(self, changed: Mapping[tuple[str, int, str], str] | None = None) -> None:
        self.changed = changed or {}

    def dataset(self, name: str) -> Dataset:
        if name not in ROWS:
            raise NotFound(f"known has no {name!r}")
        records = [dict(record) for record in ROWS[name]]
        for (file, row, column), cell in self.changed.items():
            if file == name:
                records[row][column] = cell
        columns = [
            Column(key, key.title(), UNITS.get(key, ""), key in NUMERIC) for key in records[0]
        ]
        digest = f"{len(self.changed)}{name.encode().hex()}".ljust(64, "0")
        return Dataset(name, digest, columns, records)

    def exhibit(self, kind: str, key: str) -> Exhibit:
        data = self.dataset(f"{kind}s/{key}")
        return Exhibit(kind, key, f"The {key}", "Drawn: 2 curves." * (kind == "figure"), data,
                       b"<svg/>" * (kind == "figure"))  # fmt: skip


VALUE = "value suites/norms measured digits=2 where subject=adjacent case=run"


def block(marker: str, text: str = "", ending: str = "/posinfo") -> str:
    return f"<!-- posinfo: {marker} -->{text}<!-- {ending} -->"


def made(text: str, results: Known | None = None, **more: Any) -> Plan:
    return plan("lesson.md", text, results or Known(), "report/index.html", **more)


def cited(marker: str, results: Known | None = None) -> str:
    return cite(parse(f"posinfo: {marker}"), results or Known(), "report/index.html").text


def inside(text: str) -> str:
    """What stands in the one block of a text."""
    (found,) = re.findall(r"<!-- posinfo:.*?-->(.*?)<!-- /posinfo[^>]*-->", text, re.DOTALL)
    return found


# The grammar.


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("value suites/norms measured", Marker("value", "suites/norms", "measured")),
        (
            "value suites/norms max error as=e\n  where case='lesson run' \"any order\"=\"yes\"",
            Marker("value", "suites/norms", "error", "max", {"as": "e"},
                   {"case": "lesson run", "any order": "yes"}),
        ),
        ("value ledger count where reproduced=verified",
         Marker("value", "ledger", "", "count", {}, {"reproduced": "verified"})),
        ('value tables/a "count"', Marker("value", "tables/a", "count")),
        ("claim kept link=no", Marker("claim", "kept", options={"link": "no"})),
        ("table angles columns=pair,angle format=csv where pair=1",
         Marker("table", "angles", options={"columns": "pair,angle", "format": "csv"},
                where={"pair": "1"})),
        ("figure curve", Marker("figure", "curve")),
        ("given 10,000 2017", Marker("given", numbers=("10,000", "2017"))),
        ("given", Marker("given")),
        ("report https://a.example/report.html", Marker("report", "https://a.example/report.html")),
    ],
)  # fmt: skip
def test_a_marker_says_what_is_cited(text, marker):
    assert parse(f" posinfo: {text} ") == marker
    assert parse(f"posinfo:{text}") == marker


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("posinfo value a b", "a marker begins with 'posinfo:'"),
        ("posinfo:", f"names nothing; allowed: {', '.join(sorted(KINDS))}"),
        ("posinfo: vlaue a b", "'vlaue' is no kind of marker; did you mean 'value'?"),
        ("posinfo: value suites/norms", "a value is named by a source and a column"),
        ("posinfo: value a b c", "a value is named by a source and a column"),
        ("posinfo: value a max", "a value is named by a source and a column"),
        ("posinfo: value a b digit=2", "no option 'digit'; did you mean 'digits'?"),
        ("posinfo: value a b digits=0", "digits: '0' is not an integer from 1 to 17"),
        ("posinfo: value a b digits=²", "digits: '²' is not an integer from 1 to 17"),
        ("posinfo: value a b as=f", "as: 'f' is unknown; allowed: code, e, percent, raw"),
        ("posinfo: value a b digits=2 decimals=2", "give digits or decimals, not both"),
        ("posinfo: value a b as=raw digits=2", "as=raw shows the cell as it is"),
        ("posinfo: value a b digits=2 digits=3", "'digits' is given twice"),
        ("posinfo: value a b where", "'where' is followed by nothing"),
        ("posinfo: value a b where c", "columns with values, not by 'c'"),
        ("posinfo: value a b where c=1 c=2", "'c' is given twice"),
        ("posinfo: value a b where c=lesson run", "columns with values, not by 'run'"),
        ("posinfo: value a b where c=", "'c=' has no value"),
        ("posinfo: value a b where c='x", "cannot be read from"),
        ("posinfo: value a b where c=“x y”", "straight"),
        ("posinfo: claim a b", "a claim is named by its id, one word: found 2"),
        ("posinfo: claim a where b=c", "a claim has no 'where'"),
        ("posinfo: table", "a table is named by its key, one word: found 0"),
        ("posinfo: figure a format=csv", "a figure has no option 'format'"),
        ("posinfo: claim a--b", "holds '--'"),
        ("/posinfo data=1", "the end of a block is '/posinfo'"),
        ("/posinfo data=1 text=2 at=3 more=4", "the end of a block is '/posinfo'"),
    ],
)
def test_a_wrong_marker_is_one_clear_line(text, problem):
    with pytest.raises(MarkerError) as caught:
        parse(text)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_end_reads_back_what_it_records():
    ending = Ending("0123456789ab", "01234567", "https://a.example/r.html#table-a")
    assert parse(str(ending)[4:-3]) == ending
    linked = dataclasses.replace(ending, at="")
    assert parse(str(linked)[4:-3]) == linked
    assert parse(" /posinfo ") == Ending()
    assert "--" not in str(dataclasses.replace(ending, at="https://xn--a.example/"))[4:-3]


# What is cited.


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("", "4.77 × 10⁻⁷"),
        ("digits=2", "4.8 × 10⁻⁷"),
        ("digits=2 round=down", "4.7 × 10⁻⁷"),
        ("digits=3 round=up", "4.77 × 10⁻⁷"),
        ("as=e", "4.77e-7"),
        ("as=e digits=1", "5e-7"),
        ("as=raw", "4.76837158203125e-07"),
        ("as=code", "`4.76837158203125e-07`"),
        ("decimals=8", "0.00000048"),
        ("as=percent digits=2", "4.8 × 10⁻⁵ %"),
        ("digits=2 link=yes", "[4.8 × 10⁻⁷](report/index.html#suite-norms)"),
    ],
)
def test_a_value_in_every_form(options, text):
    assert cited(f"value suites/norms measured {options} where subject=adjacent case=run") == text


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (0.28125, {"as": "percent"}, "28.1 %"),
        (0.999, {"as": "e", "digits": "2"}, "1.0e0"),
        (0, {"as": "e"}, "0e0"),
        (-0.0316, {"decimals": "2"}, "−0.03"),
        (12345.678, {"decimals": "1"}, "12,345.7"),
        (9.99, {"digits": "2", "round": "up"}, "10"),
        (1e20, {"decimals": "17"}, "100,000,000,000,000,000,000.00000000000000000"),
    ],
)
def test_a_number_is_rounded_once_and_to_its_side(value, options, text):
    assert number(value, options) == text


def test_rows_are_found_by_number_as_well_as_by_text():
    assert cited("value suites/norms measured where head_dim=128.0") == "4.77 × 10⁻⁷"
    assert cited("value tables/angles angle decimals=1 where pair=1.0") == "−0.0"
    with pytest.raises(NotFound, match="no row with subject=adjacen"):
        cited("value suites/norms measured where subject=adjacen")


def test_extremes_and_counts():
    assert cited("value suites/norms max measured digits=2 where case=run") == "4.8 × 10⁻⁷"
    assert cited("value suites/norms min measured digits=2 where case=run") == "2.4 × 10⁻⁷"
    assert cited("value tables/angles count") == "3"
    # Compared as numbers: as text 3 is not above 1e-05.
    assert cited("value tables/angles max angle") == "3"
    assert cited("value tables/angles max share") == "0.500"  # an empty cell counts for nothing


def test_a_text_is_shown_as_it_is_and_means_nothing_to_markdown():
    assert cited("value suites/norms measured_text where head_dim=128") == r"\[1, 10, 128\]"
    assert cited("value suites/norms measured_text where head_dim=64") == r"a\|b \`c\`"
    assert cited("value suites/norms measured_text as=code where head_dim=64") == "`` a|b `c` ``"
    assert escaped("_a_ rotate_adjacent &lt; R&D") == r"\_a\_ rotate_adjacent \&lt; R&D"


@pytest.mark.parametrize(
    ("marker", "problem"),
    [
        ("value suites/norms measured", "does not hold: far / difference, K / adjacent: error"),
        ("value suites/norms measured where case=run",
         "2 rows of suites/norms fit where one is asked for; say after 'where' which one: "
         "subject is adjacent, complex"),
        ("value tables/angles share where pair=2", "share of tables/angles is empty"),
        ("value tables/angles word digits=2 where pair=1", "which is no number: take away digits"),
        ("value tables/angles max word", "holds 'a|b', which is no number"),
    ],
)  # fmt: skip
def test_what_cannot_be_cited_says_why(marker, problem):
    with pytest.raises(Unfit) as caught:
        cited(marker)
    assert problem in str(caught.value)


@pytest.mark.parametrize("cell", ["nan", "NaN", "inf", "-inf", "Infinity", "1e400", "-1e999"])
def test_no_number_is_made_of_what_is_none(cell):
    changed = Known({("suites/norms", 0, "measured"): cell})
    with pytest.raises(Unfit):
        cited("value suites/norms measured where head_dim=128", changed)


def test_a_decimal_comma_stays_what_it_is():
    changed = Known({("suites/norms", 0, "measured"): "0,48"})
    assert cited("value suites/norms measured where head_dim=128", changed) == "0,48"
    with pytest.raises(Unfit):
        cited("value suites/norms measured digits=2 where head_dim=128", changed)


@pytest.mark.parametrize(
    ("marker", "problem"),
    [
        ("value suites/nroms measured", "has no 'suites/nroms'"),
        ("value suites/norms mesured", "no column 'mesured': did you mean 'measured'?"),
        ("claim kpet", "no row with id=kpet: did you mean 'kept'?"),
        ("table angels", "has no 'tables/angels'"),
        ("table angles columns=pair,angel", "no column 'angel': did you mean 'angle'?"),
    ],
)
def test_a_name_that_is_not_there_names_the_nearest(marker, problem):
    with pytest.raises(NotFound) as caught:
        cited(marker)
    assert problem in str(caught.value)


def test_a_part_of_a_name_is_enough_and_no_long_list_is_printed():
    many = [f"norms-kept-{n}" for n in range(9)] + [f"claim-{n}" for n in range(60)]
    assert nearest("tables/norm", ["tables/norm-preservation", *many]) == (
        "did you mean 'tables/norm-preservation'?"
    )
    said = nearest("norms-kept", many)
    assert said.count("norms-kept-") == 5
    assert "claim" not in said
    assert nearest("kept-3", many) == "did you mean 'norms-kept-3'?"
    assert nearest("norsm-kept-3", many) == "did you mean 'norms-kept-3'?"
    assert nearest("zzz", many).startswith("69 names, such as ")
    assert len(nearest("zzz", many)) < 120
    assert nearest("a", ["b", "c"]) == "allowed: b, c"


@pytest.mark.parametrize("kept", ["reproduced", "recorded"])
def test_a_verdict_that_is_none_means_nothing_to_markdown(kept):
    changed = {("ledger", 0, "reproduced"): "read", ("ledger", 0, kept): "<img src=x>](y)"}
    assert cited("claim kept", Known(changed)).startswith(r"[\<img src=x>\](y)](report")


def test_a_ledger_without_a_column_names_it():
    class Old(Known):
        def dataset(self, name: str) -> Dataset:
            data = super().dataset(name)
            left = [column for column in data.columns if column.name != "reproduced"]
            return dataclasses.replace(data, columns=left)

    with pytest.raises(NotFound, match="ledger has no column 'reproduced'"):
        cited("claim kept", Old())


def test_a_verdict_is_the_reproduced_one_and_a_link():
    assert cited("claim kept") == "[verified](report/index.html#claim-kept)"
    assert cited("claim kept link=no") == "verified"
    assert cited("claim kept show=covers link=no") == "A01 B02"
    assert cited("claim read-it link=no") == "contradicted, read"
    broken = Known({("ledger", 0, "reproduced"): "undecided"})
    assert cited("claim kept link=no", broken) == "undecided"


def test_a_table_in_three_forms():
    link = "report/index.html#table-angles"
    credit = f"[The angles]({link}), from Positional Information, Verified."
    assert cited("table angles") == (
        "| Pair | Angle (rad) | Share | Word |\n"
        "| ---: | ---: | ---: | --- |\n"
        "| 0 | 3 | 0.2812 | a\\|b |\n"
        "| 1 | −0.03162 | 0.5000 | \\<b> |\n"
        "| 2 | 1.000 × 10⁻⁵ |  |  |\n"
        f"\n{credit}"
    )
    assert cited("table angles columns=word,pair digits=1 where pair=1") == (
        f"| Word | Pair |\n| --- | ---: |\n| \\<b> | 1 |\n\n{credit}"
    )
    assert cited("table angles format=csv where pair=0") == (
        f"```csv\npair,angle,share,word\n0,3,0.28125,a|b\n```\n\n{credit}"
    )
    page = cited("table angles format=html where pair=1")
    assert f'<caption><a href="{link}">The angles</a></caption>' in page
    assert '<th scope="col" align="right">Angle (rad)</th>' in page
    assert "<td>&lt;b&gt;</td>" in page
    assert "\n\n" not in page


def test_a_figure_is_a_link_or_a_picture():
    link = "report/index.html#figure-curve"
    assert cited("figure curve") == f"[Figure: The curve]({link}). Drawn: 2 curves."
    assert cited("figure curve image=a.svg") == (
        f"[![Drawn: 2 curves.](a.svg)]({link})\n\n[The curve]({link})."
    )


# Where markers stand.


def test_a_value_within_a_sentence():
    before = f"It errs by {block(VALUE)} at most. Next.\n"
    after = made(before)
    assert inside(after.text) == "4.8 × 10⁻⁷"
    assert after.text.startswith("It errs by <!-- posinfo: value suites/norms")
    assert after.text.endswith(" --> at most. Next.\n")
    assert re.search(
        r"<!-- /posinfo data=[0-9a-f]{12} text=[0-9a-f]{8} at=report/index.html#suite-norms -->",
        after.text,
    )
    (found,) = after.outcomes
    assert (found.status, found.old, found.new) == (NEW, "", "4.8 × 10⁻⁷")
    (again,) = made(after.text).outcomes
    assert (again.status, again.sentence) == (CURRENT, "It errs by 4.8 × 10⁻⁷ at most.")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_ends_of_lines_and_a_byte_order_mark_stay(newline):
    text = f"\ufeff# A{newline}{newline}Is {block(VALUE)}{newline}{newline}"
    text += f"<!-- posinfo: table angles -->{newline}<!-- /posinfo -->{newline}end"
    after = made(text).text
    assert after.startswith(f"\ufeff# A{newline}{newline}Is <!--")
    assert after.endswith(f" -->{newline}end")
    assert set(re.findall(r"\r\n?|\n", after)) == {newline}
    assert after.count(newline) == text.count(newline) + 9
    assert made(after).text == after
    assert all(one.status == CURRENT for one in made(after).outcomes)


@pytest.mark.parametrize(
    ("before", "prefix"),
    [("- ", "  "), ("12. ", "    "), ("> ", "> "), ("> - ", ">   "), ("  ", "  "), ("", "")],
)
def test_a_table_in_a_list_or_a_quotation_stays_in_it(before, prefix):
    text = f"{before}<!-- posinfo: table angles -->\n{prefix}<!-- /posinfo -->\n"
    lines = made(text).text.splitlines()
    assert lines[0] == f"{before}<!-- posinfo: table angles -->"
    assert lines[1] == lines[-2] == prefix.rstrip()
    assert lines[2] == f"{prefix}| Pair | Angle (rad) | Share | Word |"
    assert lines[-1].startswith(f"{prefix}<!-- /posinfo data=")
    assert rendered("\n".join(lines)).count("<table>") == 1
    again = made("\n".join(lines))
    assert [one.status for one in again.outcomes] == [CURRENT]
    assert again.text == "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        "```\n{}\n```\n", "~~~~md\n```\n{}\n~~~~\n", "    {}\n", "- a\n\n      {}\n", "`{}`\n",
        "`` {} ` ``\n", "> ```\n> {}\n> ```\n", "1. a\n   ```\n   {}\n   ```\n", "```\n{}",
        "---\ntitle: '{}'\n---\n\ntext\n", "\ufeff```\n{}\n```\n", "<!-- note: {} -->\n",
        "a \\{}\n",
    ],
)  # fmt: skip
def test_a_marker_in_code_is_text(text):
    """An example of a marker is neither filled nor missed."""
    whole = text.format("<!-- posinfo: nonsense -->" if "note" not in text else "<!-- posinfo: x")
    after = made(whole)
    assert after.text == whole
    assert (list(after.outcomes), list(after.wrong)) == ([], [])


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\n\n<!-- posinfo: claim kept -->", 3, "is not closed to the end of the file"),
        (f"a <!-- posinfo: claim kept -->\n\n{block(VALUE)}", 1,
         "is not closed before the marker in line 3"),
        ("a\n\nb <!-- /posinfo -->", 3, "ends a block, and none is open"),
        ("a <!-- posinfo: given 7 -->7<!-- /posinfo -->", 1, "none is open: 'given' with what"),
        ("a\n\n<!-- posinfo: claim kept\n\nb", 3, "not closed with '-->'"),
        ("a <!-- posinfo: claim kept\n\nb -->", 1, "looks like a marker, and is no comment"),
        ("[a]: <!--posinfo:x-->\n", 1, "looks like a marker, and is no comment"),
        (f"a {block('table angles')}", 1, "table angles needs lines of its own"),
        (f"| a |\n|---|\n| {block('table angles')} |", 3, "table angles needs lines of its own"),
        (f"{block('table angles')} b", 1, "table angles needs lines of its own"),
        ("a <!-- posinfo: claim kept --> b\n\nc <!-- /posinfo -->", 1,
         "ends in line 3, in another paragraph or cell"),
        ("| a | b |\n|---|---|\n| <!-- posinfo: claim kept --> | c <!-- /posinfo --> |", 3,
         "ends in line 3, in another paragraph or cell"),
        (block("claim kpet"), 1, "no row with id=kpet"),
        (block("clam kept"), 1, "'clam' is no kind of marker"),
        ("a <!-- Posinfo: claim kept --><!-- /posinfo -->", 1, "a marker begins with 'posinfo:'"),
        ("a <!--POSINFO: claim kept--><!-- /posinfo -->", 1, "a marker begins with 'posinfo:'"),
        ("a <!--- posinfo: claim kept --><!-- /posinfo -->", 1, "a marker begins with 'posinfo:'"),
        (f"a {block('claim kept', ending='/Posinfo')}", 1, "its end with '/posinfo'"),
        (block("claim kept", ending="/posinfo data=1"), 1, "what posinfo put behind it"),
        ("<!-- posinfo: given 7 -->\n\nNo such number.", 1, "given 7: no such number"),
    ],
)  # fmt: skip
def test_a_marker_that_is_wrong_is_named_with_its_line_and_nothing_is_written(text, line, problem):
    # What is well in the file is not written either.
    whole = text if "-->" not in text or "end of" in problem else f"{text}\n\nAlso {block(VALUE)}."
    after = made(whole)
    (found,) = after.wrong
    assert found.line == line
    assert problem in found.text
    assert after.text == whole


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        (f"{block('claim kept')} is it", True),
        (f"- {block('claim kept')} is it", True),
        (f"above\n{block('claim kept')}", True),
        (f"It is {block('claim kept')} so", False),
        (f"above\n\n{block('claim kept')}\n\nbelow", False),
        (f"- {block('claim kept')}\n- other", False),
        (f"<p>{block('claim kept')} is it</p>", False),
        (f"| {block('claim kept')} | a |\n|---|---|", False),
    ],
)
def test_a_line_that_markdown_takes_for_html_is_noted(text, noted):
    assert bool(made(text).notes) == noted


@pytest.mark.parametrize(
    ("before", "after"),
    [("<p>It is ", "</p>"), ("", ""), ("- ", " is it"), ("> ", ""), ("<td>", "</td>")],
)
def test_what_stands_in_html_is_html(before, after):
    """Markdown's links and code would be shown with their signs."""
    text = f"{before}{block('claim kept')}{after}\n"
    assert inside(made(text).text) == '<a href="report/index.html#claim-kept">verified</a>'
    words = block("value suites/norms measured_text as=code where head_dim=64")
    assert inside(made(f"{before}{words}{after}").text) == "<code>a|b `c`</code>"
    words = block("value tables/angles word where pair=1")
    assert inside(made(f"{before}{words}{after}").text) == "&lt;b&gt;"
    assert rendered(made(text).text).count(">verified</a>") == 1


def test_a_permalink_stands_once():
    """In the end of a block, unless it is in what a reader sees."""
    text = made(f"Is {block('claim kept')}, {block('claim kept link=no')}.").text
    assert text.count("report/index.html#claim-kept") == 2
    assert text.count(" at=report/index.html#claim-kept -->") == 1


# Drift, edits, and what is the same.


def test_drift_shows_the_sentence_the_old_and_the_new():
    text = made(f"# A\n\nFirst one. At most {block(VALUE)} in **all**,\nit says. More.\n").text
    later = made(text, Known({("suites/norms", 0, "measured"): "5.1e-07"}))
    (found,) = later.outcomes
    assert (found.status, found.old, found.new) == (DRIFTED, "4.8 × 10⁻⁷", "5.1 × 10⁻⁷")
    assert found.block.line == 3
    assert found.sentence == "At most 4.8 × 10⁻⁷ in all, it says."
    # All before the block and behind it is as it was.
    around = [part.split("<!-- /posinfo") for part in (text, later.text)]
    assert around[0][0].replace("4.8 × 10⁻⁷", "5.1 × 10⁻⁷") == around[1][0]
    assert around[0][1].partition("-->")[2] == around[1][1].partition("-->")[2]


def test_the_sentence_of_a_cell_is_its_row():
    text = f"| what | is |\n|---|---|\n| error | {block(VALUE)} |\n"
    (found,) = made(made(text).text).outcomes
    assert found.sentence == "| error | 4.8 × 10⁻⁷ |"


def test_other_data_with_the_same_text_is_no_drift_and_renews_the_digest():
    text = made(f"Is {block(VALUE)}.\n").text
    later = made(text, Known({("suites/norms", 1, "measured"): "9e-07"}))
    assert [one.status for one in later.outcomes] == [CURRENT]
    assert inside(later.text) == inside(text)
    assert later.text != text


def test_a_block_that_was_edited_is_named_and_left_alone():
    text = made(f"Is {block(VALUE)}, and {block('claim kept')}.\n").text
    edited = text.replace("4.8 × 10⁻⁷", "4.9 × 10⁻⁷")
    after = made(edited)
    assert [one.status for one in after.outcomes] == [EDITED, CURRENT]
    assert after.text == edited
    assert made(edited, force=True).text == text


def test_an_edit_to_what_the_results_say_is_none():
    text = made(f"Is {block(VALUE)}.\n").text
    later = Known({("suites/norms", 0, "measured"): "5.1e-07"})
    by_hand = text.replace("4.8 × 10⁻⁷", "5.1 × 10⁻⁷")
    assert [one.status for one in made(by_hand, later).outcomes] == [CURRENT]


def test_a_formatter_edits_nothing():
    """Cells padded, rules lengthened, a line broken, another indentation."""
    text = made(f"Is {block(VALUE)}.\n\n<!-- posinfo: table angles -->\n<!-- /posinfo -->\n").text
    padded = text.replace("| Pair |", "|   Pair |").replace("---:", "-------:")
    padded = padded.replace("4.8 × 10⁻⁷", "4.8 ×\n10⁻⁷")
    after = made(padded)
    assert [one.status for one in after.outcomes] == [CURRENT, CURRENT]
    assert after.text == padded
    swapped = text.replace("| 0 | 3 |", "| 3 | 0 |")
    assert made(swapped).outcomes[1].status == EDITED


def test_what_is_the_same_says_nothing_of_numbers():
    assert normal("| 1 |\n|---|\n| -- 2 |", True) == "| 1 |\n|-|\n| -- 2 |"
    assert normal("-1", False) != normal("--1", False)


def test_a_block_of_a_typed_number_is_filled():
    after = made(f"Is {block(VALUE, '9.9e-7')}.\n")
    assert [(one.status, one.old) for one in after.outcomes] == [(NEW, "9.9e-7")]
    assert inside(after.text) == "4.8 × 10⁻⁷"


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("a report (1).html", "a%20report%20%281%29.html"),
        ("https://a.example/?a=1&b=2", "https://a.example/?a=1&b=2"),
        ("a|b.html", "a%7Cb.html"),
        ("it's.html", "it%27s.html"),
    ],
)
def test_any_address_of_a_report_is_a_link_and_read_back(address, link):
    first = made(
        f'<!-- posinfo: report "{address}" -->\n\n| a |\n|---|\n'
        f"| Is {block('claim kept')}, {block(VALUE)} |\n"
    )
    again = made(first.text)
    assert f'href="{html.escape(link)}#claim-kept"' in rendered(first.text)
    links = [f"{link}#claim-kept", f"{link}#suite-norms"]
    assert [one.permalink for one in first.outcomes] == links
    assert (again.wrong, again.text) == ([], first.text)
    assert again.outcomes[1].block.ending.at == links[1]


def test_a_file_has_one_address_of_its_report():
    text = "A.\n<!-- posinfo: report a -->\n<!-- posinfo: report b -->\n"
    (problem,) = made(text).wrong
    assert (problem.line, problem.text) == (
        3, "says where the report is, as line 2 does: take one away",
    )  # fmt: skip


def test_code_in_a_cell_does_not_end_it():
    shown = block("value suites/norms measured_text as=code where subject=complex")
    in_a_cell, in_prose = made(f"| a |\n|---|\n| {shown} |\n"), made(f"Is {shown}.\n")
    for text in (in_a_cell.text, in_prose.text):
        assert "<code>a|b `c`</code>" in rendered(text)


def test_a_file_says_where_its_report_is():
    text = "<!-- posinfo: report https://a.example/r.html -->\n\nIs " + block("claim kept")
    assert "[verified](https://a.example/r.html#claim-kept)" in made(text).text
    assert made(text.replace("kept", "kept link=no")).text.endswith(
        " at=https://a.example/r.html#claim-kept -->"
    )


def test_the_same_marker_twice():
    after = made(f"Is {block(VALUE)} and {block(VALUE)}; {block(VALUE)}.\n")
    assert after.text.count("4.8 × 10⁻⁷") == 3
    assert made(after.text).text == after.text


# Numbers that nobody generated.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("errs by 9.5e-7 or 4.8 × 10⁻⁷, 5 × 10^-7.", ["9.5e-7", "4.8 × 10⁻⁷", "5 × 10^-7"]),
        ("1,024 of 4,096 (25 %), −0.5, +3, .5, 3–5", ["1,024", "4,096", "25 %", "−0.5", "+3", ".5",
                                                   "3", "5"]),
        ("float32, Qwen2.5, GPT-2, v1.2, 1.2.3, #7, [^1], B24, 3rd, 2D, x_2, 7B, 2π", []),
        ("2026-11-29, arXiv:2104.09864, https://a.example/2/3, Section 3.2, Table 4, § 5", ["5"]),
        ("$10000^{-2i/d}$ and $$2^3$$ but $5 and $6", ["5", "6"]),
        ("takes 12ms, 3.5GB, 8k, 99%", ["12ms", "3.5GB", "8k", "99%"]),
        ("3 × 100, 2 x 5, 10-20", ["3", "100", "2", "5", "10", "20"]),
    ],
)  # fmt: skip
def test_what_counts_as_a_number(text, found):
    assert [text for _, text in numbers.find(text)] == found


def test_numbers_are_bound_given_or_unbound():
    text = (
        "---\nweight: 3\n---\n# 1.2 Of 3 kinds\n\n"
        f"In <!-- posinfo: given -->2017<!-- /posinfo --> it was {block(VALUE)}, not 9.5e-7.\n"
        "Base 10,000, again 10000, `10 000` and `9.5e-7`, `x[0]`, [7](https://a.example/8).\n\n"
        "| a | 4 |\n|---|---|\n| 5<br>6 | `7` |\n\n    8\n\n```\n9\n```\n\n"
        "<table><tr><td width=10>11</td></tr></table>\n\n"
        "1. x\n2. y\n\n<!-- posinfo: given 1e4 11 -->\n"
    )
    found = [(one.text, one.line, one.status) for one in made(made(text).text).numbers]
    assert found == [
        ("3", 4, UNBOUND), ("2017", 6, GIVEN), ("4.8 × 10⁻⁷", 6, BOUND), ("9.5e-7", 6, UNBOUND),
        ("10,000", 7, GIVEN), ("10000", 7, GIVEN), ("9.5e-7", 7, UNBOUND), ("7", 7, UNBOUND),
        ("4", 9, UNBOUND), ("5", 11, UNBOUND), ("6", 11, UNBOUND), ("7", 11, UNBOUND),
        ("11", 19, GIVEN),
    ]  # fmt: skip


def test_the_line_about_numbers():
    after = made(f"Is {block(VALUE)} of 3,\nnot 9.5e-7.\n").renewed()
    assert after.numbers_line() == (
        "1 of 3 numbers are bound, 0 given, 2 unbound: line 1 `3`, line 2 `9.5e-7`"
    )
    assert made("5").numbers_line() == "0 of 1 number is bound, 0 given, 1 unbound: line 1 `5`"
    many = made(" ".join(map(str, range(20))))
    assert many.numbers_line(2).endswith("line 1 `0`, line 1 `1` and 18 more")


def test_a_number_is_one_across_a_mark_up_and_not_across_a_block():
    assert [one.text for one in read("**4.8** × 10<sup>-7</sup>").numbers] == ["4.8 × 10^-7"]
    text = made(f"1{block(VALUE)}2").text
    assert [one.status for one in made(text).numbers] == [UNBOUND, BOUND, UNBOUND]


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("4.8e-7", "value suites/norms measured as=e digits=2 where head_dim=128"),
        ("4.77 × 10⁻⁷", "value suites/norms measured digits=3 where head_dim=128"),
        ("28 %", "value tables/angles share as=percent digits=2 where pair=0"),
        ("−0.032", "value tables/angles angle digits=2 where pair=1"),
        ("10⁻⁵", "value tables/angles angle digits=1 where pair=2"),
        ("4.7e-7", None),  # rounded, not cut off
        ("3", None),  # too little to look for
        ("12 ms", None),
    ],
)
def test_a_typed_number_finds_its_marker(text, marker):
    found = suggestions(text, Known(), ["suites/norms", "tables/angles"])
    assert found == ([marker] if marker else [])
    for one in found:
        assert numbers.canonical(cited(one)) == numbers.canonical(text)


def test_a_suggestion_names_what_was_asked_and_no_outcome():
    data = Dataset("a", "0", [Column(name, name) for name in ("kind", "error", "result", "n")], [
        {"kind": "x", "error": "1", "result": "0.123456789", "n": "1"},
        {"kind": "x", "error": "2", "result": "0.234567891", "n": "2"},
    ])  # fmt: skip
    assert telling(data, data.records[0]) == {"n": "1"}
    alike = dataclasses.replace(data, records=[data.records[0], data.records[0]])
    assert telling(alike, alike.records[0]) is None


def test_a_row_is_chosen_by_what_names_it_and_never_by_a_count():
    rows = [
        {"kind": "x", "word": "one", "rows": "1153", "share": "0.123456789"},
        {"kind": "x", "word": "two", "rows": "99", "share": "0.987654321"},
    ]
    data = Dataset("tables/a", "0", [Column(name, name) for name in rows[0]], rows)
    assert telling(data, rows[0]) == {"word": "one"}
    assert telling(dataclasses.replace(data, key=("kind", "word")), rows[0]) == {"word": "one"}
    assert telling(dataclasses.replace(data, key=("kind",)), rows[0]) is None
    alike_but_for_it = [row | {"word": "one"} for row in rows]
    data = dataclasses.replace(data, records=alike_but_for_it)
    assert telling(data, alike_but_for_it[0]) is None


@pytest.mark.parametrize(
    ("sentence", "first"),
    [
        ("The share of the second pair is 0.5.", "share"),
        ("The cosines of both are 0.5.", "cosine"),
        ("In the far run it is 0.5.", "distance"),
        ("It is 0.5.", "distance"),  # nothing is known: as the files are in order
    ],
)
def test_what_shares_words_with_the_sentence_is_suggested_first(sentence, first):
    names = ("distance", "share", "cosine")
    files = {
        f"tables/{name}": Dataset(
            f"tables/{name}", "0", [Column(name, name), Column("run", "Run")],
            [{name: "0.5", "run": "far" if name == "distance" else "near"}],
        )
        for name in names
    }  # fmt: skip
    results = Known()
    results.dataset = files.__getitem__
    (typed_in,) = document.read(sentence).numbers
    assert typed_in.sentence == sentence
    found = suggestions("0.5", results, list(files), typed_in.sentence)
    assert found[0] == f"value tables/{first} {first} digits=1"
    assert len(found) == 3


# Nothing else changes.

PIECES = [
    "word ", "4.8 ", "\n", "\n\n", "- ", "> ", "    ", "| a | b |\n|---|---|\n| ", " | ", "`",
    "```\n", "~~~\n", "# ", "*", "_", "\\", "<b>", "</b>", "<!-- a -->", "<!--", "-->", "\r\n",
    "\t", "[a](b)", "<pre>", "$", "&lt;", "1. ", "---\n", "\ufeff", "é", "<!-- posinfo: given -->",
    "<!-- posinfo: given 4.8 -->", "<!-- /posinfo -->", "<!-- posinfo: claim kept -->",
    block("claim kept"), block(VALUE, "old"), block("figure curve"),
    "\n<!-- posinfo: table angles -->\n<!-- /posinfo -->\n",
]  # fmt: skip
TEXTS_OF_PIECES = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
#: A block as a regular expression sees it: all of it may change, but for its marker.
BLOCK = re.compile(
    r"(<!-- posinfo: (?:claim|value|figure|table)[^>]*-->).*?<!-- /posinfo[^>]*-->", re.DOTALL
)


def outside(text: str, plan_of: Plan) -> list[str]:
    """What stands outside of the blocks, their markers included."""
    parts, last = [], 0
    for one in plan_of.outcomes:
        parts.append(text[last : one.block.start])
        last = one.block.end
    return [*parts, text[last:]]


@given(TEXTS_OF_PIECES)
def test_no_byte_outside_of_the_blocks_changes(text):
    first = made(text)
    second = made(first.text)
    if first.text != text:
        assert not first.wrong
        assert outside(text, first) == outside(first.text, second)
    else:
        assert first.wrong or first.having(EDITED) or not first.having(NEW, DRIFTED)


@given(TEXTS_OF_PIECES)
def test_a_second_refresh_changes_nothing(text):
    first = made(text)
    second = made(first.text)
    if not first.wrong:
        assert second.text == first.text
        assert all(one.status == CURRENT for one in second.outcomes)
        assert not second.wrong


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60), st.sampled_from(PIECES))
def test_any_text_is_read(text, piece):
    after = made(f"{text}{piece}{text}")
    assert after.text.startswith(text)
    assert after.text.endswith(text) or BLOCK.search(after.text)


# Ten awkward files: as written, they are what a refresh makes, and drift is found in each.


def test_there_are_ten_awkward_files():
    assert len(AWKWARD) == 10


@pytest.mark.parametrize("path", AWKWARD, ids=lambda path: path.stem)
def test_an_awkward_file_is_up_to_date_and_drifts(path):
    text = path.read_bytes().decode()
    now = made(text)
    assert (list(now.wrong), list(now.unfit)) == ([], [])
    assert [one.status for one in now.outcomes] == [CURRENT] * len(now.outcomes)
    assert now.outcomes
    assert now.text == text
    later = made(text, Known({
        ("suites/norms", 0, "measured"): "5.1e-07", ("tables/angles", 0, "angle"): "4",
        ("ledger", 0, "reproduced"): "refuted",
    }))  # fmt: skip
    assert len(later.having(DRIFTED)) == len(later.outcomes)
    assert outside(text, now) == outside(later.text, made(later.text))
    assert made(later.text).text == text  # and back


def rendered(text: str) -> str:
    """As a site of the usual kind shows it."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)


@pytest.mark.parametrize("path", AWKWARD, ids=lambda path: path.stem)
def test_what_is_generated_in_an_awkward_file_is_shown_as_such(path):
    text = path.read_bytes().decode()
    page = rendered(text)
    kinds = [one.block.marker.kind for one in made(text).outcomes]
    tables = text.count("<!-- posinfo: table angles columns=pair,angle -->")
    assert page.count('<th style="text-align:right">Angle (rad)</th>') == tables
    assert page.count(">The angles</a>, from ") == kinds.count("table")
    assert page.count(">verified</a>") == kinds.count("claim")


# Folders and pages.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of results with one suite, one table and the ledger, recorded as jobs do."""
    results = tmp_path / "results"

    def fill(name: str, schema: str, *rows: dict[str, Any]) -> None:
        fields = table_fields(SCHEMAS / f"{schema}.yaml")

        def least(field: dict[str, Any]) -> Any:
            allowed = field.get("constraints", {})
            if not allowed.get("required"):
                return None
            return allowed["enum"][0] if "enum" in allowed else 1

        least_row = {field["name"]: least(field) for field in fields}
        write(results / f"{name}.csv", [least_row | row for row in rows], fields)

    fill("suites/norms", "suites/norms",
         {"suite": "norms", "case": "run", "quantity": "difference", "subject": "adjacent",
          "relation": "within", "measured": 4.76837158203125e-07, "outcome": "holds"})  # fmt: skip
    fill("tables/theta-angles", "tables/theta-angles", {"pair": 0, "theta": 1.0, "position": 3})
    fill("ledger", "ledger", {"id": "kept", "covers": "A01", "reproduced": "verified"})
    return results


def record_digests(results: Path) -> None:
    (results / "digests").mkdir()
    lines = [
        f"{sha256(path)}  results/{path.relative_to(results).as_posix()}\n"
        for path in sorted(results.rglob("*.csv"))
    ]
    (results / "digests" / "all.sha256").write_text("".join(lines))


def opened(results: Path) -> FolderResults:
    return open_results(str(results), SCHEMAS, TEXTS)


def test_a_folder_gives_what_its_files_hold(folder):
    record_digests(folder)
    data = opened(folder).dataset("suites/norms")
    assert data.records[0]["measured"] == "4.76837158203125e-07"
    assert data.column("measured").numeric
    assert not data.column("case").numeric
    table = opened(folder).exhibit("table", "theta-angles")
    assert table.title
    assert table.data.column("theta").unit == "rad/position"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("suites/nroms", "did you mean 'suites/norms'?"),
        ("../results/ledger", "has no '../results/ledger'"),
        ("suites", "has no 'suites'"),
        ("suites/../ledger", "has no 'suites/../ledger'"),
    ],
)
def test_a_folder_names_what_it_has(folder, name, problem):
    with pytest.raises(NotFound) as caught:
        opened(folder).dataset(name)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("4.76837158203125e-07", "4.76837158203125e-08", "was touched by hand"),
        ("4.76837158203125e-07", "0,48", "has 22 cells, expected"),
        ("4.76837158203125e-07", "NA", "expected a number"),
        ("4.76837158203125e-07", "1e400", "too large for a number"),
        ("suite,case", "\ufeffsuite,case", "byte order mark"),
        ("suite,case", "case,suite", "another order"),
        ("\n", "\r\n", "line 1: ends with a carriage return"),
    ],
)
def test_a_touched_file_is_not_cited(folder, old, new, problem):
    record_digests(folder)
    path = folder / "suites" / "norms.csv"
    path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
    with pytest.raises(InputError) as caught:
        opened(folder).dataset("suites/norms")
    assert problem in str(caught.value)


def test_a_file_that_no_job_recorded_is_not_cited(folder):
    record_digests(folder)
    path = folder / "digests" / "all.sha256"
    kept = [line for line in path.read_text().splitlines() if "norms" not in line]
    path.write_text("".join(f"{line}\n" for line in kept))
    with pytest.raises(InputError, match="no job has recorded it"):
        opened(folder).dataset("suites/norms")


#: What the templates make, as far as it is read.
PAGE = """<!DOCTYPE html><html><body>
<div class=exhibit id="table-angles"><div class=scroll><table class="n2">
<caption><span class=captiontext><strong>The angles.</strong> They turn.</span></caption>
<thead><tr><th scope=col class=n>Pair<th scope=col>Angle <span class=unit>(rad)</span></thead>
<tbody><tr><th scope=row class=n>0<td>3</table></div>
<div class=tools><a class=tool download="angles.csv" href="{angles}">angles.csv</a>
<span class=digest>sha256 <code title="{digest}">12</code></span></div></div>
<div class=exhibit id="figure-curve"><figure>
<img src="data:image/svg+xml,%3Csvg%2F%3E" alt="Drawn: a &amp; b." width="1" height="1">
<figcaption><strong>The curve.</strong> It bends.</figcaption></figure>
<div class=scroll><table><caption><strong>Numbers</strong></caption>
<thead><tr><th scope=col class=n>X</thead><tbody><tr><th scope=row class=n>1</table></div>
<a class=tool download="curve.csv" href="data:text/csv,x%0A1%0A">curve.csv</a>
<code title="{curve}">12</code></div>
<code id=ledger-digest title="{ledger}">12</code>
<a class=tool id=verdicts-data download=verdicts.csv href="{verdicts}">verdicts.csv</a>
<code id=verdicts-digest title="{verdicts_digest}">12</code>
</body></html>"""
CARRIED = {
    "angles": "data:text/csv;charset=utf-8,pair,angle%0A0,3%0A",
    "verdicts": "data:text/csv;charset=utf-8,id,covers,kind,recorded,reproduced%0A"
    "kept,A01,computed,verified,verified%0A",
    "verdicts_digest": hashlib.sha256(
        b"id,covers,kind,recorded,reproduced\nkept,A01,computed,verified,verified\n"
    ).hexdigest(),
    "ledger": "5" * 64,
    "curve": hashlib.sha256(b"x\n1\n").hexdigest(),
}


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    digest = hashlib.sha256(b"pair,angle\n0,3\n").hexdigest()
    path.write_text(PAGE.format(digest=digest, **CARRIED), encoding="utf-8")
    return path


def test_a_page_gives_what_it_carries(page):
    found = PageResults(str(page))
    shown = found.exhibit("table", "angles")
    assert shown.title == "The angles"
    assert shown.data.columns == [
        Column("pair", "Pair", "", True), Column("angle", "Angle", "rad", True)
    ]  # fmt: skip
    assert found.dataset("tables/angles").records == [{"pair": "0", "angle": "3"}]
    drawn = found.exhibit("figure", "curve")
    assert (drawn.title, drawn.alt, drawn.picture) == ("The curve", "Drawn: a & b.", b"<svg/>")
    assert drawn.data.columns == [Column("x", "X", "", True)]
    ledger = found.dataset("ledger")
    assert (ledger.digest, ledger.records[0]["reproduced"]) == ("5" * 64, "verified")
    for name in ("suites/norms", "tables/angels", "figures/angles"):
        with pytest.raises(NotFound):
            found.dataset(name)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("0,3%0A", "0,4%0A", "tables/angles"),
        ("verified,verified", "verified,refuted", "ledger"),
    ],
)
def test_a_page_that_was_edited_is_not_cited(page, old, new, name):
    page.write_text(page.read_text().replace(old, new))
    with pytest.raises(InputError, match="it was edited"):
        PageResults(str(page)).dataset(name)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is no table"),
        (b"pair,angle\n0\n", "is no table"),
        (b"pair,pair\n0,1\n", "is no table"),
        (b"pair\n0\n", "has 1 columns, shown are 2"),
        (b"pair,angle\n0,\xff\n", "is no CSV"),
        (b'pair,angle\n0,"3\n', "is no CSV"),
    ],
)
def test_a_page_whose_data_are_no_table_is_one_clear_line(page, content, problem):
    """Its digest may be right: whoever made the page made both."""
    digest = hashlib.sha256(content).hexdigest()
    carried = CARRIED | {"angles": f"data:text/csv,{quote(content)}"}
    page.write_text(PAGE.format(digest=digest, **carried))
    with pytest.raises(InputError, match=problem):
        PageResults(str(page)).dataset("tables/angles")


def test_a_page_whose_data_are_not_base64_is_one_clear_line(page):
    page.write_text(page.read_text().replace(CARRIED["angles"], "data:text/csv;base64,A"))
    with pytest.raises(InputError, match=r"carries angles\.csv broken"):
        PageResults(str(page)).dataset("tables/angles")


@pytest.mark.parametrize("digest", ["", "--><img src=x>", "5" * 63])
def test_a_page_writes_no_digest_that_is_none_into_a_lesson(page, digest):
    page.write_text(page.read_text().replace("5" * 64, digest))
    with pytest.raises(InputError, match="does not say the sha256 of its ledger"):
        PageResults(str(page)).dataset("ledger")


@pytest.mark.parametrize(
    "content", ["", "<p>Another page</p>", PAGE.replace("id=verdicts-data", "")]
)
def test_another_page_is_refused(page, content):
    page.write_text(content)
    with pytest.raises(InputError, match="is no report of posinfo"):
        PageResults(str(page))


def test_results_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        open_results(str(tmp_path / "none"), SCHEMAS, TEXTS)
    with pytest.raises(InputError, match=r"no ledger\.csv"):
        open_results(str(tmp_path), SCHEMAS, TEXTS)
    (tmp_path / "ledger.csv").touch()
    with pytest.raises(InputError, match="give the report instead"):
        open_results(str(tmp_path), tmp_path / "none", TEXTS)


# The command.


def posinfo(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "posinfo", *arguments],
        cwd=cwd, env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


LESSON = (
    "# Lesson\r\n\r\nPair 0 has angle <!-- posinfo: value tables/angles angle where pair=0 -->"
    "<!-- /posinfo -->; that is <!-- posinfo: claim kept --><!-- /posinfo -->, not 7.\r\n"
)


@pytest.fixture
def lesson(page: Path) -> Path:
    path = page.parent / "lesson.md"
    path.write_bytes(LESSON.encode())
    path.chmod(0o640)
    return path


def run(lesson: Path, *arguments: str) -> Any:
    return posinfo("cite", *arguments, "--from", "report.html", cwd=lesson.parent)


def test_refresh_then_check(lesson):
    done = run(lesson, "--check", "lesson.md")
    assert done.returncode == 1
    assert "lesson.md:3: value tables/angles angle: not generated yet: nothing → `3`" in done.stdout
    assert lesson.read_bytes() == LESSON.encode()
    done = run(lesson, "lesson.md")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("lesson.md: 1 of 3 numbers are bound, 0 given, 2 unbound: "
                                "line 3 `0`, line 3 `7`\n")  # fmt: skip
    text = lesson.read_bytes().decode()
    assert text.count("\r\n") == text.count("\n") == LESSON.count("\n")
    assert stat.S_IMODE(lesson.stat().st_mode) == 0o640
    when = lesson.stat().st_mtime_ns
    assert run(lesson, "lesson.md").returncode == 0
    assert lesson.stat().st_mtime_ns == when
    assert run(lesson, "--check", "lesson.md").returncode == 0
    assert run(lesson, "--check", "--strict", "lesson.md").returncode == 1


def drift(page: Path) -> None:
    text = page.read_text()
    old, new = (hashlib.sha256(f"pair,angle\n0,{n}\n".encode()).hexdigest() for n in (3, 4))
    page.write_text(text.replace("0,3%0A", "0,4%0A").replace(old, new))


def test_drift_is_named_with_line_sentence_old_and_new(lesson, page):
    run(lesson, "lesson.md")
    drift(page)
    before = lesson.read_bytes()
    done = run(lesson, "--check", "lesson.md")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[:2] == [
        "lesson.md:3: value tables/angles angle: drifted: `3` → `4`",
        "    in: Pair 0 has angle 3; that is verified, not 7.",
    ]
    assert lesson.read_bytes() == before
    assert run(lesson, "lesson.md").returncode == 0
    assert b"-->4<!--" in lesson.read_bytes()


def test_an_edited_block_is_named_and_kept(lesson):
    run(lesson, "lesson.md")
    edited = lesson.read_bytes().replace(b"-->3<!--", b"-->9<!--")
    lesson.write_bytes(edited)
    for arguments in (["--check", "lesson.md"], ["lesson.md"]):
        done = run(lesson, *arguments)
        assert done.returncode == 1
        assert "lesson.md:3: value tables/angles angle: edited by hand" in done.stdout
        assert "`9` → `3`" in done.stdout
        assert lesson.read_bytes() == edited
    assert run(lesson, "--force", "lesson.md").returncode == 0
    assert b"-->3<!--" in lesson.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("claim kept", "claim kpet", "no row with id=kpet"),
        ("claim kept", "clam kept", "'clam' is no kind of marker"),
        ("<!-- /posinfo -->, not", ", not", "claim kept is not closed to the end of the file"),
        ("tables/angles", "suites/norms", "report.html has no 'suites/norms'"),
    ],
)
def test_a_wrong_marker_ends_with_2_and_its_line(lesson, old, new, problem):
    lesson.write_bytes(lesson.read_bytes().replace(old.encode(), new.encode()))
    before = lesson.read_bytes()
    for arguments in (["lesson.md"], ["--check", "lesson.md"]):
        done = run(lesson, *arguments)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.startswith("posinfo: lesson.md line 3: ")
        assert problem in line
        assert "numbers are bound" not in done.stdout
        assert lesson.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"<!-- /posinfo -->", "other.md line 1: ends a block"),
        (b"\xff", "other.md: is not UTF-8"),
        (None, "other.md: does not exist"),
        (b"<!-- posinfo: figure curve image=/x.svg -->\n<!-- /posinfo -->", "is no path of an"),
    ],
)
def test_a_wrong_file_keeps_no_other_from_being_written(lesson, content, problem):
    if content is not None:
        (lesson.parent / "other.md").write_bytes(content)
    last = lesson.parent / "last.md"
    last.write_bytes(LESSON.encode())
    done = run(lesson, "lesson.md", "other.md", "last.md")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert problem in line
    for path in (lesson, last):
        assert b"-->3<!--" in path.read_bytes()
        assert f"{path.name}:3: value tables/angles angle: generated" in done.stdout


def test_nothing_is_said_to_be_written_in_a_file_that_is_left_alone(lesson):
    lesson.write_bytes(LESSON.encode() + b"\n<!-- /posinfo -->\n")
    done = run(lesson, "lesson.md")
    assert "not generated yet" in done.stdout
    assert ": generated" not in done.stdout


def test_two_figures_are_not_one_drawing():
    figures = [block(f"figure {key} image=a.svg", "\n") for key in ("curve", "curve", "other")]
    (problem,) = [one for one in made("\n\n".join(figures)).wrong if "image" in one.text]
    assert (problem.line, problem.text) == (
        7, "image=a.svg is the drawing of figure curve in line 1",
    )  # fmt: skip


def test_a_drawing_is_written_beside_the_file_and_checked(lesson):
    figure = "<!-- posinfo: figure curve image=pictures/curve.svg -->\n<!-- /posinfo -->\n"
    lesson.write_text(figure)
    drawing = lesson.parent / "pictures" / "curve.svg"
    assert run(lesson, "--check", "lesson.md").returncode == 1
    assert not drawing.exists()
    assert run(lesson, "lesson.md").returncode == 0
    assert drawing.read_bytes() == b"<svg/>"
    assert run(lesson, "--check", "lesson.md").returncode == 0
    drawing.write_bytes(b"<svg>other</svg>")
    # A file that is left as it is keeps its drawings too.
    lesson.write_text(lesson.read_text().replace("Drawn: ", "By hand: ") + "\n")
    assert run(lesson, "lesson.md").returncode == 1
    assert drawing.read_bytes() == b"<svg>other</svg>"
    lesson.write_text(lesson.read_text().replace("By hand: ", "Drawn: "))
    done = run(lesson, "--check", "lesson.md")
    assert done.returncode == 1
    assert "lesson.md: pictures/curve.svg is not the drawing of the results" in done.stdout
    for name in ("/curve.svg", "https://a.example/curve.svg", "lesson.md"):
        lesson.write_text(figure.replace("pictures/curve.svg", name))
        done = run(lesson, "lesson.md")
        assert done.returncode == 2
        assert f"image: '{name}' is no path of an .svg file" in done.stderr
        assert lesson.read_text() == figure.replace("pictures/curve.svg", name)


def test_suggestions_change_nothing(lesson):
    lesson.write_bytes(lesson.read_bytes() + b"Not 10000.\n")
    before = lesson.read_bytes()
    done = run(lesson, "--suggest", "lesson.md")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        *(
            f"lesson.md:3: `{number}`: not looked for: whole numbers below 10,000 are most often "
            "yours; if it is a result, name its row"
            for number in (0, 7)
        ),
        "lesson.md:4: `10000`: if it is yours, mark it as given",
    ]
    assert lesson.read_bytes() == before
    assert run(lesson, "--suggest", "--check", "lesson.md").returncode == 2
    assert run(lesson, "--all", "lesson.md").returncode == 2
    assert lesson.read_bytes() == before


def test_three_suggestions_are_shown_or_all(capsys):
    rows = [{"pair": str(pair), "turn": f"0.12{pair}", "cosine": "0.9"} for pair in range(5)]
    results = Known()
    data = Dataset("tables/angles", "0", [Column(one, one) for one in rows[0]], rows, ("pair",))
    results.names = lambda: ["suites/norms", "tables/angles"]
    results.dataset = lambda name: data if name == data.name else Known.dataset(results, name)
    typed_in = plan("lesson.md", "Its cosine is 0.12.\n", results, "report.html")
    _suggest(typed_in, results, False)
    few = capsys.readouterr().out.splitlines()
    _suggest(typed_in, results, True)
    every = capsys.readouterr().out.splitlines()
    assert (len(few), few[-1]) == (5, "    … 2 more: --suggest --all")
    assert len(every) == 6
    assert every[:4] == few[:4]


def test_json_says_everything(lesson, page):
    run(lesson, "lesson.md")
    drift(page)
    done = run(lesson, "--check", "--json", "lesson.md")
    assert done.returncode == 1
    (file,) = json.loads(done.stdout)["files"]
    found = file["blocks"][0]
    assert {name: found[name] for name in ("line", "status", "old", "new", "sentence")} == {
        "line": 3, "status": "drifted", "old": "3", "new": "4",
        "sentence": "Pair 0 has angle 3; that is verified, not 7.",
    }  # fmt: skip
    assert found["permalink"] == "report/index.html#table-angles"
    assert len(found["data"]) == 64
    assert [one["status"] for one in file["numbers"]] == ["unbound", "bound", "unbound"]
    assert (file["errors"], file["notes"]) == ([], [])


def test_a_link_stays_one(lesson):
    link = lesson.parent / "link.md"
    link.symlink_to("lesson.md")
    assert run(lesson, "link.md").returncode == 0
    assert link.is_symlink()
    assert b"-->3<!--" in lesson.read_bytes()


def test_a_drawing_stands_beside_the_file_that_a_link_points_to(lesson):
    real = lesson.parent / "lessons" / "real.md"
    real.parent.mkdir()
    real.write_text(block("figure curve image=curve.svg", "\n"))
    (lesson.parent / "link.md").symlink_to(real)
    assert run(lesson, "link.md").returncode == 0
    assert (real.parent / "curve.svg").is_file()
    assert run(lesson, "--check", "link.md").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["none.md", "--from", "report.html"], "none.md: does not exist"),
        ([".", "--from", "report.html"], ".: cannot be read: Is a directory"),
        (["bad.md", "--from", "report.html"], "bad.md: is not UTF-8 at byte 1"),
        (["lesson.md", "--from", "none"], "none: does not exist"),
        (["lesson.md", "--from", "lesson.md"], "lesson.md: is no report of posinfo"),
        (["lesson.md"], "results: there are none here, and no report/index.html"),
        (["--check", "--force", "lesson.md", "--from", "report.html"], "--force: writes"),
        ([], "Missing argument 'FILES"),
    ],
)
def test_wrong_input_is_one_line(lesson, arguments, problem):
    (lesson.parent / "bad.md").write_bytes(b"a\xff")
    done = posinfo("cite", *arguments, cwd=lesson.parent)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("posinfo: ")
    assert problem in line


def test_a_figure_names_the_drawing_that_it_shows():
    text = "<!-- posinfo: figure curve image=pictures/curve.svg -->\n<!-- /posinfo -->\n"
    after = made(text)
    assert after.pictures == {"pictures/curve.svg": b"<svg/>"}
    assert "](pictures/curve.svg)](report/index.html#figure-curve)" in after.text
    spaced = made(text.replace("pictures/curve.svg", '"my pictures/a (1).svg"'))
    assert list(spaced.pictures) == ["my pictures/a (1).svg"]
    assert '<img src="my%20pictures/a%20%281%29.svg"' in rendered(spaced.text)


ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def needed(names: set[str]) -> set[str]:
    """Packages with all that they need in turn, extras aside."""
    found: set[str] = set()
    while names - found:
        name = (names - found).pop()
        found.add(name)
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                names = names | {canonicalize_name(requirement.name)}
    return found


def test_the_action_installs_all_that_is_imported(lesson):
    """A lesson's CI needs no torch; what it gets is pinned, and is enough."""
    script = ACTION["runs"]["steps"][1]["run"]
    (listed,) = re.findall(r"constraints\.txt\" \\\n\s+(.+)", script)
    pins = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert set(listed.split()) <= pins
    code = (
        "import sys; before = set(sys.modules); from posinfo.cli import main\n"
        "try: main(sys.argv[1:])\nfinally: print(*set(sys.modules) - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "cite", "lesson.md", "--from", "report.html"],
        cwd=lesson.parent, env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    distributions = metadata.packages_distributions()
    imported = {
        canonicalize_name(provider)
        for name in done.stdout.split()
        for provider in distributions.get(name.partition(".")[0], ())
    } - {"posinfo"}
    assert "markdown-it-py" in imported
    assert imported <= needed(set(listed.split()))
    assert "torch" not in needed(set(listed.split()))


def test_the_action_checks_what_it_is_told(lesson, tmp_path):
    """Its last step, as a runner starts it: patterns are expanded, and spaces in a path kept."""
    step = ACTION["runs"]["steps"][-1]
    assert set(step["env"]) == {"FILES", "REPORT", "STRICT"}
    run(lesson, "lesson.md")
    report = tmp_path / "the report.html"
    report.write_bytes((tmp_path / "report.html").read_bytes())
    program = tmp_path / "posinfo" / "bin" / "posinfo"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m posinfo "$@"\n')
    program.chmod(0o755)

    def checked(strict: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=tmp_path, capture_output=True, text=True, check=False,
            env=os.environ | {
                "FILES": "l*.md", "REPORT": report.name, "STRICT": strict,
                "RUNNER_TEMP": str(tmp_path), "PYTHONPATH": str(ROOT / "src"),
            },
        )  # fmt: skip

    assert checked("false").returncode == 0, checked("false").stderr
    assert checked("true").returncode == 1


def test_the_hook_checks_markdown_files():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["entry"].split() == ["posinfo", "cite", "--check"]
    assert hook["types"] == ["markdown"]
    assert {"id", "name", "entry", "language"} <= set(hook)


def test_the_page_about_markers_shows_markers_that_are_well():
    """Every example is read, and every option and kind stands there."""
    text = (ROOT / "docs" / "citing.md").read_text(encoding="utf-8")
    examples = re.findall(r"^<!-- (posinfo: .*?) -->|(?<=\w )<!-- (posinfo: .*?) -->", text, re.M)
    assert len(examples) == 3
    for one in examples:
        assert isinstance(parse("".join(one)), Marker)
    assert not read(text).blocks
    assert not read(text).problems
    for kind, options in OPTIONS.items():
        assert f"`{kind} " in text
        for name, choice in options.items():
            for value in choice if isinstance(choice, tuple) else ():
                assert (
                    re.search(rf"{name}={value}\b", text)
                    or value == "verdict"
                    or ((name, value) == ("format", "markdown"))
                ), (name, value)
            assert f"`{name}=" in text, name
