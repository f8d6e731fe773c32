"""The mathematics of posinfo.models against independent values, and what is built on it."""

import contextlib
import csv
import io
import json
import math
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import configurations
from configurations import LLAMA, RIGHT, YARN
from posinfo import __version__
from posinfo.errors import InputError
from posinfo.models import (
    agreement,
    extend,
    families,
    files,
    frequencies,
    generate,
    gguf,
    precision,
    presets,
    show,
    table,
)
from posinfo.models.configuration import read_model
from posinfo.models.model import Model
from posinfo.models.page import page
from posinfo.reference import scaling as reference
from posinfo.schemas import load_yaml

ROOT = Path(__file__).resolve().parents[2]


def read(config: dict) -> Model:
    return read_model(files.parse(json.dumps(config).encode(), "config.json"))


# --- frequencies --------------------------------------------------------------------------------


@given(st.randoms(use_true_random=False), st.sampled_from(generate.KINDS))
@settings(max_examples=60)
def test_frequencies_are_those_of_fifty_digits(random, kind):
    config = generate.configuration(random, kind)
    for rope in read(config).rope:
        for length in (rope.trained, 2 * rope.trained):
            method, setting, options = agreement.reference_call(rope, length)
            exact = reference.frequencies(method, *setting, **options)
            for pair, (ours, right) in enumerate(zip(rope.frequencies(length), exact, strict=True)):
                if pair < rope.turned:
                    # A ramp's roundings are magnified by at most the factor, which is 40.
                    assert ours == pytest.approx(float(right), rel=1e-12)
                else:
                    assert ours == 0


@given(st.randoms(use_true_random=False), st.sampled_from(generate.KINDS))
@settings(max_examples=60)
def test_a_drawn_configuration_gives_no_warning_but_for_what_it_says_itself(random, kind):
    allowed = {"attention-factor"} if kind in ("yarn", "longrope", "nested") else set()
    if kind == "nested":
        # One stated length for two blocks: only one of them can agree with it.
        allowed |= {"factor-and-lengths"}
    found = read(generate.configuration(random, kind)).warnings
    assert {one.code for one in found} <= allowed


def test_a_draw_depends_on_the_seed_alone():
    def drawn(seed: int) -> str:
        return json.dumps(generate.configuration(Random(str(seed)), "yarn"))  # noqa: S311

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(20)}) > 15


@pytest.mark.parametrize(
    ("name", "pair", "value"),
    [
        # Published values of other projects' tests, to five digits; and powers of ten.
        ("default", 16, 10.0**-1),
        ("yarn", 17, 8.3479e-2),
        ("yarn", 40, 4.3007e-4),
        ("llama3", 31, 1.0730e-2),
        ("llama3", 40, 3.4539e-4),
        ("dynamic", 36, 4.9220e-4),
    ],
)
def test_published_values(name, pair, value):
    plain = frequencies.plain(128, 10000.0)
    found = {
        "default": plain,
        "yarn": frequencies.yarn(plain, 10000.0, 2048, 10),
        "llama3": frequencies.llama3(plain, 2048, 10, 1, 4),
        "dynamic": frequencies.plain(
            128, frequencies.dynamic_base(128, 10000.0, 10, 2048, 16384)
        ),
    }[name]  # fmt: skip
    assert found[pair] == pytest.approx(value, rel=5e-5)


def test_attention_factors():
    for factor, value in ((2, 1.0693), (8, 1.2079), (40, 1.3689)):
        assert frequencies.mscale(factor) == pytest.approx(value, rel=5e-5)
    assert frequencies.mscale(0.5) == frequencies.longrope_attention(1, 4096) == 1
    assert frequencies.longrope_attention(32, 4096) == pytest.approx(1.19024, rel=5e-6)
    (rope,) = read(RIGHT["deepseek v3"]).rope
    # cos and sin as they are; the softmax's scale by 0.1 ln 40 + 1 squared.
    assert (rope.attention, rope.softmax) == (1, pytest.approx(1.8739, rel=5e-5))


def test_the_ranges_of_published_models():
    for config, low, high in (
        (RIGHT["gpt-oss"], 8.09278, 17.39802),
        (RIGHT["deepseek v3"], 10, 23),
    ):
        (rope,) = read(config).rope
        found = frequencies.yarn_range(
            rope.dim, rope.base, rope.trained, 32, 1, rope.options["truncate"]
        )
        assert found == pytest.approx((low, high), rel=1e-6)


def test_one_pair_has_no_changed_base():
    with pytest.raises(ValueError, match="one pair alone"):
        frequencies.ntk_base(2, 1e4, 4)


