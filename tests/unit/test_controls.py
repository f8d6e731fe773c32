"""The suite controls, its gate, and random faults: a check that grows weaker must be noticed."""

from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from outcomes import bad
from posinfo import gate
from posinfo.battery import catalogue
from posinfo.battery import rotary as battery
from posinfo.battery.base import Battery, Finding, examine
from posinfo.battery.catalogue import BATTERIES, checks_of
from posinfo.faults import RIGHT, disturbed, mutants, of_kind, right
from posinfo.suites import controls

ROTARY = of_kind("rotary")
EVERY_MUTANT = [mutant for source in mutants.SOURCES for mutant in mutants.mutants(source)]


def lines(rows):
    return "\n".join(gate.row_lines([row.record() for row in rows]))


def test_every_row_holds_and_a_second_run_gives_the_same(measured, run_suite):
    assert bad(measured["controls"]) == []
    again = [row.record() for row in run_suite("controls")]
    assert again == [row.record() for row in measured["controls"]]


def test_each_fault_meets_each_check_and_each_right_implementation_too(measured):
    rows = [row for row in measured["controls"] if row.extra.get("kind") == "rotary"]
    asked = {
        (row.subject, row.extra["check"])
        for row in rows
        if row.quantity.startswith("verdict of ")
    }  # fmt: skip
    names = [f"faulty: {fault.name}" for fault in ROTARY]
    names += [f"right: {name}, rotary" for name in RIGHT["rotary"]]
    assert asked == {(name, check) for name in names for check in checks_of("rotary")}
    assert len(ROTARY) >= 40
    assert len(RIGHT["rotary"]) >= 10


# --- a weaker or a stricter check is a row that does not hold -------------------------------------


def with_check(monkeypatch, name, ask):
    """Another check in place of the one of this name."""
    changed = tuple(
        Battery(one.kind, tuple(replace(check, ask=ask(check)) if check.name == name else check
                                for check in one.checks), one.open)
        for one in BATTERIES["rotary"]
    )  # fmt: skip
    monkeypatch.setitem(catalogue.BATTERIES, "rotary", changed)


@pytest.mark.parametrize("name", checks_of("rotary"))
def test_a_check_that_accepts_everything_is_noticed(name, monkeypatch, run_suite):
    rejected = [fault for fault in ROTARY if name in fault.rejected_by]
    monkeypatch.setattr(controls, "FAULTS", rejected)
    with_check(monkeypatch, name, lambda _: lambda probe: Finding("", "holds"))
    rows = bad(run_suite("controls", only="faults"))
    found = {(row.quantity, row.subject) for row in rows}
    assert (f"faults that {name} rejects", "checks of rotary") in found
    for fault in rejected:
        assert (f"verdict of {name}", f"faulty: {fault.name}") in found
        named = ("the check that names it", f"faulty: {fault.name}")
        assert (named in found) == (fault.caught_by == name)
    assert f"faults that {name} rejects" in lines(rows)


def test_a_check_that_rejects_what_is_right_is_noticed(monkeypatch, run_suite):
    with_check(monkeypatch, "linear", lambda _: lambda probe: Finding("", "fails"))
    rows = bad(run_suite("controls", only="right implementations"))
    assert {row.quantity for row in rows} == {"verdict of linear"}
    assert len(rows) == len(RIGHT["rotary"])


def test_a_fault_that_nothing_rejects_is_noticed(monkeypatch, run_suite):
    harmless = replace(ROTARY[0], make=RIGHT["rotary"]["adjacent pairs"])
    monkeypatch.setattr(controls, "FAULTS", (harmless,))
    rows = bad(run_suite("controls", only="faults"))
    assert "the check that names it" in {row.quantity for row in rows}
    assert harmless.name in lines(rows)


def test_a_fault_that_cannot_be_made_is_an_error(monkeypatch, run_suite):
    def broken():
        raise RuntimeError("cannot be made")

    monkeypatch.setattr(controls, "FAULTS", (replace(ROTARY[0], make=broken),))
    outcomes = {row.decision.outcome for row in run_suite("controls", only="faults")}
    assert outcomes == {"error"}


def test_a_check_that_has_become_blind_to_small_faults_is_noticed(monkeypatch, run_suite):
    def dulled(check):
        def ask(probe):
            finding = check.ask(probe)
            small = finding.used is not None and finding.used < 20
            return replace(finding, outcome="holds") if small else finding

        return ask

    with_check(monkeypatch, "near positions", dulled)
    [row] = bad(run_suite("controls", only="smallest disturbance"))
    assert (row.quantity, row.extra["check"]) == ("smallest detected disturbance", "near positions")


def test_every_check_has_its_disturbance_or_a_reason_for_none():
    sized = set(disturbed.disturbances()) | set(disturbed.ONE_BIT)
    assert sized | set(disturbed.WITHOUT_SIZE) == set(checks_of("rotary"))
    assert not sized & set(disturbed.WITHOUT_SIZE)


