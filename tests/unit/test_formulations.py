"""The suite formulations: its rows hold, and a wrong formulation, layout or cast does not pass.

Each fault is put where an edit would put it; for each stand the cases that must notice it, and
all others must not: a check that fails for everything names nothing.
"""

import math

import pytest
import torch

from outcomes import bad, bad_cases
from posinfo.encodings import rotary
from posinfo.rows import KEY
from posinfo.suites import formulations

SUITE = "formulations"
ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
HALVES = "posinfo.encodings.rotary.rotate_half_split"


def test_every_row_holds_under_a_name_of_its_own(measured):
    rows = measured[SUITE]
    assert bad(rows) == []
    keys = [tuple(getattr(row, name) for name in KEY) for row in rows]
    assert len(set(keys)) == len(keys) > 200
    assert all(row.basis for row in rows)


def test_a_second_run_gives_the_same_bits(measured, run_suite):
    assert [r.record() for r in run_suite(SUITE)] == [r.record() for r in measured[SUITE]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_hold_for_other_draws(run_suite, seed):
    assert bad(run_suite(SUITE, seed=seed)) == []


def test_rows_hold_at_other_widths_bases_and_positions(run_suite):
    rows = run_suite(SUITE, head_dims=[6, 80, 96], base=123.4, positions=[7, 999], starts=[3],
                     composed=[[1, 2], [17, 5000]], heads=6, key_heads=3)  # fmt: skip
    assert bad(rows) == []


# --- faults in the formulations ---------------------------------------------------------------

right_halves = rotary.rotate_half_split
right_matrices = rotary.rotation_matrices
right_reorder = rotary.adjacent_to_half_split
right_complex = rotary.rotate_complex
right_unit = rotary.unit_complex
right_angles = rotary.angles


def adjacent_instead(x, angles):
    return rotary.rotate_adjacent(x, angles)


def neighbours_share_an_angle(x, angles):
    """A known mistake: angles repeated one by one, as adjacent pairs have them."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = (part.repeat_interleave(2, dim=-1) for part in (angles.cos(), angles.sin()))
    return x * cos + torch.cat([-second, first], dim=-1) * sin


FAULTS = {
    "half-split the other way round": (
        "rotate_half_split", lambda x, angles: right_halves(x, -angles),
        {"rotation", "bit for bit", "weights", "blind inputs"},
    ),
    "half-split that pairs neighbours": (
        "rotate_half_split", adjacent_instead,
        {"rotation", "bit for bit", "composition", "weights", "blind inputs"},
    ),
    "half-split with angles of neighbours": (
        "rotate_half_split", neighbours_share_an_angle,
        {"rotation", "bit for bit", "composition", "weights", "blind inputs"},
    ),
    "matrices the other way round": (
        "rotation_matrices", lambda angles: right_matrices(-angles), {"rotation", "bit for bit"},
    ),
    "matrices that reflect": (
        "rotation_matrices", lambda angles: right_matrices(angles).flip(-1),
        {"rotation", "bit for bit", "composition", "matrices"},
    ),
    "matrices a little too long": (
        "rotation_matrices", lambda angles: right_matrices(angles) * 1.00001,
        {"rotation", "bit for bit", "composition", "matrices"},
    ),
    "weights not reordered": (
        "adjacent_to_half_split", lambda weight, head_dim: weight.clone(), {"weights"},
    ),
    "weights reordered across heads": (
        "adjacent_to_half_split", lambda weight, head_dim: right_reorder(weight, len(weight)),
        {"weights"},
    ),
    "weights reordered the other way": (
        "adjacent_to_half_split",
        lambda weight, head_dim: weight.view(-1, 2, head_dim // 2, weight.shape[-1])
        .transpose(1, 2).reshape(weight.shape),
        {"weights"},
    ),
    "complex numbers the other way round": (
        "unit_complex", lambda angles: right_unit(-angles),
        {"rotation", "bit for bit", "quoted code"},
    ),
    "the casts of the source lost": (
        "rotate_complex", lambda q, k, rotations: formulations.as_quoted(q, k, rotations),
        {"quoted code"},
    ),
    "a cast to float64": (
        "rotate_complex",
        lambda q, k, rotations: tuple(
            x.to(q.dtype) for x in formulations.as_quoted(
                q.double(), k.double(), torch.polar(
                    torch.ones(rotations.shape, dtype=torch.float64),
                    torch.outer(torch.arange(len(rotations)).double(),
                                rotary.frequencies(2 * rotations.shape[1], 1e4, torch.float64)),
                ))),
        {"rotation", "bit for bit", "quoted code"},
    ),
    "positions rounded to whole numbers": (
        "angles", lambda positions, thetas: right_angles(positions.round(), thetas),
        {"rotation", "steps"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed_by_the_cases_that_can(run_suite, monkeypatch, fault):
    name, wrong, noticing = FAULTS[fault]
    monkeypatch.setattr(rotary, name, wrong)
    assert bad_cases(run_suite(SUITE)) == noticing


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, y, cos, sin: (x * cos + y * sin, -x * sin + y * cos),
        lambda x, y, cos, sin: (x * sin + y * cos, x * cos - y * sin),
        lambda x, y, cos, sin: (x + 0 * cos, y + 0 * cos),
        lambda x, y, cos, sin: (1.001 * (x * cos - y * sin), 1.001 * (x * sin + y * cos)),
    ],
    ids=["the other way round", "outputs swapped", "no rotation", "a little too long"],
)
def test_a_faulty_pair_is_noticed(run_suite, monkeypatch, wrong):
    monkeypatch.setattr(rotary, "rotate_pair", wrong)
    rows = bad(run_suite(SUITE))
    assert {"rotation", "bit for bit", "weights"} <= {row.case for row in rows}
    assert {row.decision.outcome for row in rows} == {"fails"}


@pytest.mark.parametrize("name", ["rotate_half_split", "rotate_adjacent"])
def test_a_nan_is_an_error_and_never_passed_over(run_suite, monkeypatch, name):
    right = getattr(rotary, name)

    def not_a_number(x, angles):
        turned = right(x, angles).clone()
        turned[..., -1] = math.nan
        return turned

    monkeypatch.setattr(rotary, name, not_a_number)
    rows = bad(run_suite(SUITE))
    assert {"rotation", "weights", "blind inputs"} <= {row.case for row in rows}
    subject = HALVES if name == "rotate_half_split" else ADJACENT
    own = [row for row in rows if row.case == "rotation" and row.subject == subject]
    assert {row.decision.outcome for row in own} == {"error"}
    assert len(own) == sum(
        row.case == "rotation" and row.subject == subject for row in run_suite(SUITE)
    )


def test_the_quoted_code_with_its_first_cast_would_run_in_every_precision(run_suite, monkeypatch):
    right = formulations.as_quoted
    monkeypatch.setattr(
        formulations, "as_quoted", lambda q, k, rotations: right(q.float(), k.float(), rotations)
    )
    failing = {row.quantity for row in bad(run_suite(SUITE, only="quoted code"))}
    assert "the call, bfloat16" in failing
    assert "precision of the result, float64" in failing


def test_a_layout_that_a_blind_input_could_see_would_be_noticed(run_suite, monkeypatch):
    """Each blind row fails for a layout that is not a rotation of reordered dimensions."""
    monkeypatch.setattr(
        rotary, "rotate_half_split", lambda x, angles: right_halves(x, angles + 0.1) * 1.001
    )
    failing = {row.extra["input"] for row in bad(run_suite(SUITE, only="blind inputs"))}
    assert {"position 0", "norms", "query and key at one position", "a head of two"} <= failing


def test_the_order_of_halves():
    assert formulations.halves_order(8) == [0, 2, 4, 6, 1, 3, 5, 7]
