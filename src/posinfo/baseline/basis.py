"""What results rest on: code, config, versions, processor. With it one can say why they differ.

A run writes it beside its results (``results/basis.json``), and it is accepted with them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo import __version__
from posinfo.digests import sha256
from posinfo.environment import Facts
from posinfo.errors import InputError
from posinfo.imports import library_files
from posinfo.parameters import NOT_SHARED
from posinfo.provenance import merged
from posinfo.syntax import dumped

#: Where a run writes it, in its folder of results.
NAME = "basis.json"

#: What each stage after the suites imports.
STAGES = {
    "controls": ("posinfo.controls",),
    "ledger": ("posinfo.ledger",),
    "tables": ("posinfo.tables",),
    "figures": ("posinfo.tables",),
}
#: Of the processor: its class. Its model says no more about numbers, and more about whose it is.
_CPU = ("vendor", "level")
#: What is needed of a file, to be taken for one.
_NEEDED = ("version", "config", "claims", "packages", "readings", "code", "environments")
#: Long enough to tell apart what changed.
_DIGITS = 16
#: Characters of a value that are shown.
_SHOWN = 40


def document(
    *,
    source: str | Path,
    config: Mapping[str, Any],
    claims: Iterable[str],
    packages: Mapping[str, Mapping[str, str]],
    readings: str | Path,
    environments: Mapping[str, Facts],
    suites: Sequence[str],
) -> dict[str, Any]:
    """The whole document.

    Parameters
    ----------
    source
        The folder that holds the package.
    config
        The config in effect.
    claims
        Paths of the claims' files.
    packages
        By suite, the packages that it can do without, and which of them there were.
    readings
        The accepted readings of real models.
    environments
        By the path of each measured result what its process said of itself.
    suites
        Names of all suites.
    """
    known = merged({path: _class(facts) for path, facts in environments.items()})
    return {
        "version": __version__,
        "config": dict(config),
        "claims": {Path(path).name: sha256(path) for path in claims},
        "packages": {suite: dict(found) for suite, found in packages.items()},
        "readings": sha256(readings),
        "code": code(source, suites),
        "environments": known,
    }


def _class(facts: Facts) -> Facts:
    """Facts with the class of the processor in place of its model."""
    kept = {key: value for key, value in facts.items() if key != "cpu"}
    cpu = {key: facts["cpu"][key] for key in _CPU if key in facts.get("cpu", {})}
    return {**kept, "cpu": cpu} if cpu else kept


def modules(source: str | Path, name: str) -> list[str]:
    """Files of the library that decide a result: ``suites/norms.csv``, ``ledger.csv``."""
    folder, _, file = name.rpartition("/")
    stem = Path(file).stem
    if folder == "suites":
        needed: tuple[str, ...] = ("posinfo.measure", f"posinfo.suites.{stem}")
    else:
        needed = STAGES[folder or stem]
    return [path for path in library_files(str(source), needed) if path != "posinfo/__init__.py"]


def code(source: str | Path, suites: Iterable[str]) -> dict[str, str]:
    """A digest of what each file of the library does that results depend on."""
    names = [*(f"suites/{suite}.csv" for suite in suites), *STAGES]
    files = sorted({path for name in names for path in modules(source, name)})
    return {path: _digest(dumped(Path(source, path).read_text("utf-8"))) for path in files}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def load(path: str | Path) -> dict[str, Any]:
    """Read a basis.

    Raises
    ------
    InputError
        If the file is missing or is not what it should be.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(str(path), "does not exist") from error
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(str(path), f"is no JSON: {error}") from error
    missing = [key for key in _NEEDED if not isinstance(found, dict) or key not in found]
    if missing:
        raise InputError(str(path), f"does not say: {', '.join(missing)}")
    return found


@dataclass(frozen=True)
class Cause:
    """Something that differs beneath a result: what kind of thing, and what of it."""

    kind: str
    text: str