def test_slopes():
    eight = frequencies.alibi_slopes(8)
    assert eight == [2.0**-n for n in range(1, 9)]
    assert frequencies.alibi_slopes(12)[8:] == pytest.approx([0.7071, 0.3536, 0.1768, 0.0884], 1e-3)
    transformers = pytest.importorskip("transformers.models.mpt.modeling_mpt")
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    torch = pytest.importorskip("torch")
    for heads in (1, 2, 3, 8, 12, 20, 71):
        theirs = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]
        assert frequencies.alibi_slopes(heads) == pytest.approx(theirs.tolist(), rel=1e-6)
        theirs = -transformers.build_mpt_alibi_tensor(heads, 2)[:, 0, 0]
        ours = frequencies.alibi_slopes(heads, order="higher halves")
        assert ours == pytest.approx(theirs.tolist(), rel=1e-6)


# --- precisions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", precision.FORMATS)
@pytest.mark.parametrize("scale", [1.0, 0.125, 0.3])
def test_the_first_wrong_position_is_the_one_that_going_through_them_finds(dtype, scale):
    torch = pytest.importorskip("torch")
    theta = frequencies.linear(frequencies.plain(32, 10000.0), 1 / scale)
    wrong = precision.first_wrong(theta, dtype)
    reach = wrong.position + 1
    assert reach < 4e6
    positions = torch.arange(reach, dtype=torch.float64)
    kind = getattr(torch, dtype)
    first = math.inf
    for value in theta:
        made = positions.to(kind) * torch.tensor(value, dtype=torch.float64).to(kind)
        off = (made.double() - positions * value).abs() > precision.TOLERANCE
        if bool(off.any()):
            first = min(first, int(off.nonzero()[0]))
    assert wrong.position == first


@given(st.floats(min_value=2.0**-20, max_value=60000, allow_nan=False))
def test_rounding_is_numpys(value):
    assert precision.rounded(value, "float32") == float(np.float32(value))
    assert precision.rounded(value, "float16") == float(np.float16(value))


def test_whole_numbers_are_told_apart_up_to_a_power_of_two():
    assert precision.first_lost("bfloat16") == 257
    assert precision.rounded(257, "bfloat16") == 256
    assert precision.rounded(2049, "float16") == 2048
    # One pair that turns by whole radians: right until positions fall together.
    assert precision.first_wrong([1.0], "float32").position == 2**24 + 1


# --- extension ----------------------------------------------------------------------------------


def test_the_blocks_give_the_frequencies_that_they_promise():
    """By transformers, from the very text that is pasted, in the very configuration."""
    pytest.importorskip("transformers")
    from posinfo.suites.models import compared

    for config in (LLAMA, RIGHT["phi-2, partial"], RIGHT["llama 3.1"]):
        (rope,) = read(config).rope
        for one in extend.extensions(rope):
            given = ("rope_theta", "rope_scaling", "partial_rotary_factor")
            made = {key: value for key, value in config.items() if key not in given}
            made |= {"max_position_embeddings": one.stated,
                     "rope_parameters": json.loads(json.dumps(one.block))}  # fmt: skip
            again = read(made)
            assert again.warnings == ()
            assert again.rope[0].frequencies(one.length) == one.rope.frequencies(one.length)
            assert again.rope[0].attention == one.rope.attention
            assert compared(made, again.rope[0], one.length).agrees


def test_the_pairs_outside_are_those_of_the_closed_form():
    for base, dim in ((1e4, 128), (5e5, 64)):
        (rope,) = read(LLAMA | {"head_dim": dim, "rope_theta": base}).rope
        for one in extend.extensions(rope):
            if one.method == "abf":
                continue
            method = one.method
            expected = reference.outside_pairs(method, dim, base, 8192, one.factor)
            assert list(one.outside) == expected, one.method
        plain = reference.pairs_below_one_turn(dim, base, 8192)
        assert len(extend.never_turning(rope)) == plain


def test_a_window_bounds_what_is_seen():
    full, local = read(RIGHT["gemma 3, text inside"]).rope
    assert (local.seen, local.farthest, local.stated) == (1024, 1024, 131072)
    assert extend.outside(local, local.stated) == []
    assert not table.extends(local)
    assert table.extends(full)


def test_what_has_no_meaning_is_left_out():
    (rope,) = read(LLAMA | {"head_dim": 2}).rope
    assert {"ntk", "dynamic_ntk"}.isdisjoint(one.method for one in extend.extensions(rope))
    _, full = read(configurations.GEMMA4).rope
    assert {one.method for one in extend.extensions(full)} == {"none", "pi"}
    assert full.frequencies()[64:] == [0.0] * 192


# --- the table, its forms, and what it costs ----------------------------------------------------


