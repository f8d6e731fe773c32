"""One set of versions, in every file that names them: parsed, and compared package by package."""

import asyncio
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
import rattler
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from posinfo import extras

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def exact(line: str) -> tuple[str, str]:
    """A pin as (name, version); anything but ``name==version`` is refused."""
    requirement = Requirement(line)
    specifiers = list(requirement.specifier)
    assert len(specifiers) == 1, line
    assert specifiers[0].operator == "==", line
    assert requirement.marker is None, line
    assert requirement.url is None, line
    version = Version(specifiers[0].version)
    assert version.local is None, f"{line}: a build's label keeps others from using the lock"
    return canonicalize_name(requirement.name), str(version)


def pins(lines: list[str]) -> dict[str, str]:
    """Pins by name; two of one name are refused."""
    found = [exact(line) for line in lines]
    assert len(dict(found)) == len(found), "a package is pinned twice"
    return dict(found)


def lock_lines() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


LOCK = pins(lock_lines())
RUNTIME = pins(PROJECT["project"]["dependencies"])
DEV = pins(PROJECT["project"]["optional-dependencies"]["dev"])
PEERS = pins(PROJECT["project"]["optional-dependencies"]["peers"])
PRETRAINED = pins(PROJECT["project"]["optional-dependencies"]["pretrained"])
#: Parts of torch's builds for graphics cards, whose versions torch itself fixes.
OF_GRAPHICS_CARDS = ("nvidia-", "cuda-", "triton")


def conda_part() -> tuple[list[str], list[str]]:
    """The dependencies of environment.yml: conda's, and pip's."""
    conda = [entry for entry in ENVIRONMENT["dependencies"] if isinstance(entry, str)]
    (others,) = [entry for entry in ENVIRONMENT["dependencies"] if not isinstance(entry, str)]
    assert list(others) == ["pip"]
    return conda, others["pip"]


def lock_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_lock_holds_every_direct_pin():
    assert len(RUNTIME) > 10
    direct = RUNTIME | DEV | PEERS | PRETRAINED
    assert {name: LOCK.get(name) for name in direct} == direct


def test_the_lock_installs_on_every_python_that_the_project_names():
    """A package that wants a later release of one Python makes pip search for hours elsewhere."""
    asked = {}
    for name in LOCK:
        try:
            wants = metadata.metadata(name)["Requires-Python"]
        except metadata.PackageNotFoundError:
            continue  # of an extra that is not installed here
        if wants and metadata.version(name) == LOCK[name]:
            asked[name] = SpecifierSet(wants)
    assert len(asked) > 50
    assert {name for name, wants in asked.items() if not wants.contains("3.11.0")} == set()


def test_no_extra_is_left_out_of_what_is_compared_here():
    assert set(PROJECT["project"]["optional-dependencies"]) == {"dev", "peers", "pretrained"}


def test_the_lock_holds_what_the_pinned_packages_ask_for_in_turn():
    """Whoever installs from the lock alone gets a set that fits together."""
    direct = RUNTIME | DEV | PEERS | PRETRAINED
    installed = {canonicalize_name(one.name) for one in metadata.distributions()}
    checked = 0
    for name in direct.keys() & installed:
        for requirement in map(Requirement, metadata.requires(name) or ()):
            needed = canonicalize_name(requirement.name)
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            if needed.startswith(OF_GRAPHICS_CARDS):
                continue
            assert needed in LOCK, f"{name} needs {needed}, which the lock has not"
            assert requirement.specifier.contains(LOCK[needed]), f"{name} needs {requirement}"
            checked += 1
    assert checked > 50


def test_no_package_is_pinned_in_two_places():
    assert len(RUNTIME | DEV | PEERS) == len(RUNTIME) + len(DEV) + len(PEERS)
    # Two extras need one package, each for itself: they agree on its version.
    shared = PEERS.keys() & PRETRAINED.keys()
    assert shared == {"transformers"}
    assert all(PEERS[name] == PRETRAINED[name] for name in shared)
    assert not PRETRAINED.keys() & (RUNTIME | DEV).keys()


def test_the_build_backend_is_the_locks():
    build = pins(PROJECT["build-system"]["requires"])
    assert build == {name: LOCK.get(name) for name in build}


