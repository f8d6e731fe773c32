"""Comparing results with the accepted ones, judging what differs, and accepting."""

import json
import multiprocessing
import os
import shutil
import struct
from pathlib import Path

import numpy
import pytest
from rich.console import Console

from posinfo.baseline import accepted, basis, changelog, compare, judge, judging, layout
from posinfo.baseline.comparing import Change, Comparison
from posinfo.baseline.judging import Judged, gate_lines, within_spread
from posinfo.baseline.run import Compared, compared
from posinfo.catalogue import SUITES
from posinfo.claims import Claim, Selector
from posinfo.cli import comparing, main
from posinfo.digests import sha256
from posinfo.errors import InputError
from posinfo.imports import library_files
from posinfo.report.changes import changes_view
from posinfo.schemas import load_yaml, table_fields, table_schema
from posinfo.tidy import read, write

SUITE = "suites/norms.csv"
LEDGER = "ledger.csv"


@pytest.fixture(scope="module")
def schemas(root) -> Path:
    return root / "workflow" / "schemas"


def rows_of(*measured: float, **more: object) -> list[dict]:
    names = table_fields_of_norms()
    return [
        dict.fromkeys(names, "") | {
            "suite": "norms", "case": "a case", "quantity": f"quantity {number}", "subject": "ours",
            "relation": "within", "measured": value, "reference": 0.0, "error": value,
            "bound": 1.0, "ratio": value, "outcome": "holds", "evidence": "float32",
            "basis": "a paper",
        } | more
        for number, value in enumerate(measured)
    ]  # fmt: skip


def table_fields_of_norms() -> list[str]:
    root = Path(__file__).parents[2]
    fields = table_fields(root / "workflow" / "schemas" / SUITE.replace("csv", "yaml"))
    return {one["name"]: None for one in fields}


def claim_rows(**verdicts: str) -> list[dict]:
    root = Path(__file__).parents[2]
    fields = table_fields(root / "workflow" / "schemas" / "ledger.yaml")
    empty = {one["name"]: "" if one["type"] == "string" else None for one in fields}
    needed = {one["name"]: one.get("constraints", {}) for one in fields}
    for name, constraints in needed.items():
        if constraints.get("required"):
            empty[name] = constraints.get("enum", ["text" if empty[name] == "" else 1])[0]
    return [empty | {"id": name, "reproduced": said} for name, said in verdicts.items()]


def lay(folder: Path, schemas: Path, rows: list[dict], ledger: list[dict] = ()) -> Path:
    rows = [{k: None if v == "" and k in NUMBERS else v for k, v in row.items()} for row in rows]
    write(folder / SUITE, rows, table_fields(schemas / "suites" / "norms.yaml"))
    write(folder / LEDGER, list(ledger), table_fields(schemas / "ledger.yaml"))
    return folder


NUMBERS = {
    one["name"]
    for one in table_fields(Path(__file__).parents[2] / "workflow/schemas/suites/norms.yaml")
    if one["type"] != "string"
}


@pytest.fixture
def old(tmp_path, schemas) -> Path:
    return lay(
        tmp_path / "old", schemas, rows_of(1.0, 2.0, 3.0), claim_rows(**{"a-claim": "verified"})
    )


@pytest.fixture
def new(tmp_path, old) -> Path:
    return Path(shutil.copytree(old, tmp_path / "new"))


def changed(old, new, schemas, **more):
    return list(compare(old, new, schemas, **more).changes)


# --- each kind of difference ------------------------------------------------------------------


def test_the_same_folder_is_the_same_and_nothing_is_read(old, new, schemas, monkeypatch):
    monkeypatch.setattr("posinfo.baseline.comparing.read", lambda *_: pytest.fail("was read"))
    found = compare(old, new, schemas)
    assert found.same
    assert found.files == (SUITE, LEDGER)


def test_files_come_and_go(old, new, schemas):
    (new / SUITE).unlink()
    write(new / "tables/evidence.csv", [], table_fields(schemas / "tables/evidence.yaml"))
    assert [(one.file, one.kind) for one in changed(old, new, schemas)] == [
        (SUITE, "file missing"), ("tables/evidence.csv", "file added"),
    ]  # fmt: skip


