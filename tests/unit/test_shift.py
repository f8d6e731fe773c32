"""The suite shift: what holds, for other draws too, and the faults that it must notice."""

import math

import pytest
import torch

from outcomes import bad, cases
from posinfo.checks import check_agreement
from posinfo.encodings import alibi, layers, rotary, sinusoidal, t5
from posinfo.errors import InputError
from posinfo.suites import shift as suite

EXACT = "arbitrary precision"
BY_SHIFT = "RoPE by shift"
EACH = "each encoding"
PHRASE = "a phrase elsewhere"
APART = "content and position kept apart"
CODE = "code alone"
VALUES = "values turned"


def test_every_row_holds(measured):
    assert bad(measured["shift"]) == []
    assert len(measured["shift"]) == 162
    assert cases(measured["shift"]) == set(suite.SUITE.cases)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_rows_hold_for_other_draws(run_suite, seed):
    assert bad(run_suite("shift", seed=seed)) == []


def test_rows_hold_for_other_sizes(run_suite):
    changed = {"length": 3, "heads": 4, "head_dim": 4, "hidden": 8, "layers": 3, "base": 500.0}
    assert bad(run_suite("shift", **changed)) == []


def test_a_second_run_gives_the_same_bits(measured, run_suite):
    again = [row.record() for row in run_suite("shift")]
    assert again == [row.record() for row in measured["shift"]]


def test_bounds_are_neither_tight_nor_wide(measured):
    for row in measured["shift"]:
        if row.relation == "within":
            assert 1e-3 < row.decision.ratio < 0.5, row.quantity


def test_the_error_in_float32_grows_with_the_shift(measured):
    for of in ("weights", "outputs"):
        found = {
            row.extra["shift"]: row.measured for row in measured["shift"]
            if row.case == BY_SHIFT and row.extra["dtype"] == "float32" and row.extra["of"] == of
            and not row.quantity.endswith("smallest shift")
        }  # fmt: skip
        assert found[10_000] < found[100_000] < found[1_000_000] < found[10_000_000]


# Faults, each with the cases that must notice it.


def angles_not_proportional(monkeypatch):
    angles = rotary.angles
    monkeypatch.setattr(
        rotary, "angles", lambda positions, thetas: angles(positions, thetas) ** 1.000001
    )


def no_rotation(monkeypatch):
    monkeypatch.setattr(rotary, "rotate_adjacent", lambda x, angles: x)


def angles_in_bfloat16(monkeypatch):
    angles = rotary.angles
    monkeypatch.setattr(
        rotary, "angles", lambda p, thetas: angles(p, thetas).bfloat16().to(thetas.dtype)
    )


def absolute_bias(monkeypatch):
    bias = alibi.bias
    monkeypatch.setattr(alibi, "bias", lambda p, h, dtype: bias(p, h, dtype) + 1e-9 * p.to(dtype))


def bucket_of_the_key(monkeypatch):
    def bias(table, positions, *, bidirectional):
        chosen = t5.bucket(-positions.expand(len(positions), -1), bidirectional=bidirectional)
        return table[chosen].movedim(-1, 0)

    monkeypatch.setattr(t5, "bias", bias)


def one_row_for_all(monkeypatch):
    look_up = torch.nn.functional.embedding
    monkeypatch.setattr(
        torch.nn.functional, "embedding", lambda positions, table: look_up(0 * positions, table)
    )


def no_code(monkeypatch):
    monkeypatch.setattr(
        sinusoidal, "interleave", lambda angles: torch.cat([0 * angles, 0 * angles], dim=-1)
    )


def nothing_kept_apart(monkeypatch):
    monkeypatch.setattr(layers, "separate", lambda given, heads, generator: given)


