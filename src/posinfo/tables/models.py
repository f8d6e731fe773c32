"""Published models: how they compare, their wavelengths, and the agreement with transformers."""

from posinfo.extras import NEEDED
from posinfo.tables.data import Data, Record, Row

_CASE = "turns of models"


def turns_of_models(data: Data) -> list[Record]:
    """Published models: base, lengths, scaling, and pairs that never complete a turn."""
    records = []
    for longest in _models(data):
        model = longest["model"]
        slowest, never = (
            data.row("models", _CASE, quantity=f"{quantity}, {model}")
            for quantity in ("turns of the slowest pair", "pairs that never complete a turn")
        )
        records.append(
            {
                "model": model,
                "head_dim": longest["head_dim"],
                "base": longest["base"],
                "trained_length": longest["trained_length"],
                "stated_length": longest["stated_length"],
                "scaling": _scaling(longest),
                "longest_wavelength": longest["measured"],
                "slowest_turns": slowest["measured"],
                "never": int(never["measured"]),
                "share": never["share"],
            }
        )
    return records


def wavelengths_of_models(data: Data) -> list[Record]:
    """The wavelengths of each published model, from the fastest pair to the slowest."""
    records = []
    for longest in _models(data):
        turns = data.row(
            "models", _CASE, quantity=f"turns of the slowest pair, {longest['model']}"
        )  # fmt: skip
        records.append(
            {
                "model": longest["model"],
                # Pair 0 has frequency 1, whatever the base.
                "shortest": longest["measured"] / longest["base"] ** (1 - 2 / longest["head_dim"]),
                "longest": longest["measured"],
                "trained_length": longest["trained_length"],
                "stated_length": longest["stated_length"],
                "slowest_turns": turns["measured"],
            }
        )
    return records


def agreement(data: Data) -> list[Record]:
    """What was compared with transformers, how much of it agrees, and what is known to differ."""
    lacking = [row for row in data.every_row
               if row["suite"] == "models" and row["outcome"] == "not run"]  # fmt: skip
    if lacking:
        version = NEEDED["peers"]["transformers"]
        return [_record(f"not run: {version} is needed, {lacking[0]['measured_text']}")]
    by_type: dict[str, list[Row]] = {}
    for row in data.rows("models", "agreement, published", begins="relative difference"):
        by_type.setdefault(row["type"], []).append(row)
    records = [
        _record(
            f"published, {kind}", configurations=len(rows), agree=len(rows),
            largest=max(row["measured"] for row in rows),
            used=max(row["ratio"] for row in rows),
        )
        for kind, rows in sorted(by_type.items())
    ]  # fmt: skip
    for counted in data.rows("models", "agreement, drawn", begins="configurations that agree"):
        kind = counted["type"]
        worst = data.row(
            "models", "agreement, drawn", quantity=f"relative difference of frequencies, {kind}"
        )
        records.append(
            _record(
                f"drawn, {kind}", configurations=counted["configurations"],
                agree=int(counted["measured"]), largest=worst["measured"], used=worst["ratio"],
            )
        )  # fmt: skip
    for row in data.rows("models", "agreement, known differences"):
        name = row["quantity"].partition(", ")[2]
        records.append(
            _record(name, configurations=1, agree=0, largest=row["measured"], side=row["subject"],
                    cause=row["cause"])
        )  # fmt: skip
    return records


def _record(what: str, **found: object) -> Record:
    names = ("configurations", "agree", "largest", "used", "side", "cause")
    return {"what": what, **{name: found.get(name) for name in names}}


def _models(data: Data) -> list[Row]:
    """A row for each model: shorter lengths and smaller bases first."""
    rows = data.rows("models", _CASE, begins="longest wavelength")
    return sorted(rows, key=lambda row: (row["trained_length"], row["base"], row["model"]))


def _scaling(row: Row) -> str:
    if row["type"] == "default":
        return "none"
    return row["type"] + (f" × {row['factor']:g}" if row["factor"] else "")
