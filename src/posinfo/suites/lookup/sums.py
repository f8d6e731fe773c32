"""Positions added to tokens: in which shapes they may be given, and one row for all tokens."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from posinfo.encodings import learned
from posinfo.suites.base import Recorder
from posinfo.suites.common import draw, shape_text
from posinfo.suites.lookup.suite import COPY, EMBED, MESSAGE, SUITE, U


@SUITE.case("shape of the positions")
def shape_of_positions(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Positions given once, in a row, tiled, and by mistake in a column or tiled the other way."""
    size = parameters["lesson_b"]
    length, width = size["length"], size["width"]
    tokens = draw((size["vocabulary"], width), parameters["seed"])
    table = draw((length, width), parameters["seed"] + 1)
    flat = torch.arange(length)
    _flat_ids(rows, tokens, table)
    for batch in sorted({1, size["batch"], length}):
        generator = torch.Generator().manual_seed(parameters["seed"])
        ids = torch.randint(0, size["vocabulary"], (batch, length), generator=generator)
        common = {"batch": batch, "length": length, "width": width, "evidence": "float32"}
        expected = tokens[ids] + table[flat].expand(batch, length, width)
        for name, positions in (
            ("[T]", flat),
            ("[1, T]", flat[None]),
            ("[B, T]", flat.expand(batch, length)),
        ):
            found = learned.embed(tokens, table, ids, positions)
            same = shape_text(found) == shape_text(expected)
            rows.equals(
                f"positions {name} against one addition a token, batch {batch}",
                (found - expected).abs().max().item() if same else math.nan, 0.0,
                subject=EMBED, behaviour="the rows",
                basis="the same additions: equal bit for bit", **common,
            )  # fmt: skip
        column = {"subject": EMBED, **common}
        if batch == 1:
            rows.equals(
                f"shape with positions [T, 1], batch {batch}",
                shape_text(learned.embed(tokens, table, ids, flat[:, None])),
                str([length, length, width]), behaviour="every token at every position",
                basis="broadcasting: [1, T, d] and [T, 1, d] give [T, T, d]", **column,
            )  # fmt: skip
            continue
        for name, positions, sizes in (
            ("[T, 1]", flat[:, None], (batch, length, 0)),
            ("[T, B]", flat[:, None].expand(length, batch), (length, batch, 1)),
        ):
            if batch == length:
                found = learned.embed(tokens, table, ids, positions)
                _by_sequence(rows, name, found, expected, tokens[ids], table, column)
                continue
            rows.raises(
                f"sum with positions {name}, batch {batch}",
                lambda x=ids, p=positions: learned.embed(tokens, table, x, p),
                "RuntimeError: The size of tensor a ({}) must match the size of tensor b ({}) at "
                "non-singleton dimension {}".format(*sizes),
                behaviour="RuntimeError", basis=MESSAGE, **column,
            )  # fmt: skip


def _flat_ids(rows: Recorder, tokens: Tensor, table: Tensor) -> None:
    """Ids of one sequence without a batch, [T]: in a row it has its positions, in a column all."""
    length, width = table.shape
    flat = torch.arange(length)
    ids = flat % len(tokens)
    common = {"subject": EMBED, "length": length, "width": width, "evidence": "float32"}
    expected = tokens[ids] + table
    for name, positions in (("[T]", flat), ("[1, T]", flat[None])):
        found = learned.embed(tokens, table, ids, positions)
        fits = found.numel() == expected.numel()
        rows.equals(
            f"positions {name} against one addition a token, ids [T]",
            (found.reshape(-1, width) - expected).abs().max().item() if fits else math.nan, 0.0,
            behaviour="the rows", basis="the same additions: equal bit for bit", **common,
        )  # fmt: skip
    rows.equals(
        "shape with positions [T, 1], ids [T]",
        shape_text(learned.embed(tokens, table, ids, flat[:, None])), str([length, length, width]),
        behaviour="every token at every position",
        basis="broadcasting: [T, d] and [T, 1, d] give [T, T, d]", **common,
    )  # fmt: skip


