"""The suite cache, and what it rests on: rows that hold, and faults that must not pass."""

import math

import pytest
import torch

from outcomes import bad, cases
from posinfo import scaling
from posinfo.encodings import cache, rotary
from posinfo.encodings.attention import attend
from posinfo.reference import attention as exact
from posinfo.reference import rotary as reference
from posinfo.rows import KEY
from posinfo.suites import cache as suite
from posinfo.suites.common import draw

THETAS = rotary.frequencies(8, 10000.0)


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).float()


# What is measured as it is.


def test_every_row_holds_and_has_a_name_of_its_own(measured):
    rows = measured["cache"]
    assert bad(rows) == []
    assert len({tuple(getattr(row, name) for name in KEY) for row in rows}) == len(rows) > 40
    assert all(row.basis and row.subject for row in rows)
    assert cases(rows) == set(suite.SUITE.cases)


def test_a_second_run_gives_the_same_bits(measured, run_suite):
    assert [r.record() for r in run_suite("cache")] == [r.record() for r in measured["cache"]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_hold_for_other_draws(run_suite, seed):
    assert bad(run_suite("cache", seed=seed)) == []


def test_bounds_hold_at_other_widths_and_bases(run_suite):
    rows = run_suite("cache", head_dims=[6, 80], base=123.4)
    assert [row for row in bad(rows) if row.relation == "within"] == []


# Faults in decoding.


def decoding_with(change):
    """``decode`` with keys and values changed on their way into the cache."""

    def decode(q, k, v, frequencies, *, rotate_before_caching=True, position=lambda step: step):
        outputs = []
        for step in range(q.shape[1]):
            turns = rotary.angles(
                torch.tensor([position(n) for n in range(step + 1)]), frequencies(step + 1)
            )
            q_now, k_now, v_now = change(q, k, v, turns, step)
            outputs.append(attend(q_now, k_now, v_now, causal=False))
        return torch.cat(outputs, dim=1)

    return decode


def query(q, turns, step):
    return rotary.rotate_adjacent(q[:, step : step + 1], turns[-1:])


def keys(k, turns, step):
    return rotary.rotate_adjacent(k[:, : step + 1], turns)


WRONG_DECODING = {
    "keys not rotated": lambda q, k, v, t, n: (query(q, t, n), k[:, : n + 1], v[:, : n + 1]),
    "query not rotated": lambda q, k, v, t, n: (q[:, n : n + 1], keys(k, t, n), v[:, : n + 1]),
    "values rotated too": lambda q, k, v, t, n: (query(q, t, n), keys(k, t, n), keys(v, t, n)),
    "the token itself left out": lambda q, k, v, t, n: (
        query(q, t, n), keys(k, t, n)[:, : max(n, 1)], v[:, : max(n, 1)],
    ),
    "the first token dropped": lambda q, k, v, t, n: (
        query(q, t, n), keys(k, t, n)[:, min(n, 1) :], v[:, min(n, 1) : n + 1],
    ),
    "values in another order": lambda q, k, v, t, n: (
        query(q, t, n), keys(k, t, n), v[:, : n + 1].flip(1),
    ),
    "the query turned the other way": lambda q, k, v, t, n: (
        query(q, -t, n), keys(k, t, n), v[:, : n + 1],
    ),
    "not a number at the end": lambda q, k, v, t, n: (
        query(q, t, n), keys(k, t, n), v[:, : n + 1] + (math.nan if n > 40 else 0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG_DECODING)
def test_faulty_decoding_is_noticed(run_suite, monkeypatch, fault):
    monkeypatch.setattr(cache, "decode", decoding_with(WRONG_DECODING[fault]))
    rows = bad(run_suite("cache"))
    assert {"decoding", "arbitrary precision"} <= cases(rows)
    kept = [row for row in rows if row.case == "decoding" and row.relation == "within"]
    assert len(kept) == 6


def test_a_right_decoder_of_another_kind_passes_but_where_it_must_break(run_suite, monkeypatch):
    """It always turns keys anew: no row is off but those that show rotated keys to go wrong."""
    right = decoding_with(lambda q, k, v, t, n: (query(q, t, n), keys(k, t, n), v[:, : n + 1]))
    monkeypatch.setattr(cache, "decode", right)
    rows = bad(run_suite("cache"))
    assert {row.extra["frequencies"] for row in rows} == {"dynamic NTK"}
    assert {row.relation for row in rows} == {"exceeds"}


def test_dynamic_frequencies_that_stay_fixed_are_noticed(run_suite, monkeypatch):
    def fixed(head_dim, base, *_, **__):
        return rotary.frequencies(head_dim, base)

    monkeypatch.setattr(scaling, "dynamic_ntk", fixed)
    rows = bad(run_suite("cache"))
    assert {row.extra["frequencies"] for row in rows} == {"dynamic NTK"}
    assert cases(rows) == {"decoding", "within the trained length"}


@pytest.mark.parametrize("late", [1, -1])
def test_dynamic_frequencies_that_begin_at_another_length_are_noticed(run_suite, monkeypatch, late):
    right = scaling.dynamic_ntk

    def shifted(head_dim, base, trained, factor, *, length):
        return right(head_dim, base, trained + late, factor, length=length)

    monkeypatch.setattr(scaling, "dynamic_ntk", shifted)
    assert cases(bad(run_suite("cache"))) == {"within the trained length"}


# Faults in the rotation of a cached key.


@pytest.mark.parametrize(
    ("fault", "wrong"),
    [
        ("no rotation", lambda x, y, cos, sin: (x + 0 * cos, y + 0 * cos)),
        ("the other way", lambda x, y, cos, sin: (x * cos + y * sin, y * cos - x * sin)),
        ("one sign flipped", lambda x, y, cos, sin: (x * cos + y * sin, x * sin + y * cos)),
        ("a little too long", lambda x, y, cos, sin: (
            1.00001 * (x * cos - y * sin), 1.00001 * (x * sin + y * cos))),
    ],
)  # fmt: skip
def test_a_faulty_rotation_is_noticed(run_suite, monkeypatch, fault, wrong):
    monkeypatch.setattr(rotary, "rotate_pair", wrong)
    rows = bad(run_suite("cache", only="cached keys"))
    methods = {row.extra["method"] for row in rows}
    # Both vectors turned alike, and turned back: the score alone tells directions apart.
    assert "scored" in methods
    assert (methods == {"scored"}) is (fault in ("the other way", "no rotation"))


# Faults in the finite layout.


class Ring(cache.FiniteAttention):
    """A cache that begins anew where it ends: what a sliding window does."""

    def forward(self, q, k, v, start):
        q, k = self.rotary(q, k, start)
        places = torch.arange(start, start + q.shape[1]) % self.keys.shape[1]
        self.keys[:, places] = k
        self.values[:, places] = v
        end = min(start + q.shape[1], self.keys.shape[1])
        firsts = (x.transpose(1, 2) for x in (q, self.keys[:, :end], self.values[:, :end]))
        return attend(*firsts, causal=False).transpose(1, 2)


def test_a_cache_that_stores_past_its_end_is_noticed(run_suite, monkeypatch):
    monkeypatch.setattr(cache, "FiniteAttention", Ring)
    quantities = " ".join(row.quantity for row in bad(run_suite("cache", only="finite layout")))
    assert "tokens at once" in quantities
    assert "places that change" in quantities


def test_a_layout_with_room_enough_is_noticed(run_suite, monkeypatch):
    class Larger(cache.FiniteAttention):
        def __init__(self, max_length, *rest):
            super().__init__(2 * max_length, *rest)

    monkeypatch.setattr(cache, "FiniteAttention", Larger)
    assert len(bad(run_suite("cache", only="finite layout"))) == 5


def test_a_step_that_knows_every_token_is_noticed(run_suite, monkeypatch):
    q, k = (draw((1, 4096, 1, 8), 123 + n)[0].transpose(0, 1) for n in range(2))
    v = (torch.arange(4096) >= 2048).float()[None, :, None].expand(1, 4096, 8)

    class Whole(cache.FiniteAttention):
        def forward(self, *vectors):
            if vectors[-1] != 4095:
                return super().forward(*vectors)
            return cache.last_output(q, k, v, THETAS)[None]

    monkeypatch.setattr(cache, "FiniteAttention", Whole)
    [row] = bad(run_suite("cache", only="finite layout"))
    assert row.relation == "exceeds"


def test_a_formula_that_ends_is_noticed(run_suite, monkeypatch):
    right = cache.last_output
    monkeypatch.setattr(
        cache, "last_output", lambda q, k, v, f: right(q[:, -2048:], k[:, -2048:], v[:, -2048:], f)
    )
    rows = bad(run_suite("cache", only="finite layout"))
    assert [row.extra["method"] for row in rows] == ["formula", "formula"]


@pytest.mark.parametrize("wrong", [2049, 2049 + 64, 2049 + 20 * 64, 4095 - 62])
def test_a_formula_that_errs_at_one_length_is_noticed(run_suite, monkeypatch, wrong):
    """The last token alone would not tell."""
    right = cache.last_output

    def spoilt(q, k, v, frequencies):
        turned = right(q, k, v, frequencies)
        return turned + 1e-3 if q.shape[1] == wrong else turned

    monkeypatch.setattr(cache, "last_output", spoilt)
    [row] = bad(run_suite("cache", only="finite layout"))
    assert (row.extra["length"], row.extra["lengths"]) == (wrong, 33)


def test_a_nan_at_one_length_is_an_error(run_suite, monkeypatch):
    right = cache.last_output
    monkeypatch.setattr(
        cache, "last_output",
        lambda q, k, v, f: right(q, k, v, f) * (math.nan if q.shape[1] == 2113 else 1),
    )  # fmt: skip
    [row] = bad(run_suite("cache", only="finite layout"))
    assert row.decision.outcome == "error"


# The encodings.


def test_decoding_is_causal_attention_of_rotated_vectors():
    q, k, v = (numbers(2, 12, 8, seed=n) for n in range(3))
    turns = rotary.angles(torch.arange(12), THETAS)
    expected = attend(rotary.rotate_adjacent(q, turns), rotary.rotate_adjacent(k, turns), v)
    for found in (
        cache.decode(q, k, v, lambda _: THETAS),
        cache.decode(q, k, v, lambda _: THETAS, rotate_before_caching=False),
        cache.recompute(q, k, v, lambda _: THETAS),
    ):
        torch.testing.assert_close(found, expected)


def test_the_finite_layout_decodes_what_fits():
    q, k, v = (numbers(1, 12, 2, 8, seed=n) for n in range(3))
    heads_first = [x[0].transpose(0, 1) for x in (q, k, v)]
    expected = cache.recompute(*heads_first, lambda _: THETAS).transpose(0, 1)[None]
    layout = cache.FiniteAttention(12, 2, 8, 10000.0)
    prompt = layout(q[:, :7], k[:, :7], v[:, :7], 0)
    steps = [layout(q[:, n : n + 1], k[:, n : n + 1], v[:, n : n + 1], n) for n in range(7, 12)]
    torch.testing.assert_close(torch.cat([prompt, *steps], dim=1), expected)
    assert list(layout.parameters()) == []


def test_the_finite_layout_drops_a_single_token_past_its_end():
    layout = cache.FiniteAttention(4, 1, 8, 10000.0)
    x = numbers(1, 4, 1, 8)
    layout(x, x, x, 0)
    before = layout.values.clone()
    one = numbers(1, 1, 1, 8, seed=1)
    assert layout(one, one, one, 4).isfinite().all()
    assert torch.equal(layout.values, before)
    with pytest.raises(RuntimeError, match="must match the existing size"):
        layout(x, x, x, 2)
    with pytest.raises(ValueError, match="do not fit"):
        layout(one, one, one, 8)


# The references.


def test_scores_in_float64_are_those_of_arbitrary_precision():
    q, k = numbers(8), numbers(5, 8, seed=1)
    thetas = reference.frequencies(8, 10000.0)
    offsets = torch.tensor([0, 1, -3, 50, 4095])
    rounded = torch.tensor([float(theta) for theta in thetas], dtype=torch.float64)
    found = exact.scores(q, k, offsets, rounded)
    for number, offset in enumerate(offsets.tolist()):
        expected = reference.score(q.tolist(), k[number].tolist(), offset, thetas)
        assert found[number].item() == pytest.approx(float(expected) / math.sqrt(8), abs=1e-11)


def test_attention_in_arbitrary_precision_is_softmax_of_scores():
    q, k, v = numbers(8), numbers(5, 8, seed=1), numbers(5, 8, seed=2)
    thetas = reference.frequencies(8, 10000.0)
    offsets = [4, 3, 2, 1, 0]
    found = exact.output(q.tolist(), k.tolist(), v.tolist(), offsets, thetas)
    rounded = torch.tensor([float(theta) for theta in thetas], dtype=torch.float64)
    weights = exact.scores(q, k, torch.tensor(offsets), rounded).softmax(dim=0)
    expected = weights @ v.double()
    assert [float(part) for part in found] == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.3])
def test_moved_scores_stay_within_the_bound_and_near_it(size):
    """The worst signs: scores of values above the output up, of those below it down."""
    scores, values = numbers(12).double(), numbers(12, 1, seed=1).double()
    output = scores.softmax(dim=0) @ values
    errors = torch.full((12,), size, dtype=torch.float64)
    bound = exact.output_errors(scores, values, errors, unit=0.0).item()
    moved = scores + errors * torch.sign(values - output)[:, 0]
    reached = (moved.softmax(dim=0) @ values - output).abs().item()
    assert bound / 3 < reached <= bound


def test_the_rounding_of_float32_stays_within_the_bound():
    for seed in range(20):
        scores, values = numbers(200, seed=seed), numbers(200, 8, seed=seed + 100)
        none = torch.zeros(200, dtype=torch.float64)
        bounds = exact.output_errors(scores.double(), values.double(), none)
        exactly = scores.double().softmax(dim=0) @ values.double()
        assert ((scores.softmax(dim=0) @ values).double() - exactly).abs().lt(bounds).all()
