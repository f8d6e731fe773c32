"""BibTeX of what the page shows, beside the plain citations: one entry for all, a short one each.

The entry of a table or a figure inherits author, version and the like from the project's by
``crossref``, and that of a claim from the ledger's, so that it says what is its own and nothing
twice. BibTeX wants the entry that others refer to after them.
"""

import re
from collections.abc import Mapping

from posinfo import __version__
from posinfo.report.model import ClaimView, Exhibit, Page

#: As CITATION.cff has them (a test looks).
TITLE = "Positional Information, Verified"
AUTHOR = "the contributors of Positional Information, Verified"
LICENSE = "MIT"

#: The key of the project's entry, and how those of its parts begin.
KEY = "posinfo"
LEDGER = f"{KEY}-ledger"

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def of_project() -> str:
    """The entry of all.

    >>> print(of_project().splitlines()[0])
    @misc{posinfo,
    """
    return _whole(KEY, "")


def of_ledger(page: Page) -> str:
    """The entry of the verdicts as this page has them, to which those of claims refer."""
    digest = f", sha256 {page.ledger_digest}" if page.ledger_digest else ""
    return _whole(LEDGER, f"; {_tex(page.ledger_path)}{digest}")


def _whole(key: str, rest: str) -> str:
    fields = {
        "author": f"{{{_tex(AUTHOR)}}}",
        "title": f"{{{_tex(TITLE)}}}",
        "note": f"Version {_tex(__version__)}, {_tex(LICENSE)} license{rest}",
    }
    return _entry(key, fields, ",\n  ")


def of_claim(claim: ClaimView) -> str:
    """The entry of a claim, with its verdict."""
    covers = f" ({', '.join(claim.covers)})" if claim.covers else ""
    title = f"Claim {claim.id}{covers}: {claim.mark.word}"
    return _part(f"claim-{claim.id}", title, LEDGER)


def of_exhibit(shown: Exhibit) -> str:
    """The entry of a table or figure: its title, and its data."""
    title = f"{shown.kind.capitalize()} {shown.key}: {shown.title}"
    note = f"{_tex(shown.path)}, sha256 {shown.digest[:12]}" if shown.digest else ""
    return _part(shown.anchor, title, KEY, note)


def _part(name: str, title: str, whole: str, note: str = "") -> str:
    fields = {"title": f"{{{_tex(title)}}}", "crossref": whole}
    return _entry(f"{KEY}-{name}", fields | ({"note": note} if note else {}), ", ")


def _entry(key: str, fields: Mapping[str, str], between: str) -> str:
    """A BibTeX entry; its key has letters, digits and hyphens alone."""
    parts = [
        re.sub(r"[^\w-]", "-", key),
        *(f"{name}={{{value}}}" for name, value in fields.items()),
    ]
    return f"@misc{{{between.join(parts)}}}"


def _tex(text: str) -> str:
    r"""Text as TeX reads it: signs that it would take for commands are escaped.

    >>> print(_tex("50 % of {a_b}"))
    50 \\% of \\{a\\_b\\}
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text)
