"""The command ``check``: the rotary battery on a reader's own function."""

import sys
from typing import Annotated

import typer
from typer import Exit, Option

from posinfo import __version__
from posinfo.battery.signatures import AXES, FORMS
from posinfo.check.process import start
from posinfo.check.result import Result
from posinfo.check.statements import decide
from posinfo.check.target import TIMEOUT, Target, check_exists, parse
from posinfo.claims import Claim, load_claims
from posinfo.cli.common import (
    CLAIMS_SCHEMA,
    CONFIG,
    ROOT,
    SCHEMA,
    TEMPLATES,
    check_page,
    console,
    print_json,
    write_page,
)
from posinfo.errors import InputError, nearest
from posinfo.schemas import load_yaml

#: Widths up to which a part of a head may be declared to rotate: the battery's widest.
WIDEST = 128
#: Where a table may be declared to end: after the positions that every check asks about, and
#: where float32 ends to hold each whole number.
FIRST_END, LAST_END = 255, 2**24


def check(
    target: Annotated[
        str, typer.Argument(metavar="FILE.py:FUNCTION", help="A file, and a function in it.")
    ],
    signature: Annotated[
        str | None,
        Option(
            metavar="FORM",
            help="How the function is called, if its parameters do not tell: "
            f"{', '.join(FORMS)}. Its parameters are then taken in their order.",
        ),
    ] = None,
    axes: Annotated[
        str | None,
        Option(
            metavar="AXES",
            help=f"Axes of its queries and keys: {', '.join(AXES)}, for batch, heads, positions t "
            "and dimensions d; td takes any number of axes before these two.",
        ),
    ] = None,
    rotary_dim: Annotated[
        int | None,
        Option(
            metavar="N",
            help="It rotates the first N dimensions of a head and leaves the others alone.",
        ),
    ] = None,
    last_position: Annotated[
        int | None,
        Option(metavar="N", help="It has a table, of which N is the last position."),
    ] = None,
    only: Annotated[
        list[str] | None,
        Option(metavar="CHECK", help="Ask this check alone; may be given several times."),
    ] = None,
    timeout: Annotated[
        float,
        Option(metavar="SECONDS", help="Time that the function may take for all checks together."),
    ] = TIMEOUT,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON: README.md says what its keys mean.")
    ] = False,
    html: Annotated[
        str | None, Option(metavar="FILE", help="Write a page in the style of the report, too.")
    ] = None,
) -> None:
    """Check a rotary embedding of your own.

    The function runs in a process of its own: on positions from 0 to
    131,072, whole and fractional, in any order, on heads of 8, 64 and 128
    dimensions, in several batch shapes. Both layouts of pairs are right.
    A line a property says what was measured and within which bound; for a
    wrong function follows the known fault that it behaves like.

    Its form is recognised by the names of its parameters:

    \b
    f(x, positions[, base])   posinfo check rope.py:rotate
    f(x, angles)              posinfo check lesson_a.py:apply_rope
    f(xq, xk, freqs_cis)      posinfo check llama.py:apply_rotary_emb
    f(q, k, cos, sin)         posinfo check qwen.py:apply_rotary_pos_emb

    Where they have other names, or the function takes other axes or less:

    \b
    posinfo check rope.py:turn --signature positions --axes bthd
    posinfo check neox.py:rotate --rotary-dim 32 --last-position 2047

    Exit status: 0 all hold, 1 something does not, 2 it cannot be run.
    """  # noqa: D301  (the mark keeps the lines below it apart)
    file, function = parse(target)
    _check_options(signature, axes, rotary_dim, last_position, timeout)
    asked = Target(file, function, signature, axes, rotary_dim, last_position)
    check_exists(asked)
    if html is not None:
        check_page(html)
    # The claims are read while the other process imports torch.
    with start(asked, only=only) as running:
        claims = _claims()
        result = _waiting(running, timeout)
    result.claims = decide(result, claims)
    if html is not None:
        _write(html, result)
    if as_json:
        print_json(result.record())
    else:
        _show(result)
    if not result.good:
        raise Exit(1)


def _check_options(
    signature: str | None,
    axes: str | None,
    rotary_dim: int | None,
    last_position: int | None,
    timeout: float,
) -> None:
    """Refuse options that make no sense, before anything is started."""
    if signature is not None and signature not in FORMS:
        raise InputError("--signature", f"{signature!r} is unknown: {nearest(signature, FORMS)}")
    if axes is not None and axes not in AXES:
        raise InputError("--axes", f"{axes!r} is unknown: {nearest(axes, AXES)}")
    if rotary_dim is not None and not (2 <= rotary_dim <= WIDEST and rotary_dim % 2 == 0):
        raise InputError("--rotary-dim", f"{rotary_dim} must be even, from 2 to {WIDEST}")
    if last_position is not None and not FIRST_END <= last_position <= LAST_END:
        text = f"{last_position} must be from {FIRST_END} to 2^24"
        raise InputError("--last-position", text)
    if not 0 < timeout < float("inf"):
        raise InputError("--timeout", f"{timeout:g} must be a number of seconds above 0")


def _claims() -> list[Claim]:
    """The claims of the working copy; none if the package was installed without them."""
    if not SCHEMA.is_file():
        return []
    files = [ROOT / path for path in load_yaml(CONFIG)["claims"]]
    return load_claims(files, load_yaml(CLAIMS_SCHEMA))


def _waiting(running: object, timeout: float) -> Result:
    """Wait for the result; on a terminal a line says what is being done."""
    if not sys.stderr.isatty():
        return running.result(timeout)
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text("…")) as status:
        return running.result(timeout, lambda text: status.update(Text(text)))


def _show(result: Result) -> None:
    """Print the result; in a pipe no line ends in spaces."""
    from posinfo.check.show import show

    out = console()
    if sys.stdout.isatty():
        show(result, out)
        return
    with out.capture() as captured:
        show(result, out)
    for line in captured.get().splitlines():
        print(line.rstrip())


def _write(path: str, result: Result) -> None:
    from posinfo.check.page import page

    write_page(path, page(result, str(TEMPLATES), __version__))
