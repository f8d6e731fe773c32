"""The decoder: tasks of known optimum, a causal model, interventions, training, and its files."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

from posinfo import scaling
from posinfo.decoder import jobs, model, settings
from posinfo.decoder.evaluation import Bench, cosines, enlarged, interpolated
from posinfo.decoder.model import ENCODINGS, Reading, Sizes, draw, logits
from posinfo.decoder.tasks import Batch, Language, batch, recall, repeat
from posinfo.decoder.training import Course, by_task, losses, train
from posinfo.decoder.weights import load, store
from posinfo.encodings import rotary
from posinfo.errors import InputError
from posinfo.reference import guessing, spread
from posinfo.reference import layers as reference

LANGUAGE = Language(symbols=12, keys=5, values=3, pairs=2, period=(3, 5), prefix=4)
SIZES = Sizes(
    vocabulary=LANGUAGE.vocabulary, length=16, width=16, heads=2, layers=2, hidden=16, base=100.0,
    buckets=8,
)  # fmt: skip
SEEDS = [1, 2, 3]


def generator(seed: int = 5) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def weights_of(encoding: str) -> dict[str, torch.Tensor]:
    return draw(encoding, SIZES, SEEDS, 0.3)


def some_ids(length: int = 16, number: int = 2) -> torch.Tensor:
    return torch.randint(0, SIZES.vocabulary, (len(SEEDS), number, length), generator=generator())


# The tasks: a reader with a rule, who knows no weights, is right wherever a token counts.


@pytest.mark.parametrize("first", [0, 20])
def test_what_repeats_is_foretold_by_the_last_place_of_the_same_symbol(first):
    given = repeat(LANGUAGE, 50, 60, generator(), first=first)
    assert given.counts.sum() > 500
    for ids, counts in zip(given.ids.tolist(), given.counts.tolist(), strict=True):
        for place in [at for at, counted in enumerate(counts) if counted]:
            before = ids[place - 1]
            last = max(at for at in range(place - 1) if ids[at] == before)
            assert ids[last + 1] == ids[place]
            assert last >= first
        assert min(at for at, counted in enumerate(counts) if counted) >= first + 3


def test_the_symbols_of_a_pattern_stand_nowhere_before_it():
    given = repeat(LANGUAGE, 50, 60, generator(), first=20)
    for ids, counts in zip(given.ids.tolist(), given.counts.tolist(), strict=True):
        pattern = {symbol for symbol, counted in zip(ids, counts, strict=True) if counted}
        assert 3 <= len(pattern) <= 5
        begin = min(at for at, symbol in enumerate(ids) if symbol in pattern)
        assert 20 <= begin <= 24
        assert not pattern & set(ids[:begin])


@pytest.mark.parametrize("first", [0, 30, 31])
def test_a_value_is_foretold_by_the_pair_at_the_start_and_each_key_is_asked_once(first):
    given = recall(LANGUAGE, 50, 60, generator(), first=first)
    assert given.counts.sum(1).tolist() == [LANGUAGE.pairs] * 50
    for ids, counts in zip(given.ids.tolist(), given.counts.tolist(), strict=True):
        stated = dict(zip(ids[0:4:2], ids[1:4:2], strict=True))
        asked = [at for at, counted in enumerate(counts) if counted]
        assert {ids[at - 1] for at in asked} == set(stated)
        assert all(ids[at] == stated[ids[at - 1]] and at - 1 >= first for at in asked)
        between = [i for at, i in enumerate(ids[4:], 4) if at not in asked and at + 1 not in asked]
        assert all(i < LANGUAGE.symbols for i in between)


def test_there_must_be_room_for_the_questions():
    with pytest.raises(ValueError, match="no room for 2 questions"):
        recall(LANGUAGE, 1, 10, generator(), first=8)


def test_a_batch_holds_so_many_texts_of_either_task():
    given = batch(LANGUAGE, (3, 2), 20, generator())
    assert given.ids.shape == given.counts.shape == (5, 20)
    assert (given.ids[:3] < LANGUAGE.symbols).all()
    assert (given.ids[3:, 0] >= LANGUAGE.symbols).all()


# The model.


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_token_sees_what_comes_after_it(encoding):
    ids = some_ids()
    changed = ids.clone()
    changed[..., 9:] = (changed[..., 9:] + 1) % SIZES.vocabulary
    first, second = (logits(encoding, SIZES, weights_of(encoding), one) for one in (ids, changed))
    assert torch.equal(first[..., :9, :], second[..., :9, :])
    assert (first[..., 9:, :] != second[..., 9:, :]).any()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_seeds_side_by_side_do_not_touch_each_other(encoding):
    weights, ids = weights_of(encoding), some_ids()
    together = logits(encoding, SIZES, weights, ids)
    for number in range(len(SEEDS)):
        alone = {name: value[number : number + 1] for name, value in weights.items()}
        torch.testing.assert_close(
            logits(encoding, SIZES, alone, ids[number : number + 1]), together[number : number + 1]
        )
    assert not torch.allclose(weights["tokens"][0], weights["tokens"][1])


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_attention_is_that_of_the_reference_in_arbitrary_precision(encoding):
    """Layers without their perceptron, of which the reference has another kind."""
    sizes = replace(SIZES, length=128, buckets=32)
    weights = draw(encoding, sizes, [1], 0.3)
    for layer in range(sizes.layers):
        weights[f"{layer}.down"].zero_()
    ids = some_ids(18)[:1, :1]
    one = {name: value[0].double() for name, value in weights.items()}
    layers = []
    for layer in range(sizes.layers):
        query, key, value = one[f"{layer}.qkv"].chunk(3, dim=-1)
        rest = {name: one[f"{layer}.{name}"] for name in ("output", "up", "down")}
        parts = {"query": query, "key": key, "value": value, **rest}
        layers.append({name: part.tolist() for name, part in parts.items()})
    settings_of = {
        "learned": one.get("positions"), "t5": one.get("biases"), "sinusoidal": sizes.base,
        "rotary": sizes.base,
    }.get(encoding)  # fmt: skip
    hidden = reference.stack(
        one["tokens"][ids[0, 0]].tolist(), layers, heads=sizes.heads,
        encoding="t5 bias" if encoding == "t5" else encoding,
        settings=settings_of.tolist() if isinstance(settings_of, torch.Tensor) else settings_of,
        positions=list(range(18)), causal=True, epsilon=model.EPSILON,
    )  # fmt: skip
    rows = torch.tensor([[float(number) for number in row] for row in hidden]).double()
    wanted = rows * torch.rsqrt(rows.square().mean(-1, keepdim=True)) @ one["readout"]
    torch.testing.assert_close(
        logits(encoding, sizes, weights, ids)[0, 0].double(), wanted, atol=2e-4, rtol=1e-4
    )


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name != "none"])
def test_every_encoding_changes_what_is_computed(encoding):
    weights, ids = weights_of(encoding), some_ids()
    bare = {name: part for name, part in weights.items() if name not in ("positions", "biases")}
    assert not torch.allclose(
        logits(encoding, SIZES, weights, ids), logits("none", SIZES, bare, ids), atol=1e-3
    )


def test_an_unknown_encoding_is_named():
    with pytest.raises(ValueError, match="unknown encoding 'rope', allowed: none, learned"):
        draw("rope", SIZES, SEEDS, 0.3)


def test_a_learned_table_ends_in_an_error():
    with pytest.raises(IndexError, match="index out of range in self"):
        logits("learned", SIZES, weights_of("learned"), some_ids(17))


# Readings do what they say.


def test_a_clamp_beyond_every_distance_changes_nothing_and_a_lower_one_far_keys_alone():
    weights, ids = weights_of("rotary"), some_ids()
    plain = logits("rotary", SIZES, weights, ids)
    assert torch.equal(plain, logits("rotary", SIZES, weights, ids, Reading(clamp=15)))
    clamped = logits("rotary", SIZES, weights, ids, Reading(clamp=5))
    assert torch.equal(plain[..., :6, :], clamped[..., :6, :])
    assert not torch.allclose(plain[..., 8:, :], clamped[..., 8:, :], atol=1e-4)


def test_with_a_clamp_of_zero_all_keys_are_turned_as_the_query_is():
    """Then no score depends on a position: it is a decoder without positions."""
    weights, ids = weights_of("rotary"), some_ids()
    torch.testing.assert_close(
        logits("rotary", SIZES, weights, ids, Reading(clamp=0)),
        logits("none", SIZES, weights, ids), atol=1e-5, rtol=1e-5,
    )  # fmt: skip


def test_a_window_hides_what_lies_further_back():
    """In one layer a changed token shows in the next window places, and nowhere else."""
    one = replace(SIZES, layers=1)
    weights, ids = weights_of("rotary"), some_ids()
    changed = ids.clone()
    changed[..., 2] = (changed[..., 2] + 1) % SIZES.vocabulary
    reading = Reading(window=4)
    first, second = (logits("rotary", one, weights, each, reading) for each in (ids, changed))
    moved = (first != second).any(-1).any(0).any(0).tolist()
    assert moved == [False] * 2 + [True] * 4 + [False] * 10


def test_the_temperature_is_one_up_to_the_trained_length_and_then_grows():
    weights, ids = weights_of("rotary"), some_ids()
    plain = logits("rotary", SIZES, weights, ids)
    warmer = logits("rotary", SIZES, weights, ids, Reading(temperature_from=8))
    torch.testing.assert_close(plain[..., :8, :], warmer[..., :8, :])
    assert not torch.allclose(plain[..., 9:, :], warmer[..., 9:, :], atol=1e-4)


@pytest.mark.parametrize("encoding", ["none", "sinusoidal", "alibi", "t5", "rotary"])
@pytest.mark.parametrize(
    "reading", [Reading(), Reading(clamp=7), Reading(window=6), Reading(temperature_from=8)]
)
def test_scores_in_blocks_are_those_of_all_queries_at_once(encoding, reading, monkeypatch):
    """Blocks that divide the length, and that do not; keys out of sight are nobody's."""
    weights, ids = weights_of(encoding), some_ids(40)
    monkeypatch.setattr(model, "BLOCK", 40)
    whole = logits(encoding, SIZES, weights, ids, reading)
    for block in (8, 15):
        monkeypatch.setattr(model, "BLOCK", block)
        torch.testing.assert_close(
            logits(encoding, SIZES, weights, ids, reading), whole, atol=1e-5, rtol=1e-4
        )


