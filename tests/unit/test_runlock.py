"""One run at a time, told by real processes: refused, killed, started again, and left orphaned."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HOLD = """
import os, sys, time
from posinfo import runlock
from posinfo.errors import InputError
runlock.GRACE_SECONDS = float(sys.argv[1])
try:
    lock = runlock.hold()
except InputError as error:
    print(f"posinfo: {error}", file=sys.stderr)
    sys.exit(2)
print(os.environ[runlock.LOCK_VARIABLE], flush=True)
time.sleep(float(sys.argv[2]))
"""
JOB = """
import time
from posinfo import runlock
runlock.end_with_run()
print("working", flush=True)
time.sleep(60)
"""

Start = Callable[..., subprocess.Popen]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "a run"
    folder.mkdir()
    return folder


@pytest.fixture
def start(folder: Path, child_environment: dict[str, str]) -> Iterator[Start]:
    """Start a process in the run's folder and wait for its first line; all end with the test."""
    started: list[subprocess.Popen] = []

    def start(code: str, *arguments: object, **environment: str) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            cwd=folder, env=child_environment | environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        started.append(process)
        process.first_line = process.stdout.readline().strip()
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def kill(process: subprocess.Popen) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)


def test_a_second_run_is_refused_with_one_line_that_names_the_first(start, folder):
    first = start(HOLD, 0, 60)
    second = start(HOLD, 0.2, 0)
    _, said = second.communicate(timeout=10)
    assert second.returncode == 2
    assert said == (
        f"posinfo: {folder}: another run (process {first.pid}) is at work in this folder; "
        "wait for its end\n"
    )
    assert first.poll() is None


def test_a_refused_run_leaves_the_first_ones_locks(start, folder):
    start(HOLD, 0, 60)
    locks = folder / ".snakemake" / "locks"
    locks.mkdir()
    (locks / "0.input.lock").touch()
    start(HOLD, 0.1, 0).communicate(timeout=10)
    assert [path.name for path in locks.iterdir()] == ["0.input.lock"]
    assert (folder / ".snakemake" / "posinfo.lock").read_text().strip().isdigit()


def test_after_a_run_ended_the_next_one_starts(start):
    for _ in range(2):
        run = start(HOLD, 0, 0)
        _, said = run.communicate(timeout=10)
        assert (run.returncode, said) == (0, "")


def test_after_kill_9_the_lock_is_free_and_what_snakemake_left_is_cleared(start, folder):
    first = start(HOLD, 0, 60)
    locks = folder / ".snakemake" / "locks"
    locks.mkdir()
    (locks / "0.input.lock").write_text("results/suites/norms.csv\n")
    (folder / ".snakemake" / "incomplete").mkdir()
    kill(first)
    assert locks.exists()
    second = start(HOLD, 0, 0)
    _, said = second.communicate(timeout=10)
    assert second.returncode == 0
    assert said == (
        "The last run here was killed: its lock is cleared, its unfinished files are made anew.\n"
    )
    assert not locks.exists()
    # Snakemake knows from these which files are unfinished.
    assert (folder / ".snakemake" / "incomplete").exists()
    assert (folder / ".snakemake" / "posinfo.lock").read_text() == f"{second.pid}\n"


def test_a_job_ends_when_its_run_is_killed(start):
    run = start(HOLD, 0, 60)
    job = start(JOB, POSINFO_RUN_LOCK=run.first_line)
    time.sleep(0.3)
    assert job.poll() is None, "it must go on while its run lives"
    kill(run)
    assert job.wait(5) == 1


def test_a_job_of_a_run_that_is_dead_already_ends(start):
    run = start(HOLD, 0, 60)
    kill(run)
    assert start(JOB, POSINFO_RUN_LOCK=run.first_line).wait(5) == 1


def test_a_run_starts_beside_the_ending_jobs_of_a_killed_one(start):
    run = start(HOLD, 0, 60)
    jobs = [start(JOB, POSINFO_RUN_LOCK=run.first_line) for _ in range(3)]
    kill(run)
    again = start(HOLD, 3, 0)
    again.communicate(timeout=10)
    assert again.returncode == 0
    assert [job.wait(5) for job in jobs] == [1, 1, 1]


def test_the_jobs_of_a_run_find_its_lock_from_another_folder(start, folder):
    run = start(HOLD, 0, 60)
    assert Path(run.first_line) == folder / ".snakemake" / "posinfo-runs" / f"{run.pid}.lock"


def test_outside_of_a_run_a_job_goes_on(start):
    job = start(JOB)
    time.sleep(0.3)
    assert job.poll() is None


def test_a_job_whose_run_was_cleared_by_a_later_one_ends(start):
    run = start(HOLD, 0, 60)
    kill(run)
    start(HOLD, 0, 60)
    late = start(JOB, POSINFO_RUN_LOCK=run.first_line)
    assert late.wait(5) == 1


def test_a_run_waits_for_the_last_job_of_a_killed_one(start, folder):
    run = start(HOLD, 0, 60)
    # A job that holds on: it shares the jobs' lock and does not watch its run.
    lingering = start(
        "import fcntl, sys, time; file = open('.snakemake/posinfo-jobs.lock', 'a');"
        "fcntl.flock(file, fcntl.LOCK_SH); print('working', flush=True); time.sleep(60)"
    )
    kill(run)
    refused = start(HOLD, 0.2, 0)
    _, said = refused.communicate(timeout=10)
    assert refused.returncode == 2
    assert said == f"posinfo: {folder}: jobs of a killed run are still at work in this folder\n"
    kill(lingering)
    again = start(HOLD, 1, 0)
    again.communicate(timeout=10)
    assert again.returncode == 0


@pytest.mark.parametrize("place", [".snakemake", ".snakemake/posinfo.lock"])
def test_a_lock_that_cannot_be_written_is_refused_in_one_line(start, folder, place):
    if place == ".snakemake":
        (folder / place).write_text("a file in the folder's place\n")
    else:
        (folder / place).mkdir(parents=True)
    run = start(HOLD, 0, 0)
    _, said = run.communicate(timeout=10)
    assert run.returncode == 2
    assert said.startswith("posinfo: .snakemake/posinfo.lock: cannot be written: ")
    assert said.count("\n") == 1
