"""Checks of a run's input, before any job: the config, the claims, and where results go."""

import difflib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from posinfo.catalogue import OUR_IMPLEMENTATIONS, listing
from posinfo.check.target import Target, check_exists
from posinfo.claims import Claim, load_claims
from posinfo.errors import InputError, nearest
from posinfo.schemas import Problem, first_problem, load_yaml


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
        where = _to_blame(files, problem)
        raise InputError(where, f"{problem.key}: {problem.text}" if problem.key else problem.text)


def _to_blame(files: list[str], problem: Problem) -> str:
    """The strongest source that says what the config has: a file, or else the command line.

    A key that is missing is missing in the first file, which holds them all.
    """
    if problem.value is None:
        return files[0]
    for file in reversed(files):
        value: Any = load_yaml(file)
        try:
            for part in problem.path:
                value = value[part]
        except (KeyError, IndexError, TypeError):
            continue
        # NaN is what it is, though it equals nothing.
        if value == problem.value or (value != value and problem.value != problem.value):
            return file
    return "--config"


def check_agreement(config: Mapping[str, Any], files: Sequence[str]) -> None:
    """Check what a schema cannot say: keys of a valid config whose values must fit each other.

    Raises
    ------
    InputError
        Naming the strongest file, the key and what is allowed.
    """
    for key, text in _disagreements(config):
        raise InputError(files[-1], f"{key}: {text}")