def test_rows_of_the_table_are_those_that_are_named():
    weights, ids = weights_of("learned"), some_ids()
    there = logits("learned", SIZES, weights, ids, Reading(rows=torch.arange(16).flip(0)))
    turned = dict(weights, positions=weights["positions"].flip(1))
    assert torch.equal(there, logits("learned", SIZES, turned, ids))


def test_an_interpolated_table_keeps_every_second_row_and_has_means_between():
    table = weights_of("learned")["positions"]
    wide = interpolated(table, 2)
    assert wide.shape == (3, 32, 16)
    assert torch.equal(wide[:, ::2], table)
    torch.testing.assert_close(wide[:, 1:-1:2], (table[:, :-1] + table[:, 1:]) / 2)
    assert torch.equal(wide[:, -1], table[:, -1])


def test_an_enlarged_table_has_its_own_rows_first():
    table = weights_of("learned")["positions"]
    wide = enlarged(table, 4, 0.3, 1)
    assert wide.shape == (3, 64, 16)
    assert torch.equal(wide[:, :16], table)
    assert 0.25 < wide[:, 16:].std() < 0.35


def test_cosines_are_those_of_rows_so_far_apart():
    table = weights_of("learned")["positions"]
    found = cosines(table, [3])
    wanted = torch.cosine_similarity(table[:, :-3], table[:, 3:], dim=-1).mean(-1)
    torch.testing.assert_close(found[:, 0].float(), wanted)


