"""The suite permutation: what holds, for other draws too, and the faults that it must notice."""

import math

import pytest
import torch

from outcomes import bad, cases
from posinfo.encodings import alibi, layers, rotary, sinusoidal, t5
from posinfo.proofs import permutation as proofs
from posinfo.rows import Row
from posinfo.suites import permutation as suite


def of(rows: list[Row], **wanted) -> list[Row]:
    return [row for row in rows if all(row.extra.get(k) == v for k, v in wanted.items())]


def test_every_row_holds(measured):
    assert bad(measured["permutation"]) == []
    assert len(measured["permutation"]) == 172
    assert cases(measured["permutation"]) == set(suite.SUITE.cases)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_rows_hold_for_other_draws(run_suite, seed):
    assert bad(run_suite("permutation", seed=seed)) == []


def test_rows_hold_for_other_sizes(run_suite):
    changed = {"length": 4, "heads": 3, "head_dim": 4, "hidden": 8, "layers": [2]}
    assert bad(run_suite("permutation", **changed, sentences=[["a b a c", "c a a b"]])) == []


def test_a_second_run_gives_the_same_bits(measured, run_suite):
    again = [row.record() for row in run_suite("permutation")]
    assert again == [row.record() for row in measured["permutation"]]


def test_the_evidence_in_float64_is_far_below_what_order_does(measured):
    """What holds is bounded by 1e-12, and what breaks is a hundred thousand million times that."""
    rows = of(measured["permutation"], dtype="float64")
    assert {row.relation for row in rows} == {"within", "exceeds", "equals"}
    assert max(row.bound for row in rows if row.relation == "within") < 1e-12
    assert min(row.measured for row in rows if row.relation == "exceeds") > 0.02


def test_bounds_are_neither_tight_nor_wide(measured):
    for row in measured["permutation"]:
        if row.relation == "within":
            assert 1e-3 < row.decision.ratio < 0.5, row.quantity


def test_orders_are_all_of_them_and_the_last_is_the_reverse():
    orders = suite._orders(4)
    assert len({tuple(order) for order in orders.tolist()}) == 24
    assert orders[0].tolist() == [0, 1, 2, 3]
    assert orders[-1].tolist() == [3, 2, 1, 0]


def test_sentences_of_other_words_are_refused(run_suite):
    rows = bad(run_suite("permutation", sentences=[["dog bites man", "man bites cat"]]))
    assert {row.decision.outcome for row in rows} == {"error"}
    assert cases(rows) == {"outputs of sentences", "scores of sentences"}


def test_a_words_place_in_the_other_sentence():
    pair = ("the cat sat on the mat", "the mat sat on the cat")
    assert suite._where(pair).tolist() == [0, 5, 2, 3, 4, 1]


# Faults, each with the cases that must notice it.


def positions_leak(monkeypatch):
    """A trace of the position, far below float32, where there should be none."""
    monkeypatch.setattr(
        layers.Encoding, "add",
        lambda self, x, positions, note: x + 1e-11 * positions.to(x.dtype).unsqueeze(-1),
    )  # fmt: skip


def no_mask(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "masked_fill", lambda self, mask, value: self)


def mask_one_late(monkeypatch):
    triu = torch.Tensor.triu
    monkeypatch.setattr(torch.Tensor, "triu", lambda self, diagonal: triu(self, diagonal + 1))


def softmax_over_queries(monkeypatch):
    softmax = torch.Tensor.softmax
    monkeypatch.setattr(torch.Tensor, "softmax", lambda self, dim: softmax(self, dim - 1))


def no_norm(monkeypatch):
    monkeypatch.setattr(layers, "normalise", lambda x: x)


def another_activation(monkeypatch):
    monkeypatch.setattr(layers, "silu", torch.relu)


def one_slope(monkeypatch):
    monkeypatch.setattr(alibi, "slopes", lambda heads: [0.25] * heads)


