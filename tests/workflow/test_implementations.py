"""Functions of a reader's own as an input of the pipeline."""

import csv
import re

import pytest

RIGHT = """
import torch


def rotate(x, positions, base=10000.0):
    thetas = base ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.outer(positions.float(), thetas)
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2).to(x.dtype)
"""
WRONG = RIGHT.replace("angles.sin()", "-angles.sin()")


def listed(*entries: dict) -> dict:
    return {"implementations": list(entries)}


def schedules(run) -> list[str]:
    return re.findall(r"output: results/suites/(\w+)\.csv", run.output)


def test_a_function_of_the_config_stands_beside_ours_and_one_that_fails_is_named(project):
    file = project.folder / "my rope.py"
    file.write_text(RIGHT, encoding="utf-8")
    config = listed({"name": "mine", "file": "my rope.py", "function": "rotate"})
    run = project.run(config=config)
    assert run.status == 0, run.output
    assert schedules(run) == ["implementations"]
    with open(project.folder / "results/tables/implementations.csv", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert [row["implementation"] for row in rows] == [
        "adjacent", "complex", "half-split", "matrices", "mine",
    ]  # fmt: skip
    assert {row["rejected_by"] for row in rows} == {"none"}
    assert ">mine<" in (project.folder / "report/index.html").read_text(encoding="utf-8")
    # Nothing changed, nothing to do; an edit to the file measures its suite alone.
    assert schedules(project.run("--dry-run", config=config)) == []
    file.write_text(WRONG, encoding="utf-8")
    run = project.run(config=config)
    assert schedules(run) == ["implementations"]
    assert run.status == 1
    last = "\n".join(run.last_lines)
    assert "NOT REPRODUCED: 1 problem above" in last
    assert "implementation mine (my rope.py:rotate): " in last
    assert last.count("mine") == 1
    assert "direction, far positions, " in last
    assert "see posinfo check 'my rope.py:rotate'" in last
    page = (project.folder / "report/index.html").read_text(encoding="utf-8")
    assert "direction, far positions" in page
    assert "Not reproduced: 1 problem<" in page
    assert "implementation mine (my rope.py:rotate): " in re.sub("<[^>]*>", "", page)


MINE = {"name": "mine", "file": "rope.py", "function": "rotate"}


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([MINE | {"file": "absent.py"}], "implementations[0]: absent.py: does not exist"),
        ([MINE | {"function": "rotat"}], "rope.py: has no 'rotat': did you mean 'rotate'?"),
        ([MINE | {"signature": "position"}], "'position' is unknown: did you mean 'positions'?"),
        ([MINE, MINE], "implementations[1].name: 'mine' is taken: it is implementations[0]"),
        ([MINE | {"name": "adjacent"}], "'adjacent' is taken: it is one of ours"),
        ([{"name": "mine", "file": "rope.py"}], "the key 'function' is missing"),
    ],
)
def test_what_cannot_be_right_ends_before_any_job(project, entries, says):
    (project.folder / "rope.py").write_text(RIGHT, encoding="utf-8")
    run = project.run(config=listed(*entries))
    assert run.status == 2, run.output
    [line] = [line for line in run.output.splitlines() if line.startswith("posinfo: ")]
    assert says in line
    assert "over.json" in line or "config.yaml" in line
    assert "rule measure_suite" not in run.output
