"""The document that says where results come from, and what the gate makes of it."""

import json
from pathlib import Path

import pytest

from posinfo import __version__, digests, gate, provenance
from posinfo.errors import InputError
from posinfo.tidy import json_text, write_atomically

ONE, OTHER = {"python": {"version": "3.11.0"}}, {"python": {"version": "3.12.0"}}
RESULTS = ["results/ledger.csv", "results/suites/norms.csv"]
DIGESTS = [f"results/digests/{name}.sha256" for name in ("decide_ledger", "measure_suite_norms")]
DOCUMENT = "results/provenance.json"


@pytest.fixture(autouse=True)
def _in_a_run(tmp_path, monkeypatch):
    """A folder with two results, what their jobs recorded, and the document."""
    monkeypatch.chdir(tmp_path)
    for path, digest_file in zip(RESULTS, DIGESTS, strict=True):
        write_atomically(path, f"{path}\n")
        digests.record([path], digest_file)
    Path(DOCUMENT).write_text(json_text(made()), encoding="utf-8")


def made(**changed):
    return provenance.document(
        **{
            "code": {"commit": "c" * 40, "dirty": False},
            "config": {"seed": 123},
            "environments": {RESULTS[1]: ONE},
            "accepted": {"baseline/readings.csv": RESULTS[0]},
            "results": RESULTS,
            **changed,
        }
    )


def test_it_says_what_is_known(config):
    found = made(config=config)
    assert found["version"] == __version__
    assert found["code"] == {"commit": "c" * 40, "dirty": False}
    assert found["environments"] == [{"results": [RESULTS[1]], **ONE}]
    assert found["seeds"]["seed"] == config["seed"]
    assert found["seeds"]["decoder.seeds"] == config["decoder"]["seeds"]
    assert found["recorded_with"]["packages"].keys() == set(provenance.MAKING)
    assert [one["path"] for one in found["results"]] == RESULTS


def test_each_result_has_its_size_and_digest():
    listed = made()["results"]
    for one in listed:
        content = Path(one["path"]).read_bytes()
        assert (one["bytes"], one["sha256"]) == (len(content), digests.sha256(one["path"]))


def test_what_is_not_known_is_left_out():
    found = made(code={}, environments={RESULTS[1]: {}})
    assert "code" not in found
    assert found["environments"] == []


def test_what_was_accepted_is_named_as_it_lies_in_a_working_copy():
    [one] = made()["accepted"]
    assert one == {**provenance.described(RESULTS[0]), "path": "baseline/readings.csv"}


def test_two_environments_are_told_apart_and_one_is_said_once():
    found = {"a": ONE, "b": OTHER, "c": ONE, "d": {}}
    assert provenance.merged(found) == [
        {"results": ["a", "c"], **ONE},
        {"results": ["b"], **OTHER},
    ]


def test_every_seed_of_the_config_is_found(config):
    def count(value) -> int:
        if isinstance(value, dict):
            own = sum(key in ("seed", "seeds") for key in value)
            return own + sum(count(one) for one in value.values())
        return sum(map(count, value)) if isinstance(value, list) else 0

    assert len(provenance.seeds(config)) == count(config) > 1


def test_another_config_has_another_digest_and_another_order_has_not():
    first = made(config={"seed": 123, "base": 10000.0})["config"]
    assert made(config={"base": 10000.0, "seed": 123})["config"] == first
    assert made(config={"seed": 124, "base": 10000.0})["config"] != first


def test_it_is_the_same_each_time_and_json():
    assert json_text(made()) == json_text(made())
    assert json.loads(json_text(made())) == made()


def test_the_gate_has_nothing_to_say_of_a_run_as_it_was():
    assert gate.provenance_lines(DOCUMENT, DIGESTS, RESULTS) == []


def test_a_result_that_it_does_not_list_is_named():
    Path(DOCUMENT).write_text(json_text(made(results=RESULTS[:1])), encoding="utf-8")
    assert gate.provenance_lines(DOCUMENT, DIGESTS, RESULTS) == [
        f"{DOCUMENT}: does not list {RESULTS[1]}; make it anew: "
        f"snakemake --cores 4 --forcerun {DOCUMENT}"
    ]


def test_a_result_and_its_record_that_were_forged_together_are_named():
    old = digests.recorded(DIGESTS[1])[RESULTS[1]]
    Path(RESULTS[1]).write_text("forged\n", encoding="utf-8")
    digests.record([RESULTS[1]], DIGESTS[1])
    new = digests.sha256(RESULTS[1])
    assert gate.file_lines(DIGESTS, RESULTS) == []
    assert gate.provenance_lines(DOCUMENT, DIGESTS, RESULTS) == [
        f"{DOCUMENT}: lists {RESULTS[1]} as {old[:12]}, its job recorded {new[:12]}; make it "
        f"anew: snakemake --cores 4 --forcerun {RESULTS[1]}"
    ]


def test_a_result_that_differs_from_its_record_is_named_once():
    """It was touched before the document was written: the other line says so already."""
    Path(RESULTS[1]).write_text("touched\n", encoding="utf-8")
    Path(DOCUMENT).write_text(json_text(made()), encoding="utf-8")
    assert len(gate.file_lines(DIGESTS, RESULTS)) == 1
    assert gate.provenance_lines(DOCUMENT, DIGESTS, RESULTS) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[]", "lists no results"),
        ("{}", "lists no results"),
        ('{"results": [{"path": "a"}]}', "lists no results"),
        (None, "cannot be read"),
    ],
)
def test_a_document_that_cannot_be_used_is_named_with_how_to_make_it_anew(content, problem):
    if content is None:
        Path(DOCUMENT).unlink()
    else:
        Path(DOCUMENT).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        provenance.listed(DOCUMENT)
    [line] = gate.provenance_lines(DOCUMENT, DIGESTS, RESULTS)
    assert line.startswith(f"{DOCUMENT}: {problem}")
    assert line.endswith(f"; make it anew: snakemake --cores 4 --forcerun {DOCUMENT}")
