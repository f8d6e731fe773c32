"""Values of a configuration by their keys: what is allowed, and one line about what is not."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from posinfo.errors import InputError

#: Beyond these nothing is a model's: a table for it would fill the memory.
WIDEST, LONGEST, MOST = 2**16, 2**40, 2**16


class Keys:
    """An object of a configuration.

    Parameters
    ----------
    file
        Named in errors.
    content
        Its keys and values.
    place
        Where it stands, as in ``rope_scaling``; empty for the whole file.
    names
        For keys that have another name in the file, that name.
    """

    def __init__(
        self, file: str, content: Mapping[str, Any], place: str = "",
        names: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.file, self.content, self.place = file, content, place
        self.names = names or {}

    def __contains__(self, key: str) -> bool:
        """Whether a key is there and not null."""
        return self.content.get(key) is not None

    def label(self, key: str) -> str:
        """A key with its place, as it is called in the file."""
        full = f"{self.place}.{key}" if self.place else key
        return self.names.get(full, full)

    def wrong(self, key: str, text: str) -> InputError:
        """The error about a key."""
        return InputError(self.file, f"{self.label(key)}: {text}")

    def first(self, keys: Iterable[str]) -> str | None:
        """The first key that is there and not null."""
        return next((key for key in keys if key in self), None)

    def number(
        self, key: str, *, above: float = 0.0, zero: bool = False, most: float = 1e30
    ) -> float | None:
        """A number greater than ``above``; None if there is none.

        Raises
        ------
        InputError
            If it is something else.
        """
        value = self.content.get(key)
        if value is None:
            return None
        least = "at least 0" if zero else f"greater than {above:g}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, f"must be a number {least}, not {shown(value)}")
        good = value >= 0 if zero else value > above
        if not (good and value <= most and math.isfinite(value)):
            limit = f", at most {most:g}" if value > most else ""
            raise self.wrong(key, f"must be a number {least}{limit}, not {shown(value)}")
        return float(value)

    def whole(self, key: str, *, most: int = LONGEST, least: int = 1) -> int | None:
        """A whole number of at least 1; None if there is none.

        Raises
        ------
        InputError
            If it is something else.
        """
        value = self.content.get(key)
        if value is None:
            return None
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value != int(value) or value < least:
            text = f"must be a whole number of at least {least}, not {shown(value)}"
            raise self.wrong(key, text)
        if value > most:
            raise self.wrong(key, f"must be at most {most}, not {shown(value)}")
        return int(value)

    def flag(self, key: str) -> bool | None:
        """True or false; None if there is none.

        Raises
        ------
        InputError
            If it is something else.
        """
        value = self.content.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, f"must be true or false, not {shown(value)}")
        return value

    def text(self, key: str) -> str | None:
        """A text; None if there is none.

        Raises
        ------
        InputError
            If it is something else.
        """
        value = self.content.get(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(key, f"must be a text, not {shown(value)}")
        return value

    def below(self, key: str) -> "Keys | None":
        """An object inside; None if there is none, or null.

        Raises
        ------
        InputError
            If it is something else.
        """
        value = self.content.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, f"must be an object with keys, or null, not {shown(value)}")
        return Keys(self.file, value, f"{self.place}.{key}" if self.place else key, self.names)

    def divisors(self, key: str, count: int) -> tuple[float, ...]:
        """A list of numbers greater than 0, one a pair.

        Raises
        ------
        InputError
            If it is missing, of another length, or holds something else.
        """
        values = self.content.get(key)
        allowed = f"a list of {count} numbers greater than 0, one a pair"
        if not isinstance(values, Sequence) or isinstance(values, str):
            found = "missing" if values is None else shown(values)
            raise self.wrong(key, f"must be {allowed}, and is {found}")
        if len(values) != count:
            raise self.wrong(key, f"must be {allowed}, and has {len(values)}")
        for index, value in enumerate(values):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value <= 0 or value > 1e30:
                raise self.wrong(f"{key}[{index}]", f"must be a number greater than 0, not "
                                                    f"{shown(value)}")  # fmt: skip
        return tuple(map(float, values))


def shown(value: Any) -> str:
    """A value in a line, cut where it is long."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    words = {True: "true", False: "false"}
    text = words[value] if isinstance(value, bool) else "null" if value is None else repr(value)
    return text if len(text) <= 40 else text[:37] + "…"
