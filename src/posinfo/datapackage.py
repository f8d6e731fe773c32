"""The results as a data package: results/datapackage.json, by the Data Package standard.

It lists every CSV of a run with its size, its digest, and what each column is: title, description,
type and unit, from the schemas under which the CSVs are written and read here. Whatever reads data
packages can load and check the results by it, without any code of this project.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

from posinfo import __version__

#: The standard that the document follows.
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
NAME = "positional-information-verified"
TITLE = "Positional Information, Verified"
DESCRIPTION = (
    "What lessons say about positional information in transformers, measured: rows that each "
    "assert something about one quantity, the claims that rest on them with a verdict each, and "
    "the tables and figures made from both."
)
CONTRIBUTORS = "the contributors of Positional Information, Verified"
LICENCE = {"name": "MIT", "title": "MIT License", "path": "https://opensource.org/license/mit"}

#: What of a field's description is handed on.
_FIELD = ("name", "type", "title", "description", "unit", "constraints")


def document(resources: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole document. It has no time of making, so that a rerun gives the same bytes."""
    return {
        "$schema": PROFILE,
        "name": NAME,
        "title": TITLE,
        "description": DESCRIPTION,
        "version": __version__,
        "licenses": [LICENCE],
        "contributors": [{"title": CONTRIBUTORS, "roles": ["author"]}],
        "resources": list(resources),
    }


def resource(
    path: str, folder: str | PurePath, schema: Mapping[str, Any], content: bytes
) -> dict[str, Any]:
    """One CSV of the package.

    Parameters
    ----------
    path, folder
        Where the CSV lies, and the folder of the package, both from the same place: paths in a
        package begin at its own folder.
    schema
        Its table schema, by :func:`posinfo.schemas.table_schema`.
    content
        The bytes of the CSV.
    """
    inside = PurePath(path).relative_to(folder)
    return {
        "name": "-".join(inside.with_suffix("").parts),
        "type": "table",
        "path": inside.as_posix(),
        "title": schema["title"],
        "description": " ".join(schema["description"].split()),
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": len(content),
        "hash": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "schema": {
            "fields": [
                {key: field[key] for key in _FIELD if key in field} for field in schema["fields"]
            ],
            # As the CSVs are written: a cell without a value has no text either.
            "missingValues": [""],
            **({"primaryKey": list(schema["key"])} if "key" in schema else {}),
        },
    }


def read_resource(path: str, folder: str | PurePath, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A resource whose CSV is read from disk."""
    return resource(path, folder, schema, Path(path).read_bytes())
