"""Tables of the checks themselves: which faults they reject, and how small a fault they detect."""

from posinfo.tables.data import Data, Record, Row

_KIND = "rotary"


def _in_order(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["place"])


def _verdicts(data: Data, kind: str) -> dict[str, dict[str, str]]:
    """Rejected or accepted, by fault and check."""
    found: dict[str, dict[str, str]] = {}
    for row in data.rows("controls", "faults", begins="verdict of ", kind=kind):
        found.setdefault(row["fault"], {})[row["check"]] = row["measured_text"]
    return found


def _named(data: Data) -> list[Row]:
    """One row a fault, in the order of the computation: the check that names it."""
    return _in_order(data.rows("controls", "faults", begins="the check that names it"))


def detection(data: Data) -> list[Record]:
    """Each fault: what is wrong, where it was seen, what rejects it, and what does not."""
    named = _named(data)
    kinds = {kind: _verdicts(data, kind) for kind in {row["kind"] for row in named}}
    own = {
        row["check"] for row in data.rows("controls", "faults", begins="verdict of ")
        if row["battery"] == row["kind"]
    }  # fmt: skip
    together = {
        row["fault"]: row["measured_text"]
        for row in data.rows("controls", "what the lessons' checks let through",
                             begins="the three checks together")
    }  # fmt: skip
    records = []
    for row in named:
        verdicts = kinds[row["kind"]][row["fault"]]
        rejecting = [check for check in verdicts if verdicts[check] == "rejected"]
        records.append(
            {
                "kind": row["kind"],
                "stage": row["stage"],
                "fault": row["fault"],
                "wrong": row["wrong"],
                "seen": row["seen"],
                "named_by": row["check"],
                "rejected_by": sum(check in own for check in rejecting),
                "checks": sum(check in own for check in verdicts),
                "lessons": together.get(row["fault"]),
            }
        )
    return records


def sensitivity(data: Data) -> list[Record]:
    """Each check whose findings have a size: the smallest disturbance that it detects."""
    case = "smallest disturbance"
    order = {
        (row["kind"], row["check"]): row["place"]
        for row in data.rows("controls", "faults", begins="faults that ")
    }
    rows = data.rows("controls", case)
    records = []
    for row in sorted(rows, key=lambda row: order[row["kind"], row["check"]]):
        records.append(
            {
                "kind": row["kind"],
                "check": row["check"],
                "disturbance": row["words"],
                "size": row["excess"],
                "moved": row["measured"],
                "bound": row["bound"],
                "share": row["ratio"],
            }
        )
    return records


#: What may become of a random change, with its column, as ``posinfo.faults.mutants`` names it:
#: written here, for that module needs torch.
FATES = {
    "raises": "raises",
    "caught": "caught",
    "same results": "same",
    "within rounding": "rounding",
}


def random_faults(data: Data) -> list[Record]:
    """Random changes of right implementations by their kind: caught, or why they are no fault."""
    found: dict[str, list[Row]] = {}
    for row in data.rows("controls", "random faults"):
        found.setdefault(row["change"], []).append(row)
    records = []
    for change, rows in sorted(found.items()):
        counts = {
            column: sum(row["fate"] == fate for row in rows) for fate, column in FATES.items()
        }
        faulty = len(rows) - counts["same"] - counts["rounding"]
        reasons = [row["words"] for row in rows if row["words"]]
        records.append(
            {
                "change": change,
                "made": len(rows),
                **counts,
                "share": (counts["raises"] + counts["caught"]) / faulty if faulty else None,
                "why": "; ".join(
                    f"{reason} ({reasons.count(reason)})" for reason in dict.fromkeys(reasons)
                ),
            }
        )
    return records


def detection_matrix(data: Data) -> list[Record]:
    """Rotary faults by rows and checks by columns: which rejects which, and which names it."""
    verdicts = _verdicts(data, _KIND)
    checks = [
        row["check"]
        for row in _in_order(data.rows("controls", "faults", begins="faults that ", kind=_KIND))
    ]
    return [
        {
            "stage": row["stage"],
            "fault": row["fault"],
            "named_by": row["check"],
            **{check: verdicts[row["fault"]][check] for check in checks},
        }
        for row in _named(data)
        if row["kind"] == _KIND
    ]
