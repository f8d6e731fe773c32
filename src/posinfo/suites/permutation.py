"""What attention knows of the order of its tokens: alone, behind a causal mask, with an encoding.

The tokens change seats and the seats keep their positions. What is compared is each token's
output, wherever it sits.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from posinfo.encodings import t5
from posinfo.encodings.attention import attend
from posinfo.proofs import permutation as proofs
from posinfo.reference import layers as reference
from posinfo.reference import rounding
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.stacks import (
    ENCODINGS,
    Stack,
    exact_outputs,
    exact_scores,
    most_used,
    outputs_of,
    scores_of,
    stack,
    tokens,
)
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import DTYPES

SUITE = Suite(
    "permutation",
    "Tokens in another order: without positions, behind a mask, and with each encoding",
    columns=(
        "dtype", "layers", "mask", "encoding", "orders", "pairs", "compared", "sentences", "length",
    ),
)  # fmt: skip

_BASIS = "running error analysis: every rounding of both runs at its largest and worst sign"
_MARGIN = "margin: ten times what rounding can do without mask and encoding"


def _orders(length: int) -> Tensor:
    """All orders of the seats 0 … length - 1, [length!, length]; the first is the one as it is."""
    return torch.tensor(list(itertools.permutations(range(length))))


def _changes(model: Stack, x: Tensor, orders: Tensor, dtype: str) -> Tensor:
    """Change of each token's output under each order, [orders, T, d].

    Seat i of an order holds the token ``order[i]``; its output is taken back to the token.
    """
    plain = model.measure(x, torch.arange(x.shape[0]), DTYPES[dtype])
    return (_outputs(model, x, orders, dtype) - plain).abs()


def _outputs(model: Stack, x: Tensor, orders: Tensor, dtype: str) -> Tensor:
    """Each token's output under each order, [orders, T, d], at the token's own place of ``x``."""
    seated = model.measure(x[orders], torch.arange(x.shape[0]), DTYPES[dtype])
    back = orders.argsort(dim=1).unsqueeze(-1).expand_as(seated)
    return seated.gather(1, back)


def _length(parameters: Mapping[str, Any]) -> tuple[int, Tensor, Tensor]:
    """Length, that many distinct tokens, and all orders of them."""
    length = parameters["length"]
    x = tokens(length, parameters["heads"] * parameters["head_dim"], parameters["seed"] + 3)
    return length, x, _orders(length)


def _plain_bound(parameters: Mapping[str, Any], count: int, dtype: str, x: Tensor) -> Tensor:
    """What rounding can do to each output's component of a stack without mask and encoding."""
    return stack(parameters, count).bounds(x, torch.arange(x.shape[0]), dtype, outputs_of)


def _equivariance(count: int, dtype: str) -> str:
    return f"largest change of an output over all orders, layers {count}, {dtype}"


def _last(dtype: str) -> str:
    return f"largest change of the last output over orders of the prefix, layers 1, {dtype}"


def _reversal(count: int, dtype: str) -> str:
    return f"largest change under reversal, alibi, layers {count}, {dtype}"


