"""Learned tables: what each look-up does at the end of the table, what it costs, what it learns.

The cases lie in one module a subject; they are measured in the order in which these are imported.
"""

# isort: off
from posinfo.suites.lookup.suite import SUITE
from posinfo.suites.lookup import ends, sums, cost, unreached, trained
# isort: on

__all__ = ["SUITE", "cost", "ends", "sums", "trained", "unreached"]
