"""Rows beside one another: independent or coupled, trained or untrained, and as they are drawn."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from posinfo.encodings import learned
from posinfo.encodings.attention import attend
from posinfo.reference import sampling
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder
from posinfo.suites.common import draw, shape_text
from posinfo.suites.lookup.suite import DECODER, MESSAGE, OUT_OF_RANGE, SUITE, TABLE, rows_apart
from posinfo.tiny import TinyDecoder, answers, batches, train


@SUITE.case("independence of positions")
def independence(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Two positions' rows: apart as parameters, coupled in the loss once attention mixes them."""
    near, far = parameters["named_positions"]
    width = parameters["small_width"]
    table = draw((far + 1, width), parameters["seed"], torch.float64)
    common = {"width": width, "table_rows": far + 1, "evidence": "float32"}
    replaced = table.clone()
    replaced[near] += 1.0
    rows.equals(
        f"rows that change when row {near} is replaced",
        rows_apart(functional.embedding(torch.arange(far + 1), table),
                    functional.embedding(torch.arange(far + 1), replaced)), 1,
        subject="torch.nn.functional.embedding", position=near,
        behaviour="separate rows", basis="rows share no numbers: equal bit for bit elsewhere",
        **common,
    )  # fmt: skip
    tokens = draw((1, 2, width), parameters["seed"] + 1, torch.float64)
    query, key, value = draw((3, width, width), parameters["seed"] + 2, torch.float64) / width**0.5
    pair = table[[near, far]]
    coupled = {"position": near, **common}

    def apart(both: Tensor) -> Tensor:
        return ((tokens + both) ** 2).sum()

    def uniform(both: Tensor) -> Tensor:
        x = tokens + both
        return (attend(torch.zeros_like(x), x, x, causal=False)[:, -1] ** 2).sum()

    def attending(both: Tensor) -> Tensor:
        x = tokens + both
        return (attend(x @ query, x @ key, x @ value)[:, -1] ** 2).sum()

    derivative = f"mixed second derivative of positions {near} and {far}"
    mixed = f"largest {derivative}"
    rows.equals(
        f"{mixed}, each position judged by itself", _mixed(apart, pair).abs().max().item(), 0.0,
        subject="torch.autograd", behaviour="no attention",
        basis="the loss is a sum of one term a position", **coupled,
    )  # fmt: skip
    # The mean of two vectors, squared and summed: 2 (1/2) (1/2) for one component with itself.
    rows.equals(
        f"distance of the {derivative} from half the identity, attention of equal weights",
        (_mixed(uniform, pair) - 0.5 * torch.eye(width)).abs().max().item(), 0.0,
        subject="posinfo.encodings.attention.attend", behaviour="attention of equal weights",
        basis="weights of exactly 1/2: the derivative is exactly half the identity", **coupled,
    )  # fmt: skip
    moved = pair.clone()
    moved[1] += 1.0
    gradients, alone = (
        [_first_gradient(loss, both) for both in (pair, moved)] for loss in (attending, apart)
    )
    size = gradients[0].abs().max().item()
    margin = "margin: a thousandth of the largest entry of the gradient, in float64"
    rows.exceeds(
        f"{mixed}, causal attention", _mixed(attending, pair).abs().max().item(), 0.0,
        bound=1e-3 * size, subject="posinfo.encodings.attention.attend", basis=margin,
        behaviour="causal attention", **coupled,
    )  # fmt: skip
    rows.exceeds(
        f"change of row {near}'s gradient when row {far} moves, causal attention",
        (gradients[1] - gradients[0]).abs().max().item(), 0.0, bound=1e-3 * size,
        subject="posinfo.encodings.attention.attend", basis=margin,
        behaviour="causal attention", **coupled,
    )  # fmt: skip
    rows.equals(
        f"change of row {near}'s gradient when row {far} moves, each position judged by itself",
        (alone[1] - alone[0]).abs().max().item(), 0.0, subject="torch.autograd",
        behaviour="no attention", basis="the other row is not in it: equal bit for bit", **coupled,
    )  # fmt: skip


def _mixed(loss: Callable[[Tensor], Tensor], pair: Tensor) -> Tensor:
    """Second derivatives of ``loss`` by the first and by the second of two rows, [d, d]."""
    return torch.autograd.functional.hessian(loss, pair)[0, :, 1, :]


def _first_gradient(loss: Callable[[Tensor], Tensor], pair: Tensor) -> Tensor:
    """Derivative of ``loss`` by the first of two rows, [d]."""
    both = pair.clone().requires_grad_()
    return torch.autograd.grad(loss(both), both)[0][0]


