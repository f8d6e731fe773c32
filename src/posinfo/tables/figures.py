"""The data of the figures, as tidy tables: what is drawn stands in them, and nothing else is."""

import math

from posinfo.tables import extension
from posinfo.tables.data import Data, Record


def mechanism(data: Data) -> list[Record]:
    """Panel A: what a table of rows gives for each position. Panel B: the angle of each pair."""
    settings = data.of_suite("offsets")
    inside = settings["position_inside"]
    positions = (inside, *settings["positions_outside"])
    pairs = data.config["lesson_b"]["head_dim"] // 2
    records: list[Record] = []
    for position in positions:
        row = data.row(
            "offsets", "position past the table", subject="tensor[tensor]", position=position
        )
        raised = row["relation"] == "raises"
        records.append(
            {
                "panel": "A",
                "position": position,
                "in_table": "yes" if position == inside else "no",
                "table_rows": settings["table_rows"],
                "result": row["measured_text"].partition(":")[0] if raised else "row",
            }
        )
    for pair in range(pairs):
        theta = data.row("angles", "lesson table", quantity=f"theta of pair {pair}")["measured"]
        for position in positions:
            angle = data.row(
                "offsets", "rotation past the table",
                quantity=f"angle of pair {pair} at position {position}",
            )["measured"]  # fmt: skip
            records.append(
                {
                    "panel": "B",
                    "position": position,
                    "in_table": "yes" if position == inside else "no",
                    "table_rows": settings["table_rows"],
                    "result": "rotation",
                    "pair": pair,
                    "theta": theta,
                    "angle": angle,
                    "cos": math.cos(angle),
                    "sin": math.sin(angle),
                }
            )
    return records


