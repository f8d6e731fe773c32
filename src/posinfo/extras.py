"""Packages that a run can do without: which of them are there, and what to do about the others.

A suite of :data:`NEEDED` measures what others have written. Whoever leaves those packages out
still gets everything else: the rows that need them are not made, a row says so, and the claims
that rest on them read *not run*.
"""

from collections.abc import Collection, Iterable, Mapping
from importlib import metadata
from typing import Any

from posinfo.errors import InputError

#: Packages that a suite measures, each in the version that its rows were made with: the pins of
#: the extra of the suite's name in pyproject.toml.
NEEDED = {
    "peers": {
        "rotary-embedding-torch": "0.9.1",
        "transformers": "5.24.0",
        "x-transformers": "2.31.10",
    },
    "pretrained": {"accelerate": "1.15.0", "gguf": "0.19.0", "transformers": "5.24.0"},
}

#: What stands in a row in place of the version of a package that is not there.
ABSENT = "not installed"
LEFT_OUT = "left out by the config"


def packages(suite: str, leave_out: Collection[str] = ()) -> dict[str, str]:
    """The packages that a suite measures, with the version that is installed of each.

    It belongs to the parameters of the suite, so that installing a package measures the suite
    anew, and nothing else.

    Parameters
    ----------
    suite
        A key of :data:`NEEDED`.
    leave_out
        Packages that count as not there.

    Returns
    -------
    dict
        Package to version; :data:`ABSENT` or :data:`LEFT_OUT` where there is none.
    """
    return {
        name: LEFT_OUT if name in leave_out else _version(name) for name in sorted(NEEDED[suite])
    }


def check(extra: str) -> None:
    """Check that the packages of an extra are there, each in the version of its pin.

    Raises
    ------
    InputError
        If one is not.
    """
    found = packages(extra)
    lacking = [
        f"{name} {version} ({found[name]})"
        for name, version in NEEDED[extra].items()
        if found[name] != version
    ]
    if lacking:
        raise InputError(
            f"the extra {extra}",
            f"needs {', '.join(lacking)}: pip install -c constraints.txt -e '.[{extra}]'",
        )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ABSENT


def advice(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each extra of which something was not run, with what to do about it."""
    lacking: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        if row["outcome"] == "not run":
            # A suite without an extra of its own measures packages of the peers'.
            extra = row["suite"] if row["suite"] in NEEDED else "peers"
            lacking.setdefault(extra, {}).setdefault(row["subject"], row)
    lines = []
    for extra, needed in lacking.items():
        names = ", ".join(
            f"{row['subject']} {row['reference_text']} ({row['measured_text']})"
            for row in needed.values()
        )
        chosen = all(row["measured_text"] == LEFT_OUT for row in needed.values())
        remedy = (
            f"see suites.{extra}.leave_out"
            if chosen
            else f"pip install -c constraints.txt -e '.[{extra}]'"
        )
        lines.append(f"not run for want of {names}: {remedy}")
    return lines
