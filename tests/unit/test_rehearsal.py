"""A rehearsal on other processors: what it starts, what it compares, and what it cannot do."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from posinfo import environment, gate, numerics
from posinfo.claims import Claim, Selector
from posinfo.cli import accepting, main
from posinfo.errors import InputError
from posinfo.rehearsal import compare, plan, result, run, worker
from posinfo.rehearsal.compare import Changes
from posinfo.report import inputs, view
from posinfo.report.page import render_template
from posinfo.rows import DECIDING, decide
from posinfo.schemas import table_fields
from posinfo.tidy import json_text, write, write_atomically

NATIVE, WESTMERE, HASWELL, EPYC = plan.MACHINES
PLAIN = plan.Configuration(HASWELL, profile=False, threads=2)


def row(quantity="norm", measured=1.0, *, case="a", reference=1.0, bound=1e-6, **other) -> dict:
    """A row of the suite norms as it is read from its file."""
    values = {
        "measured": measured, "reference": reference, "bound": bound, "measured_text": "",
        "reference_text": "",
    } | {name: value for name, value in other.items() if name in DECIDING}  # fmt: skip
    relation = other.pop("relation", "within")
    decision = decide(relation, **values)
    return {
        "suite": "norms", "case": case, "quantity": quantity, "subject": "code",
        "relation": relation, **values, "error": decision.error, "ratio": decision.ratio,
        "outcome": decision.outcome, "evidence": "float32", "basis": "b", "contradicts": "",
        **other,
    }  # fmt: skip


def changes(before: list[dict], after: list[dict]) -> Changes:
    return compare.together(compare.by_case(before, after).values())


# --- What is compared ------------------------------------------------------------------------


def test_the_same_rows_are_kept():
    rows = [row(), row("other", 2.0, reference=2.0)]
    assert changes(rows, [dict(one) for one in rows]) == Changes(rows=2, kept=2)


def test_a_row_that_moved_says_by_how_much():
    found = changes([row()], [row(measured=1 + 2.0**-22)])
    assert found == Changes(
        rows=1, moved=1, ulps=2, absolute=2.0**-22, relative=2.0**-22, of_bound=2.0**-22 / 1e-6
    )


@pytest.mark.parametrize(
    ("value", "unit"),
    [(1.0, 2.0**-23), (1.999, 2.0**-23), (2.0, 2.0**-22), (-0.75, 2.0**-24), (0.0, 2.0**-149),
     (2.0**-126, 2.0**-149), (2.0**-140, 2.0**-149)],
)  # fmt: skip
def test_the_unit_in_the_last_place_is_that_of_float32(value, unit):
    assert compare.ulp(value) == unit
    torch = pytest.importorskip("torch")
    near = torch.tensor(abs(value), dtype=torch.float32)
    assert torch.nextafter(near, torch.tensor(math.inf)).item() - near.item() == unit


def test_of_a_distance_from_zero_only_the_share_of_the_bound_means_something():
    found = changes([row(measured=1e-9, reference=0.0)], [row(measured=5e-7, reference=0.0)])
    assert (found.ulps, found.relative) == (0, 0)
    assert found.of_bound == pytest.approx(0.499)


def test_the_sign_of_zero_is_a_byte():
    assert changes([row(measured=0.0, reference=0.0)], [row(measured=-0.0, reference=0.0)]).moved


def test_a_row_beyond_its_bound_has_another_outcome():
    assert changes([row()], [row(measured=1.1)]).outcomes == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_nan_and_infinity_are_another_outcome_and_no_change_of_a_size(value):
    found = changes([row()], [row(measured=value)])
    assert found == Changes(rows=1, moved=1, not_finite=1, outcomes=1)


def test_nan_beside_a_large_change_does_not_hide_it():
    before = [row(), row("other")]
    for after in ([row(measured=math.nan), row("other", 1.5)],
                  [row(measured=1.5), row("other", math.nan)]):  # fmt: skip
        found = changes(before, after)
        assert (found.absolute, found.not_finite, found.outcomes) == (0.5, 1, 2)


def test_another_bound_or_text_moves_a_row_without_a_change_of_the_measured_value():
    assert changes([row()], [row(bound=2e-6)]) == Changes(rows=1, moved=1, elsewhere=1)
    texts = {"relation": "equals", "measured": None, "reference": None, "bound": None}
    before = row(measured_text="x", reference_text="x", **texts)
    after = row(measured_text="y", reference_text="x", **texts)
    assert changes([before], [after]) == Changes(rows=1, moved=1, texts=1, outcomes=1)


def test_a_row_whose_worst_is_elsewhere_says_only_how_much_more_of_its_bound_it_uses():
    found = changes([row(measured=1 + 1e-7)], [row(measured=3 + 4e-7, reference=3.0)])
    assert (found.elsewhere, found.ulps, found.absolute, found.relative) == (1, 0, 0, 0)
    assert found.of_bound == pytest.approx(0.3)


def test_another_number_in_a_column_of_the_suites_own_is_counted_apart():
    found = changes([row(seed=4.0)], [row(seed=5.0)])
    assert found == Changes(rows=1, moved=1, beside=1, others=0.25)
    assert changes([row(seed=4.0)], [row(seed=None)]).others == 1
    assert changes([row(seed=4.0)], [row(seed=math.nan)]).others == 1
    assert changes([row(), row("o", seed=4.0)], [row(), row("o", seed=6.0)]).others == 0.5


def test_a_lost_row_is_another_outcome_and_one_too_many_is_counted():
    rows = [row(), row("other")]
    assert changes(rows, rows[:1]) == Changes(rows=2, kept=1, lost=1, outcomes=1)
    assert changes(rows[:1], rows) == Changes(rows=1, kept=1, added=1)


def test_cases_are_told_apart_and_the_largest_of_each_change_is_kept():
    before = [row(), row("other"), row(case="b")]
    after = [row(measured=1.25), row("other", 1.5), row(case="b")]
    found = compare.by_case(before, after)
    assert set(found) == {("norms", "a"), ("norms", "b")}
    assert found["norms", "a"].absolute == 0.5
    assert found["norms", "b"] == Changes(rows=1, kept=1)
    assert compare.together([]) == Changes()


def claim(count: int) -> Claim:
    return Claim(
        id="kept", covers=("A1",), lesson="A", section="s", kind="computed", statement="s",
        file="f", verdict="verified", supports=(Selector("norms", {"case": ("a",)}, count),),
    )  # fmt: skip


def test_a_verdict_that_moved_is_named_with_both():
    before, after = [row()], [row(measured=1.1)]
    assert compare.verdicts([claim(1)], before, before) == compare.Verdicts(1, ())
    found = compare.verdicts([claim(1)], before, after)
    assert found.changed == ("kept: verified → undecided",)
    assert compare.verdicts([claim(1)], before, []).changed == found.changed


def test_only_claims_with_all_their_rows_are_decided(claims):
    found = compare.decidable(claims, plan.REHEARSED)
    assert len(found) > 50
    assert all(set(one.suites) <= set(plan.REHEARSED) for one in found)
    assert len(found) < sum(one.kind == "computed" for one in claims)


# --- What is started -------------------------------------------------------------------------


def test_a_process_is_started_under_the_emulator_as_its_processor():
    assert PLAIN.command("/bin/qemu", ["-m", "it"]) == [
        "/bin/qemu", "-cpu", "Haswell", sys.executable, "-m", "it",
    ]  # fmt: skip
    assert plan.REFERENCE.command(None, ["-m", "it"]) == [sys.executable, "-m", "it"]
    with pytest.raises(ValueError, match="qemu-x86_64"):
        PLAIN.command(None, [])


def test_every_configuration_is_another_and_the_reference_is_first():
    every = plan.configurations()
    names = [one.name for one in every]
    assert len(set(names)) == len(names) == 4 * len(plan.MACHINES)
    assert every[0] == plan.REFERENCE
    assert {one.machine.name for one in plan.configurations(["Haswell"])} == {"native", "Haswell"}


def test_the_environment_holds_the_profile_or_no_trace_of_it():
    inherited = {"PATH": "/bin", "MKL_CBWR": "AVX2", "OMP_SCHEDULE": "static", "NPY_X": "1"}
    with_it = plan.Configuration(HASWELL, profile=True, threads=1).environment(inherited, "src")
    assert {name: with_it[name] for name in numerics.ENVIRONMENT} == numerics.ENVIRONMENT
    without = PLAIN.environment(inherited | numerics.ENVIRONMENT, "src")
    assert without == {
        "PATH": "/bin", "PYTHONPATH": "src", "PYTHONUNBUFFERED": "1", "OMP_WAIT_POLICY": "passive",
        **dict.fromkeys(plan.THREADS, "2"),
    }  # fmt: skip


def test_settings_that_were_not_asked_for_are_named():
    facts = {
        "numerics": {"torch_threads": 2, "torch_deterministic": False, "torch_mkldnn": True},
        "variables": dict.fromkeys(plan.THREADS, "2"),
        "cpu": {"avx2": True, "avx512_f": False},
    }
    assert PLAIN.wrong(facts) == []
    assert PLAIN.wrong(facts | {"cpu": {"avx2": True, "avx512_f": True}}) == [
        "cpu.avx512_f is True, asked was False"
    ]
    assert len(plan.REFERENCE.wrong(facts)) == 6
    assert PLAIN.wrong({})


def test_every_suite_is_rehearsed_or_left_out_with_a_reason(config):
    told = plan.parameters(config)
    assert {*told, *plan.LEFT_OUT} == set(plan.SUITES)
    assert all(plan.LEFT_OUT.values())
    listed = config | {"implementations": [{"name": "mine", "file": "f", "function": "g"}]}
    assert plan.parameters(listed)["implementations"]["implementations"] == []


def test_without_the_emulator_one_line_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(["rehearse"])
    assert ended.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("posinfo: qemu-x86_64: is not installed; on Debian: apt-get install ")
    assert not any(tmp_path.iterdir())


def test_an_unknown_machine_is_refused_with_those_that_there_are(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["rehearse", "--machine", "Hasswell"])
    assert ended.value.code == 2
    assert "did you mean 'Haswell'?" in capsys.readouterr().err


def test_an_emulator_that_does_not_know_a_processor_is_refused(monkeypatch, tmp_path):
    fake = tmp_path / plan.EMULATOR
    fake.write_text("#!/bin/sh\necho x86 Haswell\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert run.emulator([PLAIN]) == str(fake)
    with pytest.raises(InputError, match="does not know the processor Westmere"):
        run.emulator(plan.configurations(["Westmere"]))
    assert run.emulator([plan.REFERENCE]) is None


def test_the_rehearsal_tool_needs_no_browser(root):
    """Without a chromium, Java or node on the path it finds the emulator alone."""
    found = shutil.which("bash")
    done = subprocess.run(
        [found, str(root / "tools/system-tools"), "--emulator"],
        env={"PATH": "/nonexistent"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "chromium" not in done.stderr


# --- What a process measures with ------------------------------------------------------------


def measured_facts(configuration: plan.Configuration, tmp_path: Path) -> dict:
    """Start a configuration's process with nothing to measure; what it says of itself."""
    folder = tmp_path / configuration.name
    request = {
        "machine": vars(configuration.machine), "profile": configuration.profile,
        "threads": configuration.threads, "emulator": "", "schemas": {}, "parameters": {},
    }  # fmt: skip
    write_atomically(folder / worker.REQUEST, json_text(request))
    done = subprocess.run(
        configuration.command(None, ["-m", "posinfo.rehearsal.worker", str(folder)]),
        env=configuration.environment(os.environ, str(run.SOURCE)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return environment.read(folder / worker.ENVIRONMENT)


def test_what_is_measured_without_the_profile_says_so_and_cannot_pass_the_gate(tmp_path):
    plain = plan.Configuration(NATIVE, profile=False, threads=2)
    facts = measured_facts(plain, tmp_path)
    assert not {"MKL_CBWR", "ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES"} & set(
        facts["variables"]
    )
    assert facts["numerics"]["torch_threads"] == 2
    [line] = gate.environment_lines([tmp_path / plain.name / worker.ENVIRONMENT])
    assert "was not measured under the numerical profile: torch_threads is 2, " in line
    assert "MKL_CBWR is ''" in line


def test_the_reference_is_measured_as_a_run_measures_and_passes_the_gate(tmp_path):
    facts = measured_facts(plan.REFERENCE, tmp_path)
    assert environment.outside_profile(facts) == []
    assert gate.environment_lines([tmp_path / plan.REFERENCE.name / worker.ENVIRONMENT]) == []


def test_measuring_for_a_run_has_no_switch(monkeypatch):
    """Nothing in the environment keeps a run's job from the profile."""
    inherited = {"PATH": os.environ["PATH"], "PYTHONPATH": str(run.SOURCE)}
    plain = PLAIN.environment(inherited, str(run.SOURCE))
    done = subprocess.run(
        [sys.executable, "-c",
         "import json; from posinfo import cli, environment, measure; "
         "from posinfo.parameters import suite_parameters as told; "
         "measure.measure('norms', told(cli.load_config(None), 'norms'), only='lesson run'); "
         "print(environment.outside_profile(environment.measuring()))"],
        env=plain, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


# --- The table -------------------------------------------------------------------------------


@pytest.fixture
def measured_folder(tmp_path, root, config, monkeypatch) -> Path:
    """A folder in which the reference and another processor are measured, one suite alone."""
    monkeypatch.setattr(run, "REHEARSED", ("norms",))
    monkeypatch.setattr(result, "REHEARSED", ("norms",))
    folder = tmp_path / "results/rehearsal"
    fields = table_fields(root / "workflow/schemas/suites/norms.yaml")
    names = [field["name"] for field in fields]
    rows = [row(), row("other")]
    for one, found in ((plan.REFERENCE, rows), (PLAIN, [row(measured=1 + 2.0**-23), row("other")])):
        filled = [dict.fromkeys(names) | each for each in found]
        write(folder / one.name / "norms.csv", filled, fields)
        asked = {
            **run.state(config), "packages": {"torch": "2"}, "python": {"version": "3"},
        }  # fmt: skip
        write_atomically(folder / one.name / worker.REQUEST, json_text(asked))
        facts = {
            "cpu": {"model": "Some"}, "numerics": {}, "variables": {},
            "emulator": "qemu 1" if one is PLAIN else "",
        }  # fmt: skip
        write_atomically(folder / one.name / worker.ENVIRONMENT, json_text(facts))
    return folder


def summary(config, folder: Path, claims=()) -> list[dict]:
    return result.summarise(config, claims, plan.configurations(), folder)


def test_the_table_says_what_moved(config, measured_folder):
    [found] = summary(config, measured_folder, [claim(2)])
    assert {name: found[name] for name in ("machine", "profile", "threads")} == PLAIN.columns
    assert (found["rows"], found["kept"], found["moved"], found["ulps"]) == (2, 1, 1, 1)
    assert (found["claims"], found["verdicts"]) == (1, 0)
    assert not result.breaks(found)
    table = result.load(measured_folder)
    assert [case["case"] for case in table.cases] == ["a"]
    assert table.configurations == [found]
    assert table.about["emulator"] == "qemu 1"


@pytest.mark.parametrize(
    ("changed", "breaks"),
    [({}, False), ({"outcomes": 1}, True), ({"verdicts": 1}, True), ({"added": 1}, True)],
)
def test_what_breaks_a_promise(changed, breaks):
    one = {**PLAIN.columns, **Changes(rows=2, kept=1, moved=1).record(), "verdicts": 0, **changed}
    assert result.breaks(one) == breaks


def test_a_case_that_moves_under_the_profile_and_did_not_is_named():
    def case(moved: int, *, profile: str = "on", machine: str = "Haswell", name: str = "a") -> dict:
        return {
            "machine": machine, "profile": profile, "threads": 1, "suite": "norms", "case": name,
            **Changes(rows=2, kept=2 - moved, moved=moved).record(),
        }  # fmt: skip

    accepted = [case(1), case(0, name="b")]
    assert result.newly_moved(accepted, accepted) == []
    assert result.newly_moved([case(2)], accepted) == ["norms, a on Haswell"]
    assert result.newly_moved([case(1, name="b")], accepted) == ["norms, b on Haswell"]
    assert result.newly_moved([case(2, profile="off"), case(2, machine="EPYC")], accepted) == []


def test_what_other_code_measured_is_refused(config, measured_folder):
    path = measured_folder / PLAIN.name / worker.REQUEST
    asked = json.loads(path.read_text(encoding="utf-8")) | {"code": "0"}
    write_atomically(path, json_text(asked))
    with pytest.raises(InputError, match="was measured by other code or settings"):
        summary(config, measured_folder)


def test_a_reference_that_does_not_hold_is_refused(config, measured_folder, root):
    path = measured_folder / plan.REFERENCE.name / "norms.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("holds", "fails", 1), encoding="utf-8")
    with pytest.raises(InputError, match="1 rows do not hold"):
        summary(config, measured_folder)


def test_a_table_is_accepted_with_the_reason_and_stale_once_the_code_is_another(
    config, measured_folder, tmp_path, monkeypatch
):
    summary(config, measured_folder)
    target, notes = tmp_path / "baseline", tmp_path / "CHANGES.md"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(result.accept, "__defaults__", (run.FOLDER, target))
    monkeypatch.setattr(result.differs, "__defaults__", (run.FOLDER, target))
    monkeypatch.setattr(accepting, "CHANGES", notes)
    for because, options in (("never", ["--dry-run"]), ("a new torch", []), ("again", [])):
        with pytest.raises(SystemExit) as ended:
            main(["accept", "rehearsal", "--because", because, *options])
        assert ended.value.code == 0
        assert target.is_dir() == (because != "never")
    noted = notes.read_text(encoding="utf-8")
    assert noted.count("a new torch") == 1
    assert "again" not in noted
    assert "1 configurations of Haswell; 0 outcomes and 0 verdicts moved." in noted
    found = result.load(target)
    here = run.state(config)
    assert not found.stale(here)
    assert found.stale(here | {"code": "0"})
    assert found.stale(here | {"settings": "0"})
    csv = measured_folder / plan.REFERENCE.name / "norms.csv"
    assert found.same_rows([csv])
    assert not found.same_rows([])
    csv.write_text(csv.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert not found.same_rows([csv])


def test_a_table_that_was_edited_is_refused(config, measured_folder):
    summary(config, measured_folder)
    path = measured_folder / result.CONFIGURATIONS
    path.write_text(path.read_text(encoding="utf-8").replace(",1,", ",0,"), encoding="utf-8")
    with pytest.raises(InputError, match=r"configurations.csv: was changed after it was made"):
        result.load(measured_folder)


def test_a_finished_suite_is_not_measured_again_but_by_other_code(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "REHEARSED", ("norms", "shapes"))
    assert run.prepared(tmp_path / "one", {"code": "1"})
    (tmp_path / "one/norms.csv").touch()
    assert run.prepared(tmp_path / "one", {"code": "1"})
    assert (tmp_path / "one/norms.csv").exists()
    (tmp_path / "one/shapes.csv").touch()
    (tmp_path / "one" / worker.ENVIRONMENT).touch()
    assert not run.prepared(tmp_path / "one", {"code": "1"})
    assert run.prepared(tmp_path / "one", {"code": "2"})
    assert not (tmp_path / "one/norms.csv").exists()


def test_two_rehearsals_do_not_work_in_one_folder(tmp_path, config):
    with run._alone(tmp_path), pytest.raises(InputError, match="another rehearsal is at work"):
        run.run([], config, jobs=1, folder=tmp_path)


# --- The page --------------------------------------------------------------------------------


def test_the_page_shows_what_moved_and_what_did_not(config, measured_folder):
    summary(config, measured_folder, [claim(2)])
    found = view.portability(result.load(measured_folder), result.CURRENT)
    [shown] = found.configurations
    assert (shown.machine, shown.moved, shown.ulps, shown.outcomes) == ("Haswell", "1", "1", "–")
    assert found.suites == (("norms", "0", "0", "1"),)
    assert (found.kept, found.changed, found.outcomes) == ((), (), 0)
    assert view.portability(None, "") is None


def test_a_verdict_that_moved_is_on_the_page(config, measured_folder, root):
    path = measured_folder / PLAIN.name / "norms.csv"
    fields = table_fields(root / "workflow/schemas/suites/norms.yaml")
    names = [field["name"] for field in fields]
    rows = [dict.fromkeys(names) | one for one in (row(measured=1.1), row("other"))]
    write(path, rows, fields)
    [one] = summary(config, measured_folder, [claim(2)])
    assert result.breaks(one)
    found = view.portability(result.load(measured_folder), result.CURRENT)
    assert found.changed == ("Haswell, profile off, 2 threads: kept: verified → undecided",)
    assert found.outcomes == 1


@pytest.mark.parametrize(
    ("stands", "says"),
    [(result.CURRENT, ""), (result.SAME_ROWS, "measured the same rows as before"),
     (result.STALE, "<strong>Stale:</strong>")],
)  # fmt: skip
def test_the_page_says_how_the_table_stands_to_the_code_of_now(
    config, measured_folder, root, stands, says
):
    summary(config, measured_folder, [claim(2)])
    found = view.portability(result.load(measured_folder), stands)
    html = render_template(
        str(root / "workflow/report"),
        "portability.html.j2",
        page=SimpleNamespace(portability=found),
    )
    assert html.count("Other outcomes") == 1
    assert "Not everything came out the same" not in html
    for text in ("measured the same rows as before", "<strong>Stale:</strong>"):
        assert (text in html) == (text == says)
    assert "<tr><th scope=row>Haswell<td>off<td>2<td>1<td>1<td>" in html


def test_a_broken_table_is_a_problem_of_the_page_and_no_crash(measured_folder, config):
    summary(config, measured_folder)
    path = measured_folder / result.ABOUT
    read = inputs._portability
    assert read(str(measured_folder), run.state(config), [])[1:] == (result.CURRENT, [])
    assert read(str(measured_folder), {"code": "0"}, [])[1:] == (result.STALE, [])
    assert read("", {}, []) == (None, "", [])
    for content in ("", "[]", '{"code": "0"}', '{"tables": 3}'):
        path.write_text(content, encoding="utf-8")
        found, _, [line] = read(str(measured_folder), run.state(config), [])
        assert found is None
        assert line.startswith(str(path))


def test_the_accepted_table_can_be_read_and_is_what_its_record_says(root):
    found = result.load(root / "baseline/portability")
    machines = {one["machine"] for one in found.configurations}
    assert len(machines - {NATIVE.name}) >= 2
    assert not any(result.breaks(one) for one in found.configurations)
