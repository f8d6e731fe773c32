"""What a process says of itself: true of it, the same each time, and silent of what is unknown."""

import json
import subprocess
import sys

import grimp
import pytest

from posinfo import environment, extras, numerics
from posinfo.errors import InputError

V1 = "cmov cx8 fpu fxsr mmx syscall sse sse2 lm"
V2 = f"{V1} cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"
V3 = f"{V2} avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"

CPUINFO = f"""\
processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Some Processor @ 2.00GHz
stepping\t: 7
cpu MHz\t\t: 2000.178
flags\t\t: {V3}

processor\t: 1
vendor_id\t: Other
model name\t: Another
"""


def facts(setup: str, child_environment) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", f"import json; from posinfo import environment, numerics\n{setup}\n"
         "print(json.dumps(environment.measuring()))"],
        env=child_environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


PROFILE = "numerics.set_environment(); numerics.torch_with_profile()"


def test_a_measuring_process_says_with_what_it_measures(child_environment):
    found = facts(PROFILE, child_environment)
    version = ".".join(map(str, sys.version_info[:3]))
    assert found["python"] == {"implementation": sys.implementation.name, "version": version}
    assert set(environment.MEASURING) <= set(found["packages"])
    assert found["packages"]["torch"].startswith("2.")
    assert found["numerics"]["torch_cpu_capability"] == "DEFAULT"
    assert found["numerics"]["torch_threads"] == 1
    assert found["variables"] == numerics.ENVIRONMENT


def test_another_process_says_the_same_and_nothing_of_the_moment(child_environment):
    assert facts(PROFILE, child_environment) == facts(PROFILE, child_environment)


def test_one_outside_of_the_profile_says_so(child_environment):
    """As those that train: otherwise the tests above could not fail."""
    found = facts("import torch; torch.set_num_threads(1)", child_environment)
    assert found["numerics"]["torch_mkldnn"] is True
    assert "ATEN_CPU_CAPABILITY" not in found.get("variables", {})


def test_the_packages_that_measure_are_those_that_the_measuring_code_imports():
    graph = grimp.build_graph("posinfo", include_external_packages=True, cache_dir=None)
    ours = {module for module in graph.modules if module.startswith("posinfo")}
    measuring = {"posinfo.measure", "posinfo.decoder.jobs", "posinfo.controls"}
    measuring |= {module for module in ours if module.startswith("posinfo.suites")}
    for module in list(measuring):
        measuring |= graph.find_upstream_modules(module) & ours
    outside = set(sys.stdlib_module_names) | ours
    imported = {
        name
        for module in measuring
        for name in graph.find_modules_directly_imported_by(module)
        if name not in outside
    }
    # What reads and lays out rows computes none of them.
    aside = {"yaml", "jsonschema", "jinja2", "markupsafe", "accelerate", "gguf"}
    libraries = {name.replace("-", "_") for name in extras.NEEDED["peers"]}
    assert imported - aside - libraries == set(environment.MEASURING)


def test_the_processor_is_the_first_one_and_has_no_speed_of_the_moment():
    assert environment.cpu(CPUINFO, "x86_64") == {
        "vendor": "GenuineIntel", "model": "Some Processor @ 2.00GHz", "family": "6",
        "model_number": "85", "stepping": "7", "level": "x86-64-v3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "machine", "expected"),
    [
        ("", "x86_64", {}),
        ("", "arm64", {}),
        ("processor\t: 0\nFeatures\t: fp asimd\n", "aarch64", {}),
        ("vendor_id : X\nmodel name :\nflags :\n", "x86_64", {"vendor": "X"}),
        (f"flags : {V4}\n", "riscv64", {}),
    ],
)
def test_of_a_processor_that_does_not_say_nothing_is_invented(text, machine, expected):
    assert environment.cpu(text, machine) == expected


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (V1, "x86-64-v1"),
        (V2, "x86-64-v2"),
        (V3, "x86-64-v3"),
        (V4, "x86-64-v4"),
        (V3.replace(" movbe", ""), "x86-64-v2"),
        (V4.replace(" fma", ""), "x86-64-v2"),
        (V4.replace(" avx512dq", ""), "x86-64-v3"),
        ("fpu", ""),
    ],
)
def test_a_level_has_all_flags_of_those_below(flags, expected):
    assert environment.level(flags.split()) == expected


def test_what_is_not_known_is_left_out_and_what_is_zero_or_false_is_not():
    told = {"a": None, "b": "", "c": {}, "d": {"e": None}, "f": 0, "g": False, "h": [], "i": "x"}
    assert environment.without_unknown(told) == {"f": 0, "g": False, "h": [], "i": "x"}


def test_a_package_that_is_not_there_has_no_version():
    assert set(environment.versions(["torch", "no-such-package"])) == {"torch"}


def test_where_there_is_no_such_file_the_processor_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "CPUINFO", tmp_path / "none")
    assert environment.cpu(environment._cpuinfo(), "x86_64") == {}


def test_several_files_are_read_and_those_that_cannot_be_are_named(tmp_path):
    good, text, number = (tmp_path / name for name in ("good.json", "text.json", "number.json"))
    good.write_text('{"python": {"version": "3"}}', encoding="utf-8")
    text.write_text('{"python": ', encoding="utf-8")
    number.write_text("3", encoding="utf-8")
    paths = [good, text, number, tmp_path / "none.json"]
    found, problems = environment.read_all(paths)
    assert found == [{"python": {"version": "3"}}, {}, {}, {}]
    ends = [line.partition(".json: ")[2].partition(":")[0] for line in problems]
    assert ends == ["is no JSON", "is not an object with facts",
                    "cannot be read"]  # fmt: skip


def test_weights_say_who_trained_them_and_old_ones_nothing(tmp_path):
    import torch

    from posinfo.decoder.weights import store

    told = {"python": {"version": "3"}}
    path = tmp_path / "w.safetensors"
    store(path, {"a": torch.ones(2)}, {"encoding": "rotary", "environment": told})
    assert environment.read(path) == told
    store(path, {"a": torch.ones(2)}, {"encoding": "rotary"})
    assert environment.read(path) == {}


@pytest.mark.parametrize(
    "content",
    [b"", b"\x04\x00\x00\x00\x00\x00\x00\x00[1]\n", b"\xff" * 9, b"\x02" + b"\x00" * 7 + b"{}",
     b"text that is none"],
)  # fmt: skip
def test_a_file_that_is_no_weights_is_named(tmp_path, content):
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is no file of trained weights"):
        environment.read(path)
