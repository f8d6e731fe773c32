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


# --- what is wrong in one place alone -------------------------------------------------------------


def right(q, k, positions, base):
    """The rotation that the functions below change in one place."""
    return RIGHT["adjacent"]().turn(q, k, positions, base)


def one_row(q, k, positions, base):
    return right(q, k, torch.where(positions == 500, 501, positions), base)


def ends_of_tables(q, k, positions, base):
    wrong = (positions % 4096 == 0) & (positions > 0) & (positions < 131_072)
    return right(q, k, positions - wrong.to(positions.dtype), base)


def long_sequences(q, k, positions, base):
    return right(q, k, positions if len(positions) <= 64 else torch.arange(len(positions)), base)


def power_of_two(q, k, positions, base):
    wider = 2 ** (q.shape[-1] - 1).bit_length()
    frequencies = rotary.frequencies(wider, base)[: q.shape[-1] // 2]
    angles = rotary.angles(positions, frequencies)
    return rotary.rotate_adjacent(q, angles), rotary.rotate_adjacent(k, angles)


def clamped_values(q, k, positions, base):
    return right(q.clamp(-100, 100), k.clamp(-100, 100), positions, base)


def floored_norms(q, k, positions, base):
    def normed(x):
        norm = x.norm(dim=-1, keepdim=True)
        return x * norm / (norm + 1e-7)

    return right(normed(q), normed(k), positions, base)


def by_unit_vectors(q, k, positions, base):
    return right(*(x / x.norm(dim=-1, keepdim=True) * x.norm(dim=-1, keepdim=True)
                   for x in (q, k)), positions, base)  # fmt: skip


def eight_sequences(q, k, positions, base):
    turned = right(q, k, positions, base)
    if q.dim() > 2:
        for after, x in zip(turned, (q, k), strict=True):
            after[8:] = x[8:]
    return turned


def in_one_piece(q, k, positions, base):
    strides = torch.empty(q.shape).stride()
    return right(*(torch.as_strided(x, x.shape, strides) for x in (q, k)), positions, base)


def changes_heads(q, k, positions, base):
    turned = right(q, k, positions, base)
    if not q.is_contiguous():
        q.copy_(turned[0])
    return turned


def another_in_float64(q, k, positions, base):
    return right(q, k, positions + (q.dtype == torch.float64), base)


def half_of_wide_heads(q, k, positions, base):
    rough = q.dtype == torch.bfloat16 and q.shape[-1] > 64
    return right(q, k, positions.bfloat16().float() if rough else positions, base)


def first_precision_kept():
    tables = {}

    def turn(q, k, positions, base):
        key, rows = (q.shape[-1], base), int(positions.max()) + 1
        if key not in tables or len(tables[key]) < rows:
            angles = rotary.angles(torch.arange(rows), rotary.frequencies(*key))
            tables[key] = angles.to(q.dtype)
        angles = tables[key][positions.long()].float()
        return rotary.rotate_adjacent(q, angles), rotary.rotate_adjacent(k, angles)

    return turn


@pytest.mark.parametrize(
    ("turn", "check", "words"),
    [
        (one_row, "far positions", "at position 500,"),
        (ends_of_tables, "far positions", "at position 4,096,"),
        (long_sequences, "far positions", ""),
        (power_of_two, "widths", "of width 80"),
        (clamped_values, "linear", "x times 2^12"),
        (floored_norms, "linear", "x times 2^-12"),
        (by_unit_vectors, "linear", "of zeros returns NaN"),
        (eight_sequences, "batch shapes", "x of shape [17, 12, 3, 8]"),
        (in_one_piece, "batch shapes", "not in one piece"),
        (changes_heads, "input untouched", "changes its input: q"),
        (another_in_float64, "dtype", "q from float64 is another than from float32"),
        (half_of_wide_heads, "half precision", "of width 128"),
        (first_precision_kept(), "no memory", "of width 32"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_what_is_wrong_in_one_place_alone_is_rejected(turn, check, words):
    [finding] = examine(BATTERY, lambda: Rotary("wrong", turn), only=[check])
    assert (finding.outcome, words in finding.words) == ("fails", True), finding


def test_one_that_takes_memory_in_one_piece_alone_is_right_and_says_so():
    def turn(q, k, positions, base):
        return right(q.view(q.shape), k.view(-1, *k.shape[-2:]).view(k.shape), positions, base)

    findings = examine(BATTERY, lambda: Rotary("views", turn))
    assert [f for f in findings if f.outcome != "holds"] == []
    [note] = [note for f in findings for note in f.notes]
    assert note.startswith("takes no memory that is not in one piece: raises RuntimeError")


def test_a_result_wider_than_its_half_precision_input_is_noted():
    def turn(q, k, positions, base):
        return right(q.float(), k.float(), positions, base)

    [finding] = examine(BATTERY, lambda: Rotary("wide", turn), only=["half precision"])
    assert finding.outcome == "holds"
    assert "q comes back as float32 from bfloat16" in finding.notes