def test_environment_yml_is_the_lock():
    _, through_pip = conda_part()
    assert pins(through_pip) == LOCK


def test_both_files_are_what_make_lock_would_write_for_these_pins():
    tool = lock_tool()
    assert (ROOT / "constraints.txt").read_text(encoding="utf-8") == tool.constraints_text(LOCK)
    assert (ROOT / "environment.yml").read_text(encoding="utf-8") == tool.environment_text(LOCK)


def test_conda_solves_its_part(tmp_path):
    """The solver of conda's successors, on a small channel of our own."""
    offered = {"python": ["3.10.14", "3.11.7", "3.12.1"], "pip": ["22.0", "23.2.1", "26.0"]}
    records = {
        f"{name}-{version}-0.conda": {
            "name": name, "version": version, "build": "0", "build_number": 0,
            "subdir": "linux-64", "depends": [],
        }
        for name, versions in offered.items()
        for version in versions
    }  # fmt: skip
    repodata = tmp_path / "repodata.json"
    repodata.write_text(
        json.dumps({"info": {"subdir": "linux-64"}, "packages": {}, "packages.conda": records}),
        encoding="utf-8",
    )
    (channel,) = map(rattler.Channel, ENVIRONMENT["channels"])
    data = rattler.SparseRepoData(channel, "linux-64", repodata)
    specs = [rattler.MatchSpec(entry) for entry in conda_part()[0]]
    solved = asyncio.run(rattler.solve_with_sparse_repodata(specs, [data]))
    found = {record.name.normalized: str(record.version) for record in solved}
    assert found == {"python": "3.11.7", "pip": "26.0"}


def test_the_python_of_conda_is_the_one_that_the_lock_is_made_for():
    conda, _ = conda_part()
    tool = lock_tool()
    wanted = ".".join(map(str, tool.PYTHON))
    assert conda[0] == f"python={wanted}"
    assert Version(wanted) in Requirement(f"x{PROJECT['project']['requires-python']}").specifier


def test_the_snakefile_asks_for_the_pinned_snakemake():
    called = re.findall(
        r"^min_version\(\s*[\"']([^\"']+)[\"']\s*\)$",
        (ROOT / "Snakefile").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert called == [RUNTIME["snakemake"]]


def test_every_library_that_the_code_imports_is_pinned():
    """A package that comes along with another one may go away with it."""
    import grimp

    graph = grimp.build_graph("posinfo", include_external_packages=True, cache_dir=None)
    outside = {name for name in graph.modules if not name.startswith("posinfo")}
    distributions = metadata.packages_distributions()
    for name in sorted(outside - set(sys.stdlib_module_names)):
        providers = {canonicalize_name(found) for found in distributions.get(name, [name])}
        optional = PEERS.keys() if importers(graph, name) <= OPTIONAL else set()
        pinned = RUNTIME.keys() | optional
        assert providers & pinned, f"{name} is imported, and pyproject.toml does not pin it"


#: The only modules that may import what may not be there.
OPTIONAL = {
    "posinfo.libraries",
    "posinfo.pretrained.minilm",
    "posinfo.pretrained.smollm",
    "posinfo.suites.models",
}


def importers(graph, name: str) -> set[str]:
    return graph.find_modules_that_directly_import(name)


def test_the_packages_that_a_run_can_do_without_are_the_pins_of_their_extra():
    assert extras.NEEDED.keys() <= PROJECT["project"]["optional-dependencies"].keys()
    assert extras.NEEDED == {"peers": PEERS, "pretrained": PRETRAINED}


def test_a_module_of_the_standard_library_s_weight_says_what_is_there():
    """It is asked at every call of Snakemake: it must not import what it asks for."""
    code = "import sys; from posinfo import extras; extras.packages('peers'); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not {"transformers", "x_transformers", "torch"} & set(done.stdout.split())


def test_what_is_installed_is_the_lock():
    """Results are those of the lock only if the lock is what runs."""
    for name, version in (RUNTIME | PEERS).items():
        assert Version(metadata.version(name)).public == version, name


def test_refuses_what_is_no_pin():
    marked = "torch==2.13.0; python_version > '3.11'"
    for line in ("torch>=2.13.0", "torch", "torch==2.13.0+cpu", marked):
        with pytest.raises(AssertionError):
            exact(line)