def signed_distance(monkeypatch):
    def bias(positions, heads, dtype):
        distance = positions.unsqueeze(-1) - positions.unsqueeze(-2)
        slope = torch.tensor(alibi.slopes(heads), dtype=dtype)
        return -slope.view(-1, 1, 1) * distance.to(dtype)

    monkeypatch.setattr(alibi, "bias", bias)


def bucket_one_off(monkeypatch):
    bucket = t5.bucket
    monkeypatch.setattr(t5, "bucket", lambda offsets, **k: bucket(offsets - 1, **k))


def bias_transposed(monkeypatch):
    bias = t5.bias
    monkeypatch.setattr(t5, "bias", lambda *a, **k: bias(*a, **k).transpose(-1, -2))


def cosine_first(monkeypatch):
    monkeypatch.setattr(
        sinusoidal, "interleave",
        lambda angles: torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2),
    )  # fmt: skip


def no_code(monkeypatch):
    monkeypatch.setattr(
        sinusoidal, "interleave", lambda angles: torch.cat([0 * angles, 0 * angles], dim=-1)
    )


def one_row_for_all(monkeypatch):
    look_up = torch.nn.functional.embedding
    monkeypatch.setattr(
        torch.nn.functional, "embedding", lambda positions, table: look_up(0 * positions, table)
    )


def no_rotation(monkeypatch):
    monkeypatch.setattr(rotary, "rotate_adjacent", lambda x, angles: x)


def the_other_way_round(monkeypatch):
    """A score still depends on the offset, and order still counts: only values tell."""
    rotate = rotary.rotate_adjacent
    monkeypatch.setattr(rotary, "rotate_adjacent", lambda x, angles: rotate(x, -angles))


def weights_not_uniform(monkeypatch):
    attend = suite.attend
    monkeypatch.setattr(suite, "attend", lambda q, k, v: attend(q, k, v, causal=False))


def outputs_all_alike(monkeypatch):
    """Nothing is passed on: every token's output is the same, whatever the order."""
    run = layers.run

    def still(x, *args, **kwargs):
        passed = run(x, *args, **kwargs)
        return layers.Passed(0 * passed.outputs, passed.scores, passed.weights)

    monkeypatch.setattr(layers, "run", still)


def two_seats_swapped_unseen(monkeypatch):
    """Behind another first token the third and the fourth seat are one; no order is the given one.

    Every order still differs from the one as it is, and some do not differ from one another.
    """
    run = layers.run

    def blind(x, *args, **kwargs):
        if x.shape[1:] != (5, 16):  # not all orders at once
            return run(x, *args, **kwargs)
        swap = (x[:, 0] != x[0, 0]).any(dim=-1) & (x[:, 3, 0] < x[:, 2, 0])
        seats = torch.arange(x.shape[1]).repeat(len(x), 1)
        seats[swap, 2:4] = torch.tensor([3, 2])
        seats = seats.unsqueeze(-1).expand_as(x)
        passed = run(x.gather(1, seats), *args, **kwargs)
        return layers.Passed(passed.outputs.gather(1, seats), passed.scores, passed.weights)

    monkeypatch.setattr(layers, "run", blind)