@SUITE.case("untrained rows")
def untrained_rows(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A decoder trained on short sequences answers long ones: no error, and no better than chance.

    The last token of each test stands at an untrained position, behind a context that training
    knew. Given the trained weights those positions' rows are independent draws, so that each
    answer is right with a chance of one in ``classes`` on average, whatever the weights.
    """
    settings, width = parameters["decoder"], parameters["width"]
    size, trained, classes = settings["rows"], settings["trained_length"], settings["classes"]
    generator = torch.Generator().manual_seed(parameters["seed"])
    model = TinyDecoder(settings["vocabulary"], size, width, classes, generator)
    before = model.positions.detach().clone()
    data = batches(settings["vocabulary"], settings["batch"], trained, generator)
    train(model, data, steps=settings["steps"], learning_rate=settings["learning_rate"])
    after = model.positions.detach()
    common = {"subject": DECODER, "table_rows": size, "width": width, "evidence": "float32"}
    unreached = {"reached": "no", **common}
    rows.equals(
        f"rows changed by training on {trained} positions, of the {size - trained} past them",
        rows_apart(before[trained:], after[trained:]), 0, length=trained,
        basis="no gradient reaches them: equal bit for bit", **unreached,
    )  # fmt: skip
    rows.equals(
        f"rows changed by training on {trained} positions, of these {trained}",
        rows_apart(before[:trained], after[:trained]), trained, reached="yes", length=trained,
        basis="each is in the loss", **common,
    )  # fmt: skip
    with torch.no_grad():
        ids = torch.randint(0, settings["vocabulary"], (1, size), generator=generator)
        long = model(ids, torch.arange(size))
        rows.equals(
            f"shape of the answers to {size} tokens after training on {trained}", shape_text(long),
            str([1, size, classes]), behaviour="answers", length=size,
            basis="one answer a token, and no error", **unreached,
        )  # fmt: skip
        rows.equals(
            f"answers to {size} tokens that are not finite", int((~long.isfinite()).sum()), 0,
            behaviour="answers", length=size, basis="every number is one", **unreached,
        )  # fmt: skip
        rows.raises(
            f"answers to {size + 1} tokens, {size} positions",
            lambda: model(torch.cat([ids, ids[:, :1]], dim=1), torch.arange(size + 1)),
            OUT_OF_RANGE, behaviour="IndexError", reached="past the table", length=size + 1,
            basis=MESSAGE, **common,
        )  # fmt: skip
        known = settings["context"]
        context = torch.randint(0, settings["vocabulary"], (known + 1,), generator=generator)
        for reached, positions in (
            ("yes", torch.arange(known, trained)),
            # A whole number of rounds of the classes: each answer is wanted equally often.
            ("no", torch.arange(trained, size)[: (size - trained) // classes * classes]),
        ):
            wrong = _wrong(model, context, positions, classes)
            quantity = (
                f"share of wrong answers at {len(positions)} positions behind {known} known ones, "
                f"{'trained' if reached == 'yes' else 'never trained'}"
            )
            if reached == "yes":
                rows.equals(
                    quantity, wrong, 0.0, reached=reached, behaviour="answers",
                    basis="a task that a row for each position solves", **common,
                )  # fmt: skip
            else:
                chance = 1 - 1 / classes
                rows.exceeds(
                    quantity, wrong, 0.0, bound=chance - sampling.share(len(positions)),
                    reached=reached, behaviour="answers",
                    basis="sampling theory: chance, less Hoeffding's bound at a failure of 1e-9",
                    **common,
                )  # fmt: skip
    near, far = parameters["named_positions"]
    pairs = parameters["initialisation"]["tables"]
    cosine = functional.cosine_similarity(after[near].double(), after[far].double(), dim=0)
    rows.exceeds(
        f"d times the squared cosine of positions {near} and {far}, trained to the same answer",
        width * cosine.item() ** 2, 1.0, stage="after training", reached="yes",
        bound=CONTRADICTION_MARGIN * sampling.mean_square_cosine(pairs),
        contradicts=("initialisation", _cosine_quantity(near, far, pairs, width), TABLE),
        basis="margin: ten times what draws allow at initialisation", **common,
    )  # fmt: skip


def _wrong(model: TinyDecoder, context: Tensor, positions: Tensor, classes: int) -> float:
    """Share of ``positions`` at which the last token, behind a known context, is answered wrong."""
    known = torch.arange(len(context) - 1).expand(len(positions), -1)
    placed = torch.cat([known, positions[:, None]], dim=1)
    scores = model(context.expand(len(positions), -1), placed)[:, -1]
    return (scores.argmax(dim=-1) != answers(positions, classes)).double().mean().item()


def _cosine_quantity(near: int, far: int, tables: int, width: int) -> str:
    return (
        f"d times the mean squared cosine of positions {near} and {far} over {tables} tables, "
        f"d={width}"
    )


@SUITE.case("initialisation")
def initialisation(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Cosines of rows of fresh tables: of two named positions, and of all as far apart."""
    near, far = parameters["named_positions"]
    settings, gpt2 = parameters["initialisation"], parameters["gpt2"]
    generator = torch.Generator().manual_seed(parameters["seed"])
    basis = "sampling theory: Laurent and Massart's bound on chi-squared, at a failure of 1e-9"
    common = {"subject": TABLE, "stage": "at initialisation", "evidence": "float32"}
    tables, width = settings["tables"], parameters["width"]
    drawn = torch.stack(
        [
            learned.LearnedPositions(far + 1, width, generator).table.detach()[[near, far]].double()
            for _ in range(tables)
        ]
    )
    cosines = functional.cosine_similarity(drawn[:, 0], drawn[:, 1], dim=-1)
    rows.within(
        _cosine_quantity(near, far, tables, width), width * (cosines**2).mean().item(), 1.0,
        bound=sampling.mean_square_cosine(tables), width=width, table_rows=far + 1, basis=basis,
        **common,
    )  # fmt: skip
    size, width = gpt2["max_position"], gpt2["width"]
    apart = far - near
    first = torch.arange(size - apart)
    first = first[first // apart % 2 == 0]  # Pairs that share no row: independent ones.
    squares = []
    for _ in range(settings["wide_tables"]):
        table = learned.LearnedPositions(size, width, generator).table.detach().double()
        cosine = functional.cosine_similarity(table[first], table[first + apart], dim=-1)
        squares.append(cosine**2)
    pairs = len(first) * settings["wide_tables"]
    rows.within(
        f"d times the mean squared cosine of {pairs} pairs of positions {apart} apart, d={width}",
        width * torch.cat(squares).mean().item(), 1.0, bound=sampling.mean_square_cosine(pairs),
        width=width, table_rows=size, basis=basis, **common,
    )  # fmt: skip
