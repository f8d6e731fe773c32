"""Implementations under the rotary battery: the four of this library, and those of the config."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor

from posinfo.battery.base import Finding, examine
from posinfo.battery.rotary import BATTERY, Rotary
from posinfo.catalogue import OUR_IMPLEMENTATIONS
from posinfo.check import child
from posinfo.check.process import start
from posinfo.check.target import Target
from posinfo.encodings import rotary
from posinfo.errors import InputError
from posinfo.suites.base import Recorder, Suite

SUITE = Suite(
    "implementations",
    "Implementations of rotary embeddings, ours and those of the config",
    columns=("file", "form", "layout", "finding"),
)

_FILE = "src/posinfo/encodings/rotary.py"


def _by_matrix(x: Tensor, angles: Tensor) -> Tensor:
    return rotary.rotate_by_matrix(x, rotary.rotation_matrices(angles)).to(x.dtype)


def _by_complex(x: Tensor, angles: Tensor) -> Tensor:
    # The library's function takes [B, T, h, d], as the code that it is after.
    flat = x.reshape(-1, x.shape[-2], 1, x.shape[-1])
    return rotary.rotate_complex(flat, flat, rotary.unit_complex(angles))[0].reshape(x.shape)


_ROTATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = dict(
    zip(
        OUR_IMPLEMENTATIONS,
        (rotary.rotate_adjacent, rotary.rotate_half_split, _by_complex, _by_matrix),
        strict=True,
    )
)


def _subject(name: str) -> Rotary:
    """One of ours as the battery asks it."""
    rotate = _ROTATIONS[name]

    def turn(q: Tensor, k: Tensor, positions: Tensor, base: float) -> tuple[Tensor, Tensor]:
        angles = rotary.angles(positions, rotary.frequencies(q.shape[-1], base))
        return rotate(q, angles), rotate(k, angles)

    return Rotary(name, turn)


@SUITE.case("battery")
def battery(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Each implementation, check by check: ours in this process, others in one of their own."""
    for name in _ROTATIONS:
        findings = examine(BATTERY, lambda name=name: _subject(name))
        layout = next(finding.words for finding in findings if finding.check == "pairing")
        _assert(rows, name, findings, file=_FILE, form="f(x, positions[, base])", layout=layout)
    for entry in parameters["implementations"]:
        _listed(rows, dict(entry), parameters["timeout"])


def _listed(rows: Recorder, entry: dict[str, Any], timeout: float) -> None:
    """A function of the config; one that cannot be run is a row that fails."""
    name = entry.pop("name")
    target = Target(**entry)
    try:
        with start(target, nearest=False) as running:
            result = running.result(timeout)
    except InputError as error:
        _assert(rows, name, [Finding("runs", "fails", f"cannot be run: {error}")], file=target.file)
        return
    _assert(rows, name, result.findings, file=target.file, form=result.text, layout=result.layout)


def _assert(rows: Recorder, name: str, findings: Iterable[Any], **columns: object) -> None:
    """A row a check that was asked: within its bound where it measures, or that it holds."""
    for finding in findings:
        if finding.outcome == "not asked":
            continue
        common = {
            "subject": name, "evidence": "float32", "finding": finding.words, **columns,
        }  # fmt: skip
        measured, bound = finding.measured, finding.bound
        if measured is not None and math.isfinite(measured) and math.isfinite(bound):
            rows.within(finding.check, measured, 0.0, bound=bound,
                        basis="rounding analysis: posinfo.battery.rotary", **common)  # fmt: skip
        else:
            words = f"{finding.outcome}: {finding.words}" if finding.words else finding.outcome
            rows.equals(finding.check, "holds" if finding.outcome == "holds" else words, "holds",
                        basis="what a rotary embedding promises", **common)  # fmt: skip


#: Part of what the rows depend on: it runs in the other process.
_CHILD = child.main