EXACT = "arbitrary precision"
TWO = "every two orders"
FAULTS = {
    positions_leak: {"every order", "order of the prefix", "outputs of sentences",
                     "scores of sentences", "identical tokens", EXACT},
    no_mask: {"every order", "order of the prefix", "outputs of sentences",
              "position from a start token", "identical tokens", EXACT},
    # The last token sees all that is before it in either case.
    mask_one_late: {"position from a start token", "identical tokens", EXACT},
    softmax_over_queries: {"position from a start token", "identical tokens", EXACT},
    no_norm: {"scores of sentences", EXACT},
    another_activation: {EXACT},
    one_slope: {EXACT},
    signed_distance: {"with each encoding", EXACT},
    bucket_one_off: {EXACT},
    bias_transposed: {EXACT},
    cosine_first: {EXACT},
    no_code: {"with each encoding", EXACT, TWO},
    one_row_for_all: {"with each encoding", EXACT, TWO},
    no_rotation: {"with each encoding", EXACT, TWO},
    the_other_way_round: {EXACT},
    weights_not_uniform: {"position from a start token"},
    outputs_all_alike: {"every order", "order of the prefix", "with each encoding",
                        "outputs of sentences", "identical tokens", EXACT, TWO},
    two_seats_swapped_unseen: {TWO},
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_noticed_where_it_must_be(run_suite, monkeypatch, fault):
    fault(monkeypatch)
    rows = bad(run_suite("permutation"))
    assert FAULTS[fault] <= cases(rows), sorted(cases(rows))


def test_orders_that_only_two_others_share_are_noticed_by_every_two_alone(run_suite, monkeypatch):
    """Held against the given order, each of them would pass."""
    two_seats_swapped_unseen(monkeypatch)
    rows = [row for row in run_suite("permutation") if row.extra.get("orders") in (120, 24, 119)]
    assert cases(bad(rows)) == {TWO}
    assert {row.quantity for row in rows if row.case == TWO} - {row.quantity for row in bad(rows)}


def test_an_alibi_that_forgets_its_mask_under_reversal_is_noticed(run_suite, monkeypatch):
    no_mask(monkeypatch)
    quantities = [row.quantity for row in bad(run_suite("permutation", only=TWO))]
    assert sum("mirror images, causal mask, alibi" in quantity for quantity in quantities) == 6


def test_the_nearest_two_orders_are_found_and_mirror_images_told_from_others():
    orders = suite._orders(3)
    outputs = torch.tensor([0.0, 10.0, 11.0, 30.0, 33.0, 70.0])[:, None, None].expand(-1, 1, 1)
    assert suite._nearest(outputs, orders, None) == (1.0, 1, 2, 15)
    # 012 and 210, 021 and 120, 102 and 201.
    assert suite._nearest(outputs, orders, True) == (20.0, 1, 3, 3)
    assert suite._nearest(outputs, orders, False) == (1.0, 1, 2, 12)
    spoilt = outputs.clone()
    spoilt[4] = math.nan
    assert math.isnan(suite._nearest(spoilt, orders, None)[0])


def test_a_fault_that_keeps_equivariance_is_seen_by_arbitrary_precision_alone(
    run_suite, monkeypatch
):
    """Hence a reference beside the orders: they cannot tell attention from anything equivariant."""
    another_activation(monkeypatch)
    assert cases(bad(run_suite("permutation"))) == {EXACT}


def test_a_nan_in_one_component_is_an_error(run_suite, monkeypatch):
    run = layers.run

    def spoilt(*args, **kwargs):
        passed = run(*args, **kwargs)
        outputs, scores = passed.outputs.clone(), passed.scores.clone()
        outputs[..., -1, -1] = math.nan
        scores[..., -1, -1] = math.nan
        return layers.Passed(outputs, scores, passed.weights)

    monkeypatch.setattr(layers, "run", spoilt)
    rows = bad(run_suite("permutation"))
    assert {row.decision.outcome for row in rows} == {"error"}
    assert cases(rows) == set(suite.SUITE.cases) - {"proof", "position from a start token"}


def test_a_faulty_proof_does_not_pass(run_suite, monkeypatch):
    """What is gathered knows the place of what it sees."""
    gather = proofs.gather
    monkeypatch.setattr(proofs, "gather", lambda query, seen: gather(query, seen) + seen[0])
    rows = run_suite("permutation", only="proof")
    assert len(bad(rows)) >= 3


def test_a_proof_of_two_unlike_outputs_is_no_matter_of_form():
    """Unlike trees of one function are the same; unlike functions are not."""
    import sympy

    x0, x1, x2 = sympy.symbols("x0:3")
    one = proofs.gather(x0, [x0, x1])
    assert proofs._same(one, sympy.expand(one))
    assert not proofs._same(one, proofs.gather(x0, [x0, x2]))
