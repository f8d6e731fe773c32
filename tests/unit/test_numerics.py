"""The numerical profile as torch and numpy report it, in a process of its own: both read their
settings when they are imported, once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from posinfo import numerics

SOURCE = Path(__file__).resolve().parents[2] / "src"


def run(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Run Python in an environment without a trace of the profile."""
    clean = {key: value for key, value in os.environ.items() if key not in numerics.ENVIRONMENT}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=clean | {"PYTHONPATH": str(SOURCE)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def effective(setup: str, **environment: str) -> dict:
    done = run(
        f"import json; from posinfo import numerics; {setup}; "
        "print(json.dumps(numerics.effective()))",
        **environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


PROFILE = "numerics.set_environment(); numerics.torch_with_profile()"
EXPECTED = {
    "torch_cpu_capability": "DEFAULT",
    "torch_threads": 1,
    "torch_interop_threads": 1,
    "torch_deterministic": True,
    "torch_mkldnn": False,
    "numpy_dispatched_features": [],
}


def test_the_profile_is_in_effect():
    assert effective(PROFILE) == EXPECTED


def test_the_profile_wins_over_the_users_environment():
    theirs = {
        "OMP_NUM_THREADS": "7",
        "MKL_NUM_THREADS": "7",
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "",
    }
    assert effective(PROFILE, **theirs) == EXPECTED


def test_without_the_profile_other_settings_are_in_effect():
    """Otherwise the tests above could not fail."""
    found = effective("pass")
    assert not found["torch_deterministic"]
    assert found["torch_mkldnn"]


def test_without_the_profile_numpy_dispatches_what_the_processor_has():
    found = effective("pass")["numpy_dispatched_features"]
    if not found:
        pytest.skip("this processor has none of the features that numpy dispatches on")
    unknown = run(
        "from posinfo import numerics; numerics.set_environment(); import numpy, torch; "
        "print(numerics.effective()['numpy_dispatched_features'])"
    )
    assert unknown.stdout.strip() == "[]", "a feature's name changed and is ignored silently"


CORE = """
from ctypes import CDLL, c_char_p
numerics.set_environment()
import numpy
with open("/proc/self/maps", encoding="utf-8") as maps:
    [path] = {line.split(maxsplit=5)[-1].strip() for line in maps if "openblas" in line}
name = CDLL(path).scipy_openblas_get_corename64_
name.restype = c_char_p
print(name().decode())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux what is loaded")
def test_openblas_has_one_kernel_on_every_processor():
    """numpy's matrices go through it, and it has a kernel a processor otherwise."""
    done = run(f"from posinfo import numerics\n{CORE}", OPENBLAS_CORETYPE="Haswell")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Nehalem"


@pytest.mark.parametrize("module", ["torch", "numpy"])
def test_a_module_imported_before_the_profile_is_refused(module):
    done = run(f"import {module}; from posinfo import numerics; numerics.set_environment()")
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr
    assert module in done.stderr.splitlines()[-1]


def test_importing_the_module_imports_neither_torch_nor_numpy():
    done = run("import sys, posinfo.numerics; print({'torch', 'numpy'} & set(sys.modules))")
    assert done.stdout.strip() == "set()"


def test_jobs_and_commands_measure_under_the_profile():
    done = run(
        "import json; from posinfo import measure, numerics, cli; "
        "config = cli.load_config(None); "
        "from posinfo.parameters import suite_parameters; "
        "measure.measure('norms', suite_parameters(config, 'norms'), only='lesson run'); "
        "print(json.dumps(numerics.effective()))"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == EXPECTED
