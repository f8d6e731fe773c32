"""Who imports whom, and that the parts that go together agree: suites and schemas, rules and
scripts."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from posinfo import catalogue
from posinfo.catalogue import SUITES, code_path, listing
from posinfo.imports import library_files
from posinfo.rows import COLUMNS
from posinfo.schemas import table_fields

#: The mathematics: no input, no output, nothing of the workflow.
MATHS = ("posinfo.encodings", "posinfo.scaling", "posinfo.reference", "posinfo.proofs")
#: Parts that run at every call, or render a page: they must not wait for torch.
LIGHT = (
    "tables", "figures", "report", "gate", "ledger", "claims", "cli", "checks", "job", "tidy",
    "check.process", "check.page", "battery.signatures", "cite.plan", "baseline.run",
    "baseline.standing", "models.table", "models.page",
)  # fmt: skip
HEAVY = ("torch", "sympy", "mpmath")


def is_maths(module: str) -> bool:
    return any(module == part or module.startswith(f"{part}.") for part in MATHS)


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("posinfo", include_external_packages=True, cache_dir=None)


@pytest.fixture(scope="module")
def ours(graph) -> set[str]:
    return {name for name in graph.modules if name.partition(".")[0] == "posinfo"}


def test_the_mathematics_imports_only_mathematics_of_ours(graph, ours):
    maths = {module for module in ours if is_maths(module)}
    assert len(maths) > 8
    for module in maths:
        others = graph.find_upstream_modules(module) & ours
        assert {other for other in others if not is_maths(other)} <= {"posinfo"}, module


def test_the_mathematics_does_no_input_or_output(graph, ours):
    doing = {"os", "pathlib", "csv", "io", "sys", "subprocess", "yaml", "json", "jinja2", "logging"}
    for module in filter(is_maths, ours):
        assert not graph.find_modules_directly_imported_by(module) & doing, module


def test_a_reference_does_not_import_what_it_checks(graph, ours):
    for module in ours:
        if module.startswith("posinfo.reference"):
            upstream = graph.find_upstream_modules(module) & ours
            assert all(other.startswith("posinfo.reference") for other in upstream - {"posinfo"})


def test_nothing_in_the_library_imports_snakemake(graph, root):
    assert "snakemake" not in graph.modules
    assert {"torch", "sympy", "mpmath", "yaml"} <= graph.modules


def test_the_flow_has_one_direction(graph, ours):
    """Suites know nothing of claims and pages; what comes after reads their files alone."""
    stages = (
        "claims", "controls", "ledger", "gate", "tables", "figures", "report", "cite", "baseline",
    )  # fmt: skip
    later = {module for module in ours if module.split(".")[1:2] and module.split(".")[1] in stages}
    assert {module.split(".")[1] for module in later} == set(stages)
    for module in ours:
        upstream = graph.find_upstream_modules(module)
        if module.startswith("posinfo.suites"):
            assert not upstream & later, module
        if module in later:
            assert not any(other.startswith("posinfo.suites") for other in upstream), module


@pytest.mark.parametrize("name", LIGHT)
def test_what_runs_at_every_call_imports_no_heavy_library(child_environment, name):
    code = (
        f"import sys, json, posinfo.{name}; "
        f"print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=child_environment,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_the_same_question_finds_torch_where_it_is(child_environment):
    """Otherwise the test above could not fail."""
    code = "import sys, posinfo.suites.common; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=child_environment,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.strip() == "True"


# Suites, their schemas, their section of the config and their entry in the catalogue.


def test_every_suite_is_known_everywhere(root, config):
    folder = root / "src" / "posinfo" / "suites"
    modules = {path.stem for path in folder.glob("*.py")}
    modules |= {path.parent.name for path in folder.glob("*/__init__.py")}
    schemas = {path.stem for path in (root / "workflow" / "schemas" / "suites").glob("*.yaml")}
    assert modules - {"__init__", "base", "common"} == set(SUITES)
    assert schemas - {"rows"} == set(SUITES)
    assert tuple(config["suites"]) == SUITES
    rules = (root / "workflow" / "rules" / "common.smk").read_text()
    named = re.search(r"^SUITES = (.+)$", rules, re.MULTILINE)
    if named:
        assert all(f'"{suite}"' in named[1] for suite in SUITES)
    else:
        assert "SUITES" in re.search(r"^from posinfo\.catalogue import .+$", rules, re.MULTILINE)[0]


@pytest.mark.parametrize("suite", SUITES)
def test_a_suites_columns_are_those_of_its_schema(root, suite):
    fields = table_fields(root / "workflow" / "schemas" / "suites" / f"{suite}.yaml")
    module = importlib.import_module(f"posinfo.suites.{suite}")
    assert tuple(field["name"] for field in fields) == (*COLUMNS, *module.SUITE.columns)


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_fills_every_column_of_its_own(measured, suite):
    module = importlib.import_module(f"posinfo.suites.{suite}")
    filled = {
        name for row in measured[suite] for name, value in row.extra.items()
        if value not in (None, "")
    }  # fmt: skip
    assert filled == set(module.SUITE.columns)


@pytest.mark.parametrize("suite", SUITES)
def test_the_catalogue_lists_a_suites_cases_in_their_order(suite):
    """It reads them from the source, for importing a suite imports torch."""
    module = importlib.import_module(f"posinfo.suites.{suite}")
    assert module.SUITE.name == suite
    assert listing(suite).title == module.SUITE.title
    assert list(listing(suite).cases) == list(module.SUITE.cases)
    assert all(listing(suite).cases.values())


@pytest.mark.parametrize("suite", SUITES)
def test_a_suites_code_is_where_it_is_said_to_be(root, suite):
    path = root / code_path(suite)
    assert path.is_dir() if code_path(suite).endswith("/") else path.is_file()


def test_a_package_lists_its_modules_cases_in_the_order_of_its_imports(tmp_path, monkeypatch):
    package = tmp_path / "lookup"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from posinfo.suites.base import Suite\nfrom posinfo.suites.lookup.own import SUITE\n"
        "from posinfo.suites.lookup import z, a\nfrom posinfo.suites.lookup import z as again\n"
    )
    (package / "own.py").write_text('SUITE = Suite("lookup", "a title")\n')
    case = '@SUITE.case("{0}")\ndef {0}(rows, parameters):\n    """Does {0}."""\n'
    for name in ("a", "z", "not_imported"):
        (package / f"{name}.py").write_text(case.format(name))
    monkeypatch.setattr(catalogue, "_FOLDER", tmp_path)
    found = listing.__wrapped__("lookup")
    assert found.title == "a title"
    assert list(found.cases.items()) == [("z", "Does z."), ("a", "Does a.")]
    assert code_path("lookup") == "src/posinfo/suites/lookup/"
    assert code_path("norms") == "src/posinfo/suites/norms.py"


def test_every_module_of_a_package_is_imported_and_among_a_jobs_files(root):
    """One that the package forgot to import would measure nothing."""
    packages = [suite for suite in SUITES if code_path(suite).endswith("/")]
    assert packages
    for suite in packages:
        names = {
            f"posinfo/suites/{suite}/{path.name}" for path in (root / code_path(suite)).glob("*.py")
        }
        assert names <= set(library_files(str(root / "src"), [f"posinfo.suites.{suite}"]))


# Rules and scripts.


def rules_of(root: Path) -> dict[str, str]:
    """The script of each rule, by the rule's name."""
    found = {}
    for path in (root / "Snakefile", *sorted((root / "workflow" / "rules").glob("*.smk"))):
        blocks = re.split(r"^rule (\w+):$", path.read_text(), flags=re.MULTILINE)
        for name, body in zip(blocks[1::2], blocks[2::2], strict=True):
            script = re.search(r'script:\s+"([^"]+)"', body)
            assert script, f"rule {name} runs no script"
            found[name] = str((path.parent / script[1]).resolve().relative_to(root.resolve()))
    return found


