"""Which suites and cases there are, read from the source: importing them would import torch."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Suites in the order of the report; the module ``posinfo.suites.<name>`` holds each.
SUITES = (
    "shapes",
    "norms",
    "angles",
    "offsets",
    "extension",
    "lookup",
    "cache",
    "formulations",
    "precision",
    "spectrum",
    "permutation",
    "shift",
)

_FOLDER = Path(__file__).parent / "suites"


@dataclass(frozen=True)
class Listing:
    """A suite's title, and its cases in the order in which they are measured, with a line each."""

    title: str
    cases: dict[str, str]


@cache
def listing(suite: str) -> Listing:
    """Read a suite's title and cases from its module.

    A suite registers each case with ``@SUITE.case(NAME)``, where NAME is a literal or a constant
    of the module; the first line of the function's docstring says what it measures.

    Raises
    ------
    ValueError
        If the module builds a name in another way; it would be missing here.
    """
    tree = ast.parse((_FOLDER / f"{suite}.py").read_text(encoding="utf-8"))
    constants: dict[str, ast.expr] = {}
    title, cases = "", {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
            if node.targets[0].id == "SUITE" and isinstance(node.value, ast.Call):
                title = _text(node.value.args[1], constants)
        elif isinstance(node, ast.FunctionDef):
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            for name in _case_names(node):
                cases[_text(name, constants)] = summary
    return Listing(title, cases)


def _case_names(function: ast.FunctionDef) -> list[ast.expr]:
    """The arguments of the decorators ``SUITE.case``."""
    return [
        decorator.args[0]
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and ast.unparse(decorator.func) == "SUITE.case"
    ]


def _text(node: ast.expr, constants: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Name) and node.id in constants:
        node = constants[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError(f"{ast.unparse(node)} is neither a text nor a constant of its module")
