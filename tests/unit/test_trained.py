"""The suite trained: its rules must fail where they should, and its rows must hold with room."""

import copy
from dataclasses import replace

import pytest
import torch

from outcomes import bad
from posinfo.checks import check_agreement
from posinfo.decoder.evaluation import Losses, Sample
from posinfo.decoder.tasks import TASKS
from posinfo.errors import InputError
from posinfo.parameters import suite_parameters
from posinfo.suites.base import Recorder
from posinfo.suites.trained.suite import SUITE, Trained, keeps, more, note_losses

#: No row that decides a claim may use more of its bound: the next machine trains other weights.
ROOM = 0.55


@pytest.fixture
def trained(config) -> Trained:
    return Trained.given(suite_parameters(config, "trained"))


@pytest.fixture
def rows() -> Recorder:
    return Recorder("trained", "a case", SUITE.columns)


def losses(*seeds: float, texts: int = 8) -> Losses:
    nats = torch.tensor(seeds).view(-1, 1, 1).expand(-1, texts, 256).clone()
    return Losses({task: Sample(nats, torch.ones_like(nats, dtype=torch.bool)) for task in TASKS})


def outcomes(rows: Recorder) -> list[str]:
    return [row.decision.outcome for row in rows.rows]


def test_a_rise_within_the_spread_of_the_seeds_is_none(rows, trained):
    here = losses(0.0, 0.0, 0.0)
    more(rows, trained, "clear", losses(1.0, 1.1, 0.9), here, "repeat")
    more(rows, trained, "spread", losses(0.1, 2.0, 0.2), here, "repeat")
    more(rows, trained, "small", losses(0.04, 0.04, 0.04), here, "repeat")
    assert outcomes(rows) == ["holds", "fails", "fails"]


def test_a_fall_is_no_rise_however_large(rows, trained):
    more(rows, trained, "fall", losses(0.0, 0.0, 0.0), losses(3.0, 3.1, 2.9), "recall")
    assert outcomes(rows) == ["fails"]


def test_one_seed_that_rises_is_not_kept(rows, trained):
    here = losses(0.0, 0.0, 0.0)
    keeps(rows, trained, "all", losses(0.1, 0.0, 0.1), here, "recall")
    keeps(rows, trained, "one", losses(0.0, 0.0, 0.5), here, "recall")
    assert outcomes(rows) == ["holds", "fails"]


def test_no_number_is_evidence_for_nothing(rows, trained):
    nothing = losses(float("nan"), 0.0, 0.0)
    keeps(rows, trained, "kept", nothing, losses(0.0, 0.0, 0.0), "recall")
    assert outcomes(rows) != ["holds"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_seed_without_a_number_is_not_kept_wherever_it_stands(rows, trained, place):
    seeds = [0.0, 0.0, 0.0]
    seeds[place] = float("nan")
    keeps(rows, trained, "one", losses(*seeds), losses(0.0, 0.0, 0.0), "recall")
    assert outcomes(rows) == ["error"]


def test_too_short_a_training_concludes_nothing(rows, trained):
    short = replace(trained, conclude=False)
    more(rows, short, "rise", losses(1.0, 1.0, 1.0), losses(0.0, 0.0, 0.0), "repeat")
    keeps(rows, short, "kept", losses(0.0, 0.0, 0.0), None, "repeat")
    assert rows.rows == []


def test_two_sets_of_texts_that_differ_are_no_loss(rows, trained):
    read = losses(1.0, 1.0, 1.0)
    note_losses(rows, trained, "same", read, 1)
    assert set(outcomes(rows)) == {"holds"}
    read.by_task["repeat"].nats[:, :4] = 2.0
    note_losses(rows, trained, "other", read, 1)
    assert "fails" in outcomes(rows)


def test_every_row_holds_and_those_that_decide_have_room(trained_rows):
    assert bad(trained_rows) == []
    deciding = [row for row in trained_rows if not row.quantity.startswith("loss, ")]
    tight = {row.quantity: row.decision.ratio for row in deciding if row.decision.ratio}
    assert {name: ratio for name, ratio in tight.items() if ratio > ROOM} == {}
    assert {row.evidence for row in trained_rows} == {"trained"}
    assert {row.extra["seeds"] for row in deciding if row.extra["seeds"]} == {6}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"width": 20, "heads": 4}, "decoder.width"),
        ({"yarn": {"fast": 1.0, "slow": 1.0}}, "decoder.yarn.slow"),
        ({"trained_length": 16}, "decoder.tasks.prefix"),
        ({"seeds": [1, 2, 125]}, "decoder.seeds"),
        ({"tasks": {"pairs": 9}}, "decoder.tasks.pairs"),
        ({"tasks": {"period": [9, 4]}}, "decoder.tasks.period"),
    ],
)
def test_settings_that_do_not_fit_are_named(config, changed, said):
    given = copy.deepcopy(config)
    for key, value in changed.items():
        if isinstance(value, dict):
            given["decoder"][key] |= value
        else:
            given["decoder"][key] = value
    with pytest.raises(InputError, match=said.replace(".", r"\.")):
        check_agreement(given, ["config/config.yaml"])
