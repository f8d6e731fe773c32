"""Faulty implementations: each is rejected by the checks that say so, and by no other."""

from dataclasses import replace

import pytest
import torch

from posinfo.battery.base import examine
from posinfo.battery.catalogue import BATTERIES, checks_of
from posinfo.battery.diagnosis import diagnose
from posinfo.battery.nearest import nearest_fault
from posinfo.faults import FAULTS, RIGHT, _merged, of_kind
from posinfo.faults.base import STAGES

ROTARY = of_kind("rotary")
ROTARY_CHECKS = set(BATTERIES["rotary"][0].names())


def rejected_by(kind, make):
    findings = [one for battery in BATTERIES[kind] for one in examine(battery, make)]
    return {finding.check for finding in findings if finding.rejects}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_fault_is_rejected_as_written(fault):
    assert rejected_by(fault.kind, fault.make) == set(fault.rejected_by)
    assert fault.caught_by in fault.rejected_by
    assert fault.stage in STAGES


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, made in RIGHT.items() for name in made]
)
def test_a_right_implementation_is_accepted(kind, name):
    assert rejected_by(kind, RIGHT[kind][name]) == set()


def test_every_check_rejects_a_fault_and_the_lessons_let_most_through():
    for kind in BATTERIES:
        caught = {name for fault in of_kind(kind) for name in fault.rejected_by}
        assert caught == set(checks_of(kind))
    lessons = set(BATTERIES["rotary"][1].names())
    through = [fault for fault in ROTARY if not lessons & set(fault.rejected_by)]
    assert len(through) > len(ROTARY) / 2


def test_names_are_unique_over_all_kinds():
    class Module:
        FAULTS = (ROTARY[0], replace(ROTARY[0], kind="alibi"))

    with pytest.raises(ValueError, match="two faults named"):
        _merged([Module])


@pytest.mark.parametrize("fault", ROTARY, ids=lambda one: one.name)
def test_a_fault_tells_what_is_wrong_in_a_few_lines(fault):
    assert fault.wrong.endswith(".")
    assert fault.seen
    assert len(fault.hint) < 160


# --- which fault an implementation behaves like ---------------------------------------------------


def half_split(make):
    """The same implementation in half-split pairs; a part of the head within that part."""

    def turn(q, k, positions, base):
        width = q.shape[-1]
        part = subject.rotary_dim or width
        if subject.name == "half of the width rotated":
            part = width // 2
        order = torch.cat([torch.arange(part).view(2, -1).T.flatten(), torch.arange(part, width)])
        turned = subject.turn(q[..., order], k[..., order], positions, base)
        if turned is None:
            return None
        back = order.argsort()
        return tuple(x[..., back] if x.shape == q.shape else x for x in turned)

    subject = make()
    return replace(subject, turn=turn)


@pytest.mark.parametrize("fault", ROTARY, ids=lambda one: one.name)
@pytest.mark.parametrize("layout", [lambda make: make(), half_split], ids=["adjacent", "half"])
def test_a_fault_is_recognised_in_either_layout(fault, layout):
    rejected = ROTARY_CHECKS & set(fault.rejected_by)
    found, sure, compared, _ = nearest_fault(layout(fault.make), rejected)
    assert found.name == fault.name
    if fault.name == "not deterministic":
        assert sure > 0.6
    elif fault.name == "input changed in place" and compared == "checks":
        assert sure < 1  # in the half-split layout it changes a copy: its results are right
    else:
        assert (sure, compared) == (1, "results")


@pytest.mark.parametrize("name", RIGHT["rotary"])
def test_a_right_implementation_is_like_no_fault(name):
    assert nearest_fault(RIGHT["rotary"][name]()) is None


def test_two_faults_at_once_are_like_one_of_them():
    [clockwise] = [fault for fault in ROTARY if fault.name == "angle of the wrong sign"]
    subject = clockwise.make()

    def turn(q, k, positions, base):
        if positions.max() >= 4096:
            raise IndexError("out of range")
        return subject.turn(q, k, positions, base)

    found, sure, compared, _ = nearest_fault(replace(subject, turn=turn))
    assert found.name == clockwise.name
    assert 0.5 <= sure < 1
    assert compared == "results"


