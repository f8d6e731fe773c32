"""The ends of a table: what each look-up says or does past the last row, and at -1."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from posinfo.encodings import learned
from posinfo.suites.base import Recorder
from posinfo.suites.common import draw, shape_text
from posinfo.suites.lookup.suite import COPY, DECODER, EMBED, MESSAGE, OUT_OF_RANGE, SUITE
from posinfo.tiny import TinyDecoder, batches


class LookUp(NamedTuple):
    """A call that looks rows up, what it says of an index past the end, and what it does at -1.

    ``message`` may name the first index that is no row (p), rows (n), width (d), n times d (nd)
    and p times d (pd); without one the call answers silently. ``negative`` tells whether -1 is
    the last row.
    """

    call: Callable[[Tensor, Tensor], Tensor]
    message: str = ""
    negative: bool = False


def _flat(positions: Tensor, width: int) -> Tensor:
    """Indices of whole rows in the flattened table, shape [T, width]."""
    return positions[:, None] * width + torch.arange(width)


_BOUNDS = "index {p} is out of bounds for dimension 0 with size {n}"
_ONE_ROW = "tensor[int]"
_SLICE = "tensor[int:int]"
_WRAPPING = "torch.take_along_dim"

LOOK_UPS = {
    "torch.nn.Embedding": LookUp(
        lambda t, p: torch.nn.Embedding.from_pretrained(t)(p), OUT_OF_RANGE
    ),
    "torch.nn.functional.embedding": LookUp(lambda t, p: functional.embedding(p, t), OUT_OF_RANGE),
    "torch.index_select": LookUp(lambda t, p: torch.index_select(t, 0, p), OUT_OF_RANGE),
    "tensor[tensor]": LookUp(lambda t, p: t[p], f"IndexError: {_BOUNDS}", negative=True),
    _ONE_ROW: LookUp(lambda t, p: t[int(p)][None], f"IndexError: {_BOUNDS}", negative=True),
    "tensor.select": LookUp(
        lambda t, p: t.select(0, int(p))[None],
        "IndexError: select(): index {p} out of range for tensor of size [{n}, {d}] at dimension 0",
        negative=True,
    ),
    "torch.take": LookUp(
        lambda t, p: torch.take(t, _flat(p, t.shape[1])),
        "IndexError: out of range: tried to access index {pd} on a tensor of {nd} elements.",
        negative=True,
    ),
    "torch.gather": LookUp(
        lambda t, p: torch.gather(t, 0, p[:, None].expand(-1, t.shape[1])),
        f"RuntimeError: {_BOUNDS}",
    ),
    _WRAPPING: LookUp(
        lambda t, p: torch.take_along_dim(t, p[:, None].expand(-1, t.shape[1]), dim=0),
        negative=True,
    ),
}
#: Calls that take one position, and none of a whole sequence.
_SINGLE = (_ONE_ROW, "tensor.select")


def _reference(look_up: LookUp, table: Tensor, position: int) -> str:
    rows, width = table.shape
    return look_up.message.format(p=position, n=rows, d=width, nd=rows * width, pd=position * width)


def _tables(parameters: Mapping[str, Any]) -> Iterator[tuple[Tensor, int]]:
    """The lessons' tables, narrowed, and the length past their end that each lesson names."""
    for number, table in enumerate(parameters["tables"]):
        shape = (table["rows"], parameters["width"])
        yield draw(shape, parameters["seed"] + number), table["length"]