@pytest.mark.parametrize("method", ["none", "pi", "ntk", "dynamic_ntk", "abf", "yarn"])
def test_methods_of_extension_are_those_of_the_library(config, method):
    told = config["decoder"]
    size = settings.sizes(told)
    reading = settings.extended(told, method, 4)
    options = {
        "abf": {"new_base": told["abf_base"]},
        "yarn": {"beta_fast": told["yarn"]["fast"], "beta_slow": told["yarn"]["slow"]},
    }.get(method, {})
    wanted = getattr(scaling, method)(
        size.head_dim, told["base"], told["trained_length"], 4, **options
    )
    assert torch.equal(reading.frequencies, wanted)
    assert reading.factor == (scaling.yarn_attention_factor(4) if method == "yarn" else 1.0)
    assert settings.extended(told, method, 4, plain=True).factor == 1.0


def test_interpolated_positions_are_positions_divided():
    """The same angles, read off the library's own rotation."""
    told = {"base": 100.0, "trained_length": 16, "width": 16, "heads": 2, "layers": 2, "hidden": 16,
            "buckets": 8, "tasks": dict(vars(LANGUAGE))}  # fmt: skip
    thetas = settings.frequencies(told, "pi", 2)
    torch.testing.assert_close(
        rotary.angles(torch.arange(0, 32, 2), thetas),
        rotary.angles(torch.arange(16), rotary.frequencies(8, 100.0)),
    )