def turned_by(speeds, offset=0.0, keys=None):
    """A subject with adjacent pairs that turns by angles [T, d/2] of its own."""
    right = RIGHT["rotary"]["adjacent pairs"]()

    def one(x, positions, speeds):
        half = x.shape[-1] // 2
        frequencies = 10_000.0 ** (-torch.arange(half) * 2 / (2 * half))
        angles = torch.outer(positions.float() + offset, speeds(frequencies))
        even, odd, cos, sin = x[..., ::2], x[..., 1::2], angles.cos(), angles.sin()
        turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1)
        return turned.flatten(-2).to(x.dtype)

    def turn(q, k, positions, base):
        return one(q, positions, speeds), one(k, positions, keys or speeds)

    return replace(right, turn=turn, takes_base=False)


def last_scaled(by):
    def speeds(frequencies):
        return torch.cat([frequencies[:-1], by * frequencies[-1:]])

    return speeds


READ_OFF = [
    (turned_by(last_scaled(1.01)), [
        "pair 3 of 4 alone is wrong (at width 8, counted from 0): its angle is 1.01 times the "
        "right one",
    ]),
    (turned_by(last_scaled(1.0001)), [
        "pair 3 of 4 alone is wrong (at width 8, counted from 0): its angle is 1.0001 times the "
        "right one",
    ]),
    (turned_by(lambda f: f * torch.tensor([1.0, 2.0, 3.0, 1.0]) if len(f) == 4 else f), [
        "pairs 1 to 2 of 4 alone are wrong (at width 8, counted from 0): their angles are 2, 3 "
        "times the right ones",
    ]),
    (turned_by(lambda f: f if len(f) == 4 else f * 2), ["every angle is 2 times the right one"]),
    (turned_by(lambda f: f * 40), ["every angle is 40 times the right one"]),
    (turned_by(lambda f: -f), ["every pair turns the other way round, as fast as it should"]),
    (turned_by(lambda f: -f, keys=lambda f: f), [
        "queries: every pair turns the other way round, as fast as it should",
    ]),
    (turned_by(lambda f: f, offset=3), ["positions are off by +3: 0 is turned as 3"]),
    (turned_by(lambda f: f), []),
    (RIGHT["rotary"]["adjacent pairs"](), []),
]  # fmt: skip


@pytest.mark.parametrize(("subject", "lines"), READ_OFF)
def test_what_is_wrong_with_the_angles_is_read_off(subject, lines):
    assert diagnose(subject) == lines


def test_what_does_not_turn_evenly_is_no_matter_of_speeds():
    by_square = turned_by(lambda f: f)
    by_square = replace(
        by_square, turn=lambda q, k, p, base: turned_by(lambda f: f).turn(q, k, p**2, base)
    )
    assert diagnose(by_square) == []


@pytest.mark.parametrize("name", RIGHT["rotary"])
def test_a_right_implementation_has_nothing_to_read_off(name):
    assert diagnose(RIGHT["rotary"][name]()) == []


def test_what_only_fails_the_same_checks_is_less_than_sure():
    subject = turned_by(last_scaled(1.01))
    [like] = [fault for fault in ROTARY if fault.name == "exponent without the two"]
    rejected = ROTARY_CHECKS & set(like.rejected_by)
    likeness = nearest_fault(subject, rejected)
    assert likeness.compared == "checks"
    assert likeness.share < 1
    assert likeness.same
    assert not nearest_fault(subject, {*rejected, "prints nothing"}).same


def test_a_fault_that_the_questions_cannot_show_is_no_explanation():
    """Right wherever it is compared, and rejected by the checks that reject an ignored base."""
    right = replace(RIGHT["rotary"]["adjacent pairs"](), takes_base=False)
    [ignored] = [fault for fault in ROTARY if fault.name == "base ignored"]
    found = nearest_fault(right, ignored.rejected_by)
    assert found is None or found.fault.name != "base ignored"


def test_nonsense_is_like_no_fault_or_hardly():
    subject = RIGHT["rotary"]["adjacent pairs"]()
    nonsense = replace(subject, turn=lambda q, k, positions, base: (q.sin() * 3, k.exp()))
    found = nearest_fault(nonsense)
    assert found is None or found[1] < 1
