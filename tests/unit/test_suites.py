"""The suites shapes, norms, angles and offsets: rows that hold, and faults that must not pass.

A fault is put into the code as an edit would put it there. For each, the suites that must notice
it are stated, and those that cannot: a norm knows nothing of the direction of a turn.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from outcomes import bad
from posinfo import gate, scaling
from posinfo.encodings import attention, learned, rotary
from posinfo.proofs import rotation as proofs
from posinfo.rows import KEY, Row
from posinfo.schemas import first_problem, load_yaml
from posinfo.suites import shapes as shapes_suite

SUITES = ("shapes", "norms", "angles", "offsets")
PAIR = "posinfo.encodings.rotary.rotate_pair"
BY = "posinfo.encodings.rotary.rotate_by"
ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
COMPLEX = "posinfo.encodings.rotary.rotate_complex"
FREQUENCIES = "posinfo.encodings.rotary.frequencies"
ANGLES = "posinfo.encodings.rotary.angles"


@pytest.fixture(scope="module")
def config_schema(root: Path) -> dict[str, Any]:
    return load_yaml(root / "workflow" / "schemas" / "config.schema.yaml")


def measured_bad(rows: list[Row]) -> list[Row]:
    """Rows that do not hold, proofs aside: what a suite notices by measuring."""
    return [row for row in bad(rows) if row.evidence != "proof"]


def subjects(rows: list[Row]) -> set[str]:
    return {row.subject for row in rows}


def named_by_the_gate(rows: list[Row]) -> str:
    return "\n".join(gate.row_lines([row.record() for row in rows]))


# What is measured as it is.


@pytest.mark.parametrize("suite", SUITES)
def test_every_row_holds(measured, suite):
    assert bad(measured[suite]) == []
    assert len(measured[suite]) > 30


@pytest.mark.parametrize("suite", SUITES)
def test_every_row_has_a_name_and_a_basis_of_its_own(measured, suite):
    keys = [tuple(getattr(row, name) for name in KEY) for row in measured[suite]]
    assert len(set(keys)) == len(keys)
    assert keys == sorted(keys)
    assert all(row.basis and row.subject and row.suite == suite for row in measured[suite])


@pytest.mark.parametrize("suite", SUITES)
def test_a_second_run_gives_the_same_bits(measured, run_suite, suite):
    again = [row.record() for row in run_suite(suite)]
    assert again == [row.record() for row in measured[suite]]


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_hold_for_other_draws(run_suite, suite, seed):
    assert bad(run_suite(suite, seed=seed)) == []


def test_bounds_hold_at_widths_and_bases_that_are_no_powers(run_suite):
    changed = {"head_dims": [6, 80, 96], "bases": [1.5, 123.4, 100000.1]}
    rows = run_suite("angles", **changed)
    rows += run_suite("offsets", head_dims=changed["head_dims"], base=123.4, breaking_shift=10**9)
    assert len(rows) > 200
    assert [row for row in bad(rows) if row.relation == "within"] == []


@pytest.mark.parametrize("suite", SUITES)
def test_the_position_zero_is_no_error(run_suite, config, config_schema, suite):
    """Every bound on an angle is 0 there: handled, or refused before any job."""
    changed = {
        "shapes": {"v_position": 0},
        "norms": {},
        "angles": {"positions": [0, 3], "lesson_positions": [0, 3]},
        "offsets": {"position_inside": 0, "sign_position": 0},
    }[suite]
    sections = config["suites"] | {suite: config["suites"][suite] | changed}
    if first_problem(config | {"suites": sections}, config_schema):
        return
    errors = [row for row in run_suite(suite, **changed) if row.decision.outcome == "error"]
    assert errors == []


def test_a_worst_case_is_one_that_was_measured(run_suite):
    """A head of two has the frequency 1 alone: every angle is exact, and none the worst."""
    rows = run_suite("angles", only="angles", head_dims=[2])
    rows = [row for row in rows if row.subject == ANGLES]
    assert rows
    for row in rows:
        assert row.measured == row.extra["position"]


# Faults in the rotation.


def along(function: Callable[..., tuple]) -> Callable[..., tuple]:
    """A faulty rotation that leaves shapes alone, for tensors, numbers and symbols."""
    return lambda x, y, cos, sin: tuple(part + 0 * cos for part in function(x, y, cos, sin))


ROTATIONS: dict[str, tuple[Callable[..., tuple], set[str]]] = {
    "one sign flipped": (
        lambda x, y, cos, sin: (x * cos + y * sin, x * sin + y * cos),
        {"norms", "angles", "offsets"},
    ),
    # A rotation still: no norm changes, and a score depends on the offset alone.
    "the other way round": (
        lambda x, y, cos, sin: (x * cos + y * sin, -x * sin + y * cos),
        {"angles", "offsets"},
    ),
    "inputs swapped": (
        lambda x, y, cos, sin: (y * cos - x * sin, y * sin + x * cos),
        {"angles", "offsets"},
    ),
    "outputs swapped": (
        lambda x, y, cos, sin: (x * sin + y * cos, x * cos - y * sin),
        {"angles", "offsets"},
    ),
    "no rotation": (
        along(lambda x, y, cos, sin: (x, y)),
        {"shapes", "norms", "angles", "offsets"},
    ),
    "a little too long": (
        lambda x, y, cos, sin: (1.001 * (x * cos - y * sin), 1.001 * (x * sin + y * cos)),
        {"norms", "angles", "offsets"},
    ),
}


@pytest.fixture
def break_rotation(monkeypatch) -> Callable[[Callable], None]:
    """Put another rotation where the code's is: in the encodings, and in what proofs are about."""

    def break_rotation(wrong: Callable) -> None:
        monkeypatch.setattr(rotary, "rotate_pair", wrong)
        monkeypatch.setattr(proofs, "rotate_pair", wrong)

    return break_rotation


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("fault", ROTATIONS)
def test_a_faulty_rotation_is_noticed_by_measuring(run_suite, break_rotation, fault, suite):
    wrong, noticing = ROTATIONS[fault]
    break_rotation(wrong)
    rows = run_suite(suite)
    assert bool(measured_bad(rows)) is (suite in noticing)
    # None of these is a crash: the wrong values themselves are what does not hold.
    assert {row.decision.outcome for row in bad(rows)} <= {"fails"}
    # rotate_complex is right still, and nothing says otherwise.
    assert subjects(bad(rows)) <= {PAIR, BY, ADJACENT}