# Losses.


def test_the_loss_is_that_of_the_next_token():
    weights, ids = weights_of("none"), some_ids()
    given = Batch(ids, torch.ones_like(ids, dtype=torch.bool))
    nats, counts = losses("none", SIZES, weights, given)
    scores = logits("none", SIZES, weights, ids[..., :-1])
    wanted = -scores.log_softmax(-1).gather(-1, ids[..., 1:, None]).squeeze(-1)
    torch.testing.assert_close(nats, wanted)
    assert counts.all()


def test_tasks_are_meant_apart_over_the_tokens_that_count():
    nats = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]]])
    counts = torch.tensor([[[True, False], [False, True], [True, True]]])
    assert by_task(nats, counts, (2, 1)).tolist() == [[2.5, 7.0]]


def test_longer_texts_end_as_those_of_the_trained_length():
    """What counts lies in the last L places, as far into them and as much as in a text of L."""
    bench = Bench(LANGUAGE, SIZES, 40, 1)
    short, long = bench.draw(1), bench.draw(4)
    for task, given in long.items():
        assert given.ids.shape == (40, 65)
        assert given.counts.any(1).all()
        begin = [one.counts.long().argmax(1).min().item() for one in (short[task], given)]
        assert begin[1] == begin[0] + 48
        assert given.counts.sum() <= 1.2 * short[task].counts.sum()


def test_past_the_trained_length_a_value_lies_further_back_than_the_trained_length():
    bench = Bench(LANGUAGE, SIZES, 40, 1)
    given = bench.draw(2)["recall"]
    for ids, counts in zip(given.ids.tolist(), given.counts.tolist(), strict=True):
        stated = {ids[at]: at + 1 for at in range(0, 2 * LANGUAGE.pairs, 2)}
        for at in [at for at, counted in enumerate(counts) if counted]:
            assert at - 1 - stated[ids[at - 1]] > SIZES.length


def test_past_the_trained_length_losses_are_by_seed_and_place():
    bench = Bench(LANGUAGE, SIZES, 4, 1)
    read = bench.read("rotary", weights_of("rotary"), 4)
    assert len(read.seeds("repeat")) == len(read.seeds("both")) == 3
    assert read.by_task["repeat"].nats.shape == (3, 4, 64)


# Training.


def course(**changed) -> Course:
    told = {"steps": 12, "warmup": 2, "learning_rate": 3e-3, "texts": (4, 4), "enough": 0.0}
    return Course(**told | changed)


def test_training_lowers_the_loss_and_repeats_bit_for_bit():
    longer = course(steps=40, learning_rate=1e-2)
    runs = [
        train("rotary", SIZES, LANGUAGE, weights_of("rotary"), longer, SEEDS, length=16)
        for _ in range(2)
    ]
    for name, value in runs[0][0].items():
        assert torch.equal(value, runs[1][0][name])
    history = runs[0][1]
    assert [record["step"] for record in history] == [n for n in range(1, 41) for _ in SEEDS]
    for seed in SEEDS:
        first, *_, last = [record for record in history if record["seed"] == seed]
        assert last["recall"] < first["recall"]


