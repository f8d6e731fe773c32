"""The command posinfo, started as a person starts it, and its parts."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from snakemake.utils import update_config

from posinfo import __version__, cli
from posinfo.catalogue import SUITES, listing
from posinfo.check.result import finite
from posinfo.cli import controlling, measuring
from posinfo.parameters import overlay, shared_parameters, suite_parameters

ROOT = Path(__file__).resolve().parents[2]


def posinfo(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "posinfo", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def one_line(done: subprocess.CompletedProcess) -> str:
    """What a wrong call says: exit status 2, nothing else, one line."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("posinfo: ")
    return line.removeprefix("posinfo: ")


def test_importing_the_command_imports_nothing_slow():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, posinfo.cli; print(*sys.modules)"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    slow = {"torch", "numpy", "pandas", "matplotlib", "sympy", "snakemake", "jsonschema", "rich"}
    assert slow & set(done.stdout.split()) == set()


def test_version():
    assert posinfo("--version").stdout == f"posinfo {__version__}\n"


@pytest.mark.parametrize(
    "command", [[], ["measure"], ["control"], ["suites"], ["check"], ["cite"], ["model"]]
)
def test_help_describes_every_option(command):
    done = posinfo(*command, "--help", COLUMNS="200")
    assert done.returncode == 0
    options = [line for line in done.stdout.splitlines() if "--" in line and "│" in line]
    assert options
    for line in options:
        assert len(line.strip("│ ").split()) > 4, f"no help: {line}"


def test_the_catalogue_is_what_the_suites_register():
    """It is read from the source, for a list must not cost an import of torch."""
    for suite in SUITES:
        registered = importlib.import_module(f"posinfo.suites.{suite}").SUITE
        found = listing(suite)
        assert list(found.cases) == list(registered.cases)
        assert found.title == registered.title
        assert all(found.cases.values()), "a case without a docstring"


def test_suites_lists_every_suite_and_case():
    done = posinfo("suites")
    assert done.returncode == 0
    for suite in SUITES:
        for name in [suite, listing(suite).title, *listing(suite).cases]:
            assert name in done.stdout
    as_json = json.loads(posinfo("suites", "--json").stdout)
    assert list(as_json) == list(SUITES)
    assert as_json["norms"]["cases"] == listing("norms").cases


def test_one_case_as_a_table():
    done = posinfo("measure", "shapes", "--case", "parameters")
    assert done.returncode == 0, done.stderr
    assert "✓ holds" in done.stdout
    assert "parameters of the learned table, GPT-2 small" in done.stdout
    # 1024 positions of 768 components.
    assert "786432" in done.stdout
    assert done.stdout.splitlines()[-1] == "4 rows: 4 hold"


def test_a_control_as_a_table():
    done = posinfo("control", "norms-kept-in-the-lesson-run")
    assert done.returncode == 0, done.stderr
    assert "temperature left on" in done.stdout
    assert "✓ caught: undecided" in done.stdout
    assert "8 of 8" in done.stdout


def test_a_fault_that_a_claim_does_not_notice_gives_status_one():
    done = posinfo("control", "norms-kept-in-the-lesson-run", "--json",
                   "--fault", "angle of the wrong sign",
                   "--fault", "temperature left on")  # fmt: skip
    assert done.returncode == 1, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["measured_text"] for row in rows] == ["verified", "undecided"]


def test_every_fault_is_tried_and_the_own_one_decides_the_status():
    done = posinfo("control", "position-zero-changes-nothing", "--every-fault", "--json")
    assert done.returncode == 0, done.stderr
    found = {row["fault"]: row["measured_text"] for row in json.loads(done.stdout)["rows"]}
    assert len(found) > 100
    assert found["positions start at one"] == "undecided"
    assert found["angle of the wrong sign"] == "verified"


@pytest.mark.parametrize(("asked", "shown", "more"), [([], 1, 2), (["two"], 2, 1)])
def test_faults_that_nobody_asked_for_and_a_claim_lets_through_are_counted(
    capsys, asked, shown, more
):
    rows = [
        {"fault": name, "outcome": outcome, "measured_text": text, "rows_lost": 0, "rows_asked": 8,
         "first_lost": "", "found": ""}
        for name, outcome, text in (
            ("one", "holds", "undecided"), ("two", "fails", "verified"),
            ("three", "fails", "verified"),
        )
    ]  # fmt: skip
    controlling._print_controls(rows, asked)
    said = capsys.readouterr().out
    assert "✓ caught: undecided" in said
    assert ("✗ let through: verified" in said) == bool(asked)
    assert f"\n{more} more fault" in said
    assert sum(line.split()[0] in ("one", "two", "three") for line in said.splitlines()) == shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["norms-kept"], "'norms-kept' is no computed claim: did you mean"),
        (["companion-lab"], "'companion-lab' is no computed claim"),
        (["distances-never-seen-are-counted"], "names no fault; choose one with --fault"),
        (
            ["exercise-as-a-test"],
            "is refuted: it has no control; see its rows with posinfo measure --claim "
            "exercise-as-a-test",
        ),
        (["frequency-formula", "--fault", "reflexion"], "did you mean 'reflection'?"),
        (["frequency-formula", "--fault", "prints"], "'prints' has no stand-in"),
    ],
)
def test_a_control_that_cannot_be_is_refused_in_one_line(arguments, problem):
    assert problem in one_line(posinfo("control", *arguments))


