"""The gate: nothing that is off passes, and each thing that is gets its line."""

from pathlib import Path

import pytest

from posinfo import digests, environment, extras, gate, numerics
from posinfo.catalogue import SUITES
from posinfo.ledger import decide_claims
from posinfo.schemas import fields_by_name
from posinfo.tidy import json_text, read_all, write, write_atomically

PATHS = [f"results/suites/{suite}.csv" for suite in SUITES]


@pytest.fixture(scope="module")
def ledger(claims, records):
    return [entry.record() for entry in decide_claims(claims, records)]


def test_what_was_measured_is_green(records, ledger):
    assert gate.problems(records, ledger, PATHS) == []


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_without_rows_is_named_with_how_to_make_it_anew(records, ledger, suite):
    left = [record for record in records if record["suite"] != suite]
    path = f"results/suites/{suite}.csv"
    assert gate.problems(left, ledger, PATHS) == [
        f"{path}: has no rows; make it anew: snakemake --cores 4 --forcerun {path}"
    ]


def test_no_rows_at_all_name_every_suite(ledger):
    assert [line.partition(":")[0] for line in gate.problems([], ledger, PATHS)] == PATHS


def broken(records, suite: str, count: int) -> list[dict]:
    """The records with the first rows of one subject failing."""
    subject = next(record["subject"] for record in records if record["suite"] == suite)
    left, changed = count, []
    for record in records:
        if left and (record["suite"], record["subject"]) == (suite, subject):
            record, left = record | {"outcome": "fails"}, left - 1
        changed.append(record)
    assert left == 0
    return changed


@pytest.mark.parametrize("count", [1, 3])
def test_a_few_rows_that_do_not_hold_are_named_each(records, ledger, count):
    lines = gate.problems(broken(records, "norms", count), ledger, PATHS)
    assert len(lines) == count
    assert all(line.startswith("results/suites/norms.csv: norms: ") for line in lines)
    assert all("posinfo.encodings.rotary" in line for line in lines)


def test_many_rows_that_do_not_hold_are_counted_and_the_first_are_named(records, ledger):
    changed = broken(records, "norms", 5)
    subject = next(record["subject"] for record in changed if record["outcome"] == "fails")
    total = sum((r["suite"], r["subject"]) == ("norms", subject) for r in changed)
    lines = gate.problems(changed, ledger, PATHS)
    assert lines[0] == (
        f"results/suites/norms.csv: 5 of {total} rows of {subject} do not hold, such as"
    )
    assert len(lines) == 1 + gate.NAMED


def listed_rows(*outcomes: str) -> list[dict]:
    return [
        {"suite": "implementations", "subject": "mine", "quantity": f"check {n}", "outcome": one}
        for n, one in enumerate(outcomes)
    ]


def test_an_implementation_of_the_config_is_one_problem_with_the_command_that_shows_more():
    entry = {"name": "mine", "file": "my rope.py", "function": "right", "axes": "bthd"}
    rows = listed_rows("fails", "holds", "error", "fails", "fails")
    assert gate.row_lines(rows, [entry]) == [
        "implementation mine (my rope.py:right): 4 of 5 checks fail: check 0, check 2, check 3, "
        "check 4; see posinfo check 'my rope.py:right' --axes bthd"
    ]
    assert gate.row_lines(listed_rows("holds"), [entry]) == []
    [line] = gate.row_lines(listed_rows("fails"), [entry])
    assert "1 of 1 check fails: check 0; see" in line


def test_a_row_fails_the_gate_whichever_claim_uses_it(records, ledger, claims):
    """Also a row that no claim selects."""
    used = {id(row) for entry in decide_claims(claims, records) for row in entry.rows}
    unused = next(record for record in records if id(record) not in used)
    changed = [r | {"outcome": "error"} if r is unused else r for r in records]
    assert len(gate.problems(changed, ledger, PATHS)) == 1


@pytest.mark.parametrize("outcome", ["fails", "error", "", "Holds"])
def test_only_holds_holds(records, ledger, outcome):
    changed = [records[0] | {"outcome": outcome}, *records[1:]]
    assert len(gate.problems(changed, ledger, PATHS)) == 1


def test_a_contradiction_without_its_margin_is_named(records, ledger):
    (row, *_) = (record for record in records if record["contradicts"])
    changed = [r | {"bound": r["bound"] / 2} if r is row else r for r in records]
    (line,) = gate.problems(changed, ledger, PATHS)
    assert row["quantity"] in line
    assert "10 times the bound" in line