@SUITE.case("proof")
def proof(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """For any scores and values: no mask, every order; a causal mask, the last token; not all."""
    for make, mask in (
        (proofs.equivariant, "none"), (proofs.masked, "causal"),
        (proofs.last_token, "causal"), (proofs.one_over_t, "causal"),
    ):  # fmt: skip
        shows, found, expected = make()
        rows.equals(
            shows, found, expected, subject="posinfo.proofs.permutation.gather",
            evidence="proof", basis="symbolic: scores and values are unknown functions of tokens",
            mask=mask, layers=1, encoding="none",
        )  # fmt: skip


@SUITE.case("every order")
def every_order(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """All orders of a short sequence without positions: nothing changes, but behind a mask."""
    _, x, orders = _length(parameters)
    for count, dtype in itertools.product(parameters["layers"], parameters["dtypes"]):
        bound = 2 * _plain_bound(parameters, count, dtype, x)
        for causal in (False, True):
            model = stack(parameters, count, causal=causal)
            changes = _changes(model, x, orders, dtype)
            common = {
                "subject": model.subject, "evidence": "float32", "dtype": dtype, "layers": count,
                "mask": model.mask, "encoding": "none", "orders": len(orders),
            }  # fmt: skip
            if causal:
                rows.exceeds(
                    f"smallest change over the other orders, causal mask, layers {count}, {dtype}",
                    _smallest(changes[1:]), 0.0, bound=CONTRADICTION_MARGIN * bound.max().item(),
                    contradicts=("every order", _equivariance(count, dtype), model.subject),
                    basis=_MARGIN, **common,
                )  # fmt: skip
            else:
                found, allowed = most_used(changes, bound)
                rows.within(_equivariance(count, dtype), found, 0.0, bound=allowed,
                            basis=_BASIS, **common)  # fmt: skip


def _smallest(changes: Tensor) -> float:
    """Each order's largest change, and of those the smallest: every order changes as much."""
    return changes.flatten(1).amax(dim=1).amin().item()


@SUITE.case("order of the prefix")
def prefix(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Behind a causal mask, what the last token sees is a set in one layer, and not in two."""
    length, x, _ = _length(parameters)
    before = _orders(length - 1)
    last = torch.full((len(before), 1), length - 1)
    orders = torch.cat([before, last], dim=1)
    for dtype in parameters["dtypes"]:
        name = _last(dtype)
        margin = 0.0
        for count in sorted({1, *parameters["layers"]}):
            model = stack(parameters, count, causal=True)
            bound = 2 * model.bounds(x, torch.arange(length), dtype, outputs_of)[-1]
            margin = max(margin, CONTRADICTION_MARGIN * bound.max().item())
            changes = _changes(model, x, orders, dtype)[:, -1:]
            common = {
                "subject": model.subject, "evidence": "float32", "dtype": dtype, "layers": count,
                "mask": "causal", "encoding": "none", "orders": len(orders),
            }  # fmt: skip
            if count == 1:
                found, allowed = most_used(changes, bound)
                rows.within(name, found, 0.0, bound=allowed, basis=_BASIS, **common)
            else:
                rows.exceeds(
                    "smallest change of the last output over other orders of the prefix, "
                    f"layers {count}, {dtype}",
                    _smallest(changes[1:]), 0.0, bound=margin,
                    contradicts=("order of the prefix", name, model.subject),
                    basis="margin: ten times what rounding can do in a stack of up to that depth",
                    **common,
                )  # fmt: skip


@SUITE.case("with each encoding")
def encodings(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Without a mask, an encoding makes every order count; ALiBi cannot see a reversal."""
    length, x, orders = _length(parameters)
    reverse = len(orders) - 1  # the last of the orders, which are sorted
    for count, dtype in itertools.product(parameters["layers"], parameters["dtypes"]):
        bound = 2 * _plain_bound(parameters, count, dtype, x).max().item()
        for name in ENCODINGS[1:]:
            model = stack(parameters, count, name, table_rows=length)
            changes = _changes(model, x, orders, dtype)
            common = {
                "subject": model.subject, "evidence": "float32", "dtype": dtype, "layers": count,
                "mask": "none", "encoding": name,
            }  # fmt: skip
            others = changes[1:]
            among = "the other orders"
            if name == "alibi":
                own = 2 * model.bounds(x, torch.arange(length), dtype, outputs_of)
                # Mirrored, an output has the roundings of the seat that it came from.
                found, allowed = most_used(changes[reverse], own)
                rows.within(
                    _reversal(count, dtype), found, 0.0, bound=allowed, basis=_BASIS, orders=1,
                    **common,
                )  # fmt: skip
                others = changes[1:reverse]
                among = "the other orders, the reversed one left out"
            rows.exceeds(
                f"smallest change over {among}, {name}, layers {count}, {dtype}",
                _smallest(others), 0.0, bound=CONTRADICTION_MARGIN * bound,
                contradicts=("every order", _equivariance(count, dtype),
                             "posinfo.encodings.layers.run"),
                basis=_MARGIN, orders=len(others), **common,
            )  # fmt: skip


@SUITE.case("every two orders")
def every_two(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Any two different orders held against one another, not only against the given one."""
    length, x, orders = _length(parameters)
    last = torch.full((math.factorial(length - 1), 1), length - 1)
    prefixes = torch.cat([_orders(length - 1), last], dim=1)
    for count, dtype in itertools.product(parameters["layers"], parameters["dtypes"]):
        stated = 2 * _plain_bound(parameters, count, dtype, x).max().item()
        equivariant = ("every order", _equivariance(count, dtype), "posinfo.encodings.layers.run")
        masked = stack(parameters, count, causal=True)
        told = f"causal mask, layers {count}, {dtype}"
        _two(rows, f"any two orders, {told}", masked, x, orders, dtype, stated, equivariant)
        if count > 1:
            one = stack(parameters, 1, causal=True)
            seen = 2 * one.bounds(x, torch.arange(length), dtype, outputs_of)[-1].max().item()
            _two(
                rows, f"any two orders of the prefix, last output, {told}", masked, x, prefixes,
                dtype, seen, ("order of the prefix", _last(dtype), one.subject), places=[-1],
            )  # fmt: skip
        for name in ENCODINGS[1:]:
            model = stack(parameters, count, name, table_rows=length)
            told = f"{name}, layers {count}, {dtype}"
            if name != "alibi":
                _two(rows, f"any two orders, {told}", model, x, orders, dtype, stated, equivariant)
                continue
            _two(
                rows, f"any two orders that are no mirror images, {told}", model, x, orders, dtype,
                stated, equivariant, mirrored=False,
            )  # fmt: skip
            unseen = 2 * model.bounds(x, torch.arange(length), dtype, outputs_of).max().item()
            causal = model.with_(causal=True)
            _two(
                rows, f"any two orders, causal mask, {told}", causal, x, orders, dtype, stated,
                equivariant,
            )  # fmt: skip
            _two(
                rows, f"any two orders that are mirror images, causal mask, {told}", causal, x,
                orders, dtype, unseen, ("with each encoding", _reversal(count, dtype),
                model.subject), mirrored=True,
            )  # fmt: skip


def _two(
    rows: Recorder,
    among: str,
    model: Stack,
    x: Tensor,
    orders: Tensor,
    dtype: str,
    stated: float,
    contradicts: tuple[str, str, str],
    *,
    places: Sequence[int] | None = None,
    mirrored: bool | None = None,
) -> None:
    """Assert that the two orders whose outputs are nearest are further apart than rounding.

    Parameters
    ----------
    among
        Which pairs of orders these are, what sees them, and in which precision.
    stated
        The bound of the row that is contradicted.
    places
        The tokens whose outputs are compared; all of them unless given.
    mirrored
        Whether pairs of mirror images alone are compared, or all others; None: all pairs.
    """
    outputs = _outputs(model, x, orders, dtype)
    compared = outputs if places is None else outputs[:, places]
    gap, first, second, pairs = _nearest(compared, orders, mirrored)
    # The rounding of these two runs themselves, where it is more than what is contradicted.
    own = sum(
        model.bounds(x[order], torch.arange(x.shape[0]), dtype, outputs_of).max().item()
        for order in (orders[first], orders[second])
    )
    rows.exceeds(
        f"smallest difference between {among}", gap, 0.0,
        bound=CONTRADICTION_MARGIN * max(stated, own), contradicts=contradicts,
        subject=model.subject, evidence="float32", dtype=dtype, layers=len(model.layers),
        mask=model.mask, encoding=model.encoding.name, orders=len(orders), pairs=pairs,
        basis="margin: ten times what rounding can do in the two runs, or in those that it "
        "contradicts",
    )  # fmt: skip


def _nearest(outputs: Tensor, orders: Tensor, mirrored: bool | None) -> tuple[float, int, int, int]:
    """Smallest over pairs of orders of the largest difference of their outputs, and which pair.

    Parameters
    ----------
    outputs
        Each token's output under each order, [orders, T, d].
    orders
        The orders, [orders, T].
    mirrored
        Whether pairs of mirror images alone count, or all others; None: all pairs.

    Returns
    -------
    tuple of float, int, int, int
        The difference, NaN if any output is; the two orders' numbers; how many pairs there were.
    """
    first, second = torch.triu_indices(len(orders), len(orders), 1)
    if mirrored is not None:
        images = (orders[first] == orders[second].flip(-1)).all(dim=-1)
        first, second = first[images == mirrored], second[images == mirrored]
    flat = outputs.flatten(1)
    gaps = torch.stack([(flat - row).abs().amax(dim=-1) for row in flat])[first, second]
    place = int(gaps.argmin())  # of a NaN, if there is one
    return gaps[place].item(), int(first[place]), int(second[place]), len(gaps)


def _embedded(sentences: tuple[str, str], width: int, seed: int) -> tuple[list[str], Tensor]:
    """The words of both sentences, and their tokens: [2, T, d]; one token a distinct word.

    Raises
    ------
    ValueError
        If the sentences have not the same words.
    """
    split = [sentence.split() for sentence in sentences]
    if sorted(split[0]) != sorted(split[1]):
        raise ValueError(f"not the same words: {' / '.join(sentences)}")
    known = sorted(set(split[0]))
    table = tokens(len(known), width, seed)
    ids = torch.tensor([[known.index(word) for word in words] for words in split])
    return split[0], table[ids]


def _where(sentences: tuple[str, str]) -> Tensor:
    """For each place of the first sentence the place of the same occurrence in the second."""
    first, second = ([(word, words[:place].count(word)) for place, word in enumerate(words)]
                     for words in (sentence.split() for sentence in sentences))  # fmt: skip
    return torch.tensor([second.index(entry) for entry in first])


def _pairs(parameters: Mapping[str, Any]) -> list[tuple[str, tuple[str, str], Tensor]]:
    """Each pair of sentences: a label, the sentences and their tokens."""
    width = parameters["heads"] * parameters["head_dim"]
    return [
        (" / ".join(pair), (pair[0], pair[1]),
         _embedded((pair[0], pair[1]), width, parameters["seed"] + 4)[1])
        for pair in parameters["sentences"]
    ]  # fmt: skip


@SUITE.case("outputs of sentences")
def outputs(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Two sentences of the same words through one layer: each word's output in either."""
    for (label, pair, both), dtype in itertools.product(_pairs(parameters), parameters["dtypes"]):
        where, positions = _where(pair), torch.arange(both.shape[1])
        name = f"largest change of a word's output, {label}, {dtype}"
        plain = stack(parameters, 1)
        bound = (
            plain.bounds(both[0], positions, dtype, outputs_of)
            + plain.bounds(both[1], positions, dtype, outputs_of)[where]
        )
        for model in (plain, plain.with_(causal=True)):
            first, second = model.measure(both, positions, DTYPES[dtype])
            changes = (second[where] - first).abs()
            common = {
                "subject": model.subject, "evidence": "float32", "dtype": dtype, "layers": 1,
                "mask": model.mask, "encoding": "none", "sentences": label,
            }  # fmt: skip
            if model.causal:
                rows.exceeds(
                    f"{name}, causal mask", changes.max().item(), 0.0,
                    bound=CONTRADICTION_MARGIN * bound.max().item(), basis=_MARGIN,
                    contradicts=("outputs of sentences", name, model.subject), **common,
                )  # fmt: skip
            else:
                found, allowed = most_used(changes, bound)
                rows.within(name, found, 0.0, bound=allowed, basis=_BASIS, **common)


@SUITE.case("scores of sentences")
def scores(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Their scores, as a bag and place by place: all of them, and those that a mask leaves.

    As bags, the scores of either sentence are held against those of the other one in arbitrary
    precision.
    """
    model = stack(parameters, 1)
    for label, _, both in _pairs(parameters):
        positions = torch.arange(both.shape[1])
        exact = torch.stack([exact_scores(model, x) for x in both])
        seen = torch.ones(exact.shape[-2:], dtype=torch.bool).tril()
        for dtype in parameters["dtypes"]:
            found = model.measure(both, positions, DTYPES[dtype], scores_of)
            # Sorting cannot move two lists further apart than they were in any pairing.
            bound = max(model.bounds(x, positions, dtype, scores_of).max().item() for x in both)
            bound += rounding.UNIT["float64"] * exact.abs().max().item()
            name = f"largest difference of sorted scores, {label}, {dtype}"
            common = {
                "subject": model.subject, "evidence": "float32", "dtype": dtype, "layers": 1,
                "encoding": "none", "sentences": label,
            }  # fmt: skip
            rows.within(
                name, (_bag(found) - _bag(exact.flip(0))).abs().max().item(), 0.0, bound=bound,
                basis="running error analysis: every rounding of the run at its largest and "
                "worst sign; the other sentence's scores in 34 digits",
                mask="none", compared="as a bag", **common,
            )  # fmt: skip
            masked = found[..., seen].sort(dim=-1).values
            for quantity, values, mask, compared in (
                (f"{name}, of those that a causal mask leaves", masked, "causal", "as a bag"),
                (f"largest difference of scores by place, {label}, {dtype}", found, "none",
                 "by place"),
            ):  # fmt: skip
                rows.exceeds(
                    quantity, (values[1] - values[0]).abs().max().item(), 0.0,
                    bound=CONTRADICTION_MARGIN * bound, mask=mask, compared=compared,
                    basis="margin: ten times what rounding can do",
                    contradicts=("scores of sentences", name, model.subject), **common,
                )  # fmt: skip


def _bag(scores: Tensor) -> Tensor:
    """Scores [..., T, T] of each head, sorted: [..., T * T]."""
    return scores.flatten(-2).sort(dim=-1).values


@SUITE.case("position from a start token")
def start_token(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Uniform causal attention onto a first token that differs gives 1/t, and so gives t."""
    length = parameters["uniform_length"]
    places = torch.arange(1, length + 1)
    for dtype in parameters["dtypes"]:
        unit = rounding.UNIT[dtype]
        zero = torch.zeros(length, 1, dtype=DTYPES[dtype])
        starts = (places == 1).to(DTYPES[dtype]).unsqueeze(-1)
        gathered = attend(zero, zero, starts).squeeze(-1)
        exact = [Fraction(1, t) for t in places.tolist()]
        away = [float(Fraction(x) - e) for x, e in zip(gathered.tolist(), exact, strict=True)]
        found, allowed = most_used(
            torch.tensor(away, dtype=torch.float64), 2 * unit / places.double()
        )
        common = {
            "subject": "posinfo.encodings.attention.attend", "evidence": "float32",
            "dtype": dtype, "mask": "causal", "encoding": "none", "length": length,
        }  # fmt: skip
        rows.within(
            f"largest difference from 1/t, {dtype}", found, 0.0, bound=allowed,
            basis="rounding analysis: a sum of ones is exact, then a reciprocal and a product",
            **common,
        )  # fmt: skip
        rows.equals(
            f"positions t that 1/output gives when rounded, {dtype}",
            int(((1 / gathered).round() == places).sum()), length,
            basis="an error of 3u t is below one half while t is below 1 / (6u)", **common,
        )  # fmt: skip


@SUITE.case("identical tokens")
def identical(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """One token over and over, behind a causal mask: alike at every place, but after a start."""
    length, x, _ = _length(parameters)
    positions = torch.arange(length)
    same = x[-1:].expand(length, -1)
    started = torch.cat([x[:1], same[1:]])
    for count, dtype in itertools.product(parameters["layers"], parameters["dtypes"]):
        model = stack(parameters, count, causal=True)
        bound = model.bounds(same, positions, dtype, outputs_of)
        bound = bound + bound[:1]
        alike = model.measure(same, positions, DTYPES[dtype])
        found, allowed = most_used(alike - alike[:1], bound)
        name = f"largest difference between places, layers {count}, {dtype}"
        common = {
            "subject": model.subject, "evidence": "float32", "dtype": dtype, "layers": count,
            "mask": "causal", "encoding": "none", "length": length,
        }  # fmt: skip
        rows.within(name, found, 0.0, bound=allowed, basis=_BASIS, **common)
        apart = model.measure(started, positions, DTYPES[dtype])[1:]
        gaps = (apart.unsqueeze(0) - apart.unsqueeze(1)).abs().amax(dim=-1)
        pairs = torch.triu_indices(length - 1, length - 1, 1)
        rows.exceeds(
            f"smallest difference between places after a start token, layers {count}, {dtype}",
            gaps[pairs[0], pairs[1]].amin().item(), 0.0,
            bound=CONTRADICTION_MARGIN * bound.max().item(),
            contradicts=("identical tokens", name, model.subject),
            basis="margin: ten times what rounding can do without a start token", **common,
        )  # fmt: skip


@SUITE.case("arbitrary precision")
def arbitrary_precision(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The deepest stack with each encoding, by other code in arbitrary precision; T5's buckets."""
    length, x, _ = _length(parameters)
    positions = torch.arange(length)
    count = min(2, max(parameters["layers"]))
    for name, causal in itertools.product(ENCODINGS, (False, True)):
        model = stack(parameters, count, name, causal=causal, table_rows=length)
        exact = exact_outputs(model, x, positions, parameters["base"])
        for dtype in parameters["dtypes"]:
            bound = model.bounds(x, positions, dtype, outputs_of)
            # The reference is rounded once to float64.
            bound = bound + rounding.UNIT["float64"] * exact.abs()
            measured = model.measure(x, positions, DTYPES[dtype])
            found, allowed = most_used(measured - exact, bound)
            rows.within(
                f"largest difference of an output, {name}, mask {model.mask}, {dtype}",
                found, 0.0, bound=allowed, subject=model.subject, evidence="float32",
                basis="running error analysis: every rounding of the run at its largest and "
                "worst sign; the reference in 34 digits", dtype=dtype, layers=count,
                mask=model.mask, encoding=name, length=length,
            )  # fmt: skip
    furthest = 2 * t5.MAX_DISTANCE
    offsets = torch.arange(-furthest, furthest + 1)
    for causal in (False, True):
        found = t5.bucket(offsets, bidirectional=not causal).tolist()
        expected = [reference.bucket(o, bidirectional=not causal) for o in offsets.tolist()]
        rows.equals(
            f"offsets up to ±{furthest} in the right bucket, mask {'causal' if causal else 'none'}",
            sum(a == b for a, b in zip(found, expected, strict=True)), len(offsets),
            subject="posinfo.encodings.t5.bucket", evidence="reference",
            basis="whole-number arithmetic", mask="causal" if causal else "none",
            encoding="t5 bias",
        )  # fmt: skip
