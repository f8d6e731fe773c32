"""Random faults: right implementations with one small change in their source.

A change is made in the syntax tree: one constant, one operator or sign, one index or slice, one
function, or one argument. All changes of a source are listed in a fixed order, so that a seed
draws the same ones anywhere.
"""

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

import torch

from posinfo.battery.base import Misbehaviour, examine
from posinfo.battery.rotary import BASES, BATTERY, Probe, Rotary
from posinfo.faults import right

#: Kinds of changes, in the order of the table.
CHANGES = ("constant", "operator or sign", "index or slice", "function", "argument")

#: Sources of the mutants, by the names of the right implementations.
SOURCES: dict[str, Callable[..., Any]] = {
    "adjacent pairs": right.adjacent,
    "half-split pairs": right.half_split,
    "complex numbers": right.by_complex_numbers,
    "matrices": right.by_matrices,
    "cached table": right.cached_table,
}

#: A coefficient that is off by this factor: by 168 units in float32's last place.
LITTLE = 1.00001

_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
}
_FUNCTIONS = {
    "cos": "sin",
    "sin": "cos",
    "stack": "cat",
    "cat": "stack",
    "outer": "kron",
    "complex": "polar",
    "float": "half",
    "zeros": "ones",
    "squeeze": "unsqueeze",
    "unsqueeze": "squeeze",
    "chunk": "tensor_split",
    "flatten": "unflatten",
    "arange": "ones",
    "long": "short",
    "to": "mul",
}
#: Names that may stand for one another: values of one kind in one source.
_NAMES = (
    ("q", "k"),
    ("cos", "sin"),
    ("even", "odd"),
    ("first", "second"),
    ("positions", "frequencies"),
    ("angles", "frequencies"),
    ("dim", "base"),
)


@dataclass(frozen=True)
class Mutant:
    """A right implementation with one change.

    Parameters
    ----------
    source
        Name of the right implementation, in :data:`SOURCES`.
    change
        One of :data:`CHANGES`.
    line, column
        Place of the change, from 1 at ``def``.
    before, after
        The changed expression.
    code
        The changed source.
    """

    source: str
    change: str
    line: int
    column: int
    before: str
    after: str
    code: str

    def make(self) -> Rotary:
        """A subject: it declares what the right implementation declares."""
        names: dict[str, Any] = {"torch": torch, "math": math}
        exec(_compiled(self.code), names)  # noqa: S102
        made = names[SOURCES[self.source].__name__]
        if self.source != "cached table":
            return Rotary(self.source, made)
        return Rotary(
            self.source, made(right.CACHED_ROWS), last_position=right.CACHED_ROWS - 1
        )  # fmt: skip


@cache
def _compiled(code: str) -> CodeType:
    return compile(code, "<mutant>", "exec")


def _replacements(node: ast.AST, within_index: bool) -> Iterator[tuple[str, ast.AST]]:
    """What may stand in place of a node, each with its kind of change."""
    where = "index or slice" if within_index else "constant"
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        for value in (node.value + 1, node.value - 1, 2 * node.value):
            if value != node.value:
                yield where, ast.Constant(value)
    elif isinstance(node, ast.BinOp):
        for operator in _OPERATORS.get(type(node.op), ()):
            yield "operator or sign", ast.BinOp(node.left, operator(), node.right)
        if isinstance(node.op, ast.Sub | ast.Div | ast.Pow):
            yield "argument", ast.BinOp(node.right, node.op, node.left)
        # One factor scaled a little: a coefficient, not a blunder.
        if isinstance(node.op, ast.Mult):
            little = ast.BinOp(node.right, ast.Mult(), ast.Constant(LITTLE))
            yield "constant", ast.BinOp(node.left, ast.Mult(), little)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield ("index or slice" if within_index else "operator or sign"), node.operand
    elif isinstance(node, ast.Slice):
        yield where, ast.Slice(node.upper, node.lower, node.step)
        if node.step:
            yield where, ast.Slice(node.lower, node.upper, None)
    elif isinstance(node, ast.Attribute) and node.attr in _FUNCTIONS:
        yield "function", ast.Attribute(node.value, _FUNCTIONS[node.attr], node.ctx)
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        yield "argument", ast.Call(node.func, node.args[1::-1] + node.args[2:], node.keywords)
        yield "argument", ast.Call(node.func, node.args[:-1], node.keywords)
    elif isinstance(node, ast.Call) and node.keywords:
        yield "argument", ast.Call(node.func, node.args, node.keywords[:-1])
    elif isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Load):
        if len(node.elts) == 2 and not within_index:
            yield "argument", type(node)(node.elts[::-1], node.ctx)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        for names in _NAMES:
            if node.id in names:
                other = names[1 - names.index(node.id)]
                yield "argument", ast.Name(other, node.ctx)


def _inside_indices(tree: ast.AST) -> set[int]:
    return {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        for inner in ast.walk(node.slice)
    }


def _places(tree: ast.AST) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None]]]:
    """Each node that has a place in the source, and what puts another in its stead."""

    def into_field(parent: ast.AST, field: str) -> Callable[[ast.AST], None]:
        return lambda new: setattr(parent, field, new)

    def into_list(values: list[Any], place: int) -> Callable[[ast.AST], None]:
        return lambda new: values.__setitem__(place, new)

    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr):
                yield value, into_field(parent, field)
            elif isinstance(value, list):
                for place, inner in enumerate(value):
                    if isinstance(inner, ast.expr):
                        yield inner, into_list(value, place)


def _names_in(tree: ast.AST) -> set[str]:
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return stored | {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}


