"""The command ``model``: what a configuration makes of positions, and how to extend it."""

import shutil
import sys
from typing import Annotated

import typer
from typer import Exit, Option

from posinfo import __version__
from posinfo.cli.common import ROOT, TEMPLATES, check_page, print_json, write_page
from posinfo.errors import InputError
from posinfo.models import presets
from posinfo.models.configuration import read_model
from posinfo.models.files import read
from posinfo.models.model import Model


def model(
    path: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG.json",
            help="A configuration, a folder that holds config.json, or a GGUF file.",
        ),
    ],
    pairs: Annotated[
        bool, Option("--pairs", help="Show every pair, and not a dozen of them.")
    ] = False,
    strict: Annotated[
        bool, Option("--strict", help="Exit 1 if there is a warning; notes do not count.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print JSON: docs/models.md says what its keys mean.")
    ] = False,
    as_csv: Annotated[bool, Option("--csv", help="Print the table of all pairs as CSV.")] = False,
    html: Annotated[
        str | None, Option(metavar="FILE", help="Write a page in the style of the report, too.")
    ] = None,
) -> None:
    """Show what a model's configuration makes of positions.

    It says what the file leaves unsaid and where it contradicts itself, works
    out each pair's frequency, wavelength, turns and angles, and what each
    method of extension would give at 2, 4 and 8 times the trained length,
    with the block to paste. Weights are not read, and torch is not needed.

    \b
    posinfo model Llama-3.1-8B/                 a folder with config.json
    posinfo model config.json --strict          in CI: exit 1 for a warning
    posinfo model config.json --csv > pairs.csv
    posinfo model model.gguf --html model.html

    Warnings have names that stay, such as factor-and-lengths: docs/models.md
    lists them. Notes are no warnings.

    Exit status: 0 read, 1 a warning with --strict, 2 it is no configuration.
    """  # noqa: D301  (the mark keeps the lines below it apart)
    if as_json and as_csv:
        raise InputError("--csv", "and --json are two outputs: give one of them")
    if html is not None:
        check_page(html)
    found = read_model(read(path), presets.lookup(ROOT))
    if html is not None:
        _write(html, found)
    if as_json:
        from posinfo.models.table import table

        print_json(table(found))
    elif as_csv:
        from posinfo.models.table import as_csv as written

        print(written(found), end="")
        for one in found.warnings:
            print(f"posinfo: warning: {one.code}: {one.text}", file=sys.stderr)
    else:
        from posinfo.models.show import lines

        width = shutil.get_terminal_size((100, 24)).columns
        for line in lines(found, width=min(width, 120), every_pair=pairs):
            print(line)
    if strict and found.warnings:
        raise Exit(1)


def _write(path: str, found: Model) -> None:
    from posinfo.models.page import page

    write_page(path, page(found, str(TEMPLATES), __version__))
