"""The suite lookup, and what it rests on: rows that hold, and faults that must not pass."""

import math
from typing import Any

import pytest
import torch
from torch.nn import functional

from outcomes import bad, cases
from posinfo import tiny
from posinfo.encodings import learned
from posinfo.reference import sampling
from posinfo.rows import KEY
from posinfo.suites import lookup
from posinfo.suites.lookup import cost, ends, trained, unreached

# What is measured as it is.


def test_every_row_holds_and_has_a_name_of_its_own(measured):
    rows = measured["lookup"]
    assert bad(rows) == []
    assert len({tuple(getattr(row, name) for name in KEY) for row in rows}) == len(rows) > 200
    assert all(row.basis and row.subject for row in rows)
    assert cases(rows) == set(lookup.SUITE.cases)


def test_a_second_run_gives_the_same_bits(measured, run_suite):
    assert [r.record() for r in run_suite("lookup")] == [r.record() for r in measured["lookup"]]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_hold_for_other_draws(run_suite, seed):
    assert bad(run_suite("lookup", seed=seed)) == []


# Faults in the sum of embeddings: which case notices each.


def summed(change):
    """``embed`` with its position rows, or what it makes of positions, changed."""

    def embed(tokens, table, ids, positions):
        return functional.embedding(ids, tokens) + change(tokens, table, ids, positions)

    return embed


def row(table, positions):
    return functional.embedding(positions, table)


WRONG_SUMS: dict[str, tuple[Any, set[str]]] = {
    "positions from 1": (
        lambda e, t, i, p: row(t, (p + 1) % len(t)),
        {"same vector", "shape of the positions", "steps past the table"},
    ),
    "clamped to the table": (
        lambda e, t, i, p: row(t, p.clamp(max=len(t) - 1)),
        {"prompt past the table", "steps past the table", "untrained rows"},
    ),
    "counted anew past the table": (
        lambda e, t, i, p: row(t, p % len(t)),
        {"prompt past the table", "steps past the table", "untrained rows"},
    ),
    "counted from the end": (
        lambda e, t, i, p: row(t, p.max() - p),
        {"same vector", "shape of the positions"},
    ),
    "a row that depends on the token": (
        lambda e, t, i, p: row(t, p) * (1 + (i % 2)[..., None]),
        {"same vector", "shape of the positions"},
    ),
    "a row that depends on the length": (
        lambda e, t, i, p: row(t, p) * (1 + 1e-6 * i.shape[1]),
        {"same vector", "shape of the positions"},
    ),
    "added twice": (
        lambda e, t, i, p: row(t, p) + row(t, p),
        {"same vector", "shape of the positions", "cost"},
    ),
    "not added": (
        lambda e, t, i, p: 0 * row(t, p),
        {"same vector", "shape of the positions", "cost", "untrained rows"},
    ),
    "in half precision": (
        lambda e, t, i, p: row(t.half(), p).float(),
        {"same vector", "shape of the positions", "cost"},
    ),
}


@pytest.mark.parametrize("fault", WRONG_SUMS)
def test_a_faulty_sum_is_noticed(run_suite, monkeypatch, fault):
    change, noticing = WRONG_SUMS[fault]
    wrong = summed(change)
    for module in (learned, tiny):
        monkeypatch.setattr(module, "embed", wrong)
    assert noticing <= cases(bad(run_suite("lookup")))


def test_every_shape_of_positions_is_noticed_when_its_rows_are_others(run_suite, monkeypatch):
    monkeypatch.setattr(learned, "embed", summed(WRONG_SUMS["positions from 1"][0]))
    rows = run_suite("lookup", only="shape of the positions")
    right = [row for row in rows if row.extra["behaviour"] == "the rows"]
    assert len(right) == 11
    assert sum(row.quantity.endswith("ids [T]") for row in right) == 2
    assert [row for row in bad(rows) if row.extra["behaviour"] == "the rows"] == right


# Faults in the look-ups themselves.


@pytest.mark.parametrize("api", [api for api, call in ends.LOOK_UPS.items() if call.message])
def test_a_look_up_that_clamps_is_noticed(run_suite, monkeypatch, api):
    right = ends.LOOK_UPS[api]
    clamping = right._replace(call=lambda t, p: t[p.clamp(0, len(t) - 1)])
    monkeypatch.setitem(ends.LOOK_UPS, api, clamping)
    rows = bad(run_suite("lookup", only="one row"))
    assert {row.subject for row in rows} == {api}
    assert {row.extra["position"] for row in rows} >= {1024, 1999, 2048, 4095}


