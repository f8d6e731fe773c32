"""The process in which a reader's function runs, and nothing else does.

    python -P -m posinfo.check.child FILE_DESCRIPTOR < request

It imports torch, then the file, asks the battery's questions, and says what it finds as lines of
JSON on a pipe of its own: standard output belongs to the function. Whatever the function does to
this process, the lines written before have arrived.
"""

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import io
import json
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NoReturn

from posinfo import numerics
from posinfo.battery.base import PLACE, Battery, Check, Finding, Misbehaviour, examine, stated
from posinfo.battery.signatures import AXES, recognise
from posinfo.check.target import Target, no_such
from posinfo.errors import InputError, nearest

# torch, and what imports it, is imported by main, after the environment is set.

#: Name of the check that looks at what the calls of all other checks did beside rotating.
ALONE = "keeps to itself"

#: Statements about how positions become angles: they say nothing of a function that is handed
#: angles, for it computes none.
FROM_POSITIONS = frozenset(
    (
        "A21",
        "A23",
        "A24",
        "A25",
        "A40",
        "B20",
        "B24",
        "B30",
        "B31",
        "B32",
        "B44",
        "B45",
        "B63",
        "B67",
        "B76",
    )
)

#: How the name begins under which the file is imported.
CHECKED = "_posinfo_checked_"

#: The longest words of a finding: a function may raise a whole tensor.
LONGEST = 400

#: Audit events of Python that tell what else a call did, in words.
_EVENTS = {
    "os.fork": "starts another process (os.fork)",
    "os.forkpty": "starts another process (os.forkpty)",
    "os.posix_spawn": "starts another process (os.posix_spawn)",
    "os.system": "starts another process (os.system)",
    "os.exec": "replaces the process (os.exec)",
    "subprocess.Popen": "starts another process (subprocess)",
}


def _by_the_function() -> bool:
    """Whether what happens now is the function's own doing, and not torch's, as its compiler's."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith(CHECKED):
            return True
        if name.startswith("torch."):
            return False
        frame = frame.f_back
    return True


def _place(error: BaseException) -> str:
    """The last line of the reader's file that an exception came through, as ``rope.py:27``."""
    place, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith(CHECKED):
            place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


class Watch:
    """Notes what the function does beside its task, call by call.

    Parameters
    ----------
    output
        The file that standard output was led into: all that any library writes there.
    """

    def __init__(self, output: IO[bytes]) -> None:
        self.owner = os.getpid()
        self.output = output
        self.read = 0
        self.inside = False
        self.did: dict[str, None] = {}
        self.printed = ""
        sys.addaudithook(self._heard)
        # No event tells of threads in every version of Python.
        start = threading.Thread.start

        @functools.wraps(start)
        def noted(thread: threading.Thread) -> None:
            if self.inside and _by_the_function():
                self.did.setdefault("starts a thread")
            start(thread)

        threading.Thread.start = noted

    def _heard(self, event: str, _: tuple[Any, ...]) -> None:
        if self.inside and event in _EVENTS and _by_the_function():
            self.did.setdefault(_EVENTS[event])

    @property
    def copied(self) -> str:
        """What it did to make a copy of this process, in words; empty if it did not."""
        return next((words for words in self.did if "fork" in words), "")

    def written(self) -> str:
        """What came out on standard output since the last call."""
        for stream in (sys.__stdout__, sys.stdout):
            # Closed, or replaced by what is no stream: then nothing waits in it.
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        if _LIBC:
            _LIBC.fflush(None)
        end = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), min(end - self.read, 4096), self.read)
        self.read = end
        return text.decode(errors="replace")

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """One call of the function."""
        import torch

        # What the battery holds for standard output while it calls, to see what is printed.
        stream = sys.stdout
        held = isinstance(stream, io.StringIO)
        before = stream.tell() if held else 0
        # Every input is drawn from a generator of its own: a call leaves this state as it was.
        state = torch.get_rng_state()
        self.inside = True
        try:
            yield
        except (Exception, SystemExit) as error:
            # An exception of its own may take no attributes.
            with contextlib.suppress(Exception):
                setattr(error, PLACE, _place(error))
            raise
        except BaseException as error:
            # KeyboardInterrupt, or an exception of its own that derives from BaseException.
            said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
            at = f", at {place}" if (place := _place(error)) else ""
            raise Misbehaviour(f"raises {said}{at}") from error
        finally:
            self.inside = False
            if os.getpid() != self.owner:
                # A copy that the function made of this process must not go on as this one.
                os._exit(0)
            if not torch.equal(torch.get_rng_state(), state):
                self.did.setdefault("changes the state of torch's random numbers")
            text = self.written()
            if held and not stream.closed:
                stream.write(text)
                text = stream.getvalue()[before:]
            self.printed += text[:80]


