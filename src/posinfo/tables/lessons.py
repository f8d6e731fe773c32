"""The tables that the lessons print: symbols, shapes, properties, angles, tests and norms."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from posinfo.tables.data import Data, MissingRows, Record, Row, verdict

#: What a lesson's symbol stands for, and the config's key that holds its size.
SYMBOLS = (
    ("B", "sequences in a batch", "batch"),
    ("T", "tokens in a sequence", "length"),
    ("h", "attention heads", "heads"),
    ("d_head", "width of a head, d / h", "head_dim"),
    ("d", "width of the model, h · d_head", "width"),
    ("V", "token ids in the vocabulary", "vocabulary"),
)


class Step(NamedTuple):
    """A shape of a trace: where its row is, and the same shape in the lesson's symbols."""

    lesson: str
    case: str
    quantity: str
    symbols: str


LEARNED_STEPS = (
    Step("B", "learned path, lesson B", "the position table", "[max_position, d]"),
    Step("B", "learned path, lesson B", "E[token_ids]", "[B, T, d]"),
    Step("B", "learned path, lesson B", "P[positions], positions of shape [T]", "[T, d]"),
    Step("B", "learned path, lesson B", "P[positions], positions of shape [B, T]", "[B, T, d]"),
    Step("B", "learned path, lesson B", "E[token_ids] + P[positions]", "[B, T, d]"),
    Step("B", "learned path, lesson B", "the sum, split into heads", "[B, T, h, d_head]"),
    Step("A", "learned path, lesson A", "the position table", "[max_position, d]"),
    Step("A", "learned path, lesson A", "the positions", "[1, T]"),
    Step("A", "learned path, lesson A", "the sum", "[B, T, d]"),
)

ROTARY_STEPS = (
    Step("B", "rotary path, lesson B", "theta", "[d_head/2]"),
    Step("B", "rotary path, lesson B", "freqs_cis", "[cached, d_head/2]"),
    Step("B", "rotary path, lesson B", "freqs_cis cut to T", "[T, d_head/2]"),
    Step("B", "rotary path, lesson B", "complex queries", "[B, T, h, d_head/2]"),
    Step("B", "rotary path, lesson B", "freqs_cis to broadcast", "[1, T, 1, d_head/2]"),
    Step("B", "rotary path, lesson B", "the flattened product", "[B, T, h, d_head]"),
    Step("B", "rotary path, lesson B", "Q after RoPE", "[B, T, h, d_head]"),
    Step("B", "rotary path, lesson B", "K after RoPE", "[B, T, h, d_head]"),
    Step(
        "B",
        "rotary path, lesson B",
        "the attention's output, V unrotated",
        "[B, T, h, d_head]",
    ),
    Step("A", "rotary path, lesson A", "the angles", "[T, d_head/2]"),
    Step("A", "rotary path, lesson A", "the rotated queries", "[T, d_head]"),
)


class Property(NamedTuple):
    """A property as a lesson lists it, and the statements of the coverage list it stands for."""

    name: str
    detail: str
    covers: tuple[str, ...]


LEARNED_PROPERTIES = (
    Property("shape", "adding P[t] leaves [B, T, d] as it is", ("B15",)),
    Property("trained", "P is a matrix of max_position rows of d numbers", ("A08",)),
    Property("look-up", "position t reads row t, at the same cost for any table", ("B11",)),
    Property("absolute", "rows of different positions are unrelated", ("B12", "B13")),
    Property("limit", "there is nothing at max_position and beyond", ("B17",)),
    Property("cost", "max_position · d parameters", ("B16",)),
)

ROTARY_PROPERTIES = (
    Property("shape", "Q, K and V keep [B, T, h, d_head]", ("B34",)),
    Property("no trained table", "frequencies come from base^(-2i/d_head)", ("B20", "B35")),
    Property("position", "pair i turns by m · θᵢ at position m", ("B24",)),
    Property("relative", "Q at m times K at n depends on m - n", ("B36",)),
    Property("extrapolation", "it works at positions that training never reached", ("B37",)),
    Property("norm", "rotation keeps the norm of Q and K", ("B38", "B39")),
    Property("cost", "no parameters", ("B35",)),
    Property("V", "only Q and K are rotated", ("B22",)),
)

