"""The table of implementations that the rotary battery was asked about."""

from posinfo.tables.data import Data, MissingRows, Record

#: The suite, and its case.
SUITE, CASE = "implementations", "battery"


def implementations(data: Data) -> list[Record]:
    """Each implementation with its checks counted, those that fail named, and its tightest bound.

    A row that does not hold is what this table is about: it is shown, without its number.

    Raises
    ------
    MissingRows
        If there is no row at all.
    """
    by_name: dict[str, list[Record]] = {}
    for row in data.every_row:
        if row["suite"] == SUITE and row["case"] == CASE:
            by_name.setdefault(row["subject"], []).append(dict(row))
    if not by_name:
        raise MissingRows(f"results/suites/{SUITE}.csv has no row of the case {CASE!r}")
    listed = {entry["name"]: place for place, entry in enumerate(data.config["implementations"])}
    records = []
    # Ours first, then the others in the order of the config.
    for name, rows in sorted(by_name.items(), key=lambda item: listed.get(item[0], -1)):
        held = [row for row in rows if row["outcome"] == "holds"]
        tight = max((r for r in held if r["ratio"] is not None), key=lambda r: r["ratio"],
                    default=None)  # fmt: skip
        records.append(
            {
                "implementation": name,
                "file": rows[0]["file"],
                "form": rows[0]["form"],
                "layout": rows[0]["layout"],
                "checks": len(rows),
                "hold": len(held),
                "rejected_by": ", ".join(r["quantity"] for r in rows if r["outcome"] != "holds")
                or "none",
                "largest_ratio": tight and tight["ratio"],
                "tightest": tight["quantity"] if tight else "",
            }
        )
    return records
