"""Where the results come from, as one document: results/provenance.json.

Unknown facts are left out. Nothing in it changes from run to run of the same commit on one
machine, and nothing that is compared with other results rests on it: it describes them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from posinfo import __version__
from posinfo.digests import sha256
from posinfo.environment import Facts, python, versions, without_unknown
from posinfo.errors import InputError

#: Packages that run the workflow and lay out what is read: figures and page are of their making.
MAKING = ("jinja2", "markupsafe", "matplotlib", "pandas", "pyyaml", "snakemake")


def document(
    *,
    code: Mapping[str, Any],
    config: Mapping[str, Any],
    environments: Mapping[str, Facts],
    accepted: Mapping[str, str],
    results: Iterable[str],
) -> Facts:
    """The whole document.

    Parameters
    ----------
    code
        Commit, state and digest of the code, as far as they are known.
    config
        The config in effect.
    environments
        By the path of each measured result what its process said of itself; empty if that is
        not known.
    accepted
        Results that were accepted earlier and that this run rests on: the path of each in a
        working copy, and where it lies.
    results
        Paths of all that the run made.
    """
    return without_unknown(
        {
            "version": __version__,
            "code": dict(code),
            "config": {"sha256": config_digest(config)},
            "seeds": seeds(config),
            "environments": merged(environments),
            "recorded_with": {"python": python(), "packages": versions(MAKING)},
            "accepted": [{**described(path), "path": name} for name, path in accepted.items()],
            "results": [described(path) for path in results],
        }
    )


def config_digest(config: Mapping[str, Any]) -> str:
    """A digest of what a config says, whatever file says it, and in what order."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def described(path: str) -> dict[str, Any]:
    """A file by its path, its size in bytes, and its sha256."""
    return {"path": path, "bytes": Path(path).stat().st_size, "sha256": sha256(path)}


def seeds(config: Mapping[str, Any]) -> dict[str, Any]:
    """Every seed of the config by the place where it stands, such as ``decoder.seeds``.

    >>> seeds({"seed": 1, "decoder": {"seeds": [2, 3], "width": 4}})
    {'seed': 1, 'decoder.seeds': [2, 3]}
    """
    return dict(_seeds(config, ""))


def _seeds(config: Mapping[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _seeds(value, f"{above}{key}.")
        elif key in ("seed", "seeds"):
            yield f"{above}{key}", value


def merged(environments: Mapping[str, Facts]) -> list[Facts]:
    """Environments with the results of each: usually one for measuring, and one for training.

    Results of several runs may lie side by side, and then this says so: what was not measured
    anew keeps the environment that it was measured in.
    """
    made: dict[str, list[str]] = {}
    for result, facts in environments.items():
        if facts:
            made.setdefault(json.dumps(facts, sort_keys=True), []).append(result)
    return [{"results": results, **json.loads(facts)} for facts, results in made.items()]


def listed(path: str | Path) -> dict[str, str]:
    """The results that a document lists: path to sha256.

    Raises
    ------
    InputError
        If it is missing, is no JSON, or lists no results.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return {str(one["path"]): str(one["sha256"]) for one in found["results"]}
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(str(path), f"is no JSON: {error}") from error
    except (KeyError, TypeError) as error:
        raise InputError(str(path), "lists no results with path and sha256") from error
