"""For a number that somebody typed: the markers that would generate it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation

from posinfo.cite.numbers import canonical_text
from posinfo.cite.results import Dataset, Results
from posinfo.cite.wording import cell_number, is_outcome, quoted
from posinfo.errors import InputError

#: How many are shown of the markers that fit.
SHOWN = 3


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
    if not value or (value == value.to_integral_value() and abs(value) < 10_000 and not form):
        return None
    # 83,000 may be rounded to thousands; 0.50 is not.
    digits = len((value.normalize() if "." not in plain else value).as_tuple().digits)
    return Typed(value, form, digits)


def suggestions(text: str, results: Results, names: Sequence[str]) -> list[str]:
    """The markers whose values are written as a number that was typed.

    Parameters
    ----------
    text
        The number.
    results
        Where to look for it.
    names
        The files to look in, in this order.
    """
    wanted = typed(text)
    return [] if wanted is None else list(dict.fromkeys(_found(wanted, results, names)))


def _found(wanted: Typed, results: Results, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        try:
            data = results.dataset(name)
        except InputError:
            continue
        for column in data.columns:
            for row in data.records:
                if row.get("outcome", "holds") != "holds" or not _fits(row[column.name], wanted):
                    continue
                where = telling(data, row)
                if where is not None:
                    conditions = " ".join(f"{quoted(a)}={quoted(b)}" for a, b in where.items())
                    said = f" where {conditions}" if conditions else ""
                    yield f"value {name} {quoted(column.name)} {wanted.options}{said}"


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
    return not is_outcome(name) and all(
        cell_number(cell) is None or len(cell.lstrip("-")) <= len("1048576")
        for cell in {row[name] for row in data.records}
    )


def _can_be_written(cell: str) -> bool:
    return bool(cell) and "--" not in cell and not {"'", '"'} <= set(cell)


def telling(data: Dataset, row: Mapping[str, str]) -> dict[str, str] | None:
    """Few conditions that leave this row alone; None if it is like another."""
    left, where = list(data.records), {}
    usable = [
        column.name
        for column in data.columns
        if _is_setting(data, column.name) and _can_be_written(row[column.name])
    ]
    while len(left) > 1:
        counts = {name: sum(other[name] == row[name] for other in left) for name in usable}
        if not counts or min(counts.values()) == len(left):
            return None
        name = min(counts, key=lambda one: counts[one])
        where[name] = row[name]
        left = [other for other in left if other[name] == row[name]]
    return where