def test_a_value_is_named_with_its_row_and_column_and_how_far_it_moved(old, new, schemas):
    moved = struct.unpack("<f", struct.pack("<I", 0x40000001))[0]
    lay(new, schemas, rows_of(1.0, moved, 3.0), claim_rows(**{"a-claim": "verified"}))
    first, *_ = changed(old, new, schemas)
    assert first == Change(
        SUITE, "value", "a case / quantity 1 / ours", "measured", "2", repr(moved),
        moved - 2, (moved - 2) / 2, 1, "float32",
    )  # fmt: skip
    assert [one.column for one in changed(old, new, schemas)] == ["measured", "error", "ratio"]


@pytest.mark.parametrize(
    ("old_value", "new_value", "ulp", "precision"),
    [
        (1.0, 1.0 + 2**-52, 1, "float64"),
        (1.0, 1.0 + 2**-23, 1, "float32"),
        (2.0, 2.0 - 2**-23, 1, "float32"),  # the step below a power of two is half as wide
        (0.0, 2.0**-149, 1, "float32"),
        (-(2.0**-149), 2.0**-149, 2, "float32"),
        (0.1, 0.25, None, "float64"),
        (1e300, 1.0, None, "float64"),
    ],
)
def test_units_in_the_last_place(tmp_path, schemas, old_value, new_value, ulp, precision):
    one = lay(tmp_path / "one", schemas, rows_of(old_value))
    other = lay(tmp_path / "other", schemas, rows_of(new_value))
    [first, *_] = changed(one, other, schemas)
    assert first.precision == precision
    if ulp is None:
        assert first.ulp > 1000
    else:
        assert first.ulp == ulp


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None])
def test_what_is_no_number_differs_and_has_no_distance(tmp_path, old, schemas, value):
    other = lay(
        tmp_path / "o", schemas, rows_of(1.0, 2.0, value), claim_rows(**{"a-claim": "verified"})
    )
    first = next(one for one in changed(old, other, schemas) if one.column == "measured")
    assert (first.old, first.absolute, first.relative, first.ulp) == ("3", None, None, None)


def test_a_zero_that_lost_its_sign_differs(tmp_path, schemas):
    one, other = (
        lay(tmp_path / "a", schemas, rows_of(0.0)),
        lay(tmp_path / "b", schemas, rows_of(-0.0)),
    )
    first = changed(one, other, schemas)[0]
    assert (first.old, first.new, first.absolute, first.ulp) == ("0", "-0.0", 0.0, 0)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new).encode())


def test_rows_come_go_and_change_places(old, new, schemas):
    lines = (old / SUITE).read_text().splitlines(keepends=True)
    (new / SUITE).write_text("".join(lines[:-1]))
    assert [(one.kind, one.key) for one in changed(old, new, schemas)] == [
        ("row missing", "a case / quantity 2 / ours")
    ]
    assert [one.kind for one in changed(new, old, schemas)] == ["row added"]
    (new / SUITE).write_text("".join([lines[0], lines[2], lines[1], lines[3]]))
    assert [one.kind for one in changed(old, new, schemas)] == ["order"]


def test_a_row_twice_is_no_result(old, new, schemas):
    text = (old / SUITE).read_text()
    (new / SUITE).write_text(text + text.splitlines(keepends=True)[-1])
    [one] = changed(old, new, schemas)
    assert one.kind == "unreadable"
    assert "line 5: has the key of line 4 again" in one.new


def test_equal_values_in_other_bytes_differ(old, new, schemas):
    path = new / SUITE
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [one.kind for one in changed(old, new, schemas)] == ["unreadable"]


