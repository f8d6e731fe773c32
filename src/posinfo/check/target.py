"""What to check: a function in a file, and what is declared about it. Imports no torch."""

import ast
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posinfo.errors import InputError, nearest

#: Seconds that a function may take for all checks together, its import included.
TIMEOUT = 60.0


@dataclass(frozen=True)
class Target:
    """A function in a file.

    Parameters
    ----------
    file
        Path of a Python file, as the user wrote it.
    function
        Its name in there; with dots, an attribute of what stands there.
    signature
        Name of its form; recognised by its parameters if None.
    axes
        Axes of queries and keys, one of :data:`posinfo.battery.signatures.AXES`; those of the form
        if None.
    rotary_dim
        Leading dimensions that it declares to rotate; all if None.
    last_position
        The last position that it declares to take; that of the battery if None.
    """

    file: str
    function: str
    signature: str | None = None
    axes: str | None = None
    rotary_dim: int | None = None
    last_position: int | None = None

    @property
    def name(self) -> str:
        """The target as the user writes it."""
        return f"{self.file}:{self.function}"

    def record(self) -> dict[str, Any]:
        """The target as a mapping, for the process that runs it."""
        return asdict(self)


def parse(text: str) -> tuple[str, str]:
    """File and function of ``FILE.py:FUNCTION``.

    Raises
    ------
    InputError
        If it has another form.
    """
    file, colon, function = text.rpartition(":")
    if not colon or not file or not all(part.isidentifier() for part in function.split(".")):
        raise InputError(text or "''", "name a file and a function in it, as in rope.py:rotate")
    return file, function


def check_exists(target: Target) -> None:
    """Check that the file can be read and parsed, and that it names the function.

    Without running it: what only running it can tell is left to that.

    Raises
    ------
    InputError
        Naming the file, the line if there is one, and what is allowed.
    """
    path = Path(target.file)
    if not path.exists():
        raise InputError(target.file, "does not exist")
    if path.is_dir():
        raise InputError(target.file, "is a folder: name a Python file")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise InputError(target.file, f"cannot be read: {error.strerror}") from error
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        where = f"{target.file} line {error.lineno}" if error.lineno else target.file
        raise InputError(where, f"is not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(target.file, f"is not Python: {error}") from error
    names = _names(tree)
    first = target.function.partition(".")[0]
    if names is not None and first not in names:
        functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        raise InputError(target.file, no_such(first, functions))


def no_such(name: str, functions: Sequence[str]) -> str:
    """What an error says of a name that the file does not have."""
    allowed = nearest(name, functions) if functions else "it defines no function"
    return f"has no {name!r}: {allowed}"


def _names(tree: ast.Module) -> set[str] | None:
    """The names that a module binds; None if running it may bind others."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return None
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name):
            if node.id in ("globals", "exec", "setattr", "vars", "locals"):
                return None
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return None if "__getattr__" in names else names