def test_the_table_has_every_pair_and_its_numbers():
    found = table.table(read(RIGHT["llama 3.1"]))
    json.dumps(found, allow_nan=False)
    (rope,) = found["rope"]
    assert (rope["pairs"], len(rope["pair_table"])) == (64, 64)
    assert rope["cached_table_bytes"]["float32"] == 2 * 131072 * 64 * 4
    assert rope["never_complete_a_turn"] == 29
    first, last = rope["pair_table"][0], rope["pair_table"][63]
    assert (first["frequency"], first["first_dimension"], first["second_dimension"]) == (1, 0, 64)
    assert first["angle"] == 131071
    assert last["wavelength"] == pytest.approx(8 * 2 * math.pi * 5e5 ** (126 / 128))
    assert last["turns"] == pytest.approx(8192 / (last["wavelength"] / 8))
    assert (first["inside"], last["inside"]) == (True, False)
    assert len(rope["extensions"]) == 7 * 3
    rows = list(csv.DictReader(io.StringIO(table.as_csv(read(RIGHT["llama 3.1"])))))
    assert tuple(rows[0]) == table.COLUMNS
    assert [float(row["frequency"]) for row in rows] == [
        row["frequency"] for row in rope["pair_table"]
    ]


class Tags(HTMLParser):
    """Whether every element is closed, and which there are."""

    VOID = ("meta", "link", "br", "wbr", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", ["llama 3.1", "gemma 3, text inside", "gpt-2", "bloom", "t5"])
def test_the_page_is_one_file_without_scripts(name):
    text = page(read(RIGHT[name] | {"_name_or_path": "<script>x</script> & \"'"}),
                str(ROOT / "workflow" / "report"), __version__)  # fmt: skip
    parsed = Tags()
    parsed.feed(text)
    assert parsed.open == []
    names = [tag for tag, _ in parsed.seen]
    assert "script" not in names
    assert names.count("h1") == names.count("main") == 1
    assert not any("onerror" in attrs or "style" in attrs for _, attrs in parsed.seen)
    policy = next(a["content"] for t, a in parsed.seen if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert "&lt;script&gt;" in text
    ids = [attrs["id"] for _, attrs in parsed.seen if "id" in attrs]
    assert len(ids) == len(set(ids))
    labelled = [attrs["aria-labelledby"] for _, attrs in parsed.seen if "aria-labelledby" in attrs]
    assert set(labelled) <= set(ids)
    assert names.count("table") == text.count("<caption>")


def test_a_full_table_costs_no_import_of_torch_and_less_than_one(tmp_path, child_environment):
    """In time of the processor, for what else runs on the machine is no part of it."""
    pytest.importorskip("torch")
    (tmp_path / "config.json").write_text(json.dumps(RIGHT["llama 3.1"]))

    def seconds(*arguments: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, *arguments], env=child_environment, check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    full = ["-m", "posinfo", "model", str(tmp_path), "--json"]
    assert min(seconds(*full) for _ in range(2)) < seconds("-c", "import torch") + 1


# --- published models ---------------------------------------------------------------------------

PRESETS = sorted((ROOT / "config" / "models").glob("*.yaml"))
SCHEMA = load_yaml(ROOT / "workflow" / "schemas" / "preset.schema.yaml")


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_a_published_model_is_read_and_gives_the_warnings_that_it_should(path):
    (preset,) = presets.load([path], SCHEMA)
    assert preset.config["model_type"] in families.FAMILIES
    found = [one.code for one in preset.model().warnings]
    # The one whose file says two things.
    assert found == (["factor-and-lengths"] if preset.key == "yarn-mistral-7b-128k" else [])
    assert preset.sources


def test_every_name_belongs_to_one_published_model():
    found = presets.load(PRESETS, SCHEMA)
    assert len({preset.name for preset in found}) == len(found) > 30
    find = presets.lookup(ROOT)
    for name, base in (
        ("codellama/CodeLlama-7b-hf", 1e6), ("meta-llama/Meta-Llama-3-8B", 5e5),
        ("meta-llama/Llama-2-7b-hf", 1e4), ("meta-llama/Llama-3.1-8B-Instruct", 5e5),
        ("Qwen/Qwen2.5-7B-Instruct", 1e6), ("mistralai/Mistral-7B-v0.3", 1e6),
        ("HuggingFaceTB/SmolLM2-135M", 1e5),
    ):  # fmt: skip
        assert find(name).base == base, name
    assert find("somebody/my-own-model") is None


def test_a_wrong_preset_is_one_line(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nconfig: {model_type: llama}\nsource: here\n")
    with pytest.raises(Exception, match=r"mine\.yaml.*source"):
        presets.load([path], SCHEMA)


# --- GGUF ---------------------------------------------------------------------------------------


def written(path: Path, tensors: tuple[str, ...] = (), **more: object) -> Path:
    library = pytest.importorskip("gguf")
    writer = library.GGUFWriter(str(path), "llama")
    writer.add_name("A model")
    writer.add_context_length(131072)
    writer.add_embedding_length(4096)
    writer.add_block_count(32)
    writer.add_head_count(32)
    writer.add_head_count_kv(8)
    writer.add_rope_dimension_count(128)
    writer.add_rope_freq_base(500000.0)
    writer.add_token_list([f"token {n}" for n in range(5000)])
    writer.add_token_scores([0.5] * 5000)
    for name, value in more.items():
        getattr(writer, f"add_{name}")(value)
    for name in tensors:
        writer.add_tensor(name, np.ones(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_header(tmp_path):
    path = written(tmp_path / "a.gguf", tensors=("token_embd.weight",))
    model = read_model(files.read(str(path)))
    assert (model.name, model.family, model.pairing) == ("A model", "llama", families.NEIGHBOURS)
    (rope,) = model.rope
    assert (rope.base, rope.head_dim, rope.stated, rope.kind) == (5e5, 128, 131072, "default")
    assert rope.sources["base"] == "llama.rope.freq_base"
    assert model.warnings == ()
    assert read_model(files.read(str(tmp_path))).name == "A model"
    header = gguf.read(str(path))
    assert header.tensors == ("token_embd.weight",)
    assert header.values["tokenizer.ggml.tokens"] is header.values["tokenizer.ggml.scores"] is None


def test_a_gguf_header_with_yarn(tmp_path):
    import gguf as library

    path = written(
        tmp_path / "a.gguf", rope_scaling_type=library.RopeScalingType.YARN,
        rope_scaling_factor=16.0, rope_scaling_orig_ctx_len=8192,
    )  # fmt: skip
    (rope,) = read_model(files.read(str(path))).rope
    assert (rope.kind, rope.factor, rope.trained, rope.stated) == ("yarn", 16, 8192, 131072)


def test_a_gguf_file_that_divides_by_tensors_warns(tmp_path):
    path = written(tmp_path / "a.gguf", tensors=("rope_freqs.weight",))
    (found,) = read_model(files.read(str(path))).warnings
    assert found.code == "factors-in-tensors"


def test_every_cut_of_a_gguf_header_is_an_error_and_nothing_worse(tmp_path):
    path = written(tmp_path / "a.gguf")
    content = path.read_bytes()
    cut = tmp_path / "cut.gguf"
    for length in [*range(4, 200, 7), 1000, 5000, len(content) // 2]:
        cut.write_bytes(content[:length])
        with pytest.raises(Exception, match=r"cut\.gguf: is a GGUF file"):
            files.read(str(cut))
    random = Random(1)  # noqa: S311
    for _ in range(200):
        spoilt = bytearray(content[:600])
        spoilt[random.randrange(4, 600)] ^= 1 << random.randrange(8)
        cut.write_bytes(bytes(spoilt))
        # Some changes leave a header that says another thing, and is one.
        with contextlib.suppress(InputError):
            files.read(str(cut))


# --- what is shown ------------------------------------------------------------------------------


def test_the_lines_show_where_turns_and_ranges_change():
    model = read(RIGHT["llama 3.1"])
    lines = list(show.lines(model))
    assert any(line.lstrip().startswith("34 ") and "inside" in line for line in lines)
    assert any(line.lstrip().startswith("35 ") and "OUTSIDE" in line for line in lines)
    assert "(12 of 64 pairs; --pairs shows all, --csv writes them)" in lines
    every = list(show.lines(model, every_pair=True))
    assert len(every) - len(lines) == 64 - 12 - 1


def test_prose_keeps_to_the_width():
    model = read(
        LLAMA | {"rope_scaling": YARN | {"factor": 16.0}, "max_position_embeddings": 32768}
    )
    lines = list(show.lines(model, width=60))
    warned = [line for line in lines if line.startswith("! warning")]
    assert len(warned) == 1
    assert all(len(line) <= 60 for line in lines[1 : lines.index("")])


@pytest.mark.parametrize("name", RIGHT)
def test_a_terminal_of_80_columns_breaks_no_line_but_blocks_to_paste(name):
    lines = list(show.lines(read(RIGHT[name]), width=80, every_pair=True))
    assert [line for line in lines if len(line) > 80 and '"rope_type"' not in line] == []


def test_the_warning_in_the_readme_is_what_is_printed():
    block = {"factor": 4.0, "original_max_position_embeddings": 32768, "rope_type": "yarn"}
    model = read(LLAMA | {"max_position_embeddings": 65536, "rope_scaling": block})
    printed = "\n".join(show.lines(model, width=100))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.partition("```text\n! warning")[2].partition("\n```")[0]
    assert len(shown) > 200
    assert f"! warning{shown}\n" in printed
