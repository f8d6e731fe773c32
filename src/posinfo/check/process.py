"""Starts the process in which a function runs, and turns what comes of it into a result."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from posinfo.check.result import CheckInfo, Finding, Nearest, Result
from posinfo.check.target import TIMEOUT, Target
from posinfo.errors import InputError

#: Seconds that importing torch may take, on a machine with much else to do.
START_SECONDS = 300.0

_SOURCE = str(Path(__file__).resolve().parents[2])


class Broken(RuntimeError):
    """Our own part failed, which is no fault of the function; ``trace`` says where."""

    def __init__(self, problem: str, trace: str = "") -> None:
        super().__init__(f"the check itself failed, please report it: {problem}")
        self.trace = trace


def start(target: Target, *, only: Sequence[str] | None = None, nearest: bool = True) -> "Running":
    """Start the process for a target; it imports torch while the caller does something else."""
    return Running(target, only, nearest)


class Running:
    """A function being checked in a process of its own.

    Use it as a context: at its end nothing that the function started is left.
    """

    def __init__(self, target: Target, only: Sequence[str] | None, nearest: bool) -> None:
        self.target = target
        self._events, given = os.pipe()
        paths = [_SOURCE, os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and module)
            # -P: a torch.py in the working directory must not stand for torch. Warnings of
            # libraries are not the reader's.
            [sys.executable, "-P", "-W", "ignore", "-m", "posinfo.check.child", str(given)],
            pass_fds=[given],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        )
        os.close(given)
        request = {
            "target": target.record(),
            "only": list(only) if only is not None else None,
            "nearest": nearest,
            "parent": os.getpid(),
        }
        self._process.stdin.write(json.dumps(request).encode())
        self._process.stdin.close()

    def __enter__(self) -> "Running":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever the function started."""
        # The whole session: copies that the function made of its process, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._events)

    def result(
        self, timeout: float = TIMEOUT, tell: Callable[[str], None] = lambda _: None
    ) -> Result:
        """Wait for the findings.

        Parameters
        ----------
        timeout
            Seconds for the function, counted once torch is there.
        tell
            Is told what is being done, for whoever waits.

        Raises
        ------
        InputError
            If the function cannot be run: its file, its name or its parameters are wrong.
        Broken
            If our own part failed.
        """
        result = Result(self.target)
        asked = ""
        self._deadline = time.monotonic() + START_SECONDS
        tell("importing torch")
        started = False
        for event in self._lines():
            match event.pop("event"):
                case "ready":
                    started = True
                    self._deadline = time.monotonic() + timeout
                    tell(f"importing {self.target.file}")
                case "loaded":
                    checks = event.pop("checks")
                    result.known = [CheckInfo(**check) for check in checks]
                    result.form, result.text = event["form"], event["text"]
                    result.axes, result.notes = event["axes"], event["notes"]
                case "asking":
                    asked = event["check"]
                    tell(asked or "looking for what it is like")
                case "finding":
                    found = Finding(**event)
                    result.findings.append(found)
                    if found.check == "pairing" and found.outcome == "holds":
                        result.layout = found.words
                    asked = ""
                case "tables":
                    result.tables = event["layout"]
                    if event["note"]:
                        result.notes.append(event["note"])
                case "noted":
                    result.notes.append(event["words"])
                case "layout":
                    result.layout = event["layout"] or result.layout
                case "axes":
                    result.other_axes = event["axes"]
                case "diagnosis":
                    result.diagnosis = event["lines"]
                case "nearest":
                    result.nearest = Nearest(**event)
                case "refused":
                    raise _Refused(event["problem"])
                case "crashed":
                    raise Broken(event["problem"], event["traceback"])
                case "end":
                    result.complete()
                    return result
        words = self._end(timeout, time.monotonic() >= self._deadline)
        if not started:
            raise Broken(f"its process {words}")
        if not result.checks:
            raise InputError(self.target.file, f"cannot be imported: {words}")
        if len(result.findings) < len(result.checks):
            result.ended(asked, words)
        result.complete()
        return result

    def _end(self, timeout: float, late: bool) -> str:
        """How the process ended without a word, in words."""
        if late:
            return f"hangs: no answer within {timeout:g} s (--timeout gives it more)"
        status = self._process.wait()
        if status < 0:
            name = signal.Signals(-status).name
            if name == "SIGKILL":
                return f"the process was killed ({name}): by itself, or for lack of memory"
            crashes = name in ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE")
            return f"{'crashes the interpreter' if crashes else 'ends the process'} ({name})"
        return f"ends the process (exit status {status}), as os._exit does"

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Events until the process is gone or the time is up."""
        held = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._events, selectors.EVENT_READ)
            while (left := self._deadline - time.monotonic()) > 0:
                # Copies of the process hold the pipe open: it may be over without an end of file.
                if selector.select(min(left, 0.2)):
                    data = os.read(self._events, 65_536)
                    if not data:
                        return
                    *lines, held = (held + data).split(b"\n")
                    for line in lines:
                        yield json.loads(line)
                elif self._process.poll() is not None:
                    return


class _Refused(InputError):
    """The child's own words, which name the place already."""

    def __init__(self, text: str) -> None:
        Exception.__init__(self, text)
