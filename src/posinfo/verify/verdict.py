"""The whole of it: what is asked for is made anew, and what is found is held against that."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posinfo import digests, provenance, revision
from posinfo.baseline.judging import means_within_spread
from posinfo.errors import InputError
from posinfo.parameters import weight_files
from posinfo.schemas import table_schema
from posinfo.tidy import parse, read_bytes
from posinfo.verify import rerun
from posinfo.verify.compare import (
    DIFFERS,
    EXTRA,
    LENT,
    MISSING,
    SAME,
    TRAINED,
    TRAINED_SUITE,
    Difference,
    Folders,
    environment_notes,
    schema_of,
)

DOCUMENT = "results/provenance.json"
#: What describes a run and may differ: what of it must not is compared key by key.
_DESCRIBING = ("results/environments/", DOCUMENT)
_ABOUT_TRAINING = "results/trained/"


@dataclass(frozen=True)
class Request:
    """What is to be verified.

    Attributes
    ----------
    results
        The folder of results.
    suites
        The suites to measure anew; everything if there are none.
    config
        The config in effect, and ``config_file`` what was laid over the shipped one, or None.
    training
        Whether to train anew.
    cores
        Jobs side by side.
    root
        The working copy whose code makes the results anew.
    """

    results: Path
    suites: tuple[str, ...]
    config: Mapping[str, Any]
    config_file: str | None
    training: bool
    cores: int
    root: Path


@dataclass
class Verdict:
    """What became of each file, all that differs, and what a reader must know besides."""

    files: dict[str, str] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Whether nothing differs that was promised not to."""
        return not self.differences


