"""Markdown with markers: where they stand, what they enclose, and which numbers nobody bound.

The structure (what is code, a paragraph, a cell, a list) is markdown-it-py's. Each candidate in
the text is given a name of its own before it is parsed; where that name turns up says what the
candidate is. So nothing here has to know what a fence is, and places are those of the text as it
was written.
"""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from posinfo.cite import numbers
from posinfo.cite.markers import (
    ADDRESS,
    BLOCKS,
    INLINE,
    Ending,
    Marker,
    MarkerError,
    is_closing,
    parse,
)

#: Also what only means to be a marker: it is a mistake, and must not pass for prose.
_CANDIDATE = re.compile(r"<!--(?=-*\s*/?\s*posinfo\b)", re.IGNORECASE)
_NEWLINE = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*(?:\r\n?|\n).*?(?:\r\n?|\n)(?:---|\.\.\.)[ \t]*(?=[\r\n]|\Z)", re.DOTALL
)
#: What may stand before a marker that has its line to itself: signs of lists and quotations.
_PREFIX = re.compile(r"\ufeff?(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")
_PIECE = re.compile(r"(<!--.*?-->|</?[A-Za-z][^>]*>)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”\u2019)\]*_]*\s+(?=[^a-z\s])")
_HEADING_NUMBER = re.compile(r"\s*(?:\d+\.)*\d+[.)]?\s+(?=\S)")

BOUND, GIVEN, UNBOUND = "bound", "given", "unbound"


@dataclass(frozen=True)
class Problem:
    """Something wrong in a file; a line counts from 1."""

    line: int
    text: str


@dataclass(frozen=True)
class Block:
    """A marker with its end.

    ``start`` and ``stop`` enclose what stands between them in the text, ``end`` is behind the
    closing comment. ``prefix`` begins each of its lines in a list or a quotation. ``before`` and
    ``after`` are the rest of its sentence; in a table ``row`` is its row as text. ``raw`` says that
    it stands in HTML, in which Markdown's signs are text.
    """

    marker: Marker
    ending: Ending
    line: int
    start: int
    stop: int
    end: int
    prefix: str
    before: str
    after: str
    row: str = ""
    raw: bool = False


@dataclass(frozen=True)
class Number:
    """A number that a reader sees; ``status`` is bound, given or unbound.

    ``sentence`` is what stands around it, or its row.
    """

    text: str
    line: int
    status: str
    sentence: str = field(default="", repr=False, compare=False)


@dataclass
class Document:
    """What a text holds."""

    text: str
    address: str = ADDRESS
    blocks: list[Block] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)


#: In place of a marker that cannot be read: its end is no second problem.
_BROKEN = Marker("given")


@dataclass
class _Comment:
    """A marker as it stands: ``place`` tells paragraphs, cells and pieces of HTML apart.

    ``content`` is None for an end that cannot be read.
    """

    content: Marker | Ending | None
    line: int
    start: int
    end: int
    place: int
    raw: bool
    sentence: tuple[str, str] = ("", "")
    row: str = ""


class _Piece(NamedTuple):
    """A part of a paragraph: ``kind`` is text, code, tag, break, or comment."""

    kind: str
    content: str


def read(text: str, address: str = ADDRESS) -> Document:
    """Find everything in a Markdown text.

    Parameters
    ----------
    text
        As it was decoded, its ends of lines and a byte order mark included.
    address
        Where the report lies, unless the text says so itself.
    """
    return _Reader(text, address).document


