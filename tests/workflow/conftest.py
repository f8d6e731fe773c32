"""A finished run of the smallest configuration, made once, and copies of it to break."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import forked
from shared import once

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
SMALLEST = ["--configfile", "tests/workflow/smallest.yaml"]


@dataclass
class Run:
    """What a run of Snakemake left: exit status and everything on the terminal."""

    status: int
    output: str

    @property
    def last_lines(self) -> list[str]:
        """The lines after everything that Snakemake itself says."""
        lines = self.output.rstrip("\n").splitlines()
        own = max(
            (
                number
                for number, line in enumerate(lines)
                if line.startswith(("Elapsed time", "WorkflowError", "At least one job"))
            ),
            default=-1,
        )
        return lines[own + 1 :]

    @property
    def jobs(self) -> dict[str, int]:
        """Jobs by rule, from Snakemake's own table; empty when nothing was to be done."""
        table = re.search(r"^job +count\n[- ]+\n((?:\S+ +\d+\n)+)", self.output, re.MULTILINE)
        rows = table.group(1).splitlines() if table else []
        return {name: int(count) for name, count in (row.split() for row in rows)}


@dataclass
class Project:
    """A copy of the project in a folder of its own."""

    folder: Path

    def start(self, *arguments: str) -> subprocess.Popen:
        """Start Snakemake on the smallest configuration and return the process."""
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "2", *SMALLEST, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=ENVIRONMENT,
        )

    def run(self, *arguments: str, config: dict | None = None, cwd: Path | None = None) -> Run:
        """Run Snakemake to its end; ``config`` is laid over the smallest one."""
        if config:
            (self.folder / "over.json").write_text(json.dumps(config), encoding="utf-8")
        over = ["over.json"] if config else []
        return Run(*forked.snakemake(
            ["--cores", "2", *SMALLEST, *over, *arguments], cwd or self.folder, ENVIRONMENT, 600
        ))  # fmt: skip

    def lend_weights(self, folder: str, *, smallest: bool = True) -> str:
        """Lend the trained weights to a folder, and return what is said of it."""
        done = self.tool("lend-weights", folder, *(SMALLEST if smallest else ()))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tool(self, name: str, *arguments: str) -> subprocess.CompletedProcess:
        """Run one of the scripts in tools/."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [f"tools/{name}", *arguments], cwd=self.folder, env={**ENVIRONMENT, "PATH": path},
            check=False, capture_output=True, text=True,
        )  # fmt: skip

    def forget(self) -> None:
        """Delete what a run makes, but for the trained weights, which take longest."""
        for path in self.results():
            if "trained/" not in path and not re.search("digests/(train|tune)_", path):
                (self.folder / path).unlink()

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace a text that stands there exactly once."""
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def results(self) -> dict[str, bytes]:
        """Every generated file by its path: results and report, without logs."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for top in ("results", "report")
            for path in sorted((self.folder / top).rglob("*"))
            if path.is_file() and path.name != "README.md"
        }


def copy_sources(target: Path) -> Project:
    """Copy what git would: everything that is not generated."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if not (ROOT / name).is_file():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return Project(target)


@pytest.fixture(scope="session")
def finished(shared_folder: Path) -> tuple[Project, Run]:
    """A finished run, in a folder with a space in its path. Do not change it: copy it.

    The first of several workers makes it, and the others wait for it.
    """
    target = shared_folder / "a folder" / "the project"

    def make() -> tuple[int, str]:
        target.mkdir(parents=True)
        process = copy_sources(target).start()
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    return Project(target), Run(*once(shared_folder / "finished", make))


@pytest.fixture
def project(finished: tuple[Project, Run], tmp_path: Path) -> Project:
    """A copy of the finished run, to change."""
    target = tmp_path / "a copy"
    shutil.copytree(finished[0].folder, target, symlinks=True)
    return Project(target)


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """The sources alone, in which nothing has run."""
    return copy_sources(tmp_path / "fresh")
