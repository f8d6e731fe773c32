"""Results against results made anew: whatever is forged is named, and nothing else."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posinfo import digests, provenance
from posinfo.cli import load_config, main, verifying
from posinfo.parameters import weight_files
from posinfo.schemas import table_fields
from posinfo.tidy import json_text, write
from posinfo.verify import rerun

ROOT = Path(__file__).parents[2]
SUITE, TABLE, PAGE = "results/suites/norms.csv", "results/tables/symbols.csv", "report/index.html"
TRAINED = "results/suites/trained.csv"
RECORD, DOCUMENT = "results/digests/all.sha256", "results/provenance.json"


def row(suite: str, quantity: str, measured: float, **more: Any) -> dict[str, Any]:
    return {
        "suite": suite, "case": "c", "quantity": quantity, "subject": "s", "relation": "within",
        "measured": measured, "reference": 0.0, "error": measured, "bound": 1.0,
        "ratio": measured, "outcome": "holds", "evidence": "float32", "basis": "b", **more,
    }  # fmt: skip


def make(folder: Path, **changed: Any) -> None:
    """A run's results, small, as the workflow would write them into a folder."""
    schemas = ROOT / "workflow" / "schemas"
    for suite, more in (("norms", {}), ("trained", {"lowest": 0.25, "highest": 0.75})):
        rows = [
            row(suite, "one", changed.get(suite, 0.5), **more),
            row(suite, "two", 0.125, **more),
        ]
        write(folder / f"results/suites/{suite}.csv", rows,
              table_fields(schemas / f"suites/{suite}.yaml"))  # fmt: skip
        (folder / "results/environments").mkdir(exist_ok=True)
        facts = {"packages": {"torch": changed.get("torch", "2.0")}, "cpu": {"model": "x"}}
        (folder / f"results/environments/{suite}.json").write_text(json_text(facts))
    symbols = [{"symbol": "B", "meaning": "heads", "value": 2, "config_key": "k"}]
    write(folder / TABLE, symbols, table_fields(schemas / "tables/symbols.yaml"))
    weights = weight_files(load_config(None)).values()
    for path in weights:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(changed.get("weights", b"\xff\x00"))
        loss = {"factor": 1, "step": 1, "seed": 1, "repeat": 0.5, "recall": 0.5}
        write(folder / path.replace(".safetensors", ".csv"), [loss],
              table_fields(schemas / "training.yaml"))  # fmt: skip
    (folder / "report").mkdir(exist_ok=True)
    (folder / PAGE).write_text("<p>\nA page\n")
    vouch(folder)


