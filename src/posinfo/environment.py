"""What a process measures with: versions, processor, and the numerical settings in effect.

Facts are asked of the process itself, and one that cannot be known is left out. Nothing here
changes from run to run on one machine: no clock, no name of a machine, no load.
"""

import json
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from posinfo import numerics
from posinfo.errors import InputError
from posinfo.extras import NEEDED

Facts = dict[str, Any]

#: Packages whose code computes what the suites assert (a test holds them against the imports); the
#: libraries of :data:`posinfo.extras.NEEDED` are measured themselves.
MEASURING = ("mpmath", "numpy", "safetensors", "sympy", "torch")

#: Levels of the x86-64 psABI, each with the flags by which Linux names what it adds.
LEVELS = {
    "x86-64-v1": "cmov cx8 fpu fxsr mmx syscall sse sse2",
    "x86-64-v2": "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3",
    "x86-64-v3": "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}

#: What the kernel calls facts about a processor, and what they are called here.
_CPU = {
    "vendor_id": "vendor",
    "model name": "model",
    "cpu family": "family",
    "model": "model_number",
    "stepping": "stepping",
}
#: Bytes that the format allows for the head of a safetensors file.
_LONGEST_HEAD = 100_000_000
CPUINFO = Path("/proc/cpuinfo")


def measuring() -> Facts:
    """The facts about this process; torch and numpy must be imported.

    Returns
    -------
    dict
        ``python``, ``packages``, ``system``, ``cpu``, the ``numerics`` in effect as torch and
        numpy report them, and the ``variables`` of the profile as they are set.
    """
    return without_unknown(
        {
            "python": python(),
            "packages": packages(),
            "system": {
                "name": platform.system(),
                "machine": platform.machine(),
                "libc": " ".join(platform.libc_ver()).strip(),
            },
            "cpu": cpu(_cpuinfo(), platform.machine()),
            "numerics": numerics.effective(),
            "variables": {name: os.environ.get(name, "") for name in numerics.ENVIRONMENT},
        }
    )


#: What torch and numpy report under the profile; of vector instructions only what x86-64 has is
#: known to be switched off.
_PROFILE = {
    "torch_threads": 1,
    "torch_interop_threads": 1,
    "torch_deterministic": True,
    "torch_mkldnn": False,
}
_PROFILE_X86 = {"torch_cpu_capability": "DEFAULT", "numpy_dispatched_features": []}


def outside_profile(facts: Facts) -> list[str]:
    """Which settings of a process are not those of the numerical profile, a phrase each.

    Parameters
    ----------
    facts
        As :func:`measuring` makes them. A setting that they do not say is not the profile's.
    """
    system, effective, variables = (
        found if isinstance(found := facts.get(part), Mapping) else {}
        for part in ("system", "numerics", "variables")
    )
    x86 = system.get("machine") == "x86_64"
    wanted = _PROFILE | (_PROFILE_X86 if x86 else {})
    others = [
        f"{name} is {effective.get(name)!r}"
        for name, value in wanted.items()
        if effective.get(name) != value
    ]
    others += [
        f"{name} is {variables.get(name, '')!r}"
        for name, value in numerics.ENVIRONMENT.items()
        if variables.get(name) != value
    ]
    return others


def python() -> Facts:
    """The interpreter and its version."""
    return {"implementation": sys.implementation.name, "version": platform.python_version()}


@cache
def packages() -> dict[str, str]:
    """Version of each package that measures or is measured, of those that are there.

    A version keeps its build's label, as in ``2.13.0+cpu``.
    """
    return versions([*MEASURING, *NEEDED["peers"]])


def versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of packages by name, without those that are not there."""
    found = {}
    for name in sorted(names):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def cpu(cpuinfo: str, machine: str) -> Facts:
    """What is known of the processor.

    Parameters
    ----------
    cpuinfo
        The text of Linux's ``/proc/cpuinfo``; empty elsewhere. The first processor counts.
    machine
        The family, as :func:`platform.machine` names it.

    Returns
    -------
    dict
        ``vendor``, ``model``, numbers of family, model and stepping, and the ``level`` of the
        x86-64 psABI; each only if it is known.
    """
    found = {}
    for line in cpuinfo.partition("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        found[name.strip()] = value.strip()
    facts = {ours: found[theirs] for theirs, ours in _CPU.items() if found.get(theirs)}
    if machine == "x86_64" and found.get("flags"):
        facts["level"] = level(found["flags"].split())
    return without_unknown(facts)


def level(flags: Iterable[str]) -> str:
    """The highest level of the x86-64 psABI whose flags, and those of all below, are there.

    >>> level("cmov cx8 fpu fxsr mmx syscall sse sse2 avx2".split())
    'x86-64-v1'
    """
    there, reached = set(flags), ""
    for name, needed in LEVELS.items():
        if not there.issuperset(needed.split()):
            break
        reached = name
    return reached


def _cpuinfo() -> str:
    try:
        return CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def without_unknown(facts: Mapping[str, Any]) -> Facts:
    """Facts without those that are not known: None, or nothing at all in a text or a mapping."""
    kept = {}
    for name, value in facts.items():
        known = without_unknown(value) if isinstance(value, Mapping) else value
        if known is not None and known != "" and known != {}:
            kept[name] = known
    return kept


def read(path: str | Path) -> Facts:
    """Read what a job wrote of its process: a file of its own, or the head of trained weights.

    Raises
    ------
    InputError
        If the file is missing, or is not what it should be.
    """
    if Path(path).suffix == ".safetensors":
        return of_weights(path)
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(str(path), f"is no JSON: {error}") from error
    if not isinstance(facts, dict):
        raise InputError(str(path), "is not an object with facts")
    return facts


def read_all(paths: Iterable[str | Path]) -> tuple[list[Facts], list[str]]:
    """Read several: the facts of each, empty where it cannot be read, and a line for each such."""
    found, problems = [], []
    for path in paths:
        try:
            found.append(read(path))
        except InputError as error:
            found.append({})
            problems.append(str(error))
    return found, problems


def of_weights(path: str | Path) -> Facts:
    """What stands in a file of trained weights about the process that trained them.

    The head of a safetensors file is read without torch: eight bytes with its length, then JSON.
    Weights of before it was written there say nothing, and neither does this.

    Raises
    ------
    InputError
        If the file is missing, or has no such head.
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = json.loads(file.read(min(length, _LONGEST_HEAD)))
        about = json.loads(head["__metadata__"]["about"])
        return dict(about.get("environment", {}))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(str(path), f"is no file of trained weights: {error}") from error
