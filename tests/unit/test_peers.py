"""Independent libraries: what the suite would notice, and that it needs neither them nor a network.

A fault is put into a library as a bad release would bring it. For each, the case that must notice
is named here.
"""

import json
import math
import os
import re
import subprocess
import sys

import pytest
import torch

from posinfo import extras, libraries, scaling
from posinfo.checks import check_agreement
from posinfo.errors import InputError
from posinfo.libraries import LIBRARIES, layout
from posinfo.suites import peers

PACKAGES = sorted(extras.NEEDED["peers"])
THERE = dict(extras.NEEDED["peers"])
NONE = dict.fromkeys(PACKAGES, extras.ABSENT)


@pytest.fixture(scope="module")
def run(run_suite):
    """Measure the suite on little: ``run(only=…, packages=…)``."""

    def measure(**changed):
        small = {
            "head_dims": [12, 16], "bases": [1e4], "factors": [8], "trained_length": 512,
            "table": {"head_dim": 16, "base": 1e4, "factor": 8},
        }  # fmt: skip
        return run_suite("peers", **({"packages": THERE} | small | changed))

    return measure


def outcomes(rows, **where):
    found = [row for row in rows if all(getattr(row, k) == v for k, v in where.items())]
    assert found
    return {row.decision.outcome for row in found}


# --- which packages there are ---------------------------------------------------------------------


def test_a_package_is_looked_up_by_its_version(monkeypatch):
    installed = {"transformers": "5.24.0", "x-transformers": "1.0"}

    def version(name):
        if name not in installed:
            raise extras.metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(extras.metadata, "version", version)
    assert extras.packages("peers") == {
        "rotary-embedding-torch": extras.ABSENT,
        "transformers": "5.24.0",
        "x-transformers": "1.0",
    }
    assert extras.packages("peers", ["transformers"])["transformers"] == extras.LEFT_OUT


def test_every_package_has_its_library_and_its_layout():
    assert set(LIBRARIES) == set(PACKAGES) == set(peers._LAYOUTS) == set(peers._POSITIONS)


def test_without_packages_a_row_each_says_so_and_nothing_is_imported(run):
    rows = run(packages=NONE)
    assert [row.subject for row in rows] == PACKAGES
    assert {row.decision.outcome for row in rows} == {"not run"}
    assert [row.record() for row in rows] == [row.record() for row in run(packages=NONE)]


@pytest.mark.parametrize("package", PACKAGES)
def test_without_one_package_the_others_are_measured(run, package):
    rows = run(packages=THERE | {package: extras.ABSENT})
    [lacking] = [row for row in rows if row.decision.outcome != "holds"]
    assert (lacking.decision.outcome, lacking.subject) == ("not run", package)
    assert {row.extra["library"] for row in rows if row is not lacking} == set(PACKAGES) - {package}


def test_another_version_is_not_measured(run):
    rows = run(packages=NONE | {"transformers": "4.48.3"})
    assert [row.measured_text for row in rows][1] == "4.48.3"
    assert {row.decision.outcome for row in rows} == {"not run"}


def test_a_package_that_cannot_be_imported_is_an_error_and_not_a_package_left_out(run, monkeypatch):
    """A broken installation is not a missing one."""
    monkeypatch.setitem(sys.modules, "rotary_embedding_torch", None)
    rows = run(only="layouts")
    assert [row.decision.outcome for row in rows if row.relation == "raises"] == ["error"]


# --- no network, and nothing said -----------------------------------------------------------------