try:
    _LIBC: Any = ctypes.CDLL(None)
except (OSError, TypeError):  # elsewhere than on Linux and macOS
    _LIBC = None


def watched(function: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """The function, with a look at what it does and at the kind of tensors that it returns."""
    from torch import Tensor

    @functools.wraps(function, updated=())
    def call(*arguments: Any, **named: Any) -> Any:
        if watch.copied:
            # Each further copy would take long, and say no more.
            raise Misbehaviour(watch.copied)
        with watch.call():
            found = function(*arguments, **named)
        if watch.copied:
            raise Misbehaviour(watch.copied)
        for part in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(part, Tensor):
                _check_kind(part)
        return found

    return call


def _check_kind(x: Any) -> None:
    """Refuse tensors that hold no real numbers here.

    Raises
    ------
    Misbehaviour
        Naming what the tensor is.
    """
    if x.device.type != "cpu":
        raise Misbehaviour(f"returns a tensor on the device {x.device.type!r}")
    if str(x.layout) != "torch.strided":
        raise Misbehaviour(f"returns a tensor of layout {x.layout}")
    if x.is_complex():
        raise Misbehaviour(f"returns complex numbers ({str(x.dtype).removeprefix('torch.')})")
    if x.is_quantized or x.dtype.itemsize == 0:
        raise Misbehaviour(f"returns a tensor of type {x.dtype}")


def alone(watch: Watch) -> Check:
    """The check of what the function did beside rotating, in all calls so far."""

    def ask(_: Any) -> Finding:
        import torch

        did = list(watch.did)
        if watch.printed:
            first = watch.printed.strip().partition("\n")[0][:60]
            did.append(f"prints {first!r}")
        if torch.get_default_dtype() != torch.float32:
            did.append("changes torch's default dtype")
        return stated(not did, ", ".join(did))

    return Check(ALONE, "starts no process and no thread, prints in no call", "", ask)


# --- the file ---------------------------------------------------------------------------------


def load(target: Target) -> Callable[..., Any]:
    """Import the target's file by its path and return the function.

    Raises
    ------
    InputError
        If it cannot be imported, naming the line, or has no such function.
    """
    path = Path(target.file).resolve()
    # A name that no other module has, and the file's folder for what stands beside it; torch and
    # all of ours are there already, so a file called torch.py shadows nothing.
    name = f"{CHECKED}{path.stem}"
    sys.path.insert(0, str(path.parent))
    sys.dont_write_bytecode = True
    from importlib.machinery import SourceFileLoader

    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"{target.file} line {error.lineno}", f"is not Python: {error.msg}") from (
            error
        )
    except BaseException as error:
        said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
        raise InputError(_line(target, path, error), f"cannot be imported: {said}") from error
    found: Any = module
    for number, part in enumerate(target.function.split(".")):
        try:
            found = getattr(found, part)
        except Exception as error:
            if number:
                raise InputError(target.name, f"has no attribute {part!r}") from error
            functions = [n for n, v in vars(module).items() if callable(v) and n[0] != "_"]
            raise InputError(target.file, no_such(part, functions)) from error
    if isinstance(found, type):
        raise InputError(
            target.name, "is a class: name a function, or an instance that can be called"
        )
    if not callable(found):
        raise InputError(
            target.name, f"is not callable: it is a value of type {type(found).__name__}"
        )
    return found