def test_a_column_that_was_not_there_yet_is_added_and_the_others_are_compared(old, new, schemas):
    text = (old / SUITE).read_text().replace(",bound,", ",").replace(",1,", ",", 3)
    kept = [name for name in table_fields_of_norms() if name != "bound"]
    fields = [one for one in table_fields(schemas / "suites/norms.yaml") if one["name"] in kept]
    rows = read(new / SUITE, table_fields(schemas / "suites/norms.yaml"))
    rows[0]["measured"] = 5.0
    write(old / SUITE, [{k: row[k] for k in kept} for row in rows], fields)
    kinds = [(one.kind, one.column) for one in changed(old, new, schemas)]
    assert kinds == [("column added", "bound"), ("value", "measured")], text


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda text: "", "is empty"),
        (lambda text: "\ufeff" + text, "byte order mark"),
        (lambda text: text.replace("within,1,", 'within,"0,48",', 1), "0,48"),
        (lambda text: text.replace("within,1,", "within,1e400,", 1), "too large"),
        (lambda text: text.replace(",a paper", "", 1), "cells"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("side", ["old", "new"])
def test_a_file_that_cannot_be_read_is_named(old, new, schemas, damage, says, side):
    path = {"old": old, "new": new}[side] / SUITE
    path.write_text(damage(path.read_text()), encoding="utf-8")
    found = compare(old, new, schemas)
    [line] = found.unreadable
    assert line.startswith(str(path))
    assert says in line
    assert len(found.changes) == 1


def test_the_claims_that_use_a_row_are_named_and_verdicts_that_moved(old, new, schemas):
    uses = Claim("a-claim", (), "A", "", "computed", "", "", supports=(
        Selector("norms", {"quantity": ("quantity 1",)}, 1),))  # fmt: skip
    lay(new, schemas, rows_of(1.5, 2.5, 3.0), claim_rows(**{"a-claim": "refuted"}))
    found = compare(old, new, schemas, claims=[uses])
    named = {one.key: one.claims for one in found.changes if one.column == "measured"}
    assert named == {"a case / quantity 0 / ours": (), "a case / quantity 1 / ours": ("a-claim",)}
    assert found.verdicts == {"a-claim": ("verified", "refuted")}
    record = Judged(found.changes[3], judging.MOVED, "").record(found.verdicts)
    assert record["verdict"] == "a-claim: verified → refuted"


# --- what becomes of it, and why --------------------------------------------------------------


@pytest.fixture(scope="module")
def now(root, config) -> dict:
    facts = {
        "packages": {"torch": "2.13.0"}, "cpu": {"vendor": "A", "level": "x86-64-v3", "model": "B"},
        "numerics": {"torch_threads": 1}, "system": {"machine": "x86_64", "libc": "glibc 2.36"},
    }  # fmt: skip
    return basis.document(
        source=root / "src", config=config, claims=[root / path for path in config["claims"]],
        packages={"peers": {"transformers": "5.24.0"}},
        readings=root / "baseline/pretrained/readings.csv",
        environments={f"results/suites/{suite}.csv": facts for suite in SUITES}, suites=SUITES,
    )  # fmt: skip


def other(now: dict, **changes: object) -> dict:
    """Another basis; keys of environments are set in each."""
    made = json.loads(json.dumps(now)) | {k: v for k, v in changes.items() if k in now}
    for one in made["environments"]:
        one |= {key: value for key, value in changes.items() if key not in now}
        one["packages"] = {"torch": changes["torch"]} if "torch" in changes else one["packages"]
    return made


def test_a_basis_names_no_machine(now):
    assert all(one["cpu"] == {"vendor": "A", "level": "x86-64-v3"} for one in now["environments"])


def kinds(name: str, now: dict, then: dict, root: Path) -> dict[str, str]:
    return {one.kind: one.text for one in basis.causes(name, then, now, root / "src")}


def test_nothing_known_where_nothing_differs(now, root):
    assert kinds(SUITE, now, other(now), root) == {}


def test_keys_of_the_config_are_named_where_a_file_depends_on_them(now, root, config):
    then = other(now, config=config | {"seed": 7})
    assert kinds(SUITE, now, then, root) == {"config": "config: seed 7 → 123"}
    assert kinds("tables/symbols.csv", now, then, root)["config"] == "config: seed 7 → 123"
    suites = config["suites"] | {"norms": config["suites"]["norms"] | {"tolerance": 1.0}}
    then = other(now, config=config | {"suites": suites})
    assert kinds("suites/shapes.csv", now, then, root) == {}
    assert "suites.norms.tolerance" in kinds(SUITE, now, then, root)["config"]
    then = other(now, config=config | {"comparison": {"spreads": 3.0, "of_bound": 0.5}})
    assert kinds(SUITE, now, then, root) == {}
    then = other(now, config=config | {"decoder": config["decoder"] | {"width": 8}})
    assert kinds(SUITE, now, then, root) == {}
    assert "decoder.width" in kinds("suites/trained.csv", now, then, root)["config"]


def test_packages_that_were_left_out_are_of_their_suite(now, root):
    then = other(now, packages={"peers": {"transformers": "not installed"}})
    assert "packages.peers.transformers" in kinds("suites/peers.csv", now, then, root)["config"]
    assert kinds(SUITE, now, then, root) == {}


def test_modules_are_named_where_a_file_depends_on_them(now, root):
    edited = "posinfo/encodings/learned.py"
    assert edited in now["code"]
    then = other(now, code=now["code"] | {edited: "another"})
    assert kinds("suites/lookup.csv", now, then, root) == {"code": f"code: {edited}"}
    assert kinds(SUITE, now, then, root) == {}


@pytest.mark.parametrize("suite", SUITES)
def test_every_file_of_a_suite_is_in_its_code(now, root, suite):
    files = library_files(str(root / "src"), [f"posinfo.suites.{suite}", "posinfo.measure"])
    assert set(files) - {"posinfo/__init__.py"} == set(
        basis.modules(root / "src", f"suites/{suite}.csv")
    )
    assert set(files) - {"posinfo/__init__.py"} <= set(now["code"])


def test_versions_profile_machine_and_processor_are_told_apart(now, root):
    for facts, kind in (
        ({"torch": "2.14.0"}, "versions"),
        ({"numerics": {"torch_threads": 4}}, "profile"),
        ({"system": {"machine": "aarch64", "libc": "glibc 2.36"}}, "machine"),
        ({"system": {"machine": "x86_64", "libc": "glibc 2.39"}}, "system"),
        ({"cpu": {"vendor": "C", "level": "x86-64-v2"}}, "CPU"),
    ):
        assert set(kinds(SUITE, now, other(now, **facts), root)) == {kind}


def standings(old, new, schemas, then, now, root, spreads=1.0, of_bound=0.02) -> list[str]:
    judged = judge(compare(old, new, schemas), then, now, root / "src", spreads, of_bound)
    return [one.standing for one in judged]


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({}, judging.MOVED),
        ({"code": {}}, judging.MOVED),
        ({"cpu": {"vendor": "C"}}, judging.MOVED),  # by too much for another processor
        ({"system": {"machine": "x86_64", "libc": "other"}}, judging.MOVED),
        ({"torch": "2.14.0"}, judging.BENEATH),
        ({"system": {"machine": "aarch64"}}, judging.BENEATH),
        ({"numerics": {"torch_threads": 4}}, judging.BENEATH),
        ({"config": {"seed": 7}}, judging.CONFIG),
    ],
)
def test_what_becomes_of_a_moved_row(old, new, schemas, now, root, changes, standing):
    edit(new / SUITE, "within,1,", "within,1.25,")
    if "config" in changes:
        then = other(now, config=now["config"] | changes["config"])
    else:
        then = other(now, **changes)
    assert standings(old, new, schemas, then, now, root) == [standing]


