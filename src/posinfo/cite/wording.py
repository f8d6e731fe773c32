"""What stands in a block: values, verdicts, tables and figures as Markdown, HTML or CSV."""

import csv
import html
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import NoReturn
from urllib.parse import quote

from posinfo.cite.markers import Marker
from posinfo.cite.names import alike, nearest
from posinfo.cite.results import Dataset, Exhibit, NotFound, Results
from posinfo.numbers_text import significant
from posinfo.report.grids import DIGITS, ERROR_DIGITS
from posinfo.report.words import MARKS, READINGS

#: What may stand in an address as it is: not what ends a link, a cell or a marker.
_IN_ADDRESS = "/:?#[]@!$&*+,;=%~"

_ROUNDING = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "": ROUND_HALF_EVEN}
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_SPECIAL = re.compile(r"[\\`*\[\]<|~$]|&(?=#?\w+;)|(?<!\w)_|_(?!\w)")
#: Room for every digit of a float64: nothing is rounded but where it is asked for.
_EXACT = Context(prec=1100)

#: Columns of rows that say what came out, not what was asked.
_OUTCOMES = {
    "measured", "measured_text", "reference", "reference_text", "error", "bound", "ratio",
    "outcome", "basis", "contradicts",
}  # fmt: skip


class Unfit(LookupError):
    """What was asked for is there, and cannot be cited."""


@dataclass(frozen=True)
class Cited:
    """The text of a block; ``digest`` is the sha256 of the file that it was made from."""

    text: str
    digest: str
    anchor: str
    picture: bytes = b""


@dataclass(frozen=True)
class Form:
    """How a text of one line, code and a link are written."""

    text: Callable[[str], str]
    code: Callable[[str], str]
    link: Callable[[str, str], str]


def cite(marker: Marker, results: Results, address: str, form: "Form | None" = None) -> Cited:
    """What stands in the block of a marker.

    Parameters
    ----------
    marker
        What is asked for.
    results
        Where it comes from.
    address
        Where the report lies.
    form
        ``HTML`` for what stands within HTML; Markdown if not given. Tables and figures have lines
        of their own, and are Markdown unless their marker says otherwise.

    Raises
    ------
    NotFound
        If it names something that is not there.
    Unfit
        If a value is no number, several rows fit, or the row does not hold.
    InputError
        If the results cannot be read.
    """
    form = form or MARKDOWN
    if marker.kind == "value":
        return _value(marker, results, address, form)
    if marker.kind == "claim":
        return _claim(marker, results, address, form)
    return (_table if marker.kind == "table" else _figure)(marker, results, address)


def permalink(address: str, anchor: str) -> str:
    """The address of a part of the report.

    >>> permalink("https://a.example/the report (1).html", "main")
    'https://a.example/the%20report%20%281%29.html#main'
    """
    return f"{quote(address, _IN_ADDRESS)}#{anchor}"


def _anchor(source: str, where: Mapping[str, str]) -> str:
    """Where the report shows what comes from a file."""
    folder, _, key = source.partition("/")
    if source == "ledger":
        return f"claim-{where['id']}" if "id" in where else "main"
    return {"suites": f"suite-{key}", "tables": f"table-{key}", "figures": f"figure-{key}"}.get(
        folder, "main"
    )


def cell_number(cell: str) -> float | None:
    """A cell as a number, None if it is not written as one: not NaN, not ``1,5``."""
    return float(cell) if _NUMBER.fullmatch(cell) else None


def _equal(cell: str, wanted: str) -> bool:
    """The same text, or the same number: ``10000`` finds ``10000.0``."""
    if cell == wanted:
        return True
    one, other = cell_number(cell), cell_number(wanted)
    return one is not None and one == other


def _rows(data: Dataset, where: Mapping[str, str]) -> list[Mapping[str, str]]:
    """The rows with these values, which are some: a value that no row has is a mistake."""
    found = list(data.records)
    for name, wanted in where.items():
        data.column(name)
        kept = [row for row in found if _equal(row[name], wanted)]
        if not kept:
            values = list(dict.fromkeys(row[name] for row in found))
            raise NotFound(
                f"{data.name} has no row with {name}={quoted(wanted)}"
                f"{_among_the(where, name)}: {_some(wanted, values)}"
            )
        found = kept
    for row in found:
        # A number whose own assertion failed is not published.
        if row.get("outcome", "holds") != "holds" and "relation" in row:
            raise Unfit(
                f"a row of {data.name} does not hold: {row['case']} / {row['quantity']} / "
                f"{row['subject']}: {row['outcome']}"
            )
    return found


def _among_the(where: Mapping[str, str], name: str) -> str:
    before = list(where)[: list(where).index(name)]
    if not before:
        return ""
    return " among those with " + ", ".join(f"{one}={quoted(where[one])}" for one in before)


def _some(wanted: str, values: Sequence[str], limit: int = 6) -> str:
    """Up to a few of the values that there are, the nearest first."""
    if len(values) <= limit or alike(wanted, values):
        return nearest(wanted, values, limit)
    return f"{len(values)} values, such as {', '.join(map(quoted, values[:limit]))}"


