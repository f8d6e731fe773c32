"""Learned tables: what each look-up does at the end of the table, what it costs, what it learns."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from posinfo.encodings import learned
from posinfo.encodings.attention import attend
from posinfo.reference import rounding, sampling
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import Comparison, draw, shape_text
from posinfo.tiny import TinyDecoder, answers, batches, train

SUITE = Suite(
    "lookup",
    "Look-ups in learned tables: their ends, their cost, and what training leaves in them",
    columns=(
        "api", "position", "length", "table_rows", "width", "batch", "behaviour", "optimizer",
        "weight_decay", "reached", "gradient", "stage",
    ),
)  # fmt: skip

_EMBED = "posinfo.encodings.learned.embed"
_DECODER = "posinfo.tiny.TinyDecoder"
_TABLE = "posinfo.encodings.learned.LearnedPositions"
_COPY = "a look-up copies: equal bit for bit"
_MESSAGE = "torch's own type and message, on a CPU"
_FLOAT32 = 4
_U = rounding.UNIT["float32"]
#: What torch's Adam adds to the root of its second moment.
_ADAM_EPSILON = 1e-8
#: Roundings of a first step of Adam, relative to it: the decay, two moments (two products each,
#: and a square), the root within two, two corrections, a sum and a quotient.
_ADAM_ROUNDINGS = 12
_MOMENTUM = 0.9
_WITH_MOMENTUM = "SGD with momentum"


# --- the calls that look rows up ---------------------------------------------------------------


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


_SELF = "IndexError: index out of range in self"
_BOUNDS = "index {p} is out of bounds for dimension 0 with size {n}"
_ONE_ROW = "tensor[int]"
_SLICE = "tensor[int:int]"
_WRAPPING = "torch.take_along_dim"

LOOK_UPS = {
    "torch.nn.Embedding": LookUp(lambda t, p: torch.nn.Embedding.from_pretrained(t)(p), _SELF),
    "torch.nn.functional.embedding": LookUp(lambda t, p: functional.embedding(p, t), _SELF),
    "torch.index_select": LookUp(lambda t, p: torch.index_select(t, 0, p), _SELF),
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
            behaviour=message.partition(":")[0], basis=_MESSAGE, **common,
        )  # fmt: skip
        return
    # Python's remainder: -1 is the last row, and a row past the end one from the beginning.
    found = look_up.call(table, index)
    rows.equals(
        f"{quantity}, largest difference from row {position % size}",
        (found.flatten() - table[position % size]).abs().max().item(), 0.0,
        behaviour="the row" if inside else "another row",
        basis=_COPY if inside else "the index is taken modulo the rows: equal bit for bit",
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
                    behaviour="RuntimeError", basis=_MESSAGE, **common,
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
            behaviour=message.partition(":")[0], basis=_MESSAGE, **common,
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
            "subject": _DECODER, "api": "torch.nn.functional.embedding", "table_rows": size,
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
                    _SELF, basis=_MESSAGE, behaviour="IndexError", length=length, **common,
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
        _SELF, subject=_EMBED, api="torch.nn.functional.embedding", behaviour="IndexError",
        length=1, basis=_MESSAGE, **common,
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
                subject=_EMBED, behaviour="the rows",
                basis="the same additions: equal bit for bit", **common,
            )  # fmt: skip
        column = {"subject": _EMBED, **common}
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
                behaviour="RuntimeError", basis=_MESSAGE, **column,
            )  # fmt: skip


def _flat_ids(rows: Recorder, tokens: Tensor, table: Tensor) -> None:
    """Ids of one sequence without a batch, [T]: in a row it has its positions, in a column all."""
    length, width = table.shape
    flat = torch.arange(length)
    ids = flat % len(tokens)
    common = {"subject": _EMBED, "length": length, "width": width, "evidence": "float32"}
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


# --- one row for all tokens, lengths and batches -----------------------------------------------


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
        length=longest, batch=batch, basis=_COPY, **common,
    )  # fmt: skip
    generator = torch.Generator().manual_seed(parameters["seed"])
    ids = torch.randint(0, vocabulary, (batch, longest), generator=generator)
    for length in lengths:
        rows.equals(
            f"tokens of a sequence of {length} against those of {longest}, largest difference",
            (functional.embedding(ids[:, :length], tokens)
             - functional.embedding(ids, tokens)[:, :length]).abs().max().item(), 0.0,
            subject="torch.nn.functional.embedding", length=length, batch=batch, basis=_COPY,
            **common,
        )  # fmt: skip
    table = draw((longest, width), parameters["seed"] + 1)
    placed = learned.embed(tokens, table, one, torch.arange(longest))
    # Of all pairs of places, the closest two: none may be the same any more.
    apart = torch.cdist(placed[:1].double(), placed[:1].double())[0]
    apart.fill_diagonal_(math.inf)
    rows.exceeds(
        f"one token at {longest} positions, smallest distance after the positions are added",
        apart.min().item(), 0.0, bound=1e-3 * table.norm(dim=1).max().item(), subject=_EMBED,
        length=longest, batch=1, basis="margin: a thousandth of the longest row", **common,
    )  # fmt: skip
    _same_position(rows, parameters)


def _same_position(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """What each position adds, taken from sums that are exact: the same for all tokens."""
    size = parameters["lesson_b"]
    vocabulary, width = size["vocabulary"], size["width"]
    longest = max(parameters["lengths"])
    common = {"subject": _EMBED, "width": width, "batch": vocabulary, "evidence": "float32"}
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
    used = (total - exact).abs() / (_U * exact.abs()).clamp_min(1e-300)
    rows.within(
        f"what {longest} positions add, rows with all their digits, largest relative error",
        used.max().item() * _U, 0.0, bound=_U, length=longest,
        basis="rounding analysis: one addition, relative to its sum", **common,
    )  # fmt: skip


# --- what a look-up costs ----------------------------------------------------------------------


class Counter(TorchDispatchMode):
    """Counts the operations that torch carries out, and the numbers that its additions make."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.added = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: D105
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        self.operations.append(name)
        if name == "add":
            self.added += result.numel()
        return result


