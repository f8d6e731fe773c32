"""The suite models and its tables: what they say without transformers, and if something differs."""

import pytest

from posinfo import extras
from posinfo.models import agreement, generate
from posinfo.parameters import suite_parameters
from posinfo.schemas import load_yaml
from posinfo.suites import models as suite
from posinfo.tables import Data
from posinfo.tables import models as tables

AGREEMENT = ("agreement, published", "agreement, drawn", "agreement, known differences")


@pytest.fixture(scope="module")
def parameters(root):
    config = load_yaml(root / "config" / "config.yaml")
    return suite_parameters(config, "models") | {"configurations": 2}


def outcomes(parameters, case) -> list[str]:
    return [row.decision.outcome for row in suite.SUITE.run(parameters, only=case)]


def test_without_transformers_a_row_says_so_and_no_other_is_made(parameters):
    without = parameters | {"packages": {"transformers": extras.ABSENT}}
    assert outcomes(without, "libraries") == ["not run"]
    for case in AGREEMENT:
        assert outcomes(without, case) == []
    (row,) = suite.SUITE.run(without, only="libraries")
    (advice,) = extras.advice([row.record()])
    assert "-e '.[peers]'" in advice
    (record,) = tables.agreement(Data([row.record()], [], {"suites": {}}))
    assert record["what"] == "not run: 5.24.0 is needed, not installed"


def test_every_known_difference_is_one(parameters):
    pytest.importorskip("transformers")
    assert outcomes(parameters, "agreement, known differences") == ["holds"] * len(agreement.KNOWN)


def test_what_is_drawn_agrees(parameters):
    pytest.importorskip("transformers")
    assert outcomes(parameters, "agreement, drawn") == ["holds"] * 2 * len(generate.KINDS)


@pytest.mark.parametrize("method", ["yarn", "llama3", "linear"])
def test_a_wrong_frequency_of_ours_is_found(parameters, monkeypatch, method):
    """One part in a million, in one type: its rows fail, and no other's."""
    pytest.importorskip("transformers")
    original = suite.Rope.frequencies

    def wrong(rope, length=None):
        found = original(rope, length)
        return [value * (1 + 1e-6) for value in found] if rope.kind == method else found

    monkeypatch.setattr(suite.Rope, "frequencies", wrong)
    failing = {
        row.extra["type"]
        for row in suite.SUITE.run(parameters, only="agreement, drawn")
        if row.decision.outcome == "fails"
    }
    assert method in failing
    assert failing <= {method, "nested"}


def test_a_pair_count_that_differs_is_a_crash_and_no_agreement(parameters, monkeypatch):
    pytest.importorskip("transformers")
    theirs = suite._theirs()
    monkeypatch.setattr(
        type(theirs), "frequencies", lambda *_: ([1.0] * 3, 1.0)
    )  # fmt: skip
    named = next(suite._rotary(parameters))
    with pytest.raises(ValueError, match="3 pairs of theirs are not the"):
        suite.compared(named.preset.config, named.rope, 128)


def test_nan_is_no_agreement():
    one = suite.Compared(float("nan"), 1e-7, 0, 1.0, 1.0)
    assert not one.agrees
