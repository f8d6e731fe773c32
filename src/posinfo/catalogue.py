"""Which suites, cases and faults there are, from the source: to import them would import torch."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: Suites in the order of the report; the module or package ``posinfo.suites.<name>`` holds each.
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
    "trained",
    "pretrained",
    "peers",
    "models",
    "controls",
    "implementations",
)

#: Our own rotations, which the battery is asked about in every run.
OUR_IMPLEMENTATIONS = ("adjacent", "half-split", "complex", "matrices")

_FOLDER = Path(__file__).parent / "suites"
_SUITES_PATH = "src/posinfo/suites"
_FAULTS = Path(__file__).parent / "faults"
# Reading the modules as Python would take a tenth of a second, at every call of Snakemake.
_FAULT_NAME = re.compile(r'(?:\bname=|[Ff]ault\(\s*)"([^"]+)"')


@dataclass(frozen=True)
class Listing:
    """A suite's title, and its cases in the order in which they are measured, with a line each.

    ``places`` says where each case is measured: file, from the project's folder, and line.
    """

    title: str
    cases: dict[str, str]
    places: dict[str, str]


@cache
def listing(suite: str) -> Listing:
    """Read a suite's title and cases from its modules.

    A suite registers each case with ``@SUITE.case(NAME)``, where NAME is a literal or a constant
    of the module; the first line of the function's docstring says what it measures.

    Raises
    ------
    ValueError
        If a module builds a name in another way; it would be missing here.
    """
    title, cases, places = "", {}, {}
    for path in _modules(suite):
        constants: dict[str, ast.expr] = {}
        for node in _body(path):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                constants[node.targets[0].id] = node.value
                if node.targets[0].id == "SUITE" and isinstance(node.value, ast.Call):
                    title = _text(node.value.args[1], constants)
            elif isinstance(node, ast.FunctionDef):
                summary = (ast.get_docstring(node) or "").partition("\n")[0]
                for name in _case_names(node):
                    cases[_text(name, constants)] = summary
                    place = path.relative_to(_FOLDER).as_posix()
                    places[_text(name, constants)] = f"{_SUITES_PATH}/{place}:{node.lineno}"
    return Listing(title, cases, places)


@cache
def faults() -> frozenset[str]:
    """Names of all faults: literals that a ``Fault``, or a helper of its name, is made with."""
    return frozenset(
        name
        for path in _FAULTS.glob("*.py")
        for name in _FAULT_NAME.findall(path.read_text(encoding="utf-8"))
    )


def code_path(suite: str) -> str:
    """Where a suite's code lies, from the project's folder: a module, or a folder of modules."""
    return f"{_SUITES_PATH}/{suite}" + ("/" if (_FOLDER / suite).is_dir() else ".py")


def _modules(suite: str) -> list[Path]:
    """The suite's module; of a package, the modules that it imports, in that order."""
    package = _FOLDER / suite
    if not package.is_dir():
        return [_FOLDER / f"{suite}.py"]
    own = f"posinfo.suites.{suite}"
    names: list[str] = []
    for node in _body(package / "__init__.py"):
        if isinstance(node, ast.ImportFrom) and node.module == own:
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{own}."):
            names.append(str(node.module).removeprefix(f"{own}."))
    return [package / f"{name}.py" for name in dict.fromkeys(names)]


def _body(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


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
