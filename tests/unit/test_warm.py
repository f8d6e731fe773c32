"""The process that measures for all jobs: the same rows, one process, an end with its run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from posinfo import warm
from posinfo.parameters import suite_parameters

HOLD = """
import os, time
from posinfo import runlock
lock = runlock.hold()
print(os.environ[runlock.LOCK_VARIABLE], flush=True)
time.sleep(120)
"""
MEASURE = """
import json, sys
from posinfo.warm import measured
suite, parameters = json.loads(sys.argv[1])
rows, environment = measured(suite, parameters)
print("torch here:", "torch" in sys.modules)
with open(sys.argv[2], "w") as file:
    json.dump([rows, environment], file)
"""


@pytest.fixture
def run(tmp_path: Path, child_environment: dict[str, str]) -> Iterator[subprocess.Popen]:
    """A living run in a folder of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=tmp_path, env=child_environment, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    process.lock = process.stdout.readline().strip()
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def measure(tmp_path: Path, child_environment: dict[str, str], config: dict):
    """Measure a suite in a job: its rows, and what stands in its log.

    What the measuring process says of itself is kept as ``measure.environment``.
    """

    def measure(suite: str, **environment: str) -> tuple[list, str, int]:
        target = tmp_path / "rows.json"
        target.unlink(missing_ok=True)
        known = suite in config["suites"]
        asked = json.dumps([suite, suite_parameters(config, suite) if known else {}])
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, asked, str(target)],
            cwd=tmp_path, env=child_environment | environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        found = json.loads(target.read_text()) if target.exists() else [[], {}]
        rows, measure.environment = found
        return rows, done.stdout, done.returncode

    return measure


def servers(folder: Path) -> list[int]:
    """Processes of the module in this folder; copies of it have it as their parent."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            if b"posinfo.warm" in command and os.readlink(entry / "cwd") == str(folder):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each job measures by itself")


@linux
def test_the_rows_are_those_that_a_job_measures_by_itself(run, measure, tmp_path):
    alone, said_alone, _ = measure("norms")
    environment = measure.environment
    shared, said, status = measure("norms", POSINFO_RUN_LOCK=run.lock)
    assert status == 0
    assert alone
    assert shared == alone
    assert environment["numerics"]["torch_cpu_capability"] == "DEFAULT"
    assert measure.environment == environment
    assert said_alone.endswith("torch here: True\n")
    assert said == said_alone.replace("torch here: True", "torch here: False")


CONTROL = """
import json, sys
from posinfo.warm import controlled
rows, environment = controlled(*json.loads(sys.argv[1]))
assert environment["numerics"]["torch_threads"] == 1
print("torch here:", "torch" in sys.modules)
with open(sys.argv[2], "w") as file:
    json.dump(rows, file)
"""


@linux
def test_controls_are_those_that_a_job_decides_by_itself(run, tmp_path, child_environment, config):
    """And what one copy puts in place, no other sees."""
    claim = {
        "id": "one", "rejects": "temperature left on", "differs_in": [], "breaks": [],
        "supports": [{"suite": "norms", "case": ["lesson run"], "rows": 13}],
    }  # fmt: skip
    asked = json.dumps([[claim], {"norms": suite_parameters(config, "norms")}])
    found = []
    for environment in ({}, {"POSINFO_RUN_LOCK": run.lock}, {"POSINFO_RUN_LOCK": run.lock}):
        target = tmp_path / "controls.json"
        done = subprocess.run(
            [sys.executable, "-c", CONTROL, asked, str(target)],
            cwd=tmp_path, env=child_environment | environment, text=True, check=True,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        found.append((json.loads(target.read_text()), "torch here: True" in done.stdout))
    (alone, here), *shared = found
    assert here
    assert [row["outcome"] for row in alone] == ["holds"]
    assert shared == [(alone, False)] * 2


@linux
def test_one_process_serves_all_jobs_of_a_run_and_ends_with_it(run, measure, tmp_path):
    for suite in ("norms", "shapes"):
        rows, _, status = measure(suite, POSINFO_RUN_LOCK=run.lock)
        assert (status, {row["suite"] for row in rows}) == (0, {suite})
        assert len(servers(tmp_path)) == 1
    assert (tmp_path / "logs/warm.log").read_bytes() == b""
    os.kill(run.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while servers(tmp_path):
        assert time.monotonic() < deadline, "the process outlived its run"
        time.sleep(0.05)


@linux
def test_a_failure_in_the_copy_is_the_jobs_failure(run, measure):
    rows, said, status = measure("nothing", POSINFO_RUN_LOCK=run.lock)
    assert (rows, status) == ([], 1)
    assert "MeasuringFailed: ModuleNotFoundError: No module named 'posinfo.suites.nothing'" in said


@pytest.mark.parametrize("fault", [OSError("gone"), None])
def test_without_an_answer_the_job_measures_by_itself(monkeypatch, tmp_path, capsys, fault):
    """The run's process may be killed, and so may a copy of it: neither costs a result."""

    def ask(run: Path, request: bytes) -> bytes:
        if fault:
            raise fault
        return b""

    monkeypatch.setenv("POSINFO_RUN_LOCK", str(tmp_path / "1.lock"))
    monkeypatch.setattr(warm, "_ask", ask)
    monkeypatch.setattr(warm.sys, "platform", "linux")
    monkeypatch.setattr(warm.measure, "measure", lambda suite, parameters: [{"suite": suite}])
    monkeypatch.setattr(warm.environment, "measuring", lambda: {"python": "this one"})
    assert warm.measured("norms", {}) == ([{"suite": "norms"}], {"python": "this one"})
    assert "Measuring in this job's own process instead." in capsys.readouterr().out


@linux
def test_a_folder_for_temporary_files_with_a_long_path_is_no_obstacle(run, measure, tmp_path):
    long = tmp_path / ("long" * 30)
    long.mkdir()
    rows, said, status = measure("norms", POSINFO_RUN_LOCK=run.lock, TMPDIR=str(long))
    assert status == 0, said
    assert rows
    assert not list(long.glob("posinfo-*")), "what was begun there is left behind"


@linux
def test_a_killed_process_costs_no_result(run, measure, tmp_path):
    measure("norms", POSINFO_RUN_LOCK=run.lock)
    for server in servers(tmp_path):
        os.kill(server, signal.SIGKILL)
    rows, said, status = measure("norms", POSINFO_RUN_LOCK=run.lock)
    assert status == 0, said
    assert rows
    assert "torch here: True" in said