@pytest.mark.parametrize("api", ends.LOOK_UPS)
def test_a_look_up_one_row_too_high_is_noticed(run_suite, monkeypatch, api):
    right = ends.LOOK_UPS[api]
    monkeypatch.setitem(ends.LOOK_UPS, api, right._replace(call=lambda t, p: right.call(t, p - 1)))
    rows = bad(run_suite("lookup", only="one row"))
    assert {row.subject for row in rows} == {api}
    assert {row.extra["position"] for row in rows} >= {1023, 1024}


@pytest.mark.parametrize("api", [api for api, call in ends.LOOK_UPS.items() if call.message])
def test_another_message_is_noticed(run_suite, monkeypatch, api):
    right = ends.LOOK_UPS[api]
    other = right._replace(message=right.message.replace("Error: ", "Error: so ", 1))
    monkeypatch.setitem(ends.LOOK_UPS, api, other)
    assert {row.relation for row in bad(run_suite("lookup", only="one row"))} == {"raises"}
    if api not in ends._SINGLE:
        assert bad(run_suite("lookup", only="whole sequence"))


def test_a_look_up_that_checks_is_noticed_where_none_did(run_suite, monkeypatch):
    """Once torch mends take_along_dim, its rows say so."""
    checking = ends.LOOK_UPS[ends._WRAPPING]._replace(call=ends.LOOK_UPS["torch.gather"].call)
    monkeypatch.setitem(ends.LOOK_UPS, ends._WRAPPING, checking)
    rows = bad(run_suite("lookup", only="one row"))
    assert rows
    assert {row.decision.outcome for row in rows} == {"error"}


def test_a_look_up_that_reads_every_row_is_noticed(run_suite, monkeypatch):
    def by_product(positions, table, **_):
        return functional.one_hot(positions, len(table)).to(table.dtype) @ table

    monkeypatch.setattr(cost.functional, "embedding", by_product)
    rows = bad(run_suite("lookup", only="rows read"))
    assert any(row.basis == "no other row enters the result" for row in rows)


# Faults in how tables are drawn and trained.


def test_rows_with_something_in_common_are_noticed_at_initialisation(run_suite, monkeypatch):
    right = torch.randn

    def shifted(*shape, **options):
        return right(*shape, **options) + 0.5

    monkeypatch.setattr(learned.torch, "randn", shifted)
    assert len(bad(run_suite("lookup", only="initialisation"))) == 2


def test_a_gradient_that_reaches_every_row_is_noticed(run_suite, monkeypatch):
    right = learned.LearnedPositions.forward

    def forward(self, embedded, positions):
        return right(self, embedded, positions) + 1e-3 * self.table.mean()

    monkeypatch.setattr(learned.LearnedPositions, "forward", forward)
    rows = bad(run_suite("lookup", only="rows that training never reached"))
    kinds = {row.basis for row in rows}
    assert "nothing in the loss depends on them" in kinds
    assert "nothing of the data reaches them: equal bit for bit" in kinds
    assert "a step of 0: equal bit for bit" in kinds


@pytest.mark.parametrize("decay", [0.05, 0.2])
def test_another_decay_is_noticed(run_suite, monkeypatch, decay):
    right = unreached._optimizers

    def optimizers(rate, stated):
        # What is made has another decay than what is said.
        for said, made in zip(right(rate, stated), right(rate, decay), strict=True):
            yield said._replace(make=made.make)

    monkeypatch.setattr(unreached, "_optimizers", optimizers)
    rows = bad(run_suite("lookup", only="rows that training never reached"))
    assert {row.extra["optimizer"] for row in rows} >= {"SGD", "SGD with momentum", "AdamW"}


@pytest.mark.parametrize("momentum", [0.0, 0.8])
def test_another_momentum_is_noticed_where_decay_is(run_suite, monkeypatch, momentum):
    right = torch.optim.SGD

    monkeypatch.setattr(
        torch.optim, "SGD",
        lambda p, **k: right(p, **(k | ({"momentum": momentum} if "momentum" in k else {}))),
    )  # fmt: skip
    rows = bad(run_suite("lookup", only="rows that training never reached"))
    assert {(r.extra["optimizer"], r.extra["weight_decay"]) for r in rows} == {
        ("SGD with momentum", 0.1)
    }
    assert {row.relation for row in rows} == ({"within"} if momentum else {"within", "exceeds"})