def vouch(folder: Path) -> None:
    """Record every file as jobs do: what a forger does last."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        files = [path.as_posix() for top in ("results", "report") for path in Path(top).rglob("*")]
        made = sorted(
            path for path in files
            if Path(path).is_file() and "/digests/" not in path and path != DOCUMENT
        )  # fmt: skip
        Path("results/digests").mkdir(exist_ok=True)
        trained = [path for path in made if path.startswith("results/trained/")]
        digests.record(trained, "results/digests/train_decoder_x.sha256")
        document = provenance.document(
            code={"sha256": "0"}, config=load_config(None), environments={}, accepted={},
            results=made,
        )  # fmt: skip
        Path(DOCUMENT).write_text(json_text(document))
        digests.record([path for path in made if path not in trained], RECORD)
    finally:
        os.chdir(before)


@pytest.fixture
def told(tmp_path, monkeypatch) -> dict[str, Any]:
    """Results in a folder, and a workflow that makes the same ones, changed as a test asks."""
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    told: dict[str, Any] = {"changed": {}, "targets": None}

    def run(folder: Path, workflow: Path, targets: Any, **_: Any) -> None:
        told["targets"] = list(targets)
        told["lent"] = (folder / "results" / "trained").is_dir()
        make(folder, **told["changed"])

    monkeypatch.setattr(rerun, "run", run)
    monkeypatch.setattr(verifying.verdict.revision, "digest", lambda _: "0")
    return told


@pytest.fixture
def status(capsys) -> Callable[..., tuple[int, list[str], list[str]]]:
    def status(*arguments: str) -> tuple[int, list[str], list[str]]:
        with pytest.raises(SystemExit) as ended:
            main(["verify", *arguments])
        said = capsys.readouterr()
        return ended.value.code, said.out.splitlines(), said.err.splitlines()

    return status


def edit(path: str, old: str, new: str) -> None:
    text = Path(path).read_text(encoding="utf-8")
    assert old in text
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_results_that_are_the_same_are_verified(told, status):
    code, said, noted = status()
    assert code == 0, (said, noted)
    assert said[-1].startswith("Verified. ")
    assert told == {"changed": {}, "targets": [], "lent": True}
    assert sum("trained weights are lent, not trained anew" in line for line in noted) == 1


def test_of_a_suite_its_job_alone_is_repeated_and_nothing_is_lent(told, status):
    assert status("norms")[0] == 0
    assert told == {"changed": {}, "targets": [SUITE], "lent": False}
    assert status("norms", "trained")[0] == 0
    assert told["lent"]


@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        (SUITE, "one,s,within,0.5", "one,s,within,0.25",
         f"{SUITE} line 2: c / one / s, measured: re-executed 0.5, found 0.25"),
        (SUITE, "one,s", "uno,s", f"{SUITE} line 2: c / uno / s: row added"),
        (SUITE, "0.5", "0.50",
         f"{SUITE}: cannot be read: line 2: column measured holds '0.50', expected it written as "
         "0.5"),
        (TABLE, "heads", "hands", f"{TABLE} line 2: B, meaning: re-executed heads, found hands"),
        (PAGE, "A page", "A paged", f"{PAGE} line 2: re-executed A page, found A paged"),
    ],
)  # fmt: skip
def test_what_was_forged_with_all_that_vouches_for_it_is_named(told, status, path, old, new, says):
    edit(path, old, new)
    vouch(Path())
    code, said, _ = status()
    assert code == 1
    assert says in said
    named = {line.split(" line ")[0].split(": ")[0] for line in said[:-1]}
    assert named == {path}


def test_a_result_that_is_gone_and_one_that_no_job_makes_are_named(told, status):
    Path(TABLE).unlink()
    Path("results/tables/mine.csv").write_text("a\n1\n")
    vouch(Path())
    code, said, _ = status()
    assert code == 1
    assert said[:2] == [
        f"{TABLE}: is missing", "results/tables/mine.csv: is listed, and no job makes it",
    ]  # fmt: skip


def test_a_record_of_a_right_result_must_be_right(told, status):
    digest = digests.sha256(SUITE)
    edit(RECORD, digest, "f" * 64)
    edit(DOCUMENT, digest, "e" * 64)
    code, said, _ = status("norms")
    assert code == 1
    assert said[:2] == [
        f"{RECORD}: {SUITE}: re-executed {digest}, found {'f' * 64}",
        f"{DOCUMENT}: {SUITE}: re-executed {digest}, found {'e' * 64}",
    ]


def test_a_seed_that_the_provenance_states_is_held_against_the_config(told, status):
    document = json.loads(Path(DOCUMENT).read_text())
    document["seeds"]["seed"] += 1
    Path(DOCUMENT).write_text(json_text(document))
    code, said, _ = status()
    assert code == 1
    assert said[0].startswith(f"{DOCUMENT}: seeds: re-executed ")


def test_other_versions_and_other_code_are_noted_and_are_no_difference(told, status, monkeypatch):
    told["changed"] = {"torch": "3.0"}
    monkeypatch.setattr(verifying.verdict.revision, "digest", lambda _: "1")
    code, said, noted = status()
    assert code == 0, said
    assert any('packages.torch: "2.0" there, "3.0" here' in line for line in noted)
    assert any("other code made them" in line for line in noted)


# --- training --------------------------------------------------------------------------------


def test_weights_that_are_not_those_of_their_records_are_not_lent(told, status):
    name, path = next(iter(weight_files(load_config(None)).items()))
    digest = digests.sha256(path)
    Path(path).write_bytes(b"\xfe\x00")
    code, said, noted = status()
    assert code == 1
    assert said[0].startswith(f"{path}: recorded by its job as {digest[:12]}, is ")
    assert any("nothing was re-executed" in line for line in noted)
    assert told["targets"] is None
    Path(path).unlink()
    assert status("trained")[1][0] == f"{path}: is missing"
    assert status("norms")[0] == 0, f"{name} has no part in it"


def test_trained_anew_on_such_a_processor_bytes_are_asked_for(told, status):
    code, said, noted = status("--with-training")
    assert code == 0, said
    assert not told["lent"]
    assert not any("lent" in line for line in [*said, *noted])


def test_trained_anew_on_another_processor_means_lie_within_the_spread_of_the_seeds(told, status):
    told["changed"] = {"weights": b"\xfd\x00", "trained": 0.75}
    code, said, noted = status("--with-training")
    assert code == 0, said
    assert any("the training ended with other weights" in line for line in noted)
    assert "1 same bytes" not in said[-1]
    assert "within the spread of the seeds" in said[-1]
    # Both spreads are a half: a mean that moved by more than one is another.
    told["changed"] = {"weights": b"\xfd\x00", "trained": 2.0}
    code, said, _ = status("--with-training")
    assert code == 1
    assert said[0] == f"{TRAINED} line 2: c / one / s, measured: re-executed 2, found 0.5"


def test_with_the_same_weights_no_spread_excuses_another_row(told, status):
    told["changed"] = {"trained": 0.625}
    assert status("--with-training")[0] == 1
    assert status()[0] == 1


# --- how it is asked for ---------------------------------------------------------------------


def test_json_has_everything(told, status):
    edit(TABLE, "heads", "hands")
    vouch(Path())
    code, said, _ = status("--json")
    found = json.loads("\n".join(said))
    assert code == 1
    assert found.keys() == {
        "schema", "verified", "re_executed", "trained_anew", "files", "differences", "notes",
    }  # fmt: skip
    assert found["verified"] is False
    assert found["files"][TABLE] == "differs"
    assert found["files"][SUITE] == "same bytes"
    [one] = found["differences"]
    assert (one["file"], one["line"], one["column"]) == (TABLE, 2, "meaning")
    assert (one["expected"], one["found"]) == ("heads", "hands")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nroms"], "suite: 'nroms' is unknown: did you mean 'norms'?"),
        (["--results", "none"], "none: is no folder of results"),
        (["--results", "report"], "report/provenance.json: cannot be read"),
        (["--cores", "0"], "--cores"),
        (["--config", "other.yaml"], "says another config (sha256 "),
    ],
)
def test_wrong_usage_is_refused_in_one_line(told, status, arguments, says):
    Path("other.yaml").write_text("seed: 999\n")
    code, said, (line,) = status(*arguments)
    assert (code, said) == (2, [])
    assert line.startswith("posinfo: ")
    assert says in line
    assert told["targets"] is None


def test_a_workflow_that_does_not_make_the_results_says_why(told, status, monkeypatch):
    def run(*_: Any, **__: Any) -> None:
        raise rerun.Failed("measure_suite crashed: ValueError: no")

    monkeypatch.setattr(rerun, "run", run)
    code, _, noted = status("norms")
    assert code == 1
    assert "could not be made anew: measure_suite crashed: ValueError: no" in noted[-1]


def test_a_folder_elsewhere_has_what_a_config_may_name_and_nothing_that_a_run_wrote(tmp_path):
    for name in ("results", "report", "logs", ".snakemake"):
        (tmp_path / name).mkdir()
    (tmp_path / "rope.py").write_text("x = 1\n")
    with rerun.elsewhere(tmp_path) as folder:
        assert [entry.name for entry in folder.iterdir()] == ["rope.py"]
        assert (folder / "rope.py").read_text() == "x = 1\n"
        shutil.copytree(tmp_path / "report", folder / "report")
    assert not folder.exists()
    assert (tmp_path / "rope.py").exists()
