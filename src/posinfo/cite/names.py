"""What a name that is not there may have meant: few names, not all there are."""

import difflib
from collections.abc import Iterable

#: How many names are said.
MOST = 5


def alike(word: str, names: Iterable[str]) -> list[str]:
    """Up to five names: those that begin with a word, then those that hold it; else the nearest.

    >>> alike("norms-kept", ["norms-kept-in-float64", "kept", "the-norms-kept-here"])
    ['norms-kept-in-float64', 'the-norms-kept-here']
    """
    names = sorted(names)
    found: list[str] = []
    if word:
        lower = word.lower()
        found += [name for name in names if name.lower().startswith(lower)]
        found += [name for name in names if lower in name.lower()]
    found = found or difflib.get_close_matches(word, names, n=1)
    return list(dict.fromkeys(found))[:MOST]


def nearest(word: str, allowed: Iterable[str], shown: int = 12) -> str:
    """Say what was meant; and all that is allowed, where that are not many."""
    names = sorted(allowed)
    close = alike(word, names)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else ""
    if len(names) > shown:
        return hint or f"{len(names)} names, such as {', '.join(names[:MOST])}"
    return f"{hint} allowed: {', '.join(names)}".strip()