def _line(target: Target, path: Path, error: BaseException) -> str:
    """The file, and the last of its lines that an exception came through."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.realpath(frame.filename) == str(path)
    ]
    return f"{target.file} line {lines[-1]}" if lines else target.file


# --- the questions ----------------------------------------------------------------------------


def ask(battery: Battery, check: Check, rotary: Any) -> Finding:
    """One check's finding, whatever the function's result does to it."""
    try:
        [finding] = examine(battery, lambda: rotary, only=[check.name])
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return Finding(check.name, "fails", f"its result or exception cannot be read: {said}")
    return finding


def decided(check: Check, takes_positions: bool) -> list[str]:
    """The lessons' statements that a check decides for such a function."""
    return [name for name in check.decides if takes_positions or name not in FROM_POSITIONS]


def run(request: dict[str, Any], say: Callable[..., None], output: IO[bytes]) -> None:
    """Answer a request: a target, which checks to ask, and whether to look for the nearest fault.

    Raises
    ------
    InputError
        If the function cannot be run.
    """
    target = Target(**request["target"])
    import torch  # noqa: F401

    from posinfo.battery import forms
    from posinfo.battery.rotary import BATTERY, Probe

    only: Sequence[str] | None = request["only"]
    watch = Watch(output)
    known = (*BATTERY.checks, alone(watch))
    for name in only or ():
        if name not in {check.name for check in known}:
            names = [check.name for check in known]
            raise InputError("--only", f"there is no check {name!r}: {nearest(name, names)}")
    say("ready")
    function = load(target)
    signature = recognise(function, target.name, target.signature)
    loading = watch.written()
    adapted = forms.subject(
        watched(function, watch),
        signature,
        name=target.name,
        axes=target.axes,
        rotary_dim=target.rotary_dim,
        last_position=target.last_position,
    )
    rotary = adapted.rotary
    say(
        "loaded",
        form=signature.form.name,
        text=signature.form.text,
        axes=adapted.axes,
        notes=[f"prints {loading.strip()[:60]!r} while it is imported"] if loading else [],
        checks=[
            {
                "name": check.name,
                "promise": check.promise,
                "unit": check.unit,
                "decides": decided(check, rotary.takes_positions),
                "asked": only is None or check.name in only,
            }
            for check in known
        ],
    )
    battery = replace(BATTERY, checks=known)
    rejected = []
    for check in known:
        if only is not None and check.name not in only:
            continue
        say("asking", check=check.name)
        if "runs" in rejected and check.name != ALONE:
            # It would raise the same in each, and says nothing of rotations.
            finding = Finding(check.name, "not asked", "it does not run")
        else:
            finding = ask(battery, check, rotary)
        if finding.rejects:
            rejected.append(check.name)
        say("finding", **_record(finding))
    say("asking", check="")
    tables = getattr(adapted, "tables", None)
    if tables:
        say("tables", layout=tables[0], batched=tables[1], note=adapted.note)
    if getattr(adapted, "batched", False):
        say("noted", words="takes positions with a batch, [B, T]")
    try:
        say("layout", layout=Probe(rotary).layout())
    except Exception:  # it answers nothing that a layout could be read off
        say("layout", layout=None)
    if rejected and request["nearest"]:
        # Advice on a function that may do anything: without it the findings stand.
        with contextlib.suppress(Exception):
            _help(target, watch, battery, adapted.axes, rejected, say)