@pytest.mark.parametrize("fault", ROTATIONS)
def test_a_faulty_rotation_is_named_by_the_gate(run_suite, break_rotation, fault):
    wrong, noticing = ROTATIONS[fault]
    break_rotation(wrong)
    for suite in noticing:
        lines = named_by_the_gate(run_suite(suite))
        assert any(name in lines for name in (ADJACENT, BY, PAIR))
        assert all(line.startswith(f"results/suites/{suite}.csv: ") for line in lines.splitlines())


@pytest.mark.parametrize("fault", ROTATIONS)
def test_a_faulty_rotation_fails_against_arbitrary_precision_at_every_position(
    run_suite, break_rotation, config, fault
):
    break_rotation(ROTATIONS[fault][0])
    rows = {row.extra.get("position") for row in bad(run_suite("angles", only="rotation"))}
    assert set(config["suites"]["angles"]["lesson_positions"]) <= rows


@pytest.mark.parametrize("fault", ROTATIONS)
def test_a_faulty_rotation_fails_a_proof(run_suite, break_rotation, fault):
    break_rotation(ROTATIONS[fault][0])
    rows = run_suite("angles", only="proof")
    assert {row.evidence for row in rows} == {"proof"}
    assert bad(rows)
    assert subjects(bad(rows)) == {PAIR}


@pytest.mark.parametrize(
    ("fault", "passes"),
    [
        ("one sign flipped", False),
        ("the other way round", True),
        ("inputs swapped", True),
        ("outputs swapped", True),
        ("no rotation", True),
        ("a little too long", True),
    ],
)
def test_the_lessons_exercise_by_itself_lets_most_faults_through(
    run_suite, break_rotation, fault, passes
):
    """Equal scores at a common shift, one vector for both: hence a reference beside it."""
    break_rotation(ROTATIONS[fault][0])
    rows = run_suite("offsets", only="exercise")
    as_set = [row for row in rows if " against (" in row.quantity]
    assert len(as_set) == 6
    assert (not bad(as_set)) is passes


@pytest.mark.parametrize(
    "fault", ["the other way round", "inputs swapped", "outputs swapped", "no rotation"]
)
def test_the_lessons_norm_check_lets_every_isometry_through(run_suite, break_rotation, fault):
    break_rotation(ROTATIONS[fault][0])
    assert bad(run_suite("norms", only="lesson run")) == []


def test_scores_at_a_common_shift_cannot_see_wrong_output_order(run_suite, break_rotation):
    """Both vectors are permuted alike: only the rotated vector itself shows it."""
    break_rotation(ROTATIONS["outputs swapped"][0])
    rows = bad(run_suite("offsets"))
    assert {row.case for row in rows if row.evidence != "proof"} == {"rotation past the table"}


