"""Faulty implementations: each is rejected by the checks that say so, and by no other."""

from dataclasses import replace

import pytest
import torch

from posinfo.battery.base import examine
from posinfo.battery.catalogue import BATTERIES, checks_of
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
    found, sure = nearest_fault(layout(fault.make), rejected)
    assert found.name == fault.name
    assert sure > 0.6 if fault.name == "not deterministic" else sure == 1


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

    found, sure = nearest_fault(replace(subject, turn=turn))
    assert found.name == clockwise.name
    assert 0.5 <= sure < 1


def test_nonsense_is_like_no_fault_or_hardly():
    subject = RIGHT["rotary"]["adjacent pairs"]()
    nonsense = replace(subject, turn=lambda q, k, positions, base: (q.sin() * 3, k.exp()))
    found = nearest_fault(nonsense)
    assert found is None or found[1] < 1