@cache
def mutants(source: str) -> tuple[Mutant, ...]:
    """All single changes of a source, in a fixed order; two that give one code count once."""
    text = textwrap.dedent(inspect.getsource(SOURCES[source]))
    tree = ast.parse(text)
    # The docstring is no code.
    del tree.body[0].body[0]  # type: ignore[attr-defined]
    inside, known = _inside_indices(tree), _names_in(tree)
    unchanged = ast.unparse(tree)
    found: dict[str, Mutant] = {}
    for node, put in list(_places(tree)):
        for change, new in _replacements(node, id(node) in inside):
            if isinstance(new, ast.Name) and new.id not in known:
                continue
            before, after = ast.unparse(node), ast.unparse(new)
            put(new)
            code = ast.unparse(ast.fix_missing_locations(tree))
            put(node)
            if code != unchanged and code not in found:
                place = node.lineno, node.col_offset + 1
                found[code] = Mutant(source, change, *place, before, after, code)
    return tuple(found.values())


def drawn(count: int, seed: int) -> list[Mutant]:
    """So many mutants over all sources, drawn without repetition; all if there are fewer.

    Parameters
    ----------
    count
        How many.
    seed
        Of the draw, which does not depend on the machine.
    """
    every = [mutant for source in SOURCES for mutant in mutants(source)]
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(every), generator=generator)[:count].tolist()
    return [every[place] for place in sorted(order)]


# --- what becomes of them -------------------------------------------------------------------------

#: What may become of a mutant. "Raises" is caught as well; the last is a hole in the battery.
FATES = ("raises", "caught", "same results", "within rounding", "not caught")

_LAST = "the last of two axes is axis 1"
_NEVER_FOUND = "a key that is never found: the table is made anew at each call"
_REFUSED = "fractions are refused as before; whole positions in floats may be too"
_LOOKED_UP = "tables[dim, base][positions.long()]"

#: Why a mutant gives the same results as its source, by its source, line, and both expressions.
EQUIVALENT: dict[tuple[str, int, str, str], str] = {
    ("half-split pairs", 8, "-1", "1"): _LAST,
    ("half-split pairs", 9, "-1", "1"): _LAST,
    ("cached table", 10, "-1", "1"): _LAST,
    ("cached table", 13, "-1", "1"): _LAST,
    ("cached table", 6, "q", "k"): "queries and keys have one width",
    ("cached table", 7, "(dim, base)", "(base, dim)"): _NEVER_FOUND,
    ("cached table", 7, "dim", "base"): _NEVER_FOUND,
    ("cached table", 7, "base", "dim"): _NEVER_FOUND,
    ("cached table", 13, f"{_LOOKED_UP}.chunk", f"{_LOOKED_UP}.tensor_split"): (
        "both split an even width alike"
    ),
    ("cached table", 9, "torch.arange(rows).float", "torch.arange(rows).half"): (
        "float16 holds the whole numbers up to 2,048, where the table ends"
    ),
    ("cached table", 11, "positions % 1", "positions // 1"): _REFUSED,
    ("cached table", 11, "positions", "frequencies"): _REFUSED,
    ("cached table", 11, "0", "1"): _REFUSED,
    ("cached table", 11, "0", "-1"): _REFUSED,
    ("cached table", 11, "1", "2"): _REFUSED,
    ("cached table", 11, "1", "0"): _REFUSED,
}

#: Calls unlike those of the battery: positions, width, base, leading axes.
_CALLS: Sequence[tuple[tuple[int, ...], int, float, tuple[int, ...]]] = (
    (tuple(range(40, 90)), 8, BASES[0], ()),
    (tuple(range(5)), 16, BASES[0], (2, 3)),
    ((3, 2, 1, 500, 1023, 2047), 48, BASES[0], ()),
    ((0, 11, 12, 700, 1001, 2046), 96, 1e6, (3,)),
)


@dataclass(frozen=True)
class Fate:
    """What became of a mutant.

    Parameters
    ----------
    fate
        One of :data:`FATES`.
    check
        The first check that caught it, if one did.
    words
        What that check found, or why the mutant is no fault; empty if that is not known.
    """

    fate: str
    check: str = ""
    words: str = ""

    @property
    def decided(self) -> bool:
        """Whether it was caught, or is known to be no fault."""
        return self.fate in ("raises", "caught") or (self.fate != "not caught" and bool(self.words))


def fate(mutant: Mutant) -> Fate:
    """What becomes of a mutant: the checks are asked in their order until one rejects it.

    One that all accept is run on calls of other positions, widths and bases, and compared with its
    source bit for bit, and with the exact rotation within the bound of rounding.
    """
    for name in BATTERY.names():
        for finding in examine(BATTERY, mutant.make, only=[name]):
            if finding.rejects:
                raised = finding.words.startswith("raises")
                return Fate("raises" if raised else "caught", name, finding.words)
    why = EQUIVALENT.get((mutant.source, mutant.line, mutant.before, mutant.after), "")
    mine, theirs = Probe(mutant.make()), Probe(right.RIGHT[mutant.source]())
    same = close = True
    for positions, width, base, leading in _CALLS:
        given = [mine.draw(*leading, len(positions), width, salt=salt) for salt in (3, 4)]
        try:
            turned = mine.turn(*given, positions, base)
        except Misbehaviour as what:
            return Fate("not caught", words=str(what))
        for x, a, b in zip(given, turned, theirs.turn(*given, positions, base), strict=True):
            same &= torch.equal(a, b)
            error, bound = mine.error(x, a, positions, base)
            close &= bool((error <= bound).all())
    if same:
        return Fate("same results", words=why)
    return Fate("within rounding" if close else "not caught", words=why)