def test_decay_in_the_step_and_not_in_the_momentum_is_noticed(run_suite, monkeypatch):
    """Decoupled, as in AdamW: the rows shrink by the decay alone."""
    right = torch.optim.SGD

    def sgd(parameters, lr, weight_decay=0.0, momentum=0.0):
        made = right(parameters, lr=lr, weight_decay=0.0 if momentum else weight_decay,
                     momentum=momentum)  # fmt: skip
        step = made.step

        def decayed():
            with torch.no_grad():
                for parameter in parameters:
                    parameter.mul_(1 - lr * weight_decay)
            step()

        if momentum:
            made.step = decayed
        return made

    monkeypatch.setattr(torch.optim, "SGD", sgd)
    rows = bad(run_suite("lookup", only="rows that training never reached"))
    assert {row.relation for row in rows} == {"within", "exceeds"}
    assert {row.extra["optimizer"] for row in rows} == {"SGD with momentum"}


def test_decay_with_momentum_is_what_exact_arithmetic_gives_and_without_it_decay_alone():
    from fractions import Fraction

    rate, decay, momentum = Fraction(1, 1000), Fraction(1, 10), Fraction(9, 10)
    w, v = Fraction(1), Fraction(0)
    for _ in range(10):
        v = momentum * v + decay * w
        w -= rate * v
    found, bound = unreached.decay_with_momentum(10, 1e-3, 0.1, 0.9)
    assert found == pytest.approx(float(w), rel=1e-15)
    plain, least = unreached.decay_with_momentum(10, 1e-3, 0.1, 0.0)
    assert plain == pytest.approx((1 - 1e-4) ** 10, rel=1e-14)
    assert least < bound < 2 * least


# Faults in the axis along which positions are added.


def by_another_axis(monkeypatch, change):
    right = learned.embed

    def embed(tokens, table, ids, positions):
        return right(tokens, table, ids, change(ids, positions))

    monkeypatch.setattr(learned, "embed", embed)


WRONG_AXES = {
    "a column taken for a row": (
        lambda i, p: p.T if p.dim() == 2 and p.shape[1] == 1 else p,
        {"every token at every position", "the sequence's number for a position", "RuntimeError"},
    ),
    "a row taken for a column": (
        lambda i, p: p[:, None] if p.dim() == 1 and i.dim() == 2 and len(i) == len(p) else p,
        {"the rows"},
    ),
    "tiled positions transposed": (
        lambda i, p: p.T if p.dim() == 2 and 1 < len(p) == p.shape[1] else p,
        {"the rows", "the sequence's number for a position"},
    ),
}


@pytest.mark.parametrize("fault", WRONG_AXES)
def test_a_faulty_axis_is_noticed(run_suite, monkeypatch, fault):
    change, noticed = WRONG_AXES[fault]
    by_another_axis(monkeypatch, change)
    rows = bad(run_suite("lookup", only="shape of the positions"))
    assert {row.extra.get("behaviour") for row in rows} - {None} == noticed


@pytest.mark.parametrize("positions", ["[T, 1]", "[T, B]"])
def test_each_row_of_a_square_batch_can_fail(run_suite, monkeypatch, positions):
    """With the positions put right, the shape alone is as it was."""
    by_another_axis(
        monkeypatch,
        lambda i, p: torch.arange(i.shape[-1]) if p.dim() == 2 and len(i) == len(p) > 1 else p,
    )
    rows = bad(run_suite("lookup", only="shape of the positions"))
    found = [row for row in rows if f"positions {positions}" in row.quantity]
    assert sum("batch 5" in row.quantity for row in found) == 2


def test_training_on_every_position_is_noticed(run_suite, monkeypatch):
    right = tiny.train

    def train(model, data, **settings):
        right(model, tiny.batches(16, 1, 1024, torch.Generator()), steps=1, learning_rate=0.1)
        return right(model, data, **settings)

    monkeypatch.setattr(trained, "train", train)
    [row] = bad(run_suite("lookup", only="untrained rows"))
    assert row.quantity == "rows changed by training on 64 positions, of the 960 past them"


def test_rows_that_would_answer_right_without_training_are_noticed(run_suite, monkeypatch):
    """Trained rows over and over, so that each position has one of its own class."""
    right = tiny.train

    def train(model, data, **settings):
        loss = right(model, data, **settings)
        with torch.no_grad():
            model.positions[60:] = model.positions[torch.arange(60, 1024) % 60]
        return loss

    monkeypatch.setattr(trained, "train", train)
    quantities = " ".join(row.quantity for row in bad(run_suite("lookup", only="untrained rows")))
    assert "known ones, never trained" in quantities