def test_of_results_of_which_nothing_is_known_everything_moved(old, new, schemas, now, root):
    edit(new / SUITE, "within,1,", "within,1.25,")
    assert standings(old, new, schemas, now, None, root) == [judging.MOVED]


def test_what_is_made_of_rows_follows_them_and_alone_it_moved(old, new, schemas, now, root):
    edit(new / LEDGER, "verified", "refuted")
    assert standings(old, new, schemas, now, now, root) == [judging.MOVED]
    edit(new / SUITE, "within,1,", "within,1.25,")
    assert standings(old, new, schemas, now, now, root) == [judging.MOVED, judging.FOLLOWS]


def test_other_words_of_claims_move_nothing_but_other_verdicts_do(old, new, schemas, now, root):
    then = other(now, claims={"lesson-a.yaml": "another"})
    rows = claim_rows(**{"a-claim": "verified"})
    lay(new, schemas, rows_of(1.0, 2.0, 3.0), [rows[0] | {"why": "other words"}])
    assert standings(old, new, schemas, then, now, root) == [judging.WORDING]
    assert standings(old, new, schemas, now, now, root) == [judging.MOVED]
    lay(new, schemas, rows_of(1.0, 2.0, 3.0), [rows[0] | {"reproduced": "refuted"}])
    assert standings(old, new, schemas, then, now, root) == [judging.MOVED]


# --- training ---------------------------------------------------------------------------------


def trained(measured: float, lowest: float, highest: float) -> dict:
    return {"measured": measured, "lowest": lowest, "highest": highest, "relation": "within"}


