"""The suite that the modules beside this one add their cases to, and what they share."""

from torch import Tensor

from posinfo.reference import rounding
from posinfo.suites.base import Suite

SUITE = Suite(
    "lookup",
    "Look-ups in learned tables: their ends, their cost, and what training leaves in them",
    columns=(
        "api", "position", "length", "table_rows", "width", "batch", "behaviour", "optimizer",
        "weight_decay", "reached", "gradient", "stage",
    ),
)  # fmt: skip

#: What rows name as measured.
EMBED = "posinfo.encodings.learned.embed"
DECODER = "posinfo.tiny.TinyDecoder"
TABLE = "posinfo.encodings.learned.LearnedPositions"
#: Where bounds and messages come from.
COPY = "a look-up copies: equal bit for bit"
MESSAGE = "torch's own type and message, on a CPU"
#: What an embedding says of an index past its end.
OUT_OF_RANGE = "IndexError: index out of range in self"
U = rounding.UNIT["float32"]


def rows_apart(first: Tensor, second: Tensor) -> int:
    """How many rows of two tables are not equal bit for bit."""
    return int((first != second).any(dim=1).sum())
