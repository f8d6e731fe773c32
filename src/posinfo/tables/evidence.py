"""What the rows are worth: how many of each kind of evidence, and how much of their bounds used."""

import pandas as pd

from posinfo.rows import TIGHT_ABOVE, WIDE_BELOW
from posinfo.tables.data import Data, MissingRows, Record


def evidence(data: Data) -> list[Record]:
    """Rows by suite and kind of evidence, in the order of the suites.

    Raises
    ------
    MissingRows
        If there is no row at all.
    """
    columns = ["suite", "evidence", "relation", "outcome", "error", "ratio"]
    # What was not run is evidence of no kind.
    run = [row for row in data.every_row if row["outcome"] != "not run"]
    frame = pd.DataFrame([[row[name] for name in columns] for row in run], columns=columns)
    if frame.empty:
        raise MissingRows("no suite has a row")
    within = frame["relation"] == "within"
    frame["exact"] = within & (frame["error"] == 0)
    frame["tight"] = frame["ratio"] > TIGHT_ABOVE
    frame["wide"] = within & (frame["ratio"] < WIDE_BELOW) & (frame["error"] > 0)
    frame["holds"] = frame["outcome"] == "holds"
    counted = (
        frame.groupby(["suite", "evidence"], sort=False)
        .agg(
            rows=("outcome", "size"),
            holds=("holds", "sum"),
            exact=("exact", "sum"),
            tight=("tight", "sum"),
            wide=("wide", "sum"),
            largest_ratio=("ratio", "max"),
        )
        .reset_index()
    )
    counted["share"] = counted["rows"] / len(frame)
    # Suites in their own order, which is that of the rows; kinds of evidence by name.
    order = pd.Categorical(counted["suite"], categories=frame["suite"].unique(), ordered=True)
    counted = counted.assign(order=order).sort_values(["order", "evidence"]).drop(columns="order")
    # pandas has its own numbers and its own nothing; the CSV has Python's.
    return counted.astype(object).where(counted.notna(), None).to_dict("records")