def test_a_seed_trains_alone_as_it_does_among_others():
    weights = weights_of("learned")
    together, _ = train("learned", SIZES, LANGUAGE, weights, course(), SEEDS, length=16)
    alone, _ = train(
        "learned", SIZES, LANGUAGE, {name: value[1:2] for name, value in weights.items()}, course(),
        SEEDS[1:2], length=16,
    )  # fmt: skip
    for name, value in alone.items():
        torch.testing.assert_close(value, together[name][1:2], atol=1e-4, rtol=1e-3)


def test_training_ends_when_every_seed_is_near_enough():
    _, history = train(
        "none", SIZES, LANGUAGE, weights_of("none"), course(enough=9.0), SEEDS, length=16
    )
    assert history[-1]["step"] == 1


def test_further_training_begins_from_the_trained_weights(config):
    told = config["decoder"] | {
        "width": 16, "heads": 2, "hidden": 16, "seeds": SEEDS, "factors": [2],
        "tuning": config["decoder"]["tuning"] | {"steps": 1, "learning_rate": 1e-9},
    }  # fmt: skip
    start = draw("rotary", settings.sizes(told), SEEDS, 0.3)
    weights, records = jobs.tuned("yarn", start, told, lambda line: None)
    assert {(record["factor"], record["step"]) for record in records} == {(2, 1)}
    for name, value in start.items():
        torch.testing.assert_close(weights[f"2/{name}"], value)


# Weights in files.


def test_weights_come_back_from_their_file_and_bytes_repeat(tmp_path):
    weights = weights_of("t5")
    about = {"encoding": "t5", "seeds": SEEDS}
    for name in ("one", "two"):
        store(tmp_path / name, weights, about)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    found, said = load(tmp_path / "one")
    assert said == about
    assert found.keys() == weights.keys()
    assert all(torch.equal(found[name], value) for name, value in weights.items())


def test_files_that_are_missing_or_no_weights_are_named(tmp_path):
    with pytest.raises(InputError, match="does not exist: snakemake"):
        load(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="is no file of trained weights"):
        load(tmp_path / "bad.safetensors")


# What losses are compared with.


def test_the_entropy_of_a_bag_is_that_counted_by_hand():
    assert guessing.entropy_of_some(1, 8) == 0
    assert guessing.entropy_of_some(2, 8) == pytest.approx(7 / 8 * math.log(2))


def test_no_reader_of_a_bag_does_better_on_recall():
    """Every text of two pairs over three values, its questions in order, by full enumeration.

    The reader knows the bag of values so far and how often each key came; it gives each value the
    probability that texts with such a bag give it.
    """
    cases: dict[tuple, list[int]] = {}
    for values in itertools.product(range(3), repeat=2):
        for order in itertools.permutations(range(2)):
            for number, asked in enumerate(order):
                shown = sorted([*values, *(values[one] for one in order[:number])])
                cases.setdefault((number, tuple(shown)), []).append(values[asked])
    total = sum(len(found) for found in cases.values())
    best = (
        -sum(
            found.count(value) * math.log(found.count(value) / len(found))
            for found in cases.values()
            for value in set(found)
        )
        / total
    )
    assert best >= guessing.recall_from_a_bag(2, 3) - 1e-12
    assert guessing.recall_from_a_bag(2, 3) == pytest.approx(math.log(2) * 2 / 3 / 2)


def test_the_spread_is_half_of_a_t_interval():
    differences = [1.0, 2.0, 3.0, 6.0]
    assert spread.half_width(differences) == pytest.approx(3.182 * math.sqrt(14 / 3) / 2)
    assert spread.margin([0.5, 0.5, 0.5]) == spread.LEAST
    with pytest.raises(ValueError, match="3 to 12 seeds"):
        spread.half_width([1.0, 2.0])
