"""Which code made the results: what git says of it, and no word more; and a digest of its files."""

import os
import shutil
import subprocess

import pytest

from posinfo import revision

FILES = {
    "Snakefile": "rule all:\n", "README.md": "text\n", "src/posinfo/gate.py": "x = 1\n",
    "workflow/rules/common.smk": "", "scripts/gate.py": "", "results/README.md": "",
    ".gitignore": "/results/*\n!/results/README.md\n__pycache__/\n",
}  # fmt: skip


def git(folder, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def fill(folder) -> None:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A working copy with one commit, its folder with a space in the name."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "a copy"
    folder.mkdir()
    fill(folder)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    return folder


def test_a_clean_copy_has_its_commit(copy):
    assert revision.of_working_copy(copy) == {
        "commit": git(copy, "rev-parse", "HEAD"), "dirty": False,
    }  # fmt: skip


def test_results_do_not_make_it_dirty(copy):
    (copy / "results/ledger.csv").write_text("id\n", encoding="utf-8")
    assert revision.of_working_copy(copy)["dirty"] is False


@pytest.mark.parametrize("path", ["src/posinfo/gate.py", "src/posinfo/new.py"])
def test_an_edit_and_a_new_file_make_it_dirty(copy, path):
    commit = git(copy, "rev-parse", "HEAD")
    (copy / path).write_text("x = 2\n", encoding="utf-8")
    assert revision.of_working_copy(copy) == {"commit": commit, "dirty": True}


def test_another_commit_is_another(copy):
    before = revision.of_working_copy(copy)
    git(copy, "commit", "--quiet", "--allow-empty", "--message", "two")
    after = revision.of_working_copy(copy)
    assert after["commit"] != before["commit"]
    assert after["dirty"] is False


def test_looking_changes_nothing(copy):
    os.utime(copy / "Snakefile", (1, 1))  # git status would write that the content is the same
    before = (copy / ".git/index").read_bytes()
    revision.of_working_copy(copy)
    assert (copy / ".git/index").read_bytes() == before


@pytest.mark.parametrize("ignored", [True, False])
def test_a_repository_around_it_that_does_not_hold_it_says_nothing(copy, ignored):
    inner = copy / ("results/unpacked" if ignored else "unpacked")
    inner.mkdir()
    fill(inner)
    assert revision.of_working_copy(inner) == {}


def test_without_a_repository_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    fill(tmp_path)
    assert revision.of_working_copy(tmp_path) == {}


def test_a_repository_without_a_commit_says_nothing(tmp_path):
    fill(tmp_path)
    git(tmp_path, "init", "--quiet")
    assert revision.of_working_copy(tmp_path) == {}


def test_without_git_nothing_is_known(copy, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert revision.of_working_copy(copy) == {}


def test_a_git_that_fails_says_nothing(copy, tmp_path, monkeypatch):
    tool = tmp_path / "git"
    tool.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision.of_working_copy(copy) == {}


def test_variables_of_a_hook_do_not_lead_to_another_repository(copy, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    fill(other)
    git(other, "init", "--quiet")
    commit = git(copy, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert revision.of_working_copy(copy)["commit"] == commit


def test_the_digest_is_that_of_the_code_wherever_it_lies(copy, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(copy, elsewhere)
    shutil.rmtree(elsewhere / ".git")
    (elsewhere / "README.md").write_text("other text\n", encoding="utf-8")
    (elsewhere / "src/posinfo/__pycache__").mkdir()
    (elsewhere / "src/posinfo/__pycache__/gate.pyc").write_bytes(b"x")
    assert revision.digest(elsewhere) == revision.digest(copy)


def _append(folder):
    with open(folder / "src/posinfo/gate.py", "a", encoding="utf-8") as file:
        file.write("# edited\n")


@pytest.mark.parametrize(
    "change",
    [
        _append,
        lambda folder: (folder / "src/posinfo/new.py").touch(),
        lambda folder: (folder / "scripts/gate.py").rename(folder / "scripts/other.py"),
        lambda folder: (folder / "Snakefile").write_text("", encoding="utf-8"),
        lambda folder: (folder / "workflow/rules/common.smk").unlink(),
    ],
    ids=["edited", "new", "renamed", "emptied", "deleted"],
)
def test_the_digest_changes_with_the_code(copy, change):
    before = revision.digest(copy)
    change(copy)
    assert revision.digest(copy) != before


def test_the_project_s_own_code_is_among_it(root):
    names = {path.relative_to(root).as_posix() for path in revision._files(root)}
    assert {"Snakefile", "scripts/gate.py", "src/posinfo/gate.py", "workflow/rules/common.smk",
            "workflow/schemas/ledger.yaml", "workflow/report/report.css"} <= names  # fmt: skip
    assert not {name for name in names if name.startswith(("tests/", "results/", ".git"))}
