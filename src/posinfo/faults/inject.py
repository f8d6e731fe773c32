"""Puts faulty functions in the place of the library's, and takes them out again."""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from posinfo.errors import InputError, nearest

#: Where functions may be replaced: the library's own, and torch's that the library calls.
REPLACEABLE = ("posinfo.", "torch.nn.functional.")
#: What no fault may reach: what a row is compared with, what judges implementations, and the
#: faults, which call the functions that they replace.
KEPT = ("posinfo.reference", "posinfo.battery", "posinfo.faults")


class _Place(NamedTuple):
    """A module or class, the name that it binds, and what it binds to it."""

    owner: Any
    attribute: str
    original: Any


@contextmanager
def injected(stand_ins: Mapping[str, Callable[..., Any]]) -> Iterator[None]:
    """Let every module of the library use stand-ins, until the block ends, however it ends.

    A function is replaced in its own module and wherever a module has imported its name; a method
    in its own class. What is held in a container, such as a registry, is not: replace what that
    calls. References, batteries and faults keep the functions that they have.

    Parameters
    ----------
    stand_ins
        Replacements by dotted name, such as ``posinfo.encodings.rotary.rotate_pair`` or
        ``posinfo.encodings.layers.Alibi.bias``.

    Raises
    ------
    InputError
        Before anything is replaced: if a name does not exist, belongs to what is kept, or lies
        outside of the library.
    """
    places = {name: _place(name) for name in stand_ins}
    try:
        for name, (owner, attribute, original) in places.items():
            setattr(owner, attribute, stand_ins[name])
            _rebind(original, stand_ins[name])
        yield
    finally:
        # A module that was imported meanwhile has bound the stand-in: it is looked for once more.
        for name, (owner, attribute, original) in reversed(places.items()):
            setattr(owner, attribute, original)
            _rebind(stand_ins[name], original)


def _rebind(old: Any, new: Any) -> None:
    for module in _modules():
        for name, value in list(vars(module).items()):
            if value is old:
                setattr(module, name, new)


def _modules() -> list[ModuleType]:
    """The library's modules that are loaded, without those that are kept."""
    return [
        module
        for name, module in list(sys.modules.items())
        if (name == "posinfo" or name.startswith("posinfo.")) and not _within(name, KEPT)
    ]


def _within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _place(name: str) -> _Place:
    """Where a dotted name is bound.

    Raises
    ------
    InputError
        As for :func:`injected`.
    """
    if not name.startswith(REPLACEABLE):
        raise InputError(name, f"cannot be replaced: only {' and '.join(REPLACEABLE)}… can")
    if _within(name, KEPT):
        raise InputError(name, "cannot be replaced: no fault may reach what judges it")
    owner, parts = _module(name)
    for part in parts[:-1]:
        owner = _bound(owner, part, name)
    return _Place(owner, parts[-1], _bound(owner, parts[-1], name))


def _module(name: str) -> tuple[Any, list[str]]:
    """The innermost module of a dotted name, and what follows it."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        path = ".".join(parts[:count])
        try:
            return importlib.import_module(path), parts[count:]
        except ModuleNotFoundError as error:
            if not error.name or not (path == error.name or path.startswith(f"{error.name}.")):
                raise  # the module is there, and lacks one that it needs
    raise InputError(name, "does not exist: there is no such module")


def _bound(owner: Any, part: str, name: str) -> Any:
    """What a module or class itself binds to a name: a method that is inherited is not there."""
    try:
        return vars(owner)[part]
    except KeyError:
        known = [other for other in vars(owner) if not other.startswith("__")]
        raise InputError(
            name, f"{owner.__name__} has no {part!r} of its own: {nearest(part, known)}"
        ) from None
