"""Each kind of file that a run writes, edited, truncated, emptied, deleted: the gate names it.

One run, and then the gate alone: its script, with what Snakemake gives it.
"""

import json
import multiprocessing
import os
import runpy
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from posinfo import digests

#: One file of each kind.
KINDS = {
    "a suite's rows": "results/suites/norms.csv",
    "an environment": "results/environments/norms.json",
    "controls": "results/controls/claim-controls.csv",
    "the ledger": "results/ledger.csv",
    "a table": "results/tables/symbols.csv",
    "a figure's data": "results/figures/mechanism.csv",
    "a drawing": "results/figures/mechanism.light.svg",
    "what is missing": "results/missing/tables.csv",
    "what differs from what was accepted": "results/comparison.csv",
    "what the results rest on": "results/basis.json",
    "trained weights": "results/trained/rotary.safetensors",
    "losses of a training": "results/trained/rotary.csv",
    "the page": "report/index.html",
    "the data package": "results/datapackage.json",
    "the provenance": "results/provenance.json",
}
DIGEST_FILE = "results/digests/make_figures.sha256"

#: Writes down what Snakemake gives to the gate.
TOLD = """
import json
given = {key: value if isinstance(value, str) else list(value)
         for key, value in snakemake.input.items()}
with open("told.json", "w", encoding="utf-8") as file:
    json.dump({"input": given, "params": dict(snakemake.params.items())}, file)
"""


def _judge(folder: Path) -> None:
    """Run the gate's script in this process, which it ends."""
    os.chdir(folder)
    told = json.loads(Path("told.json").read_text(encoding="utf-8"))
    snakemake = SimpleNamespace(
        rule="all", log=["logs/gate.log"], output={}, input=SimpleNamespace(**told["input"]),
        params=SimpleNamespace(**told["params"]),
    )  # fmt: skip
    sys.argv = ["scripts/gate.py"]
    runpy.run_path("scripts/gate.py", {"snakemake": snakemake}, "__main__")


class Judged:
    """A finished run, and the gate alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def gate(self) -> tuple[int, list[str]]:
        """Exit status of the gate, and the lines that the terminal would show last."""
        words = self.folder / "logs/last-words.txt"
        words.unlink(missing_ok=True)
        process = multiprocessing.get_context("fork").Process(target=_judge, args=[self.folder])
        process.start()
        process.join(60)
        return process.exitcode, words.read_text(encoding="utf-8").splitlines()

    def results(self) -> set[str]:
        """Paths of all that the run wrote."""
        return {
            path.relative_to(self.folder).as_posix()
            for top in ("results", "report")
            for path in (self.folder / top).rglob("*")
            if path.is_file() and path.name != "README.md"
        }


@pytest.fixture(scope="module")
def judged(finished, tmp_path_factory) -> Judged:
    """A copy of the finished run, with what its gate is given."""
    source, _ = finished
    target = tmp_path_factory.mktemp("judged") / "a copy"
    shutil.copytree(source.folder, target, symlinks=True)
    project = type(source)(target)
    script = target / "scripts/gate.py"
    original = script.read_text(encoding="utf-8")
    script.write_text(original.replace("    with job(snakemake):\n", f"    exec({TOLD!r})\n"
                      "    with job(snakemake):\n"), encoding="utf-8")  # fmt: skip
    run = project.run("--rerun-triggers", "mtime")
    assert run.status == 0, run.output
    script.write_text(original, encoding="utf-8")
    return Judged(target)


@pytest.fixture
def damage(judged) -> Iterator[Callable]:
    """Damage a file; it is put back afterwards."""
    kept: dict[Path, bytes] = {}

    def damage(path: str, content: bytes | None) -> None:
        file = judged.folder / path
        kept.setdefault(file, file.read_bytes())
        assert content != kept[file]
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)

    yield damage
    for file, content in kept.items():
        file.write_bytes(content)


def edited(content: bytes) -> bytes:
    """One bit of the middle is another."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES = {
    "edited": edited,
    "truncated": lambda content: content[: len(content) // 2],
    "emptied": lambda content: b"",
    "deleted": lambda content: None,
}


def test_the_gate_alone_finds_nothing_in_what_a_run_wrote(judged):
    """Otherwise the tests below could not fail."""
    status, lines = judged.gate()
    assert (status, len(lines)) == (0, 1), lines
    assert "Every row holds" in lines[0]


def test_every_kind_of_file_is_damaged_here(judged):
    def kind(path: str) -> tuple[str, str]:
        return str(Path(path).parent), Path(path).suffix

    found = {kind(path) for path in judged.results()}
    assert found == {kind(path) for path in [*KINDS.values(), DIGEST_FILE]}