def _disagreements(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    offsets = config["suites"]["offsets"]
    rows = offsets["table_rows"]
    if offsets["position_inside"] >= rows:
        yield "suites.offsets.position_inside", f"must be less than table_rows, {rows}"
    if min(offsets["positions_outside"]) < rows:
        yield "suites.offsets.positions_outside", f"must be table_rows, {rows}, or more, each"
    if offsets["holding_shift"] < min(offsets["shifts"]):
        yield "suites.offsets.holding_shift", "must be at least the smallest of the shifts"
    if not offsets["holding_shift"] < offsets["breaking_shift"] <= max(offsets["shifts"]):
        yield (
            "suites.offsets.breaking_shift",
            "must be above holding_shift and at most the largest of the shifts",
        )
    size = config["lesson_b"]
    if size["width"] != size["heads"] * size["head_dim"]:
        yield "lesson_b.width", f"must be heads times head_dim, {size['heads'] * size['head_dim']}"
    shift = config["suites"]["shift"]
    if shift["holding_shift"] < min(shift["shifts"]):
        yield "suites.shift.holding_shift", "must be at least the smallest of the shifts"
    if not shift["holding_shift"] < shift["breaking_shift"] <= max(shift["shifts"]):
        yield (
            "suites.shift.breaking_shift",
            "must be above holding_shift and at most the largest of the shifts",
        )
    early, late = shift["phrase_positions"]
    if early >= late:
        yield "suites.shift.phrase_positions", "the first must be less than the second"
    if shift["table_rows"] < shift["length"] + max(late, min(shift["shifts"])):
        yield (
            "suites.shift.table_rows",
            "must reach the phrase's later position and the smallest shift, each with length more",
        )
    for first, second in config["suites"]["permutation"]["sentences"]:
        if sorted(first.split()) != sorted(second.split()):
            yield (
                "suites.permutation.sentences",
                f"{first!r} and {second!r} have not the same words",
            )
    yield from _decoder_disagreements(config["decoder"])
    read = {config["seed"] + factor for factor in (1, *config["decoder"]["factors"])}
    if both := sorted(read & set(config["decoder"]["seeds"])):
        yield (
            "decoder.seeds",
            f"must not hold {both[0]}: decoders would be read on texts that they were trained on, "
            "which are drawn from seed, and one more for each factor",
        )
    near, length = config["suites"]["trained"]["near"], config["decoder"]["trained_length"]
    if near >= length // 2:
        yield "suites.trained.near", f"must be less than half of decoder.trained_length, {length}"
    peers = config["suites"]["peers"]
    if int(peers["proportion"] * peers["table"]["head_dim"] // 2) < 2:
        yield "suites.peers.proportion", "must turn two pairs or more of the table's head_dim"
    common = {"head_dim": "head_dims", "base": "bases", "factor": "factors"}
    for suite, shown, keys in (
        ("extension", "figure", common | {"trained_length": "trained_lengths"}),
        ("peers", "table", common),
    ):
        for key, among in keys.items():
            value, allowed = config["suites"][suite][shown][key], config["suites"][suite][among]
            if value not in allowed:
                yield (
                    f"suites.{suite}.{shown}.{key}",
                    f"{value} is not measured: {among} has {', '.join(map(str, allowed))}",
                )


def _decoder_disagreements(decoder: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    width, heads, length = (decoder[name] for name in ("width", "heads", "trained_length"))
    if width % (2 * heads) or width // heads < 4:
        yield (
            "decoder.width",
            f"must be heads, {heads}, times an even number of at least 4: heads turn pairs",
        )
    tasks = decoder["tasks"]
    low, high = tasks["period"]
    if low > high:
        yield "decoder.tasks.period", "the first must be at most the second"
    if high >= tasks["symbols"]:
        yield "decoder.tasks.period", f"must be less than symbols, {tasks['symbols']}"
    if tasks["prefix"] + high >= length:
        yield (
            "decoder.tasks.prefix",
            f"with the longest period, {high}, must be less than trained_length, {length}",
        )
    if tasks["pairs"] > tasks["keys"]:
        yield "decoder.tasks.pairs", f"must be at most keys, {tasks['keys']}"
    # Pairs and questions take two places each.
    if 4 * tasks["pairs"] > length - 2:
        yield (
            "decoder.tasks.pairs",
            f"must be at most {(length - 2) // 4}: all must fit into a text",
        )
    if decoder["yarn"]["slow"] >= decoder["yarn"]["fast"]:
        yield "decoder.yarn.slow", "must be less than fast"


def check_implementations(config: Mapping[str, Any], files: Sequence[str]) -> None:
    """Check that the listed implementations have names of their own, and are there.

    Raises
    ------
    InputError
        Naming the strongest file, the entry and what is allowed.
    """
    taken = dict.fromkeys(OUR_IMPLEMENTATIONS, "one of ours")
    for number, entry in enumerate(config["implementations"]):
        key, name = f"implementations[{number}]", entry["name"]
        if name in taken:
            raise InputError(files[-1], f"{key}.name: {name!r} is taken: it is {taken[name]}")
        taken[name] = key
        target = {part: entry[part] for part in ("file", "function")}
        try:
            check_exists(Target(**target))
        except InputError as error:
            raise InputError(files[-1], f"{key}: {error}") from error


def check_presets(files: Sequence[str], schema: Mapping[str, Any], folder: str) -> None:
    """Check that there are published models, and that each can be read.

    Parameters
    ----------
    files
        A file a model.
    schema
        ``workflow/schemas/preset.schema.yaml``.
    folder
        Where the config looks for them.

    Raises
    ------
    InputError
        Naming file, key and what is allowed.
    """
    if not files:
        raise InputError(folder, "holds no .yaml file of a model: the config's models names it")
    # Imported here: most commands read no model.
    from posinfo.models import presets

    names: dict[str, str] = {}
    for path in files:
        (preset,) = presets.load([Path(path)], schema)
        try:
            preset.model()
        except InputError as error:
            text = str(error).removeprefix(f"{presets.FOLDER}/{preset.key}.yaml: ")
            raise InputError(path, f"config: {text}") from error
        if preset.name in names:
            raise InputError(path, f"name: {preset.name!r} is taken by {names[preset.name]}")
        names[preset.name] = path


def check_claims(
    files: Iterable[str],
    schema: Mapping[str, Any],
    columns: Mapping[str, Collection[str]],
    faults: Collection[str],
) -> list[Claim]:
    """Load the claims, and check that the suites, cases, columns and faults that each names exist.

    Parameters
    ----------
    files
        The claims' files.
    schema
        ``workflow/schemas/claims.schema.yaml``.
    columns
        The columns of each suite's rows, by the suite's name.
    faults
        The names of the faults that a claim may reject.

    Returns
    -------
    list of Claim
        The claims, in the order of the files.

    Raises
    ------
    InputError
        Naming file, claim and what is allowed.
    """
    claims = load_claims(files, schema)
    for claim in claims:
        where = f"{claim.file} claim {claim.id}"
        if claim.rejects and claim.rejects not in faults:
            name = claim.rejects
            raise InputError(where, f"rejects: {name!r} is no fault{_like(name, faults)}")
        for selector in claim.supports + claim.breaks:
            suite = selector.suite
            if suite not in columns:
                raise InputError(where, f"unknown suite {suite!r}: {nearest(suite, columns)}")
            for column in selector.where:
                if column not in columns[suite]:
                    allowed = nearest(column, columns[suite])
                    raise InputError(where, f"{suite} has no column {column!r}: {allowed}")
            cases = listing(suite).cases
            for case in selector.where.get("case", ()):
                if case not in cases:
                    raise InputError(where, f"{suite} has no case {case!r}: {nearest(case, cases)}")
    return claims


def _like(name: str, faults: Collection[str]) -> str:
    """The faults with the most similar names: all of them would fill a page."""
    close = difflib.get_close_matches(name, sorted(faults), n=3)
    meant = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f": {meant}their names stand in src/posinfo/faults"


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
