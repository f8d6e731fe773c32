"""Who does what: each library and method, with what it does otherwise, and what that comes to."""

from posinfo.extras import NEEDED
from posinfo.tables.data import Data, Record, Row
from posinfo.tables.extension import METHODS

_AGREEMENT = "relative difference of frequencies"
_RELATIVE = "largest relative difference of a frequency"
_ANGLE = "largest difference of an angle at the last trained position"

#: The entries of a configuration, in a word.
_LENGTHS = {
    "original_max_position_embeddings": "original",
    "max_position_embeddings": "maximum",
}


def peers(data: Data) -> list[Record]:
    """A record for each library and variant; one that says so for a library that was not run."""
    there = data.every_row
    lacking = {row["library"]: row for row in there
               if row["suite"] == "peers" and row["outcome"] == "not run"}  # fmt: skip
    records = []
    for library, version in NEEDED["peers"].items():
        if library in lacking:
            why = lacking[library]["measured_text"]
            records.append(_record(library, f"not run: {version} is needed, {why}"))
        else:
            records += _of_library(data, library)
    return records


def _record(library: str, variant: str, **found: object) -> Record:
    names = ("pairs", "ramp", "length_from", "positions", "attention_factor", "against",
             "largest_difference", "angle")  # fmt: skip
    return {"library": library, "variant": variant, **{name: found.get(name) for name in names}}


def _of_library(data: Data, library: str) -> list[Record]:
    dim = data.of_suite("peers")["table"]["head_dim"]
    pairs = data.row("peers", "layouts", library=library, head_dim=dim)["measured_text"]
    records = []
    for row in _at_table(data, "frequencies", library, _AGREEMENT):
        angle = _at_table(data, "frequencies", library, _ANGLE, method=row["method"])[0]
        records.append(
            _record(
                library,
                METHODS[row["method"]],
                pairs=pairs,
                length_from=_length_from(data, library, row["method"]),
                positions=_positions(data, library, "float32"),
                attention_factor=_attention(data, library, row["method"]),
                against=row["against"],
                largest_difference=row["measured"],
                angle=angle["measured"],
            )
        )
    if library == "transformers":
        records += _ramps(data, library, pairs) + _lengths(data, library, pairs)
    begins = "largest error of an angle"
    for row in data.rows("peers", "precision of positions", begins=begins, library=library):
        if row["dtype"] != "float32":
            records.append(
                _record(
                    library,
                    row["dtype"],
                    pairs=pairs,
                    positions=_positions(data, library, row["dtype"]),
                    against=row["against"],
                    angle=row["measured"],
                )
            )
    return records


def _at_table(data: Data, case: str, library: str, begins: str, **where: str) -> list[Row]:
    """Rows at the setting of the table, by method; RoPE as trained has the first factor's alone."""
    setting = data.of_suite("peers")["table"]
    first = data.of_suite("peers")["factors"][0]
    rows = data.rows("peers", case, begins=begins, library=library, head_dim=setting["head_dim"],
                     base=setting["base"], **where)  # fmt: skip
    chosen = [
        row for row in rows if row["factor"] == (first if row["method"] == "none"
                                                 else setting["factor"])
    ]  # fmt: skip
    return sorted(chosen, key=lambda row: list(METHODS).index(row["method"]))


def _attention(data: Data, library: str, method: str) -> float:
    if method == "none":
        return 1.0
    return _at_table(data, "attention factors", library, "attention", method=method)[0]["measured"]


def _positions(data: Data, library: str, dtype: str) -> str:
    row = data.row("peers", "precision of positions", begins="precision of positions",
                   library=library, dtype=dtype)  # fmt: skip
    return row["measured_text"]


def _length_from(data: Data, library: str, method: str) -> str:
    """Which of two lengths counts as the trained one, for the methods that have the choice."""
    if library != "transformers" or method in ("none", "pi"):
        return ""
    quantity = f"what counts as the trained length, {method}, both lengths in the configuration"
    row = data.row("peers", "lengths", library=library, quantity=quantity)
    return _LENGTHS[row["measured_text"]]


def _ramps(data: Data, library: str, pairs: str) -> list[Record]:
    """YaRN for published models, against the ramp of its paper."""
    records = []
    for model in data.of_suite("peers")["yarn"]:
        where = {"library": library, "model": model["name"]}
        ramp = data.row("peers", "ramps", begins="what the ramp", **where)["measured_text"]
        quantities = (f"{text} from the paper's, {model['name']}" for text in (_RELATIVE, _ANGLE))
        relative, angle = (
            data.row("peers", "ramps", quantity=quantity, **where) for quantity in quantities
        )
        records.append(
            _record(
                library,
                f"{METHODS['yarn']}, {model['name']}",
                pairs=pairs,
                ramp=ramp,
                against=relative["against"],
                largest_difference=relative["measured"],
                angle=angle["measured"],
            )
        )
    return records


def _lengths(data: Data, library: str, pairs: str) -> list[Record]:
    """What it makes that a configuration's other length is taken for the trained one."""
    records = []
    for row in data.rows("peers", "lengths", begins=_RELATIVE, library=library):
        angle = data.row("peers", "lengths", begins=_ANGLE, library=library, method=row["method"])
        records.append(
            _record(
                library,
                f"{METHODS[row['method']]}, other length",
                pairs=pairs,
                length_from=_length_from(data, library, row["method"]),
                against=row["against"],
                largest_difference=row["measured"],
                angle=angle["measured"],
            )
        )
    return records
