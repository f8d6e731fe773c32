"""A cheap part of the accepted readings of real models, measured again with their weights."""

from contextlib import contextmanager

import pytest
import torch

from posinfo.pretrained import minilm, smollm, text

#: Nats by which a loss may differ between machines: a fiftieth of what counts as a difference.
NATS = 1e-3


@pytest.fixture(scope="module")
def real(weights):
    torch.set_num_threads(2)
    return smollm.load(weights("smollm2"))


@pytest.fixture(scope="module")
def settings(readings):
    return {**readings.about["settings"]["smollm2"], "seed": readings.about["settings"]["seed"]}


@pytest.fixture(scope="module")
def window(real, settings, readings):
    accepted = readings.about["text"]
    if text.digest() != accepted["sha256"]:
        pytest.skip(f"the text is that of Python {accepted['python']}; this Python has another")
    return smollm.window_of(real, settings, 0)


@pytest.fixture(scope="module")
def tokens(window):
    """The last 1,024 tokens of the longest context, and which of them belong to the text."""
    end = len(window.tokens)
    return window.tokens[end - 1024 :], torch.tensor(window.plain[end - 1024 :])


def mean_loss(real, tokens):
    """The mean loss by the library's own words: its logits, and its loss of each token."""
    given, plain = tokens
    whole = torch.tensor(given)[None]
    with torch.no_grad():
        logits = real.model(whole, use_cache=False).logits[0, :-1].double()
    losses = -logits.log_softmax(-1)[torch.arange(len(given) - 1), whole[0, 1:]]
    return losses[plain[1:]].mean().item()


def test_the_model_is_the_one_that_was_trained_on_8192_positions(real, settings):
    assert real.model.config.max_position_embeddings == settings["trained_length"]
    assert real.model.config.rope_parameters == {"rope_type": "default", "rope_theta": 100000.0}
    # The loss of guessing evenly, to which the suite compares, is that of this vocabulary.
    assert real.model.config.vocab_size == 49152


def test_the_loss_at_1024_is_the_accepted_one_by_the_library_itself(real, reading, tokens):
    accepted = reading(
        model="smollm2", measurement="layout", method="library", quantity="loss", window=0
    )["value"]
    assert mean_loss(real, tokens) == pytest.approx(accepted, abs=NATS)


@contextmanager
def rotary_embedding(real, module):
    """The model with another rotary embedding."""
    kept = real.model.model.rotary_emb
    real.model.model.rotary_emb = module
    try:
        yield module
    finally:
        real.model.model.rotary_emb = kept


def test_our_frequencies_give_the_librarys_loss_and_a_flipped_sign_does_not(
    real, settings, tokens, monkeypatch
):
    by_library = mean_loss(real, tokens)
    with rotary_embedding(real, real.rotary("none", 1.0, settings)) as ours:
        assert mean_loss(real, tokens) == pytest.approx(by_library, abs=1e-4)
        right = ours.frequencies(0)
        monkeypatch.setattr(ours, "frequencies", lambda length: -right)
        assert mean_loss(real, tokens) != pytest.approx(by_library, abs=0.05)


def test_the_loss_at_1024_in_the_other_layout_is_the_accepted_one(real, settings, reading, tokens):
    accepted = reading(
        model="smollm2", measurement="layout", method="adjacent, weights of the other layout",
        quantity="loss", window=0,
    )["value"]  # fmt: skip
    ours = real.rotary("none", 1.0, settings)
    with rotary_embedding(real, ours), smollm.adjacent(real.modeling):
        found = mean_loss(real, tokens)
    assert found == pytest.approx(accepted, abs=10 * NATS)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_shifts_are_the_accepted_ones(real, settings, readings, number):
    with rotary_embedding(real, real.model.model.rotary_emb):
        found = list(smollm.shifts(real, settings, number, lambda _: None))
    accepted = {
        (record["method"], record["shift"], record["quantity"]): record["value"]
        for record in readings.records
        if (record["measurement"], record["window"]) == ("shift", number)
    }
    assert len(found) == len(accepted) > 0
    for record in found:
        value = accepted[record["method"], record["shift"], record["quantity"]]
        if "KL" in record["quantity"]:
            # What lies below a millionth of a nat is rounding, and another machine's is another.
            assert record["value"] == pytest.approx(value, rel=0.5, abs=1e-6), record
        elif "top token" in record["quantity"]:
            assert record["value"] == value, record
        else:
            # A hundredth of a logit is what counts as a difference; far away it is rounding, which
            # another machine does otherwise.
            assert record["value"] == pytest.approx(value, rel=0.5, abs=1e-2), record


def test_the_real_table_is_the_accepted_one(weights, readings):
    loaded = minilm.load(weights("minilm"))
    settings = readings.about["settings"]["minilm"]
    found = list(minilm.table_rows(loaded, settings, lambda _: None))
    accepted = [record for record in readings.records if record["measurement"] == "table"]
    assert len(found) == len(accepted) > 0
    by_key = {
        (record["method"], record["distance"], record["quantity"]): record["value"]
        for record in accepted
    }
    for record in found:
        key = (record["method"], record["distance"], record["quantity"])
        assert record["value"] == pytest.approx(by_key[key], abs=1e-12), key


def test_the_end_of_the_real_table_is_as_accepted(weights, readings):
    loaded = minilm.load(weights("minilm"))
    found = {
        (record["method"], record["context"]): record["value_text"]
        for record in minilm.overflow(loaded, {}, lambda _: None)
    }
    accepted = {
        (record["method"], record["context"]): record["value_text"]
        for record in readings.records
        if record["measurement"] == "overflow"
    }
    assert found == accepted
    assert len(found) == 4
