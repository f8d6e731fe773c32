"""Figures as the page carries them: each drawing once, with the colours of both themes.

An SVG in ``img`` sees which theme its reader prefers, so two drawings that differ in their style
alone become one whose style holds what differs. Older versions of Safari say *light* to it always;
there it has the light page's background, so that it is read on a dark page too.
"""

import base64
import re
import string
from collections.abc import Mapping
from urllib.parse import quote
from xml.etree import ElementTree

from posinfo.report.model import Picture

#: What a drawing stands on in the light theme.
PAPER = "#fff"

_PX_PER_PT = 4 / 3
_LETTERS = string.ascii_letters

_NOT_IN_URL = re.compile(r"[^\w!$'()*+,\-./:;=?@~\u00a0-\U0010fffd]")
_SHEET = re.compile(r"(?<=<style>)[^<]*(?=</style>)")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")


def picture(svg: Mapping[str, bytes]) -> Picture | None:
    """A figure's drawings as one ``data:`` address.

    None unless both are there, are SVG, and are the same drawing in two styles.
    """
    size = svg_size(svg.get("light", b""))
    if size is None or svg_size(svg.get("dark", b"")) is None:
        return None
    drawing = in_both_themes(svg["light"].decode(), svg["dark"].decode())
    if drawing is None:
        return None
    if "'" not in drawing:  # which an address may hold as it is
        drawing = drawing.replace('"', "'")
    return Picture(data_uri("image/svg+xml", drawing.encode()), *size)


def in_both_themes(light: str, dark: str) -> str | None:
    r"""One drawing with the colours of two, by the theme that its reader prefers.

    What differs stands in variables of the style. None if they differ in more than their style.

    >>> print(in_both_themes("<svg><style>.a{fill:#000;x:1}</style></svg>",
    ...                      "<svg><style>.a{fill:#fff;x:1}</style></svg>").replace("@", "\n@"))
    <svg><style>.a{fill:var(--a);x:1}svg{background:#fff;--a:#000}
    @media screen and (prefers-color-scheme:dark){svg{background:none;--a:#fff}}</style></svg>
    """
    if light == dark:
        return light
    sheets = [_RULE.findall(found) for found in _SHEET.findall(light + dark)]
    if (
        len(sheets) != 2
        or _SHEET.sub("", light) != _SHEET.sub("", dark)
        or [name for name, _ in sheets[0]] != [name for name, _ in sheets[1]]
    ):
        return None
    names: dict[tuple[str, str], str] = {}
    written = ""
    for (selector, own), (_, other) in zip(*sheets, strict=True):
        pairs = list(zip(own.split(";"), other.split(";"), strict=False))
        if len(own.split(";")) != len(other.split(";")):
            return None
        declared = []
        for one, two in pairs:
            what, _, value = one.partition(":")
            also, _, differing = two.partition(":")
            if what != also:
                return None
            if value != differing:
                name = names.setdefault((value, differing), f"--{_LETTERS[len(names)]}")
                value = f"var({name})"
            declared.append(f"{what}:{value}" if value else what)
        written += f"{selector}{{{';'.join(declared)}}}"
    first = "".join(f";{name}:{pair[0]}" for pair, name in names.items())
    second = "".join(f";{name}:{pair[1]}" for pair, name in names.items())
    written += f"svg{{background:{PAPER}{first}}}"
    written += f"@media screen and (prefers-color-scheme:dark){{svg{{background:none{second}}}}}"
    return _SHEET.sub(lambda _: written, light)


def data_uri(media_type: str, content: bytes) -> str:
    """A ``data:`` address that holds the content itself, written in the shorter of two ways.

    Text of which few characters must be escaped is shorter as it is than in base64. Those that
    need no escape are the code points of the URL standard, less what ends an attribute.
    """
    encoded = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return encoded
    plain = f"data:{media_type},{_NOT_IN_URL.sub(lambda found: quote(found[0]), text)}"
    return min(plain, encoded, key=lambda address: len(address.encode()))


def svg_size(content: bytes) -> tuple[int, int] | None:
    """Width and height of an SVG in CSS pixels, from its root; None if it has none."""
    try:
        root = ElementTree.fromstring(content)  # noqa: S314  (drawn by this workflow)
    except ElementTree.ParseError:
        return None
    sizes = []
    for name in ("width", "height"):
        match = re.fullmatch(r"([0-9.]+)(pt|px)?", root.get(name, ""))
        if not match:
            return None
        sizes.append(round(float(match[1]) * (_PX_PER_PT if match[2] == "pt" else 1)))
    return sizes[0], sizes[1]