def check(request: Request) -> Mapping[str, Any]:
    """Check that the results can be made anew, and return their provenance.

    Raises
    ------
    InputError
        If there are no results, or they were made with another config.
    """
    path = request.results / "provenance.json"
    if not request.results.is_dir():
        raise InputError(
            str(request.results), "is no folder of results: make one with snakemake --cores 4"
        )
    provenance.listed(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    told = document.get("config")
    there = told.get("sha256") if isinstance(told, dict) else None
    here = provenance.config_digest(request.config)
    if there != here:
        raise InputError(
            str(path),
            f"says another config (sha256 {str(there)[:12]}) than the one in effect (sha256 "
            f"{here[:12]}): restore the config of the results, or name what was laid over it with "
            "--config FILE",
        )
    return document


def verify(
    request: Request, document: Mapping[str, Any], progress: Callable[[int, int], None]
) -> Verdict:
    """Make results anew in a temporary folder and compare; nothing is written into the results.

    Parameters
    ----------
    request
        What to verify.
    document
        The provenance, by :func:`check`.
    progress
        Is told how many jobs are done, and how many there are.

    Raises
    ------
    posinfo.verify.rerun.Failed
        If the workflow does not make the results.
    InputError
        If it refuses its input.
    """
    verdict = Verdict()
    _note_code(verdict, document, request.root)
    lending = not request.training and (not request.suites or "trained" in request.suites)
    if lending and not _can_be_lent(verdict, request, document):
        return verdict
    targets = [f"results/suites/{suite}.csv" for suite in request.suites]
    if request.training and not request.suites:
        verdict.notes.append("decoders are trained anew, which takes minutes")
    with rerun.elsewhere(request.results.resolve().parent) as anew:
        if lending:
            rerun.lend_training(request.results.resolve(), anew)
        rerun.run(
            anew, request.root / "Snakefile", targets, cores=request.cores,
            config=request.config_file, progress=progress,
        )  # fmt: skip
        folders = Folders(request.results, anew, request.root / "workflow" / "schemas")
        made = targets or list(provenance.listed(anew / DOCUMENT))
        _note_environments(verdict, folders, targets)
        _compare(verdict, folders, [p for p in made if not p.startswith(_DESCRIBING)], lending)
        if not request.suites:
            _compare_lists(verdict, folders, document)
        _compare_described(verdict, folders, document)
    return verdict


def _note_code(verdict: Verdict, document: Mapping[str, Any], root: Path) -> None:
    there = document.get("code", {}).get("sha256")
    if there != (here := revision.digest(root)):
        verdict.notes.append(
            f"the results say that other code made them (sha256 {str(there)[:12]}, here "
            f"{here[:12]}): a difference may come of that"
        )


def _can_be_lent(verdict: Verdict, request: Request, document: Mapping[str, Any]) -> bool:
    """Whether weights are there and are those of their records; a line for each that is not."""
    recorded: dict[str, str] = {}
    for pattern in rerun.TRAINING_RECORDS:
        for record in sorted((request.results / "digests").glob(pattern)):
            recorded |= digests.recorded(record)
    listed = {str(one["path"]): str(one["sha256"]) for one in document["results"]}
    for weights in weight_files(request.config).values():
        for path in (weights, weights.replace(".safetensors", ".csv")):
            place = request.results / path.removeprefix("results/")
            verdict.files[path] = LENT
            if not place.is_file():
                problem = Difference(path, "is missing")
            elif (found := digests.sha256(place)) != recorded.get(path, found):
                problem = Difference(
                    path, f"recorded by its job as {recorded[path][:12]}, is {found[:12]}"
                )
            elif path not in recorded:
                problem = Difference(path, "no job has recorded it")
            elif listed.get(path) != found:
                problem = Difference(
                    path, f"listed in {DOCUMENT} as {str(listed.get(path))[:12]}, is {found[:12]}"
                )
            else:
                continue
            verdict.files[path] = MISSING if not place.is_file() else DIFFERS
            verdict.differences.append(problem)
    if verdict.verified:
        verdict.notes.append(
            "trained weights are lent, not trained anew: they are those that their jobs recorded; "
            "--with-training trains them"
        )
    else:
        verdict.notes.append(
            "nothing was re-executed, for it would rest on these weights; --with-training trains "
            "its own"
        )
    return verdict.verified


def _note_environments(verdict: Verdict, folders: Folders, targets: Sequence[str]) -> None:
    there = sorted((folders.anew / "results" / "environments").glob("*.json"))
    lines: dict[str, None] = {}
    for path in there:
        found = folders.place(f"results/environments/{path.name}")
        lines |= dict.fromkeys(environment_notes(path, found))
    if lines:
        verdict.notes.append(
            "the results say that they were measured otherwise, so their bytes are not promised: "
            + "; ".join(lines)
        )


def _compare(verdict: Verdict, folders: Folders, paths: Sequence[str], lent: bool) -> None:
    elsewhere = False
    # Weights first: what rests on them is judged by whether they are the same.
    for path in sorted(paths, key=lambda path: not path.startswith(_ABOUT_TRAINING)):
        if lent and path.startswith(_ABOUT_TRAINING):
            continue
        found = folders.differences(path)
        verdict.files[path] = SAME
        if not found:
            continue
        verdict.files[path] = DIFFERS if folders.place(path).is_file() else MISSING
        if not lent and path.startswith(_ABOUT_TRAINING) and verdict.files[path] == DIFFERS:
            # Which weights a training ends with rests on the processor: what they measure counts.
            verdict.files[path] = TRAINED
            elsewhere = True
        elif path == TRAINED_SUITE and elsewhere and _seeds_apart_at_most(folders, found):
            verdict.files[path] = TRAINED
        else:
            verdict.differences += found
    if elsewhere:
        verdict.notes.append(
            "the training ended with other weights, as it may on another processor: means of "
            "results/suites/trained.csv may differ by as much as their seeds do, and what is made "
            "of them differs with them"
        )


def _seeds_apart_at_most(folders: Folders, found: Iterable[Difference]) -> bool:
    """Whether nothing but values differs, each row's mean within the spread of the seeds."""
    schema = table_schema(schema_of(TRAINED_SUITE, folders.schemas))
    sides = []
    for place in (folders.anew / TRAINED_SUITE, folders.place(TRAINED_SUITE)):
        records = parse(read_bytes(place), schema["fields"], TRAINED_SUITE)
        sides.append({" / ".join(str(one[k]) for k in schema["key"]): one for one in records})
    expected, now = sides
    of_seeds = {"measured", "reference", "error", "bound", "ratio", "lowest", "highest"}
    return all(
        not one.what
        and one.column in of_seeds
        and means_within_spread(expected[one.key], now[one.key])
        for one in found
    )


def _compare_lists(verdict: Verdict, folders: Folders, document: Mapping[str, Any]) -> None:
    """What was found that a run does not make, and what the provenance says of the rest."""
    for one in document["results"]:
        path = str(one["path"])
        if path not in verdict.files and not path.startswith(_DESCRIBING):
            verdict.files[path] = EXTRA
            verdict.differences.append(Difference(path, "is listed, and no job makes it"))
    anew = json.loads((folders.anew / DOCUMENT).read_text(encoding="utf-8"))
    for key in ("version", "seeds"):
        if anew.get(key) != document.get(key):
            verdict.differences.append(
                Difference(
                    DOCUMENT,
                    key=key,
                    expected=json.dumps(anew.get(key)),
                    found=json.dumps(document.get(key)),
                )
            )
    if anew.get("accepted") != document.get("accepted"):
        verdict.notes.append(
            "the accepted readings of real models are others now than those that the results "
            "say they rest on"
        )


def _compare_described(verdict: Verdict, folders: Folders, document: Mapping[str, Any]) -> None:
    """Records and lists of what has the right bytes: they must say so."""
    right = [path for path, outcome in verdict.files.items() if outcome in (SAME, LENT)]
    verdict.differences += folders.records(right)
    listed = {str(one["path"]): str(one["sha256"]) for one in document["results"]}
    for path in right:
        digest = digests.sha256(folders.place(path))
        if listed.get(path) != digest:
            verdict.differences.append(
                Difference(
                    DOCUMENT, key=path, expected=digest, found=listed.get(path, "no such file")
                )
            )
