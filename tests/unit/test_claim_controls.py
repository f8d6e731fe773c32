"""Claims under faults: what a claim does not notice is named, and a crash is no rejection."""

from collections import Counter

import pytest

from posinfo import controls, gate
from posinfo.catalogue import faults
from posinfo.claims import Claim, Selector, asked_for, suites_under_faults, under_faults
from posinfo.faults import FAULTS as REGISTERED
from posinfo.faults import stand_ins as module
from posinfo.faults.stand_ins import FAULTS, STAND_INS
from posinfo.ledger import decide_claims
from posinfo.parameters import suite_parameters
from posinfo.suites.base import Suite

PATH = "results/controls/claim-controls.csv"


def claim(suite: str, rows: int, rejects: str, name: str = "one", **where) -> Claim:
    values = {key: value if isinstance(value, tuple) else (value,) for key, value in where.items()}
    return Claim(
        id=name, covers=("A01",), lesson="A", section="s", kind="computed", statement="So.",
        file="claims.yaml", verdict="verified", rejects=rejects,
        supports=(Selector(suite, values, rows),),
    )  # fmt: skip


NORMS = {
    "case": "lesson run",
    "quantity": tuple(f"largest absolute difference of norms, {name}" for name in "QK"),
}  # fmt: skip


@pytest.fixture
def controlled(config):
    """Decide claims anew under their faults, with the shipped config."""

    def controlled(*claims: Claim) -> list[dict]:
        asked = under_faults(claims)
        told = {suite: suite_parameters(config, suite) for suite in suites_under_faults(claims)}
        return controls.control(asked, told)

    return controlled


def test_every_claim_that_names_a_fault_rejects_it(claims, control_records, ledger_records):
    named = [one for one in claims if one.rejects]
    assert [row["claim"] for row in control_records] == [one.id for one in named]
    assert len(named) > 60
    assert {row["outcome"] for row in control_records} == {"holds"}
    assert {row["evidence"] for row in control_records} == {"control"}
    assert gate.control_lines(control_records, ledger_records, PATH) == []
    for row in control_records:
        assert 0 < row["rows_lost"] <= row["rows_asked"]
        assert row["first_lost"], row["claim"]
        assert row["found"], row["claim"]


def test_every_verified_claim_names_a_fault_or_says_why_there_is_none(claims):
    for one in claims:
        if one.kind == "computed" and not one.breaks:
            assert bool(one.rejects) != bool(one.no_fault), one.id
    # No implementation in place of another changes what trained weights hold; of the rest few have
    # an excuse.
    excused = [one.id for one in claims if one.no_fault]
    trained = {one.id for one in claims if set(one.suites) & {"trained", "pretrained"}}
    assert len([name for name in excused if name not in trained]) < 5


def test_without_a_fault_every_claim_keeps_its_verdict(claims, controlled, monkeypatch):
    """So it is the fault that leaves them undecided, and not the way in which they are asked."""
    named = [one for one in claims if one.rejects and one.suites in (["norms"], ["angles"])]
    assert len(named) > 8
    monkeypatch.setattr(module, "stand_ins", lambda name: {})
    rows = controlled(*named)
    assert {row["measured_text"] for row in rows} == {"verified"}
    assert {row["outcome"] for row in rows} == {"fails"}
    assert {row["rows_lost"] for row in rows} == {0}


def test_a_claim_that_does_not_notice_its_fault_is_named_with_it(controlled):
    """Norms are kept by a rotation the other way round, too."""
    blind = claim("norms", 4, "angle of the wrong sign", **NORMS)
    seeing = claim("norms", 4, "temperature left on", "two", **NORMS)
    rows = controlled(blind, seeing)
    assert [row["outcome"] for row in rows] == ["fails", "holds"]
    assert rows[0]["measured_text"] == "verified"
    ledger = [entry.record() for entry in decide_claims([blind, seeing], [])]
    assert gate.control_lines(rows, ledger, PATH) == [
        "claim one (A01): its rows do not reject the fault 'angle of the wrong sign': verified "
        "with it in place"
    ]


def test_a_crash_alone_rejects_nothing(controlled):
    """A head of half the frequencies does not fit into the case: nothing is measured."""
    crashing = {"case": "frequencies", "relation": "within", "head_dim": 8}
    [row] = controlled(claim("angles", 3, "half of the width rotated", **crashing))
    assert (row["outcome"], row["measured_text"]) == ("fails", "crashed")
    assert row["found"].startswith("RuntimeError: ")
    assert (row["rows_asked"], row["rows_lost"]) == (3, 3)


