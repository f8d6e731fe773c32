"""Formulas of the page, as MathML that needs no script; everywhere else they stay plain text.

``workflow/report/formulas.yaml`` says how each formula is written plainly, as claims, captions and
the ledger have it, and its TeX. Only that file's TeX is converted: what comes from data, a config
or a claim is text, whatever it looks like.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup, escape

from posinfo.errors import InputError
from posinfo.schemas import first_problem, load_yaml

FILE = "formulas.yaml"
SCHEMA = "formulas.schema.yaml"

_NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"


@dataclass(frozen=True)
class Head:
    """A formula at the head of a section: what it says, and how it is written and set."""

    says: str
    plain: str
    math: Markup


@dataclass(frozen=True)
class Formulas:
    """The formulas of the page.

    Attributes
    ----------
    inline
        How a formula is set, by how it is written plainly.
    heads
        The formulas at the head of a lesson's section, by the lesson's letter and the heading.
    """

    inline: Mapping[str, Markup] = field(default_factory=dict)
    heads: Mapping[tuple[str, str], Sequence[Head]] = field(default_factory=dict)

    def set_in(self, text: str) -> Markup:
        """Text for the page, escaped, with each formula that stands in it set as one.

        >>> one = Formulas({"2^24": Markup("<math>…</math>")})
        >>> str(one.set_in("up to 2^24 < 2^240"))
        'up to <math>…</math> &lt; 2^240'
        """
        if not self.inline:
            return escape(text)
        # The longest first: a part of a formula may be one, too.
        known = "|".join(re.escape(one) for one in sorted(self.inline, key=len, reverse=True))
        parts = re.split(rf"(?<![\w^])({known})(?![\w^])", text)
        return Markup("").join(
            self.inline[part] if number % 2 else escape(part) for number, part in enumerate(parts)
        )

    def at(self, lesson: str, heading: str) -> Sequence[Head]:
        """The formulas at the head of a section; maybe none."""
        return self.heads.get((lesson, heading), ())


def load(path: str | Path, schema: Mapping[str, Any] | None = None) -> Formulas:
    """Load the formulas and set them; none if there is no such file.

    Parameters
    ----------
    path
        ``workflow/report/formulas.yaml``.
    schema
        ``workflow/schemas/formulas.schema.yaml``, loaded; not looked at if None.

    Raises
    ------
    InputError
        If the file breaks the schema, or a formula cannot be set.
    """
    if not Path(path).is_file():
        return Formulas()
    given = load_yaml(path)
    problem = first_problem(given, schema) if schema else None
    if problem:
        raise InputError(
            str(path), f"{problem.key}: {problem.text}" if problem.key else problem.text
        )

    def set_one(entry: Mapping[str, str], *, block: bool) -> Markup:
        try:
            return mathml(entry["tex"], entry["plain"], block=block)
        except Exception as error:  # of many kinds: the converter has no common one
            raise InputError(f"{path} {entry['plain']}", f"tex: {error}") from error

    heads: dict[tuple[str, str], list[Head]] = {}
    for entry in given["heads"]:
        heads.setdefault((entry["lesson"], entry["section"]), []).append(
            Head(entry["says"], entry["plain"], set_one(entry, block=True))
        )
    inline = {entry["plain"]: set_one(entry, block=False) for entry in given["inline"]}
    return Formulas(inline, heads)


def mathml(tex: str, plain: str, *, block: bool = False) -> Markup:
    """A formula as MathML for an HTML page, with its plain text for who does not see it.

    >>> str(mathml("2^{24}", "2^24"))
    '<math alttext="2^24"><msup><mn>2</mn><mn>24</mn></msup></math>'
    """
    # Imported where a page is made: who cites results in a lesson has it not.
    from latex2mathml.converter import convert

    root = ElementTree.fromstring(convert(tex))  # noqa: S314  (of our own TeX)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_NAMESPACE)
    _unwrap(root)
    root.attrib.clear()
    if block:
        root.set("display", "block")
    root.set("alttext", plain)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704  (made here)


def _unwrap(element: ElementTree.Element) -> None:
    """Take off rows that hold one thing, and what holds of every fence anyway."""
    for number, child in enumerate(element):
        _unwrap(child)
        for name in ("fence", "form"):
            child.attrib.pop(name, None)
        if child.tag == "mrow" and (
            len(child) == 1 or (element.tag == "math" and len(element) == 1)
        ):
            element[number : number + 1] = list(child)