#: A dimension of lesson B's comparison, with a cell for each method.
COMPARISON = (
    ("mechanism", Property("learned", "P[t] is added to the token's row", ("B07",)),
     Property("RoPE", "each pair of Q and K is rotated by m · θᵢ", ("B23",))),
    ("where", Property("learned", "before the first block", ("B47",)),
     Property("RoPE", "inside attention, on Q and K", ("B47",))),
    ("parameters", Property("learned", "max_position · d", ("B16",)),
     Property("RoPE", "none", ("B35",))),
    ("position", Property("learned", "absolute: a row for each position", ("B48",)),
     Property("RoPE", "relative: scores follow m - n", ("B36",))),
    ("extrapolation", Property("learned", "ends with the table", ("B17",)),
     Property("RoPE", "works at any position", ("B49",))),
    ("V", Property("learned", "no step of its own: position is in the block's input", ("B47",)),
     Property("RoPE", "not rotated", ("B22",))),
    ("shape", Property("learned", "[B, T, d] is kept", ("B15", "B50")),
     Property("RoPE", "[B, T, h, d_head] is kept", ("B50",))),
)  # fmt: skip


def symbols(data: Data) -> list[Record]:
    """The symbols of lesson B's trace with the sizes they have in this run."""
    size = data.config["lesson_b"]
    return [
        {"symbol": symbol, "meaning": meaning, "value": size[key], "config_key": f"lesson_b.{key}"}
        for symbol, meaning, key in SYMBOLS
    ]


def learned_shapes(data: Data) -> list[Record]:
    """Every shape of the learned path, measured, beside the lesson's symbols."""
    return _trace(data, LEARNED_STEPS)


def rotary_shapes(data: Data) -> list[Record]:
    """Every shape of the rotary path, measured, beside the lesson's symbols."""
    return _trace(data, ROTARY_STEPS)


def _trace(data: Data, steps: Sequence[Step]) -> list[Record]:
    records = []
    for step in steps:
        row = data.row("shapes", step.case, quantity=f"shape of {step.quantity}")
        expected = evaluated(step.symbols, _sizes(data, step.case))
        if row["measured_text"] != expected:
            raise MissingRows(
                f"{step.case}: {step.quantity} has the shape {row['measured_text']}, and its "
                f"symbols {step.symbols} give {expected}"
            )
        records.append(
            {
                "lesson": step.lesson,
                "step": row["step"],
                "tensor": step.quantity,
                "symbols": step.symbols,
                "shape": row["measured_text"],
                "made_by": row["subject"],
            }
        )
    return records


def _sizes(data: Data, case: str) -> Mapping[str, int]:
    """The value of each symbol in a case's trace."""
    config, shapes = data.config, data.of_suite("shapes")
    if case == "learned path, lesson A":
        size = config["gpt2"]
        return {
            "B": size["batch"], "T": size["length"], "d": size["width"],
            "max_position": size["max_position"],
        }  # fmt: skip
    if case == "rotary path, lesson A":
        return {"T": config["lesson_a"]["length"], "d_head": config["lesson_a"]["head_dim"]}
    size = config["lesson_b"]
    return {
        **{symbol: size[key] for symbol, _, key in SYMBOLS},
        "max_position": shapes["max_position"],
        "cached": shapes["cached_positions"],
    }


def evaluated(shape: str, sizes: Mapping[str, int]) -> str:
    """A shape in symbols, with their values put in.

    >>> evaluated("[B, 1, d_head/2]", {"B": 2, "d_head": 8})
    '[2, 1, 4]'
    """

    def value(part: str) -> int:
        name, _, divisor = part.partition("/")
        number = int(name) if name.isdigit() else sizes[name]
        return number // int(divisor or 1)

    return str([value(part) for part in shape.strip("[]").split(", ")])


