"""The suite precision, and its references: what a precision holds, and codes of positions."""

import cmath
import math

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from outcomes import bad, bad_cases
from posinfo.encodings import rotary
from posinfo.reference import codes
from posinfo.reference import precision as reference
from posinfo.reference import rotary as exact_rotary
from posinfo.reference.rounding import UNIT
from posinfo.rows import KEY
from posinfo.suites import precision
from posinfo.suites.common import DTYPES

SUITE = "precision"
LOW = ["float32", "float16", "bfloat16"]


def test_every_row_holds_under_a_name_of_its_own(measured):
    rows = measured[SUITE]
    assert bad(rows) == []
    keys = [tuple(getattr(row, name) for name in KEY) for row in rows]
    assert len(set(keys)) == len(keys) > 200
    assert all(row.basis for row in rows)


def test_a_second_run_gives_the_same_bits(measured, run_suite):
    assert [r.record() for r in run_suite(SUITE)] == [r.record() for r in measured[SUITE]]


def test_bounds_hold_at_widths_and_bases_that_are_no_powers(run_suite):
    for dim, base in ((80, 123.4), (96, 5e5), (6, 1e7)):
        rows = run_suite(SUITE, only="angles", head_dim=dim, base=base, breaking_position=2**24)
        assert [row for row in bad(rows) if row.relation == "within"] == []


# --- faults ------------------------------------------------------------------------------------

right_angles = rotary.angles
right_frequencies = rotary.frequencies

