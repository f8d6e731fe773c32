"""What is checked before any job: the file to blame, the suites of the claims, the folders."""

import os
import stat
import subprocess
import sys

import pytest
import yaml

from posinfo.checks import check_claims, check_config, check_writable
from posinfo.errors import InputError, nearest

SCHEMA = {
    "type": "object",
    "required": ["seed"],
    "additionalProperties": False,
    "properties": {
        "seed": {"type": "integer"},
        "suites": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "norms": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "scales": {"type": "array", "items": {"type": "number", "minimum": 1}}
                    },
                }
            },
        },
    },
}
BASE = {"seed": 123, "suites": {"norms": {"scales": [1.0, 100.0]}}}


@pytest.fixture
def blame(tmp_path, monkeypatch):
    """The line with which a config of two files, and of the command line, is refused."""
    monkeypatch.chdir(tmp_path)

    def blame(config: dict, base: object = BASE, above: object = None) -> str:
        files = ["base.yaml"] + ["above.yaml"] * (above is not None)
        for path, content in zip(files, (base, above), strict=False):
            (tmp_path / path).write_text(yaml.safe_dump(content))
        with pytest.raises(InputError) as refused:
            check_config(config, files, SCHEMA)
        return str(refused.value)

    return blame


def test_a_valid_config_passes(tmp_path):
    path = tmp_path / "base.yaml"
    path.write_text(yaml.safe_dump(BASE))
    check_config(BASE, [str(path)], SCHEMA)


def scales(*values: object) -> dict:
    return {"suites": {"norms": {"scales": list(values)}}}


@pytest.mark.parametrize(
    ("above", "line"),
    [
        (None, "base.yaml: suites.norms.scales[1]: 0 must be at least 1"),
        (scales(1, 0), "above.yaml: suites.norms.scales[1]: 0 must be at least 1"),
        ({"seed": 5}, "base.yaml: suites.norms.scales[1]: 0 must be at least 1"),
    ],
)
def test_the_strongest_file_that_sets_a_wrong_value_is_blamed(blame, above, line):
    base = BASE | (scales(1, 0) if "base" in line else {})
    assert blame(base | scales(1, 0), base, above) == line


@pytest.mark.parametrize(
    ("base", "above", "file"),
    [
        (BASE | {"sed": 1}, {"seed": 1}, "base.yaml"),
        (BASE, {"sed": 1}, "above.yaml"),
        (BASE | {"sed": 1}, {"sed": 1}, "above.yaml"),
    ],
)
def test_the_file_with_an_unknown_key_is_blamed(blame, base, above, file):
    line = blame(base | above, base, above)
    assert line == f"{file}: unknown key 'sed': did you mean 'seed'? allowed: seed, suites"


def test_an_unknown_key_of_a_section_is_found_in_its_section(blame):
    above = {"suites": {"norms": {"scale": [1]}}}
    line = blame(BASE | above, BASE, above)
    assert line == (
        "above.yaml: suites.norms: unknown key 'scale': did you mean 'scales'? allowed: scales"
    )


def test_what_no_file_sets_comes_from_the_command_line(blame):
    assert blame(BASE | {"sed": 1}).startswith("--config: unknown key 'sed'")
    assert blame({"seed": "x"}, {}).startswith("--config: seed: 'x' is not of type integer")


def test_a_missing_key_is_missed_in_a_file(blame):
    assert blame({}, {}) == "base.yaml: the key 'seed' is missing"


@pytest.mark.parametrize("content", [None, [1], "text", 5])
def test_a_file_that_holds_no_keys_is_refused(blame, content):
    assert blame(BASE, BASE, above=content or []) == "above.yaml: must hold keys with values"


def test_an_unreadable_file_is_blamed_itself(tmp_path):
    path = tmp_path / "base.yaml"
    path.write_text("seed: [\n")
    with pytest.raises(InputError, match=r"base\.yaml line 2: is not valid YAML"):
        check_config(BASE, [str(path)], SCHEMA)


