"""What a rehearsal measures: the machines, the settings on each, the suites, and how it is asked.

Nothing here can put the profile out of effect for a run: a run measures by :mod:`posinfo.measure`,
which always sets it, and knows nothing of rehearsals. What a rehearsal measures lies in folders of
its own, and its records of environments say which settings were in effect.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from posinfo import numerics
from posinfo.catalogue import SUITES

#: Debian's name of the emulator, and the package that it is in.
EMULATOR, PACKAGE = "qemu-x86_64", "qemu-user"

#: Suites that are not rehearsed, and why.
LEFT_OUT = {
    "trained": "it reads weights whose training differs between machines in any case",
    "pretrained": "it reads accepted readings and measures nothing",
}
REHEARSED = tuple(suite for suite in SUITES if suite not in LEFT_OUT)

#: The variables that say how many threads there are.
THREADS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
#: What else the numerical libraries read from the environment begins with one of these.
_PREFIXES = (
    "ATEN_", "DNNL_", "GOMP_", "KMP_", "MKL_", "NPY_", "OMP_", "ONEDNN_", "OPENBLAS_", "TORCH_",
)  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A processor to measure on.

    Attributes
    ----------
    name
        As the emulator names it; ``native`` is the processor that is there.
    title
        What it is, for readers.
    avx2
        Whether it must have AVX2, and no AVX-512; None of the processor that is there.
    """

    name: str
    title: str
    avx2: bool | None = None

    @property
    def emulated(self) -> bool:
        """Whether the emulator is needed."""
        return self.avx2 is not None


#: From before AVX, with AVX2 from each of two vendors, and whatever is there.
MACHINES = (
    Machine("native", "this machine"),
    Machine("Westmere", "Intel Xeon of 2010, without AVX", avx2=False),
    Machine("Haswell", "Intel Xeon of 2013, with AVX2", avx2=True),
    Machine("EPYC", "first AMD EPYC, of 2017, with AVX2", avx2=True),
)


@dataclass(frozen=True)
class Configuration:
    """A machine with settings: one process measures all suites in it.

    Attributes
    ----------
    machine
        The processor.
    profile
        Whether the numerical profile is in effect, its number of threads aside.
    threads
        Threads of each numerical library.
    """

    machine: Machine
    profile: bool
    threads: int

    @property
    def name(self) -> str:
        """The name of its folder, such as ``Haswell-profile-1``."""
        return f"{self.machine.name}-{'profile' if self.profile else 'plain'}-{self.threads}"

    @property
    def columns(self) -> dict[str, Any]:
        """How tables name it."""
        return {
            "machine": self.machine.name,
            "profile": "on" if self.profile else "off",
            "threads": self.threads,
        }

    def environment(self, inherited: Mapping[str, str], source: str) -> dict[str, str]:
        """The environment of its process: nothing numerical is inherited.

        Parameters
        ----------
        inherited
            The environment of this process.
        source
            The folder that holds the package.
        """
        kept = {name: value for name, value in inherited.items() if not name.startswith(_PREFIXES)}
        profile = numerics.ENVIRONMENT if self.profile else {}
        threads = dict.fromkeys(THREADS, str(self.threads))
        # Threads that wait for each other by turning round take all the time that others need.
        waiting = {"OMP_WAIT_POLICY": "passive"} if self.threads > 1 else {}
        own = {"PYTHONPATH": source, "PYTHONUNBUFFERED": "1"}
        return {**kept, **profile, **threads, **waiting, **own}

    def command(self, emulator: str | None, arguments: Sequence[str]) -> list[str]:
        """The command that starts Python with ``arguments`` on its machine.

        Parameters
        ----------
        emulator
            Path of the emulator; not needed for the processor that is there.
        arguments
            What Python is given.
        """
        python = [sys.executable, *arguments]
        if not self.machine.emulated:
            return python
        if emulator is None:
            raise ValueError(f"{self.name} needs {EMULATOR}")
        return [emulator, "-cpu", self.machine.name, *python]

    def wrong(self, found: Mapping[str, Any]) -> list[str]:
        """What of the settings in effect is not as asked, a phrase each.

        Parameters
        ----------
        found
            ``numerics`` as :func:`posinfo.numerics.effective` has them, ``variables`` of the
            profile that are set, and ``cpu``, as :func:`torch.cpu.get_capabilities` has it.
        """
        expected = {
            "numerics.torch_threads": self.threads,
            "numerics.torch_deterministic": self.profile,
            "numerics.torch_mkldnn": not self.profile,
            "variables": {
                **(numerics.ENVIRONMENT if self.profile else {}),
                **dict.fromkeys(THREADS, str(self.threads)),
            },
        }
        if self.profile:
            expected["numerics.torch_cpu_capability"] = "DEFAULT"
            expected["numerics.numpy_dispatched_features"] = []
        if self.machine.avx2 is not None:
            expected |= {"cpu.avx2": self.machine.avx2, "cpu.avx512_f": False}
        wrong = []
        for key, value in expected.items():
            there: Any = found
            for part in key.split("."):
                there = there.get(part) if isinstance(there, Mapping) else None
            if there != value:
                wrong.append(f"{key} is {there!r}, asked was {value!r}")
        return wrong


#: What everything is compared with: this machine, under the whole profile.
REFERENCE = Configuration(MACHINES[0], profile=True, threads=1)


def configurations(names: Sequence[str] = ()) -> list[Configuration]:
    """The configurations of these machines, or of all; the reference always, and first.

    What the profile promises comes before what it does not.
    """
    found = [
        Configuration(machine, profile, threads)
        for profile, threads, machine in product((True, False), (1, 2), MACHINES)
        if not names or machine.name in names
    ]
    return [REFERENCE, *(one for one in found if one != REFERENCE)]


def parameters(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What each suite is told, as in a run; functions of the config are not asked anew.

    They would run in processes of their own, on which no emulator is.
    """
    from posinfo.parameters import suite_parameters

    told = {suite: suite_parameters(config, suite) for suite in REHEARSED}
    told["implementations"]["implementations"] = []
    return told


def cores() -> int:
    """Processes side by side, if nothing else is asked: one a core."""
    return os.cpu_count() or 1