def test_shapes_are_no_markup():
    done = posinfo("measure", "shapes", "--case", "learned path, lesson B", "--quantity", "[T]")
    assert done.returncode == 0, done.stderr
    assert "positions of shape [T]" in done.stdout
    assert "[5, 32]" in done.stdout


def test_rows_are_those_of_the_library_and_of_a_run():
    done = posinfo("measure", "norms", "--case", "lesson run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    code = (
        "import json; from posinfo import cli, measure, parameters; "
        "config = cli.load_config(None); "
        "rows = measure.measure('norms', parameters.suite_parameters(config, 'norms'), "
        "only='lesson run'); print(json.dumps(rows))"
    )
    library = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found["rows"] == json.loads(library.stdout.splitlines()[-1])
    assert found["outcomes"] == {
        "holds": len(found["rows"]), "fails": 0, "error": 0, "not run": 0,
    }  # fmt: skip


def test_a_row_that_does_not_hold_gives_1(tmp_path):
    impossible = tmp_path / "impossible.yaml"
    impossible.write_text("suites: {norms: {tolerance: 1.0e-30}}\n", encoding="utf-8")
    arguments = ["measure", "norms", "--case", "lesson run", "--config", str(impossible)]
    done = posinfo(*arguments)
    assert done.returncode == 1
    assert "✗ fails" in done.stdout
    assert "Traceback" not in done.stderr
    assert json.loads(posinfo(*arguments, "--json").stdout)["outcomes"]["fails"] > 0
    # Rows that hold give 0, whatever the rows that are not shown do.
    assert posinfo(*arguments, "--quantity", "pair norms").returncode == 0


def test_a_measurement_that_crashes_gives_1_and_clean_json(tmp_path):
    broken = tmp_path / "broken.yaml"
    # A list that goes on past the last pair: the case crashes.
    published = {
        "name": "x", "method": "none", "head_dim": 128, "base": 10000.0, "trained_length": 2048,
        "factor": 1, "digits": 5, "first_pair": 63, "values": [0.1, 0.2], "source": "x",
    }  # fmt: skip
    over = {"suites": {"extension": {"published": [published]}}}
    broken.write_text(json.dumps(over), encoding="utf-8")
    done = posinfo("measure", "extension", "--case", "published values", "--json",
                   "--config", str(broken))  # fmt: skip
    assert done.returncode == 1
    assert json.loads(done.stdout)["outcomes"]["error"] == 1


def test_a_value_that_is_no_number_is_valid_json():
    strict = json.dumps(finite({"rows": [{"measured": float("nan"), "bound": float("inf")}]}),
                        allow_nan=False)  # fmt: skip
    assert json.loads(strict) == {"rows": [{"measured": "nan", "bound": "inf"}]}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing command"),
        (["mesure"], "No such command 'mesure'"),
        (["measure"], "name a suite ("),
        (["measure", "norms", "--cases", "x"], "No such option"),
        (["measure", "norm"], "'norm' is unknown: did you mean 'norms'? allowed: angles"),
        (["measure", "norms", "--case", "lesson"], "did you mean 'lesson run'? allowed:"),
        (["measure", "norms", "--config", "absent.yaml"], "absent.yaml: does not exist"),
        (["measure", "norms", "--config", "."], "cannot be read"),
    ],
)
def test_wrong_usage_is_one_line(arguments, says):
    assert says in one_line(posinfo(*arguments))