@pytest.mark.parametrize("recorded", ["verified", "conditional", "refuted"])
def test_a_verdict_that_is_not_the_recorded_one_is_named(records, ledger, recorded):
    number = next(
        n for n, e in enumerate(ledger) if e["kind"] == "computed" and e["recorded"] != recorded
    )
    entry = ledger[number]
    changed = [*ledger[:number], entry | {"recorded": recorded}, *ledger[number + 1 :]]
    assert gate.problems(records, changed, PATHS) == [
        f"claim {entry['id']} ({entry['covers']}): recorded {recorded}, "
        f"reproduced {entry['reproduced']}"
    ]


def test_an_undecided_claim_is_named_with_its_problem():
    entry = {
        "id": "one", "covers": "A01 A02", "kind": "computed", "recorded": "verified",
        "reproduced": "undecided", "problem": "norms: all rows finds 0 rows, expected 2",
    }  # fmt: skip
    assert gate.ledger_lines([entry]) == [
        "claim one (A01 A02): recorded verified, reproduced undecided: "
        "norms: all rows finds 0 rows, expected 2"
    ]


def test_what_is_stale_passes_where_a_row_says_so_and_nowhere_else():
    entry = {
        "id": "one", "covers": "A01", "kind": "computed", "recorded": "verified", "problem": "",
        "reproduced": "stale", "files": "results/suites/pretrained.csv",
    }  # fmt: skip
    row = {"suite": "pretrained", "outcome": "holds", "standing": "stale"}
    assert gate.ledger_lines([entry]) == []
    assert gate.not_run_lines([row], [entry]) == []
    for others in ([], [{**row, "standing": "accepted"}], [{**row, "suite": "norms"}]):
        (line,) = gate.not_run_lines(others, [entry])
        assert line == "claim one (A01): is said to be stale, and its rows are not"


def test_what_is_read_or_awaited_passes(ledger):
    others = [entry for entry in ledger if entry["kind"] != "computed"]
    assert {entry["kind"] for entry in others} == {"source", "judgement"}
    waits = {**others[0], "kind": "awaiting", "reproduced": "awaiting", "recorded": ""}
    assert gate.ledger_lines([*others, waits]) == []


def test_a_ledger_without_claims_does_not_pass(records):
    assert gate.problems(records, [], PATHS)


def test_results_that_were_touched_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(f"{name}.csv").write_text("x\n")
        digests.record([f"{name}.csv"], f"{name}.sha256")
    files = ["a.sha256", "b.sha256"]
    assert gate.file_lines(files) == []
    Path("b.csv").write_text("y\n")
    (line,) = gate.file_lines(files)
    assert line.startswith("b.csv: was touched by hand, recorded as ")
    assert " in b.sha256, is " in line  # the record may be what was touched
    Path("a.sha256").unlink()
    lines = gate.file_lines(files)
    assert len(lines) == 2
    assert lines[0] == (
        "a.sha256: cannot be read: No such file or directory; make it anew: "
        "snakemake --cores 4 --forcerun a.sha256"
    )


def test_a_suite_that_cannot_be_read_is_named_and_the_others_are_used(root, records, tmp_path):
    schemas = root / "workflow" / "schemas" / "suites"
    fields = fields_by_name(schemas / f"{suite}.yaml" for suite in SUITES)
    paths = [tmp_path / f"{suite}.csv" for suite in SUITES]
    for suite, path in zip(SUITES, paths, strict=True):
        write(path, [record for record in records if record["suite"] == suite], fields[suite])
    rows, lines = read_all(paths, fields)
    assert (len(rows), lines) == (len(records), [])
    paths[1].write_text("not,the,header\n")
    paths[2].unlink()
    rows, lines = read_all(paths, fields)
    assert {row["suite"] for row in rows} == set(SUITES) - {"norms", "angles"}
    assert [line.startswith(str(path)) for line, path in zip(lines, paths[1:3], strict=True)] == [
        True,
        True,
    ]


def test_the_verdicts_are_counted_in_one_line(ledger):
    line = gate.verdict_line(ledger)
    counts = [int(part.split()[0]) for part in line.partition(": ")[2].split(", ")]
    assert line.startswith(f"{len(ledger)} claims: ")
    assert sum(counts) == len(ledger)
    assert "undecided" not in line
    entries = [{"reproduced": name} for name in ("verified", "verified", "undecided", "read")]
    assert gate.verdict_line(entries) == "4 claims: 2 verified, 1 undecided, 1 read in sources"


def test_a_result_that_no_job_has_recorded_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"{name}\n")
    digests.record(["a.csv"], "job.sha256")
    assert gate.file_lines(["job.sha256"], ["a.csv"]) == []
    assert gate.file_lines(["job.sha256"], ["a.csv", "b.csv"]) == [
        "b.csv: no job has recorded it; make it anew: snakemake --cores 4 --forcerun b.csv"
    ]