FAULTS = {
    # More exact than the precision is no error of an angle; but then nothing collides.
    "angles always in float64": (
        "angles", lambda positions, thetas: torch.outer(positions.double(), thetas.double()),
        {"first collision", "overflow"},
    ),
    "positions one too far": (
        "angles", lambda positions, thetas: right_angles(positions + 1, thetas),
        {"first collision", "overflow", "angles"},
    ),
    "angles in bfloat16": (
        "angles",
        lambda positions, thetas: right_angles(positions, thetas.bfloat16()).to(thetas.dtype),
        {"first collision", "overflow", "angles", "stored codes"},
    ),
    "frequencies in bfloat16": (
        "frequencies",
        lambda dim, base, dtype=torch.float32: right_frequencies(dim, base, torch.bfloat16)
        .to(dtype),
        {"overflow", "angles", "near returns", "stored codes"},
    ),
    "i/d in the exponent": (
        "frequencies",
        lambda dim, base, dtype=torch.float32: right_frequencies(dim, base, dtype).sqrt(),
        {"angles", "near returns", "stored codes"},
    ),
    "no number among the frequencies": (
        "frequencies",
        lambda dim, base, dtype=torch.float32: right_frequencies(dim, base, dtype) * math.nan,
        {"first collision", "overflow", "angles", "near returns", "stored codes"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(run_suite, monkeypatch, fault):
    name, wrong, noticing = FAULTS[fault]
    monkeypatch.setattr(rotary, name, wrong)
    assert bad_cases(run_suite(SUITE)) == noticing


def test_a_nan_in_one_pair_is_an_error(run_suite, monkeypatch):
    def last_is_nan(positions, thetas):
        angles = right_angles(positions, thetas).clone()
        angles[:, -1] = math.nan
        return angles

    monkeypatch.setattr(rotary, "angles", last_is_nan)
    rows = [row for row in run_suite(SUITE, only="angles") if row.relation == "within"]
    assert len(rows) > 100
    assert {row.decision.outcome for row in rows} == {"error"}


@pytest.mark.parametrize("case", ["first collision", "distinct positions"])
def test_a_precision_that_is_not_the_one_it_is_said_to_be(run_suite, monkeypatch, case):
    monkeypatch.setitem(precision.DTYPES, "bfloat16", torch.float16)
    failing = {row.extra["dtype"] for row in bad(run_suite(SUITE, only=case))}
    assert failing == {"bfloat16"}


def test_a_return_that_is_none_is_noticed(run_suite, monkeypatch):
    """Distances off by one offset: the nearest is another, and its distance not the exact one."""
    right = precision.distances
    monkeypatch.setattr(
        precision, "distances", lambda dim, base, largest: right(dim, base, largest + 1)[1:]
    )
    assert len(bad(run_suite(SUITE, only="near returns"))) > 6


BARELY = {(4, "float16"), (8, "bfloat16")}


def of_stored(rows) -> set[tuple[int, str]]:
    return {(row.extra["head_dim"], row.extra["dtype"]) for row in rows}


def test_two_codes_that_storing_could_merge_are_noticed(run_suite, monkeypatch):
    """Codes half as far apart: what storing does to two of them reaches that far."""
    right = precision.distances
    monkeypatch.setattr(precision, "distances", lambda *given: right(*given) / 2)
    rows = [row for row in bad(run_suite(SUITE, only="stored codes")) if "against" in row.quantity]
    assert (4, "float16") in of_stored(rows)


def test_two_positions_with_one_code_are_noticed_among_all(run_suite, monkeypatch):
    right = precision._code

    def one_twice(*given):
        code = right(*given)
        if len(code) >= 131072:  # the whole table, and not the two stretches that are compared
            code[100_000] = code[70_001]
        return code

    monkeypatch.setattr(precision, "_code", one_twice)
    rows = bad(run_suite(SUITE, only="stored codes"))
    assert of_stored(rows) == BARELY
    assert {row.measured for row in rows} == {131072 - 2}


def test_codes_that_differ_everywhere_are_no_near_collision(run_suite, monkeypatch):
    right = precision._code
    monkeypatch.setattr(
        precision, "_code",
        lambda positions, *given: right(positions, *given).mul_(
            torch.where(positions < 50_000, 1, -1)[:, None]
        ),
    )  # fmt: skip
    rows = [row for row in bad(run_suite(SUITE, only="stored codes")) if "alone" in row.quantity]
    assert of_stored(rows) >= BARELY


def test_rows_alone_are_those_that_no_other_row_equals():
    code = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [-0.0, 1.0], [1.0, 1.0], [0.0, 0.5]])
    # The first and the fourth are one: minus zero is zero.
    assert precision._alone(code) == 4
    assert precision._alone(code.bfloat16()) == 4
    assert math.isnan(precision._alone(torch.cat([code, torch.full((1, 2), math.nan)])))


# --- what is held ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOW)
def test_the_first_position_lost_is_found_by_trying(name):
    lost = reference.first_position_lost(name)
    assert precision.first_lost(DTYPES[name], lost + 5) == lost
    assert precision.first_lost(DTYPES[name], lost - 3) == lost - 2


@pytest.mark.parametrize("name", [*LOW, "float64"])
def test_what_is_held_is_what_torch_keeps(name):
    dtype = DTYPES[name]
    values = [0.0, 1.0, 255.0, 256.0, 257.0, 2049.0, 1e4, 5e5, 65504.0, 2.0**24 + 1, 0.1, 2.0**-10]
    for value in values:
        kept = torch.tensor(value, dtype=torch.float64).to(dtype).double().item() == value
        assert reference.held(value, name) is kept, value


@pytest.mark.parametrize("name", LOW)
def test_infinity_begins_where_it_is_said_to(name):
    first = reference.becomes_infinite(name)
    below = math.nextafter(first, 0.0)
    found = torch.tensor([below, first], dtype=torch.float64)
    # By way of float32, as torch goes: just below rounds up to it there.
    if name != "float32":
        found[0] = torch.nextafter(found[1].float(), torch.tensor(0.0)).double()
    assert found.to(DTYPES[name]).isinf().tolist() == [False, True]
    assert torch.finfo(DTYPES[name]).max == reference.LARGEST[name]
    assert torch.finfo(DTYPES[name]).tiny == reference.SMALLEST_NORMAL[name]


@pytest.mark.parametrize("name", LOW)
@pytest.mark.parametrize("exponent", [1, 7, 8, 9, 11, 12, 16, 17, 18])
def test_distinct_positions_are_those_that_torch_tells_apart(name, exponent):
    length = 2**exponent
    found = len(torch.arange(length).to(DTYPES[name]).unique())
    assert reference.distinct_positions(length, name) == found


@given(
    st.sampled_from(LOW), st.sampled_from([2, 8, 64, 96, 128]), st.floats(1.5, 6e4),
    st.integers(1, 60000),
)  # fmt: skip
def test_angles_stay_within_their_bounds(name, dim, base, position):
    thetas = exact_rotary.frequencies(dim, base)
    dtype = DTYPES[name]
    found = rotary.angles(torch.tensor([position]), rotary.frequencies(dim, base, dtype))[0]
    for pair, (value, theta) in enumerate(zip(found.tolist(), thetas, strict=True)):
        bound = reference.angle(
            position, float(theta), reference.frequency(pair, dim, base, name), name
        )
        assert abs(value - float(exact_rotary.angle(position, theta))) <= bound


def test_a_base_that_overflows_leaves_nothing_of_a_frequency():
    assert reference.frequency(0, 128, 5e5, "float16") == 0
    assert reference.frequency(1, 128, 5e5, "float16") == 1
    assert reference.frequency(1, 128, 5e5, "bfloat16") < 0.03


@pytest.mark.parametrize("name", [*LOW, "float64"])
def test_storing_moves_a_number_by_its_bound_at_most(name):
    generator = torch.Generator().manual_seed(0)
    numbers = torch.rand(10000, generator=generator, dtype=torch.float64)
    moved = (numbers.to(DTYPES[name]).double() - numbers).abs().max().item()
    assert moved <= reference.stored(name)
    assert name == "float64" or moved > reference.stored(name) / 4
    assert moved <= reference.stored_nearest(name)
    assert name == "float64" or moved > 0.9 * reference.stored_nearest(name)


def test_compounding_is_no_less_than_the_product():
    for name, unit in UNIT.items():
        assert reference.compounded(6, unit) >= (1 + unit) ** 6 - 1, name


# --- codes -------------------------------------------------------------------------------------


@given(st.sampled_from([2, 4, 8, 64]), st.floats(2, 1e6), st.integers(1, 1000))
def test_a_distance_is_that_of_the_points(dim, base, offset):
    thetas = exact_rotary.frequencies(dim, base)
    points = [cmath.exp(1j * offset * float(theta)) for theta in thetas]
    expected = math.sqrt(sum(abs(point - 1) ** 2 for point in points))
    assert float(codes.distance(offset, thetas)) == pytest.approx(expected, abs=1e-12)
    found = precision.distances(dim, base, offset)[offset - 1].item()
    assert found == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("largest", [6, 7, 18, 19, 43, 44, 332, 333, 709, 710, 5000, 103993])
def test_the_best_whole_turn_is_the_nearest_of_all(largest):
    with mpmath.workdps(30):
        off = [
            abs(k - 2 * mpmath.pi * mpmath.nint(k / (2 * mpmath.pi)))
            for k in (range(1, largest + 1) if largest < 6000 else (710, 103283, 103993))
        ]
    best = min(range(len(off)), key=off.__getitem__)
    expected = best + 1 if largest < 6000 else (710, 103283, 103993)[best]
    assert codes.best_whole_turn(largest) == expected


@given(st.integers(1, 60), st.integers(1, 60))
def test_counts_of_pairs_are_those_of_an_enumeration(trained, more):
    length = trained + more
    pairs = [(i, j) for i in range(length) for j in range(i + 1)]
    assert codes.causal_pairs(length) == len(pairs)
    assert codes.unseen_pairs(trained, length) == sum(i - j >= trained for i, j in pairs)


@given(st.floats(0, 3), st.integers(0, 2**32))
def test_a_vector_moves_as_far_as_its_rotation_says(step, seed):
    x = torch.randn(1, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    thetas = rotary.frequencies(8, 1e4, torch.float64)
    turned = rotary.rotate_adjacent(
        x, torch.outer(torch.tensor([step], dtype=torch.float64), thetas)
    )
    norms = x[0].unflatten(0, (-1, 2)).norm(dim=-1).tolist()
    exact = codes.turned_length(norms, step, exact_rotary.frequencies(8, 1e4))
    assert float(exact) == pytest.approx((turned - x).norm().item(), abs=1e-13)
