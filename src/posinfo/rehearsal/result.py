"""The portability table: made from what was measured, accepted, read, and told when it is stale."""

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posinfo import digests
from posinfo.claims import Claim
from posinfo.errors import InputError
from posinfo.parameters import SOURCE
from posinfo.rehearsal import compare, run
from posinfo.rehearsal.plan import LEFT_OUT, MACHINES, REFERENCE, REHEARSED, Configuration
from posinfo.rehearsal.worker import ENVIRONMENT
from posinfo.rows import PASSING
from posinfo.schemas import fields_by_name
from posinfo.tidy import json_text, read, write, write_atomically

Record = Mapping[str, Any]

#: Where the accepted table lies.
ACCEPTED = SOURCE.parent / "baseline" / "portability"
#: The files: a row a configuration, suite and case; a row a configuration; what they rest on.
CASES, CONFIGURATIONS, ABOUT = "cases.csv", "configurations.csv", "about.json"
FILES = (CASES, CONFIGURATIONS, ABOUT)

#: How a table stands to the code of now: made of it; of other code, which still measures the same
#: rows where it was made; or of other code and rows.
CURRENT, SAME_ROWS, STALE = "current", "same rows", "stale"

_SCHEMAS = SOURCE.parent / "workflow" / "schemas" / "portability"


def schemas() -> list[Path]:
    """The schemas of both tables."""
    return [_SCHEMAS / f"{Path(name).stem}.yaml" for name in (CASES, CONFIGURATIONS)]


def summarise(
    config: Mapping[str, Any],
    claims: Sequence[Claim],
    measured: Sequence[Configuration],
    folder: Path = run.FOLDER,
) -> list[dict[str, Any]]:
    """Compare what was measured with the reference, and write the table into the folder.

    Parameters
    ----------
    config
        The whole config, checked before.
    claims
        All claims.
    measured
        The configurations; those that are not measured yet are left out.
    folder
        Where they were measured.

    Returns
    -------
    list of dict
        A row a configuration.

    Raises
    ------
    InputError
        If the reference is not measured, does not hold, or something was measured by other code
        or with other settings than those of now.
    """
    here = run.state(config)
    reference = _rows(folder / REFERENCE.name, here)
    bad = [row for row in reference if row["outcome"] not in PASSING]
    if bad:
        raise InputError(
            str(folder / REFERENCE.name), f"{len(bad)} rows do not hold here: see posinfo measure"
        )
    decidable = compare.decidable(claims, REHEARSED)
    there = [one for one in measured if one != REFERENCE and run.is_measured(folder / one.name)]
    cases, rows = [], []
    for one in there:
        found = _rows(folder / one.name, here)
        changes = compare.by_case(reference, found)
        verdicts = compare.verdicts(decidable, reference, found)
        cases += [
            {**one.columns, "suite": suite, "case": case, **change.record()}
            for (suite, case), change in changes.items()
        ]
        rows.append(
            {
                **one.columns,
                **compare.together(changes.values()).record(),
                "claims": verdicts.claims,
                "verdicts": len(verdicts.changed),
                "changed": "; ".join(verdicts.changed),
            }
        )
    fields = fields_by_name(schemas())
    write(folder / CASES, cases, fields[Path(CASES).stem])
    write(folder / CONFIGURATIONS, rows, fields[Path(CONFIGURATIONS).stem])
    write_atomically(folder / ABOUT, json_text(_about(folder, here, there)))
    return rows


def _rows(folder: Path, here: Mapping[str, str]) -> list[dict[str, Any]]:
    request = run.request_of(folder)
    if any(request[key] != here[key] for key in here):
        raise InputError(
            str(folder), "was measured by other code or settings; posinfo rehearse measures anew"
        )
    fields = fields_by_name(run.SCHEMAS / f"{suite}.yaml" for suite in REHEARSED)
    return [row for suite in REHEARSED for row in read(folder / f"{suite}.csv", fields[suite])]


def _about(folder: Path, here: Mapping[str, str], there: Sequence[Configuration]) -> dict[str, Any]:
    """What the table rests on."""
    request = run.request_of(folder / REFERENCE.name)
    environments = {
        one.name: json.loads((folder / one.name / ENVIRONMENT).read_text(encoding="utf-8"))
        for one in [REFERENCE, *there]
    }
    emulators = {facts["emulator"] for facts in environments.values()} - {""}
    return {
        **here,
        "python": request["python"],
        "packages": request["packages"],
        "emulator": ", ".join(sorted(emulators)),
        "reference": environments[REFERENCE.name]["cpu"],
        "machines": {
            machine.name: machine.title
            for machine in MACHINES
            if any(one.machine == machine for one in there)
        },
        "left_out": LEFT_OUT,
        "environments": {
            name: {key: facts[key] for key in ("cpu", "numerics", "variables")}
            for name, facts in environments.items()
        },
        "rows": {
            suite: digests.sha256(folder / REFERENCE.name / f"{suite}.csv") for suite in REHEARSED
        },
        "tables": {name: digests.sha256(folder / name) for name in (CASES, CONFIGURATIONS)},
    }


