"""Make the lock anew: constraints.txt and environment.yml, from the pins in pyproject.toml.

``make lock`` runs this. pip resolves the package with its extras ``dev``, ``peers`` and
``pretrained``, for the Python that runs this file, without installing anything, and what it would
install becomes the lock. The standard library is enough, so that it needs no environment of its
own.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The Python that the lock is made for; newer ones use the same versions.
PYTHON = (3, 11)
#: What conda installs itself; everything else comes through pip, for both roads to be the same.
CONDA = (f"python={PYTHON[0]}.{PYTHON[1]}", "pip>=23.2")

CONSTRAINTS_HEADER = """\
# The full lock: every package of the project, of its extras "dev", "peers" and "pretrained" and of
# what these need, in the version that the results were made with. Made by `make lock` from the pins
# in pyproject.toml; do not edit. Use it as in `pip install -c constraints.txt -e ".[dev,peers]"`.
# A build of torch for graphics cards needs further packages, whose versions torch itself fixes.
"""

ENVIRONMENT_HEADER = """\
# The lock of constraints.txt for users of conda: Python and pip come from conda, all else through
# pip. Made by `make lock`; do not edit. After
#     conda env create -f environment.yml && conda activate posinfo
# plain `snakemake --cores 4` does the main job. The small build of torch, for processors alone,
# comes from the index that you name in the environment variable PIP_EXTRA_INDEX_URL.
"""


def normal(name: str) -> str:
    """A package's name as registries compare it.

    >>> normal("typing_extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def resolve(folder: Path) -> dict[str, str]:
    """Let pip resolve the package in a folder with its extras: name to version."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        subprocess.run(  # noqa: S603  (our own interpreter, no user's text)
            [
                sys.executable, "-m", "pip", "install", "--quiet", "--dry-run",
                "--ignore-installed", "--report", str(report), f"{folder}[dev,peers,pretrained]",
            ],
            check=True,
        )  # fmt: skip
        installed = json.loads(report.read_text(encoding="utf-8"))["install"]
    pins = {}
    for package in installed:
        name = normal(package["metadata"]["name"])
        if name != "posinfo":
            # A local label such as +cpu tells builds of one version apart; the lock allows any.
            pins[name] = package["metadata"]["version"].partition("+")[0]
    return pins


def constraints_text(pins: dict[str, str]) -> str:
    """The lock as pip's constraints."""
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    return CONSTRAINTS_HEADER + "".join(lines)


def environment_text(pins: dict[str, str]) -> str:
    """The lock as a conda environment."""
    lines = ["name: posinfo", "channels:", "  - conda-forge", "dependencies:"]
    lines += [f"  - {package}" for package in CONDA]
    lines += ["  - pip:"]
    lines += [f"      - {name}=={version}" for name, version in sorted(pins.items())]
    return ENVIRONMENT_HEADER + "\n".join(lines) + "\n"


def main() -> None:
    """Write both files."""
    if sys.version_info[:2] != PYTHON:
        found, wanted = (".".join(map(str, version)) for version in (sys.version_info[:2], PYTHON))
        sys.exit(f"tools/lock.py: runs on Python {found}, the lock is made on {wanted}: "
                 f"make lock PYTHON=python{wanted}")  # fmt: skip
    pins = resolve(ROOT)
    (ROOT / "constraints.txt").write_text(constraints_text(pins), encoding="utf-8")
    (ROOT / "environment.yml").write_text(environment_text(pins), encoding="utf-8")
    print(f"constraints.txt and environment.yml: {len(pins)} packages")


if __name__ == "__main__":
    main()