def quoted(text: str) -> str:
    """A name or value as a marker has it."""
    if text and not re.search(r"[\s=\"']", text):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'


def _one(data: Dataset, where: Mapping[str, str]) -> Mapping[str, str]:
    found = _rows(data, where)
    if len(found) > 1:
        _several(data, found, where)
    if not found:
        raise Unfit(f"{data.name} has no rows")
    return found[0]


def _several(
    data: Dataset, found: Sequence[Mapping[str, str]], where: Mapping[str, str]
) -> NoReturn:
    """Say by which columns one of several rows can be told from the others."""
    telling = []
    for column in data.columns:
        values = list(dict.fromkeys(row[column.name] for row in found))
        if column.name not in where and len(values) > 1 and not is_outcome(column.name):
            telling.append((column.name, values))
    # Those with the most values tell rows apart soonest.
    telling.sort(key=lambda pair: -len(pair[1]))
    said = "; ".join(
        f"{quoted(name)} is {', '.join(map(quoted, values[:4]))}{' …' * (len(values) > 4)}"
        for name, values in telling[:3]
    )
    raise Unfit(
        f"{len(found)} rows of {data.name} fit where one is asked for; say after 'where' which "
        f"one: {said or 'they are alike'}"
    )


def is_outcome(name: str) -> bool:
    """Whether a column holds an outcome rather than what was asked."""
    return name in _OUTCOMES


def _value(marker: Marker, results: Results, address: str, form: Form) -> Cited:
    data = results.dataset(marker.name)
    anchor = _anchor(marker.name, marker.where)
    if marker.take == "count":
        text = significant(len(_rows(data, marker.where)))
    else:
        column = data.column(marker.column)
        extreme = marker.take != ""
        cell = _extreme(data, marker) if extreme else _one(data, marker.where)[column.name]
        text = _shown(cell, marker.options, f"{column.name} of {data.name}", form)
    return Cited(_linked(text, marker, permalink(address, anchor), form, "no"), data.digest, anchor)


def _extreme(data: Dataset, marker: Marker) -> str:
    """The largest or smallest cell; an empty one counts for nothing, and text is refused."""
    cells = [row[marker.column] for row in _rows(data, marker.where) if row[marker.column] != ""]
    for cell in cells:
        if cell_number(cell) is None:
            raise Unfit(f"{marker.column} of {data.name} holds {cell!r}, which is no number")
    if not cells:
        raise Unfit(f"{marker.column} of {data.name} is empty in these rows")
    return (max if marker.take == "max" else min)(cells, key=float)


def _linked(text: str, marker: Marker, address: str, form: Form, default: str) -> str:
    return text if marker.options.get("link", default) == "no" else form.link(text, address)


def _shown(cell: str, options: Mapping[str, str], what: str, form: Form) -> str:
    """A cell as text: numbers as the options say, text as it is."""
    if cell == "":
        raise Unfit(f"{what} is empty in this row")
    how = options.get("as", "")
    if how == "code":
        return form.code(_one_line(cell))
    value = cell_number(cell)
    if value is None:
        if cell.lower().strip("+-") in ("nan", "inf", "infinity"):
            raise Unfit(f"{what} is {cell}, which is no value")
        unfit = sorted({"digits", "decimals", "round"} & set(options))
        if how in ("e", "percent") or unfit:
            raise Unfit(f"{what} is {cell!r}, which is no number: take away {(unfit or ['as'])[0]}")
        return form.text(cell)
    if not math.isfinite(value):
        raise Unfit(f"{what} is {cell}, too large for a number")
    return cell if how == "raw" else number(value, options)


def number(value: float, options: Mapping[str, str]) -> str:
    """A number in the form that the options ask for.

    >>> number(4.76837158203125e-07, {"digits": "2"}), number(4.76837158203125e-07, {"as": "e"})
    ('4.8 × 10⁻⁷', '4.77e-7')
    """
    rounding = _ROUNDING[options.get("round", "")]
    form = options.get("as", "")
    exact = _EXACT.multiply(Decimal(value), Decimal(100 if form == "percent" else 1))
    if "decimals" in options:
        last = Decimal(1).scaleb(-int(options["decimals"]))
        text = f"{exact.quantize(last, rounding, _EXACT):,f}".replace("-", "−")
    elif form == "e":
        digits = int(options.get("digits", "3"))
        rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding)
        scaled = rounded.scaleb(-rounded.adjusted())
        text = f"{scaled:.{digits - 1}f}e{rounded.adjusted()}" if value else "0e0"
    else:
        text = significant(float(exact), int(options.get("digits", "3")), rounding)
    return f"{text} %" if form == "percent" else text


