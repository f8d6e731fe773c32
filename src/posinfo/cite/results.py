"""What is cited: the CSV files of a results folder, or the same out of a report alone.

The report carries the CSV of each table and figure, and the verdicts; the rows of the suites are in
the folder only. Both give the same bytes for the same file, so a lesson may change between them.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote_to_bytes

from posinfo import captions, digests
from posinfo.cite.names import nearest
from posinfo.errors import InputError
from posinfo.report import pictures
from posinfo.schemas import load_yaml, table_fields, table_schema
from posinfo.tidy import parse, read, read_bytes, table

#: The ids of the page by which its verdicts, their digest and that of its ledger are found.
VERDICTS_ID = "verdicts-data"
VERDICTS_DIGEST_ID = "verdicts-digest"
LEDGER_DIGEST_ID = "ledger-digest"

_NAME = re.compile(r"[a-z0-9-]+(/[a-z0-9-]+)?")
#: Where the schema of a file lies that has none of its own name.
_SCHEMAS = {"missing/tables": "missing", "missing/figures": "missing"}


class NotFound(LookupError):
    """Nothing of that name is in the results; the text says what there is."""


@dataclass(frozen=True)
class Column:
    """A column: its title and unit for readers, and whether it holds numbers."""

    name: str
    title: str
    unit: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Dataset:
    """One CSV: ``records`` hold the cells as they are written, ``digest`` the file's sha256."""

    name: str
    digest: str
    columns: Sequence[Column]
    records: Sequence[Mapping[str, str]]
    #: The columns that tell rows apart, by the file's schema; empty if that is not at hand.
    key: Sequence[str] = ()

    @property
    def path(self) -> str:
        """Where a run writes it."""
        return f"results/{self.name}.csv"

    def column(self, name: str) -> Column:
        """The column of that name.

        Raises
        ------
        NotFound
            If there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        names = [column.name for column in self.columns]
        raise NotFound(f"{self.name} has no column {name!r}: {nearest(name, names)}")


@dataclass(frozen=True)
class Exhibit:
    """A table or figure as it is shown."""

    kind: str
    key: str
    title: str
    alt: str
    data: Dataset
    picture: bytes = b""


class Results(Protocol):
    """Where cited values come from."""

    #: The folder or file, as the user named it.
    source: str

    def names(self) -> list[str]:
        """What :meth:`dataset` finds."""

    def dataset(self, name: str) -> Dataset:
        """The CSV of a name such as ``suites/norms``."""

    def exhibit(self, kind: str, key: str) -> Exhibit:
        """A table or figure by its key."""


def open_results(path: str, schemas: Path, texts: Path) -> Results:
    """The results in a folder or in a report.

    Parameters
    ----------
    path
        A folder such as ``results``, or a page such as ``report/index.html``.
    schemas, texts
        The folders of the schemas and of the captions, which a folder of results is read by.

    Raises
    ------
    InputError
        If there is nothing, or it is neither.
    """
    place = Path(path)
    if place.is_dir():
        if not (place / "ledger.csv").is_file():
            raise InputError(path, "is no folder of results: it has no ledger.csv")
        if not schemas.is_dir():
            raise InputError(
                path,
                "cannot be read by this installation, which has no schemas beside it: give the "
                "report instead, or install the package with pip install -e",
            )
        return FolderResults(path, schemas, texts)
    if not place.exists():
        raise InputError(path, "does not exist; give a folder of results or a report with --from")
    return PageResults(path, schemas)


class FolderResults:
    """A folder as a run writes it."""

    def __init__(self, source: str, schemas: Path, texts: Path) -> None:
        self.source = source
        self._folder = Path(source)
        self._schemas = schemas
        self._texts = texts
        self._read: dict[str, Dataset] = {}
        self._captions: Mapping[str, captions.Caption] | None = None
        self._recorded: dict[str, str] | None = None

    def names(self) -> list[str]:
        """Every CSV that has a schema, in alphabetical order."""
        found = [path.relative_to(self._folder) for path in self._folder.rglob("*.csv")]
        names = {path.with_suffix("").as_posix() for path in found}
        return sorted(name for name in names if self._schema(name).is_file())

    def _schema(self, name: str) -> Path:
        return self._schemas / f"{_SCHEMAS.get(name, name)}.yaml"

    def dataset(self, name: str) -> Dataset:
        """Read a CSV under its schema, once; one that its job did not write is refused."""
        if name not in self._read:
            path = self._folder / f"{name}.csv"
            if not _NAME.fullmatch(name) or not self._schema(name).is_file():
                raise NotFound(f"{self.source} has no {name!r}: {nearest(name, self.names())}")
            fields = table_fields(self._schema(name))
            content = read_bytes(path)
            parse(content, fields, str(path))
            self._check_digest(path, content)
            columns = [
                Column(
                    field["name"],
                    field.get("title", field["name"]),
                    field.get("unit", ""),
                    field.get("type") in ("number", "integer"),
                )
                for field in fields
            ]
            data = _dataset(name, content, columns)
            self._read[name] = replace(data, key=_key(self._schema(name), data))
        return self._read[name]

    def _check_digest(self, path: Path, content: bytes) -> None:
        """Hold a file against what its job recorded, if the folder has records."""
        if self._recorded is None:
            self._recorded = {}
            for file in sorted((self._folder / "digests").glob("*.sha256")):
                for recorded, digest in digests.recorded(file).items():
                    if recorded.startswith("results/"):
                        self._recorded[recorded.removeprefix("results/")] = digest
        if not self._recorded:
            return
        found = hashlib.sha256(content).hexdigest()
        name = path.relative_to(self._folder).as_posix()
        expected = self._recorded.get(name)
        if expected is None:
            raise InputError(str(path), "no job has recorded it")
        if found != expected:
            raise InputError(
                str(path),
                f"was touched by hand, recorded as {expected[:12]}, is {found[:12]}"
                f"{digests.anew(f'results/{name}')}",
            )

    def exhibit(self, kind: str, key: str) -> Exhibit:
        """A table or figure, with the texts of its caption."""
        if self._captions is None:
            schema = load_yaml(self._schemas / "captions.schema.yaml")
            self._captions = captions.load(self._texts / "captions.yaml", schema)
        caption = self._captions.get(key)
        if caption is None or caption.kind != kind:
            keys = [one.key for one in self._captions.values() if one.kind == kind]
            raise NotFound(f"there is no {kind} {key!r}: {nearest(key, keys)}")
        data = self.dataset(f"{kind}s/{key}")
        if kind == "table":
            return Exhibit(kind, key, caption.title, "", data)
        path = self._folder / "figures" / f"{key}.csv"
        alt = caption.filled(read(path, table_fields(self._schema(data.name)))).alt
        return Exhibit(kind, key, caption.title, alt, data, self._picture(path))

    def _picture(self, path: Path) -> bytes:
        """The drawing beside a figure's CSV, in both themes, as the page shows it."""
        drawn = {}
        for theme in ("light", "dark"):
            drawing = path.with_suffix(f".{theme}.svg")
            if drawing.is_file():
                drawn[theme] = drawing.read_bytes()
                self._check_digest(drawing, drawn[theme])
        shown = pictures.picture(drawn)
        return _carried(shown.source, self.source, path.name) if shown else b""