def of_training(was: dict, now: dict, column: str = "measured") -> Change:
    return Change("suites/trained.csv", "value", column=column, row=now, was=was)


@pytest.mark.parametrize("facts", [
    {"cpu": {"vendor": "C"}}, {"system": {"machine": "x86_64", "libc": "other"}},
])  # fmt: skip
def test_another_processor_or_system_may_move_a_row_by_a_share_of_its_bound(
    old, new, schemas, now, root, facts
):
    """``measured``, ``error`` and ``ratio`` of one row differ."""
    then = other(now, **facts)
    lay(new, schemas, rows_of(1.0, 2.0, 3.019), claim_rows(**{"a-claim": "verified"}))
    assert standings(old, new, schemas, then, now, root) == [judging.PROCESSOR] * 3
    assert standings(old, new, schemas, now, now, root) == [judging.MOVED] * 3
    lay(new, schemas, rows_of(1.0, 2.0, 3.021), claim_rows(**{"a-claim": "verified"}))
    assert standings(old, new, schemas, then, now, root) == [judging.MOVED] * 3


@pytest.mark.parametrize("column", ["outcome", "relation", "measured_text", "ratio"])
def test_what_a_row_asserts_moves_on_no_processor(column):
    row = rows_of(1.0)[0]
    now = row | {column: None if column == "ratio" else "other"}
    for changed in ("measured", column):
        change = Change(SUITE, "value", column=changed, row=now, was=row)
        assert not judging.within_bound(change, 1.0)
    assert judging.within_bound(Change(SUITE, "value", column="measured", row=row, was=row), 0.0)


@pytest.mark.parametrize("column", ["ratio", "measured", "bound"])
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_no_number_is_no_share_of_a_bound(column, number, side):
    """On either side, for a comparison with NaN is false whichever way it is asked."""
    rows = [rows_of(1.0)[0], rows_of(1.0)[0]]
    rows[side] |= {column: number}
    change = Change(SUITE, "value", column="error", was=rows[0], row=rows[1])
    assert not judging.within_bound(change, 0.02)


def test_a_row_without_a_bound_may_differ_in_what_is_measured_beside():
    row = rows_of(1.0)[0] | {"ratio": None, "bound": None, "relation": "equals"}
    for column, relative, may in (
        ("scale", 0.01, True), ("scale", 0.03, False), ("scale", None, False),
        ("measured", 0.0, False), ("outcome", None, False),
    ):  # fmt: skip
        change = Change(SUITE, "value", column=column, relative=relative, row=row, was=row)
        assert judging.within_bound(change, 0.02) is may


def test_the_rehearsal_stays_well_within_what_another_processor_may_do(root):
    """Under the profile and on one thread, as a run measures."""
    fields = table_fields(root / "workflow/schemas/portability/configurations.yaml")
    rows = read(root / "baseline/portability/configurations.csv", fields)
    as_a_run = [row["of_bound"] for row in rows if (row["profile"], row["threads"]) == ("on", 1)]
    assert len(as_a_run) > 2
    allowed = load_yaml(root / "config/config.yaml")["comparison"]["of_bound"]
    assert max(as_a_run) <= 0.75 * allowed


def test_training_may_move_as_far_as_both_spreads_reach():
    was = trained(1.0, 0.5, 1.5)
    assert within_spread(of_training(was, trained(2.4, 2.2, 2.7)), 1.0)  # 1.4 of 1 + 0.5
    assert not within_spread(of_training(was, trained(2.6, 2.3, 2.8)), 1.0)
    assert not within_spread(of_training(was, trained(2.4, 2.2, 2.7)), 0.5)
    assert not within_spread(of_training(was, trained(float("nan"), 2.2, 2.7)), 1.0)
    assert not within_spread(of_training(was, trained(2.4, None, 2.7)), 1.0)
    assert not within_spread(of_training(was, was, column="outcome"), 1.0)


def test_seeds_that_overlap_always_pass_and_strangers_rarely_fail():
    generator = numpy.random.default_rng(1)
    for draw in (generator.normal, generator.exponential):
        old, new = draw(size=(2, 200_000, 6))
        spread = numpy.ptp(old, 1) + numpy.ptp(new, 1)
        for value in (numpy.mean, numpy.max):
            moved = abs(value(old, 1) - value(new, 1))
            overlap = (old.min(1) <= new.max(1)) & (new.min(1) <= old.max(1))
            assert not (moved > spread)[overlap].any()
            assert (moved > spread).mean() < 1e-3
            assert (moved > 0.1 * spread).mean() > 0.1  # a rule that lets everything pass is none


