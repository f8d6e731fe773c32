"""Makes matplotlib's SVG several times smaller without changing the picture.

The page carries every figure, and lessons load them too. What goes: groups
that only structure, shapes that nothing paints, styles and names repeated at every element, and
digits that cannot be seen.
"""

import math
import re
from collections.abc import Iterator
from itertools import chain
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_NAMESPACE = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"

#: Where the font is not installed another without serifs, about as wide, takes its place.
_FAMILIES = "DejaVu Sans, Verdana, sans-serif"

#: What matplotlib declares for every element.
_BASE = "*{stroke-linejoin:round;stroke-linecap:butt}"

#: Decimals of a coordinate in points: a hundredth of a pixel cannot be seen.
_DECIMALS = 2
#: So far, in points, may a line pass by a point that it no longer stops at.
_ASIDE = 0.01

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_STEP = re.compile(r"([MLCQz])([^MLCQz]*)")
#: matplotlib turns text by no angle at all, by minus zero at that.
_UNTURNED = re.compile(r" ?rotate\(-?0(?:\.0*)? [^)]*\)")

Point = tuple[float, float]
Step = tuple[str, list[Point]]


def compact(content: bytes) -> bytes:
    """The same drawing in fewer bytes.

    Styles become classes, named in the order in which they occur, and so are clips and markers:
    two themes of one figure differ in their colours alone.

    Parameters
    ----------
    content
        An SVG as matplotlib writes it.
    """
    root = ElementTree.fromstring(content)  # noqa: S314  (drawn by this package)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.tail = None
        if not (element.text or "").strip():
            element.text = None
    _prune(root)
    _short_names(root)
    rules = _classes(root)
    for element in root.iter():
        _short_numbers(element)
    size = {name: root.get(name, "") for name in ("width", "height", "viewBox")}
    root.attrib.clear()
    root.attrib.update({"xmlns": _NAMESPACE, **size, "font-family": _FAMILIES})
    sheet = Element("style")
    sheet.text = _BASE + "".join(f".{name}{{{rule}}}" for rule, name in rules.items())
    root.insert(0, sheet)
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>").encode()


def _prune(element: Element) -> None:
    """Take out what paints nothing, and put what stands in a bare group in its place."""
    kept: list[Element] = []
    for child in element:
        _prune(child)
        if child.tag == "g" and set(child.attrib) <= {"id"}:
            kept.extend(child)
        elif not _paints_nothing(child):
            kept.append(child)
    element[:] = kept


def _paints_nothing(element: Element) -> bool:
    if element.tag == "path":
        # Neither filled nor stroked, or a starting point from which nothing is drawn.
        return element.get("style") == "fill: none" or not re.search("[LCQ]", element.get("d", ""))
    return element.tag in ("metadata", "style") or (element.tag == "defs" and not len(element))


def _short_names(root: Element) -> None:
    """Name clips and markers by number, and nothing else: only those are referred to."""
    names: dict[str, str] = {}

    def short(name: str) -> str:
        return names.setdefault(name, f"i{len(names)}")

    for element in root.iter():
        if _LINK in element.attrib:
            element.set("href", "#" + short(element.attrib.pop(_LINK).removeprefix("#")))
        clip = re.fullmatch(r"url\(#(.*)\)", element.get("clip-path", ""))
        if clip:
            element.set("clip-path", f"url(#{short(clip[1])})")
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in names:
            element.set("id", names[name])


def _classes(root: Element) -> dict[str, str]:
    """Turn each distinct style, and each clip, into a class; returns names by declarations."""
    names: dict[str, str] = {}
    for element in root.iter():
        style = re.sub(r"\s*([:;])\s*", r"\1", element.attrib.pop("style", "").strip("; "))
        style = style.replace("font-family:'DejaVu Sans';", "").replace(":0.", ":.")
        clip = element.attrib.pop("clip-path", "")
        rules = [style, f"clip-path:{clip}" if clip else ""]
        found = [names.setdefault(rule, _letters(len(names))) for rule in rules if rule]
        if found:
            element.set("class", " ".join(found))
    return names


