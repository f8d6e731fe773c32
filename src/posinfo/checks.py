"""Checks of a run's input, before any job: the config, the claims, and where results go."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from posinfo.claims import load_claims
from posinfo.errors import InputError, nearest
from posinfo.schemas import first_problem, load_yaml


def check_config(
    config: Mapping[str, Any], files: Iterable[str], schema: Mapping[str, Any]
) -> None:
    """Check the config under its schema.

    Parameters
    ----------
    config
        The config as Snakemake put it together.
    files
        The files it comes from, the strongest last; the one to blame is named.
    schema
        A JSON Schema, ``workflow/schemas/config.schema.yaml``.

    Raises
    ------
    InputError
        Naming file, key and what is allowed.
    """
    files = list(files)
    for path in files:
        if not isinstance(load_yaml(path), dict):
            raise InputError(path, "must hold keys with values")
    problem = first_problem(config, schema)
    if problem:
        key, text = problem
        raise InputError(_to_blame(files, key, text), f"{key}: {text}" if key else text)


def _to_blame(files: list[str], key: str, text: str) -> str:
    """The strongest file that sets the key, or the command line if none of them does."""
    path = key.replace("[", ".").split(".") if key else []
    for file in reversed(files):
        value: Any = load_yaml(file)
        for part in path:
            if not isinstance(value, dict) or part not in value:
                break
            value = value[part]
        else:
            unknown = text.split("'")[1] if text.startswith("unknown key") else None
            if unknown is None or (isinstance(value, dict) and unknown in value):
                return file
            continue
        if isinstance(value, list):
            return file
    return "--config" if not text.startswith("the key") else files[-1]


def check_claims(files: Iterable[str], schema: Mapping[str, Any], suites: Collection[str]) -> None:
    """Load the claims and check that each rests on suites that there are."""
    for claim in load_claims(files, schema):
        for suite in claim.suites:
            if suite not in suites:
                raise InputError(
                    f"{claim.file} claim {claim.id}",
                    f"unknown suite {suite!r}: {nearest(suite, suites)}",
                )


def check_writable(folders: Iterable[str]) -> None:
    """Check that each folder is there, or can be made, and can be written to."""
    for folder in map(Path, folders):
        existing = folder
        while not existing.exists():
            existing = existing.parent
        if not existing.is_dir():
            raise InputError(str(existing), "is a file, and results need a folder there")
        if not os.access(existing, os.W_OK | os.X_OK):
            raise InputError(str(existing), "cannot be written to: change its permissions")
