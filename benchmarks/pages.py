"""The report against the same content as other tools publish it, by the same instruments.

    python benchmarks/pages.py [--rounds N] [--update]

Four pages: the report; a notebook of its headings, texts, tables and figures as nbconvert's HTML;
pytest-html's page of one test a heading, with the same attached; and `snakemake --report` of the
run that made the report, which is finished first if it is not. All of it happens in a copy of this
folder, results included. A browser (benchmarks/pages.mjs) and the Nu HTML checker then look at
each, and a Markdown table says what they saw. Pages are made twice, to see whether the bytes stay.
They are opened in turns, one of each a round, in one browser; what a page takes in a round is
divided by what nbconvert's took in it, and the median of these ratios is printed. --update writes
the table into README.md. Needs what `make test` sets up.
"""

import argparse
import base64
import html
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import nbformat
import pandas
from nbconvert import HTMLExporter

ROOT = Path(__file__).resolve().parents[1]
#: What each page is called, in the order of the table's columns.
REPORT, NBCONVERT, PYTEST, SNAKEMAKE = NAMES = (
    "this report",
    "nbconvert",
    "pytest-html",
    "`snakemake --report`",
)
#: A part of the page's content: ``kind`` is heading, text, table or figure; see pages.mjs.
Part = Mapping[str, Any]
#: What was seen of one page.
Seen = Mapping[str, Any]

#: A test a heading, with what stands under it attached.
TESTS = """\
import json
from pathlib import Path

import pytest
from pytest_html import extras as attached

SECTIONS = json.loads(Path(__file__).with_name("sections.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("section", SECTIONS, ids=[one["name"] for one in SECTIONS])
def test_section(section, extras):
    extras.extend(attached.html(part) for part in section["html"])
    extras.extend(attached.svg(part) for part in section["svg"])
    assert section["name"]
"""


def run(command: Sequence[str | Path], folder: Path) -> str:
    """Run a command in a folder and return what it printed; a failure ends all."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n"
                 f"{(done.stdout + done.stderr)[-3000:]}")  # fmt: skip
    return done.stdout


def chromium() -> str:
    """The browser, as the tests find it."""
    return run([ROOT / "tools/system-tools", "--chromium"], ROOT).strip()


def browse(task: str, given: Path) -> Any:
    """The answer of pages.mjs."""
    return json.loads(run(["node", ROOT / "benchmarks/pages.mjs", task, chromium(), given], ROOT))


def opened(pages: Mapping[str, Path], rounds: int, task: str = "open") -> Any:
    """What pages.mjs says of these pages; ``open`` gives only its milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "pages.json"
        named = {name: str(path) for name, path in pages.items()}
        asked.write_text(json.dumps({"rounds": rounds, "pages": named}), encoding="utf-8")
        return browse(task, asked)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios, round by round: what slows one page slows its neighbour."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


def svg(part: Part) -> str:
    """The drawing of a figure, which the page holds as a data address."""
    kind, _, data = part["source"].partition(",")
    return (base64.b64decode(data) if kind.endswith(";base64") else unquote_to_bytes(data)).decode()


def frame(part: Part) -> pandas.DataFrame:
    """A table of the page as a data frame of its cells."""
    return pandas.DataFrame(part["rows"], columns=part["columns"])


def escaped(text: str) -> str:
    r"""Text for Markdown, in which no character means anything.

    >>> print(escaped("a_b [x]"))
    a\_b \[x\]
    """
    return re.sub(r"([\\`*_{}\[\]<>()#+.!|$~-])", r"\\\1", text)


