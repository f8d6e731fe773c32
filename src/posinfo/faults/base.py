"""What a fault is: a wrong implementation, what is wrong with it, and what must reject it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Where in an implementation a fault may sit, in the order of the computation.
STAGES = (
    "frequency",
    "position",
    "pairing",
    "rotation",
    "axis",
    "scaling",
    "caching",
    "dtype",
    "side effect",
)


@dataclass(frozen=True)
class Fault:
    """A faulty implementation.

    Parameters
    ----------
    name
        Stable, in a few words that complete "behaves like: …".
    kind
        The battery that it belongs to, such as ``rotary``.
    stage
        One of :data:`STAGES`.
    wrong
        One sentence: what it does, and what would be right.
    seen
        Where that fault was seen: a repository and an issue or a revision, or a paper. "Not seen:
        …" where it stands for a class of faults, with the reason.
    hint
        What to do about it, in at most two lines, for whoever wrote such an implementation.
    caught_by
        The check that names the fault well: a reader of its finding would know where to look.
    rejected_by
        All checks that reject it, ``caught_by`` among them: a run compares them with what it
        finds, so that a check that grows weaker is noticed.
    make
        Returns the faulty subject, a new one at each call.
    replaces
        Faulty stand-ins for functions of the library, by dotted name, such as
        ``posinfo.encodings.rotary.rotate_pair``: with them in place the rows of claims must fail.
        Empty where the fault has no place in the library.
    """

    name: str
    kind: str
    stage: str
    wrong: str
    seen: str
    hint: str
    caught_by: str
    rejected_by: tuple[str, ...]
    make: Callable[[], Any]
    replaces: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
