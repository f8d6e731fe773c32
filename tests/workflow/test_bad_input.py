"""Wrong input ends before any job, with one clear line and exit status 2, and loses nothing."""

import os
import signal
import time

import pytest


def assert_refused(project, run, *named: str) -> None:
    assert run.status == 2, run.output
    lines = [line for line in run.output.splitlines() if line.startswith("posinfo: ")]
    assert len(lines) == 1, run.output
    for text in named:
        assert text in lines[0], lines[0]
    assert "Traceback" not in run.output
    assert "rule measure_suite" not in run.output


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("\nseed: 123", "\nsed: 123", ["config/config.yaml", "'sed'", "did you mean 'seed'"]),
        ("    tolerance: 1.0e-5", "    tolerance: 1e-5",
         ["config/config.yaml", "suites.norms.tolerance", "'1e-5'", "1.0e-5"]),
        ("    tolerance: 1.0e-5", "    tolerence: 1.0e-5",
         ["suites.norms", "'tolerence'", "did you mean 'tolerance'"]),
        ("lesson_a:\n  head_dim: 8", "lesson_a:\n  head_dim: 7",
         ["lesson_a.head_dim", "7", "multiple of 2"]),
        ("lesson_a:\n  head_dim: 8", "lesson_a:\n  head_dim: 0",
         ["lesson_a.head_dim", "at least 2"]),
        ("lesson_a:\n  head_dim: 8", "lesson_a:\n  head_dim: -8",
         ["lesson_a.head_dim", "at least 2"]),
        ("\nbase: 10000.0", "\nbase: 0", ["base", "greater than 1"]),
        ("\nbase: 10000.0", "\nbase: -10000.0", ["base", "greater than 1"]),
        ("  norms:\n", "  nroms:\n", ["config/config.yaml", "nroms", "did you mean 'norms'"]),
        ("\nseed: 123", "\nseed: 123\nseed: 124", ["config/config.yaml line", "stands twice"]),
        ("\nseed: 123", "\nseed: [123", ["config/config.yaml line", "not valid YAML"]),
        ("\nseed: 123", "\nseed: yes", ["seed", "True"]),
    ],
)  # fmt: skip
def test_a_wrong_config_is_refused(project, old, new, named):
    before = project.results()
    project.edit("config/config.yaml", old, new)
    assert_refused(project, project.run(), *named)
    assert project.results() == before


def test_a_wrong_value_on_the_command_line_is_refused(project):
    assert_refused(project, project.run("--config", "sed=1"), "--config", "'sed'", "'seed'")
    assert_refused(
        project, project.run("--config", "base=-1"), "--config", "base", "greater than 1"
    )


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("id: norms-kept\n", "id: rotation-is-right\n",
         ["tests/workflow/claims.yaml", "'rotation-is-right' is taken"]),
        ("  supports:\n    - {suite: shapes", "  related: [norms-kept]\n  sources: []\n  x:\n"
         "    - {suite: shapes", ["claim shape-of-the-sum", "'x'"]),
        ("  supports:\n    - {suite: shapes, case: \"learned path, lesson A\", quantity: shape of "
         "the sum, rows: 1}\n", "", ["claim shape-of-the-sum", "rests on no row"]),
        ("{suite: shapes", "{suite: shape", ["claim shape-of-the-sum", "did you mean 'shapes'"]),
        ("case: best-fitting base,", "case: best-fiting base,",
         ["claim interpolation-is-a-base", "did you mean 'best-fitting base'"]),
        ("case: rotation, relation", "caze: rotation, relation",
         ["claim rotation-is-right", "angles has no column 'caze'", "did you mean 'case'"]),
        ("rejects: temperature left on", "rejects: temperature left off",
         ["claim norms-kept", "rejects: 'temperature left off'", "'temperature left on'"]),
        ("  rejects: temperature left on\n", "", ["claim norms-kept", "'rejects' is missing"]),
        ("verdict: confirmed", "verdict: confirmd", ["claim what-a-document-says", "confirmed"]),
        ("kind: judgement", "kind: judgment", ["claim what-nothing-decides", "'judgment'"]),
        ("{id: norms-kept, reason", "{id: norms-lost, reason", ["weighs_for", "'norms-lost'"]),
    ],
)  # fmt: skip
def test_a_wrong_claim_is_refused(project, old, new, named):
    before = project.results()
    project.edit("tests/workflow/claims.yaml", old, new)
    assert_refused(project, project.run(), *named)
    assert project.results() == before


def test_a_missing_claims_file_is_refused(project):
    run = project.run(config={"claims": ["config/claims/none.yaml"]})
    assert_refused(project, run, "config/claims/none.yaml", "does not exist")


@pytest.mark.parametrize(
    "path", ["results", "results/suites", "results/controls", "report", "logs"]
)
def test_a_file_where_results_go_is_refused(fresh, path):
    target = fresh.folder / path
    if target.is_dir():
        (target / "README.md").unlink(missing_ok=True)
        for child in target.iterdir():
            child.unlink()
        target.rmdir()
    target.parent.mkdir(exist_ok=True)
    target.write_text("in the way", encoding="utf-8")
    assert_refused(fresh, fresh.run(), path, "is a file")
    assert target.read_text(encoding="utf-8") == "in the way"


def wait_for(condition, what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.02)


def test_a_killed_run_starts_again_where_it_was(project):
    before = project.results()
    project.forget()
    process = project.start()
    suites = project.folder / "results/suites"
    wait_for(lambda: list(suites.glob("[a-z]*.csv")), "the first suite")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    # Digests are written last: what has one was finished.
    done = list((project.folder / "results/digests").glob("measure_suite_*.sha256"))
    run = project.run()
    assert run.status == 0, run.output
    assert "The last run here was killed" in run.output
    assert "Every row holds" in run.last_lines[-1]
    assert run.jobs["measure_suite"] >= 5 - len(done)
    assert not list(suites.glob(".*")), "a half-written file was left"
    assert project.results() == before


def test_a_second_run_beside_a_living_one_is_refused(project):
    project.forget()
    process = project.start()
    try:
        lock = project.folder / ".snakemake/posinfo.lock"
        # The folder is a copy of a finished run's, with the lock that this one has left.
        own = f"{process.pid}\n"
        wait_for(lambda: lock.read_text(encoding="utf-8") == own, "the first run's lock")
        second = project.run()
        assert_refused(project, second, "another run", str(process.pid))
        assert process.poll() is None, "the first run ended before the second was refused"
        # Looking is allowed.
        assert project.run("--dry-run").status == 0
    finally:
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
