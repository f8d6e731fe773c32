"""The proofs hold for the rotation that torch runs, and each rejects what it should."""

import pytest

from posinfo.encodings.rotary import rotate_pair
from posinfo.proofs import rotation as proofs

PROOFS = (
    "orthogonal",
    "determinant",
    "pair_norm",
    "composition",
    "counter_clockwise",
    "relative",
    "offset_formula",
)

#: Wrong rotations, and the proofs that reject each. What a proof lets through stands here too: no
#: single one of them makes a rotation.
FAULTS = {
    "one sign flipped": (
        lambda x, y, cos, sin: (x * cos + y * sin, x * sin + y * cos),
        set(PROOFS),
    ),
    "the other way round": (
        lambda x, y, cos, sin: (x * cos + y * sin, -x * sin + y * cos),
        {"counter_clockwise", "offset_formula"},
    ),
    "inputs swapped": (
        lambda x, y, cos, sin: rotate_pair(y, x, cos, sin),
        {"determinant", "composition", "counter_clockwise", "offset_formula"},
    ),
    "outputs swapped": (
        lambda x, y, cos, sin: rotate_pair(x, y, cos, sin)[::-1],
        {"determinant", "composition", "counter_clockwise"},
    ),
    "cosine and sine swapped": (
        lambda x, y, cos, sin: rotate_pair(x, y, sin, cos),
        {"composition", "counter_clockwise", "offset_formula"},
    ),
    "no rotation": (
        lambda x, y, cos, sin: (x, y),
        {"counter_clockwise", "offset_formula"},
    ),
    "twice as long": (
        lambda x, y, cos, sin: tuple(2 * part for part in rotate_pair(x, y, cos, sin)),
        set(PROOFS) - {"relative"},
    ),
    "first component alone": (
        lambda x, y, cos, sin: (x * cos - y * sin, y),
        set(PROOFS),
    ),
}


@pytest.mark.parametrize("name", PROOFS)
def test_each_proof_holds(name):
    proof = getattr(proofs, name)()
    assert proof.found == proof.expected
    assert proof.shows


def test_all_proofs_are_here():
    defined = {
        name
        for name, value in vars(proofs).items()
        if callable(value) and getattr(value, "__module__", "") == proofs.__name__
        and not name.startswith("_") and name != "Proof"
    }  # fmt: skip
    assert defined == set(PROOFS)


@pytest.mark.parametrize("name", PROOFS)
def test_each_proof_rejects_a_fault(name):
    assert any(name in rejecting for _, rejecting in FAULTS.values())


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_rejected_by_just_these_proofs(name, monkeypatch):
    wrong, expected = FAULTS[name]
    monkeypatch.setattr(proofs, "rotate_pair", wrong)
    rejecting = set()
    for each in PROOFS:
        proof = getattr(proofs, each)()
        if proof.found != proof.expected:
            rejecting.add(each)
    assert rejecting == expected


def test_the_proofs_are_about_the_function_that_torch_runs():
    """Not about a copy of it: a copy would stay right when the function is broken."""
    assert proofs.rotate_pair is rotate_pair


def test_no_two_proofs_claim_the_same():
    shown = [getattr(proofs, name)().shows for name in PROOFS]
    assert len(set(shown)) == len(PROOFS)