def test_every_row_of_trained_decoders_says_its_spread_or_cannot_move(trained_rows):
    for row in trained_rows:
        known = {**row.extra}
        assert known.get("seeds") is None or known["lowest"] <= known["highest"]
        assert known.get("seeds") or row.relation in ("equals", "raises"), row


# --- the gate and the page --------------------------------------------------------------------


def record(**more: object) -> dict:
    return {
        "file": SUITE, "kind": "value", "key": "a / b / c", "column": "measured", "old": "1",
        "new": "2", "absolute": 1.0, "relative": 1.0, "ulp": 8388608, "precision": "float32",
        "claims": "a-claim", "verdict": "", "standing": judging.MOVED, "why": "code: posinfo/x.py",
    } | more  # fmt: skip


def test_a_file_that_moved_is_one_line_of_the_gate():
    assert gate_lines([record(), record(column="error")]) == [
        "results/suites/norms.csv: a / b / c: measured was accepted as 1, is 2 (and 1 more changes "
        'of this file), because of code: posinfo/x.py; if it is right: posinfo accept --because "…"'
    ]
    assert gate_lines([record()], red={SUITE}) == []
    for standing in judging.STANDINGS:
        lines = gate_lines([record(standing=standing)])
        assert bool(lines) == (standing in (judging.MOVED, judging.UNREADABLE)), standing


def test_the_page_counts_all_changes_and_shows_some():
    view = changes_view(
        [record(key=str(number)) for number in range(100)], "results/comparison.csv"
    )
    assert (view.total, view.moved) == (100, 100)
    assert len(view.shown.rows) + len(view.rest.rows) + view.left_out == 100
    assert changes_view([], "results/comparison.csv").shown is None
    known = {Judged(Change(SUITE, "value"), one, "").standing for one in judging.STANDINGS}
    from posinfo.report.changes import MEANINGS

    assert set(MEANINGS) == known


# --- the folder of accepted results -----------------------------------------------------------


ABOUT = dict.fromkeys(("version", "packages", "readings", "code", "claims", "config"), "") | {
    "environments": []
}


@pytest.fixture
def folder(tmp_path) -> Path:
    accepted.write(tmp_path / "results", {SUITE: b"old\n", LEDGER: b"old\n"}, ABOUT)
    return tmp_path / "results"


def test_what_was_accepted_reads_back(folder):
    assert accepted.problems(folder) == []
    assert set(accepted.load(folder)["files"]) == {SUITE, LEDGER}


def test_accepting_replaces_all_and_leaves_nothing_else(folder):
    accepted.write(folder, {SUITE: b"new\n"}, ABOUT)
    assert accepted.problems(folder) == []
    assert {path.name for path in folder.rglob("*")} == {"accepted.json", "suites", "norms.csv"}
    assert [path.name for path in folder.parent.iterdir()] == ["results"]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda path: path.unlink(), "is gone"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_bytes(b"old"), "was accepted as"),
    ],
)
def test_a_damaged_file_is_named(folder, damage, says):
    damage(folder / SUITE)
    [line] = accepted.problems(folder)
    assert line.startswith(str(folder / SUITE))
    assert says in line


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"version": 1}'])
def test_a_damaged_record_is_one_line(folder, content):
    (folder / "accepted.json").write_text(content)
    [line] = accepted.problems(folder)
    assert "accepted.json" in line
    assert "git has" in line


def test_nothing_accepted_is_one_change(tmp_path, old, schemas, now, root):
    found = compared(tmp_path / "none", old, schemas=schemas, claims=(), basis=now,
                     source=root / "src", spreads=1.0, of_bound=0.02)  # fmt: skip
    assert [one.standing for one in found.judged] == [judging.UNREADABLE]
    assert "does not exist" in found.comparison.changes[0].new


def _killed(folder: Path) -> None:
    accepted.write(folder, {SUITE: b"new\n"}, ABOUT, before_exchange=lambda: os._exit(9))


