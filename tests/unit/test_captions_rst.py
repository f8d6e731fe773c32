"""Captions for Snakemake's own report: the page's, with every sign standing for itself."""

import re

import jinja2
import pytest
from docutils.core import publish_parts
from hypothesis import given
from hypothesis import strategies as st

from posinfo.captions_rst import FOLDER, rst, write_captions
from posinfo.schemas import load_yaml


def shown(text: str) -> tuple[str, str]:
    """What a reader reads, and what the report holds, by the way that Snakemake goes."""
    body = publish_parts(
        jinja2.Environment().from_string(rst("T", text)).render(),  # noqa: S701  (as Snakemake)
        writer="html",
        settings_overrides={"report_level": 2, "halt_level": 2},
    )["body"]
    return re.sub(r"<[^>]*>", "", body).strip(), body


@pytest.mark.parametrize(
    "text",
    ["{{ 1/0 }} and {% raise %}", "a_b_ *c* `d` |e| [f]_ ::", r"back\slash", "4.8 × 10⁻⁷ at θ′/θ",
     "see http://example.org/x_y", "<script>alert(1)</script>"],
)  # fmt: skip
def test_no_sign_is_a_mark(text):
    plain, body = shown(text)
    assert plain.replace("&lt;", "<").replace("&gt;", ">") == f"T. {text}"
    assert set(re.findall(r"<(\w+)", body)) <= {"p", "strong"}


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1))
def test_no_text_breaks_the_report(text):
    shown("x" + " ".join(text.split()))


def test_each_table_and_figure_has_a_file_with_its_numbers_or_why_there_are_none(
    root, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/coverage.csv").write_text(
        "base,method,name,factor,outside,pairs,share\n"
        "10000,none,unchanged,2,18,64,0.28125\n500000,none,unchanged,2,32,64,0.5\n"
        "10000,ntk,NTK-aware,2,17,64,0.265625\n500000,ntk,NTK-aware,2,31,64,0.484375\n"
        "10000,pi,interpolation (PI),2,0,64,0\n500000,pi,interpolation (PI),2,0,64,0\n",
        encoding="utf-8",
    )
    schemas = root / "workflow/schemas"
    written = write_captions(
        root / "workflow/report/captions.yaml",
        load_yaml(schemas / "captions.schema.yaml"),
        {"figure": ["figures/coverage.csv", "figures/mechanism.csv", "figures/finding-x.csv"]},
        schemas,
    )
    assert list(written) == ["figures/coverage.csv", "figures/mechanism.csv"]
    texts = [(tmp_path / file).read_text(encoding="utf-8") for _, file in written.values()]
    assert "28 %" in texts[0]
    assert "Not made in this run" in texts[1]
    assert all(file.startswith(FOLDER) for _, file in written.values())
