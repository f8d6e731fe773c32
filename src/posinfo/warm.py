"""One process that has imported torch, and measures for every job of a run.

Each suite is a job of its own, so that it can be rerun alone, but importing torch and sympy takes
longer than most suites do. So the first measuring job of a run starts this process; it imports
them once, and forks a copy of itself for each job, which measures as the job would have. A copy
shares no state with another: it begins from the freshly imported libraries. The process ends with
its run, whichever way that ends, and never serves another one. Outside of a run, and where forking
is not safe, everything is measured in the job's own process, with the same result.
"""

import fcntl
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from posinfo import environment, measure, numerics, runlock

#: What the process itself prints, which is nothing while all is well.
LOG = Path("logs/warm.log")
#: How often the process looks whether its run still lives.
LOOK_SECONDS = 0.2


class MeasuringFailed(RuntimeError):
    """The copy that measured for this job failed; its traceback is in the job's log."""


class Measured(NamedTuple):
    """Rows, and what the process that measured them says of itself."""

    rows: list[dict[str, object]]
    environment: dict[str, Any]


def measured(suite: str, parameters: Mapping[str, Any]) -> Measured:
    """Measure a suite through the run's process, or here if there is none.

    The rows are those of :func:`posinfo.measure.measure`, the facts about the process those of
    :func:`posinfo.environment.measuring`; and what is printed goes to this job's standard output
    in either case.

    Raises
    ------
    MeasuringFailed
        If the copy that measured failed outside of the suite's cases.
    """
    asked = {"suite": suite, "parameters": parameters}
    return _shared("measure", asked, lambda: measure.measure(suite, parameters))


def controlled(
    claims: Sequence[Mapping[str, Any]], parameters: Mapping[str, Mapping[str, Any]]
) -> Measured:
    """Decide claims anew under their faults, as :func:`measured` measures a suite.

    The rows are those of :func:`posinfo.controls.control`.

    Raises
    ------
    MeasuringFailed
        If the copy that measured failed outside of the suites' cases.
    """
    asked = {"claims": claims, "parameters": parameters}
    return _shared("control", asked, lambda: _control(**asked))


def _control(**asked: Any) -> list[dict[str, object]]:
    # Imported here: a job that measures a suite knows nothing of claims.
    from posinfo.controls import control

    return control(**asked)


def _shared(
    kind: str, asked: Mapping[str, Any], here: Callable[[], list[dict[str, object]]]
) -> Measured:
    """Have the run's process do what is asked, or do it here."""
    run = runlock.own_run()
    # Elsewhere than on Linux a process that has loaded such libraries may not survive a fork.
    text = b""
    if run and sys.platform == "linux":
        request = json.dumps({"kind": kind, "asked": asked}).encode() + b"\n"
        try:
            text = _ask(run, request)
        except OSError as error:
            print(f"The run's measuring process cannot be asked: {error}", flush=True)
        if not text:
            print("Measuring in this job's own process instead.", flush=True)
    if not text:
        return _with_environment(here())
    result = json.loads(text)
    if "error" in result:
        raise MeasuringFailed(result["error"])
    return Measured(**result)


def _with_environment(rows: list[dict[str, object]]) -> Measured:
    """Rows that this process has measured, with the facts about it: it has imported torch."""
    return Measured(rows, environment.measuring())


def _ask(run: Path, request: bytes) -> bytes:
    """Send a request to the run's process and return its answer, empty if a copy was killed.

    Raises
    ------
    OSError
        If there is no such process, or it is gone.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_place(run))
        # The copy writes into this job's log: it gets the open file itself.
        socket.send_fds(connection, [b"\n"], [1])
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return answer.read()


def _place(run: Path) -> str:
    """Where the process listens; it is started if this is the first job of its run.

    A file beside the run's own says where, so that no other run finds it.
    """
    with open(run.with_suffix(".warm"), "a+", encoding="utf-8") as place:
        fcntl.flock(place, fcntl.LOCK_EX)
        place.seek(0)
        path = place.read()
        if not path:
            path = _start()
            place.write(path)
        return path


def _start() -> str:
    """Start the process and return the path of its socket, in a folder that only we may enter.

    The socket listens before the process imports anything: jobs meanwhile wait in it. It lies
    among temporary files because its path has room for a hundred bytes, and a folder's has not.
    """
    folder = tempfile.mkdtemp(prefix="posinfo-")
    path = os.path.join(folder, "socket")
    LOG.parent.mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as listener, open(LOG, "wb") as log:
        try:
            listener.bind(path)
        except OSError:  # the folder for temporary files has a long path, too
            os.rmdir(folder)
            raise
        listener.listen(64)
        subprocess.Popen(  # noqa: S603  (our own interpreter and module)
            [sys.executable, "-m", "posinfo.warm", str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return path


def serve(listener: socket.socket, run: Path) -> None:
    """Import the libraries, then fork a copy for each connection until the run is over."""
    numerics.set_environment()
    numerics.torch_with_profile()
    import mpmath  # noqa: F401
    import sympy  # noqa: F401

    environment.packages()  # looked up once, and known to every copy
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a copy ended
    with open(run, encoding="utf-8") as lock, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while not runlock.is_over(lock):
            for _ in selector.select(LOOK_SECONDS):
                connection, _ = listener.accept()
                if os.fork() == 0:
                    _answer_and_end(connection)
                connection.close()


def _answer_and_end(connection: socket.socket) -> None:
    """In the copy: measure what the job asks for, answer, and end this process."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        runlock.end_with_run()
        _, [output], _, _ = socket.recv_fds(connection, 1, 1)
        os.dup2(output, 1)
        os.dup2(output, 2)
        with connection.makefile("rb") as asked:
            request = json.loads(asked.readline())
        try:
            work = {"measure": measure.measure, "control": _control}[request["kind"]]
            answer = json.dumps(_with_environment(work(**request["asked"]))._asdict())
        except Exception as error:
            traceback.print_exc()
            answer = json.dumps({"error": " ".join(f"{type(error).__name__}: {error}".split())})
        connection.sendall(answer.encode())
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # Not sys.exit: the copy must not go on as the process that it was forked from.
        os._exit(0)


if __name__ == "__main__":
    own = runlock.own_run()
    with socket.socket(fileno=int(sys.argv[1])) as listening:
        folder = os.path.dirname(listening.getsockname())
        try:
            if own:
                serve(listening, own)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