def test_who_is_killed_leaves_what_was_accepted_whole(folder):
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(folder,))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    assert accepted.problems(folder) == []
    assert (folder / SUITE).read_bytes() == b"old\n"
    accepted.write(folder, {SUITE: b"new\n"}, ABOUT)
    assert [path.name for path in folder.parent.iterdir()] == ["results"]


def test_where_folders_cannot_be_exchanged_one_takes_the_others_place(folder, monkeypatch):
    monkeypatch.setattr(accepted.ctypes, "CDLL", lambda *_, **__: object())
    accepted.write(folder, {SUITE: b"new\n"}, ABOUT)
    assert accepted.problems(folder) == []
    assert (folder / SUITE).read_bytes() == b"new\n"
    assert [path.name for path in folder.parent.iterdir()] == ["results"]


def test_ids_that_are_cited_are_kept():
    page = '<p id="claim-x"><h4 id=says-3><a id=changes href="#y">'
    assert accepted.page_ids(page) == ["changes", "claim-x"]


def test_an_entry_that_a_killed_command_left_is_replaced(tmp_path):
    path = tmp_path / "CHANGES.md"
    for because in ("the first", "another"):
        text = changelog.entry("results", because, ["a line"], "abc")
        changelog.append(path, text, ", results `abc`: ")
    changelog.append(path, changelog.entry("results", "later", [], "def"), ", results `def`: ")
    text = path.read_text()
    assert "the first" not in text
    assert text.index("another") < text.index("later")
    with pytest.raises(InputError):
        changelog.append(tmp_path / "CHANGES.md" / "x", "text")


# --- the committed ones -----------------------------------------------------------------------


def test_every_schema_names_the_key_of_its_rows(root, schemas):
    paths = [path for part in layout.FOLDERS for path in (schemas / part).glob("*.yaml")]
    for path in (*paths, schemas / "ledger.yaml", schemas / "missing.yaml"):
        schema = table_schema(path)
        names = {field["name"] for field in schema["fields"]}
        assert schema["key"], path
        assert set(schema["key"]) <= names, path


def test_the_committed_results_are_those_that_were_accepted(root, schemas):
    folder = root / "baseline" / "results"
    assert accepted.problems(folder) == []
    names = layout.names(folder)
    assert {f"suites/{suite}.csv" for suite in SUITES} <= set(names)
    for name in names:
        schema = table_schema(layout.schema_path(name, schemas))
        rows = read(folder / name, schema["fields"])
        keys = [tuple(row[one] for one in schema["key"]) for row in rows]
        assert len(set(keys)) == len(keys) > 0, f"rows of {name} share a key"
    record = accepted.load(folder)
    assert set(record["files"]) == {*names, accepted.PAGE_IDS}
    text = (root / "baseline" / "CHANGES.md").read_text(encoding="utf-8")
    *_, last = (entry for entry in text.split("\n- ") if ", results `" in entry)
    assert last


# --- posinfo diff -----------------------------------------------------------------------------


@pytest.fixture
def rerun(tmp_path, root, schemas, run_suite, config):
    """Results of one suite with keys of the config changed, as a run would leave them."""

    def make(suite: str, **changed: object) -> Path:
        folder = tmp_path / "results"
        rows = [row.record() for row in run_suite(suite, **changed)]
        write(folder / f"suites/{suite}.csv", rows, table_fields(schemas / f"suites/{suite}.yaml"))
        about = accepted.load(root / "baseline" / "results") | {"config": config | changed}
        (folder / "basis.json").write_text(json.dumps(about))
        return folder

    return make


def diffed(capsys, *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["diff", *arguments])
    printed = capsys.readouterr()
    return ended.value.code, printed.out + printed.err


def test_another_seed_is_the_reason_and_what_it_does_not_touch_is_the_same(rerun, capsys):
    folder = rerun("norms", seed=124)
    status, text = diffed(capsys, "norms", "--results", str(folder), "--json")
    assert status == 1, text
    found = json.loads(text)
    moved = [one for one in found["changes"] if one["column"] == "measured"]
    assert moved
    assert {one["why"] for one in found["changes"]} == {"config: seed 123 → 124"}
    assert {one["standing"] for one in found["changes"]} == {judging.CONFIG}
    assert any(one["precision"] == "float32" and one["ulp"] > 0 for one in moved)
    assert any("norms-kept" in one["claims"] for one in moved)
    for one in moved:
        assert one["absolute"] == abs(float(one["new"]) - float(one["old"]))