def test_beside_a_crash_other_rows_decide(claims, controlled):
    """The same claim: one of its cases crashes, the other measures another shape."""
    one = next(one for one in claims if one.id == "one-frequency-a-pair")
    [row] = controlled(one)
    assert row["outcome"] == "holds"
    assert row["first_lost"] == "shape of the angles"
    assert row["found"] == "measured [6, 8], expected [6, 4]"


def test_a_claim_that_is_not_run_is_not_run_under_its_fault(claims, config):
    """And the gate asks no more of it; a claim that was run has to reject its fault."""
    one = next(one for one in claims if one.id == "libraries-extend-alike")
    told = suite_parameters(config, "peers")
    told["packages"] = dict.fromkeys(told["packages"], "not installed")
    [row] = controls.control(under_faults([one]), {"peers": told})
    assert row["measured_text"] == "not run"
    entry = {"id": one.id, "covers": "A45", "recorded": "verified", "reproduced": "not run",
             "rejects": one.rejects, "no_fault": ""}  # fmt: skip
    assert gate.control_lines([row], [entry], PATH) == []
    [line] = gate.control_lines([row], [entry | {"reproduced": "verified"}], PATH)
    assert "not run with it in place" in line


def test_each_case_is_measured_once_under_each_fault(controlled, monkeypatch):
    counted = Counter()
    run = Suite.run

    def counting(self, parameters, *, only=None, say=print):
        counted[self.name, only] += 1
        return run(self, parameters, only=only, say=say)

    monkeypatch.setattr(Suite, "run", counting)
    same = [claim("norms", 4, "temperature left on", name, **NORMS) for name in ("one", "two")]
    other = claim("norms", 4, "code added instead of turned", "three", **NORMS)
    controlled(*same, other)
    assert counted == {("norms", "lesson run"): 2}


def test_controls_leave_the_library_as_it_was(controlled, run_suite):
    before = [row.record() for row in run_suite("norms", only="lesson run")]
    controlled(claim("norms", 4, "temperature left on", **NORMS))
    assert [row.record() for row in run_suite("norms", only="lesson run")] == before


def test_claims_come_back_from_plain_values_without_their_prose(claims):
    named = [one for one in claims if one.rejects]
    for one, entry in zip(named, under_faults(claims), strict=True):
        back = asked_for(entry)
        assert (back.id, back.rejects, back.differs_in) == (one.id, one.rejects, one.differs_in)
        assert (back.supports, back.breaks) == (one.supports, one.breaks)
        assert back.why == back.statement == ""


# The gate.


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"outcome": "fails", "measured_text": "verified"}, "its rows do not reject the fault"),
        ({"outcome": "error"}, "its rows do not reject the fault"),
        # Said to hold, and its own values say otherwise.
        ({"measured_text": "verified"}, "its rows do not reject the fault"),
        ({"measured_text": "crashed", "outcome": "fails"}, "crashed with it in place"),
        ({"fault": "prints"}, "has no control"),
        ({"claim": "nothing"}, "has no control"),
        (None, "has no control"),
    ],
)
def test_a_control_that_passed_or_is_missing_is_named(
    control_records, ledger_records, change, line
):
    first, *others = control_records
    changed = others if change is None else [first | change, *others]
    lines = gate.control_lines(changed, ledger_records, PATH)
    assert line in lines[0]
    assert first["claim"] in lines[0]
    assert first["fault"] in lines[0]
    stray = change is not None and bool({"fault", "claim"} & set(change))
    assert len(lines) == 1 + stray
    if stray:
        assert "which no claim asks for" in lines[1]


def test_a_verified_claim_without_a_fault_or_a_reason_is_named(control_records, ledger_records):
    bare = [entry | {"no_fault": ""} for entry in ledger_records]
    lines = gate.control_lines(control_records, bare, PATH)
    assert lines
    assert all(line.endswith("names no fault to reject") for line in lines)


# The faults.


def test_the_names_read_from_the_source_are_those_of_the_faults():
    made = {fault.name for fault in (*REGISTERED, *FAULTS)}
    assert faults() == made
    assert len(made) == len(REGISTERED) + len(FAULTS), "a name stands twice"
    assert set(STAND_INS) <= made


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_library_alone_is_rejected_by_the_claims_that_it_names(claims, fault):
    assert {one.id for one in claims if one.rejects == fault.name} == set(fault.rejected_by)
    assert fault.caught_by == fault.rejected_by[0]
    assert fault.make() == fault.replaces
    assert fault.wrong.endswith(".")
    assert len(fault.hint) < 160
