"""`posinfo verify`: a result that was forged with everything that vouches for it is found."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

from posinfo import digests

PATH = "results/suites/norms.csv"
RECORDS = [
    "results/digests/measure_suite_norms.sha256", "results/datapackage.json",
    "results/digests/describe_results.sha256", "results/provenance.json",
    "results/digests/record_provenance.sha256",
]  # fmt: skip


def verify(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "posinfo", "verify", "--config", "tests/workflow/smallest.yaml",
         *arguments],
        cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(folder / "src"), **environment},
    )  # fmt: skip


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
    }


def forge(folder: Path, path: str, old: bytes, new: bytes) -> None:
    """Change a result, and the digest of it wherever it stands; no time of any file changes."""
    changes = [(path, old, new)]
    for file in [path, *RECORDS]:
        place = folder / file
        before, known = digests.sha256(place), place.stat()
        content = place.read_bytes()
        for _, was, now in changes:
            content = content.replace(was, now)
        place.write_bytes(content)
        os.utime(place, ns=(known.st_atime_ns, known.st_mtime_ns))
        changes.append((file, before.encode(), digests.sha256(place).encode()))
        assert place.stat().st_size == known.st_size, "the sizes that are listed must stay true"


def test_a_forged_row_passes_the_gate_and_is_found_by_measuring_it_anew(project):
    folder = project.folder
    lines = (folder / PATH).read_text(encoding="utf-8").splitlines()
    head, *rows = csv.reader(lines)
    # A digit that changes no outcome.
    number, cells = next(
        (n, one) for n, one in enumerate(rows, 2)
        if len(one[head.index("error")]) > 8 and lines[n - 1].count(one[head.index("error")]) == 1
    )  # fmt: skip
    line, error = lines[number - 1], cells[head.index("error")]
    other = error[:-6] + ("1" if error[-6] != "1" else "2") + error[-5:]
    forge(folder, PATH, line.encode(), line.replace(error, other).encode())
    before = state(folder)

    run = project.run()
    assert run.status == 0, run.output
    assert run.jobs == {"all": 1, "total": 1}, run.output
    assert state(folder) == before

    done = verify(folder, "norms")
    assert done.returncode == 1, done.stderr
    said = done.stdout.splitlines()
    key = " / ".join(cells[head.index(name)] for name in ("case", "quantity", "subject"))
    assert f"{PATH} line {number}: {key}, error: re-executed {error}, found {other}" in said
    assert said[-1].startswith("NOT VERIFIED: ")
    assert state(folder) == before, "results were written to"
    assert "Traceback" not in done.stderr


def test_what_was_not_touched_is_verified_in_any_locale(project):
    before = state(project.folder)
    done = verify(project.folder, "norms", "--json", LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {
        "schema": 1, "verified": True, "re_executed": ["norms"], "trained_anew": False,
        "files": {PATH: "same bytes"}, "differences": [], "notes": [],
    }  # fmt: skip
    assert "1 of 1 jobs done" in done.stderr
    assert state(project.folder) == before
