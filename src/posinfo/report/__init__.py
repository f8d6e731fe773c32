"""The verified report: one self-contained page from rows, ledger, tables and figures.

:func:`read_inputs` reads, :func:`build` decides what is shown (pure functions, plain
values), :func:`render` lays it out. Neither torch nor matplotlib is imported.
"""

from posinfo.report.inputs import read_inputs
from posinfo.report.page import render
from posinfo.report.view import build

__all__ = ["build", "read_inputs", "render"]