def _help(
    target: Target,
    watch: Watch,
    battery: Battery,
    used: str,
    rejected: Sequence[str],
    say: Callable[..., None],
) -> None:
    """For a function that fails: whether other axes would be right, or which fault it is like.

    The file is imported anew each time, for a function may keep what it was asked before.
    """
    from posinfo.battery import forms

    # By its name: the suite that uses this process depends on no fault, and is not to run again
    # after an edit to one.
    nearest_fault = importlib.import_module("posinfo.battery.nearest").nearest_fault

    def anew(axes: str) -> Any:
        function = load(target)
        return forms.subject(
            watched(function, watch),
            recognise(function, target.name, target.signature),
            name=target.name,
            axes=axes,
            rotary_dim=target.rotary_dim,
            last_position=target.last_position,
        ).rotary

    checks = [check for check in battery.checks if check.name != ALONE]
    rejected = [name for name in rejected if name != ALONE]
    if not rejected:
        return
    for axes in AXES if target.axes is None else ():
        if axes == used:
            continue
        other = anew(axes)
        # The first that fails decides: most axes are refused by the first check.
        if all(not ask(battery, check, other).rejects for check in checks):
            say("axes", axes=axes)
            return
    subject = anew(used)
    if "runs" in rejected:
        # The others were not asked: which of them reject it tells faults apart.
        rejected = [check.name for check in checks if ask(battery, check, subject).rejects]
    found = nearest_fault(subject, rejected)
    if found is not None and found.share == 1:
        lines = []
    else:
        lines = importlib.import_module("posinfo.battery.diagnosis").diagnose(anew(used))
    say("diagnosis", lines=lines)
    # Many faults fail the same checks: that tells less than what was read off.
    if found is None or (lines and found.compared == "checks"):
        return
    fault, share, compared, same = found
    # What does not run, or gives no such tensor, has no results to compare: it is like a fault of
    # which the same is said.
    ends = [check for check in battery.checks if check.name in ("runs", "shape")]
    ends = [check for check in ends if check.name in rejected]
    if all(_said(battery, check, subject) == _said(battery, check, fault.make()) for check in ends):
        if ends:
            compared = "results"
        hint = fault.hint if compared == "results" else ""
        say("nearest", name=fault.name, hint=hint, wrong=fault.wrong, share=share,
            compared=compared, same=same)  # fmt: skip


def _said(battery: Battery, check: Check, subject: Any) -> str:
    """What a check says of a subject, without the input."""
    return ask(battery, check, subject).words.partition(" for x of ")[0]


def _record(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "outcome": finding.outcome,
        "words": finding.words[:LONGEST] + ("…" if len(finding.words) > LONGEST else ""),
        "measured": None if finding.measured is None else float(finding.measured),
        "bound": None if finding.bound is None else float(finding.bound),
        "notes": list(finding.notes),
    }


def main() -> None:
    """Read the request, answer it, and end without waiting for what the function started."""
    request = json.loads(sys.stdin.buffer.read())
    _end_with_parent(request["parent"])
    numerics.set_environment()
    answer(request, int(sys.argv[1]))


def answer(request: dict[str, Any], events: int) -> NoReturn:
    """Answer a request on a pipe, and end this process.

    Parameters
    ----------
    request
        A target, which checks to ask, and whether to look for the nearest fault.
    events
        The pipe's descriptor.
    """
    owner = os.getpid()
    output = tempfile.TemporaryFile()  # noqa: SIM115  (it stays open as long as this process)
    os.dup2(output.fileno(), 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)

    def say(event: str, **content: Any) -> None:
        if os.getpid() == owner:
            # Python's own words for infinity: both ends are ours.
            line = json.dumps({"event": event, **content}, ensure_ascii=False) + "\n"
            os.write(events, line.encode(errors="replace"))

    try:
        numerics.torch_with_profile()
        run(request, say, output)
        say("end")
    except InputError as error:
        say("refused", problem=str(error))
    except BaseException as error:
        say("crashed", problem=" ".join(f"{type(error).__name__}: {error}".split()),
            traceback=traceback.format_exc())  # fmt: skip
    finally:
        # Not sys.exit, which would wait for threads of the function.
        os._exit(0)


def _end_with_parent(parent: int) -> None:
    """Let the kernel end this process when the one that started it dies: a function may hang."""
    if sys.platform == "linux" and _LIBC:
        _LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    main()
