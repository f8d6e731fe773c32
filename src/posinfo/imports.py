"""Which of the library's files a module needs, so that an edit reruns what depends on it."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import grimp


@cache
def _graph(source: str) -> "grimp.ImportGraph":
    # Imported where it is needed: who cites results in a lesson has it not.
    import grimp

    # No cache on disk: it would lie in the user's folder, and building takes milliseconds.
    return grimp.build_graph("posinfo", cache_dir=None)


def library_files(source: str, modules: Iterable[str]) -> list[str]:
    """Files of these modules and of all that they import within the package, sorted.

    Parameters
    ----------
    source
        The folder that holds the package; it must be on the import path.
    modules
        Names of modules, such as ``posinfo.suites.norms``.

    Returns
    -------
    list of str
        Paths relative to ``source``. A package's ``__init__`` counts for its modules.
    """
    graph = _graph(source)
    needed: set[str] = set()
    for module in modules:
        needed |= {module} | graph.find_upstream_modules(module)
    for module in list(needed):
        parts = module.split(".")
        needed |= {".".join(parts[:count]) for count in range(1, len(parts))}
    return sorted(_path(source, module) for module in needed)


def _path(source: str, module: str) -> str:
    relative = Path(*module.split("."))
    if (Path(source) / relative).is_dir():
        return str(relative / "__init__.py")
    return str(relative.with_suffix(".py"))
