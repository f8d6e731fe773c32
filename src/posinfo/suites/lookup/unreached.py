"""What training leaves in rows that it never looks up, by optimizer and weight decay."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from posinfo.encodings import learned
from posinfo.reference import rounding
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder
from posinfo.suites.common import Comparison, draw
from posinfo.suites.lookup.suite import SUITE, U, rows_apart

#: What torch's Adam adds to the root of its second moment.
_ADAM_EPSILON = 1e-8
#: Roundings of a first step of Adam, relative to it: the decay, two moments (two products each,
#: and a square), the root within two, two corrections, a sum and a quotient.
_ADAM_ROUNDINGS = 12
_MOMENTUM = 0.9
_WITH_MOMENTUM = "SGD with momentum"


class Optimizer(NamedTuple):
    """An optimizer: its name, its weight decay, and how it is made."""

    name: str
    decay: float
    make: Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]


def _optimizers(rate: float, decay: float) -> Iterator[Optimizer]:
    optim = torch.optim
    yield Optimizer("SGD", 0.0, lambda p: optim.SGD(p, lr=rate))
    yield Optimizer(_WITH_MOMENTUM, 0.0, lambda p: optim.SGD(p, lr=rate, momentum=_MOMENTUM))
    yield Optimizer("Adam", 0.0, lambda p: optim.Adam(p, lr=rate))
    yield Optimizer("AdamW", 0.0, lambda p: optim.AdamW(p, lr=rate, weight_decay=0.0))
    yield Optimizer("SGD", decay, lambda p: optim.SGD(p, lr=rate, weight_decay=decay))
    yield Optimizer(
        _WITH_MOMENTUM, decay,
        lambda p: optim.SGD(p, lr=rate, momentum=_MOMENTUM, weight_decay=decay),
    )  # fmt: skip
    yield Optimizer("AdamW", decay, lambda p: optim.AdamW(p, lr=rate, weight_decay=decay))
    yield Optimizer("Adam", decay, lambda p: optim.Adam(p, lr=rate, weight_decay=decay))


def decay_with_momentum(
    steps: int, rate: float, decay: float, momentum: float
) -> tuple[float, float]:
    """What SGD with momentum makes of a parameter whose gradient is zero, and its rounding.

    v' = momentum v + decay w, w' = w - rate v' (Sutskever et al. 2013, and torch's
    documentation), in float32, from v = 0.

    Returns
    -------
    tuple of float, float
        The factor by which the parameter is multiplied, and a bound on its relative error.
    """
    w, v = 1.0, 0.0
    error_w = error_v = 0.0
    for _ in range(steps):
        # Each product has two roundings, its constant's and its own; each sum one.
        pull, kept = decay * w, momentum * v
        error_v = momentum * error_v + decay * error_w + 2 * U * (pull + kept)
        v = kept + pull
        error_v += U * v
        w -= rate * v
        error_w += rate * error_v + 2 * U * rate * v + U * w
    return w, error_w / w * rounding.SECOND_ORDER


class Trained(NamedTuple):
    """A table before training, after one step and in the end, and the first step's gradient."""

    before: Tensor
    first: Tensor
    after: Tensor
    gradient: Tensor


def _train_table(parameters: Mapping[str, Any], optimizer: Optimizer, data: int) -> Trained:
    """Train a table on its first positions alone, towards targets that ``data`` seeds."""
    settings = parameters["unreached"]
    width = parameters["width"]
    generator = torch.Generator().manual_seed(parameters["seed"])
    table = learned.LearnedPositions(settings["rows"], width, generator)
    before = table.table.detach().clone()
    optimize = optimizer.make(list(table.parameters()))
    tokens = draw((settings["reached"], width), data)
    wanted = draw((settings["reached"], width), data + 1)
    gradient = first = before
    for step in range(settings["steps"]):
        optimize.zero_grad(set_to_none=True)
        found = table(tokens[None], torch.arange(settings["reached"]))
        ((found - wanted) ** 2).mean().backward()
        if step == 0:
            gradient = table.table.grad.clone()
        optimize.step()
        if step == 0:
            first = table.table.detach().clone()
    return Trained(before, first, table.table.detach(), gradient)