class PageResults:
    """A report that stands alone: what it carries, read from the page itself."""

    def __init__(self, source: str, schemas: Path | None = None) -> None:
        self.source = source
        self._schemas = schemas
        try:
            text = Path(source).read_bytes().decode()
        except OSError as error:
            raise InputError(source, f"cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(source, f"is not UTF-8 at byte {error.start}") from error
        page = _Page()
        page.feed(text)
        page.close()
        if not page.exhibits or not page.verdicts:
            raise InputError(
                source, "is no report of posinfo, or one of a version that carried no verdicts"
            )
        self._found = page

    def dataset(self, name: str) -> Dataset:
        """A table's or figure's CSV, or the verdicts under the name ``ledger``."""
        if name == "ledger":
            content = _carried(self._found.verdicts, self.source, "verdicts.csv")
            self._check_digest("the verdicts", content, self._found.verdicts_digest)
            read_back = _dataset(name, content, None, self.source)
            # It goes into what is written, and nothing here can be computed that it must equal.
            if not re.fullmatch("[0-9a-f]{64}", self._found.ledger_digest):
                raise InputError(self.source, "does not say the sha256 of its ledger")
            # The digest is the whole ledger's: of the rest of it the page has no copy.
            return replace(read_back, digest=self._found.ledger_digest)
        kind, _, key = name.partition("/")
        if kind in ("tables", "figures") and _NAME.fullmatch(name):
            return self.exhibit(kind.removesuffix("s"), key).data
        if kind == "suites":
            raise NotFound(
                f"{self.source} has no {name!r}: a report carries its tables, figures and "
                "verdicts; cite one of those, or give the folder of results with --from"
            )
        raise NotFound(f"{self.source} has no {name!r}: {nearest(name, self.names())}")

    def names(self) -> list[str]:
        """The ledger, and every table and figure, in alphabetical order."""
        found = [f"{one.kind}s/{one.key}" for one in self._found.exhibits.values()]
        return sorted([*found, "ledger"])

    def exhibit(self, kind: str, key: str) -> Exhibit:
        """A table or figure of the page."""
        found = self._found.exhibits.get(f"{kind}-{key}")
        if found is None:
            keys = [one.key for one in self._found.exhibits.values() if one.kind == kind]
            raise NotFound(f"there is no {kind} {key!r}: {nearest(key, keys)}")
        content = _carried(found.download, self.source, f"{key}.csv")
        self._check_digest(f"{kind} {key}", content, found.digest)
        data = _dataset(f"{kind}s/{key}", content, found.columns, self.source)
        if self._schemas is not None:
            data = replace(data, key=_key(self._schemas / f"{data.name}.yaml", data))
        drawing = _carried(found.picture, self.source, f"{key}.svg") if found.picture else b""
        return Exhibit(kind, key, found.title, found.alt, data, drawing)

    def _check_digest(self, what: str, content: bytes, said: str) -> None:
        digest = hashlib.sha256(content).hexdigest()
        if digest != said:
            raise InputError(
                self.source,
                f"{what}: the data are {digest[:12]}, and the page says {said[:12] or 'nothing'}: "
                "it was edited",
            )


def _key(schema: Path, data: Dataset) -> tuple[str, ...]:
    """The columns that tell rows apart; none without a schema, or if that is of other columns."""
    key = table_schema(schema)["key"] if schema.is_file() else ()
    return tuple(key) if set(key) <= {column.name for column in data.columns} else ()


def _dataset(
    name: str, content: bytes, columns: Sequence[Column] | None, source: str = ""
) -> Dataset:
    """A CSV as it is cited; ``source`` is named if it is none: only a page can carry such."""
    try:
        lines = table(content, f"{name}.csv")
    except InputError as error:
        raise InputError(source, f"{name}.csv is no CSV: {error}") from error
    cells = [line.cells for line in lines]
    if not cells or len(set(cells[0])) < len(cells[0]) or len(set(map(len, cells))) > 1:
        raise InputError(source, f"{name}.csv is no table: each row needs a cell of each column")
    names = cells[0]
    columns = columns or [Column(one, one) for one in names]
    if len(columns) != len(names):
        raise InputError(source, f"{name}.csv has {len(names)} columns, shown are {len(columns)}")
    named = [replace(column, name=one) for column, one in zip(columns, names, strict=True)]
    records = [dict(zip(names, one, strict=True)) for one in cells[1:]]
    return Dataset(name, hashlib.sha256(content).hexdigest(), named, records)


def _carried(address: str, source: str, what: str) -> bytes:
    """The content of a ``data:`` address."""
    head, comma, body = address.partition(",")
    if not head.startswith("data:") or not comma:
        raise InputError(source, f"does not carry {what}")
    try:
        return base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)
    except binascii.Error as error:
        raise InputError(source, f"carries {what} broken: {error}") from error


