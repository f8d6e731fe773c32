"""The one exception for wrong input: it reads as a single clear line."""

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Wrong input, worded for the person who wrote it.

    Parameters
    ----------
    where
        The file that is wrong, and the place in it (a key, a row), as the user knows them.
    problem
        What is wrong, and what would be allowed, without a final full stop.
    """

    def __init__(self, where: str, problem: str) -> None:
        # A terminal shows one line an error: line breaks from a library's message would hide it.
        super().__init__(" ".join(f"{where}: {problem}".split()))


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Say what is allowed, with the most similar name first: ``did you mean …?``."""
    names = sorted(allowed)
    close = difflib.get_close_matches(word, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}allowed: {', '.join(names)}"