def test_a_job_vouches_for_every_file(judged):
    vouched = set()
    for path in (judged.folder / "results/digests").iterdir():
        vouched |= digests.recorded(path).keys()
    written = {path for path in judged.results() if not path.startswith("results/digests/")}
    assert vouched == written


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_named_with_what_it_was_and_how_to_make_it_anew(
    judged, damage, kind, how
):
    path = KINDS[kind]
    file = judged.folder / path
    expected = digests.sha256(file)[:12]
    damage(path, DAMAGES[how](file.read_bytes()))
    found = {"emptied": "is empty", "deleted": "but is gone"}.get(how)
    found = found or f"is {digests.sha256(file)[:12]}"
    status, lines = judged.gate()
    assert status == 1, lines
    [line] = [one for one in lines if one.startswith(f"{path}: ") and "recorded as" in one]
    assert f"recorded as {expected} in results/digests/" in line
    assert f", {found}; make it anew: snakemake --cores 4 --forcerun {path}" in line
    assert lines[-1].startswith("NOT REPRODUCED: ")
    assert not any("Traceback" in one or " crashed" in one for one in lines), lines


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("truncated", "line 1: is not a sha256 and a path: '"),
        ("emptied", "is empty, so it vouches for no file"),
        ("deleted", "cannot be read: No such file or directory"),
    ],
)
def test_a_damaged_digest_file_is_named_with_how_to_make_it_anew(judged, damage, how, says):
    content = (judged.folder / DIGEST_FILE).read_bytes()
    damage(DIGEST_FILE, content[:40] if how == "truncated" else DAMAGES[how](content))
    status, lines = judged.gate()
    assert status == 1
    [line] = [one for one in lines if one.startswith(DIGEST_FILE)]
    assert says in line
    assert line.endswith(f"; make it anew: snakemake --cores 4 --forcerun {DIGEST_FILE}")
    # What nobody vouches for any more is named too.
    assert sum("no job has recorded it" in one for one in lines) == content.count(b"\n")


def test_a_digest_file_with_another_digest_is_named_beside_its_result(judged, damage):
    content = (judged.folder / DIGEST_FILE).read_bytes()
    digest, _, path = content.decode().splitlines()[0].partition("  ")
    other = ("0" if digest[0] != "0" else "1") + digest[1:]
    damage(DIGEST_FILE, content.replace(digest.encode(), other.encode()))
    status, lines = judged.gate()
    assert status == 1
    assert lines[0] == (
        f"{path}: was touched by hand, recorded as {other[:12]} in {DIGEST_FILE}, is {digest[:12]}"
        f"; make it anew: snakemake --cores 4 --forcerun {path}"
    )


def test_a_digest_file_that_lacks_a_line_vouches_for_less(judged, damage):
    content = (judged.folder / DIGEST_FILE).read_bytes()
    first, _, rest = content.partition(b"\n")
    damage(DIGEST_FILE, rest)
    path = first.decode().partition("  ")[2]
    status, lines = judged.gate()
    assert status == 1
    assert lines[0].startswith(f"{path}: no job has recorded it; make it anew: ")


def test_a_result_forged_with_its_digest_is_not_what_the_provenance_lists(judged, damage):
    """What forges all three in one is found by measuring anew."""
    path, digest_file = "results/tables/symbols.csv", "results/digests/make_tables.sha256"
    old = digests.sha256(judged.folder / path)
    damage(path, (judged.folder / path).read_bytes() + b"\n")
    new = digests.sha256(judged.folder / path)
    recorded = (judged.folder / digest_file).read_bytes()
    damage(digest_file, recorded.replace(old.encode(), new.encode()))
    status, lines = judged.gate()
    assert status == 1
    assert lines[0] == (
        f"results/provenance.json: lists {path} as {old[:12]}, its job recorded {new[:12]}"
        f"; make it anew: snakemake --cores 4 --forcerun {path}"
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.replace(b"\n", b"\r\n"), "line 1: ends with a carriage return"),
        (lambda c: b"\xef\xbb\xbf" + c, "line 1: begins with a byte order mark"),
        (
            lambda c: c.replace(b",holds,", b",NA,", 1),
            "line 2: column outcome holds 'NA': allowed: ",
        ),
    ],
    ids=["CRLF", "BOM", "NA"],
)
def test_a_file_that_another_program_saved_is_refused_with_its_line(judged, damage, change, says):
    """Also if its job had recorded it so."""
    path, digest_file = KINDS["a suite's rows"], "results/digests/measure_suite_norms.sha256"
    content = (judged.folder / path).read_bytes()
    old = digests.sha256(judged.folder / path)
    damage(path, change(content))
    recorded = (judged.folder / digest_file).read_bytes()
    new = digests.sha256(judged.folder / path)
    damage(digest_file, recorded.replace(old.encode(), new.encode()))
    status, lines = judged.gate()
    assert status == 1
    assert any(line.startswith(f"{path} {says}") for line in lines), lines
    assert not any("Traceback" in one or " crashed" in one for one in lines), lines


def test_a_result_that_was_not_measured_under_the_profile_is_named(judged, damage):
    """With its digest forged to match, and the provenance's, the record itself still says so."""
    path = "results/environments/norms.json"
    old = digests.sha256(judged.folder / path)
    damage(path, (judged.folder / path).read_bytes().replace(b'"COMPATIBLE"', b'"AVX2"'))
    new = digests.sha256(judged.folder / path)
    for record in ("results/digests/measure_suite_norms.sha256", "results/provenance.json"):
        content = (judged.folder / record).read_bytes()
        damage(record, content.replace(old.encode(), new.encode()))
    status, lines = judged.gate()
    assert status == 1
    [line] = [one for one in lines if one.startswith(f"{path}: ")]
    assert "was not measured under the numerical profile: MKL_CBWR is 'AVX2'; make it" in line