def test_another_base_is_the_reason(rerun, capsys):
    folder = rerun("shapes", base=500000.0)
    status, text = diffed(capsys, "shapes", "--results", str(folder))
    assert (status, text.count("the same bytes as accepted, in 1 files")) == (0, 1), text
    folder = rerun("angles", base=500000.0)
    status, text = diffed(capsys, "suites/angles.csv", "--results", str(folder))
    assert status == 1
    assert "config: base 10000.0 → 500000.0" in " ".join(text.split())
    assert "more: --all shows them" in text


def test_of_a_part_of_a_run_it_is_said_that_it_is_one(rerun, capsys):
    folder = rerun("norms", seed=124)
    (folder / "basis.json").unlink()
    status, text = diffed(capsys, "norms", "--results", str(folder))
    assert status == 1
    assert "moved; why: no basis.json: only part of a run was made\n" in text


def test_a_result_that_was_edited_is_the_reason_and_another_config_does_not_hide_it(rerun, capsys):
    folder = rerun("norms", seed=124)
    digest = folder / "digests" / "measure_suite_norms.sha256"
    digest.parent.mkdir()
    digest.write_text(f"{sha256(folder / SUITE)}  results/{SUITE}\n")
    _, text = diffed(capsys, "norms", "--results", str(folder))
    assert "other config; why: config: seed 123 → 124\n" in text
    edit(folder / SUITE, ",holds,", ",fails,")
    for kept in (True, False):
        status, text = diffed(capsys, "norms", "--results", str(folder))
        assert status == 1
        assert "moved; why: touched by hand (its recorded digest differs)" in text
        assert "other config" not in text
        assert ("seed 123 → 124" in text) == kept
        (folder / "basis.json").unlink(missing_ok=True)
    digest.write_text("nothing\n")
    status, text = diffed(capsys, "norms", "--results", str(folder))
    assert (status, len(text.splitlines())) == (2, 1)
    assert f"{digest} line 1: is not a sha256 and a path" in text


def test_no_edit_makes_what_follows_from_it_an_edit(old, new, schemas, now, root):
    edit(new / LEDGER, "verified", "refuted")
    edit(new / SUITE, "within,1,", "within,1.25,")
    comparison = compare(old, new, schemas)
    for touched, wanted in {
        SUITE: [judging.MOVED, judging.FOLLOWS],
        LEDGER: [judging.MOVED, judging.MOVED],
    }.items():
        found = judge(comparison, now, now, root / "src", 1.0, 0.02, [touched])
        assert [one.standing for one in found] == wanted
        (said,) = {one.why for one in found if one.change.file == touched}
        assert said == "touched by hand (its recorded digest differs)"


def test_the_table_breaks_no_id_and_counts_no_units_that_say_nothing(capsys, monkeypatch):
    monkeypatch.setattr(comparing, "console", lambda: Console(width=80))
    ids = ("norms-kept-in-the-lesson-run", "rotation-keeps-norms-at-every-position")
    changes = [
        Change(SUITE, "value", "a / b", "measured", "1", "2", 1.0, 1.0, ulp, "float64", ids)
        for ulp in (999_999, 879_373_269_110_373)
    ]
    verdict = ("reproduced", "verified", "refuted")
    changes.append(Change(LEDGER, "value", ids[1], *verdict, claims=(ids[1],)))
    judged = [judging.Judged(change, judging.MOVED, "") for change in changes]
    found = Compared(Comparison(tuple(changes), (SUITE, LEDGER)), judged)
    comparing._print(found, "results", Path("baseline"), False)
    text = capsys.readouterr().out
    assert all(name in text for name in ids)
    assert f"{ids[1]}: reproduced" in text
    assert text.count(ids[0]) == 1  # once for both rows
    assert "999,999 float64" in text
    assert "many" in text
    assert "879,373" not in text
    assert [one["ulp"] for one in found.records()][1] == 879_373_269_110_373


def test_a_result_that_cannot_be_read_is_wrong_input(rerun, capsys):
    folder = rerun("norms")
    edit(folder / SUITE, "within,", 'within,"0,48",')
    status, text = diffed(capsys, "norms", "--results", str(folder))
    assert status == 2
    assert len(text.splitlines()) == 1, text
    assert "norms.csv" in text
