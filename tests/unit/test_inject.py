"""Stand-ins: they are in place wherever the library looks, out again after, and never elsewhere."""

import importlib
import re
import sys

import pytest
import torch

from posinfo.catalogue import SUITES
from posinfo.encodings import layers, learned, rotary
from posinfo.errors import InputError
from posinfo.faults import FAULTS as REGISTERED
from posinfo.faults.inject import injected
from posinfo.faults.stand_ins import FAULTS, STAND_INS, stand_ins

PAIR = "posinfo.encodings.rotary.rotate_pair"
ALL = [fault.name for fault in (*REGISTERED, *FAULTS) if fault.replaces or fault.name in STAND_INS]
KEPT = ("posinfo.reference", "posinfo.battery")


def swapped(x, y, cos, sin):
    return y, x


def bindings() -> dict[str, int]:
    """What every module of the library, and every class of its own, binds to each name."""
    for suite in SUITES:
        importlib.import_module(f"posinfo.suites.{suite}")
    found = {}
    for name, module in list(sys.modules.items()):
        if name == "posinfo" or name.startswith("posinfo."):
            for attribute, value in list(vars(module).items()):
                found[f"{name}.{attribute}"] = id(value)
                if isinstance(value, type) and value.__module__ == name:
                    found |= {
                        f"{name}.{attribute}.{inner}": id(member)
                        for inner, member in vars(value).items()
                        if callable(member)
                    }
    return found


def test_a_stand_in_is_in_place_wherever_its_name_was_imported_and_out_again_after():
    from posinfo.proofs import rotation

    original = rotary.rotate_pair
    before = bindings()
    assert rotation.rotate_pair is original
    with injected({PAIR: swapped}):
        assert rotary.rotate_pair is swapped
        assert rotation.rotate_pair is swapped
        x = torch.tensor([[1.0, 2.0]])
        assert rotary.rotate_adjacent(x, torch.zeros(1, 1)).tolist() == [[2.0, 1.0]]
    assert bindings() == before


def test_an_error_takes_them_out_too():
    before = bindings()
    with pytest.raises(RuntimeError, match="boom"), injected({PAIR: swapped}):
        raise RuntimeError("boom")
    assert bindings() == before


def test_a_method_is_replaced_in_its_class_and_a_function_of_torch_in_its_module():
    before = bindings()
    look_up = torch.nn.functional.embedding
    index = torch.tensor([5])
    with injected(
        {
            "posinfo.encodings.layers.Rotary.turn_back": lambda *_: "turned",
            "torch.nn.functional.embedding": lambda index, weight: "looked up",
        }
    ):
        assert layers.Rotary(10.0).turn_back(index, index, layers.unwatched) == "turned"
        assert torch.nn.functional.embedding(index, index) == "looked up"
    assert torch.nn.functional.embedding is look_up
    assert bindings() == before


def test_a_module_that_is_imported_meanwhile_keeps_no_stand_in():
    module = sys.modules.pop("posinfo.proofs.rotation", None)
    try:
        with injected({PAIR: swapped}):
            fresh = importlib.import_module("posinfo.proofs.rotation")
            assert fresh.rotate_pair is swapped
        assert fresh.rotate_pair is rotary.rotate_pair
    finally:
        if module:
            sys.modules["posinfo.proofs.rotation"] = module
            importlib.import_module("posinfo.proofs").rotation = module


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("posinfo.encodings.rotary.rotate_pear", "rotary has no 'rotate_pear' of its own: did you"),
        ("posinfo.encodings.rotery.rotate_pair", "posinfo.encodings has no 'rotery' of its own"),
        ("posinfo.encodings.layers.Rotary.add", "Rotary has no 'add' of its own"),
        ("posinfo.encodings.rotary.RotaryTable.forwards", "did you mean 'forward'?"),
        ("posinfo.reference.rotary.turned", "no fault may reach what judges it"),
        ("posinfo.battery.base.verdict", "no fault may reach what judges it"),
        ("posinfo.faults.inject.injected", "no fault may reach what judges it"),
        ("torch.cos", "cannot be replaced: only"),
        ("os.getcwd", "cannot be replaced: only"),
        ("rotate_pair", "cannot be replaced: only"),
    ],
)
def test_what_cannot_be_replaced_is_refused_and_nothing_else_is_replaced(name, problem):
    before = bindings()
    with (
        pytest.raises(InputError) as refused,
        injected({PAIR: swapped, name: swapped}),
    ):
        pytest.fail("something was replaced")
    assert str(refused.value).startswith(f"{name}: ")
    assert problem in str(refused.value)
    assert bindings() == before


@pytest.mark.parametrize("name", ALL)
def test_no_fault_reaches_what_judges_it(name):
    """References and batteries bind the same things as before, while each fault is in place."""
    before = bindings()
    with injected(stand_ins(name)):
        meanwhile = bindings()
        changed = {place for place in before if meanwhile[place] != before[place]}
    assert changed or all(place.startswith("torch.") for place in stand_ins(name))
    assert not {place for place in changed if place.startswith(KEPT)}
    assert bindings() == before


def test_references_call_nothing_that_can_be_replaced(root):
    """What they bind stays; so must what they reach through a module."""
    for path in (root / "src/posinfo/reference").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "functional" not in text, path
        assert not re.search(r"^\s*(from|import) posinfo(?!\.reference)", text, re.MULTILINE), path


def test_a_fault_without_stand_ins_is_refused():
    with pytest.raises(InputError, match="'prints' has no stand-in"):
        stand_ins("prints")
    with pytest.raises(InputError, match="did you mean 'reflection'"):
        stand_ins("reflexion")


def test_stand_ins_of_a_fault_stand_beside_those_that_it_carries():
    fault = next(one for one in REGISTERED if one.name == "positions ignored")
    assert set(stand_ins(fault.name)) == set(fault.replaces) | set(STAND_INS[fault.name])
    assert "posinfo.encodings.learned.embed" in STAND_INS[fault.name]
    assert learned.embed is not STAND_INS[fault.name]["posinfo.encodings.learned.embed"]