@pytest.mark.parametrize("name", ["queries alone rotated", "keys turned the other way"])
def test_keys_of_the_librarys_complex_rotation_are_looked_at_too(name, monkeypatch, run_suite):
    [fault] = [one for one in ROTARY if one.name == name]
    for place, stand_in in fault.replaces.items():
        monkeypatch.setattr(place, stand_in)
    rows = bad(run_suite("controls", only="right implementations"))
    assert {row.subject for row in rows} == {"right: library, complex numbers, rotary"}


# --- random faults --------------------------------------------------------------------------------


def test_every_single_change_is_caught_or_known_to_be_none():
    known = set()
    for mutant in EVERY_MUTANT:
        fate = mutants.fate(mutant)
        assert fate.decided, (mutant, fate)
        if fate.fate not in ("raises", "caught"):
            known.add((mutant.source, mutant.line, mutant.before, mutant.after))
    assert known == set(mutants.EQUIVALENT)


def test_every_kind_of_change_is_made_to_every_source():
    for source in mutants.SOURCES:
        assert {mutant.change for mutant in mutants.mutants(source)} == set(mutants.CHANGES)
    assert len({mutant.code for mutant in EVERY_MUTANT}) == len(EVERY_MUTANT) > 400


def test_a_draw_is_the_same_for_one_seed_and_no_mutant_comes_twice():
    drawn = mutants.drawn(100, 123)
    assert drawn == mutants.drawn(100, 123) != mutants.drawn(100, 124)
    assert len(set(drawn)) == 100
    assert len(mutants.drawn(10_000, 1)) == len(EVERY_MUTANT)


def test_with_checks_left_out_some_random_faults_are_not_caught(monkeypatch, run_suite):
    kept = Battery(
        "rotary",
        tuple(c for c in battery.BATTERY.checks if c.name in ("runs", "shape", "pair norms")),
        battery.BATTERY.open,
    )
    monkeypatch.setattr(mutants, "BATTERY", kept)
    rows = bad(run_suite("controls", only="random faults"))
    assert len(rows) > 10
    assert {row.measured_text for row in rows} <= {"not caught", "within rounding", "same results"}
    assert "not caught" in lines(rows)


#: One small change to a right rotation of adjacent pairs, in numbers.
SMALL = st.floats(1e-5, 1.0) | st.floats(-1.0, -1e-5)


def rejected(turn):
    for check in battery.BATTERY.checks:
        subject = battery.Rotary("changed", turn)
        [finding] = examine(battery.BATTERY, lambda subject=subject: subject, only=[check.name])
        if finding.rejects:
            return True
    return False


def rotation(change_angles=lambda a: a, change_result=lambda x: x, change_positions=lambda p: p):
    """A right rotation with a change in its angles [T, d/2], its result or its positions."""

    def turn(q, k, positions, base):
        dim = q.shape[-1]
        theta = 1 / base ** (torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        angles = change_angles(torch.outer(change_positions(positions.double()), theta))

        def rotate(x):
            even, odd = x[..., ::2].double(), x[..., 1::2].double()
            turned = [even * angles.cos() - odd * angles.sin(),
                      even * angles.sin() + odd * angles.cos()]  # fmt: skip
            return change_result(torch.stack(turned, dim=-1).flatten(-2)).to(x.dtype)

        return rotate(q), rotate(k)

    return turn


def test_unchanged_it_is_right():
    assert not rejected(rotation())


@settings(deadline=None, max_examples=40)
@given(pair=st.integers(0, 3), by=SMALL)
def test_one_coefficient_of_the_angles_is_caught(pair, by):
    def change(angles):
        angles = angles.clone()
        angles[:, pair] *= 1 + by
        return angles

    assert rejected(rotation(change_angles=change))


@settings(deadline=None, max_examples=40)
@given(dimension=st.integers(0, 7), by=SMALL)
def test_one_coefficient_of_the_result_is_caught(dimension, by):
    def change(x):
        x[..., dimension] *= 1 + by
        return x

    assert rejected(rotation(change_result=change))


@settings(deadline=None, max_examples=30)
@given(order=st.permutations(range(8)))
def test_a_wrong_order_of_the_results_dimensions_is_caught(order):
    assume(list(order) != list(range(8)))

    def change(x):
        blocks = x.unflatten(-1, (-1, 8))
        return blocks[..., list(order)].flatten(-2)

    assert rejected(rotation(change_result=change))


@settings(deadline=None, max_examples=20)
@given(signs=st.lists(st.sampled_from([1, -1]), min_size=4, max_size=4))
def test_a_wrong_sign_of_some_pairs_angles_is_caught(signs):
    assume(-1 in signs)

    def change(angles):
        factors = torch.tensor(signs * (angles.shape[1] // 4), dtype=torch.float64)
        return angles * factors

    assert rejected(rotation(change_angles=change))


@settings(deadline=None, max_examples=30)
@given(start=st.integers(0, 131_071), by=st.integers(1, 3))
def test_positions_off_from_anywhere_on_are_caught(start, by):
    assert rejected(
        rotation(change_positions=lambda p: torch.where(p >= start, p + by, p))
    )  # fmt: skip


def test_the_growing_table_is_right_to_the_last_position():
    table = battery.Rotary("growing table", right.growing_table())
    findings = examine(battery.BATTERY, lambda: table, only=["table end", "far positions"])
    assert not any(finding.rejects for finding in findings)
