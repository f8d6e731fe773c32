"""Has every configuration measured, each in a process of its own, and goes on where it stopped."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from posinfo import environment
from posinfo.errors import InputError
from posinfo.parameters import SOURCE
from posinfo.pretrained import code
from posinfo.rehearsal.plan import (
    EMULATOR,
    MACHINES,
    PACKAGE,
    REHEARSED,
    Configuration,
    parameters,
)
from posinfo.rehearsal.worker import ENVIRONMENT, LOG, REQUEST
from posinfo.tidy import json_text, write_atomically

#: Where a rehearsal measures, from the folder in which it is started.
FOLDER = Path("results", "rehearsal")
#: The schemas of the suites' rows.
SCHEMAS = SOURCE.parent / "workflow" / "schemas" / "suites"


def emulator(wanted: Sequence[Configuration]) -> str | None:
    """Path of the emulator; None if no configuration needs it.

    Raises
    ------
    InputError
        If one does, and there is none, or it does not know a processor.
    """
    machines = {one.machine.name for one in wanted if one.machine.emulated}
    if not machines:
        return None
    found = shutil.which(EMULATOR)
    if found is None:
        raise InputError(
            EMULATOR,
            f"is not installed; on Debian: apt-get install {PACKAGE}. Without it: posinfo "
            f"rehearse --machine {MACHINES[0].name}",
        )
    known = _said(found, "-cpu", "help").split()
    lacking = sorted(machines.difference(known))
    if lacking:
        raise InputError(found, f"does not know the processor {', '.join(lacking)}")
    return found


def _said(*command: str) -> str:
    """What a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout


def state(config: Mapping[str, Any]) -> dict[str, str]:
    """What the measured rows rest on beside the machine, as digests: the code, and the settings.

    If either is another one now, an accepted table is stale. The code of ``posinfo check`` is no
    part of it, for functions of the config are not asked; nor is which of the packages are there
    that a suite can do without: the record says their versions.
    """
    told = parameters(config)
    for one in told.values():
        one.pop("packages", None)
    modules = ["posinfo.numerics", *(f"posinfo.suites.{suite}" for suite in REHEARSED)]
    return {
        "code": code.digest(SOURCE, modules, aside=(*code.ASIDE, "posinfo/check/")),
        "settings": sha256(json.dumps(told, sort_keys=True).encode()).hexdigest(),
    }


def run(
    wanted: Sequence[Configuration], config: Mapping[str, Any], *, jobs: int, folder: Path = FOLDER
) -> None:
    """Measure what is not measured yet of the configurations.

    Parameters
    ----------
    wanted
        The configurations, in the order in which they begin.
    config
        The whole config, checked before.
    jobs
        How many processes work side by side.
    folder
        Where they write, a folder each.

    Raises
    ------
    InputError
        If the emulator is not there, another rehearsal is at work in the folder, or a process
        ends before its suites are measured: its log is named. The others are measured first.
    """
    found = emulator(wanted)
    version = _said(found, "--version").partition("\n")[0] if found else ""
    asked = _asked(config)
    with _alone(folder), ThreadPoolExecutor(jobs) as pool:
        told = _Progress(len(wanted))
        running = _Running()
        futures = [
            pool.submit(
                _measure,
                one,
                request(one, asked, version),
                found,
                folder / one.name,
                told,
                running,
            )
            for one in wanted
        ]
        try:
            problems = [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            running.end()
            raise
    lines = [line for line in problems if line]
    if lines:
        raise InputError("rehearsal", "; ".join(lines))


def _asked(config: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for in every configuration."""
    return state(config) | {
        "parameters": parameters(config),
        "schemas": {suite: str(SCHEMAS / f"{suite}.yaml") for suite in REHEARSED},
        "packages": environment.packages(),
        "python": environment.python(),
    }


def request(one: Configuration, asked: Mapping[str, Any], version: str) -> dict[str, Any]:
    """What is asked for in one configuration, under this version of the emulator."""
    return {
        "machine": vars(one.machine),
        "profile": one.profile,
        "threads": one.threads,
        **asked,
        "emulator": version if one.machine.emulated else "",
    }


class _Running:
    """The processes that this one has started and that must not outlive it."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self._over = False
        self._lock = threading.Lock()

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[str] | None:
        """Start a process, unless all are to end."""
        with self._lock:
            if self._over:
                return None
            process = subprocess.Popen(command, **options)  # noqa: S603  (our own interpreter)
            self._processes.append(process)
            return process

    def end(self) -> None:
        """End all of them. What they have written they have written whole."""
        with self._lock:
            self._over = True
            for process in self._processes:
                process.terminate()


class _Progress:
    """Lines on standard error, with the time since the start."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._began = total, 0, time.monotonic()
        self._lock = threading.Lock()

    def say(self, name: str, text: str, *, over: bool = False) -> None:
        """Print a line; ``over`` counts one more configuration as done."""
        with self._lock:
            self._done += over
            minutes = (time.monotonic() - self._began) / 60
            count = f", {self._done} of {self._total} configurations" if over else ""
            print(f"{minutes:5.1f} min  {name}: {text}{count}", file=sys.stderr, flush=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: two rehearsals would measure everything twice, into each other."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / "lock", "w", encoding="utf-8")  # noqa: SIM115  (held until the end)
    except OSError as error:
        raise InputError(str(folder), f"cannot be written: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(str(folder), "another rehearsal is at work here") from error
        yield


def _measure(
    one: Configuration, asked: Mapping[str, Any], found: str | None, folder: Path,
    told: _Progress, running: _Running,
) -> str:  # fmt: skip
    """Have one configuration measured; what went wrong, or nothing."""
    if not prepared(folder, asked):
        told.say(one.name, "is measured already", over=True)
        return ""
    told.say(one.name, "begins")
    process = running.start(
        one.command(found, ["-m", "posinfo.rehearsal.worker", str(folder)]),
        env=one.environment(os.environ, str(SOURCE)), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if process is None:
        return f"{one.name} was not begun"
    with open(folder / LOG, "a", encoding="utf-8") as log, process:
        last = ""
        for line in process.stdout or ():
            log.write(line)
            log.flush()
            last = line.strip() or last
            if line.startswith("done "):
                told.say(one.name, line.removeprefix("done ").strip())
    if process.returncode:
        told.say(one.name, "failed", over=True)
        return f"{one.name} ended with status {process.returncode}: {last} (see {folder / LOG})"
    told.say(one.name, "is measured", over=True)
    return ""


def prepared(folder: Path, request: Mapping[str, Any]) -> bool:
    """Make a folder ready for its process; whether anything is left to measure.

    What was measured for another request (other code, settings or versions) is deleted.
    """
    path = folder / REQUEST
    text = json_text(request)
    if not (path.is_file() and path.read_text(encoding="utf-8") == text):
        shutil.rmtree(folder, ignore_errors=True)
        write_atomically(path, text)
    return not is_measured(folder)


def is_measured(folder: Path) -> bool:
    """Whether every suite of a configuration is measured."""
    return (folder / ENVIRONMENT).is_file() and all(
        (folder / f"{suite}.csv").is_file() for suite in REHEARSED
    )


def request_of(folder: Path) -> dict[str, Any]:
    """What a folder was measured for.

    Raises
    ------
    InputError
        If it was not measured, or only in part.
    """
    if not is_measured(folder):
        raise InputError(str(folder), "is not measured, or only in part; see posinfo rehearse")
    return json.loads((folder / REQUEST).read_text(encoding="utf-8"))