def not_a_number(x: Any, y: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    """The last pair's first component is NaN, all else is right."""
    first, second = x * cos - y * sin, x * sin + y * cos
    if isinstance(first, torch.Tensor):
        first = first.clone()
        first[..., -1] = math.nan
    return first, second


@pytest.mark.parametrize("suite", SUITES)
def test_a_nan_in_one_pair_is_an_error_in_every_suite(run_suite, break_rotation, suite):
    break_rotation(not_a_number)
    rows = bad(run_suite(suite))
    assert rows
    assert {row.decision.outcome for row in rows} == {"error"}


def test_a_nan_among_components_is_never_passed_over(run_suite, break_rotation):
    """The worst of several is not the worst of those that are numbers."""
    break_rotation(not_a_number)
    rows = [
        row
        for row in run_suite("angles", only="rotation")
        # What the first pair became says nothing of the others, on purpose.
        if row.subject == ADJACENT and row.quantity.startswith("rotated component")
    ]
    assert {row.decision.outcome for row in rows} == {"error"}


# Faults in the frequencies and angles.


def frequencies_like(change: Callable[[torch.Tensor, int, float], torch.Tensor]) -> Callable:
    right = rotary.frequencies

    def frequencies(head_dim, base, dtype=torch.float32):
        return change(right(head_dim, base, dtype), head_dim, base)

    return frequencies


WRONG_FREQUENCIES = {
    "i/d in the exponent": frequencies_like(lambda thetas, dim, base: thetas.sqrt()),
    "2i/(d-2) in the exponent": frequencies_like(
        lambda thetas, dim, base: thetas ** (dim / (dim - 2))
    ),
    "twice the base": frequencies_like(
        lambda thetas, dim, base: thetas * 2.0 ** (-2 * torch.arange(dim // 2) / dim)
    ),
    "a base a hundred-thousandth too large": frequencies_like(
        lambda thetas, dim, base: thetas * 1.00001 ** (-2 * torch.arange(dim // 2) / dim)
    ),
    "the pairs in reverse": frequencies_like(lambda thetas, dim, base: thetas.flip(0)),
    "computed in bfloat16": frequencies_like(
        lambda thetas, dim, base: thetas.bfloat16().to(thetas.dtype)
    ),
}


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("fault", WRONG_FREQUENCIES)
def test_wrong_frequencies_are_noticed(run_suite, monkeypatch, fault, suite):
    """By arbitrary precision alone: shapes and norms are those of any angles."""
    monkeypatch.setattr(rotary, "frequencies", WRONG_FREQUENCIES[fault])
    rows = run_suite(suite)
    assert bool(bad(rows)) is (suite in ("angles", "offsets"))
    if suite == "angles":
        assert {FREQUENCIES, ANGLES, ADJACENT, COMPLEX} <= subjects(bad(rows))
        assert FREQUENCIES in named_by_the_gate(rows)
    if suite == "offsets":
        assert ANGLES in subjects(bad(rows))
        assert ANGLES in named_by_the_gate(rows)


def test_a_nan_frequency_is_an_error_wherever_it_goes(run_suite, monkeypatch):
    last = frequencies_like(
        lambda thetas, dim, base: torch.where(
            torch.arange(dim // 2) == dim // 2 - 1, math.nan, thetas
        )
    )
    monkeypatch.setattr(rotary, "frequencies", last)
    for suite in SUITES:
        rows = run_suite(suite)
        assert "error" in {row.decision.outcome for row in rows}
        assert "fails" not in {row.decision.outcome for row in rows}
    rows = [row for row in run_suite("angles", only="angles") if row.subject == ANGLES]
    assert {row.decision.outcome for row in rows} == {"error"}


def test_a_position_that_is_one_too_far_is_invisible_to_shifts(run_suite, monkeypatch):
    """It moves query and key alike: the angles themselves must be measured."""
    right = rotary.angles
    monkeypatch.setattr(rotary, "angles", lambda positions, thetas: right(positions + 1, thetas))
    assert bad(run_suite("offsets", only="exercise")) == []
    assert bad(run_suite("norms")) == []
    assert subjects(bad(run_suite("offsets", only="rotation past the table"))) >= {ANGLES, ADJACENT}
    assert subjects(bad(run_suite("angles"))) >= {ANGLES, ADJACENT, COMPLEX}


def test_angles_in_half_precision_are_noticed(run_suite, monkeypatch):
    right = rotary.angles
    monkeypatch.setattr(
        rotary, "angles", lambda positions, thetas: right(positions, thetas).half().to(thetas.dtype)
    )
    assert ANGLES in subjects(bad(run_suite("angles")))
    assert {"exercise", "shifts"} & {row.case for row in bad(run_suite("offsets"))}


def test_a_complex_rotation_the_other_way_round_is_named(run_suite, monkeypatch):
    right = rotary.unit_complex
    monkeypatch.setattr(rotary, "unit_complex", lambda angles: right(-angles))
    rows = bad(run_suite("angles"))
    assert subjects(rows) == {COMPLEX}
    assert COMPLEX in named_by_the_gate(rows)
    for blind in ("shapes", "norms"):
        assert bad(run_suite(blind)) == []


# What each suite is there for.


def shape_faults() -> dict[str, tuple[object, str, Any, str]]:
    """By name: where, what, the faulty thing, and the quantity that must not hold."""
    embed, table, attend = learned.embed, learned.LearnedPositions, attention.attend

    class OneRowMore(table):
        def __init__(self, max_position, width, generator):
            super().__init__(max_position + 1, width, generator)

    class TrainedRotations(rotary.RotaryTable):
        def __init__(self, head_dim, max_position, base):
            super().__init__(head_dim, max_position, base)
            self.scale = torch.nn.Parameter(torch.ones(1))

    class Complex128(rotary.RotaryTable):
        def __init__(self, head_dim, max_position, base):
            super().__init__(head_dim, max_position, base)
            self.rotations = self.rotations.to(torch.complex128)

    def first_sequence_alone(*arguments):
        return embed(*arguments)[:1]

    def another_for_flat(tokens, positions_table, ids, positions):
        found = embed(tokens, positions_table, ids, positions)
        return found + (1.0 if positions.ndim == 1 else 0.0)

    right_complex = rotary.rotate_complex

    def halves(q, k, rotations):
        return tuple(x[..., ::2] for x in right_complex(q, k, rotations))

    return {
        "a row more": (shapes_suite, "LearnedPositions", OneRowMore, "parameters of the learned"),
        "a batch of one": (
            shapes_suite, "embed", first_sequence_alone, "shape of E[token_ids] + P",
        ),
        "another sum for [T]": (
            shapes_suite, "embed", another_for_flat, "largest difference, positions [T]",
        ),
        "half of the width": (rotary, "rotate_complex", halves, "shape of Q after RoPE"),
        "trained rotations": (rotary, "RotaryTable", TrainedRotations, "parameters of RoPE"),
        "sixteen bytes": (rotary, "RotaryTable", Complex128, "bytes of the cached rotations"),
        "wide rotations": (
            rotary, "unit_complex",
            lambda angles: torch.polar(torch.ones_like(angles).double(), angles.double()),
            "type of freqs_cis",
        ),
        "longer rotations": (
            rotary, "unit_complex",
            lambda angles: torch.polar(torch.full_like(angles, 1.00001), angles),
            "modulus of freqs_cis",
        ),
        "attention that changes V": (
            shapes_suite, "attend", lambda q, k, v: attend(q, k, v) * 1.000001,
            "largest difference of the output and V, Q and K rotated",
        ),
        "attention that returns V": (
            shapes_suite, "attend", lambda q, k, v: torch.zeros_like(v),
            "largest difference of the output and V, Q and K rotated",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("fault", shape_faults())
def test_shapes_notices(run_suite, monkeypatch, fault):
    where, name, wrong, quantity = shape_faults()[fault]
    monkeypatch.setattr(where, name, wrong)
    found = [row.quantity for row in bad(run_suite("shapes"))]
    assert any(each.startswith(quantity) for each in found)


def test_shapes_cannot_see_which_rows_were_added(run_suite, monkeypatch):
    """Known: it compares shapes, and sums with one another; values are another suite's."""

    def always_row_zero(tokens, table, ids, positions):
        return learned.embed(tokens, table, ids, torch.zeros_like(positions))

    monkeypatch.setattr(shapes_suite, "embed", always_row_zero)
    assert bad(run_suite("shapes")) == []


def test_a_bound_that_nothing_can_keep_is_not_kept(run_suite):
    rows = run_suite("norms", tolerance=1e-12)
    failing = {(row.case, row.basis) for row in bad(rows)}
    assert failing == {
        ("lesson run", "the lesson's own bound"),
        ("scale", "the lesson's own bound"),
        ("dtype", "the lesson's own bound"),
    }


def test_a_bound_that_everything_keeps_contradicts_nothing(run_suite):
    """A counter-example must exceed ten times the lesson's bound, whatever that is."""
    rows = bad(run_suite("norms", tolerance=1e3))
    assert {row.relation for row in rows} == {"exceeds"}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_norms_holds_each_precision_to_its_own_rounding(measured, dtype):
    by_dtype = {
        row.extra["dtype"]: row for row in measured["norms"]
        if row.case == "dtype" and row.quantity.startswith("largest relative")
    }  # fmt: skip
    assert by_dtype[dtype].measured > by_dtype["float32"].bound
    assert by_dtype["float32"].measured > by_dtype["float64"].bound


def test_a_look_up_that_is_silent_is_noticed(run_suite, monkeypatch):
    monkeypatch.setattr(torch, "index_select", lambda table, dim, index: table[:1] * 0)
    rows = bad(run_suite("offsets", only="position past the table"))
    assert subjects(rows) == {"torch.index_select"}
    assert {row.measured_text for row in rows if row.relation == "raises"} == {
        "no error: returned Tensor"
    }


def test_a_look_up_with_another_message_is_noticed(run_suite, monkeypatch):
    right = torch.index_select

    def other(table, dim, index):
        if int(index) >= len(table):
            raise IndexError("no such row")
        return right(table, dim, index)

    monkeypatch.setattr(torch, "index_select", other)
    rows = bad(run_suite("offsets", only="position past the table"))
    assert subjects(rows) == {"torch.index_select"}
    assert {row.measured_text for row in rows} == {"IndexError: no such row"}
    assert {row.decision.outcome for row in rows} == {"fails"}


def test_a_table_that_wraps_around_is_noticed(run_suite, monkeypatch):
    class Wrapping(rotary.RotaryTable):
        def forward(self, q, k, start=0):
            return super().forward(q, k, start % (len(self.rotations) - q.shape[1] + 1))

    monkeypatch.setattr(rotary, "RotaryTable", Wrapping)
    rows = bad(run_suite("offsets", only="rotation past the table"))
    assert subjects(rows) == {"posinfo.encodings.rotary.RotaryTable"}
    assert {row.measured_text for row in rows} == {"no error: returned tuple"}


def test_the_error_of_a_score_grows_with_the_shift(measured, config):
    """What the conditional claims rest on: an order of magnitude for each step of ten, or so."""
    offsets = config["suites"]["offsets"]
    for dim in offsets["head_dims"]:
        rows = {
            row.extra["shift"]: row.decision.error for row in measured["offsets"]
            if row.case == "shifts" and row.relation == "within" and row.extra["head_dim"] == dim
        }  # fmt: skip
        assert set(rows) == set(offsets["shifts"])
        assert rows[max(rows)] > 1000 * rows[min(rows)]


# A crash is evidence for nothing.


def test_a_crash_in_a_case_gives_an_error_row_and_keeps_the_other_cases(
    run_suite, measured, monkeypatch
):
    def crash(*arguments, **named):
        raise MemoryError("no memory")

    said: list[str] = []
    monkeypatch.setattr(rotary, "rotate_complex", crash)
    rows = run_suite("angles", said=said)
    (crashed,) = bad(rows)
    assert (crashed.case, crashed.decision.outcome) == ("rotation", "error")
    assert crashed.measured_text == "MemoryError: no memory"
    assert crashed.subject == "posinfo.suites.angles.rotation"
    others = {row.case for row in measured["angles"]}
    assert {row.case for row in rows} == others
    kept = [row.record() for row in rows if row.case != "rotation"]
    assert kept == [row.record() for row in measured["angles"] if row.case != "rotation"]
    assert any("Traceback" in line for line in said)
    assert "posinfo.suites.angles.rotation" in named_by_the_gate(rows)


def test_a_nan_among_extended_frequencies_is_never_passed_over(run_suite, monkeypatch):
    """It is below nothing and above nothing: a count or a worst of many must not lose it."""
    right = scaling.METHODS["llama3"]

    def spoiled(*setting, **options):
        frequencies = right.frequencies(*setting, **options).clone()
        frequencies[3:] = float("nan")
        return frequencies

    monkeypatch.setitem(scaling.METHODS, "llama3", replace(right, frequencies=spoiled))
    for case in ("frequencies", "angles never trained", "frequency by pair"):
        rows = [
            row
            for row in run_suite("extension", only=case)
            if row.subject == "posinfo.scaling.llama3" and row.extra.get("pair") not in (0, 1, 2)
        ]
        assert rows
        assert {row.decision.outcome for row in rows} == {"error"}, case


def test_the_frequencies_that_torch_runs_are_those_of_the_proofs(run_suite, monkeypatch):
    """Another formula in the one place where it stands, and proofs and values both say so."""
    monkeypatch.setattr(rotary, "frequency", lambda i, d, b: 1 / b ** (2 * i / (d + 2)))
    assert bad(run_suite("angles", only="frequencies"))