def test_a_quantity_that_no_row_has_is_one_line():
    done = posinfo("measure", "shapes", "--case", "parameters", "--quantity", "parameters of Rope!")
    assert done.returncode == 2
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert "is in no row: did you mean 'parameters of RoPE'?" in last


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sed: 1\n", "unknown key 'sed': did you mean 'seed'?"),
        ("lesson_b: {head_dim: 7}\n", "lesson_b.head_dim: 7 is not a multiple of 2"),
        ("suites: {norms: {tolerance: 1e-5}}\n", "write a number with a point, such as 1.0e-5"),
        ("suites: {norm: {}}\n", "suites: unknown key 'norm': did you mean 'norms'?"),
        ("suites: norms\n", "suites: 'norms' is not of type object"),
        ("- seed\n", "must hold keys with values"),
        ("", "must hold keys with values"),
        ("seed: [\n", "is not valid YAML"),
    ],
)
def test_a_wrong_config_is_one_line(tmp_path, text, says):
    file = tmp_path / "my config.yaml"
    file.write_text(text, encoding="utf-8")
    line = one_line(posinfo("measure", "norms", "--config", str(file)))
    assert line.startswith(str(file))
    assert says in line


def test_any_working_directory_will_do(tmp_path):
    done = posinfo("measure", "norms", "--case", "lesson run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_reading_is_no_error():
    done = subprocess.run(
        ["bash", "-c", '"$0" -m posinfo suites | head -n 1', sys.executable],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(SUITES[0])
    assert done.stderr == ""


def test_a_suite_is_told_its_section_and_what_is_shared():
    config = cli.load_config(None)
    for suite in SUITES:
        told = suite_parameters(config, suite)
        own = set(config["suites"][suite])
        own |= {"packages"} if suite in ("peers", "models") else set()
        own |= {"presets"} if suite == "models" else set()
        own |= {"accepted", "schema", "settings", "code"} if suite == "pretrained" else set()
        own |= {"implementations"} if suite == "implementations" else set()
        own |= {"decoder", "weights"} if suite == "trained" else set()
        assert told.keys() == shared_parameters(config).keys() | own
        assert {key: told[key] for key in config["suites"][suite]} == config["suites"][suite]
        assert told.keys() & {"suites", "claims"} == set()


_KEYS = st.sampled_from("abc")
_LEAVES = st.sampled_from([None, True, 0, 1.5, "text", [1, 2]])
_CONFIGS = st.dictionaries(
    _KEYS, _LEAVES | st.dictionaries(_KEYS, _LEAVES | st.dictionaries(_KEYS, _LEAVES))
)


@given(_CONFIGS, _CONFIGS)
def test_a_config_is_laid_over_another_as_snakemake_does(below, above):
    expected = json.loads(json.dumps(below))
    update_config(expected, above)
    before = json.dumps(below)
    assert overlay(below, above) == expected
    assert json.dumps(below) == before, "the config below was changed"


def test_the_shipped_config_laid_over_itself_is_itself():
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    assert overlay(config, config) == config


@pytest.mark.parametrize(
    ("outcomes", "text"),
    [
        (["holds"] * 13, "13 rows: 13 hold"),
        (["holds", "fails", "error", "error"], "4 rows: 1 holds, 1 fails, 2 errors"),
        (["holds"], "1 row: 1 holds"),
        ([], "0 rows: none was measured"),
    ],
)
def test_rows_are_counted_in_grammar(outcomes, text):
    assert measuring._counted([{"outcome": outcome} for outcome in outcomes]) == text


@pytest.mark.parametrize(
    ("name", "verdict", "supporting", "breaking", "cases"),
    [
        ("norms-kept-in-the-lesson-run", "verified", 8, 0, 1),
        ("exercise-as-a-test", "refuted", 0, 10, 2),
    ],
)
def test_the_rows_of_a_claim_are_measured_and_its_verdict_follows(
    name, verdict, supporting, breaking, cases
):
    done = posinfo("measure", "--claim", name, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["claim"], found["recorded"], found["reproduced"]) == (name, verdict, verdict)
    assert len(found["supports"]) == supporting
    assert len(found["breaks"]) == breaking
    assert found["problems"] == []
    # Only the cases needed.
    assert done.stderr.count(" cases, ") == cases


def test_the_rows_of_a_claim_as_tables():
    done = posinfo("measure", "--claim", "norms-kept-in-the-lesson-run")
    assert done.stdout.startswith("Rows that support it:")
    assert "8 rows: 8 hold" in done.stdout
    assert done.stdout.splitlines()[-1] == (
        "norms-kept-in-the-lesson-run (B38): verified, recorded as verified"
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "name a suite (shapes, "),
        (["--claim", "norms-kept"], "'norms-kept' is no computed claim: did you mean"),
        (["norms", "--claim", "norms-kept-in-the-lesson-run"], "give no suite, case or quantity"),
    ],
)
def test_a_claim_that_cannot_be_measured_is_refused_in_one_line(arguments, problem):
    assert problem in one_line(posinfo("measure", *arguments))