def test_a_row_that_says_it_holds_and_does_not_is_named(records, ledger):
    assert gate.redecided_lines(records) == []
    chosen = next(r for r in records if r["relation"] == "within" and r["error"])
    for change in ({"bound": chosen["error"] / 2}, {"measured": float("nan")}, {"bound": None}):
        changed = [r | change if r is chosen else r for r in records]
        [line] = gate.redecided_lines(changed)
        assert "is said to hold, and its own values give" in line
        assert line in gate.problems(changed, ledger, PATHS)


def test_a_row_that_says_it_fails_and_holds_is_named_as_that(records):
    chosen = next(r for r in records if r["relation"] == "within" and r["error"])
    changed = [r | {"outcome": "fails"} if r is chosen else r for r in records]
    [line] = gate.row_lines(changed)
    assert line.endswith("is said to fail, and its own values give holds")


# --- packages that may be left out ----------------------------------------------------------------


@pytest.fixture(scope="module")
def without_peers(root, claims, records, run_suite, tmp_path_factory):
    """Rows and ledger of a run in which none of the libraries is there."""
    packages = dict.fromkeys(extras.NEEDED["peers"], extras.ABSENT)
    path = tmp_path_factory.mktemp("without") / "peers.csv"
    fields = fields_by_name([root / "workflow" / "schemas" / "suites" / "peers.yaml"])
    found = run_suite("peers", packages=packages)
    write(path, [row.record() for row in found], fields["peers"])
    own, lines = read_all([path], fields)
    assert lines == []
    rows = [record for record in records if record["suite"] != "peers"] + own
    return rows, [entry.record() for entry in decide_claims(claims, rows)]


def test_without_the_packages_the_gate_stays_green_and_counts_apart(without_peers, ledger):
    rows, entries = without_peers
    assert gate.problems(rows, entries, PATHS) == []
    before, after = ([entry["reproduced"] for entry in each] for each in (ledger, entries))
    lost = after.count("not run")
    assert lost > 5
    assert gate.verdict_line(entries).endswith(f", {lost} not run")
    changed = sum(before.count(verdict) - after.count(verdict) for verdict in set(before))
    assert changed == lost
    # What was not run is counted nowhere else, and nothing else changed.
    assert all(one == two for one, two in zip(before, after, strict=True) if two != "not run")


def test_without_the_packages_the_run_says_what_to_install(without_peers):
    [line] = extras.advice(without_peers[0])
    assert line.startswith("not run for want of rotary-embedding-torch 0.9.1 (not installed), ")
    assert line.endswith(": pip install -c constraints.txt -e '.[peers]'")


def test_with_the_packages_there_is_nothing_to_install(records):
    assert extras.advice(records) == []


def test_a_row_that_is_called_not_run_to_hide_that_it_fails_is_named(records, ledger):
    for relation in ("within", "equals"):
        number = next(n for n, record in enumerate(records) if record["relation"] == relation)
        changed = [*records]
        changed[number] = records[number] | {"outcome": "not run"}
        [line] = gate.problems(changed, ledger, PATHS)
        assert "is said to be not run, and its own values give holds" in line


def test_a_claim_that_is_called_not_run_though_nothing_is_missing_is_named(records, ledger):
    number = next(n for n, entry in enumerate(ledger) if entry["kind"] == "computed")
    changed = [*ledger]
    changed[number] = ledger[number] | {"reproduced": "not run"}
    [line] = gate.problems(records, changed, PATHS)
    assert line.startswith(f"claim {ledger[number]['id']} ")
    assert "no package that it needs is missing" in line


def test_each_setting_of_the_profile_counts_for_the_gate(tmp_path):
    facts = {
        "system": {"machine": "x86_64"},
        "numerics": environment._PROFILE | environment._PROFILE_X86,
        "variables": dict(numerics.ENVIRONMENT),
    }
    path = tmp_path / "norms.json"

    def lines(changed: dict) -> list[str]:
        write_atomically(path, json_text(facts | changed))
        return gate.environment_lines([path])

    assert lines({}) == []
    for part in ("numerics", "variables"):
        for name in facts[part]:
            less = {key: value for key, value in facts[part].items() if key != name}
            [line] = lines({part: less})
            assert name in line
            assert "make it anew" in line
        assert lines({part: None})
    # What switches vector instructions off is known of x86-64 alone.
    other = environment._PROFILE | {"torch_cpu_capability": "SVE256"}
    assert lines({"system": {"machine": "aarch64"}, "numerics": other}) == []
    path.unlink()
    assert "cannot be read" in gate.environment_lines([path])[0]
