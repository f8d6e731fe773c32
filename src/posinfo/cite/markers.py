"""The grammar of markers: what a comment asks for, and what its end records.

::

    <!-- posinfo: value SOURCE [max|min] COLUMN [option=…] [where A=B …] -->…<!-- /posinfo -->
    <!-- posinfo: value SOURCE count [where A=B …] -->…<!-- /posinfo -->
    <!-- posinfo: claim ID [option=…] -->…<!-- /posinfo -->
    <!-- posinfo: table KEY [option=…] [where A=B …] -->…<!-- /posinfo -->
    <!-- posinfo: figure KEY [option=…] -->…<!-- /posinfo -->
    <!-- posinfo: given -->…<!-- /posinfo -->
    <!-- posinfo: given NUMBER … -->
    <!-- posinfo: report ADDRESS -->

``where`` is followed by columns and their values. What has spaces stands in quotes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from posinfo.errors import nearest

#: Where the report lies, for a file that does not say.
ADDRESS = "report/index.html"

_YES_NO = ("yes", "no")
_NUMBER = {"digits": range(1, 18), "decimals": range(18)}

#: The options of each kind, and what each may be: words, a range of integers, or None for any text.
OPTIONS: dict[str, dict[str, Sequence[str] | range | None]] = {
    "value": {
        **_NUMBER,
        "as": ("e", "percent", "raw", "code"),
        "round": ("up", "down"),
        "link": _YES_NO,
    },
    "claim": {
        "show": ("verdict", "covers"),
        "link": _YES_NO,
    },
    "table": {
        "format": ("markdown", "html", "csv"),
        "columns": None,
        "digits": _NUMBER["digits"],
    },
    "figure": {"image": None},
    "given": {},
    "report": {},
}
KINDS = tuple(OPTIONS)

#: Kinds that stand within a line, and those that need lines of their own.
INLINE = ("value", "claim")
BLOCKS = ("table", "figure")

AGGREGATES = ("max", "min", "count")

_CURLY = "“”„\u2018\u2019"
_PART = r"\"[^\"]*\"|'[^']*'|[^\s=\"']+"
_WORD = re.compile(rf"({_PART})(?:(=)({_PART})?)?(?=\s|$)")
_CLOSING = re.compile(r"/\s*posinfo\b")
_OPENING = re.compile(r"posinfo\s*:")


class MarkerError(ValueError):
    """A comment that begins like a marker and is none; the text says what would be one."""


@dataclass(frozen=True)
class Marker:
    """What a comment asks for.

    ``name`` is a source such as ``suites/norms``, the key of a table or figure, a claim's id, or
    an address. ``take`` is empty or one of ``AGGREGATES``; ``numbers`` are those that a file
    declares as given.
    """

    kind: str
    name: str = ""
    column: str = ""
    take: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()

    @property
    def closes(self) -> bool:
        """Whether an end belongs to it."""
        return self.kind != "report" and not self.numbers

    def __str__(self) -> str:
        """What it asks for, without options and conditions."""
        take = f"{self.take} " if self.take else ""
        return f"{self.kind} {self.name} {take}{self.column}".strip()


@dataclass(frozen=True)
class Ending:
    """The end of a block, with what its text was made from; empty as an author writes it.

    ``data`` is the beginning of the sha256 of the cited file, ``text`` that of the text as it was
    written (:func:`posinfo.cite.plan.text_digest`), ``at`` the permalink, if it is not in the text.
    """

    data: str = ""
    text: str = ""
    at: str = ""

    def __str__(self) -> str:
        """The comment."""
        # Older readers of Markdown end a comment at two hyphens in a row.
        at = self.at.replace("--", "-%2D")
        at = f'"{at}"' if "=" in at else at
        said = f" at={at}" if at else ""
        return f"<!-- /posinfo data={self.data} text={self.text}{said} -->"


class Word(NamedTuple):
    """A word of a marker; ``value`` is None unless an equals sign follows the name."""

    name: str
    value: str | None
    quoted: bool


def parse(comment: str) -> Marker | Ending:
    """Read what stands between ``<!--`` and ``-->``.

    Raises
    ------
    MarkerError
        If it is not as the grammar says.

    >>> parse(" posinfo: value suites/norms max error digits=2 where case='lesson run' ").where
    {'case': 'lesson run'}
    """
    text = comment.strip()
    if "--" in text:
        raise MarkerError("a marker holds '--', at which some readers of Markdown end a comment")
    if closing := _CLOSING.match(text):
        return _ending(_words(text[closing.end() :]))
    opening = _OPENING.match(text)
    if not opening:
        raise MarkerError("a marker begins with 'posinfo:', its end with '/posinfo'")
    words = _words(text[opening.end() :])
    if not words:
        raise MarkerError(f"names nothing; {nearest('', KINDS)}")
    kind = words[0]
    if kind.value is not None or kind.name not in KINDS:
        raise MarkerError(f"{kind.name!r} is no kind of marker; {nearest(kind.name, KINDS)}")
    return _marker(kind.name, words[1:])


def is_closing(comment: str) -> bool:
    """Whether a comment is the end of a block, as far as can be told from its beginning."""
    return comment.lstrip("- \t\r\n").startswith("/")


def _words(text: str) -> list[Word]:
    words, place = [], 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        match = _WORD.match(text, place)
        if not match:
            raise MarkerError(f"cannot be read from {text[place:].split()[0]!r} on")
        name, equals, value = match.groups()
        if name[0] in _CURLY or (value or " ")[0] in _CURLY:
            raise MarkerError("quotes are to be straight ones, \" or '")
        if equals and value is None:
            raise MarkerError(f"'{name}=' has no value; one with spaces stands in quotes")
        words.append(Word(_bare(name), _bare(value) if equals else None, name[0] in "\"'"))
        place = match.end()
    return words


def _bare(part: str) -> str:
    """A part without its quotes, on one line: a marker may be broken over several."""
    return " ".join(part.strip(part[0]).split()) if part[0] in "\"'" else part


def _ending(words: Sequence[Word]) -> Ending:
    values = {word.name: word.value for word in words}
    if not values:
        return Ending()
    known = set(values) - {"at"} == {"data", "text"}
    if not known or len(values) != len(words) or None in values.values():
        raise MarkerError("the end of a block is '/posinfo', and what posinfo put behind it")
    return Ending(**values)


def _marker(kind: str, words: Sequence[Word]) -> Marker:
    at = next(
        (n for n, word in enumerate(words) if word[:2] == ("where", None) and not word.quoted),
        len(words),
    )
    before, after = words[:at], words[at + 1 :]
    named = [word for word in before if word.value is None]
    options = _pairs(kind, [word for word in before if word.value is not None])
    _check_options(kind, options)
    if kind == "given":
        return Marker(kind, numbers=tuple(word.name for word in named))
    if at < len(words) and kind not in ("value", "table"):
        raise MarkerError(f"a {kind} has no 'where'")
    if at < len(words) and not after:
        raise MarkerError("'where' is followed by nothing; give a column and its value")
    where = _pairs("where", after)
    for word in after:
        if word.value is None:
            raise MarkerError(f"'where' is followed by columns with values, not by {word.name!r}")
    if kind == "value":
        return _value(named, options, where)
    if len(named) != 1:
        what = {"claim": "id", "report": "address"}.get(kind, "key")
        raise MarkerError(f"a {kind} is named by its {what}, one word: found {len(named)}")
    return Marker(kind, named[0].name, options=options, where=where)


def _value(named: Sequence[Word], options: Mapping[str, str], where: Mapping[str, str]) -> Marker:
    names = [word.name for word in named]
    is_take = len(names) > 1 and names[1] in AGGREGATES and not named[1].quoted
    if is_take and names[1] == "count" and len(names) == 2:
        return Marker("value", names[0], "", "count", options, where)
    if is_take and names[1] != "count" and len(names) == 3:
        return Marker("value", names[0], names[2], names[1], options, where)
    if len(names) == 2 and not is_take:
        return Marker("value", names[0], names[1], "", options, where)
    raise MarkerError(
        "a value is named by a source and a column, as in 'value suites/norms measured', with "
        "'max' or 'min' before the column or 'count' in its place"
    )


def _pairs(kind: str, words: Sequence[Word]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for word in words:
        if word.name in pairs:
            raise MarkerError(f"{word.name!r} is given twice")
        if word.value is not None:
            pairs[word.name] = word.value
    return pairs


def _check_options(kind: str, options: Mapping[str, str]) -> None:
    allowed = OPTIONS[kind]
    for name, value in options.items():
        if name not in allowed:
            said = nearest(name, allowed) if allowed else "it has none"
            raise MarkerError(f"a {kind} has no option {name!r}; {said}; conditions follow 'where'")
        choice = allowed[name]
        if isinstance(choice, range):
            if not value.isascii() or not value.isdigit() or int(value) not in choice:
                raise MarkerError(
                    f"{name}: {value!r} is not an integer from {choice[0]} to {choice[-1]}"
                )
        elif choice is not None and value not in choice:
            raise MarkerError(f"{name}: {value!r} is unknown; {nearest(value, choice)}")
    if "digits" in options and "decimals" in options:
        raise MarkerError("give digits or decimals, not both")
    if options.get("as") in ("raw", "code") and set(options) & {"digits", "decimals", "round"}:
        raise MarkerError(f"as={options['as']} shows the cell as it is: it has no digits to choose")
