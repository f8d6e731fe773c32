"""Whether a folder of results can be accepted: all of a run, untouched, of this code, and green."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from posinfo import gate
from posinfo.baseline import basis
from posinfo.errors import InputError
from posinfo.rows import STALE
from posinfo.schemas import fields_by_name, table_fields
from posinfo.tidy import read_all


def problems(
    folder: str,
    schemas: str | Path,
    *,
    source: str | Path,
    config: Mapping[str, Any],
    suites: Sequence[str],
) -> list[str]:
    """A line for everything that keeps results from being accepted; what moved is no such thing.

    Parameters
    ----------
    folder
        The results, from the folder in which they were made.
    schemas, source
        The table schemas, and the folder that holds the package.
    config
        The config of the working copy, with nothing laid over it.
    suites
        Names of all suites.
    """
    path = Path(folder)
    csvs = expected(schemas, suites)
    absent = [name for name in csvs if not (path / name).is_file()]
    page = path.parent / "report" / "index.html"
    if not page.is_file():
        absent.append(str(page))
    if absent:
        return [f"{path / absent[0]}: is missing, so these are not the results of a whole run"]
    try:
        resting = basis.load(path / basis.NAME)
    except InputError as error:
        return [f"{error}; make it with snakemake --cores 4"]
    lines = _of_this_copy(folder, resting, source, config, suites)
    digests = sorted(map(str, (path / "digests").glob("*.sha256")))
    results = [*(str(path / name) for name in csvs), str(page), str(path / basis.NAME)]
    lines += gate.file_lines(digests, results)
    lines += gate.provenance_lines(str(path / "provenance.json"), digests, results)
    return list(dict.fromkeys(lines + _do_not_hold(path, Path(schemas), suites)))


def expected(schemas: str | Path, suites: Sequence[str]) -> list[str]:
    """Names of the CSVs of a whole run."""
    keys = {
        part: sorted(one.stem for one in Path(schemas, part).glob("*.yaml"))
        for part in ("controls", "tables", "figures")
    }
    return [
        *(f"suites/{suite}.csv" for suite in suites),
        "ledger.csv",
        *(f"{part}/{key}.csv" for part, names in keys.items() for key in names),
        "missing/tables.csv",
        "missing/figures.csv",
    ]


def _of_this_copy(
    folder: str,
    resting: Mapping[str, Any],
    source: str | Path,
    config: Mapping[str, Any],
    suites: Sequence[str],
) -> list[str]:
    lines = []
    other = [key for key in dict.fromkeys([*config, *resting["config"]])
             if config.get(key) != resting["config"].get(key)]  # fmt: skip
    if other:
        lines.append(
            f"{folder}: made with another config than config/config.yaml, in {', '.join(other)}; "
            "only what it says is accepted"
        )
    now = basis.code(source, suites)
    edited = [path for path in now if now[path] != resting["code"].get(path)]
    if edited:
        lines.append(
            f"{folder}: made by other code than there is now, in {', '.join(edited[:3])}; run "
            "snakemake --cores 4 first"
        )
    return lines


def _do_not_hold(path: Path, schemas: Path, suites: Sequence[str]) -> list[str]:
    paths = [str(path / "suites" / f"{suite}.csv") for suite in suites]
    fields = fields_by_name(schemas / "suites" / f"{suite}.yaml" for suite in suites)
    rows, lines = read_all(paths, fields)
    ledger, unreadable = read_all([path / "ledger.csv"], fields_by_name([schemas / "ledger.yaml"]))
    lines += unreadable
    name = "claim-controls"
    controls, unreadable = read_all(
        [path / "controls" / f"{name}.csv"],
        fields_by_name([schemas / "controls" / f"{name}.yaml"]),
    )
    lines += unreadable
    missing_fields = table_fields(schemas / "missing.yaml")
    missing, unreadable = read_all(
        [path / "missing" / f"{one}.csv" for one in ("tables", "figures")],
        {"tables": missing_fields, "figures": missing_fields},
    )
    lines += [*unreadable, *gate.problems(rows, ledger, paths)]
    lines += gate.control_lines(controls, ledger, str(path / "controls" / f"{name}.csv"))
    lines += gate.missing_lines(missing)
    lines += [
        f"claim {claim['id']}: is {claim['reproduced']}, so these are not all results"
        for claim in ledger
        if claim["reproduced"] in ("not run", STALE, "undecided")
    ]
    return lines