def test_the_suite_reaches_for_no_network_and_transformers_says_nothing():
    """In a process of its own, so that importing the libraries is seen, too."""
    code = """
import socket

def refuse(*_):
    raise SystemExit("a connection was opened")

socket.socket.connect = socket.getaddrinfo = refuse
from posinfo.cli import main

main(["measure", "peers", "--json"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcomes"]["not run"] == 0
    assert all(line.startswith("peers: ") for line in done.stderr.splitlines()), done.stderr


# --- layouts --------------------------------------------------------------------------------------


def turned(width: int, partner) -> list[list[float]]:
    """Rows of a rotation whose pairs are (j, partner of j)."""
    rows = [[0.0] * width for _ in range(width)]
    for place, row in enumerate(rows):
        row[place], row[partner(place)] = 0.5, -0.8
    return rows


def test_a_layout_is_named_by_all_of_its_pairs():
    assert layout(turned(8, lambda j: j ^ 1)) == "neighbours"
    assert layout(turned(8, lambda j: (j + 4) % 8)) == "halves"
    assert layout(turned(8, lambda j: 7 - j)) == "neither"
    assert layout(torch.eye(8).tolist()) == "neither"
    mixed = turned(8, lambda j: j ^ 1)
    mixed[6:] = turned(8, lambda j: (j + 4) % 8)[6:]
    assert layout(mixed) == "neither"


def test_angles_known_up_to_a_turn_are_made_continuous():
    angles = (torch.arange(1000, dtype=torch.float64)[:, None] * torch.tensor([0.3, -1.1])).double()
    wrapped = torch.atan2(angles.sin(), angles.cos())
    torch.testing.assert_close(peers._unwrapped(wrapped), angles, rtol=0, atol=1e-10)


# --- faults in a library --------------------------------------------------------------------------


def _scaled(share):
    """A library whose frequencies are off by a share of themselves."""

    def change(monkeypatch, library):
        right = library.frequencies

        def wrong(self, *args, **options):
            found, factor = right(self, *args, **options)
            return found * (1 + share), factor

        monkeypatch.setattr(library, "frequencies", wrong)

    return change


def _turned_back(monkeypatch, library):
    right = library.rotate

    def wrong(self, x, base, start=0):
        # The same angles the other way round: norms and layout stay.
        turned = right(self, x, base, start)
        straight = right(self, x, base, 0)
        return turned if start == 0 and x.shape[-2] == 1 else 2 * x * (x * straight) - turned

    monkeypatch.setattr(library, "rotate", wrong)


def _late(monkeypatch, library):
    right = library.rotate
    monkeypatch.setattr(library, "rotate", lambda self, x, base, start=0: right(
        self, x, base, start + 1))  # fmt: skip


FAULTS = [
    (_scaled(2e-6), "frequencies"),
    (_scaled(2e-6), "pair 0"),
    (_late, "rotated vectors"),
    (_late, "scores"),
    (_turned_back, "rotated vectors"),
]


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize(("fault", "case"), FAULTS)
def test_a_fault_in_a_library_is_noticed_at_that_library_alone(
    run, monkeypatch, package, fault, case
):
    fault(monkeypatch, LIBRARIES[package])
    rows = run(only=case)
    failing = {row.extra["library"] for row in rows if row.decision.outcome == "fails"}
    assert failing == {package}


def test_the_other_layout_is_noticed(run, monkeypatch):
    monkeypatch.setattr(
        libraries.XTransformers, "rotate", libraries.Transformers.rotate, raising=True
    )
    monkeypatch.setattr(
        libraries.XTransformers, "__init__", libraries.Transformers.__init__, raising=True
    )
    for name in ("config", "module", "turn"):
        monkeypatch.setattr(
            libraries.XTransformers, name, getattr(libraries.Transformers, name), raising=False
        )
    monkeypatch.setattr(libraries.XTransformers, "_config", None, raising=False)
    for case in ("layouts", "rotated vectors", "scores"):
        rows = [row for row in run(only=case) if row.extra["library"] == "x-transformers"]
        assert "fails" in outcomes(rows), case


def test_a_ramp_over_turns_would_be_named(run, monkeypatch):
    """Were the library to follow the paper, the rows that say it does not would fail."""

    def as_the_paper(self, method, *setting, truncate=True):
        return scaling.yarn_paper(*setting), 1.0

    monkeypatch.setattr(libraries.Transformers, "frequencies", as_the_paper)
    rows = run(only="ramps")
    named = [row for row in rows if row.relation == "equals"]
    assert {row.measured_text for row in named} == {"turns"}
    assert outcomes(rows, relation="exceeds") == {"fails"}


def test_positions_in_bfloat16_are_told_from_those_in_float32(run, monkeypatch):
    monkeypatch.setitem(peers._POSITIONS["rotary-embedding-torch"], "input in bfloat16", "float32")
    rows = [row for row in run(only="precision of positions") if row.decision.outcome != "holds"]
    assert {row.extra["dtype"] for row in rows} == {"input in bfloat16"}
    assert {row.extra["library"] for row in rows} == {"rotary-embedding-torch"}


def test_the_bounds_of_agreement_stay_near_rounding(run):
    """A bound that is a thousand roundings wide would let a wrong formula pass."""
    rows = run(only="frequencies")
    relative = [row for row in rows if row.quantity.startswith("relative difference")]
    assert relative
    assert max(row.bound for row in relative) < 100 * 2**-24


def test_nan_in_a_library_is_never_agreement(run, monkeypatch):
    monkeypatch.setattr(
        LIBRARIES["x-transformers"], "rotate",
        lambda self, x, base, start=0: torch.full_like(x, math.nan),
    )  # fmt: skip
    for case in ("rotated vectors", "scores", "cache"):
        rows = [row for row in run(only=case) if row.extra["library"] == "x-transformers"]
        assert not outcomes(rows) <= {"holds"}, case
        assert all(row.decision.outcome != "holds" for row in rows if row.relation == "within"), (
            case
        )


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"proportion": 0.01}, "suites.peers.proportion: must turn two pairs or more"),
        ({"table": {"head_dim": 32, "base": 1e4, "factor": 8}}, "suites.peers.table.head_dim: 32"),
        ({"table": {"head_dim": 128, "base": 2e4, "factor": 8}}, "suites.peers.table.base: 20000"),
        ({"table": {"head_dim": 128, "base": 1e4, "factor": 9}}, "suites.peers.table.factor: 9"),
    ],
)
def test_values_that_do_not_fit_each_other_are_refused(config, changed, named):
    suites = config["suites"] | {"peers": config["suites"]["peers"] | changed}
    with pytest.raises(InputError, match=re.escape(named)):
        check_agreement(config | {"suites": suites}, ["c.yaml"])
