"""Lays the page out: templates and style in, one self-contained file out."""

import base64
import hashlib
import re
from functools import partial
from pathlib import Path

import jinja2
from markupsafe import Markup

from posinfo.report import citations, formulas
from posinfo.report.formulas import Formulas
from posinfo.report.model import Page
from posinfo.schemas import load_yaml

TEMPLATE = "index.html.j2"
STYLE = "report.css"

_CODE = re.compile(r"`([^`]+)`")
# Where a line must not break: between a number and its percent sign or power of ten.
_TIED = re.compile(r"(?<=\d) (?=%|× 10)|(?<=×) (?=10)")
#: No formulas: what a text has where nobody says which there are.
NONE = Formulas()
_BREAKS = re.compile(r"(?<=[./_])(?=\w)")


def prose(text: str, known: Formulas = NONE) -> Markup:
    """Text for the page, escaped, with what stands between backquotes set as code.

    A number keeps its percent sign and its power of ten on its line. Formulas that are known are
    set as such.

    >>> str(prose("`a < b` & c"))
    '<code>a &lt; b</code> &amp; c'
    >>> prose("28 %") == "28\N{NO-BREAK SPACE}%"
    True
    """
    parts = _CODE.split(_TIED.sub("\N{NO-BREAK SPACE}", text))
    shown = [
        Markup("<code>{}</code>").format(part) if number % 2 else known.set_in(part)
        for number, part in enumerate(parts)
    ]
    return Markup("").join(shown)


def breakable(text: str) -> Markup:
    """Code that may break after dots, slashes and underscores, so that it fits a narrow column."""
    return Markup("<wbr>").join(_BREAKS.split(text))


def style_hash(css: str) -> str:
    """The hash by which a content security policy allows one inline style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()


def render(page: Page, templates: str) -> str:
    """The page as HTML.

    Parameters
    ----------
    page
        What it shows.
    templates
        The folder that holds ``index.html.j2`` and ``report.css``.

    Raises
    ------
    jinja2.UndefinedError
        If a template asks for something that the page does not have.
    """
    return render_template(templates, TEMPLATE, page=page)


def render_template(templates: str, name: str, **values: object) -> str:
    """A page of the folder's templates: it is given its values, the style, and a policy for it.

    Raises
    ------
    jinja2.UndefinedError
        If the template asks for something that it was not given.
    ValueError
        If the style would end the element that it stands in.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    schema = Path(templates).parent / "schemas" / formulas.SCHEMA
    known = formulas.load(
        Path(templates) / formulas.FILE, load_yaml(schema) if schema.is_file() else None
    )
    environment.filters |= {
        "prose": partial(prose, known=known),
        "breakable": breakable,
        "bibtex_claim": citations.of_claim,
        "bibtex_ledger": citations.of_ledger,
        "bibtex_exhibit": citations.of_exhibit,
    }
    environment.globals |= {
        "formulas": known,
        "project": {
            "title": citations.TITLE,
            "author": citations.AUTHOR,
            "license": citations.LICENSE,
            "bibtex": citations.of_project(),
        },
    }
    css = environment.loader.get_source(environment, STYLE)[0]
    if "</" in css:
        raise ValueError(f"{STYLE} holds '</', which would end the style element")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{style_hash(css)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    html = environment.get_template(name).render(
        **values,
        css=Markup(css),  # noqa: S704  (the project's own file, checked above)
        policy=Markup(policy),  # noqa: S704  (quotes belong to it; nothing here comes from data)
    )
    # Escaped only for attributes in single quotes, and the templates have none (a test looks).
    return html.replace("&#39;", "'")
