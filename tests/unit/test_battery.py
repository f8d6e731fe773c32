"""The rotary battery: right implementations pass in either layout, and a wrong one is named."""

import pytest
import torch

from posinfo.battery import lessons
from posinfo.battery.base import examine
from posinfo.battery.rotary import BATTERY, HALF_SPLIT, Rotary
from posinfo.encodings import rotary


def subject(rotate, dtype=torch.float32):
    def turn(q, k, positions, base):
        angles = rotary.angles(positions, rotary.frequencies(q.shape[-1], base, dtype))
        return rotate(q, angles), rotate(k, angles)

    return lambda: Rotary("right", turn)


def by_matrix(x, angles):
    return rotary.rotate_by_matrix(x, rotary.rotation_matrices(angles)).to(x.dtype)


RIGHT = {
    "adjacent": subject(rotary.rotate_adjacent),
    "half-split": subject(rotary.rotate_half_split),
    "float64 inside": subject(rotary.rotate_adjacent, torch.float64),
    "by matrices": subject(by_matrix),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("battery", [BATTERY, lessons.BATTERY], ids=lambda one: one.kind)
def test_a_right_implementation_passes(battery, name):
    findings = examine(battery, RIGHT[name])
    assert {f.check: f.words for f in findings if f.outcome != "holds"} == {}
    assert [f.check for f in findings] == list(battery.names())


def test_the_layout_is_found():
    [finding] = examine(BATTERY, RIGHT["half-split"], only=["pairing"])
    assert finding.words == HALF_SPLIT


def test_the_other_direction_is_named_and_the_lessons_checks_let_it_through():
    other_way = subject(lambda x, angles: rotary.rotate_adjacent(x, -angles))
    rejected = {f.check: f.words for f in examine(BATTERY, other_way) if f.rejects}
    assert "turns the other way round" in rejected["direction"]
    assert "near positions" in rejected
    assert not any(f.rejects for f in examine(lessons.BATTERY, other_way))


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (lambda q, k, p, b: None, "returns None"),
        (lambda q, k, p, b: (q[..., :4], k), "returns shape [1, 4] for x of shape [1, 8]"),
        (lambda q, k, p, b: q / 0 if q.missing else k, "raises AttributeError"),
        (lambda q, k, p, b: exit(3), "raises SystemExit: 3"),
    ],
)
def test_misbehaviour_becomes_words(turn, words):
    findings = examine(BATTERY, lambda: Rotary("wrong", turn), only=["position zero", "table end"])
    assert [f.outcome for f in findings] == ["fails"] * 2
    assert words in findings[1].words


def test_nan_is_never_right():
    nan = subject(lambda x, angles: rotary.rotate_adjacent(x, angles) * float("nan"))
    held = {f.check for f in examine(BATTERY, nan) if f.outcome == "holds"}
    assert held <= {"runs", "input untouched"}


def test_one_that_takes_a_batch_alone_is_rejected_in_words():
    def turn(q, k, positions, base):
        if q.dim() == 2:
            raise ValueError("no batch")
        return rotary.rotate_adjacent(q, positions[:, None] * torch.ones(q.shape[-1] // 2)), k

    [finding] = examine(BATTERY, lambda: Rotary("batch", turn), only=["offset alone"])
    assert finding.outcome == "fails"
    assert "ends before position 5: raises ValueError: no batch" in finding.words