def test_no_training_at_all_is_noticed(run_suite, monkeypatch):
    monkeypatch.setattr(trained, "train", lambda *_, **__: 0.0)
    quantities = " ".join(row.quantity for row in bad(run_suite("lookup", only="untrained rows")))
    assert "of these 64" in quantities
    assert "known ones, trained" in quantities
    assert "squared cosine" in quantities


def test_attention_that_mixes_nothing_is_noticed(run_suite, monkeypatch):
    monkeypatch.setattr(trained, "attend", lambda q, k, v, causal=True: v)
    rows = bad(run_suite("lookup", only="independence of positions"))
    assert {row.extra["behaviour"] for row in rows} == {
        "attention of equal weights", "causal attention",
    }  # fmt: skip
    assert len(rows) == 3


def test_a_nan_in_the_answers_is_noticed(run_suite, monkeypatch):
    right = tiny.TinyDecoder.forward

    def forward(self, ids, positions):
        scores = right(self, ids, positions)
        return torch.where(positions.unsqueeze(-1) == 1023, math.nan, scores)

    monkeypatch.setattr(tiny.TinyDecoder, "forward", forward)
    rows = bad(run_suite("lookup", only="untrained rows"))
    assert any("not finite" in row.quantity for row in rows)


# The tiny decoder.


def decoder(seed: int = 0) -> tiny.TinyDecoder:
    return tiny.TinyDecoder(16, 32, 8, 5, torch.Generator().manual_seed(seed))


def test_training_solves_the_task_where_it_goes():
    model = decoder()
    data = tiny.batches(16, 8, 20, torch.Generator().manual_seed(1))
    with torch.no_grad():
        before = model(next(data), torch.arange(20))
    assert before.shape == (8, 20, 5)
    assert tiny.train(model, data, steps=120, learning_rate=1.0) < 0.01 < math.log(5)
    ids = next(data)
    with torch.no_grad():
        right = model(ids, torch.arange(20)).argmax(dim=-1) == tiny.answers(torch.arange(20), 5)
    assert right.all()


def test_no_steps_change_nothing():
    model, same = decoder(), decoder()
    tiny.train(model, tiny.batches(16, 2, 4, torch.Generator()), steps=0, learning_rate=1.0)
    assert all(map(torch.equal, model.parameters(), same.parameters()))


def test_a_token_sees_nothing_that_comes_later():
    model, ids = decoder(), torch.arange(8)[None]
    with torch.no_grad():
        full, short = (model(ids[:, :n], torch.arange(n)) for n in (8, 5))
    torch.testing.assert_close(full[:, :5], short)


@pytest.mark.parametrize(("ids", "positions"), [([[0]], [32]), ([[16]], [0]), ([[0]], [-1])])
def test_what_is_no_row_is_refused(ids, positions):
    with pytest.raises(IndexError):
        decoder()(torch.tensor(ids), torch.tensor(positions))


# The bounds from sampling theory.


@pytest.mark.parametrize("pairs", [10, 400])
def test_mean_square_cosines_stay_within_their_bound_and_near_it(pairs):
    """At a chance of a tenth, of 200 samples few leave the bound: fewer than chance allows."""
    bound = sampling.mean_square_cosine(pairs, failure=0.1)
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 200, pairs, 16, generator=generator, dtype=torch.float64)
    means = 16 * functional.cosine_similarity(a, b, dim=-1).square().mean(dim=1)
    off = (means - 1).abs()
    assert (off > bound).double().mean() < 0.1
    # Not so wide that nothing comes near.
    assert off.max() > bound / 3
    assert sampling.mean_square_cosine(pairs) > bound


def test_shares_stay_above_their_bound_and_near_it():
    draws, chance = 200, 0.8
    bound = sampling.share(draws, failure=0.1)
    generator = torch.Generator().manual_seed(0)
    events = torch.rand(500, draws, generator=generator, dtype=torch.float64) < chance
    shares = events.double().mean(dim=1)
    assert (shares < chance - bound).double().mean() < 0.1
    assert chance - shares.min() > bound / 2
    assert sampling.share(4 * draws) == pytest.approx(sampling.share(draws) / 2)
