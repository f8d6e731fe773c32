"""Makes matplotlib's SVG several times smaller without changing the picture.

The page carries every figure, and lessons load them too. What goes: groups that only structure,
shapes that nothing paints, clips that cut nothing off, styles and names repeated at every
element, marks drawn one by one, and digits that cannot be seen.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_NAMESPACE = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"

#: Where the font is not installed another without serifs, about as wide, takes its place.
_FAMILIES = "DejaVu Sans, Verdana, sans-serif"

#: What matplotlib declares for every element, and what holds for nearly every path.
_BASE = {"fill": "none", "stroke-linejoin": "round"}
#: What an SVG says of an element that says nothing.
_DEFAULTS = {
    "text-anchor": "start",
    "stroke-dashoffset": "0",
    "stroke-linecap": "butt",
    "stroke-width": "1",
    "font-family": "'DejaVu Sans'",
}

#: Decimals of a coordinate in points: a twentieth of a pixel cannot be seen.
_DECIMALS = 1
#: So far, in points, may a line pass by a point that it no longer stops at.
_ASIDE = 0.05
#: So far may a path reach beyond a clip that cuts nothing off: rounding, and half a line.
_BEYOND = 0.3

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_STEP = re.compile(r"([MLCQz])([^MLCQz]*)")
#: matplotlib turns text by no angle at all, by minus zero at that.
_UNTURNED = re.compile(r" ?rotate\(-?0(?:\.0*)? [^)]*\)")

Point = tuple[float, float]
Step = tuple[str, list[Point]]
Style = dict[str, str]


def compact(content: bytes, scale: float = 1.0) -> bytes:
    """The same drawing in fewer bytes.

    Styles become classes, named in the order in which they occur, and so are clips: two themes of
    one figure differ in their colours alone.

    Parameters
    ----------
    content
        An SVG as matplotlib writes it.
    scale
        How large it is shown, over how large it was drawn.
    """
    root = ElementTree.fromstring(content)  # noqa: S314  (drawn by this package)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.tail = None
        if not (element.text or "").strip():
            element.text = None
    named = {element.get("id"): element for element in root.iter() if element.get("id")}
    _inline_marks(root, named)
    _drop_clips(root, named)
    _sort_axes(root)
    _prune(root)
    _join(root)
    rules, common = _classes(root)
    _group_texts(root)
    for element in root.iter():
        _short_numbers(element)
    size = {
        name: f"{_short(scale * float(root.get(name, '0').removesuffix('pt')))}pt"
        for name in ("width", "height")
    }
    box = {"viewBox": root.get("viewBox", "")}
    root.attrib.clear()
    root.attrib.update({"xmlns": _NAMESPACE, **size, **box, "font-family": _FAMILIES})
    sheet = Element("style")
    sheet.text = "".join(
        f"{name}{{{rule}}}"
        for rule, name in {common: "svg", _written(_BASE): "path", **rules}.items()
        if rule
    )
    root.insert(0, sheet)
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>").encode()


def _style(element: Element) -> Style:
    """The declarations of an element, less those that say what holds anyway."""
    given = re.findall(r"([\w-]+)\s*:\s*([^;]+?)\s*(?:;|$)", element.get("style", ""))
    style = {name: value for name, value in given if _DEFAULTS.get(name) != value}
    if style.get("fill-opacity") == "0":
        style = {**style, "fill": "none"}
        del style["fill-opacity"]
    return style


def _set_style(element: Element, style: Mapping[str, str]) -> None:
    element.set("style", "; ".join(f"{name}: {value}" for name, value in style.items()))


def _written(style: Mapping[str, str]) -> str:
    """Declarations as a style sheet has them."""
    short = {name: re.sub(r"\s*,\s*", ",", value) for name, value in style.items()}
    return ";".join(f"{name}:{re.sub(r'^0[.]', '.', value)}" for name, value in short.items())


def _inline_marks(root: Element, named: Mapping[str, Element]) -> None:
    """Put a path in the place of the uses of a mark that stand together.

    A mark is a few steps from its point; naming it at each point costs more than drawing it there.
    A filled circle is a stroke without length, as wide as the circle, with round ends.
    """
    inlined: set[str] = set()
    for parent in root.iter():
        kept: list[Element] = []
        last: tuple[str, str] | None = None
        for child in parent:
            if child.tag != "use":
                kept.append(child)
                last = None
                continue
            name = child.get(_LINK, "").removeprefix("#")
            mark = named[name]
            inlined.add(name)
            style = _style(child) | _style(mark)
            x, y = float(child.get("x", 0)), float(child.get("y", 0))
            radius = _radius(mark.get("d", "")) if style.get("fill") == style.get("stroke") else 0
            if radius:
                drawn = f"M {x} {y} L {x} {y} "
                width = 2 * radius + float(style.get("stroke-width", 1))
                style = {"stroke": style["stroke"], "stroke-width": _short(width),
                         "stroke-linecap": "round"}  # fmt: skip
            else:
                drawn = _moved(mark.get("d", ""), x, y)
                if not {"fill", "stroke"} & set(style):
                    style = {"fill": "#000000"}
            # Straight, a mark has nothing to fill; what it would be filled with says nothing.
            if not re.search(r"[zZCQ]", drawn):
                style.pop("fill", None)
            same = (name, _written(style))
            if same == last:
                kept[-1].set("d", kept[-1].get("d", "") + drawn)
                continue
            path = Element("path", d=drawn)
            _set_style(path, style)
            if child.get("clip-path"):
                path.set("clip-path", child.get("clip-path", ""))
            kept.append(path)
            last = same
        parent[:] = kept
    for parent in root.iter():
        if parent.tag == "defs":
            parent[:] = [child for child in parent if child.get("id") not in inlined]


def _radius(path: str) -> float:
    """The radius of a circle about 0, 0 as matplotlib draws it; 0 for another path."""
    points = [point for _, points in _steps(path, decimals=6) for point in points]
    if path.count("C") != 8 or not points:
        return 0.0
    ends = [points[0], *[points[at] for at in range(3, len(points), 3)]]
    sizes = [math.hypot(*point) for point in ends]
    return sizes[0] if max(sizes) - min(sizes) < 0.1 else 0.0


def _moved(path: str, x: float, y: float) -> str:
    """A path somewhere else."""
    written = []
    for letter, points in _steps(path, decimals=6):
        written.append(letter + " ".join(f" {px + x:.6f} {py + y:.6f}" for px, py in points))
    return " ".join(written) + " "


def _drop_clips(root: Element, named: Mapping[str, Element]) -> None:
    """Take off clips of paths that lie inside them anyway."""

    def fits(path: Element, clip: str) -> bool:
        rect = named[clip][0]
        x, y, width, height = (float(rect.get(n, 0)) for n in ("x", "y", "width", "height"))
        return all(
            x - _BEYOND <= px <= x + width + _BEYOND and y - _BEYOND <= py <= y + height + _BEYOND
            for _, points in _steps(path.get("d", ""))
            for px, py in points
        )

    used: set[str] = set()
    for element in root.iter():
        clip = re.fullmatch(r"url\(#(.*)\)", element.get("clip-path", ""))
        if not clip:
            continue
        if element.tag in ("path", "g") and all(
            fits(path, clip[1]) for path in element.iter() if path.tag == "path"
        ):
            del element.attrib["clip-path"]
        else:
            used.add(clip[1])
    names: dict[str, str] = {}
    for element in root.iter():
        if element.tag == "defs":
            element[:] = [
                child for child in element if child.tag != "clipPath" or child.get("id") in used
            ]
        clip = re.fullmatch(r"url\(#(.*)\)", element.get("clip-path", ""))
        if clip:
            name = names.setdefault(clip[1], f"i{len(names)}")
            element.set("clip-path", f"url(#{name})")
    for element in root.iter():
        name = element.attrib.pop("id", "") if element.tag != "g" else ""
        if name in names:
            element.set("id", names[name])


def _sort_axes(root: Element) -> None:
    """An axis draws grid, stroke and number of each tick in turn: sort them by what they are.

    They stand beside each other, so that none hides another whatever their order is.
    """
    for axis in root.iter():
        if not axis.get("id", "").startswith("matplotlib.axis"):
            continue
        parts = [part for part in axis.iter() if part.tag in ("path", "text")]
        order = list(dict.fromkeys(_look(part) for part in parts))
        axis[:] = sorted(parts, key=lambda part: order.index(_look(part)))


def _look(element: Element) -> tuple[str, ...]:
    """What two elements must share to be drawn as one."""
    return element.tag, _written(_style(element)), element.get("clip-path", "")


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
        style = _style(element)
        painted = style.get("fill", "none") != "none" or style.get("stroke", "none") != "none"
        return not painted or not re.search("[LCQ]", element.get("d", ""))
    return element.tag in ("metadata", "style") or (
        element.tag in ("defs", "g") and not len(element)
    )


def _join(element: Element) -> None:
    """Make one path of neighbours that are stroked alike, with nothing filled."""
    kept: list[Element] = []
    for child in element:
        _join(child)
        before = kept[-1] if kept else None
        if (
            before is not None
            and child.tag == "path" == before.tag
            and set(child.attrib) | set(before.attrib) <= {"d", "style", "clip-path"}
            and _look(child) == _look(before)
            and _style(child).get("fill", "none") == "none"
            and not {"opacity", "stroke-opacity"} & set(_style(child))
        ):
            before.set("d", before.get("d", "") + " " + child.get("d", ""))
        else:
            kept.append(child)
    element[:] = kept


def _classes(root: Element) -> tuple[dict[str, str], str]:
    """Turn each distinct style, and each clip, into a class.

    Returns names by declarations, and the size and colour that most texts have: the root has them.
    """
    texts = [_style(element) for element in root.iter() if element.tag == "text"]
    common = {
        name: Counter(style[name] for style in texts if name in style).most_common(1)[0][0]
        for name in ("font-size", "fill")
        if any(name in style for style in texts)
    }
    names: dict[str, str] = {}
    for element in root.iter():
        style = _style(element)
        element.attrib.pop("style", "")
        known = {"text": common, "path": _BASE}.get(element.tag, {})
        rule = _written({n: value for n, value in style.items() if known.get(n) != value})
        clip = element.attrib.pop("clip-path", "")
        rules = [rule, f"clip-path:{clip}" if clip else ""]
        found = [names.setdefault(one, f".{_letters(len(names))}") for one in rules if one]
        if found:
            element.set("class", " ".join(name[1:] for name in found))
    return names, _written(common)


def _letters(number: int) -> str:
    """A short name: a to z, then aa, ba and so on."""
    rest, place = divmod(number, 26)
    return "abcdefghijklmnopqrstuvwxyz"[place] + (_letters(rest - 1) if rest else "")


def _group_texts(root: Element) -> None:
    """Say the class of several texts in a row once, and letters on one line in one text."""
    for parent in list(root.iter()):
        runs: list[list[Element]] = []
        for child in parent:
            if runs and child.tag == "text" == runs[-1][0].tag and _same_text(child, runs[-1][0]):
                runs[-1].append(child)
            else:
                runs.append([child])
        kept: list[Element] = []
        for run in runs:
            lines = _letters_on_lines(run) if run[0].tag == "text" else run
            name = run[0].get("class")
            if len(lines) > 2 and name:
                group = Element("g", {"class": name})
                for line in lines:
                    del line.attrib["class"]
                group.extend(lines)
                lines = [group]
            kept.extend(lines)
        parent[:] = kept


def _same_text(one: Element, other: Element) -> bool:
    return one.get("class") == other.get("class")


def _letters_on_lines(texts: Sequence[Element]) -> list[Element]:
    """Texts of one letter each on one line become one, with a list of places."""
    kept: list[Element] = []
    for text in texts:
        before = kept[-1] if kept else None
        single = len(text.text or "") == 1 and not len(text) and _flat(text)
        if (
            single
            and before is not None
            and _flat(before)
            and before.get("y") == text.get("y")
            and len(before.text or "") == before.get("x", "").count(",") + 1
        ):
            before.set("x", f"{before.get('x')},{_short(float(text.get('x', '0')))}")
            before.text = (before.text or "") + (text.text or "")
        else:
            kept.append(text)
            if single:
                text.set("x", _short(float(text.get("x", "0"))))
    return kept


def _flat(text: Element) -> bool:
    return "x" in text.attrib and not _UNTURNED.sub("", text.get("transform", ""))


def _short_numbers(element: Element) -> None:
    """Fewer digits, and paths in steps from point to point."""
    if "d" in element.attrib:
        element.set("d", short_path(element.get("d", "")))
    for name in ("x", "y", "width", "height"):
        if name in element.attrib and element.tag != "svg":
            values = element.get(name, "").split(",")
            element.set(name, ",".join(_short(float(value)) for value in values))
    if "transform" in element.attrib:
        turned = _UNTURNED.sub("", element.attrib.pop("transform"))
        if turned:
            short = _NUMBER.sub(lambda found: _short(float(found[0])), turned)
            element.set("transform", short.replace(") ", ")").replace(" ", ","))


def short_path(given: str) -> str:
    """A path with rounded coordinates, each step relative to the point before.

    Points are rounded before their differences are taken, so that errors do not add up; those on
    a straight line between others are left out.

    >>> short_path("M 0 2.7 L 10.04 2.7 L 10 4 L 10 5.5 L 0.5 5 z")
    'M0,2.7h10v2.8l-9.5-.5z'
    >>> short_path("M 100 20 L 108 20 M 113 20 L 121 20 M 126 20 L 126 20")
    'M100,20h8m5,0h8m5,0h0'
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
            start = points[-1]
            # From where the last part ended, if that is shorter than from the corner.
            beside, alone = _joined(numbers, "m"), _joined(list(points[-1]), "M")
            written.append(beside if written and len(beside) < len(alone) else alone)
            here, last = points[-1], "M"
            continue
        if letter == "L" and not round(numbers[1], _DECIMALS):
            sign, numbers = "h", numbers[:1]
        elif letter == "L" and not round(numbers[0], _DECIMALS):
            sign, numbers = "v", numbers[1:]
        else:
            sign = letter.lower()
        here = points[-1]
        # A letter holds for the steps after it too, until another one comes.
        written.append(_joined(numbers, sign if sign != last else ""))
        last = sign
    return "".join(written)


def _steps(given: str, decimals: int = _DECIMALS) -> Iterator[Step]:
    """The letters of a path, each with its points, rounded."""
    for letter, numbers in _STEP.findall(given):
        flat = [round(float(number), decimals) for number in _NUMBER.findall(numbers)]
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
    return "0" if text in ("-0", "") else re.sub(r"^(-?)0\.", r"\1.", text)