def code_not_read(monkeypatch):
    """Content alone is compared: invariant, and of no use."""
    separate = layers.separate

    def blind(given, heads, generator):
        return [
            layers.Layer(
                *(w * (torch.arange(len(w)) < len(w) // 2).unsqueeze(1)
                  for w in (layer.query, layer.key)),
                layer.value, layer.output, layer.up, layer.down,
            )
            for layer in separate(given, heads, generator)
        ]  # fmt: skip

    monkeypatch.setattr(layers, "separate", blind)


def pairs_not_whole(monkeypatch):
    """A map of code pairs that is no turn: sin alone is read."""
    separate = layers.separate

    def broken(given, heads, generator):
        kept = separate(given, heads, generator)
        for layer in kept:
            layer.key[1 + len(layer.key) // 2 :: 2] = 0
        return kept

    monkeypatch.setattr(layers, "separate", broken)


def not_turned_back(monkeypatch):
    monkeypatch.setattr(
        layers.Rotary, "turn_back", lambda self, attended, positions, note: attended
    )


def values_left_alone(monkeypatch):
    turn = layers.Rotary.turn
    monkeypatch.setattr(
        layers.Rotary, "turn",
        lambda self, q, k, v, positions, note: (*turn(self, q, k, v, positions, note)[:2], v),
    )  # fmt: skip


def nothing_before_is_seen(monkeypatch):
    """Each token sees itself alone: what stands before it cannot matter."""
    monkeypatch.setattr(
        torch.Tensor, "triu",
        lambda self, diagonal: ~torch.eye(self.shape[-1], dtype=torch.bool),
    )  # fmt: skip


FAULTS = {
    angles_not_proportional: {BY_SHIFT, PHRASE, APART, CODE, VALUES, EXACT},
    no_rotation: {BY_SHIFT, VALUES, EXACT},
    angles_in_bfloat16: {BY_SHIFT, PHRASE, APART, CODE, VALUES, EXACT},
    absolute_bias: {EACH, EXACT},
    bucket_of_the_key: {EACH, EXACT},
    one_row_for_all: {EACH, EXACT},
    no_code: {EACH, APART, CODE, EXACT},
    nothing_kept_apart: {APART},
    code_not_read: {APART},
    pairs_not_whole: {APART},
    not_turned_back: {VALUES},
    values_left_alone: {VALUES},
    nothing_before_is_seen: {PHRASE, EXACT},
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_noticed_where_it_must_be(run_suite, monkeypatch, fault):
    fault(monkeypatch)
    rows = bad(run_suite("shift"))
    assert FAULTS[fault] <= cases(rows), sorted(cases(rows))


def test_a_rotation_the_other_way_round_is_seen_by_arbitrary_precision_alone(
    run_suite, monkeypatch
):
    """It is as relative as the right one: invariance under a shift cannot tell them apart."""
    rotate = rotary.rotate_adjacent
    monkeypatch.setattr(rotary, "rotate_adjacent", lambda x, angles: rotate(x, -angles))
    assert cases(bad(run_suite("shift"))) == {EXACT}


def test_a_nan_in_one_component_is_an_error(run_suite, monkeypatch):
    run = layers.run

    def spoilt(*args, **kwargs):
        passed = run(*args, **kwargs)
        spoilt = [x.clone() for x in (passed.outputs, passed.scores, passed.weights)]
        for x in spoilt:
            x[..., -1, 0] = math.nan
        return layers.Passed(*spoilt)

    monkeypatch.setattr(layers, "run", spoilt)
    rows = bad(run_suite("shift"))
    assert {row.decision.outcome for row in rows} == {"error"}
    assert cases(rows) == set(suite.SUITE.cases) - {CODE}


def test_widths_that_cannot_be_shared_are_refused():
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(ValueError, match="width of 12"):
        layers.separate(layers.draw_layers(1, 12, 4, generator), 2, generator)


@pytest.mark.parametrize(
    ("suite_name", "key", "value", "says"),
    [
        ("shift", "breaking_shift", 1000, "above holding_shift"),
        ("shift", "holding_shift", 9, "at least the smallest"),
        ("shift", "breaking_shift", 16000001, "at most the largest"),
        ("shift", "phrase_positions", [5000, 5], "less than the second"),
        ("shift", "table_rows", 5004, "later position"),
        ("permutation", "sentences", [["a b", "a c"]], "not the same words"),
    ],
)
def test_settings_that_do_not_fit_are_refused(config, suite_name, key, value, says):
    section = config["suites"][suite_name] | {key: value}
    changed = config | {"suites": config["suites"] | {suite_name: section}}
    check_agreement(config, ["config.yaml"])
    with pytest.raises(InputError, match=f"suites.{suite_name}.{key}: .*{says}"):
        check_agreement(changed, ["config.yaml"])