def _one_line(text: str) -> str:
    return " ".join(text.split())


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, also in a cell of a table.

    >>> print(escaped("a|b `c` rotate_adjacent"))
    a\|b \`c\` rotate_adjacent
    """
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", _one_line(text))


def _code(text: str) -> str:
    """Code in Markdown, between more backticks than it holds in a row."""
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _plain(text: str) -> str:
    return html.escape(_one_line(text), quote=False)


MARKDOWN = Form(escaped, _code, lambda text, address: f"[{text}]({address})")
#: In a cell a bar ends code too, unless it is escaped.
CELL = replace(MARKDOWN, code=lambda text: _code(text).replace("|", "\\|"))
HTML = Form(
    _plain,
    lambda text: f"<code>{_plain(text)}</code>",
    lambda text, address: f'<a href="{html.escape(address)}">{text}</a>',
)


def _claim(marker: Marker, results: Results, address: str, form: Form) -> Cited:
    data = results.dataset("ledger")
    row = _one(data, {"id": marker.name})
    show = marker.options.get("show", "verdict")
    for name in ("recorded", "reproduced") if show == "verdict" else (show,):
        data.column(name)
    if show == "verdict":
        reproduced = row["reproduced"]
        if reproduced == "read":
            text = READINGS.get(row["recorded"], row["recorded"])
        else:
            mark = MARKS.get(reproduced.replace(" ", ""))
            text = mark.word if mark else reproduced
        text = form.text(text)
    else:
        text = _shown(row[show], {}, f"{show} of the claim {marker.name}", form)
    anchor = f"claim-{marker.name}"
    link = permalink(address, anchor)
    return Cited(_linked(text, marker, link, form, "yes"), data.digest, anchor)


def _table(marker: Marker, results: Results, address: str) -> Cited:
    shown = results.exhibit("table", marker.name)
    data = shown.data
    names = [name.strip() for name in marker.options.get("columns", "").split(",") if name.strip()]
    columns = [data.column(name) for name in names] or list(data.columns)
    rows = _rows(data, marker.where)
    if not rows:
        raise Unfit(f"{data.name} has no rows")
    anchor = f"table-{marker.name}"
    link = permalink(address, anchor)
    form = marker.options.get("format", "markdown")
    if form == "csv":
        lines = _csv_lines([column.name for column in columns], rows)
    else:
        heads = [f"{one.title} ({one.unit})" if one.unit else one.title for one in columns]
        digits = [
            int(
                marker.options.get(
                    "digits", ERROR_DIGITS if one.name in ("error", "bound") else DIGITS
                )
            )
            for one in columns
        ]
        cells = [
            [
                _cell(row[one.name], count) if one.numeric else row[one.name]
                for one, count in zip(columns, digits, strict=True)
            ]
            for row in rows
        ]
        numeric = [one.numeric for one in columns]
        if form == "html":
            return Cited(
                "\n".join(_html_lines(shown.title, heads, cells, numeric, link)),
                data.digest,
                anchor,
            )
        lines = _markdown_lines(heads, cells, numeric)
    lines += ["", f"[{escaped(shown.title)}]({link}), from Positional Information, Verified."]
    return Cited("\n".join(lines), data.digest, anchor)


def _cell(cell: str, digits: int) -> str:
    value = cell_number(cell)
    return cell if value is None or not math.isfinite(value) else significant(value, digits)


def _markdown_lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]
) -> list[str]:
    lines = [heads, *rows]
    text = [f"| {' | '.join(map(escaped, line))} |" for line in lines]
    return [text[0], f"| {' | '.join('---:' if one else '---' for one in numeric)} |", *text[1:]]


def _html_lines(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    link: str,
) -> list[str]:
    """A table as HTML; no line is blank, at which Markdown would end it."""
    align = [' align="right"' if one else "" for one in numeric]
    say = [html.escape(_one_line(text)) for text in (title, link)]
    lines = ["<table>", f'<caption><a href="{say[1]}">{say[0]}</a></caption>', "<thead>", "<tr>"]
    for head, side in zip(heads, align, strict=True):
        lines.append(f'<th scope="col"{side}>{html.escape(_one_line(head))}</th>')
    lines += ["</tr>", "</thead>", "<tbody>"]
    for row in rows:
        cells = "".join(
            f"<td{side}>{html.escape(_one_line(cell))}</td>"
            for cell, side in zip(row, align, strict=True)
        )
        lines.append(f"<tr>{cells}</tr>")
    return [*lines, "</tbody>", "</table>"]


def _csv_lines(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> list[str]:
    """The cells as they are, in a fence."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_one_line(row[name]) for name in names] for row in rows)
    body = out.getvalue().splitlines()
    ticks = "`" * max(3, max(len(run) for run in re.findall("`*", out.getvalue())) + 1)
    return [f"{ticks}csv", *body, ticks]


def _figure(marker: Marker, results: Results, address: str) -> Cited:
    shown: Exhibit = results.exhibit("figure", marker.name)
    anchor = f"figure-{marker.name}"
    link = permalink(address, anchor)
    title = escaped(shown.title)
    alt = escaped(shown.alt)
    if "image" in marker.options:
        if not shown.picture:
            raise Unfit(f"the figure {marker.name} has no drawing in {results.source}")
        image = quote(marker.options["image"], _IN_ADDRESS)
        lines = [f"[![{alt}]({image})]({link})", "", f"[{title}]({link})."]
    else:
        lines = [f"[Figure: {title}]({link})."]
        lines[0] += f" {alt}" if alt else ""
    return Cited("\n".join(lines), shown.data.digest, anchor, shown.picture)