@SUITE.case("rows that training never reached")
def never_reached(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Gradients, changes by each optimizer with and without weight decay, and other data."""
    settings = parameters["unreached"]
    reached, steps_taken = settings["reached"], settings["steps"]
    left = settings["rows"] - reached
    rate, decay = settings["learning_rate"], settings["weight_decay"]
    for optimizer in _optimizers(rate, decay):
        first, second = (
            _train_table(parameters, optimizer, parameters["seed"] + number) for number in (1, 1001)
        )
        label = f"{optimizer.name}, weight decay {optimizer.decay:g}"
        common = {
            "subject": f"torch.optim.{optimizer.name.split()[0]}", "optimizer": optimizer.name,
            "weight_decay": optimizer.decay, "table_rows": settings["rows"],
            "width": parameters["width"], "evidence": "float32",
        }  # fmt: skip
        unreached = {"reached": "no", **common}
        rows.equals(
            f"numbers other than 0 in the gradient of {left} rows never looked up, {label}",
            int(first.gradient[reached:].count_nonzero()), 0,
            basis="nothing in the loss depends on them", **unreached,
        )  # fmt: skip
        rows.equals(
            f"rows with a gradient among {reached} looked up, {label}",
            int(first.gradient[:reached].abs().sum(dim=1).count_nonzero()), reached,
            basis="each is in the loss", reached="yes", **common,
        )  # fmt: skip
        rows.equals(
            f"rows that other data would leave otherwise, of {left} never looked up, {label}",
            rows_apart(first.after[reached:], second.after[reached:]), 0,
            basis="nothing of the data reaches them: equal bit for bit", **unreached,
        )  # fmt: skip
        rows.equals(
            f"rows that other data would leave otherwise, of {reached} looked up, {label}",
            rows_apart(first.after[:reached], second.after[:reached]), reached,
            basis="their targets differ", reached="yes", **common,
        )  # fmt: skip
        if not optimizer.decay:
            rows.equals(
                f"rows changed by training, of {left} never looked up, {label}",
                rows_apart(first.before[reached:], first.after[reached:]), 0,
                basis="a step of 0: equal bit for bit", **unreached,
            )  # fmt: skip
            continue
        rows.equals(
            f"rows changed by training, of {left} never looked up, {label}",
            rows_apart(first.before[reached:], first.after[reached:]), left,
            basis="weight decay moves every row", **unreached,
        )  # fmt: skip
        before, after = first.before[reached:].double(), first.after[reached:].double()
        if optimizer.name == "Adam":
            # Adam divides the decay by its own size: every number moves by the rate, not by less.
            moved = (first.first - first.before)[reached:].double().abs()
            pull = decay * before.abs()
            wanted = rate * pull / (pull + _ADAM_EPSILON)
            bounds = U * (before.abs() + rate) + _ADAM_ROUNDINGS * U * wanted
            worst = max(
                map(Comparison, moved.flatten().tolist(), wanted.flatten().tolist(),
                    (bounds * rounding.SECOND_ORDER).flatten().tolist()),
                key=Comparison.used,
            )  # fmt: skip
            rows.within(
                f"first step of {left} rows never looked up, nearest its bound, {label}",
                worst.measured, worst.exact, bound=worst.bound,
                basis="rounding analysis: the rate times g / (|g| + eps), and one sum",
                **unreached,
            )  # fmt: skip
            rows.exceeds(
                f"mean change of {left} rows never looked up, relative to them, {label}",
                (after - before).abs().mean().item() / before.abs().mean().item(), 0.0,
                bound=CONTRADICTION_MARGIN * steps_taken * rate * decay,
                basis="margin: ten times what the decay alone would do", **unreached,
            )  # fmt: skip
            continue
        expected = before * (1 - rate * decay) ** steps_taken
        from_decay = ((after - expected) / expected).abs().max().item()
        rounded = 3 * steps_taken * U * rounding.SECOND_ORDER
        if optimizer.name == _WITH_MOMENTUM:
            factor, bound = decay_with_momentum(steps_taken, rate, decay, _MOMENTUM)
            rows.within(
                f"largest relative error of {left} rows never looked up against decay that "
                f"momentum carries on, {label}",
                (after / (before * factor) - 1).abs().max().item(), 0.0, bound=bound,
                basis="rounding analysis: three products with their constants and three sums a "
                "step, carried from step to step", **unreached,
            )  # fmt: skip
            rows.exceeds(
                f"largest relative difference of {left} rows never looked up from decay alone, "
                f"{label}", from_decay, 0.0, bound=CONTRADICTION_MARGIN * rounded,
                basis="margin: ten times what rounding can do where there is no momentum",
                **unreached,
            )  # fmt: skip
            continue
        rows.within(
            f"largest relative error of {left} rows never looked up against decay alone, {label}",
            from_decay, 0.0, bound=rounded,
            basis="rounding analysis: the factor, one product and one sum a step", **unreached,
        )  # fmt: skip