class _Reader:
    """Reads one text; a class only for what the steps share."""

    def __init__(self, text: str, address: str) -> None:
        self.text = text
        self.document = Document(text, address)
        self.starts = [found.start() for found in _CANDIDATE.finditer(text)]
        self.lines = [0, *(found.end() for found in _NEWLINE.finditer(text))]
        self.name = "candidate"
        while self.name in text:
            self.name += "x"
        self.named = re.compile(rf"<!--{self.name}(\d+)z")
        #: Candidates in code or front matter, which are text, and those that are comments.
        self.ignored: set[int] = set()
        self.comments: dict[int, _Comment] = {}
        tokens = self._tokens()
        self._find(tokens)
        self._pair()
        self._number(tokens)

    def _line(self, place: int) -> int:
        return bisect_right(self.lines, place)

    def _source_line(self, place: int) -> tuple[int, int]:
        number = self._line(place)
        start = self.lines[number - 1]
        stop = self.lines[number] if number < len(self.lines) else len(self.text)
        return start, stop

    def _tokens(self) -> list[Any]:
        # Imported here: commands that read no Markdown need not wait for it.
        from markdown_it import MarkdownIt

        marked = ""
        last = 0
        for number, start in enumerate(self.starts):
            marked += f"{self.text[last:start]}<!--{self.name}{number}z"
            last = start + len("<!--")
        marked += self.text[last:]
        front = _FRONT_MATTER.match(marked)
        if front:
            self.ignored |= {int(number) for number in self.named.findall(front[0])}
            marked = "\n" * len(_NEWLINE.findall(front[0])) + marked[front.end() :]
        marked = marked.removeprefix("\ufeff")
        return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(marked)

    def _find(self, tokens: Sequence[Any]) -> None:
        """Sort the candidates into comments, code, and what looks like a marker and is none."""
        for place, token in enumerate(tokens):
            if token.type in ("fence", "code_block"):
                self.ignored |= self._names(token.content)
            elif token.type in ("inline", "html_block"):
                for piece in _pieces(token):
                    if piece.kind in ("code", "tag"):
                        self.ignored |= self._names(piece.content)
                    elif piece.kind == "comment":
                        # What a comment holds beside its own beginning is its text.
                        self.ignored |= self._names(piece.content)
                        if found := self.named.match(piece.content):
                            body = piece.content[found.end() : -len("-->")]
                            self._comment(int(found[1]), body, place, token)
        for number, start in enumerate(self.starts):
            if number in self.ignored or self.text[:start].endswith("\\"):
                continue
            said = (
                "is a marker that is not closed with '-->'"
                if "-->" not in self.text[start:]
                else "looks like a marker, and is no comment where it stands"
            )
            self._problem(self._line(start), said)

    def _names(self, content: str) -> set[int]:
        return {int(number) for number in re.findall(rf"{self.name}(\d+)z", content)}

    def _comment(self, number: int, body: str, place: int, token: Any) -> None:
        start = self.starts[number]
        line = self._line(start)
        try:
            content = parse(body)
        except MarkerError as error:
            self._problem(line, str(error))
            content = None if is_closing(body) else _BROKEN
        end = self.text.index("-->", start) + len("-->")
        raw = token.type == "html_block"
        self.comments[number] = _Comment(content, line, start, end, place, raw)

    def _problem(self, line: int, text: str) -> None:
        self.document.problems.append(Problem(line, text))

    def _pair(self) -> None:
        """Join markers with their ends; one that has none, or the wrong one, is a problem."""
        #: For each comment's place in the text the status of the numbers behind it.
        self.status: dict[int, str] = {}
        self.pairs: list[tuple[_Comment, _Comment]] = []
        self.declared: list[tuple[str, int]] = []
        open_one: _Comment | None = None
        report: _Comment | None = None
        for number in sorted(self.comments):
            comment = self.comments[number]
            content = comment.content
            if content is None or isinstance(content, Ending):
                if open_one is None and content is not None:
                    before = self.comments.get(number - 1)
                    hint = ""
                    if before and isinstance(before.content, Marker) and not before.content.closes:
                        hint = f": '{before.content.kind}' with what follows it has no end"
                    self._problem(comment.line, f"ends a block, and none is open{hint}")
                elif open_one is not None and content is not None:
                    self._check_pair(open_one, comment)
                    self.pairs.append((open_one, comment))
                open_one = None
                continue
            if open_one is not None:
                self._unclosed(open_one, f"before the marker in line {comment.line}")
                open_one = None
            if content.closes:
                open_one = comment
            elif content.kind == "report":
                if report is not None:
                    said = f"says where the report is, as line {report.line} does: take one away"
                    self._problem(comment.line, said)
                report = comment
                self.document.address = content.name
            else:
                self.declared += [(text, comment.line) for text in content.numbers]
        if open_one is not None:
            self._unclosed(open_one, "to the end of the file")
        self.document.problems.sort(key=lambda problem: problem.line)

    def _unclosed(self, comment: _Comment, where: str) -> None:
        self._problem(
            comment.line, f"{comment.content} is not closed {where}: '<!-- /posinfo -->' is missing"
        )

    def _check_pair(self, opening: _Comment, closing: _Comment) -> None:
        marker = opening.content
        if marker is _BROKEN:
            return
        if marker.kind in INLINE and opening.place != closing.place:
            self._problem(
                opening.line,
                f"{marker} ends in line {closing.line}, in another paragraph or cell: it stands "
                "within one line of text",
            )
        start, _ = self._source_line(opening.start)
        _, stop = self._source_line(closing.end - 1)
        before, after = self.text[start : opening.start], self.text[closing.end : stop]
        alone = _PREFIX.fullmatch(before) and not after.strip()
        if marker.kind in BLOCKS and not (opening.raw and alone):
            self._problem(
                opening.line, f"{marker} needs lines of its own: put its marker and its end there"
            )
        if marker.kind in INLINE and opening.raw and _PREFIX.fullmatch(before):
            beside = not before.strip() and self._has_neighbours(start, stop)
            if after.strip() or beside:
                self.document.notes.append(
                    Problem(
                        opening.line,
                        f"{marker} begins a line, all of which Markdown then takes for HTML: put a "
                        "word before it",
                    )
                )

    def _has_neighbours(self, start: int, stop: int) -> bool:
        """Whether there is text in the line before or behind those that begin and end there."""
        above = self.text[self._source_line(start - 1)[0] : start] if start else ""
        below = self.text[stop : self._source_line(stop)[1]] if stop < len(self.text) else ""
        return any(line.strip("> \t\r\n") for line in (above, below))

    def _number(self, tokens: Sequence[Any]) -> None:
        """Walk through what a reader sees: the sentences of the blocks, and the numbers."""
        status: dict[int, str] = {}
        for opening, closing in self.pairs:
            status[opening.start] = GIVEN if opening.content.kind == "given" else BOUND
            status[closing.start] = UNBOUND
        self._now = UNBOUND
        seen: list[Number] = []
        for place, token in enumerate(tokens):
            if token.type in ("inline", "html_block"):
                above = tokens[place - 1].type if place else ""
                seen += self._walk(token, above, status)
        declared = {numbers.canonical(text) for text, _ in self.declared}
        met = {numbers.canonical(number.text) for number in seen if number.status != BOUND}
        for text, line in self.declared:
            if numbers.canonical(text) not in met:
                self._problem(line, f"given {text}: no such number is left to say that of")
        self.document.numbers = [
            replace(number, status=GIVEN)
            if number.status == UNBOUND and numbers.canonical(number.text) in declared
            else number
            for number in seen
        ]
        for opening, closing in self.pairs:
            start, _ = self._source_line(opening.start)
            before = self.text[start : opening.start]
            self.document.blocks.append(
                Block(
                    marker=opening.content,
                    ending=closing.content,
                    line=opening.line,
                    start=opening.end,
                    stop=closing.start,
                    end=closing.end,
                    prefix=re.sub(r"[^\s>]", " ", before.removeprefix("\ufeff")),
                    before=opening.sentence[0],
                    after=closing.sentence[1],
                    row=opening.row,
                    raw=opening.raw,
                )
            )

    def _walk(self, token: Any, above: str, status: dict[int, str]) -> Iterator[Number]:
        """The numbers of a paragraph, a cell or a piece of HTML."""
        line = token.map[0] + 1
        shown, lines, states = "", [], []
        cuts: list[tuple[int, _Comment]] = []

        def show(text: str) -> None:
            nonlocal shown
            shown += text
            lines.extend([line] * len(text))
            states.extend([self._now] * len(text))

        for piece in _pieces(token):
            if piece.kind == "comment":
                found = self.named.match(piece.content)
                comment = self.comments.get(int(found[1])) if found else None
                if comment is not None:
                    self._now = status.get(comment.start, self._now)
                    cuts.append((len(shown), comment))
                    # Keeps what was generated and what was typed beside it apart.
                    show("\0")
            elif piece.kind == "tag":
                show("^" if piece.content.startswith("<sup") else " " * _parts(piece.content))
            elif piece.kind == "text" and token.type == "html_block":
                for part in re.split(r"(\n)", piece.content):
                    show(html.unescape(part))
                    line += part == "\n"
                continue
            elif piece.kind == "code":
                # Code is read where it is nothing but one number.
                alone = [text for _, text in numbers.find(piece.content)] == [piece.content.strip()]
                show(piece.content if alone else re.sub(r"[\d]", "_", piece.content))
                continue
            elif piece.kind in ("text", "break"):
                show(piece.content)
            line += piece.content.count("\n")
        heading = above == "heading_open"
        skipped = _HEADING_NUMBER.match(shown) if heading else None
        row = self._source_row(token) if above in ("td_open", "th_open") else ""
        for cut, comment in cuts:
            comment.sentence, comment.row = _sentence(shown, cut), row
        for start, text in numbers.find(shown):
            if not (skipped and start < skipped.end()):
                sentence = row or "".join(_sentence(shown, start))
                yield Number(text, lines[start], states[start], sentence)

    def _source_row(self, token: Any) -> str:
        """A table's row, for a cell alone says little."""
        number = token.map[0]
        stop = self.lines[number + 1] if number + 1 < len(self.lines) else len(self.text)
        return re.sub(r"<!--.*?-->", "", self.text[self.lines[number] : stop]).strip()


