"""Which files a job depends on: all that it really loads, and not all there are."""

import json
import subprocess
import sys

import pytest

from posinfo.catalogue import SUITES
from posinfo.imports import library_files


@pytest.fixture
def files(root):
    return lambda *modules: library_files(str(root / "src"), modules)


#: Asks Python itself what each suite loads, in a child of its own; torch is imported once.
LOADED = """
import importlib, json, os, sys
import mpmath, sympy, torch
for suite in sys.argv[1:]:
    if os.fork() == 0:
        for name in ("posinfo.measure", f"posinfo.suites.{suite}"):
            importlib.import_module(name)
        ours = [m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "posinfo"]
        print(json.dumps([suite, ours]), flush=True)
        os._exit(0)
    os.wait()
"""


def test_what_a_suite_loads_is_among_its_files(files, root, child_environment):
    done = subprocess.run([sys.executable, "-c", LOADED, *SUITES], env=child_environment,
                          capture_output=True, text=True, check=True)  # fmt: skip
    loaded = dict(map(json.loads, done.stdout.splitlines()))
    assert tuple(loaded) == SUITES
    for suite, paths in loaded.items():
        names = {path.removeprefix(f"{root / 'src'}/") for path in paths}
        assert names & {f"posinfo/suites/{suite}.py", f"posinfo/suites/{suite}/__init__.py"}
        assert names <= set(files("posinfo.measure", f"posinfo.suites.{suite}"))


def test_they_exist_and_are_sorted_and_relative_to_the_source(files, root):
    found = files("posinfo.measure", "posinfo.suites.norms")
    assert found == sorted(found)
    assert all((root / "src" / path).is_file() for path in found)
    assert "posinfo/__init__.py" in found
    assert "posinfo/suites/__init__.py" in found


def test_an_import_of_an_import_counts(files):
    assert "posinfo/reference/rounding.py" in files("posinfo.suites.norms")
    assert "posinfo/errors.py" in files("posinfo.gate")


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("posinfo.suites.norms", "posinfo/suites/angles.py"),
        ("posinfo.suites.shapes", "posinfo/scaling.py"),
        ("posinfo.suites.offsets", "posinfo/ledger.py"),
        ("posinfo.ledger", "posinfo/encodings/rotary.py"),
        ("posinfo.gate", "posinfo/suites/base.py"),
    ],
)
def test_an_edit_elsewhere_reruns_nothing(files, module, absent):
    assert absent not in files(module)


def test_several_modules_need_what_any_of_them_needs(files):
    one, other = files("posinfo.suites.norms"), files("posinfo.gate")
    assert set(files("posinfo.suites.norms", "posinfo.gate")) == {*one, *other}


def test_an_import_inside_a_function_counts(files, root):
    """The command line imports torch's part only when it measures."""
    source = (root / "src" / "posinfo" / "cli" / "measuring.py").read_text()
    assert "    from posinfo.measure import" in source
    assert "\nfrom posinfo.measure import" not in source
    assert "posinfo/measure.py" in files("posinfo.cli")


def test_an_unknown_module_is_refused(files):
    with pytest.raises(Exception, match=r"posinfo\.no_such_module"):
        files("posinfo.no_such_module")