def _letters(number: int) -> str:
    """A short name: a to z, then aa, ba and so on."""
    rest, place = divmod(number, 26)
    return "abcdefghijklmnopqrstuvwxyz"[place] + (_letters(rest - 1) if rest else "")


def _short_numbers(element: Element) -> None:
    """Fewer digits, and paths in steps from point to point."""
    if "d" in element.attrib:
        element.set("d", short_path(element.get("d", "")))
    for name in ("x", "y"):
        if name in element.attrib:
            element.set(name, _short(float(element.get(name, ""))))
    if "transform" in element.attrib:
        turned = _UNTURNED.sub("", element.attrib.pop("transform"))
        if turned:
            element.set("transform", turned)


def short_path(given: str) -> str:
    """A path with rounded coordinates, each step relative to the point before.

    Points are rounded before their differences are taken, so that errors do not add up; those on
    a straight line between others are left out.

    >>> short_path("M 0 2.75 L 10.004 2.75 L 10 4 L 10 5.5 L 0.5 5 z")
    'M0,2.75h10v2.75l-9.5-.5z'
    """
    written: list[str] = []
    here = start = (0.0, 0.0)
    last = ""
    for letter, points in _straightened(_steps(given)):
        if letter == "z":
            written.append("z")
            here, last = start, "z"
            continue
        numbers = [
            value - origin for point in points for value, origin in zip(point, here, strict=True)
        ]
        if letter == "M":
            sign, numbers, start = "M", list(points[-1]), points[-1]
        elif letter == "L" and not round(numbers[1], _DECIMALS):
            sign, numbers = "h", numbers[:1]
        elif letter == "L" and not round(numbers[0], _DECIMALS):
            sign, numbers = "v", numbers[1:]
        else:
            sign = letter.lower()
        here = points[-1]
        # A letter holds for the steps after it too, until another one comes.
        written.append(_joined(numbers, sign if sign != last or sign == "M" else ""))
        last = sign
    return "".join(written)


def _steps(given: str) -> Iterator[Step]:
    """The letters of a path, each with its points, rounded."""
    for letter, numbers in _STEP.findall(given):
        flat = [round(float(number), _DECIMALS) for number in _NUMBER.findall(numbers)]
        yield letter, list(zip(flat[::2], flat[1::2], strict=True))


def _straightened(steps: Iterator[Step]) -> Iterator[Step]:
    """The same steps, with fewer of them where lines run straight on."""
    line: list[Point] = []
    for letter, points in chain(steps, [("", [])]):
        if letter == "L" and line:
            line.append(points[0])
            continue
        yield from (("L", [point]) for point in _corners(line)[1:])
        if letter:
            yield letter, points
        line = points[-1:]


def _corners(line: list[Point]) -> list[Point]:
    """The points without which a line would be another (Ramer, Douglas and Peucker)."""
    if len(line) < 3:
        return line
    (x, y), (end_x, end_y) = line[0], line[-1]
    length = math.hypot(end_x - x, end_y - y)

    def aside(place: int) -> float:
        dx, dy = line[place][0] - x, line[place][1] - y
        if not length:
            return math.hypot(dx, dy)
        along = (dx * (end_x - x) + dy * (end_y - y)) / length
        beyond = max(-along, along - length, 0)
        return max(abs(dx * (end_y - y) - dy * (end_x - x)) / length, beyond)

    farthest = max(range(1, len(line) - 1), key=aside)
    if aside(farthest) <= _ASIDE:
        return [line[0], line[-1]]
    return _corners(line[: farthest + 1])[:-1] + _corners(line[farthest:])


def _joined(numbers: list[float], letter: str) -> str:
    """Numbers after a letter, or after others where there is none; a comma only where needed.

    In an address a space would have to be escaped, and a comma stands as it is.
    """
    written = letter
    for place, number in enumerate(numbers):
        text = _short(number)
        alone = text.startswith("-") or (place == 0 and letter)
        written += text if alone else f",{text}"
    return written


def _short(number: float) -> str:
    """A rounded number without the zeros that say nothing."""
    text = f"{number:.{_DECIMALS}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else re.sub(r"^(-?)0\.", r"\1.", text)