def test_a_rule_and_its_script_have_one_name(root):
    rules = rules_of(root)
    assert rules.pop("all") == "scripts/gate.py"
    assert rules == {name: f"scripts/{name}.py" for name in rules}
    assert len(rules) >= 5


def test_every_script_has_a_rule_and_every_rule_a_script(root):
    scripts = {f"scripts/{path.name}" for path in (root / "scripts").glob("*.py")}
    assert scripts == set(rules_of(root).values())


def test_every_script_is_a_job_and_no_more(root):
    """What it does is the library's; imported, it does nothing."""
    paths = list((root / "scripts").glob("*.py"))
    assert paths
    for path in paths:
        text = path.read_text()
        _, main, body = text.partition('\nif __name__ == "__main__":\n')
        assert main, path
        assert body.startswith("    with job(snakemake):\n"), path
        assert text.startswith('"""'), path
        assert "import torch" not in text, path


def test_no_rule_runs_python_of_its_own(root):
    """``run:`` starts a Snakemake of its own, without the number of threads."""
    for path in (root / "Snakefile", *(root / "workflow" / "rules").glob("*.smk")):
        text = path.read_text()
        for banned in ("run:", "shell:", "message:", "retries:", "touch("):
            assert not re.search(rf"^\s*{re.escape(banned)}", text, re.MULTILINE), (path, banned)
