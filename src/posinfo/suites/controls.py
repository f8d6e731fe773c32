"""Whether the checks themselves work: faulty implementations, rejected as written down, or not."""

from collections.abc import Callable, Mapping
from typing import Any

from posinfo.battery.base import Battery, Check, Finding, examine
from posinfo.battery.catalogue import BATTERIES, checks_of
from posinfo.faults import FAULTS, RIGHT, disturbed, disturbed_kinds, mutants, of_kind
from posinfo.faults.base import Fault
from posinfo.suites.base import Recorder, Suite

SUITE = Suite(
    "controls",
    "Faulty implementations and what rejects them",
    columns=(
        "kind", "fault", "stage", "battery", "check", "place", "excess", "faults", "wrong", "seen",
        "change", "fate", "words",
    ),
)  # fmt: skip

_WRITTEN = "written down with the fault: which checks must reject it"


def _found(kind: str, make: Any) -> dict[str, tuple[str, Finding]]:
    """What every check of a kind finds, by its name, with the name of its battery."""
    return {
        finding.check: (battery.kind, finding)
        for battery in BATTERIES[kind]
        for finding in examine(battery, make)
    }


def _verdict(rejects: bool) -> str:
    return "rejected" if rejects else "accepted"


def _named(fault: Fault) -> dict[str, Any]:
    return {
        "kind": fault.kind,
        "fault": fault.name,
        "stage": fault.stage,
        "faults": len(of_kind(fault.kind)),
    }


@SUITE.case("faults")
def faults(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Each fault in each check of its kind: rejected or accepted, as written down."""
    rejecting: dict[tuple[str, str], int] = {
        (kind, check): 0 for kind in BATTERIES for check in checks_of(kind)
    }
    for place, fault in enumerate(FAULTS, start=1):
        found = _found(fault.kind, fault.make)
        subject = f"faulty: {fault.name}"
        for check, (battery, finding) in found.items():
            rejecting[fault.kind, check] += finding.rejects
            rows.equals(
                f"verdict of {check}", _verdict(finding.rejects),
                _verdict(check in fault.rejected_by),
                subject=subject, evidence="control", basis=_WRITTEN, battery=battery, check=check,
                # An error without end, as that of NaN, has no place in a column of numbers.
                excess=finding.used if finding.used not in (None, float("inf")) else None,
                **_named(fault),
            )  # fmt: skip
        named = found.get(fault.caught_by)
        rows.equals(
            "the check that names it", _verdict(bool(named and named[1].rejects)), "rejected",
            subject=subject, evidence="control", basis=_WRITTEN, check=fault.caught_by,
            place=place, wrong=fault.wrong, seen=fault.seen, **_named(fault),
        )  # fmt: skip
    for place, ((kind, check), count) in enumerate(rejecting.items(), start=1):
        rows.equals(
            f"faults that {check} rejects", "some" if count else "none", "some",
            subject=f"checks of {kind}", evidence="control",
            basis="a check that rejects no fault verifies nothing", kind=kind, check=check,
            place=place, faults=count,
        )  # fmt: skip


@SUITE.case("right implementations")
def right_implementations(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Right implementations, written in several ways: no check may reject them."""
    for kind, made in RIGHT.items():
        for name, make in made.items():
            for check, (battery, finding) in _found(kind, make).items():
                rows.equals(
                    f"verdict of {check}", _verdict(finding.rejects), "accepted",
                    subject=f"right: {name}, {kind}", evidence="control",
                    basis="a right implementation passes every check", kind=kind, battery=battery,
                    check=check, excess=finding.used,
                )  # fmt: skip


@SUITE.case("what the lessons' checks let through")
def let_through(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Faulty rotations in the lessons' own three checks together, and in lesson A's exercise."""
    own = BATTERIES["rotary"][1]
    exercise = "lesson A: equal scores"
    for fault in of_kind("rotary"):
        findings = examine(own, fault.make)
        together = any(finding.rejects for finding in findings)
        alone = any(finding.rejects for finding in findings if finding.check == exercise)
        written = set(fault.rejected_by)
        for quantity, check, rejects, expected in (
            ("the three checks together", "the lessons' three", together,
             bool(written & set(own.names()))),
            ("the exercise alone", exercise, alone, exercise in written),
        ):  # fmt: skip
            rows.equals(
                quantity, _verdict(rejects), _verdict(expected),
                subject=f"faulty: {fault.name}", evidence="control", basis=_WRITTEN, check=check,
                **_named(fault),
            )  # fmt: skip


@SUITE.case("smallest disturbance")
def smallest_disturbance(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Right implementations, disturbed until a check rejects them: how much it takes."""
    for kind, batteries in BATTERIES.items():
        sized, smallest = disturbed_kinds.of_kind(kind)
        for battery in batteries:
            for check in battery.checks:
                if check.name in smallest:
                    _smallest_change(rows, kind, battery, check, *smallest[check.name])
                elif check.name in sized:
                    steps = parameters["bisections"]
                    _smallest_size(rows, kind, battery, check, sized[check.name], steps)


def _of_check(kind: str, battery: Battery, check: Check) -> dict[str, Any]:
    return {
        "subject": f"{battery.kind}: {check.name}", "evidence": "control",
        "kind": kind, "battery": battery.kind, "check": check.name,
    }  # fmt: skip


def _smallest_change(
    rows: Recorder,
    kind: str,
    battery: Battery,
    check: Check,
    words: str,
    make: Callable[[], Any],
) -> None:
    [finding] = examine(battery, make, only=[check.name])
    rows.equals(
        "one bit" if "bit" in words.split() else "smallest change",
        _verdict(finding.rejects), "rejected", basis="the smallest change that there is",
        words=words, **_of_check(kind, battery, check),
    )  # fmt: skip


def _smallest_size(
    rows: Recorder,
    kind: str,
    battery: Battery,
    check: Check,
    disturbance: disturbed.Disturbance,
    steps: int,
) -> None:
    size, finding = disturbed.smallest_detected(battery, check, disturbance, steps)
    bound = finding.bound if finding.bound is not None else disturbance.threshold
    rows.within(
        "smallest detected disturbance", size * disturbance.moves, 0.0,
        # What is measured exceeds its bound once the disturbance exceeds the bound and
        # what rounding may take away from it, which is at most the bound again.
        bound=2 * bound * disturbed.resolution(steps),
        basis="twice the check's bound, for rounding may use it up as well",
        words=disturbance.words, excess=size, **_of_check(kind, battery, check),
    )  # fmt: skip


@SUITE.case("random faults")
def random_faults(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Right implementations with one random change in their source: caught, or no fault."""
    for mutant in mutants.drawn(parameters["mutants"], parameters["seed"]):
        fate = mutants.fate(mutant)
        rows.equals(
            f"line {mutant.line}, column {mutant.column}: {mutant.before} becomes {mutant.after}",
            "caught or no fault" if fate.decided else fate.fate, "caught or no fault",
            subject=f"mutant of: {mutant.source}", evidence="control",
            basis="a change is caught, or known to change no result",
            kind="rotary", change=mutant.change, fate=fate.fate, check=fate.check or None,
            words=fate.words if not fate.check else None,
        )  # fmt: skip
