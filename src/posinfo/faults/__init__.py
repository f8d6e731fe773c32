"""Faulty implementations: what a verification must reject, or it verifies nothing."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from posinfo.faults import bias, cache, right, rotary, scaling, tables
from posinfo.faults.base import Fault

#: Modules that hold faults, in the order of the report; each has a tuple ``FAULTS``.
_MODULES: tuple[ModuleType, ...] = (rotary, tables, bias, scaling, cache)

#: Right implementations by kind and name, which no check may reject.
RIGHT: dict[str, dict[str, Callable[[], Any]]] = {
    "rotary": right.RIGHT,
    **tables.RIGHT,
    **bias.RIGHT,
    **scaling.RIGHT,
    **cache.RIGHT,
}


def _merged(modules: Iterable[ModuleType]) -> tuple[Fault, ...]:
    faults = tuple(fault for module in modules for fault in module.FAULTS)
    names = [fault.name for fault in faults]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two faults named {twice}")
    return faults


FAULTS: tuple[Fault, ...] = _merged(_MODULES)


def of_kind(kind: str) -> tuple[Fault, ...]:
    """The faults of one kind, in order."""
    return tuple(fault for fault in FAULTS if fault.kind == kind)
