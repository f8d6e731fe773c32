"""For a number that somebody typed: the markers that would generate it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from posinfo.cite.numbers import canonical_text
from posinfo.cite.results import Dataset, NotFound, Results
from posinfo.cite.wording import cell_number, is_outcome, quoted
from posinfo.errors import InputError

#: How many are shown of the markers that fit.
SHOWN = 3
#: Whole numbers below it are not looked for: they stand everywhere.
LEAST = 10_000
#: Columns that count something: which row it is, they say by chance.
_COUNTS = {"rows", "count", "checks", "hold", "holds", "exact", "tight", "wide", "made", "caught"}
_COMMON = {
    "and", "are", "but", "for", "from", "has", "have", "into", "its", "not", "than", "that", "the",
    "then", "there", "these", "they", "this", "was", "what", "which", "with",
}  # fmt: skip


@dataclass(frozen=True)
class Typed:
    """A number as it was typed: its value, the last digit that it has, and how it is written."""

    value: Decimal
    form: str
    digits: int

    @property
    def options(self) -> str:
        """The options that write a value in this way."""
        form = f"as={self.form} " if self.form else ""
        return f"{form}digits={self.digits}"


def typed(text: str) -> Typed | None:
    """What was typed, None if it says too little to look for: an integer of everyday size.

    >>> typed("4.8 × 10⁻⁷").options, typed("4.8e-7").options, typed("17")
    ('digits=2', 'as=e digits=2', None)
    """
    plain = canonical_text(text)
    form = "percent" if plain.endswith("%") else "e" if "e" in text.lower() else ""
    try:
        value = Decimal(plain.removesuffix("%"))
    except InvalidOperation:
        return None
    if not value or (value == value.to_integral_value() and abs(value) < LEAST and not form):
        return None
    # 83,000 may be rounded to thousands; 0.50 is not.
    digits = len((value.normalize() if "." not in plain else value).as_tuple().digits)
    return Typed(value, form, digits)


def too_common(text: str) -> bool:
    """Whether it is a whole number that is not looked for because it stands everywhere."""
    try:
        value = Decimal(canonical_text(text))
    except InvalidOperation:
        return False
    return typed(text) is None and value == value.to_integral_value()


def suggestions(text: str, results: Results, names: Sequence[str], sentence: str = "") -> list[str]:
    """The markers whose values are written as a number that was typed, the likeliest first.

    Those come first that share the most words with the sentence: in the name and title of their
    file, in those of their column, or in their row.

    Parameters
    ----------
    text
        The number.
    results
        Where to look for it.
    names
        The files to look in; of those that share as many words an earlier one goes first.
    sentence
        What stands around the number.
    """
    wanted = typed(text)
    if wanted is None:
        return []
    said = _words(sentence)
    found = [
        # The rows of a suite are named at length, and share words with anything.
        (len(said & words) - 2 * marker.startswith("value suites/"), marker)
        for marker, words in _found(wanted, results, names)
    ]
    found.sort(key=lambda one: -one[0])
    return list(dict.fromkeys(marker for _, marker in found))


def _words(text: str) -> set[str]:
    """The words of a text and of names in it, without the plural's s."""
    found = set(re.findall(r"[a-z]{3,}", text.lower())) - _COMMON
    return {word.removesuffix("s") for word in found}


def _title(name: str, results: Results) -> str:
    folder, _, key = name.partition("/")
    if folder not in ("tables", "figures"):
        return ""
    try:
        return results.exhibit(folder.removesuffix("s"), key).title
    except (InputError, NotFound):
        return ""


def _found(wanted: Typed, results: Results, names: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """Each marker, with the words of what it names."""
    for name in names:
        try:
            data = results.dataset(name)
        except InputError:
            continue
        of_file = _words(f"{name} {_title(name, results)}")
        for column in data.columns:
            of_column = of_file | _words(f"{column.name} {column.title}")
            for row in data.records:
                if row.get("outcome", "holds") != "holds" or not _fits(row[column.name], wanted):
                    continue
                where = telling(data, row)
                if where is not None:
                    conditions = " ".join(f"{quoted(a)}={quoted(b)}" for a, b in where.items())
                    said = f" where {conditions}" if conditions else ""
                    # Of the row what says which it is: its outcome in words is long.
                    cells = " ".join(cell for one, cell in row.items() if not is_outcome(one))
                    marker = f"value {name} {quoted(column.name)} {wanted.options}{said}"
                    yield marker, of_column | _words(cells)


def _fits(cell: str, wanted: Typed) -> bool:
    if cell_number(cell) is None:
        return False
    value = Decimal(cell) * (100 if wanted.form == "percent" else 1)
    if not value or value.adjusted() not in (wanted.value.adjusted(), wanted.value.adjusted() - 1):
        return False
    quantum = Decimal(1).scaleb(wanted.value.adjusted() - wanted.digits + 1)
    return value.quantize(quantum, ROUND_HALF_EVEN) == wanted.value


def _is_setting(data: Dataset, name: str) -> bool:
    """Whether a column says what was asked: no outcome, and no cell with the digits of one."""
    return (
        not is_outcome(name)
        and name not in _COUNTS
        and all(
            cell_number(cell) is None or len(cell.lstrip("-")) <= len("1048576")
            for cell in {row[name] for row in data.records}
        )
    )


def _can_be_written(cell: str) -> bool:
    return bool(cell) and "--" not in cell and not {"'", '"'} <= set(cell)


def telling(data: Dataset, row: Mapping[str, str]) -> dict[str, str] | None:
    """Few conditions that leave this row alone; None if it is like another."""
    names = data.key or [one.name for one in data.columns if _is_setting(data, one.name)]
    usable = [name for name in names if _can_be_written(row[name])]
    left, where = list(data.records), {}
    while len(left) > 1:
        counts = {name: sum(other[name] == row[name] for other in left) for name in usable}
        if not counts or min(counts.values()) == len(left):
            return None
        name = min(counts, key=lambda one: counts[one])
        where[name] = row[name]
        left = [other for other in left if other[name] == row[name]]
    return where