@SUITE.case("rows read")
def rows_read(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """One position looked up in tables of different sizes: rows used, bytes made, gradients."""
    width = parameters["width"]
    for size in parameters["table_sizes"]:
        position = torch.tensor([size // 2])
        common = {"table_rows": size, "width": width, "length": 1, "evidence": "float32"}
        table = torch.full((size, width), math.nan)
        table[position] = draw((1, width), parameters["seed"])
        # NaN in every other row: a result that used one of them could not be free of it.
        found = functional.embedding(position, table)
        looked_up = {"subject": "torch.nn.functional.embedding", **common}
        rows.equals(
            f"numbers lost when all other rows are NaN, table of {size}",
            int(found.isnan().sum()), 0, basis="no other row enters the result", **looked_up,
        )  # fmt: skip
        rows.equals(
            f"bytes of the result, table of {size}",
            found.numel() * found.element_size(), _FLOAT32 * width,
            basis="four bytes for each component of one row", **looked_up,
        )  # fmt: skip
        by_product = functional.one_hot(position, size).float() @ table
        rows.equals(
            f"numbers lost when all other rows are NaN, product with a one-hot row, "
            f"table of {size}", int(by_product.isnan().sum()), width,
            subject="torch.nn.functional.one_hot", basis="a product reads every row",
            **common,
        )  # fmt: skip
        for sparse in (False, True):
            weight = torch.zeros(size, width, requires_grad=True)
            functional.embedding(position, weight, sparse=sparse).sum().backward()
            kept = weight.grad.coalesce().values() if sparse else weight.grad
            kind = "sparse" if sparse else "dense"
            rows.equals(
                f"rows with a gradient, {kind}, table of {size}",
                int(kept.abs().sum(dim=1).count_nonzero()), 1, gradient=kind,
                basis="one row was looked up", **looked_up,
            )  # fmt: skip
            rows.equals(
                f"bytes of a {kind} gradient over those of one row, table of {size}",
                kept.numel() / width, 1 if sparse else size, gradient=kind,
                basis="one row of numbers" if sparse else "as many numbers as the table",
                **looked_up,
            )  # fmt: skip


@SUITE.case("cost")
def cost(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Parameters and bytes at the lessons' sizes, and the work that positions add to a pass."""
    gpt2, small = parameters["gpt2"], parameters["lesson_b"]
    for name, size, width in (
        ("lesson B's exercise", parameters["tables"][-1]["rows"], small["width"]),
        ("GPT-2 small", gpt2["max_position"], gpt2["width"]),
    ):
        # On the meta device a module has shapes and no numbers.
        table = torch.nn.Embedding(size, width, device="meta").weight
        rows.equals(
            f"bytes of the table in float32, {name}", table.numel() * table.element_size(),
            _FLOAT32 * size * width, subject="torch.nn.Embedding", table_rows=size, width=width,
            evidence="float32", basis="four bytes a parameter",
        )  # fmt: skip
    _share_of_gpt2(rows, parameters)
    vocabulary, width, length = small["vocabulary"], small["width"], small["length"]
    tokens, table = (draw((n, width), parameters["seed"]) for n in (vocabulary, length))
    ids = torch.arange(length)[None].expand(small["batch"], length)
    with Counter() as counter:
        learned.embed(tokens, table, ids, torch.arange(length))
    operations = [name for name in counter.operations if name not in ("arange", "detach")]
    common = {
        "subject": _EMBED, "length": length, "width": width, "batch": small["batch"],
        "evidence": "float32",
    }  # fmt: skip
    rows.equals(
        "operations from ids to the block's input", ", ".join(operations),
        "embedding, embedding, add", basis="one look-up a table, and a sum", **common,
    )  # fmt: skip
    rows.equals(
        "additions for each component of each token",
        counter.added / (small["batch"] * length * width), 1,
        basis="a position's row is added once", **common,
    )  # fmt: skip


def _share_of_gpt2(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """GPT-2 small, built without numbers: what share of its parameters the positions are."""
    size = parameters["gpt2"]
    width, positions = size["width"], size["max_position"]
    common = {"table_rows": positions, "width": width, "evidence": "float32"}
    parts = [
        torch.nn.Embedding(size["vocabulary"], width, device="meta"),
        torch.nn.Embedding(positions, width, device="meta"),
        torch.nn.LayerNorm(width, device="meta"),
    ]
    # torch's encoder layer has the parameters of a block of GPT-2: attention with an output
    # projection, two linear maps of four times the width, and two norms, all with biases.
    parts += [
        torch.nn.TransformerEncoderLayer(width, size["heads"], 4 * width, device="meta")
        for _ in range(parameters["gpt2_layers"])
    ]
    counted = sum(p.numel() for part in parts for p in part.parameters())
    blocks = parameters["gpt2_layers"] * (12 * width**2 + 13 * width)
    expected = (size["vocabulary"] + positions) * width + blocks + 2 * width
    rows.equals(
        "parameters of GPT-2 small", counted, expected, subject="torch.nn", **common,
        basis="12 d² + 13 d a block, both tables, and the last norm; the read-out is the token "
        "table",
    )  # fmt: skip
    rows.equals(
        "percent of GPT-2 small's parameters that are positions",
        100 * parts[1].weight.numel() / counted, 100 * positions * width / expected,
        subject="torch.nn", basis="the position table over all of them", **common,
    )  # fmt: skip
    # A block multiplies each token's vector with 12 d² weights, the scores left out.
    rows.equals(
        "multiplications by weights for each number that positions add, GPT-2 small",
        sum(p.numel() for part in parts[3:] for p in part.parameters() if p.dim() == 2) / width,
        parameters["gpt2_layers"] * 12 * width, subject="torch.nn",
        basis="12 d² weights a block and token, against d additions", **common,
    )  # fmt: skip


# --- what training leaves in rows that it never reached ------------------------------------------


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
        error_v = momentum * error_v + decay * error_w + 2 * _U * (pull + kept)
        v = kept + pull
        error_v += _U * v
        w -= rate * v
        error_w += rate * error_v + 2 * _U * rate * v + _U * w
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
            _rows_apart(first.after[reached:], second.after[reached:]), 0,
            basis="nothing of the data reaches them: equal bit for bit", **unreached,
        )  # fmt: skip
        rows.equals(
            f"rows that other data would leave otherwise, of {reached} looked up, {label}",
            _rows_apart(first.after[:reached], second.after[:reached]), reached,
            basis="their targets differ", reached="yes", **common,
        )  # fmt: skip
        if not optimizer.decay:
            rows.equals(
                f"rows changed by training, of {left} never looked up, {label}",
                _rows_apart(first.before[reached:], first.after[reached:]), 0,
                basis="a step of 0: equal bit for bit", **unreached,
            )  # fmt: skip
            continue
        rows.equals(
            f"rows changed by training, of {left} never looked up, {label}",
            _rows_apart(first.before[reached:], first.after[reached:]), left,
            basis="weight decay moves every row", **unreached,
        )  # fmt: skip
        before, after = first.before[reached:].double(), first.after[reached:].double()
        if optimizer.name == "Adam":
            # Adam divides the decay by its own size: every number moves by the rate, not by less.
            moved = (first.first - first.before)[reached:].double().abs()
            pull = decay * before.abs()
            wanted = rate * pull / (pull + _ADAM_EPSILON)
            bounds = _U * (before.abs() + rate) + _ADAM_ROUNDINGS * _U * wanted
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
        rounded = 3 * steps_taken * _U * rounding.SECOND_ORDER
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


def _rows_apart(first: Tensor, second: Tensor) -> int:
    """How many rows of two tables are not equal bit for bit."""
    return int((first != second).any(dim=1).sum())


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
        _rows_apart(functional.embedding(torch.arange(far + 1), table),
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

    mixed = f"largest mixed second derivative of positions {near} and {far}"
    rows.equals(
        f"{mixed}, each position judged by itself", _mixed(apart, pair).abs().max().item(), 0.0,
        subject="torch.autograd", behaviour="no attention",
        basis="the loss is a sum of one term a position", **coupled,
    )  # fmt: skip
    # The mean of two vectors, squared and summed: 2 (1/2) (1/2) for one component with itself.
    rows.equals(
        f"{mixed}, attention of equal weights",
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
    common = {"subject": _DECODER, "table_rows": size, "width": width, "evidence": "float32"}
    unreached = {"reached": "no", **common}
    rows.equals(
        f"rows changed by training on {trained} positions, of the {size - trained} past them",
        _rows_apart(before[trained:], after[trained:]), 0, length=trained,
        basis="no gradient reaches them: equal bit for bit", **unreached,
    )  # fmt: skip
    rows.equals(
        f"rows changed by training on {trained} positions, of these {trained}",
        _rows_apart(before[:trained], after[:trained]), trained, reached="yes", length=trained,
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
            _SELF, behaviour="IndexError", reached="past the table", length=size + 1,
            basis=_MESSAGE, **common,
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
        contradicts=("initialisation", _cosine_quantity(near, far, pairs, width), _TABLE),
        basis="margin: ten times what draws allow at initialisation", **common,
    )  # fmt: skip


def _wrong(model: TinyDecoder, context: Tensor, positions: Tensor, classes: int) -> float:
    """Share of ``positions`` at which the last token, behind a known context, is answered wrong."""
    known = torch.arange(len(context) - 1).expand(len(positions), -1)
    placed = torch.cat([known, positions[:, None]], dim=1)
    scores = model(context.expand(len(positions), -1), placed)[:, -1]
    return (scores.argmax(dim=-1) != answers(positions, classes)).double().mean().item()


# --- how tables begin ------------------------------------------------------------------------


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
    common = {"subject": _TABLE, "stage": "at initialisation", "evidence": "float32"}
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
