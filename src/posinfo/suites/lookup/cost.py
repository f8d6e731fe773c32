"""What a look-up costs: rows read, bytes, operations, and parameters."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from posinfo.encodings import learned
from posinfo.suites.base import Recorder
from posinfo.suites.common import draw
from posinfo.suites.lookup.suite import EMBED, SUITE

_FLOAT32 = 4


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
        "subject": EMBED, "length": length, "width": width, "batch": small["batch"],
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
