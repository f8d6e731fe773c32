"""The suite spectrum: its rows hold, and what is miscounted or turned wrongly does not pass."""

import math

import pytest
import torch

from outcomes import bad, bad_cases
from posinfo.encodings import rotary
from posinfo.reference import codes
from posinfo.reference import rotary as reference
from posinfo.rows import KEY
from posinfo.suites import spectrum

SUITE = "spectrum"


@pytest.fixture(scope="module")
def quick(run_suite):
    """The suite with fewer octaves: the last ones take most of its time."""

    def run(**changed):
        return run_suite(SUITE, **{"octaves": 14, "growing": [[8192], []]} | changed)

    return run


def test_every_row_holds_under_a_name_of_its_own(measured):
    rows = measured[SUITE]
    assert bad(rows) == []
    keys = [tuple(getattr(row, name) for name in KEY) for row in rows]
    assert len(set(keys)) == len(keys) > 150
    assert all(row.basis for row in rows)


def test_a_second_run_gives_the_same_bits(measured, run_suite):
    assert [r.record() for r in run_suite(SUITE)] == [r.record() for r in measured[SUITE]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_hold_for_other_draws(quick, seed):
    assert bad(quick(seed=seed)) == []


right_frequencies = rotary.frequencies
right_adjacent = rotary.rotate_adjacent


def frequencies_like(change):
    return lambda dim, base, dtype=torch.float32: change(right_frequencies(dim, base, dtype))


FAULTS = {
    "i/d in the exponent": (
        rotary, "frequencies", frequencies_like(torch.sqrt),
        {"turns", "sum of cosines", "random vectors"},
    ),
    "frequencies in bfloat16": (
        rotary, "frequencies", frequencies_like(lambda thetas: thetas.bfloat16().to(thetas.dtype)),
        {"turns", "sum of cosines", "random vectors"},
    ),
    # Two random vectors cannot show it; one vector with itself is even in the angle.
    "the other way round": (
        rotary, "rotate_adjacent", lambda x, angles: right_adjacent(x, -angles), set(),
    ),
    "no rotation": (
        rotary, "rotate_adjacent", lambda x, angles: x + 0 * angles.sum(), {"random vectors"},
    ),
    "half as long": (
        rotary, "rotate_adjacent", lambda x, angles: right_adjacent(x, angles) / 2,
        {"random vectors"},
    ),
    "a score that decays": (
        rotary, "rotate_adjacent",
        lambda x, angles: right_adjacent(x, angles) / (1 + angles[..., 0] / 100).unsqueeze(-1),
        {"random vectors"},
    ),
    "distances without the last": (
        spectrum, "_distances", lambda length: torch.cat(
            [torch.arange(n) for n in range(1, length)]), {"unseen distances"},
    ),
    "distances in both directions": (
        spectrum, "_distances", lambda length: (
            torch.arange(length).unsqueeze(1) - torch.arange(length)).flatten(),
        {"unseen distances"},
    ),
    "every pair left open": (
        spectrum, "pairs_with_an_open_arc", lambda thetas, length: list(range(len(thetas))),
        {"turns"},
    ),
    "distances one too far": (
        spectrum, "mean_cosines",
        lambda dim, base, first, last, right=spectrum.mean_cosines: right(
            dim, base, first + 1, last + 1), {"sum of cosines"},
    ),
    "sums of sines": (
        spectrum, "mean_cosines",
        lambda dim, base, first, last: torch.sin(torch.outer(
            torch.arange(first, last).double(), right_frequencies(dim, base, torch.float64)
        )).mean(dim=1), {"sum of cosines"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed_by_the_cases_that_can(quick, monkeypatch, fault):
    where, name, wrong, noticing = FAULTS[fault]
    monkeypatch.setattr(where, name, wrong)
    assert bad_cases(quick()) == noticing


def test_a_nan_is_an_error_wherever_it_goes(quick, monkeypatch):
    monkeypatch.setattr(
        rotary, "frequencies",
        frequencies_like(lambda thetas: torch.cat([thetas[:-1], thetas[-1:] * math.nan])),
    )  # fmt: skip
    rows = bad(quick())
    assert {"turns", "sum of cosines", "random vectors"} <= {row.case for row in rows}
    assert "error" in {row.decision.outcome for row in rows if row.case == "turns"}


def test_a_decay_that_does_not_end_is_noticed(quick, monkeypatch):
    """Without the growth, the fall and the negative sign further out, the rows must not hold."""
    right = spectrum.mean_cosines
    monkeypatch.setattr(
        spectrum, "mean_cosines",
        lambda dim, base, first, last: 1 / torch.arange(first, last).double(),
    )  # fmt: skip
    failing = {row.quantity for row in bad(quick())}
    assert any(quantity.startswith("largest mean cosine") for quantity in failing)
    assert any("8192" in quantity and quantity.startswith("change") for quantity in failing)
    assert right(8, 1e4, 0, 1).item() == 1


@pytest.mark.parametrize(("power", "wrong"), [(-1, 1), (1, -1), (0, None)])
def test_the_change_of_every_octave_can_fail(run_suite, monkeypatch, config, power, wrong):
    """Sizes that only fall, or only grow, or stay: the octaves that do otherwise are noticed."""
    monkeypatch.setattr(
        spectrum, "mean_cosines",
        lambda dim, base, first, last: (torch.arange(first, last).double() / 2**20) ** power,
    )  # fmt: skip
    rows = run_suite(SUITE, only="sum of cosines")
    changes = [row for row in rows if row.quantity.startswith("change in size")]
    assert len(changes) == 2 * (config["suites"][SUITE]["octaves"] - 1)
    assert bad(changes) == [row for row in changes if wrong is None or row.reference == wrong]


@pytest.mark.parametrize(("dim", "base"), [(8, 1e4), (128, 5e5)])
def test_mean_cosines_are_those_of_fifty_digits_across_blocks(dim, base):
    edge = 2**14
    found = spectrum.mean_cosines(dim, base, edge - 2, 2 * edge + 3)
    assert len(found) == edge + 5
    for distance in (edge - 2, edge - 1, edge, 2 * edge - 1, 2 * edge + 2):
        exact = codes.mean_cosine(distance, reference.frequencies(dim, base))
        assert found[distance - edge + 2].item() == pytest.approx(float(exact), abs=1e-11)


def test_an_open_arc_is_that_of_a_pair_that_makes_no_turn():
    thetas = torch.tensor([1.0, 2 * math.pi / 100, 2 * math.pi / 130], dtype=torch.float64)
    assert spectrum.pairs_with_an_open_arc(thetas, 110) == [2]
    assert spectrum.pairs_with_an_open_arc(thetas, 90) == [1, 2]
    assert spectrum.pairs_with_an_open_arc(thetas, 140) == []