def angles_by_position(data: Data) -> list[Record]:
    """The measured angles of each pair, its line m θ, and where that line completes a turn."""
    measured, thetas = [], []
    for pair in range(data.config["lesson_b"]["head_dim"] // 2):
        thetas.append(
            data.row("angles", "lesson table", quantity=f"theta of pair {pair}")["measured"]
        )
        for position in data.of_suite("angles")["lesson_positions"]:
            row = data.row(
                "angles", "lesson table", quantity=f"angle of pair {pair} at position {position}"
            )
            measured.append((pair, position, row["measured"]))
    # The line of the slowest pair ends where a turn of it is complete, at a round position.
    last = 10.0 ** math.ceil(math.log10(2 * math.pi / min(thetas)))
    records = []
    for pair, theta in enumerate(thetas):
        points = [
            *(("measured", position, angle) for of, position, angle in measured if of == pair),
            *(("line", position, position * theta) for position in (1.0, last)),
            ("one turn", 2 * math.pi / theta, 2 * math.pi),
        ]
        records += [
            {"pair": pair, "theta": theta, "kind": kind, "position": position, "angle": angle}
            for kind, position, angle in points
        ]
    return records


def shift_error(data: Data) -> list[Record]:
    """How far a score is from its exact value when both positions move, and how far it may be."""
    settings = data.of_suite("offsets")
    offset = settings["offset"]
    records = []
    for dim in settings["head_dims"]:
        for shift in settings["shifts"]:
            row = data.row(
                "offsets", "shifts", quantity=f"score at offset {offset}, d={dim}, shift {shift}"
            )
            records.append(
                {
                    "head_dim": dim,
                    "offset": offset,
                    "shift": shift,
                    "score": row["measured"],
                    "exact": row["reference"],
                    "error": row["error"],
                    "bound": row["bound"],
                    "ratio": row["ratio"],
                }
            )
    return records


def frequency_ratios(data: Data) -> list[Record]:
    """Each pair's frequency over the trained one, and that of the best-fitting change of base."""
    figure = data.of_suite("extension")["figure"]
    count = figure["head_dim"] // 2
    records = []
    for method, name in extension.METHODS.items():
        if method == "none":
            continue
        base, changes_base = extension.best_base(data, method), extension.changes_base(data, method)
        for row in extension.by_pair(data, method):
            records.append(
                {
                    "method": method,
                    "name": name,
                    "factor": figure["factor"],
                    "pair": row["pair"],
                    "ratio": row["frequency_ratio"],
                    "best_base": base,
                    "changes_base": changes_base,
                    # Pair i of base b has the frequency b^(-i/n), n being the number of pairs.
                    "best_base_ratio": (base / figure["base"]) ** (-row["pair"] / count),
                }
            )
    return records


def angle_error_by_dtype(data: Data) -> list[Record]:
    """The largest error of an angle by position and precision, its bound, and where floats end."""
    infinite = {
        row["dtype"]: row["position"]
        for row in data.rows("precision", "overflow", begins="position ", measured_text="inf")
    }
    found = data.rows("precision", "angles", begins="largest error of an angle")
    order = data.of_suite("precision")["dtypes"]
    return [
        {
            "dtype": row["dtype"],
            "position": row["position"],
            "head_dim": row["head_dim"],
            "base": row["base"],
            "error": row["error"],
            "bound": row["bound"],
            "pair": row["pair"],
            "infinite_from": infinite.get(row["dtype"]),
        }
        for row in sorted(found, key=lambda row: (order.index(row["dtype"]), row["position"]))
    ]


def cosine_decay(data: Data) -> list[Record]:
    """Largest and smallest score of constant vectors by octave, and random vectors beside them."""
    records: list[Record] = []
    for base in data.of_suite("spectrum")["bases"]:
        ends = {
            name: data.rows("spectrum", "sum of cosines", begins=f"{name} mean cosine", base=base)
            for name in ("largest", "smallest")
        }
        smallest = {row["octave"]: row for row in ends["smallest"]}
        for row in sorted(ends["largest"], key=lambda row: row["octave"]):
            records.append(
                {
                    "base": base,
                    "vectors": "constant",
                    "first": row["octave"],
                    "last": 2 * row["octave"] - 1,
                    "largest": row["measured"],
                    "smallest": smallest[row["octave"]]["measured"],
                }
            )
        random = data.rows("spectrum", "random vectors", begins="mean square", base=base)
        for row in sorted(random, key=lambda row: row["distance"]):
            # The score over the width, as for constant vectors, whose squared norm that is.
            size = math.sqrt(row["measured"] / row["head_dim"])
            records.append(
                {
                    "base": base,
                    "vectors": "random",
                    "first": row["distance"],
                    "last": row["distance"],
                    "largest": size,
                    "smallest": -size,
                }
            )
    return records


def coverage(data: Data) -> list[Record]:
    """The share of pairs that reach an angle never trained, by base, method and factor."""
    settings = data.of_suite("extension")
    records: list[Record] = []
    for base in settings["bases"]:
        for method, name in extension.METHODS.items():
            for factor in settings["factors"]:
                setting = settings["figure"] | {"base": base, "factor": factor}
                counted = extension.outside(data, method, setting)
                records.append({"base": base, "method": method, "name": name, **counted})
    return records


#: What may tell the order of tokens: a name, and where its rows are.
ORDERS = (
    ("no positions, no mask", "every order", {"mask": "none", "encoding": "none"}),
    ("causal mask alone", "every order", {"mask": "causal", "encoding": "none"}),
    ("learned positions", "with each encoding", {"encoding": "learned"}),
    ("sinusoidal positions", "with each encoding", {"encoding": "sinusoidal"}),
    ("RoPE", "with each encoding", {"encoding": "rotary"}),
    ("T5 bias", "with each encoding", {"encoding": "t5 bias"}),
    ("ALiBi, but for the reversed order", "with each encoding",
     {"encoding": "alibi", "relation": "exceeds"}),
    ("ALiBi, order reversed", "with each encoding", {"encoding": "alibi", "relation": "within"}),
)  # fmt: skip


def permutation_error(data: Data) -> list[Record]:
    """How far outputs move with the order of tokens, and what rounding alone can do."""
    dtypes = data.of_suite("permutation")["dtypes"]
    records: list[Record] = []
    for setting, case, where in ORDERS:
        rows = data.rows("permutation", case, **where)
        for row in sorted(rows, key=lambda row: (row["layers"], dtypes.index(row["dtype"]))):
            records.append(
                {
                    "setting": setting,
                    "mask": row["mask"],
                    "encoding": row["encoding"],
                    "layers": row["layers"],
                    "dtype": row["dtype"],
                    "orders": row["orders"],
                    "moved": "yes" if row["relation"] == "exceeds" else "no",
                    "change": row["measured"],
                    "bound": row["bound"],
                }
            )
    return records
