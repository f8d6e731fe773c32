"""Which files of a folder with results are compared, and under which schema each is read."""

from pathlib import Path

#: Folders of a results folder whose CSVs are compared, each with a schema for every file.
FOLDERS = ("suites", "controls", "tables", "figures")
#: Single files, and folders with one schema for all of their files.
LEDGER = "ledger.csv"
_SHARED = {"missing": "missing.yaml", "trained": "training.yaml"}


def schema_path(name: str, schemas: str | Path) -> Path | None:
    """The schema of a file, or None if nothing by that name belongs to the results of now.

    Parameters
    ----------
    name
        The file's path within its folder of results, such as ``suites/norms.csv``.
    schemas
        The folder of the schemas, ``workflow/schemas`` of a working copy.
    """
    if name == LEDGER:
        return Path(schemas, "ledger.yaml")
    folder, _, file = name.rpartition("/")
    if folder in _SHARED:
        return Path(schemas, _SHARED[folder])
    path = Path(schemas, folder, f"{Path(file).stem}.yaml")
    return path if folder in FOLDERS and path.is_file() else None


def names(folder: str | Path) -> list[str]:
    """The CSVs of a folder of results that are compared: suites first, what rests on them after."""
    found = [
        f"{part}/{path.name}"
        for part in FOLDERS[:2]
        for path in sorted(Path(folder, part).glob("*.csv"))
    ]
    if Path(folder, LEDGER).is_file():
        found.append(LEDGER)
    return found + [
        f"{part}/{path.name}"
        for part in FOLDERS[2:]
        for path in sorted(Path(folder, part).glob("*.csv"))
    ]
