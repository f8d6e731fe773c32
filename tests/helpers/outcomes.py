"""What tests ask of a suite's rows: which do not hold, and of which cases."""

from collections.abc import Iterable

from posinfo.rows import Row


def bad(rows: Iterable[Row]) -> list[Row]:
    """The rows that do not hold: those that fail, and errors."""
    return [row for row in rows if row.decision.outcome != "holds"]


def cases(rows: Iterable[Row]) -> set[str]:
    """The cases that the rows are of."""
    return {row.case for row in rows}


def bad_cases(rows: Iterable[Row]) -> set[str]:
    """The cases with a row that does not hold."""
    return cases(bad(rows))
