"""The text that real models read, which needs no download, and facts to be found again in it.

The text is the help of Python's own topics, ``pydoc_data.topics``, about 450 KB of English that
every Python brings along; another release of Python has another text, which its digest tells.
"""

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pydoc_data.topics import topics

#: Tokens of a text, by a tokenizer.
Encode = Callable[[str], list[int]]

#: People whose keys are told at the start of a window.
NAMES = (
    "Anna", "Boris", "Clara", "David", "Emma", "Frank", "Grace", "Henry", "Irene", "Jacob",
    "Karen", "Louis", "Maria", "Nora", "Oscar", "Paula", "Quentin", "Rosa", "Simon", "Tina",
)  # fmt: skip
#: Digits of a key.
DIGITS = 5


def whole() -> str:
    """All topics in the order of their names, an empty line between two."""
    return "\n\n".join(topics[name] for name in sorted(topics))


def digest() -> str:
    """sha256 of :func:`whole`, as UTF-8."""
    return hashlib.sha256(whole().encode()).hexdigest()


@dataclass(frozen=True)
class Question:
    """A key that is asked for: where its digits stand in the window, and how long it is to there.

    Attributes
    ----------
    length
        Positions of the window up to the end of the questions that this one belongs to.
    digits
        Positions of the key's digits.
    """

    length: int
    digits: tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """A stretch of text as long as the longest context, with facts and questions put into it.

    Attributes
    ----------
    tokens
        The tokens.
    plain
        Of each token, whether it belongs to the text, and not to a fact or a question.
    questions
        What is asked, in the order of the positions.
    """

    tokens: tuple[int, ...]
    plain: tuple[bool, ...]
    questions: tuple[Question, ...]


def windows(encode: Encode, count: int, lengths: Sequence[int], seed: int) -> list[Window]:
    """Windows of the text at even distances from each other.

    At the start of each stand the keys of all :data:`NAMES`, in an order and with digits of its
    own. At the end of each of the lengths some of them are asked for, each name once, so that an
    answer has to come from the start.

    Parameters
    ----------
    encode
        Tokens of a text, without any that a tokenizer adds.
    count
        How many windows; they share no text.
    lengths
        Positions at which questions end, rising; the last is the length of the window.
    seed
        What the orders and keys are drawn from.

    Raises
    ------
    ValueError
        If the text is too short for so many windows.
    """
    text = encode(whole())
    apart = len(text) // count
    if apart < lengths[-1]:
        raise ValueError(f"{count} windows of {lengths[-1]} tokens need more than {len(text)}")
    drawn = random.Random(seed)  # noqa: S311 - nothing secret
    return [
        _window(encode, text[number * apart : (number + 1) * apart], lengths, drawn)
        for number in range(count)
    ]


def _window(
    encode: Encode, text: Sequence[int], lengths: Sequence[int], drawn: random.Random
) -> Window:
    names = drawn.sample(NAMES, len(NAMES))
    keys = {name: f"{drawn.randrange(10**DIGITS):0{DIGITS}}" for name in names}
    tokens = encode("".join(f"The pass key of {name} is {keys[name]}.\n" for name in names))
    plain = [False] * len(tokens)
    questions: list[Question] = []
    asked = drawn.sample(names, len(names))
    each = len(asked) // len(lengths)
    used = 0
    for place, length in enumerate(lengths):
        parts = [_ask(encode, name, keys) for name in asked[place * each : (place + 1) * each]]
        room = length - len(tokens) - sum(len(part) for part in parts)
        if room < 0:
            raise ValueError(f"{length} positions hold no facts and questions of {-room} more")
        tokens += text[used : used + room]
        plain += [True] * room
        used += room
        for part in parts:
            tokens += part
            plain += [False] * len(part)
            end = len(tokens) - 2  # behind the digits stand a full stop and a line break
            questions.append(Question(length, tuple(range(end - DIGITS, end))))
    return Window(tuple(tokens), tuple(plain), tuple(questions))


def _ask(encode: Encode, name: str, keys: Mapping[str, str]) -> list[int]:
    question = encode(f"\n\nThe pass key of {name} is {keys[name]}.\n")
    if encode(keys[name]) != question[-DIGITS - 2 : -2]:
        raise ValueError(f"the tokenizer does not cut {keys[name]} into {DIGITS} digits")
    return question


def texts(encode: Encode, count: int, length: int) -> list[list[int]]:
    """The first topics, by name, that have so many tokens, cut to this length.

    Raises
    ------
    ValueError
        If there are fewer such topics than asked for.
    """
    found: list[list[int]] = []
    for name in sorted(topics):
        tokens = encode(topics[name])
        if len(tokens) >= length:
            found.append(tokens[:length])
        if len(found) == count:
            return found
    raise ValueError(f"only {len(found)} topics have {length} tokens, asked for {count}")