FAULTS = ("reflection", "rotated twice")


def claim(suite: str) -> dict:
    return {
        "id": "one", "covers": ["A01"], "lesson": "A", "section": "s", "kind": "computed",
        "statement": "It is so.", "verdict": "verified", "why": "Measured.",
        "supports": [{"suite": suite, "rows": 1}], "rejects": "reflection",
    }  # fmt: skip


def test_a_claim_on_a_suite_that_there_is_not_is_refused(tmp_path, claims_schema):
    path = tmp_path / "claims.yaml"
    for suite in ("norms", "normes"):
        path.write_text(yaml.safe_dump([claim(suite)]))
        if suite == "norms":
            [checked] = check_claims([path], claims_schema, ("norms", "angles"), FAULTS)
            assert checked.id == "one"
            continue
        with pytest.raises(InputError) as refused:
            check_claims([path], claims_schema, ("norms", "angles"), FAULTS)
        assert str(refused.value) == (
            f"{path} claim one: unknown suite 'normes': did you mean 'norms'? "
            "allowed: angles, norms"
        )


@pytest.mark.parametrize(
    ("name", "meant"),
    [("reflexion", "did you mean 'reflection'? "),
     ("rotated twise", "did you mean 'rotated twice'? "),
     ("xyz", "their names stand in src/posinfo/faults")],
)  # fmt: skip
def test_a_fault_that_there_is_not_is_refused(tmp_path, claims_schema, name, meant):
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([claim("norms") | {"rejects": name}]))
    with pytest.raises(InputError) as refused:
        check_claims([path], claims_schema, ("norms",), FAULTS)
    line = str(refused.value)
    assert line.startswith(f"{path} claim one: rejects: {name!r} is no fault: {meant}")
    assert "\n" not in line


def test_folders_that_can_be_written_pass_and_are_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    check_writable(["results", "logs", "report/deep"])
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


@pytest.mark.parametrize("folder", ["results", "results/suites"])
def test_a_file_in_the_folders_place_is_refused(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").write_text("a file\n")
    with pytest.raises(InputError) as refused:
        check_writable(["logs", folder])
    assert str(refused.value) == "results: is a file, and results need a folder there"


@pytest.mark.skipif(os.geteuid() != 0, reason="dropping privileges needs them")
def test_a_folder_that_cannot_be_written_is_refused_to_a_user(tmp_path_factory, child_environment):
    """In a process without root's privileges, which a read-only folder does not refuse."""
    code = (
        "import os, sys, tempfile\n"
        "from posinfo.checks import check_writable\n"
        "os.chdir('/'); os.setgid(65534); os.setuid(65534)\n"
        "try: check_writable([sys.argv[1]])\n"
        "except Exception as error: print(error)\n"
    )
    # Not below pytest's own folder: that is closed to others, with another answer.
    folder = tmp_path_factory.mktemp("readonly")
    for parent in [folder, *folder.parents]:
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & stat.S_IXOTH:
            os.chmod(parent, parent.stat().st_mode | stat.S_IXOTH)
    (folder / "results").mkdir(mode=0o555)
    for target in ("results", "results/suites"):
        done = subprocess.run([sys.executable, "-c", code, str(folder / target)],
                              env=child_environment, capture_output=True, text=True,
                              check=False)  # fmt: skip
        assert done.stdout == (
            f"{folder / 'results'}: cannot be written to: change its permissions\n"
        ), done.stderr


def test_the_nearest_name_comes_first():
    assert nearest("norm", ["norms", "angles"]) == "did you mean 'norms'? allowed: angles, norms"
    assert nearest("zzz", ["norms", "angles"]) == "allowed: angles, norms"


def test_an_error_is_one_line():
    assert str(InputError("file  x", "two\nlines\r\n of text")) == "file x: two lines of text"
