"""What a run says of itself: every file, every column, and where it comes from."""

import csv
import json
import platform
import re
import subprocess
from pathlib import Path

import pytest
from frictionless import Package, validate

from posinfo import digests
from posinfo.catalogue import SUITES

PROVENANCE, DATAPACKAGE, PAGE = (
    "results/provenance.json", "results/datapackage.json", "report/index.html",
)  # fmt: skip


@pytest.fixture(scope="module")
def provenance(finished) -> dict:
    return json.loads((finished[0].folder / PROVENANCE).read_text(encoding="utf-8"))


def test_every_file_of_a_run_is_listed_with_its_size_and_digest(finished, provenance):
    project, _ = finished
    written = project.results()
    own = {PROVENANCE, *(path for path in written if path.startswith("results/digests/"))}
    assert {one["path"] for one in provenance["results"]} == set(written) - own
    for one in provenance["results"]:
        assert one["bytes"] == len(written[one["path"]]), one
        assert one["sha256"] == digests.sha256(project.folder / one["path"]), one


def test_everything_measured_says_in_what_environment(provenance):
    measuring, training = provenance["environments"]
    assert measuring["results"] == [
        *(f"results/suites/{suite}.csv" for suite in SUITES), "results/controls/claim-controls.csv",
    ]  # fmt: skip
    assert measuring["numerics"]["torch_cpu_capability"] == "DEFAULT"
    assert all(path.endswith(".safetensors") for path in training["results"])
    assert len(training["results"]) == 4
    assert training["numerics"]["torch_mkldnn"] is True
    for one in (measuring, training):
        assert one["packages"].keys() >= {"torch", "numpy", "mpmath", "sympy"}


def test_in_a_folder_that_git_does_not_know_there_is_no_commit(provenance):
    assert provenance["code"].keys() == {"sha256"}


def test_it_names_no_machine_no_moment_and_no_place(finished):
    for path in (PROVENANCE, DATAPACKAGE):
        text = (finished[0].folder / path).read_text(encoding="utf-8")
        assert not re.search(rf"\b{re.escape(platform.node())}\b", text), path
        assert not re.search(r"\d{4}-\d\d-\d\d|T?\d\d:\d\d:\d\d", text), path
        assert str(finished[0].folder) not in text
        assert str(Path.home()) not in text


def test_every_csv_of_a_run_is_described_and_valid_for_who_reads_data_packages(finished):
    project, _ = finished
    package = Package(str(project.folder / DATAPACKAGE))
    described = {f"results/{resource.path}" for resource in package.resources}
    assert described == {path for path in project.results() if path.endswith(".csv")}
    report = validate(str(project.folder / DATAPACKAGE))
    assert report.flatten(["title", "type", "note"]) == []
    for resource in package.resources:
        for field in resource.schema.fields:
            assert field.title, (resource.name, field.name)
            assert field.description, (resource.name, field.name)


def test_a_wrong_cell_of_a_real_result_is_found(project):
    file = project.folder / "results/suites/norms.csv"
    with open(file, encoding="utf-8", newline="") as opened:
        header, first, *rest = csv.reader(opened)
    first[header.index("bound")] = "NA"
    with open(file, "w", encoding="utf-8", newline="") as opened:
        csv.writer(opened, lineterminator="\n").writerows([header, first, *rest])
    report = Package(str(project.folder / DATAPACKAGE)).get_resource("suites-norms").validate()
    found = {tuple(one) for one in report.flatten(["type", "rowNumber", "fieldName"])}
    assert ("type-error", 2, "bound") in found
    assert ("hash-count", None, None) in found


def test_another_commit_records_it_anew_and_leaves_the_page_as_it_is(project):
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
            cwd=project.folder, capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip

    page = (project.folder / PAGE).read_bytes()
    git("init", "--quiet")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    run = project.run()
    assert run.status == 0, run.output
    assert run.jobs == {"record_provenance": 1, "all": 1, "total": 2}
    found = json.loads((project.folder / PROVENANCE).read_text(encoding="utf-8"))
    assert found["code"]["commit"] == git("rev-parse", "HEAD")
    assert found["code"]["dirty"] is False
    assert (project.folder / PAGE).read_bytes() == page
    assert project.run("--dry-run").jobs == {"all": 1, "total": 1}