@dataclass
class _Carried:
    """A table or figure as it is found in the page."""

    kind: str
    key: str
    title: str = ""
    alt: str = ""
    download: str = ""
    digest: str = ""
    picture: str = ""
    columns: tuple[Column, ...] = ()


class _Page(HTMLParser):
    """Collects what the page carries; its templates are ``workflow/report/macros.html.j2``."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.exhibits: dict[str, _Carried] = {}
        self.verdicts = ""
        self.verdicts_digest = ""
        self.ledger_digest = ""
        self._at: _Carried | None = None
        #: What the text that comes next is: a title, the head of a column, or its unit.
        self._reading = ""
        self._heads: list[Column] | None = None
        self._aligned: set[int] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where an exhibit begins, and what belongs to it."""
        found: dict[str, Any] = {name: value or "" for name, value in attrs}
        classes = found.get("class", "").split()
        if tag == "div" and "exhibit" in classes:
            kind, _, key = found.get("id", "").partition("-")
            self._at = self.exhibits.setdefault(found.get("id", ""), _Carried(kind, key))
        elif tag == "a" and found.get("id") == VERDICTS_ID:
            self.verdicts = found.get("href", "")
        elif tag == "code" and found.get("id") == VERDICTS_DIGEST_ID:
            self.verdicts_digest = found.get("title", "")
        elif tag == "code" and found.get("id") == LEDGER_DIGEST_ID:
            self.ledger_digest = found.get("title", "")
        elif self._at is not None:
            self._inside(tag, found, classes)

    def _inside(self, tag: str, found: Mapping[str, str], classes: Sequence[str]) -> None:
        at = self._at
        if tag == "img" and not at.picture:
            at.picture, at.alt = found.get("src", ""), found.get("alt", "")
        elif tag == "table" and not at.columns:
            self._aligned = {int(name[1:]) for name in classes if re.fullmatch(r"n\d+", name)}
            self._heads = []
        elif tag == "strong" and not at.title:
            self._reading = "title"
        elif tag == "th" and self._heads is not None and found.get("scope") == "col":
            numeric = "n" in classes or len(self._heads) + 1 in self._aligned
            self._heads.append(Column("", "", "", numeric))
            self._reading = "head"
        elif tag == "span" and "unit" in classes and self._reading == "head":
            self._reading = "unit"
        elif tag == "tbody" and self._heads is not None:
            at.columns = tuple(self._heads)
            self._heads, self._reading = None, ""
        elif tag == "a" and "download" in found and not at.download:
            at.download = found.get("href", "")
        elif tag == "code" and at.download and not at.digest:
            at.digest = found.get("title", "")
            self._at = None

    def handle_endtag(self, tag: str) -> None:
        """A title ends with its element, a unit too."""
        if tag == "strong" and self._reading == "title":
            self._at.title = self._at.title.removesuffix(".")
            self._reading = ""
        elif tag == "span" and self._reading == "unit":
            self._reading = "head"

    def handle_data(self, data: str) -> None:
        """Take the text that was announced."""
        if self._reading == "title":
            self._at.title += data
        elif self._reading in ("head", "unit") and self._heads:
            last = self._heads[-1]
            if self._reading == "unit":
                last = replace(last, unit=data.strip().removeprefix("(").removesuffix(")"))
            else:
                last = replace(last, title=f"{last.title}{data.rstrip()}")
            self._heads[-1] = last
