"""Reading configurations: one of each family, what is odd, and what cannot be read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import configurations
from configurations import BROKEN, LLAMA, LLAMA3, LONGROPE, PHI3, RIGHT, YARN, changed, scaled
from posinfo import cli
from posinfo.models import files
from posinfo.models.configuration import Known, read_model
from posinfo.models.families import FAMILIES, HALVES, NEIGHBOURS, Family
from posinfo.models.model import Model

ROOT = Path(__file__).resolve().parents[2]


def read(config: dict, known=None) -> Model:
    return read_model(files.parse(json.dumps(config).encode(), "config.json"), known)


def codes(config: dict, known=None) -> list[str]:
    return [one.code for one in read(config, known).warnings]


def warning(config: dict, code: str, known=None):
    (found,) = [one for one in read(config, known).warnings if one.code == code]
    assert len(read(config, known).warnings) == 1
    return found


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        cli.main(["model", *arguments])
    out, err = capsys.readouterr()
    return ended.value.code, out, err


# --- right ones ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RIGHT)
def test_a_configuration_as_published_gives_no_warning_and_is_shown(name, tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps(RIGHT[name]))
    status, out, err = run(capsys, str(tmp_path), "--strict")
    assert (status, err) == (0, "")
    assert all(line == line.rstrip() for line in out.splitlines())
    assert "warning" not in out
    for form in ("--json", "--csv"):
        status, out, _ = run(capsys, str(tmp_path), form)
        assert status == 0
        assert out.count("\n") > 1
    assert not any(word in out for word in ("nan", "inf,"))


@pytest.mark.parametrize(
    ("name", "rotary", "base", "trained", "stated"),
    [
        ("llama, no scaling", 128, 5e5, 8192, 8192),
        ("llama, v5", 128, 5e5, 8192, 8192),
        ("llama 3.1", 128, 5e5, 8192, 131072),
        ("llama 3.2", 64, 5e5, 8192, 131072),
        ("head_dim null", 128, 5e5, 8192, 8192),
        ("qwen2.5, yarn as documented", 128, 1e6, 32768, 32768),
        ("linear", 128, 5e5, 4096, 32768),
        ("dynamic", 128, 5e5, 8192, 16384),
        ("phi-3, longrope", 96, 1e4, 4096, 131072),
        ("phi-3, su", 96, 1e4, 4096, 131072),
        ("phi-2, partial", 32, 1e4, 2048, 2048),
        ("gpt-neox", 24, 1e4, 2048, 2048),
        ("gpt-j", 64, 1e4, 2048, 2048),
        ("gemma 2", 256, 1e4, 8192, 8192),
        ("deepseek v3", 64, 1e4, 4096, 163840),
        ("gpt-oss", 64, 15e4, 4096, 131072),
        ("qwen2-vl, mrope", 128, 1e6, 32768, 32768),
        ("cohere 2", 128, 5e4, 8192, 8192),
        ("falcon, rotary", 64, 1e4, 2048, 2048),
    ],
)
def test_what_a_family_says(name, rotary, base, trained, stated):
    (rope,) = read(RIGHT[name]).rope
    assert (2 * rope.turned, rope.base, rope.trained, rope.stated) == (
        rotary, base, trained, stated,
    )  # fmt: skip


def test_kinds_of_layers():
    full, local = read(RIGHT["gemma 3, text inside"]).rope
    assert (full.layers, full.count, full.base, full.kind, full.factor, full.window) == (
        "full_attention", 5, 1e6, "linear", 8.0, None,
    )  # fmt: skip
    assert (local.count, local.base, local.kind, local.window) == (29, 1e4, "default", 1024)
    local, full = read(RIGHT["gemma 4, nested"]).rope
    assert (full.dim, full.turned, full.base, full.count) == (512, 64, 1e6, 2)
    assert full.frequencies()[63] > 0 == full.frequencies()[64]
    assert (local.dim, local.turned, local.base, local.count) == (256, 128, 1e4, 10)
    full, local = read(RIGHT["modernbert"]).rope
    assert (full.base, full.count, local.base, local.window) == (16e4, 8, 1e4, 128)
    assert read(RIGHT["cohere 2"]).unrotated == 8
    assert read(RIGHT["smollm3"]).unrotated == 9


def test_a_window_of_a_part_of_the_layers_is_none_of_all():
    (rope,) = read(RIGHT["gemma 2"]).rope
    assert rope.window is None
    (rope,) = read(RIGHT["mistral 0.1"]).rope
    assert (rope.window, rope.seen, rope.trained) == (4096, 4096, 32768)
    note = read(RIGHT["mistral 0.1"]).notes[0]
    assert (note.code, note.numbers) == ("window", {"window": 4096})


def test_how_pairs_lie():
    assert read(RIGHT["gpt-j"]).pairing == read(RIGHT["deepseek v3"]).pairing == NEIGHBOURS
    assert read(configurations.DEEPSEEK | {"rope_interleave": False}).pairing == HALVES
    assert read(LLAMA).pairing == HALVES


def test_other_ways_of_telling_positions():
    assert read(RIGHT["gpt-2"]).options == {"rows": 1024, "positions": 1024}
    assert read(RIGHT["opt"]).options == {"rows": 2050, "positions": 2048}
    assert read(RIGHT["roberta"]).options == {"rows": 514, "positions": 512}
    assert read(RIGHT["t5"]).options == {"buckets": 32, "distance": 128}
    assert read(RIGHT["bloom"]).options["slopes"][0] == 2**-0.25
    assert read(RIGHT["jamba"]).positions == "none"


def test_a_yarn_model_that_legitimately_keeps_its_stated_length_is_noted_alone():
    found = read(RIGHT["qwen2.5, yarn as documented"])
    assert [one.code for one in found.notes] == ["stated-unchanged"]
    assert found.notes[0].numbers["factor"] == 4


def test_dynamic_scaling_tells_of_caches():
    (note,) = read(RIGHT["dynamic"]).notes
    assert note.code == "dynamic-cache"
    # s n / L - (s - 1) = 3 at twice the length, and 128 / 126 is the exponent.
    assert note.numbers["base_at_reach"] == pytest.approx(5e5 * 3 ** (128 / 126))


# --- warnings -----------------------------------------------------------------------------------


def test_yarn_factor_and_lengths_that_disagree():
    # Yarn-Mistral-7b-128k as published: 16 times 8192 are 131072, and 32768 is stated.
    found = warning(
        changed(LLAMA, max_position_embeddings=32768, rope_scaling=YARN | {"factor": 16.0}),
        "factor-and-lengths",
    )
    assert found.numbers == {
        "factor": 16, "original": 8192, "stated": 32768, "implied_factor": 4,
    }  # fmt: skip
    for number in ("16", "32768", "8192", "131072"):
        assert number in found.text


@pytest.mark.parametrize("factor", [8.0, 16.0, 32.0])
def test_llama3_and_longrope_may_differ(factor):
    long = LLAMA | {"max_position_embeddings": 131072}
    assert codes(long | {"rope_scaling": LLAMA3 | {"factor": factor}}) == []
    assert codes(PHI3 | {"rope_scaling": LONGROPE | {"factor": factor}}) == []


@pytest.mark.parametrize("block", [YARN, LLAMA3])
def test_a_missing_original_length(block):
    cut = changed(block, original_max_position_embeddings=...)
    found = warning(scaled(**cut), "missing-original")
    assert found.numbers == {"assumed": 8192}
    assert found.key == "rope_scaling.original_max_position_embeddings"


def test_a_missing_original_length_of_longrope():
    wide = LLAMA | {"head_dim": 96, "rope_scaling": LONGROPE}
    assert warning(wide, "missing-original").numbers == {"assumed": 8192}


def test_both_names_of_the_type():
    same = scaled(**YARN | {"rope_type": "yarn"}) | {"max_position_embeddings": 32768}
    assert "they agree" in warning(same, "type-twice").text
    other = scaled(type="linear", rope_type="dynamic", factor=2.0)
    assert "'linear' is not what runs" in warning(other, "type-twice").text
    assert read(other).rope[0].kind == "dynamic"


def test_thresholds_in_the_wrong_order():
    wrong = LLAMA3 | {"low_freq_factor": 4.0, "high_freq_factor": 1.0}
    found = warning(
        LLAMA | {"max_position_embeddings": 131072, "rope_scaling": wrong},
        "frequency-factors-order",
    )
    assert found.numbers == {"low_freq_factor": 4, "high_freq_factor": 1}
    wrong = YARN | {"beta_fast": 1, "beta_slow": 32}
    found = warning(
        LLAMA | {"max_position_embeddings": 32768, "rope_scaling": wrong}, "betas-order"
    )
    assert found.numbers == {"beta_fast": 1, "beta_slow": 32}


def test_a_missing_base_of_a_named_model():
    def known(name: str) -> Known:
        assert name == "codellama/CodeLlama-7b-hf"
        return Known("Code Llama 7B", 1e6)

    config = changed(LLAMA, rope_theta=..., _name_or_path="codellama/CodeLlama-7b-hf")
    found = warning(config, "missing-base", known)
    assert found.numbers == {"assumed": 10000, "trained_with": 1000000}
    assert codes(config | {"rope_theta": 1e6}, known) == []
    assert codes(config, lambda name: Known("Llama 2 7B", 1e4)) == []
    assert codes(config, lambda name: None) == []


def test_a_missing_base_where_nobody_knows():
    config = changed(LLAMA, rope_theta=..., model_type="mine", rope_scaling={"type": "default"})
    assert warning(config, "missing-base").numbers == {"assumed": 10000}


@pytest.mark.parametrize(("given", "warns"), [(1.0, 1), (1.2, 1), (1.14, 0), (1.1386294361, 0)])
def test_an_explicit_attention_factor_against_the_implied_one(given, warns):
    config = scaled(**YARN | {"attention_factor": given}) | {"max_position_embeddings": 32768}
    assert codes(config) == ["attention-factor"] * warns
    assert read(config).rope[0].attention == given


@pytest.mark.parametrize(
    ("block", "key", "reader"),
    [
        ({"type": "linear", "factor": 2.0, "beta_fast": 32}, "beta_fast", "yarn"),
        ({"type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 4096},
         "original_max_position_embeddings", "yarn and longrope and llama3"),
        ({"type": "default", "factor": 2.0}, "factor", "linear"),
        (YARN | {"low_freq_factor": 1.0}, "low_freq_factor", "llama3"),
        (YARN | {"extrapolation_factor": 1.0}, "extrapolation_factor", ""),
    ],
)  # fmt: skip
def test_keys_that_a_type_ignores(block, key, reader):
    found = warning(
        scaled(**block) | {"max_position_embeddings": 8192 if block["type"] != "yarn" else 32768},
        "ignored-key",
    )
    assert found.key == f"rope_scaling.{key}"
    assert reader in found.text


def test_a_share_that_the_code_of_a_family_does_not_read():
    """transformers rotates whole heads of a Llama, whatever the share."""
    config = LLAMA | {"partial_rotary_factor": 0.5}
    assert warning(config, "ignored-key").numbers == {"share": 0.5}
    assert read(config).rope[0].turned == 64
    assert codes(RIGHT["phi-2, partial"] | {"partial_rotary_factor": 0.5}) == []


def test_one_of_a_pair_of_mscales():
    config = scaled(**YARN | {"mscale": 0.7}) | {"max_position_embeddings": 32768}
    found = warning(config, "ignored-key")
    assert "mscale_all_dim" in found.text
    assert read(config).rope[0].attention == pytest.approx(1.13862943611)


def test_other_warnings():
    assert codes(scaled(type="linear", factor=0.5)) == ["factor-below-one"]
    both = LLAMA | {"rope_scaling": {"type": "linear", "factor": 2.0},
                    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}  # fmt: skip
    assert codes(both) == ["two-blocks"]
    assert read(both).rope[0].kind == "linear"
    assert codes(scaled(**changed(YARN, factor=...)) | {"max_position_embeddings": 32768}) == [
        "missing-factor"
    ]
    twice = scaled(**YARN) | {
        "original_max_position_embeddings": 4096, "max_position_embeddings": 16384,
    }  # fmt: skip
    assert codes(twice) == ["original-twice"]
    assert read(twice).rope[0].trained == 4096
    raw = files.parse(b'{"model_type": "llama", "head_dim": 64, "head_dim": 128}', "config.json")
    assert [one.code for one in read_model(raw).warnings] == ["duplicate-key"]
    assert "original-above-stated" in codes(scaled(**LLAMA3) | {"max_position_embeddings": 4096})


# --- broken ones --------------------------------------------------------------------------------


def test_there_are_fifty_of_them():
    assert len(BROKEN) >= 50


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_configuration_is_one_line_and_status_two(name, tmp_path, capsys):
    content, said = BROKEN[name]
    path = tmp_path / "config.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    for more in ([], ["--json"], ["--csv"], ["--strict"]):
        status, out, err = run(capsys, str(path), *more)
        assert (status, out) == (2, "")
        (line,) = err.splitlines()
        assert line.startswith(f"posinfo: {path}")
        assert said in line


def test_a_path_that_leads_nowhere(tmp_path, capsys):
    for path, said in (
        (tmp_path / "none.json", "does not exist"),
        (tmp_path, "is a folder without a config.json"),
    ):
        status, out, err = run(capsys, str(path))
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert said in err


def test_a_large_file_is_not_read_whole(tmp_path, capsys):
    path = tmp_path / "model.safetensors"
    with open(path, "wb") as stream:
        stream.truncate(2**40)
    status, _, err = run(capsys, str(path))
    assert status == 2
    assert "1,048,576" in err


# --- the command --------------------------------------------------------------------------------


def test_reading_needs_neither_torch_nor_numpy(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(RIGHT["llama 3.1"]))
    code = (
        "import sys, atexit\n"
        "from posinfo import cli\n"
        "heavy = ('torch', 'numpy', 'pandas', 'transformers', 'yaml')\n"
        "atexit.register(lambda: print(*[n for n in heavy if n in sys.modules], file=sys.stderr))\n"
        "cli.main(['model', sys.argv[1], *sys.argv[2:]])"
    )
    for more in ([], ["--json"], ["--csv"]):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), *more],
            env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert done.stderr.split() in ([], ["yaml"])


def test_strict_makes_a_warning_the_status(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(scaled(type="linear", factor=0.5)))
    status, out, _ = run(capsys, str(path))
    assert status == 0
    assert "! warning factor-below-one: rope_scaling.factor is 0.5" in out
    status, out, _ = run(capsys, str(path), "--strict", "--json")
    assert status == 1
    first = json.loads(out)["findings"][0]
    assert (first["level"], first["code"]) == ("warning", "factor-below-one")
    assert first["numbers"] == {"factor": 0.5}
    status, out, err = run(capsys, str(path), "--csv")
    assert status == 0
    assert err.startswith("posinfo: warning: factor-below-one: ")


def test_a_hostile_name_does_not_steer_the_terminal(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA | {"_name_or_path": "\x1b[2Jx", "rope_scaling": {
        "type": "linear", "factor": 2.0, "\x1b[31m": 1}}))  # fmt: skip
    _, out, _ = run(capsys, str(path))
    assert "\x1b" not in out
    assert "\\x1b[2Jx" in out


def test_two_outputs_at_once_are_refused(tmp_path, capsys):
    status, _, err = run(capsys, str(tmp_path), "--json", "--csv")
    assert status == 2
    assert "give one of them" in err


# --- the families' defaults are those of transformers ------------------------------------------


@pytest.fixture(scope="module")
def classes():
    pytest.importorskip("transformers")
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return CONFIG_MAPPING


@pytest.mark.parametrize("name", FAMILIES)
def test_the_defaults_of_a_family_are_those_of_its_class(name, classes):
    own: Family = FAMILIES[name]
    theirs = classes[name]()
    if name == "gemma4_text":
        theirs_head = theirs.per_layer_config["sliding_attention"].head_dim
    else:
        theirs_head = getattr(theirs, "head_dim", None)
    if own.stated is not None:
        assert theirs.max_position_embeddings == own.stated
    rope = getattr(theirs, "rope_parameters", None)
    assert bool(rope) == (own.positions == "rotary" and name not in ("gptj", "codegen"))
    if not rope:
        return
    full = rope.get("full_attention", rope)
    assert full["rope_theta"] == own.base
    if full["rope_type"] != "proportional":
        assert full.get("partial_rotary_factor", 1.0) == own.partial
    if own.local:
        assert rope["sliding_attention"]["rope_theta"] == own.local[1]
    if own.head_dim is not None:
        assert theirs_head == own.head_dim
    elif theirs_head is not None and not own.rotary_head and name != "gemma4_text":
        # Worked out by the class: then it must be the quotient that is taken here.
        assert theirs_head == theirs.hidden_size // theirs.num_attention_heads