def _pieces(token: Any) -> Iterator[_Piece]:
    if token.type == "html_block":
        for number, part in enumerate(_PIECE.split(token.content)):
            kind = "text" if number % 2 == 0 else "comment" if part.startswith("<!--") else "tag"
            yield _Piece(kind, part)
        return
    autolink = False
    for child in token.children or ():
        if child.type == "link_open":
            autolink = child.markup == "autolink"
        elif child.type == "link_close":
            autolink = False
        if child.type == "image":
            yield from _pieces(child)
        elif child.type == "code_inline":
            yield _Piece("code", child.content)
        elif child.type == "html_inline":
            yield _Piece("comment" if child.content.startswith("<!--") else "tag", child.content)
        elif child.type in ("softbreak", "hardbreak"):
            yield _Piece("break", "\n")
        elif child.type == "text" and not autolink:
            yield _Piece("text", child.content)


def _parts(tag: str) -> bool:
    """Whether what stands before and behind a tag are two words."""
    return re.match(r"</?(?:a|abbr|b|code|em|i|kbd|span|strong|sub|sup|u|var)\b", tag) is None


def _sentence(shown: str, cut: int) -> tuple[str, str]:
    """What stands before and behind a place in its sentence."""
    ends = [0, *(found.end() for found in _SENTENCE_END.finditer(shown)), len(shown)]
    start = max(end for end in ends if end <= cut)
    stop = min((end for end in ends if end > cut), default=len(shown))
    return tuple(
        re.sub(r"\s+", " ", part.replace("\0", "")) for part in (shown[start:cut], shown[cut:stop])
    )
