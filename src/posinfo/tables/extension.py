"""Tables of context extension: what each method does to the frequencies, and for which models."""

from collections.abc import Mapping

from posinfo.tables.data import Data, Record, Row

#: The methods of ``posinfo.scaling.METHODS`` in the order of the report, with a short name each.
#: Written here, for that module needs torch.
METHODS = {
    "none": "unchanged",
    "ntk": "NTK-aware",
    "dynamic_ntk": "dynamic NTK",
    "abf": "ABF",
    "pi": "interpolation (PI)",
    "yarn": "YaRN (code)",
    "yarn_paper": "YaRN (paper)",
    "llama3": "Llama 3.1",
    "longrope": "LongRoPE",
}


def rescaling(data: Data) -> list[Record]:
    """Each method at one setting: its ratios of frequencies, and the base that comes nearest."""
    figure = data.of_suite("extension")["figure"]
    records = []
    for method, name in METHODS.items():
        ratios = [row["frequency_ratio"] for row in by_pair(data, method)]
        left = at_factor(data, "best-fitting base", method, begins="largest log error")
        outside = data.row("extension", "angles never trained", begins="pairs that reach",
                           method=method, **figure)  # fmt: skip
        records.append(
            {
                "method": method,
                "name": name,
                "factor": figure["factor"],
                "largest_ratio": max(ratios),
                "smallest_ratio": min(ratios),
                "attention_factor": _attention_factor(data, method),
                "longest_wavelength": at_factor(data, "wavelengths", method)["measured"],
                "best_base": best_base(data, method),
                "rms_left": at_factor(data, "best-fitting base", method, begins="root-mean-square")[
                    "measured"
                ],
                "largest_left": left["measured"],
                "changes_base": changes_base(data, method),
                "outside": int(outside["measured"]),
                "outside_share": outside["share"],
            }
        )
    return records


def never_trained(data: Data) -> list[Record]:
    """Pairs that reach an angle never trained, for each method and factor."""
    settings = data.of_suite("extension")
    records = []
    for method, name in METHODS.items():
        for factor in settings["factors"]:
            setting = settings["figure"] | {"factor": factor}
            records.append({"method": method, "name": name, **outside(data, method, setting)})
    return records


def outside(data: Data, method: str, setting: Mapping[str, float]) -> Record:
    """How many pairs a method leaves at angles never trained, at one setting."""
    row = data.row(
        "extension", "angles never trained", begins="pairs that reach", method=method, **setting
    )
    return {
        "factor": setting["factor"],
        "outside": int(row["measured"]),
        "pairs": row["head_dim"] // 2,
        "share": row["share"],
    }


def by_pair(data: Data, method: str) -> list[Row]:
    """A method's rows of the setting of the figure, in the order of the pairs."""
    rows = data.rows("extension", "frequency by pair", method=method)
    return sorted(rows, key=lambda row: row["pair"])


def at_factor(data: Data, case: str, method: str, *, begins: str = "") -> Row:
    """A method's row at the figure's factor, or the one row of a method that has no factor."""
    rows = data.rows("extension", case, begins=begins, method=method)
    factor = data.of_suite("extension")["figure"]["factor"]
    if all(row["factor"] is None for row in rows):
        factor = None
    return data.row("extension", case, begins=begins, method=method, factor=factor)


def best_base(data: Data, method: str) -> float:
    """The base whose frequencies come nearest to the method's."""
    return at_factor(data, "best-fitting base", method, begins="best-fitting base")["measured"]


def changes_base(data: Data, method: str) -> str:
    """Whether the nearest base leaves no more of the method than rounding can: yes or no."""
    left = at_factor(data, "best-fitting base", method, begins="largest log error")
    return "yes" if left["reference"] <= left["bound"] else "no"


def _attention_factor(data: Data, method: str) -> float:
    """What cos and sin are multiplied by; a method without such a factor has one row alone."""
    rows = data.rows("extension", "attention factor", begins="attention factor", method=method)
    if len(rows) == 1:
        return rows[0]["measured"]
    return at_factor(data, "attention factor", method, begins="attention factor")["measured"]