def notebook(parts: Iterable[Part]) -> nbformat.NotebookNode:
    """The content as a notebook that was run: texts in cells by heading, tables, figures."""
    cells = []
    for number, part in enumerate(parts):
        if part["kind"] in ("heading", "text"):
            mark = "#" * part.get("level", 0)
            text = f"{mark} {escaped(part['text'])}".strip()
            if part["kind"] == "text" and cells and cells[-1].cell_type == "markdown":
                cells[-1].source += f"\n\n{text}"
            else:
                cells.append(nbformat.v4.new_markdown_cell(text, id=f"cell-{number}"))
            continue
        if part["kind"] == "table":
            # What a notebook shows of a data frame, with all its rows.
            with pandas.option_context("display.max_rows", None, "display.max_colwidth", None):
                data = {"text/html": frame(part)._repr_html_()}
        else:
            data = {"image/svg+xml": svg(part)}
        shown = nbformat.v4.new_output("display_data", data=data)
        code = f"show({part.get('caption') or part.get('text')!r})"
        cells.append(nbformat.v4.new_code_cell(code, outputs=[shown], id=f"cell-{number}"))
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"title": "The same tables and figures", "language_info": {
            "name": "python"}},
    )  # fmt: skip


def by_nbconvert(parts: Sequence[Part], path: Path) -> Path:
    """Write the content as nbconvert publishes a notebook, with its defaults."""
    page, _ = HTMLExporter().from_notebook_node(notebook(parts))
    path.write_text(page, encoding="utf-8")
    return path


