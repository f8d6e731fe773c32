"""Captions, alternative texts and text equivalents, with their numbers put in from the CSVs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2

from posinfo.errors import InputError
from posinfo.numbers_text import at_least, at_most, significant
from posinfo.schemas import first_problem, load_yaml

Records = Sequence[Mapping[str, Any]]

#: How the key of a figure begins that stands beside a finding, small and without a caption.
FINDING = "finding-"

#: The parts of a caption that are templates over the records of its CSV.
TEMPLATES = ("caption", "alt", "text")


@dataclass(frozen=True)
class Caption:
    """What a reader is told of a table or figure; see ``captions.schema.yaml`` for each field.

    As loaded, ``caption``, ``alt`` and ``text`` are templates; :meth:`filled` puts numbers in.
    Filled or not, they are plain text: whoever puts them into a page escapes them.
    """

    key: str
    kind: str
    lesson: str
    section: str
    title: str
    caption: str
    covers: tuple[str, ...]
    file: str
    alt: str = ""
    text: str = ""

    def filled(self, records: Records, missing: str = "") -> "Caption":
        """The caption with the numbers of its records.

        Parameters
        ----------
        records
            The records of the table's or figure's CSV, as :func:`posinfo.tidy.read` gives them.
        missing
            Why there are none, if there are none: it then stands in place of the caption.

        Raises
        ------
        InputError
            If a template asks for what the records do not have.
        """
        if not records:
            reason = f"Not made in this run: {missing or 'its rows are missing'}."
            return replace(
                self,
                caption=reason,
                alt=f"Empty figure in place of “{self.title}”." if self.alt else "",
                text=reason if self.text else "",
            )
        return replace(self, **{part: self._fill(part, records) for part in TEMPLATES})

    def _fill(self, part: str, records: Records) -> str:
        try:
            return _ENVIRONMENT.from_string(getattr(self, part)).render(rows=records)
        except jinja2.TemplateError as error:
            raise InputError(f"{self.file} {self.key}", f"{part}: {error}") from error


def load(
    path: str | Path,
    schema: Mapping[str, Any],
    *,
    tables: Iterable[str] | None = None,
    figures: Iterable[str] | None = None,
) -> dict[str, Caption]:
    """Load the captions, in the order of the report.

    Parameters
    ----------
    path
        ``workflow/report/captions.yaml``.
    schema
        ``workflow/schemas/captions.schema.yaml``, loaded.
    tables, figures
        The keys that there are; if given, each must have its caption, and no other key may.

    Returns
    -------
    dict
        Key to caption.

    Raises
    ------
    InputError
        If the file breaks the schema, a key stands twice, or the keys are not the expected ones.
    """
    entries = load_yaml(path)
    problem = first_problem(entries, schema)
    if problem:
        key, text = problem.key, problem.text
        raise InputError(str(path), f"{key}: {text}" if key else text)
    captions: dict[str, Caption] = {}
    for entry in entries:
        if entry["key"] in captions:
            raise InputError(f"{path} {entry['key']}", "the key stands twice")
        values = {
            name: " ".join(value.split()) if isinstance(value, str) else tuple(value)
            for name, value in entry.items()
        }
        captions[entry["key"]] = Caption(file=str(path), **values)
    for kind, keys in (("table", tables), ("figure", figures)):
        if keys is not None:
            _check_keys(path, kind, captions, list(keys))
    return captions


def _check_keys(
    path: str | Path, kind: str, captions: Mapping[str, Caption], keys: Sequence[str]
) -> None:
    described = [key for key, caption in captions.items() if caption.kind == kind]
    lacking = [key for key in keys if key not in described]
    unknown = [key for key in described if key not in keys]
    if lacking:
        raise InputError(str(path), f"the {kind} {lacking[0]} has no caption")
    if unknown:
        raise InputError(f"{path} {unknown[0]}", f"there is no such {kind}")


def _known(column: str, row: Mapping[str, Any]) -> Any:
    """A cell; a column that is not there is a mistake in the template, not an empty cell."""
    if column not in row:
        raise jinja2.UndefinedError(f"the records have no column {column!r}")
    return row[column]


def _where(rows: Records, **conditions: Any) -> Records:
    """The rows with these values; at least one, for a caption speaks of nothing else."""
    found = [
        row for row in rows if all(_known(name, row) == value for name, value in conditions.items())
    ]
    if not found:
        wanted = ", ".join(f"{name} = {value}" for name, value in conditions.items())
        raise jinja2.UndefinedError(f"no row has {wanted}")
    return found


def _values(rows: Records, column: str) -> list[Any]:
    """The values of a column, each once, in the order of the rows; empty cells left out."""
    found = [_known(column, row) for row in rows]
    return list(dict.fromkeys(value for value in found if value not in (None, "")))


def _extreme(choose: Callable[..., Any]) -> Callable[[Records, str], Any]:
    def extreme(rows: Records, column: str) -> Any:
        values = _values(rows, column)
        if not values:
            raise jinja2.UndefinedError(f"the column {column!r} is empty")
        return choose(values)

    return extreme


def _row_of(choose: Callable[..., Any]) -> Callable[[Records, str], Any]:
    def row_of(rows: Records, column: str) -> Mapping[str, Any]:
        extreme = _extreme(choose)(rows, column)
        return next(row for row in rows if row[column] == extreme)

    return row_of


def _count(rows: Records, **conditions: Any) -> int:
    """How many rows have these values; none is an answer too."""
    return sum(
        all(_known(name, row) == value for name, value in conditions.items()) for row in rows
    )


def _total(rows: Records, column: str) -> float:
    """The sum of a column over all rows; :func:`_values` would count equal numbers once."""
    return sum(_known(column, row) for row in rows)


def _plain(value: float, digits: int = 3) -> str:
    """A number of everyday size without trailing zeros: ``0.05``, ``5``, ``100``."""
    return f"{value:.{digits}g}"


def _listed(values: Iterable[Any], digits: int = 3) -> str:
    """Several values as a reader says them: ``3, 5 and 50``."""
    texts = [significant(value, digits) for value in values]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


_ENVIRONMENT = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701
# "At most" and "at least" round to the side on which they stay true, as in the claims.
_ENVIRONMENT.filters |= {"sig": significant, "up": at_most, "down": at_least}
_ENVIRONMENT.filters |= {"plain": _plain, "listed": _listed}
_ENVIRONMENT.globals |= {
    "where": _where,
    "values": _values,
    "count": _count,
    "total": _total,
    "largest": _extreme(max),
    "smallest": _extreme(min),
    "row_of_largest": _row_of(max),
    "row_of_smallest": _row_of(min),
}
