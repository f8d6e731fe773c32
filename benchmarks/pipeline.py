"""What the pipeline costs, against the same work without it, measured side by side in one run.

    python benchmarks/pipeline.py [--rounds N] [--update]

First the decoders are trained, on two cores, beside a calibration: a fixed number of steps in a
bare loop. All that follows begins with these weights, for training would hide everything else. In
each round, in turns: the pipeline from nothing but the weights on two cores; one Python process
that does all of it in a row (benchmarks/bare.py); the same as a notebook, executed by nbconvert; a
run with nothing to do, against `snakemake --version`; `posinfo check` on a right function and on a
wrong one, against `import torch`; and a run after an edit to a page template. Times on one machine
drift, so ratios are taken round by round, and the median is printed. --update writes the table
into README.md.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
SNAKEMAKE = [sys.executable, "-m", "snakemake"]
RUN = [*SNAKEMAKE, "--cores", "2"]
# Both sides get the same two cores, however many the machine has.
CORES = sorted(os.sched_getaffinity(0))[:2] if hasattr(os, "sched_getaffinity") else []


def timed(command: list[str], folder: Path, status: int = 0) -> tuple[float, str]:
    """Run a command and return its seconds and its output; another exit status ends all."""
    began = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    seconds = time.perf_counter() - began
    if done.returncode != status:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return seconds, done.stdout


def copy_sources(target: Path) -> Path:
    """Copy what git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def make_notebook(folder: Path) -> str:
    """benchmarks/bare.py as a notebook, a cell for each of its parts."""
    text = (folder / "benchmarks/bare.py").read_text(encoding="utf-8")
    parts = re.split(r"^# %% .*\n", text, flags=re.MULTILINE)[1:]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(part) for part in parts])
    nbformat.write(notebook, folder / "bare.ipynb")
    return "bare.ipynb"


def trained(folder: Path) -> tuple[Path, dict[str, float]]:
    """Train the decoders in a folder; the calibration runs before and after, for times drift."""
    # Nobody pays for compiling our sources: a second run would not.
    timed([sys.executable, "-m", "compileall", "-q", "src"], folder)
    steps = [sys.executable, "benchmarks/steps.py"]
    before, _ = timed(steps, folder)
    training, _ = timed([*RUN, "results/suites/trained.csv"], folder)
    after, _ = timed(steps, folder)
    return folder, {"training": training, "steps": (before + after) / 2}


def one_round(folder: Path, number: int) -> dict[str, float]:
    """Seconds of everything once, in a fresh copy; who goes first changes from round to round."""
    from_nothing = {
        "bare": [sys.executable, "benchmarks/bare.py"],
        "cold": RUN,
        "notebook": [
            sys.executable, "-m", "nbconvert", "--to", "html", "--execute", make_notebook(folder),
        ],
    }  # fmt: skip
    # What is read of the decoders belongs to all three: none begins with it.
    for name in ("suites/trained.csv", "digests/measure_suite_trained.sha256"):
        (folder / "results" / name).unlink()
    names = list(from_nothing)
    turn = number % len(names)
    seconds = {name: timed(from_nothing[name], folder)[0] for name in names[turn:] + names[:turn]}
    seconds["version"], _ = timed([*SNAKEMAKE, "--version"], folder)
    seconds["nothing"], _ = timed(RUN, folder)
    seconds["torch"], _ = timed([sys.executable, "-c", "import torch"], folder)
    check = [sys.executable, "-m", "posinfo", "check"]
    seconds["right"], _ = timed([*check, "tests/check/right/adjacent.py:rotate"], folder)
    seconds["wrong"], _ = timed([*check, "tests/check/wrong/other_way.py:rotate"], folder, 1)
    template = folder / "workflow/report/index.html.j2"
    template.write_text(template.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    seconds["template"], output = timed(RUN, folder)
    measured = re.findall(r"^(?:local)?rule (\w+):", output, re.MULTILINE)
    if set(measured) != {"render_report", "all"}:
        sys.exit(f"an edit to a template ran {', '.join(measured)}")
    return seconds


ROWS = (
    (
        "training and reading the decoders, against 100 bare steps of one encoding",
        "training",
        "steps",
        None,
    ),
    ("all but training, against one Python process that does all in a row", "cold", "bare", 1.5),
    ("all but training, against the same as a notebook through nbconvert", "cold", "notebook", 1.0),
    ("nothing to do, against `snakemake --version`", "nothing", "version", 4.0),
    ("`posinfo check` on a right function, against `import torch`", "right", "torch", 2.5),
    ("`posinfo check` on a wrong one, against `import torch`", "wrong", "torch", 2.5),
    ("after an edit to a page template, against all but training", "template", "cold", None),
)


def table(rounds: list[dict[str, float]]) -> str:
    """The medians as a Markdown table: seconds of both sides, and their ratio."""
    lines = ["| what | seconds | against | ratio | aim |", "|---|---:|---:|---:|---:|"]
    for text, ours, theirs, aim in ROWS:
        ratio = statistics.median(one[ours] / one[theirs] for one in rounds)
        first, second = (statistics.median(one[name] for one in rounds) for name in (ours, theirs))
        wanted = f"≤ {aim:g}" if aim else "–"
        lines.append(f"| {text} | {first:.1f} | {second:.1f} | {ratio:.2f} | {wanted} |")
    return "\n".join(lines)


def _rounds(base: Path, training: dict[str, float], count: int) -> list[dict[str, float]]:
    """The rounds, each in a copy of the folder with the trained weights."""
    rounds: list[dict[str, float]] = []
    for number in range(1, count + 1):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(shutil.copytree(base, Path(place) / "copy", symlinks=True))
            rounds.append(training | one_round(folder, number))
        spoken = ", ".join(f"{name} {value:.2f}" for name, value in rounds[-1].items())
        print(f"round {number} of {count}, seconds: {spoken}", flush=True)
    return rounds


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="how many rounds (default 3)")
    parser.add_argument("--update", action="store_true", help="write the table into README.md")
    options = parser.parse_args()
    if CORES:
        os.sched_setaffinity(0, CORES)
    with tempfile.TemporaryDirectory() as home:
        base, training = trained(copy_sources(Path(home) / "trained"))
        print(", ".join(f"{name} {value:.2f}" for name, value in training.items()), flush=True)
        rounds = _rounds(base, training, options.rounds)
    print(table(rounds))
    if options.update:
        readme = ROOT / "README.md"
        between = re.compile(r"(<!-- benchmark -->\n).*?(<!-- /benchmark -->)", re.DOTALL)
        text = readme.read_text(encoding="utf-8")
        readme.write_text(between.sub(rf"\g<1>{table(rounds)}\n\2", text), encoding="utf-8")


if __name__ == "__main__":
    main()