def learned_properties(data: Data) -> list[Record]:
    """Properties of learned positions, each with the claims that decide it."""
    return [record for each in LEARNED_PROPERTIES for record in decided(data, each)]


def rotary_properties(data: Data) -> list[Record]:
    """Properties of rotary positions, each with the claims that decide it."""
    return [record for each in ROTARY_PROPERTIES for record in decided(data, each)]


def decided(data: Data, stated: Property) -> list[Record]:
    """A property, once for each claim that decides it, or once with none: said, not left out."""
    undecided = {"id": "", "statement": "", "recorded": "", "reproduced": "no claim"}
    return [
        {
            "property": stated.name,
            "detail": stated.detail,
            "claim": claim["id"],
            "decides": claim["statement"],
            "verdict": verdict(claim),
        }
        for claim in data.claims(*stated.covers) or [undecided]
    ]


def comparison(data: Data) -> list[Record]:
    """Lesson B's comparison of the two methods, each cell with the claims that decide it."""
    return [
        {"dimension": dimension, "method": record.pop("property"), **record}
        for dimension, *cells in COMPARISON
        for cell in cells
        for record in decided(data, cell)
    ]


def theta_angles(data: Data) -> list[Record]:
    """Frequencies of lesson B's pairs, and the angles at each position it names."""
    records = []
    for pair in range(data.config["lesson_b"]["head_dim"] // 2):
        theta = data.row("angles", "lesson table", quantity=f"theta of pair {pair}")["measured"]
        for position in data.of_suite("angles")["lesson_positions"]:
            row = data.row(
                "angles", "lesson table", quantity=f"angle of pair {pair} at position {position}"
            )
            records.append(
                {
                    "pair": pair,
                    "theta": theta,
                    "wavelength": 2 * math.pi / theta,
                    "position": position,
                    "angle": row["measured"],
                    "turns": row["measured"] / (2 * math.pi),
                    "error": row["error"],
                    "bound": row["bound"],
                }
            )
    return records


def offset_test(data: Data) -> list[Record]:
    """Lesson B's test: a position inside the table and positions past it, by every look-up."""
    settings = data.of_suite("offsets")
    inside, outside = settings["position_inside"], settings["positions_outside"]
    looked_up, rotated = "position past the table", "rotation past the table"
    records = []
    for api in sorted({row["api"] for row in data.rows("offsets", looked_up)}):
        for row in data.rows("offsets", looked_up, api=api):
            result = "a row" if row["position"] == inside else "no row, and no error"
            records.append(_tested("learned", api, row, inside, result))
    for position in (inside, *outside):
        row = data.row(
            "offsets", rotated, begins="largest difference of the rotated query",
            position=position,
        )  # fmt: skip
        records.append(_tested("RoPE", "the formula", row, inside, "a rotation"))
    for position in (inside, *outside):
        row = data.row("offsets", rotated, begins="cached rotation", position=position)
        records.append(_tested("RoPE", "a table of rotations", row, inside, "a rotation"))
    calls = list(dict.fromkeys(record["call"] for record in records))
    return sorted(records, key=lambda record: (calls.index(record["call"]), record["position"]))


def past_the_table(data: Data) -> list[Record]:
    """Lesson A's failure: the row after the last by every call, and prompts that are too long."""
    size = data.config["gpt2"]["max_position"]
    records = [
        _failed("one row", row["api"], size, row)
        for row in data.rows("lookup", "one row", position=size, table_rows=size)
    ]
    return records + [
        _failed("a prompt", row["api"], row["length"], row)
        for row in data.rows("lookup", "prompt past the table", table_rows=size)
    ]


def _failed(asked: str, call: str, number: int, row: Row) -> Record:
    """What became of one request; the type of an exception is its result."""
    kind, _, message = row["measured_text"].partition(": ")
    raised = row["relation"] == "raises"
    return {
        "asked": asked,
        "call": call,
        "number": number,
        "table_rows": row["table_rows"],
        "result": kind if raised else row["behaviour"],
        "message": message if raised else row["measured_text"],
    }


def _tested(method: str, call: str, row: Row, inside: int, result: str) -> Record:
    """One outcome of the test; the type of an exception is its result."""
    kind, _, message = row["measured_text"].partition(": ")
    raised = row["relation"] == "raises"
    return {
        "method": method,
        "call": call,
        "position": row["position"],
        "in_table": "yes" if row["position"] == inside else "no",
        "result": kind if raised else result,
        "message": message if raised else row["measured_text"],
        "error": row["error"],
        "bound": row["bound"],
    }


def exercise(data: Data) -> list[Record]:
    """Lesson A's exercise: scores at its pairs of positions, and with both positions moved."""
    settings = data.of_suite("offsets")
    shift = settings["exercise_shift"]
    records = []
    for dim in settings["head_dims"]:
        for i, j in settings["exercise_pairs"]:
            row = data.row(
                "offsets", "exercise",
                quantity=f"score at ({i + shift}, {j + shift}) against ({i}, {j}), d={dim}",
            )  # fmt: skip
            records.append(
                {
                    "head_dim": dim,
                    "query": i,
                    "key": j,
                    "offset": row["offset"],
                    "shift": shift,
                    "score": row["reference"],
                    "moved_score": row["measured"],
                    "error": row["error"],
                    "bound": row["bound"],
                }
            )
    return records


def norm_preservation(data: Data) -> list[Record]:
    """Norms before and after rotation: the lesson's run, then scale, precision and YaRN."""
    settings = data.of_suite("norms")
    tolerance = settings["tolerance"]
    records = []
    for row in data.rows("norms", "lesson run", begins=_ABSOLUTE):
        vectors = row["quantity"].removeprefix(f"{_ABSOLUTE}, ")
        change = data.row(
            "norms", "lesson run", quantity=f"{_RELATIVE}, {vectors}", subject=row["subject"]
        )
        records.append(
            _norms("the lesson's run", vectors, change, change["measured"], change["bound"])
            | _absolute(row, tolerance)
        )
    for case, label in (
        *(("scale", f"scale {factor:g}") for factor in settings["scales"]),
        *(("dtype", name) for name in settings["dtypes"]),
    ):
        row = data.row("norms", case, quantity=f"{_RELATIVE}, {label}")
        record = _norms(label, "wide", row, row["measured"], row["bound"])
        # In float64 the suite asserts the relative difference alone.
        if row["dtype"] != "float64":
            absolute = data.row("norms", case, quantity=f"{_ABSOLUTE}, {label}")
            record |= _absolute(absolute, tolerance)
        records.append(record)
    for factor in settings["yarn_factors"]:
        label = f"YaRN at factor {factor:g}"
        row = data.row("norms", "attention factor", quantity=f"ratio of norms, {label}")
        absolute = data.row("norms", "attention factor", quantity=f"{_ABSOLUTE}, {label}")
        # The factor lengthens every vector: there is no bound that the difference would keep.
        records.append(
            _norms(label, "wide", row, abs(row["measured"] - 1), None)
            | _absolute(absolute, tolerance)
        )
    return records


_ABSOLUTE = "largest absolute difference of norms"
_RELATIVE = "largest relative difference of norms"


def _norms(
    setting: str, vectors: str, row: Row, relative: float, relative_bound: float | None
) -> Record:
    return {
        "setting": setting,
        "vectors": vectors,
        "implementation": row["subject"].rpartition(".")[2],
        "dtype": row["dtype"],
        "scale": row["scale"],
        "head_dim": row["head_dim"],
        "attention_factor": row["attention_factor"] or 1.0,
        "relative": relative,
        "relative_bound": relative_bound,
    }


def _absolute(row: Row, tolerance: float) -> Record:
    """The columns of the lesson's own check: its difference, its bound, and whether it held."""
    return {
        "absolute": row["measured"],
        "tolerance": tolerance,
        "kept": "yes" if row["relation"] == "within" else "no",
    }