def sections(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """The content by heading, as pytest-html can attach it."""
    found: list[dict[str, Any]] = []
    for part in parts:
        if part["kind"] == "heading" or not found:
            found.append({"name": f"{len(found)} {part['text']}", "html": [], "svg": []})
        elif part["kind"] == "text":
            found[-1]["html"].append(f"<p>{html.escape(part['text'])}</p>")
        elif part["kind"] == "table":
            found[-1]["html"].append(frame(part).to_html())
        else:
            found[-1]["svg"].append(base64.b64encode(svg(part).encode()).decode())
    return found


def by_pytest_html(parts: Sequence[Part], path: Path) -> Path:
    """Write the content as pytest-html's page, in one file and with nothing folded."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "test_sections.py").write_text(TESTS, encoding="utf-8")
        (folder / "sections.json").write_text(json.dumps(sections(parts)), encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\nrender_collapsed = failed\n")
        run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--html", path,
             "--self-contained-html", "test_sections.py"], folder)  # fmt: skip
    return path


def copied(folder: Path) -> Path:
    """A copy of the sources and of what a run has left here."""
    left_out = shutil.ignore_patterns(
        ".git", ".venv", ".pipeline", "node_modules", "__pycache__", "weights", ".hypothesis", ".ci"
    )
    return Path(shutil.copytree(ROOT, folder / "copy", symlinks=True, ignore=left_out))


def make_pages(home: Path) -> tuple[dict[str, Path], dict[str, bool]]:
    """The four pages, and of each whether the same bytes come out a second time."""
    copy, pages = copied(home), home / "pages"
    pages.mkdir()
    snakemake = [sys.executable, "-m", "snakemake", "--cores", "2", "--quiet"]
    report = copy / "report/index.html"
    run(snakemake, copy)
    parts = browse("content", report)

    def rendered(path: Path) -> Path:
        run([*snakemake, "--forcerun", "render_report"], copy)
        return Path(shutil.copy(report, path))

    def of_snakemake(path: Path) -> Path:
        run([*snakemake, "--report", path], copy)
        return path

    made: dict[str, Callable[[Path], Path]] = {
        REPORT: rendered,
        NBCONVERT: lambda path: by_nbconvert(parts, path),
        PYTEST: lambda path: by_pytest_html(parts, path),
        SNAKEMAKE: of_snakemake,
    }
    first, same = {}, {}
    for number, (name, make) in enumerate(made.items()):
        print(f"making the page of {name}, twice", flush=True)
        first[name] = make(pages / f"{number}.html")
        again = make(pages / f"{number}-again.html")
        same[name] = first[name].read_bytes() == again.read_bytes()
    return first, same


def checker_errors(path: Path) -> int:
    """How many errors the Nu HTML checker finds in a page."""
    jar = ROOT / "tests/report/node_modules/vnu-jar/build/dist/vnu.jar"
    command = ["java", "-Xss8m", "-jar", jar, "--format", "json", "--stdout", "--exit-zero-always"]
    messages = json.loads(run([*command, path], ROOT))["messages"]
    # What it warns of has the type "info".
    return sum(one["type"] != "info" for one in messages)


def measured(pages: Mapping[str, Path], same: Mapping[str, bool], rounds: int) -> dict[str, Seen]:
    """All that the table says, of each page."""
    seen = opened(pages, rounds, "measure")
    theirs = seen[NBCONVERT]["milliseconds"]
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        seen[name] |= {
            "bytes": path.stat().st_size,
            "same": same[name],
            "errors": checker_errors(path),
            "ratio": {by: ratio(seen[name]["milliseconds"][by], theirs[by]) for by in theirs},
            "print": bool(re.search(r"@media[^{;]*\bprint\b", text)),
        }
    return seen


def _axe(theme: str) -> Callable[[Seen], str]:
    def cell(seen: Seen) -> str:
        broken = seen["axe"][theme]
        return f"{len(broken)} ({sum(broken.values()):,})" if broken else "0"

    return cell


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


#: The rows of the table: what a row says, and how it reads of what was seen of a page.
ROWS: tuple[tuple[str, Callable[[Seen], str]], ...] = (
    ("axe, light: rules broken (places)", _axe("light")),
    ("axe, dark: rules broken (places)", _axe("dark")),
    ("Nu HTML checker: errors", lambda seen: f"{seen['errors']:,}"),
    ("requests", lambda seen: str(len(seen["requests"]))),
    (
        "words without JavaScript",
        lambda seen: f"{100 * seen['words']['without'] / seen['words']['with']:.0f} %",
    ),
    ("sideways scroll at 320 px", lambda seen: f"{seen['sideways']:,} px"),
    ("a smuggled script runs", lambda seen: _yes(seen["injected"]["ran"])),
    ("has rules for print", lambda seen: _yes(seen["print"])),
    (
        "tables and figures cut on paper",
        lambda seen: f"{seen['paper']['cut']} of {seen['paper']['shown']}",
    ),
    ("size", lambda seen: f"{seen['bytes'] / 1e6:.2f} MB"),
    ("same bytes when made again", lambda seen: _yes(seen["same"])),
    ("time to open, nbconvert's = 1", lambda seen: f"{seen['ratio']['clock']:.2f}"),
    (
        "processor time to open, nbconvert's = 1",
        lambda seen: f"{seen['ratio']['processor']:.2f}",
    ),
)


def table(seen: Mapping[str, Seen]) -> str:
    """The Markdown table: a row of ROWS each, a column a page."""
    lines = [f"| | {' | '.join(NAMES)} |", f"|---|{'---:|' * len(NAMES)}"]
    for text, cell in ROWS:
        lines.append(f"| {text} | {' | '.join(cell(seen[name]) for name in NAMES)} |")
    return "\n".join(lines)


def main() -> None:
    """Make the pages, look at them, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15, help="how often to open (default 15)")
    parser.add_argument("--update", action="store_true", help="write the table into README.md")
    parser.add_argument("--keep", type=Path, help="leave the pages in this new folder")
    options = parser.parse_args()
    if options.keep and options.keep.exists():
        parser.error(f"--keep {options.keep}: there is something already")
    with tempfile.TemporaryDirectory() as home:
        pages, same = make_pages(Path(home))
        if options.keep:
            shutil.copytree(Path(home) / "pages", options.keep)
        seen = measured(pages, same, options.rounds)
    for name, one in seen.items():
        spoken = {key: one[key] for key in ("axe", "words", "requests")}
        took = ", ".join(
            f"{statistics.median(found):.0f} ms of {by}"
            for by, found in one["milliseconds"].items()
        )
        print(f"{name}: {took}, {spoken}")
    print(table(seen))
    if options.update:
        readme = ROOT / "README.md"
        between = re.compile(r"(<!-- pages -->\n).*?(<!-- /pages -->)", re.DOTALL)
        text = readme.read_text(encoding="utf-8")
        readme.write_text(between.sub(rf"\g<1>{table(seen)}\n\2", text), encoding="utf-8")


if __name__ == "__main__":
    main()
