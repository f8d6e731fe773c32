"""The page from files: text stays text, the same bytes, and what is wrong is said."""

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

import jinja2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from posinfo.cite.results import (
    LEDGER_DIGEST_ID,
    VERDICTS_DIGEST_ID,
    VERDICTS_ID,
    FolderResults,
    PageResults,
)
from posinfo.claims import Claim, load_entries
from posinfo.digests import record
from posinfo.errors import InputError
from posinfo.ledger import decide_claims
from posinfo.report import build, read_inputs, render, view, words
from posinfo.report.page import breakable, prose, style_hash
from posinfo.schemas import table_fields
from posinfo.tables import FIGURES, TABLES, build_all
from posinfo.tables import Data as TableData
from posinfo.tidy import json_text, write, write_atomically
from reported import TEMPLATES


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
        "findings": str(root / "workflow" / "report" / "findings.yaml"),
        "findings_schema": str(schemas / "findings.schema.yaml"),
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
    schemas = Path(TEMPLATES).parent / "schemas"
    carried = PageResults(str(alone), schemas)
    folder = FolderResults(str(results), schemas, Path(TEMPLATES))
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