def _by_sequence(
    rows: Recorder,
    name: str,
    found: Tensor,
    expected: Tensor,
    tokens: Tensor,
    table: Tensor,
    column: Mapping[str, Any],
) -> None:
    """As many sequences as tokens in each: the wrong axis fits, and nothing tells."""
    length = len(table)
    silent = {"behaviour": "the sequence's number for a position", **column}
    rows.equals(
        f"shape with positions {name}, batch {length}", shape_text(found), shape_text(expected),
        basis="broadcasting: [T, 1, d] and [T, T, d] each fit the tokens' [T, T, d]", **silent,
    )  # fmt: skip
    same = shape_text(found) == shape_text(expected)
    rows.equals(
        f"tokens with another position's row, of {length * length}, positions {name}, "
        f"batch {length}",
        int((found != expected).any(dim=-1).sum()) if same else math.nan, length * length - length,
        basis="the token in place t of sequence t alone has its own", **silent,
    )  # fmt: skip
    by_sequence = tokens + table[:, None]
    rows.equals(
        f"positions {name} against row b for all of sequence b, batch {length}",
        (found - by_sequence).abs().max().item() if same else math.nan, 0.0,
        basis="the same additions: equal bit for bit", **silent,
    )  # fmt: skip


def _short(shape: tuple[int, ...], seed: int) -> Tensor:
    """Numbers of so few binary digits that a sum of two, and its difference, is exact."""
    return (draw(shape, seed) * 64).round().clamp(-256, 256) / 64


@SUITE.case("same vector")
def same_vector(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """One vector for a token wherever it stands, and one for a position whatever stands there."""
    size = parameters["lesson_b"]
    vocabulary, width, batch = size["vocabulary"], size["width"], size["batch"]
    lengths = parameters["lengths"]
    longest = max(lengths)
    common = {"width": width, "evidence": "float32"}
    tokens = draw((vocabulary, width), parameters["seed"])
    one = torch.full((batch, longest), vocabulary - 1)
    found = functional.embedding(one, tokens)
    rows.equals(
        f"one token at {longest} positions of {batch} sequences, largest difference of vectors",
        (found - found[0, 0]).abs().max().item(), 0.0, subject="torch.nn.functional.embedding",
        length=longest, batch=batch, basis=COPY, **common,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(parameters["seed"])
    ids = torch.randint(0, vocabulary, (batch, longest), generator=generator)
    for length in lengths:
        rows.equals(
            f"tokens of a sequence of {length} against those of {longest}, largest difference",
            (functional.embedding(ids[:, :length], tokens)
             - functional.embedding(ids, tokens)[:, :length]).abs().max().item(), 0.0,
            subject="torch.nn.functional.embedding", length=length, batch=batch, basis=COPY,
            **common,
        )  # fmt: skip
    table = draw((longest, width), parameters["seed"] + 1)
    placed = learned.embed(tokens, table, one, torch.arange(longest))
    # Of all pairs of places, the closest two: none may be the same any more.
    apart = torch.cdist(placed[:1].double(), placed[:1].double())[0]
    apart.fill_diagonal_(math.inf)
    rows.exceeds(
        f"one token at {longest} positions, smallest distance after the positions are added",
        apart.min().item(), 0.0, bound=1e-3 * table.norm(dim=1).max().item(), subject=EMBED,
        length=longest, batch=1, basis="margin: a thousandth of the longest row", **common,
    )  # fmt: skip
    _same_position(rows, parameters)


def _same_position(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """What each position adds, taken from sums that are exact: the same for all tokens."""
    size = parameters["lesson_b"]
    vocabulary, width = size["vocabulary"], size["width"]
    longest = max(parameters["lengths"])
    common = {"subject": EMBED, "width": width, "batch": vocabulary, "evidence": "float32"}
    tokens = _short((vocabulary, width), parameters["seed"])
    table = _short((longest, width), parameters["seed"] + 1)
    generic = draw((longest, width), parameters["seed"] + 1)
    for length in parameters["lengths"]:
        # Sequence b holds token b at every position: each token meets each position.
        every = torch.arange(vocabulary)[:, None].expand(vocabulary, length)
        positions = torch.arange(length)
        added = learned.embed(tokens, table, every, positions) - tokens[every]
        rows.equals(
            f"what {length} positions add to each of {vocabulary} tokens, largest difference from "
            "their rows", (added - table[:length]).abs().max().item(), 0.0, length=length,
            basis="numbers of few binary digits, whose sums and differences are exact", **common,
        )  # fmt: skip
    every = torch.arange(vocabulary)[:, None].expand(vocabulary, longest)
    exact = tokens[every].double() + generic.double()
    total = learned.embed(tokens, generic, every, torch.arange(longest)).double()
    # A sum that is exactly 0 has no error to allow: any at all is then far past the bound.
    used = (total - exact).abs() / (U * exact.abs()).clamp_min(1e-300)
    rows.within(
        f"what {longest} positions add, rows with all their digits, largest relative error",
        used.max().item() * U, 0.0, bound=U, length=longest,
        basis="rounding analysis: one addition, relative to its sum", **common,
    )  # fmt: skip
