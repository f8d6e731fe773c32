"""What is to be done with a file: each block compared with the results, and the text anew.

Two texts are the same if they differ in white space alone, or in the length of a table's rule: a
formatter that pads the cells of a table, or breaks a line, has edited nothing.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from posinfo.cite.document import BOUND, GIVEN, UNBOUND, Block, Number, Problem, read
from posinfo.cite.markers import BLOCKS, Ending
from posinfo.cite.results import NotFound, Results
from posinfo.cite.wording import CELL, HTML, MARKDOWN, Cited, Unfit, cite, permalink
from posinfo.errors import InputError

#: How many characters of a digest an end records: of the data as the report shows it.
DATA_DIGITS, TEXT_DIGITS = 12, 8

#: What a block can be: as the results say; not; never generated; changed by hand since it was.
CURRENT, DRIFTED, NEW, EDITED = "current", "drifted", "new", "edited"

_NEWLINE = re.compile(r"\r\n?|\n")
_RULE = re.compile(r"\|?(?: ?:?-+:? ?\|)+ ?(?::?-+:?)?")


@dataclass(frozen=True)
class Outcome:
    """A block and what the results say; ``old`` and ``new`` are texts without their prefix."""

    block: Block
    status: str
    old: str
    new: str
    cited: Cited
    permalink: str

    @property
    def sentence(self) -> str:
        """The sentence or row that the block stands in, as it reads now; empty for a table."""
        block = self.block
        if block.marker.kind in BLOCKS:
            return ""
        return block.row or f"{block.before}{self.old}{block.after}".strip()


@dataclass(frozen=True)
class Plan:
    """What was found in a file, and its text with every block as the results say.

    ``wrong`` are markers that cannot be read or name nothing, ``unfit`` those whose value cannot be
    cited. With one of them, or with an edited block, the file is ``refused``: it keeps its text.
    """

    file: str
    outcomes: Sequence[Outcome]
    numbers: Sequence[Number]
    wrong: Sequence[Problem]
    unfit: Sequence[Problem]
    notes: Sequence[Problem]
    text: str
    refused: bool

    def having(self, *status: str) -> list[Outcome]:
        """The blocks of a status."""
        return [one for one in self.outcomes if one.status in status]

    def counted(self, status: str) -> list[Number]:
        """The numbers that are bound, given or unbound."""
        return [number for number in self.numbers if number.status == status]

    @property
    def pictures(self) -> dict[str, bytes]:
        """The drawings that its figures show, by their address in the text."""
        return {
            one.block.marker.options["image"]: one.cited.picture
            for one in self.outcomes
            if "image" in one.block.marker.options
        }

    def renewed(self) -> "Plan":
        """The same with the numbers, and their lines, of the text as it is written."""
        return replace(self, numbers=read(self.text).numbers)

    def numbers_line(self, named: int = 8) -> str:
        """How many numbers are bound, and which are not."""
        total, bound = len(self.numbers), len(self.counted(BOUND))
        given, unbound = len(self.counted(GIVEN)), self.counted(UNBOUND)
        are = "is" if total == 1 else "are"
        line = f"{bound} of {total} number{'s' * (total != 1)} {are} bound, {given} given"
        if unbound:
            shown = ", ".join(f"line {number.line} `{number.text}`" for number in unbound[:named])
            more = f" and {len(unbound) - named} more" if len(unbound) > named else ""
            line += f", {len(unbound)} unbound: {shown}{more}"
        return line


def plan(file: str, text: str, results: Results, address: str, force: bool = False) -> Plan:
    """Compare a text with the results.

    Parameters
    ----------
    file
        Its name, for what is said of it.
    text
        As it was decoded, ends of lines and a byte order mark included.
    results
        What is cited.
    address
        Where the report lies, unless the text says so itself.
    force
        Whether a block that was edited by hand is written anew as well.
    """
    document = read(text, address)
    wrong, unfit = list(document.problems), []
    outcomes = []
    drawn: dict[str, Block] = {}
    for block in document.blocks:
        if block.marker.kind == "given":
            continue
        image = block.marker.options.get("image")
        other = drawn.setdefault(image, block) if image else block
        if other.marker.name != block.marker.name:
            said = f"image={image} is the drawing of {other.marker} in line {other.line}"
            wrong.append(Problem(block.line, said))
        form = HTML if block.raw else CELL if block.row else MARKDOWN
        try:
            cited = cite(block.marker, results, document.address, form)
        except NotFound as error:
            wrong.append(Problem(block.line, str(error)))
        except (Unfit, InputError) as error:
            unfit.append(Problem(block.line, str(error)))
        else:
            outcomes.append(_compared(text, block, cited, document.address))
    edited = any(one.status == EDITED for one in outcomes)
    refused = bool(wrong or unfit or (edited and not force))
    written = text if refused else _written(text, outcomes)
    return Plan(
        file=file,
        outcomes=outcomes,
        numbers=document.numbers,
        wrong=sorted(wrong, key=lambda problem: problem.line),
        unfit=unfit,
        notes=document.notes,
        text=written,
        refused=refused,
    )


def _compared(text: str, block: Block, cited: Cited, address: str) -> Outcome:
    old = text[block.start : block.stop]
    apart = block.marker.kind in BLOCKS
    was, now = normal(old, apart), normal(cited.text, apart)
    if was == now:
        status = CURRENT if block.ending.text else NEW
    elif not block.ending.text:
        status = NEW
    elif text_digest(old, apart) != block.ending.text:
        status = EDITED
    else:
        status = DRIFTED
    return Outcome(block, status, was, now, cited, permalink(address, cited.anchor))


def normal(text: str, apart: bool) -> str:
    """A text without what does not count: see the head of this module.

    Parameters
    ----------
    apart
        Whether it has lines of its own, whose order counts; within a sentence a line may end
        anywhere.
    """
    lines = [" ".join(line.lstrip("> \t").split()) for line in _NEWLINE.split(text)]
    lines = [re.sub("-+", "-", line) if _RULE.fullmatch(line) else line for line in lines]
    return ("\n" if apart else " ").join(line for line in lines if line)


def text_digest(text: str, apart: bool) -> str:
    """What an end records of the text before it."""
    return hashlib.sha256(normal(text, apart).encode()).hexdigest()[:TEXT_DIGITS]


def _written(text: str, outcomes: Sequence[Outcome]) -> str:
    """The text with each block as the results say; nothing else in it changes."""
    written, last = "", 0
    for one in outcomes:
        block = one.block
        apart = block.marker.kind in BLOCKS
        body = text[block.start : block.stop]
        if normal(body, apart) != one.new:
            body = _body(text, block, one.cited.text)
        at = "" if one.permalink in body else one.permalink
        ending = Ending(one.cited.digest[:DATA_DIGITS], text_digest(body, apart), at)
        closing = text[block.stop : block.end]
        if ending != block.ending:
            closing = str(ending)
        written += text[last : block.start] + body + closing
        last = block.end
    return written + text[last:]


def _body(text: str, block: Block, new: str) -> str:
    """A block's text, with the file's ends of lines and what begins the lines where it stands."""
    if block.marker.kind not in BLOCKS:
        return new
    newline = _newline(text, block.start)
    lines = ["", *new.split("\n"), ""]
    begun = [f"{block.prefix}{line}" if line else block.prefix.rstrip() for line in lines]
    return newline + newline.join(begun) + newline + block.prefix


def _newline(text: str, place: int) -> str:
    """How lines end there: as the next one does, or the first."""
    found = _NEWLINE.search(text, place) or _NEWLINE.search(text)
    return found[0] if found else "\n"
