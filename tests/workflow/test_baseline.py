"""What a run makes of the accepted results, and the commands that compare with and make them."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from posinfo.baseline import judging
from posinfo.parameters import overlay

ROOT = Path(__file__).parents[2]

PAGE = "report/index.html"
NORMS = "results/suites/norms.csv"


def posinfo(project, *arguments: str) -> subprocess.CompletedProcess:
    """The command of a project's own working copy."""
    return subprocess.run(
        [sys.executable, "-m", "posinfo", *arguments], cwd=project.folder,
        env=os.environ | {"PYTHONPATH": str(project.folder / "src")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def changes(project) -> list[dict]:
    with open(project.folder / "results/comparison.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def make_the_config_that_of_the_project(project) -> None:
    """What was laid over the config becomes the config, so that its results can be accepted."""
    path = project.folder / "config/config.yaml"
    above = yaml.safe_load((project.folder / "tests/workflow/smallest.yaml").read_text())
    path.write_text(yaml.safe_dump(overlay(yaml.safe_load(path.read_text()), above)))


def test_with_another_config_a_run_is_green_and_says_what_differs(finished):
    project, _ = finished
    found = changes(project)
    assert {one["standing"] for one in found} == {judging.CONFIG, judging.FOLLOWS}
    files = {one["file"] for one in found}
    assert "suites/angles.csv" in files
    # The config of these suites is the accepted one, and so are their bytes.
    assert files.isdisjoint({"suites/norms.csv", "suites/shapes.csv", "suites/pretrained.csv"})
    assert all("config: " in one["why"] for one in found if one["standing"] == judging.CONFIG)
    page = (project.folder / PAGE).read_text(encoding="utf-8")
    assert "none of them was promised not to be" in page


def test_numbers_that_code_moved_are_red_until_they_are_accepted(project):
    project.edit(
        "src/posinfo/suites/norms.py",
        "    return difference.max().item(), (difference / norms).max().item()",
        "    return 1.5 * difference.max().item(), (difference / norms).max().item()",
    )
    run = project.run()
    assert run.status == 1, run.output
    *_, line, last = run.last_lines
    assert line.startswith(f"{NORMS}: ")
    assert "measured was accepted as " in line
    assert "because of code: posinfo/suites/norms.py; " in line
    assert "if it is right: posinfo accept" in line
    assert "NOT REPRODUCED: 1 problem above" in last
    page = (project.folder / PAGE).read_text(encoding="utf-8")
    assert "Not reproduced: 1 problem" in page
    assert "were promised not to be" in page
    # The same, asked afterwards.
    done = posinfo(project, "diff", "norms")
    assert done.returncode == 1, done.stderr
    assert "code: posinfo/suites/norms.py" in " ".join(done.stdout.split())
    # Accepting them is what makes the next run green.
    make_the_config_that_of_the_project(project)
    done = posinfo(project, "accept", "--because", "norms are half as long again")
    assert done.returncode == 0, done.stderr
    noted = (project.folder / "baseline/CHANGES.md").read_text(encoding="utf-8")
    assert "norms are half as long again" in noted.rpartition("\n- ")[2]
    assert posinfo(project, "diff").returncode == 0
    run = project.run()
    assert run.status == 0, run.output
    assert changes(project) == []
    page = (project.folder / PAGE).read_text(encoding="utf-8")
    assert "None: the rows of every suite" in page


def refused(done: subprocess.CompletedProcess, status: int, *named: str) -> None:
    assert done.returncode == status, done.stderr
    [line] = done.stderr.splitlines()
    for text in named:
        assert text in line


def test_what_does_not_hold_or_is_not_all_is_not_accepted(project):
    before = {
        path: path.read_bytes()
        for path in (project.folder / "baseline").rglob("*")
        if path.is_file()
    }
    refused(posinfo(project, "accept"), 2, "--because: is needed")
    because = ("accept", "--because", "why")
    refused(posinfo(project, *because), 1, "another config", "decoder", "claims")
    make_the_config_that_of_the_project(project)
    kept = {
        name: (project.folder / name).read_bytes()
        for name in (NORMS, "results/tables/symbols.csv", "results/basis.json", PAGE)
    }

    def restored() -> None:
        for name, content in kept.items():
            (project.folder / name).write_bytes(content)

    (project.folder / "results/tables/symbols.csv").unlink()
    refused(posinfo(project, *because), 1, "tables/symbols.csv", "not the results of a whole run")
    restored()
    text = kept[NORMS].decode()
    (project.folder / NORMS).write_text(text.replace(",holds,", ",fails,", 1))
    refused(posinfo(project, *because), 1, NORMS, "was touched by hand", "more problems")
    restored()
    project.edit("src/posinfo/suites/norms.py", "import torch", "import torch\n\nOTHER = 1")
    refused(posinfo(project, *because), 1, "made by other code", "posinfo/suites/norms.py")
    project.edit("src/posinfo/suites/norms.py", "import torch\n\nOTHER = 1", "import torch")
    done = posinfo(project, "accept", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "would be accepted" in done.stdout
    assert {path: path.read_bytes() for path in before} == before


def test_a_damaged_file_of_the_accepted_results_is_named(project):
    path = project.folder / "baseline/results/suites/norms.csv"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    refused(posinfo(project, "diff"), 2, "norms.csv", "was accepted as")
    run = project.run()
    assert run.status == 1, run.output
    assert any("suites/norms.csv: was accepted as" in line for line in run.last_lines)
    shutil.rmtree(project.folder / "baseline/results")
    refused(posinfo(project, "diff"), 2, "accepted.json", "does not exist")
    run = project.run()
    assert run.status == 1, run.output
    assert any("accepted.json: does not exist" in line for line in run.last_lines)


def test_a_wrong_name_of_a_file_is_refused(finished):
    project, _ = finished
    refused(posinfo(project, "diff", "nroms"), 2, "nroms", "neither a suite nor a file")
    refused(posinfo(project, "diff", "--results", "nowhere"), 2, "nowhere", "no folder of results")


def test_the_committed_results_are_in_the_copy():
    """Otherwise the tests above would compare with nothing."""
    assert Path(ROOT, "baseline/results/accepted.json").is_file()