def moved_of(row: Record) -> int:
    """How many rows of a configuration, or of a case in it, are not what the reference has."""
    return row["moved"] + row["lost"] + row["added"]


def breaks(row: Record) -> bool:
    """Whether a configuration has another outcome, or verdict, or a row too many."""
    return bool(row["outcomes"] or row["added"] or row["verdicts"])


def as_a_run(row: Record) -> bool:
    """Whether a configuration measures as a run does: under the profile, on one thread."""
    return row["profile"] == "on" and row["threads"] == 1


def newly_moved(cases: Sequence[Record], accepted: Sequence[Record]) -> list[str]:
    """Cases in which rows move where the profile is in effect, and did not when it was accepted.

    Parameters
    ----------
    cases
        Rows of the table of cases.
    accepted
        Those that were accepted; nothing of a processor that is not among them is new.

    Returns
    -------
    list of str
        A phrase a case, with the processor.
    """
    known = {
        (row["machine"], row["suite"], row["case"]): moved_of(row)
        for row in accepted
        if as_a_run(row)
    }
    machines = {machine for machine, _, _ in known}
    return [
        f"{row['suite']}, {row['case']} on {row['machine']}"
        for row in cases
        if as_a_run(row)
        and row["machine"] in machines
        and moved_of(row) > known.get((row["machine"], row["suite"], row["case"]), 0)
    ]


@dataclass(frozen=True)
class Portability:
    """A table that was accepted.

    Attributes
    ----------
    cases, configurations
        Its rows.
    about
        What they rest on.
    """

    cases: Sequence[Record]
    configurations: Sequence[Record]
    about: Mapping[str, Any]

    def stale(self, state: Mapping[str, str]) -> bool:
        """Whether code or settings, by :func:`posinfo.rehearsal.run.state`, are others now."""
        return any(self.about[key] != value for key, value in state.items())

    def same_rows(self, suites: Iterable[str | Path]) -> bool:
        """Whether these files are, byte by byte, what was measured here in the rehearsal.

        Parameters
        ----------
        suites
            Paths of the suites' results, each named after its suite; others are passed over.
        """
        there = {Path(path).stem: path for path in suites if Path(path).is_file()}
        return all(
            suite in there and digests.sha256(there[suite]) == digest
            for suite, digest in self.about["rows"].items()
        )


def load(folder: str | Path = ACCEPTED) -> Portability:
    """Read a table with what it rests on.

    Raises
    ------
    InputError
        If a file is missing, is not what it should be, or was changed by hand.
    """
    path = Path(folder, ABOUT)
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(str(path), f"is no JSON: {error}") from error
    needed = {
        "code": str, "settings": str, "emulator": str, "packages": dict, "reference": dict,
        "machines": dict, "left_out": dict, "rows": dict, "tables": dict,
    }  # fmt: skip
    missing = [
        key
        for key, kind in needed.items()
        if not isinstance(about, dict) or not isinstance(about.get(key), kind)
    ]
    if missing:
        raise InputError(str(path), f"does not say: {', '.join(missing)}")
    fields = fields_by_name(schemas())
    tables = {}
    for name in (CASES, CONFIGURATIONS):
        table = Path(folder, name)
        tables[name] = read(table, fields[table.stem])
        found = digests.sha256(table)
        if found != about["tables"].get(name):
            raise InputError(
                str(table),
                f"was changed after it was made: sha256 {found[:12]}, made "
                f"{str(about['tables'].get(name))[:12]}; make it anew with make rehearse",
            )
    return Portability(tables[CASES], tables[CONFIGURATIONS], about)


def differs(source: Path = run.FOLDER, target: Path = ACCEPTED) -> bool:
    """Whether a table is another one than the accepted one."""
    return any(
        not (target / name).is_file()
        or digests.sha256(target / name) != digests.sha256(source / name)
        for name in FILES
    )


def accept(source: Path = run.FOLDER, target: Path = ACCEPTED) -> None:
    """Make a table, which :func:`load` has read, the accepted one."""
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(source / name, target / name)


def described(found: Portability) -> list[str]:
    """What the list of changes says of a table, a line each."""
    about = found.about
    counts = {name: sum(row[name] for row in found.configurations) for name in
              ("outcomes", "verdicts")}  # fmt: skip
    return [
        f"{len(found.configurations)} configurations of {', '.join(about['machines'])}; "
        f"{counts['outcomes']} outcomes and {counts['verdicts']} verdicts moved.",
        f"Code `{about['code'][:12]}`, torch {about['packages'].get('torch', 'not known')}, "
        f"{about['emulator'] or 'no emulator'}.",
    ]