def causes(name: str, old: Mapping[str, Any], new: Mapping[str, Any], source: Path) -> list[Cause]:
    """What differs beneath one file of results; nothing if nothing known does.

    Parameters
    ----------
    name
        The file, such as ``suites/norms.csv``.
    old, new
        What both results rest on.
    source
        The folder that holds the package of now: it says which modules the file needs.
    """
    found = []
    keys = [_change(*one) for one in config_changes(name, old, new)]
    if keys:
        found.append(Cause("config", f"config: {_listed(keys)}"))
    edited = _edited(name, old, new, source)
    if edited:
        found.append(Cause("code", f"code: {_listed(edited)}"))
    if not name.startswith("suites/") and old["claims"] != new["claims"]:
        differing = {**old["claims"], **new["claims"]}
        changed = [one for one in differing if old["claims"].get(one) != new["claims"].get(one)]
        found.append(Cause("claims", f"claims: {_listed(sorted(changed))}"))
    if name == "suites/pretrained.csv" and old["readings"] != new["readings"]:
        found.append(Cause("readings", "accepted readings of real models"))
    return found + _environment(name, old, new)


def _edited(name: str, old: Mapping[str, Any], new: Mapping[str, Any], source: Path) -> list[str]:
    try:
        needed = modules(source, name)
    except Exception:  # a suite that is no more: nothing is known of its modules
        needed = sorted({*old["code"], *new["code"]})
    return [path for path in needed if old["code"].get(path) != new["code"].get(path)]


def config_changes(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[tuple[str, Any, Any]]:
    """Keys of the config that a file depends on and that differ, with both values."""
    before, now = _told(name, old), _told(name, new)
    return [
        (key, before.get(key), now.get(key))
        for key in dict.fromkeys([*before, *now])
        if before.get(key) != now.get(key)
    ]


def _told(name: str, basis: Mapping[str, Any]) -> dict[str, Any]:
    """What of the config a file depends on, by dotted key."""
    config = {key: value for key, value in basis["config"].items() if key != "comparison"}
    stem = Path(name).stem
    if not name.startswith("suites/"):
        if name.startswith(("tables/", "figures/")):
            config.pop("claims", None)
        return {**_flat(config), **_flat({"packages": basis["packages"]})}
    own = {
        "implementations": ["implementations"],
        "trained": ["decoder"],
        "pretrained": ["pretrained"],
    }.get(stem, [])
    told = {key: value for key, value in config.items() if key not in NOT_SHARED or key in own}
    told["suites"] = {stem: config.get("suites", {}).get(stem, {})}
    if stem in basis["packages"]:
        told["packages"] = {stem: basis["packages"][stem]}
    return _flat(told)


def _flat(value: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= _flat(inner, f"{above}{key}.")
        else:
            found[f"{above}{key}"] = inner
    return found


def _environment(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Cause]:
    found: dict[Cause, None] = {}
    results = sorted({*_paths(name, old), *_paths(name, new)})
    for result in results:
        before, now = _facts(result, old), _facts(result, new)
        if not before or not now:
            continue
        for kind, keys in {
            "versions": ("packages",),
            "machine": ("system.machine",),
            "profile": ("numerics", "variables"),
            "CPU": ("cpu",),
            "system": ("system.name", "system.libc"),
            "Python": ("python",),
        }.items():
            changed = [
                _change(key, before.get(key), now.get(key))
                for key in dict.fromkeys([*before, *now])
                if key.startswith(keys) and before.get(key) != now.get(key)
            ]
            if changed:
                found[Cause(kind, f"{kind}: {_listed(changed)}")] = None
    return list(found)


def _paths(name: str, basis: Mapping[str, Any]) -> list[str]:
    """The measured results that a file rests on."""
    every = [path for one in basis["environments"] for path in one["results"]]
    if name == "suites/trained.csv":
        return [path for path in every if "/trained" in path]
    if name.startswith(("suites/", "controls/")):
        return [path for path in every if path.endswith(f"/{name}")]
    return [path for path in every if "/suites/" in path]


def _facts(result: str, basis: Mapping[str, Any]) -> dict[str, Any]:
    for one in basis["environments"]:
        if result in one["results"]:
            return _flat({key: value for key, value in one.items() if key != "results"})
    return {}


def _change(key: str, old: Any, new: Any) -> str:
    shown = [_short(value) for value in (old, new)]
    return f"{key} {shown[0]} → {shown[1]}" if shown[0] != shown[1] else key


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _listed(names: Sequence[str], shown: int = 4) -> str:
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")
