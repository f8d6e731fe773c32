"""The data of the small drawings on the report's first screen, from the rows of their claims.

The keys are those of ``workflow/report/findings.yaml``, with ``finding-`` before them.
"""

import re

from posinfo.tables import controls, extension
from posinfo.tables.data import Data, MissingRows, Record

#: The real model that reads past its trained length.
_REAL = "pretrained"


def doubled_context(data: Data) -> list[Record]:
    """What a real model loses on the same tokens behind longer contexts, as it was trained."""
    length = data.config["pretrained"]["smollm2"]["trained_length"]
    found = data.rows(_REAL, "extension methods", begins="rise of the loss at", method="none")
    rows = sorted(found, key=lambda row: row["context"])
    trained: Record = {"model": rows[0]["subject"], "trained_length": length, "context": length}
    return [
        # By its definition: the loss less itself.
        trained | dict.fromkeys(("rise", "lowest", "highest"), 0.0),
        *(
            {
                "model": row["subject"],
                "trained_length": length,
                "context": row["context"],
                "rise": row["measured"],
                "lowest": row["lowest"],
                "highest": row["highest"],
            }
            for row in rows
        ),
    ]


def lessons_own_checks(data: Data) -> list[Record]:
    """Each faulty rotation: what the lessons' checks make of it together, and what this battery."""
    return [
        {
            "fault": record["fault"],
            "lessons": record["lessons"],
            "battery": "rejected" if record["rejected_by"] else "accepted",
        }
        for record in controls.detection(data)
        if record["lessons"] is not None
    ]


def change_of_base(data: Data) -> list[Record]:
    """First and last frequency over the trained one: interpolated, and under the nearest base."""
    figure = data.of_suite("extension")["figure"]
    rows = extension.by_pair(data, "pi")
    ends = (rows[0], rows[-1])
    base, count = extension.best_base(data, "pi"), figure["head_dim"] // 2
    ratios = {
        "as trained": [1.0, 1.0],
        "interpolated": [row["frequency_ratio"] for row in ends],
        # Pair i of base b has the frequency b^(-i/n), n being the number of pairs.
        "nearest base": [(base / figure["base"]) ** (-row["pair"] / count) for row in ends],
    }
    return [
        {"line": line, "factor": figure["factor"], "pair": row["pair"], "ratio": ratio}
        for line, values in ratios.items()
        for row, ratio in zip(ends, values, strict=True)
    ]


def float32_limit(data: Data) -> list[Record]:
    """The largest error of a score at each shift of both positions, over the head sizes."""
    settings = data.of_suite("offsets")
    records = []
    for shift in settings["shifts"]:
        rows = [
            data.row(
                "offsets", "shifts",
                quantity=f"score at offset {settings['offset']}, d={dim}, shift {shift}",
            )
            for dim in settings["head_dims"]
        ]  # fmt: skip
        worst = max(rows, key=lambda row: row["error"])
        records.append({"shift": shift, "head_dim": worst["head_dim"], "error": worst["error"],
                        "bound": worst["bound"]})  # fmt: skip
    return records


def causal_mask(data: Data) -> list[Record]:
    """How far outputs move with the order of tokens, in float32, without a mask and behind one."""
    records = []
    for mask in ("none", "causal"):
        rows = data.rows("permutation", "every order", mask=mask, encoding="none", dtype="float32")
        for row in sorted(rows, key=lambda row: row["layers"]):
            records.append({"mask": mask, "layers": row["layers"], "change": row["measured"],
                            "bound": row["bound"]})  # fmt: skip
    return records


def untrained_rows(data: Data) -> list[Record]:
    """Wrong answers at positions whose rows of a table were trained, and at those never trained."""
    records = []
    for reached in ("yes", "no"):
        row = data.row("lookup", "untrained rows", begins="share of wrong answers", reached=reached)
        positions = re.search(r"at (\d+) positions", row["quantity"])
        if positions is None:
            raise MissingRows(f"no number of positions in {row['quantity']!r}")
        records.append(
            {"trained": reached, "positions": int(positions[1]), "wrong": row["measured"]}
        )
    return records
