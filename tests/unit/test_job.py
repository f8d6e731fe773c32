"""A script's body as a job: its log, its last words, its exit status and its digests."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

#: What Snakemake hands to a script, as far as a job looks at it, in Snakemake's own containers.
SETUP = """
import ctypes, os, sys
from pathlib import Path
from types import SimpleNamespace
from snakemake.iocontainers import Log, OutputFiles
from posinfo.errors import InputError
from posinfo.job import job, say_last

output = OutputFiles(fromdict={"csv": "results/a b.csv", "digest": "results/digests/job.sha256"})
log = Log(toclone=["logs/deep/job.log"])
snakemake = SimpleNamespace(rule="measure_suite", log=log, output=output)

def write(text="x,y\\n"):
    Path("results").mkdir(exist_ok=True)
    Path("results/a b.csv").write_text(text)

"""
LOG, WORDS = Path("logs/deep/job.log"), Path("logs/last-words.txt")


@pytest.fixture
def run(tmp_path, child_environment, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(body: str, setup: str = "") -> subprocess.CompletedProcess:
        indented = "".join(f"    {line}\n" for line in body.splitlines())
        return subprocess.run(
            [sys.executable, "-c", f"{SETUP}{setup}\nwith job(snakemake):\n{indented}"],
            env=child_environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_a_job_that_ends_well_is_silent_and_recorded(run):
    done = run("write()")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not WORDS.exists()
    digest = hashlib.sha256(b"x,y\n").hexdigest()
    assert Path("results/digests/job.sha256").read_text() == f"{digest}  results/a b.csv\n"
    check = subprocess.run(["sha256sum", "--check", "--strict", "results/digests/job.sha256"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert (check.returncode, check.stdout) == (0, "results/a b.csv: OK\n")


def test_everything_that_is_written_lands_in_the_log(run):
    done = run(
        "print('from python')\n"
        "print('to standard error', file=sys.stderr)\n"
        "os.write(1, b'past python\\n')\n"
        "os.system('echo from a child; echo and its errors >&2')\n"
        "ctypes.CDLL(None).puts(b'from a library')\n"
        "ctypes.CDLL(None).fflush(None)\n"
        "write()"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = LOG.read_text().splitlines()
    assert sorted(log) == sorted(
        ["from python", "to standard error", "past python", "from a child", "and its errors",
         "from a library"]
    )  # fmt: skip


def test_a_log_holds_its_last_run_alone(run):
    run("print('first, and longer')\nwrite()")
    run("print('second')\nwrite()")
    assert LOG.read_text() == "second\n"


def test_wrong_input_ends_with_one_line_and_no_traceback(run):
    done = run("raise InputError('config/claims/a.yaml claim one', 'rests on\\nno row')")
    assert done.returncode == 1
    line = "config/claims/a.yaml claim one: rests on no row"
    assert WORDS.read_text() == f"measure_suite: {line}\n"
    assert LOG.read_text() == f"{line}\n"
    assert not Path("results/digests/job.sha256").exists()


def test_a_crash_ends_with_one_line_and_a_traceback_in_the_log(run):
    done = run("write()\nraise RuntimeError('two\\nlines')")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert WORDS.read_text() == (
        "measure_suite crashed: RuntimeError: two lines (traceback in logs/deep/job.log)\n"
    )
    log = LOG.read_text()
    assert log.startswith("Traceback (most recent call last):")
    assert "RuntimeError: two\nlines" in log
    assert not Path("results/digests/job.sha256").exists()


def test_an_output_that_was_not_written_is_a_crash(run):
    done = run("pass")
    assert done.returncode == 1
    assert "FileNotFoundError" in WORDS.read_text()
    assert "results/a b.csv" in WORDS.read_text()


def test_a_body_may_end_itself(run):
    """The gate ends with 1 and its own lines."""
    done = run("say_last('a row does not hold')\nsys.exit(1)")
    assert done.returncode == 1
    assert WORDS.read_text() == "a row does not hold\n"


def test_a_job_without_log_or_digest_runs_too(run):
    without = "snakemake.log, snakemake.output = Log(), OutputFiles(toclone=['results/a b.csv'])"
    done = run("print('seen')\nwrite()", without)
    assert (done.returncode, done.stdout) == (0, "seen\n")
    assert not Path("results/digests").exists()
    assert run("raise InputError('a', 'b')", without).returncode == 1
    assert WORDS.read_text() == "measure_suite: a: b\n"


def test_last_words_are_added_in_their_order(run):
    run("for n in range(3): say_last(f'line {n} ≥')\nwrite()")
    assert WORDS.read_text(encoding="utf-8") == "line 0 ≥\nline 1 ≥\nline 2 ≥\n"


def test_a_job_ends_with_its_run(run, tmp_path):
    """Nobody holds the lock, so its run is dead: it must not write over the next one."""
    lock = tmp_path / "run.lock"
    lock.touch()
    done = run(
        "import time\ntime.sleep(20)\nwrite()", f"os.environ['POSINFO_RUN_LOCK'] = {str(lock)!r}"
    )
    assert done.returncode == 1
    assert not Path("results/a b.csv").exists()
