"""Calls of a subject that turn whatever it does instead of its work into words."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from posinfo.battery.base import Misbehaviour

#: Drawn inputs are the same in every call.
SEED = 123


def draw(*shape: int, salt: int = 0) -> Tensor:
    """Standard normal float32 numbers, the same for the same arguments."""
    generator = torch.Generator().manual_seed(SEED + salt)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).float()


def called(function: Callable[..., Any], *arguments: Any, about: str, **options: Any) -> Any:
    """What the subject returns.

    Raises
    ------
    Misbehaviour
        If it raises anything: the words say what, and ``about`` which input it was given.
    """
    try:
        return function(*arguments, **options)
    except (Exception, SystemExit) as error:
        said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
        raise Misbehaviour(f"raises {said} {about}") from error


def refused(function: Callable[..., Any], *arguments: Any) -> bool:
    """Whether the subject raises on an input that it cannot be right about."""
    try:
        function(*arguments)
    except Exception:
        return True
    return False


def tensor(result: Any, shape: Sequence[int], *, about: str) -> Tensor:
    """The result as a finite tensor of the shape that it must have.

    Raises
    ------
    Misbehaviour
        If it is no tensor, has another shape, or holds NaN or infinity.
    """
    if not isinstance(result, Tensor):
        kind = "None" if result is None else f"a value of type {type(result).__name__}"
        raise Misbehaviour(f"returns {kind} {about}, not a tensor")
    if list(result.shape) != list(shape):
        raise Misbehaviour(f"returns shape {list(result.shape)} {about}, not {list(shape)}")
    if not torch.isfinite(result).all():
        raise Misbehaviour(f"returns NaN or infinity {about}")
    return result