@SUITE.case("one row")
def one_row(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The last row, one past it, the lesson's last position and -1, by each look-up."""
    for table, length in _tables(parameters):
        size, width = table.shape
        for api, look_up in LOOK_UPS.items():
            for position in (size - 1, size, length - 1, -1):
                _one_row(rows, table, api, look_up, position)
        for position in (size - 1, size, length - 1, -1):
            inside = 0 <= position < size
            rows.equals(
                f"rows of a slice at position {position} of {size}",
                shape_text(table[position : position + 1]), str([int(inside), width]),
                subject=_SLICE, api=_SLICE, position=position, table_rows=size, width=width,
                behaviour="the row" if inside else "nothing", evidence="float32",
                basis="a slice is cut to the table, and -1 to 0 is an empty one",
            )  # fmt: skip


def _one_row(rows: Recorder, table: Tensor, api: str, look_up: LookUp, position: int) -> None:
    size, width = table.shape
    common = {
        "subject": api, "api": api, "position": position, "table_rows": size, "width": width,
        "evidence": "float32",
    }  # fmt: skip
    quantity = f"look-up of position {position} of {size}"
    index = torch.tensor([position])
    inside = 0 <= position < size
    if not inside and look_up.message and not (position == -1 and look_up.negative):
        message = _reference(look_up, table, position)
        rows.raises(
            quantity, lambda: look_up.call(table, index), message,
            behaviour=message.partition(":")[0], basis=MESSAGE, **common,
        )  # fmt: skip
        return
    # Python's remainder: -1 is the last row, and a row past the end one from the beginning.
    found = look_up.call(table, index)
    rows.equals(
        f"{quantity}, largest difference from row {position % size}",
        (found.flatten() - table[position % size]).abs().max().item(), 0.0,
        behaviour="the row" if inside else "another row",
        basis=COPY if inside else "the index is taken modulo the rows: equal bit for bit",
        **common,
    )  # fmt: skip


@SUITE.case("whole sequence")
def whole_sequence(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A sequence as long as the table, and one of the lesson's length, added to its tokens."""
    for table, longer in _tables(parameters):
        size, width = table.shape
        tokens = draw((1, longer, width), parameters["seed"] + 10)
        for length in (size, longer):
            for api, look_up in LOOK_UPS.items():
                if api not in _SINGLE:
                    _sequence(rows, table, tokens[:, :length], api, look_up)
            inside = length <= size
            common = {
                "subject": _SLICE, "api": _SLICE, "length": length, "table_rows": size,
                "width": width, "evidence": "float32",
            }  # fmt: skip
            rows.equals(
                f"rows of a slice of {length} positions of {size}", shape_text(table[:length]),
                str([min(length, size), width]), basis="a slice is cut to the table",
                behaviour="the rows" if inside else "too few rows", **common,
            )  # fmt: skip
            if not inside:
                rows.raises(
                    f"sum of {length} tokens and a slice of {size} positions",
                    lambda x=tokens, t=table: x + t[: x.shape[1]],
                    f"RuntimeError: The size of tensor a ({length}) must match the size of "
                    f"tensor b ({size}) at non-singleton dimension 1",
                    behaviour="RuntimeError", basis=MESSAGE, **common,
                )  # fmt: skip


def _sequence(rows: Recorder, table: Tensor, tokens: Tensor, api: str, look_up: LookUp) -> None:
    size, width = table.shape
    length = tokens.shape[1]
    positions = torch.arange(length)
    quantity = f"look-up of {length} positions of {size}"
    common = {
        "subject": api, "api": api, "length": length, "table_rows": size, "width": width,
        "evidence": "float32",
    }  # fmt: skip
    if length > size and look_up.message:
        message = _reference(look_up, table, size)
        rows.raises(
            quantity, lambda: tokens + look_up.call(table, positions), message,
            behaviour=message.partition(":")[0], basis=MESSAGE, **common,
        )  # fmt: skip
        return
    total = tokens + look_up.call(table, positions)
    expected = tokens + table.repeat(math.ceil(length / size), 1)[:length]
    rows.equals(
        f"{quantity}, largest difference from the table over and over",
        (total - expected).abs().max().item(), 0.0,
        behaviour="the rows" if length <= size else "other rows",
        basis="the same additions of rows taken modulo the table: equal bit for bit", **common,
    )  # fmt: skip


@SUITE.case("prompt past the table")
def prompt(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A decoder of the lessons' table sizes, given as many tokens as rows, one more, and more."""
    sizes = parameters["decoder"]
    for table in parameters["tables"]:
        size, longer = table["rows"], table["length"]
        generator = torch.Generator().manual_seed(parameters["seed"])
        model = TinyDecoder(
            sizes["vocabulary"], size, parameters["width"], sizes["classes"], generator
        )
        data = batches(sizes["vocabulary"], 1, longer, generator)
        ids = next(data)
        common = {
            "subject": DECODER, "api": "torch.nn.functional.embedding", "table_rows": size,
            "width": parameters["width"], "batch": 1, "evidence": "float32",
        }  # fmt: skip
        with torch.no_grad():
            rows.equals(
                f"shape of the answers to {size} tokens, {size} positions",
                shape_text(model(ids[:, :size], torch.arange(size))),
                str([1, size, sizes["classes"]]),
                basis="one answer a token", behaviour="answers", length=size, **common,
            )  # fmt: skip
            for length in (size + 1, longer):
                rows.raises(
                    f"answers to {length} tokens, {size} positions",
                    lambda n=length, m=model, x=ids: m(x[:, :n], torch.arange(n)),
                    OUT_OF_RANGE, basis=MESSAGE, behaviour="IndexError", length=length, **common,
                )  # fmt: skip


@SUITE.case("steps past the table")
def steps(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Token by token, a slice past the end of the table stops nothing: tokens go or share a row."""
    table, _ = next(_tables(parameters))
    size, width = table.shape
    common = {"table_rows": size, "width": width, "evidence": "float32", "position": size}
    token = draw((1, 1, width), parameters["seed"] + 10)
    rows.raises(
        f"embedding of one token at position {size} of {size}",
        lambda: learned.embed(token[0], table, torch.tensor([[0]]), torch.tensor([size])),
        OUT_OF_RANGE, subject=EMBED, api="torch.nn.functional.embedding", behaviour="IndexError",
        length=1, basis=MESSAGE, **common,
    )  # fmt: skip
    sliced = {"subject": _SLICE, "api": _SLICE, **common}
    rows.equals(
        f"shape of one token plus the slice at position {size} of {size}",
        shape_text(token + table[size : size + 1]), str([1, 0, width]),
        behaviour="no token left", length=1,
        basis="a length of 1 is broadcast to the slice's length, 0", **sliced,
    )  # fmt: skip
    pair = draw((1, 2, width), parameters["seed"] + 11)
    last = (pair + table[size - 1 : size + 1]) - (pair + table[size - 1])
    rows.equals(
        f"two tokens plus the slice from position {size - 1} of {size}, largest difference from "
        "the last row twice", last.abs().max().item(), 0.0,
        behaviour="the last row twice", length=2,
        basis="a slice of one row is broadcast to both tokens: equal bit for bit", **sliced,
    )  # fmt: skip
