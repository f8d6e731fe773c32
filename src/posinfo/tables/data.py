"""What a table is made from: rows, ledger and config, found by name or reported as missing."""

from collections.abc import Mapping, Sequence
from typing import Any

from posinfo.claims import Claim
from posinfo.ledger import row_name

Row = Mapping[str, Any]
Record = dict[str, Any]


def verdict(claim: Row) -> str:
    """The verdict of this run, or of a source, if it was read, what reading it showed."""
    return claim["recorded"] if claim["reproduced"] == "read" else claim["reproduced"]


class MissingRows(LookupError):
    """A table cannot be made from this run: the message says which rows or claims it lacks."""


class Data:
    """The results of a run, as tables and figures take them.

    Only rows that hold are given out by name: a number whose own assertion failed is not
    published.

    Parameters
    ----------
    rows
        The rows of all suites, as :func:`posinfo.tidy.read` gives them.
    ledger
        The rows of ``results/ledger.csv``, as it gives them.
    config
        The config of the run, without the paths of the claims.
    claims
        The claims as they are written: the ledger has neither their sources nor their weights.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        ledger: Sequence[Row],
        config: Mapping[str, Any],
        claims: Sequence[Claim] = (),
    ) -> None:
        self.config = config
        #: The rows of all suites, held or not.
        self.every_row = rows
        self._ledger = ledger
        self._written = {claim.id: claim for claim in claims}
        self._cases: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            self._cases.setdefault((row["suite"], row["case"]), []).append(row)

    def of_suite(self, suite: str) -> Mapping[str, Any]:
        """A suite's section of the config."""
        return self.config["suites"][suite]

    def rows(self, suite: str, case: str, *, begins: str = "", **where: Any) -> list[Row]:
        """The rows of a case, in the order of their CSV.

        Parameters
        ----------
        begins
            How the quantity begins, if any: several settings of one quantity share that.
        where
            Columns and the value that each must have; None is an empty cell.

        Raises
        ------
        MissingRows
            If there is none, or if one of them does not hold.
        """
        found = [
            row
            for row in self._cases.get((suite, case), ())
            if row["quantity"].startswith(begins)
            and all(row[column] == value for column, value in where.items())
        ]
        if not found:
            wanted = [f"{column} = {value}" for column, value in where.items()]
            wanted += [f"quantity = {begins} …"] if begins else []
            raise MissingRows(
                f"results/suites/{suite}.csv has no row of the case {case!r}"
                + (f" with {', '.join(wanted)}" if wanted else "")
            )
        for row in found:
            if row["outcome"] != "holds":
                raise MissingRows(f"a row that it needs does not hold: {row_name(row)}")
        return found

    def row(self, suite: str, case: str, *, begins: str = "", **where: Any) -> Row:
        """The one row that fits; see :meth:`rows`.

        Raises
        ------
        MissingRows
            If there is none, or several, or if it does not hold.
        """
        found = self.rows(suite, case, begins=begins, **where)
        if len(found) > 1:
            raise MissingRows(
                f"{len(found)} rows where one is expected, such as {row_name(found[0])} "
                f"and {row_name(found[1])}"
            )
        return found[0]

    def claims(self, *covered: str) -> list[Row]:
        """The ledger's claims that decide any of these statements, each once; maybe none.

        Parameters
        ----------
        covered
            Ids of the lessons' statements, such as ``B30``; their order is kept.
        """
        found: list[Row] = []
        for statement in covered:
            found += [
                claim
                for claim in self._ledger
                if statement in claim["covers"].split() and claim not in found
            ]
        return found

    def entries(self, *ids: str) -> list[Row]:
        """The ledger's claims of these ids, or all of them, in the order of the ledger."""
        return [claim for claim in self._ledger if not ids or claim["id"] in ids]

    def written(self, claim: str) -> Claim | None:
        """The claim of this id as it is written; None if the claims were not given."""
        return self._written.get(claim)
