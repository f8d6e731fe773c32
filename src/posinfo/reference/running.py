"""How far rounding may move what a program of many steps computes: a running error analysis.

Each step's own rounding is bounded from its operands; what becomes of it in the result is found
by differentiating the result by a disturbance of that step. The bound on a component of the
result is the sum over all steps of |derivative| times bound: the worst case to first order, with
every rounding at its largest and of the worst sign. This is Linnainmaa's Taylor expansion of the
accumulated rounding error (BIT 16, 1976, pages 146-160), for which reverse-mode differentiation
was invented. Multiplying absolute values along the way instead (Higham, chapter 3) would
be a thousand times too wide after a few layers.

The first order is not taken on trust: all steps are then really disturbed by their bounds, with
the worst signs for one component, and by as much as the result departs from the linear estimate
there, twice over, every bound is widened. For float64 the disturbances are those of float32, which
float64 can tell from its own rounding, and the departure is scaled down as terms of second order
are.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from posinfo.reference import rounding

#: A program that takes a watcher and hands it every step that rounds.
Program = Callable[[Callable[..., Tensor]], Tensor]


def _softmax(weights: Tensor, scores: Tensor) -> Tensor:
    """Units of u: a difference and an exponential, a sum of T terms, two for the division.

    The difference from the largest score has an error of u times itself, which the exponential
    turns into a relative one; in the sum such errors are averaged by the weights.
    """
    below = scores.amax(dim=-1, keepdim=True) - scores
    terms = torch.where(weights > 0, below, torch.zeros_like(below)) + 2
    average = (weights * terms).sum(dim=-1, keepdim=True)
    return weights * (terms + average + scores.shape[-1] + 2)


def _turn(turned: Tensor, x: Tensor) -> Tensor:
    """Units of u: one rotation, relative to the norm of each pair."""
    norms = x.unflatten(-1, (-1, 2)).norm(dim=-1, keepdim=True).expand(*x.shape[:-1], -1, 2)
    return rounding.ROTATION * norms.flatten(-2)


#: Bound on a step's own rounding in units of u, from its result and its operands.
STEPS: dict[str, Callable[..., Tensor]] = {
    # In whatever order the n products are added, fused or not (Higham, section 3.1).
    "product": lambda value, a, b: a.shape[-1] * (a.abs() @ b.abs()),
    "sum": lambda value: value.abs(),
    "product of two": lambda value: value.abs(),
    # A divisor that is rounded itself, then a reciprocal and a product, or one division.
    "scaling": lambda value: 3 * value.abs(),
    "softmax": _softmax,
    # n squares, their sum, a division and epsilon, halved by a root of 2u; then a division.
    "norm": lambda value: ((value.shape[-1] + 3) / 2 + 3) * value.abs(),
    # exp 2u, plus one, and a division.
    "silu": lambda value: 4 * value.abs(),
    # One unit in the last place below 1.
    "code": torch.ones_like,
    "turn": _turn,
    # A power of two units, its rounding, and the product with the distance.
    "slope": lambda value: 4 * value.abs(),
}


class _Watcher:
    """Adds a disturbance to every step: zero to differentiate by, or one that is given."""

    def __init__(self, dtype: str, given: Sequence[Tensor] | None = None) -> None:
        self.dtype = dtype
        self.given = given
        self.disturbances: list[Tensor] = []
        self.bounds: list[Tensor] = []

    def __call__(self, value: Tensor, step: str, *operands: Any) -> Tensor:
        """The value with its disturbance, and its bound kept."""
        if self.given is not None:
            disturbance = self.given[len(self.disturbances)]
        else:
            disturbance = torch.zeros_like(value, requires_grad=True)
            plain = (x.detach() if isinstance(x, Tensor) else x for x in operands)
            self.bounds.append(self._bound(value.detach(), step, *plain))
        self.disturbances.append(disturbance)
        return value + disturbance

    def _bound(self, value: Tensor, step: str, *operands: Any) -> Tensor:
        if step == "frequency":
            return value.abs() * rounding.frequency(*operands, self.dtype)
        return STEPS[step](value, *operands) * rounding.UNIT[self.dtype]


def bounds(program: Program, dtype: str) -> Tensor:
    """Bound on each component of a program's result, against exact arithmetic.

    Parameters
    ----------
    program
        Computes a result in float64, from inputs that ``dtype`` holds exactly, and hands every
        step that rounds to the watcher that it is given: value, name of the step, operands.
    dtype
        The precision whose rounding is meant, a key of :data:`posinfo.reference.rounding.UNIT`.

    Returns
    -------
    Tensor
        Of the shape of the result.

    Raises
    ------
    ValueError
        If a bound is not finite: the program divides by zero, or passes NaN or infinity on.
    """
    watcher = _Watcher(dtype)
    result = program(watcher)
    flat = result.flatten()
    slopes = torch.autograd.grad(
        flat,
        watcher.disturbances,
        torch.eye(flat.numel(), dtype=flat.dtype),
        is_grads_batched=True,
        allow_unused=True,
    )
    pairs = [(s, b) for s, b in zip(slopes, watcher.bounds, strict=True) if s is not None]
    total = torch.stack([(s.abs() * b).flatten(1).sum(dim=1) for s, b in pairs]).sum(dim=0)
    if not torch.isfinite(total).all():
        raise ValueError("a bound is not finite")
    worst = int(total.argmax())
    signs = [
        torch.zeros_like(b) if s is None else s[worst].sign()
        for s, b in zip(slopes, watcher.bounds, strict=True)
    ]
    scale = rounding.UNIT["float32"] / rounding.UNIT[dtype]
    given = [sign * b * scale for sign, b in zip(signs, watcher.bounds, strict=True)]
    with torch.no_grad():
        moved = program(_Watcher(dtype, given)).flatten()[worst] - flat[worst]
    expected = scale * total[worst].item()
    departure = abs(moved.item() / expected - 1) / scale if expected > 0 else 0.0
    return (total * (1 + 2 * departure)).detach().reshape(result.shape)
