"""Two pages to test: the one that the pipeline made, and a red one full of hostile text.

REPORT names the page (report/index.html), CHROMIUM the browser. What a test needs and is not
there fails it, with one line that says what to do.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from posinfo.captions import Caption
from posinfo.claims import Claim, Inconsistency, Selector, Source, Weight
from posinfo.models import files
from posinfo.models.configuration import read_model
from posinfo.models.page import page as models_page
from posinfo.rehearsal.compare import Changes
from posinfo.rehearsal.result import Portability
from posinfo.report import build, render
from posinfo.report.findings import FindingText
from posinfo.report.inputs import Data, Inputs, Suite
from posinfo.tidy import csv_text

HERE = Path(__file__).parent
#: Text that would do harm if any of it were taken for markup.
HOSTILE = "<script>document.title = 'owned'</script> \"'><img src=x onerror=alert(1)> & {{ 7*7 }}"

#: A configuration of a rehearsal.
HASWELL = {"machine": HOSTILE, "profile": HOSTILE, "threads": 1}

_TITLES = {"case": "Case", "quantity": "Quantity", "subject": "Subject", "dtype": "Precision"}


def needed(name: str, found: str | None, advice: str) -> str:
    """The path of a program, or a failure in one line."""
    if not found:
        pytest.fail(f"{name} was not found: {advice}", pytrace=False)
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    given = os.environ.get("CHROMIUM", "")
    names = [given] if given else ["chromium", "chromium-browser", "google-chrome"]
    found = next((path for path in map(shutil.which, names) if path), None)
    return needed("Chromium", found, "install it, or name its program in CHROMIUM")


@pytest.fixture(scope="session")
def node() -> str:
    found = needed("node", shutil.which("node"), "install Node.js 20 or newer")
    modules = HERE / "node_modules" / "playwright-core"
    needed("playwright-core", str(modules) if modules.is_dir() else None, "npm ci in tests/report")
    return found


@pytest.fixture(scope="session")
def java() -> str:
    return needed("java", shutil.which("java"), "install a Java runtime, 11 or newer")


@dataclass(frozen=True)
class Tested:
    """A page, the folder that holds its results, and what a browser found on it."""

    name: str
    path: Path
    results: Path
    seen: dict[str, Any]


@pytest.fixture(scope="session")
def real_page(root: Path) -> Path:
    path = Path(os.environ.get("REPORT") or root / "report" / "index.html").resolve()
    if not path.is_file():
        pytest.fail(f"{path} is not there: run snakemake --cores 4 first", pytrace=False)
    return path


def row(case: str, relation: str = "within", **values: Any) -> dict[str, Any]:
    """A row of the suite ``norms`` as it is read."""
    return {
        "suite": "norms", "case": case, "quantity": "difference of norms", "subject": "rotate",
        "relation": relation, "measured": 1e-7, "reference": 0.0, "error": 1e-7, "bound": 1e-5,
        "ratio": 0.01, "outcome": "holds", "evidence": "float32", "basis": "rounding analysis",
        "measured_text": "", "reference_text": "", "contradicts": "", "dtype": "float32",
    } | values  # fmt: skip


def entry(claim: Claim, reproduced: str, **values: Any) -> dict[str, Any]:
    """A claim's row of the ledger."""
    return {
        "id": claim.id, "covers": " ".join(claim.covers), "kind": claim.kind,
        "recorded": claim.verdict, "reproduced": reproduced, "standing": "", "why": claim.why,
        "condition": claim.condition, "rejects": claim.rejects, "no_fault": claim.no_fault,
        "headline": claim.headline, "tightest_ratio": 0.01, "problem": "",
    } | values  # fmt: skip


def hostile_inputs(folder: Path) -> Inputs:
    """Every kind of claim, table and trouble, with hostile text wherever text can stand."""

    def claim(name: str, kind: str, covers: str, **values: Any) -> Claim:
        return Claim(
            id=name, covers=(covers,), lesson=covers[0], section=f"Part {HOSTILE}", kind=kind,
            statement=f"{name}: {HOSTILE}", file="claims.yaml", **{"why": HOSTILE} | values,
        )  # fmt: skip

    def rows_of(case: str, count: int) -> Selector:
        return Selector("norms", {"case": (case,)}, count)

    rows = [row(f"run {HOSTILE}", quantity=f"{n} {HOSTILE}", ratio=n / 10) for n in range(9)]
    rows += [
        row("breaks", "exceeds", bound=1e-6, error=1e-2, dtype="float16", basis=HOSTILE),
        row("text", "raises", measured=None, reference=None, error=None, bound=None, ratio=None,
            measured_text=HOSTILE, reference_text=HOSTILE, evidence="proof"),
        row("bad", outcome="fails", error=1.0, ratio=1e5),
        row("crash", "raises", outcome="error", measured=None, measured_text=HOSTILE),
    ]  # fmt: skip
    run = f"run {HOSTILE}"
    claims = [
        claim("kept", "computed", "A01", verdict="verified", supports=(rows_of(run, 9),),
              rejects=HOSTILE),
        claim("kept-in-part", "computed", "A02", verdict="conditional", condition=HOSTILE,
              differs_in=("dtype",), headline=HOSTILE, supports=(rows_of(run, 9),),
              breaks=(rows_of("breaks", 1),), related=("kept", "lost")),
        claim("lost", "computed", "A03", verdict="refuted", breaks=(rows_of("text", 1),)),
        claim("unclear", "computed", "B01", verdict="verified", supports=(rows_of("bad", 1),),
              no_fault=HOSTILE),
        claim("read", "source", "B02", verdict="contradicted",
              sources=(Source(HOSTILE, HOSTILE, HOSTILE, HOSTILE),)),
        claim("weighed", "judgement", "B03",
              weighs_for=(Weight("kept", HOSTILE), Weight("lost", HOSTILE)),
              weighs_against=(Weight("read", HOSTILE),)),
        claim("later", "awaiting", "B04", awaits=HOSTILE, why=""),
    ]  # fmt: skip
    verdicts = ["verified", "conditional", "refuted", "undecided", "read", "judgement", "awaiting"]
    ledger = [entry(one, verdict) for one, verdict in zip(claims, verdicts, strict=True)]
    ledger[3] |= {"problem": HOSTILE, "why": ""}
    fields = [{"name": name, "title": title} for name, title in _TITLES.items()]
    columns = [
        {"name": "word", "type": "string", "title": "Word", "description": HOSTILE},
        {"name": "number", "type": "number", "title": "Number", "unit": HOSTILE},
    ]
    records = [{"word": HOSTILE, "number": -1.25e-7}, {"word": "x", "number": 7.0}]
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="90pt" height="60pt"/>'

    def data(kind: str, key: str, covers: str, found: list[dict[str, Any]], **more: Any) -> Data:
        shown = [{name: one[name] for name in ("word", "number")} for one in found]
        content = csv_text(shown, ["word", "number"]).encode()
        path = folder / "results" / f"{kind}s" / f"{key}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        escaped = HOSTILE.replace("{{", "{{ '{{' }}")
        caption = Caption(
            key=key, kind=kind, lesson="both" if covers == "A99" else covers[0], section="Part",
            title=f"{key} {HOSTILE}", caption=f"Shows {escaped}", covers=(covers,),
            file="captions.yaml", alt=f"Drawn: {escaped}", text=f"Says {escaped}",
        )  # fmt: skip
        return Data(
            key, kind, f"results/{kind}s/{key}.csv", columns, caption, content, found, **more
        )

    drawn = {"svg": {"light": svg, "dark": svg}}
    literal = HOSTILE.replace("{{", "{{ '{{' }}")
    small = folder / "results" / "figures" / "finding-lost.csv"
    small.parent.mkdir(parents=True, exist_ok=True)
    small.write_text(csv_text([{"word": HOSTILE}], ["word"]), encoding="utf-8")
    answer = {
        "lesson": "A", "exercise": HOSTILE, "question": HOSTILE, "part": HOSTILE,
        "answer": HOSTILE, "claim": "kept", "word": HOSTILE, "number": 1.0,
    }  # fmt: skip
    return Inputs(
        suites=[Suite("norms", HOSTILE, {HOSTILE: HOSTILE}, fields, "norms.csv", "0" * 64)],
        rows=rows,
        claims=claims,
        inconsistencies=[
            Inconsistency("both", f"both {HOSTILE}", ("kept",), ("lost",), HOSTILE, ("read",))
        ],
        controls=[
            {
                "claim": "kept",
                "fault": HOSTILE,
                "outcome": "holds",
                "measured_text": "undecided",
                "reference_text": "undecided",
                "rows_asked": 9,
                "rows_lost": 1,
                "first_lost": HOSTILE,
                "found": HOSTILE,
            }
        ],
        controls_path="results/controls/claim-controls.csv",
        controls_digest="0" * 64,
        ledger=ledger,
        ledger_path="results/ledger.csv",
        ledger_digest="0" * 64,
        environments={
            name: {"packages": {HOSTILE: name}, "numerics": {"torch_threads": HOSTILE}}
            for name in ("norms", HOSTILE)
        },
        portability=Portability(
            [
                {**HASWELL, "suite": HOSTILE, "case": HOSTILE, **Changes(2, 1, 1).record()},
            ],
            [
                {
                    **HASWELL,
                    **Changes(2, 1, 1).record(),
                    "claims": 1,
                    "verdicts": 1,
                    "changed": HOSTILE,
                }
            ],
            {
                "emulator": HOSTILE,
                "packages": {"torch": HOSTILE},
                "reference": {"model": HOSTILE},
                "machines": {HOSTILE: HOSTILE},
                "left_out": {HOSTILE: HOSTILE},
            },
        ),
        portability_stands="stale",
        exhibits=[
            data("table", "words", "A01", records),
            data("figure", "curve", "A02", records, **drawn),
            data("table", "exercises", "A01", [answer]),
            data("table", "gone", "B01", [], problem=HOSTILE),
            data("figure", "undrawn", "A99", records, svg={"light": b"<not svg"}),
        ],
        problems=[f"results/suites/lost.csv: {HOSTILE}"],
        findings=[FindingText("lost", "lost", HOSTILE, f"States {literal}", f"Drawn: {literal}")],
        finding_drawings={"lost": {"light": svg, "dark": svg}},
        finding_files={"lost": small.read_bytes()},
    )


@pytest.fixture(scope="session")
def hostile() -> str:
    """The text that stands everywhere on the hostile page."""
    return HOSTILE


@pytest.fixture(scope="session")
def hostile_page(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile page")
    path = folder / "report" / "index.html"
    path.parent.mkdir()
    page = render(build(hostile_inputs(folder)), str(root / "workflow" / "report"))
    path.write_text(page, encoding="utf-8")
    return path


def browsed(command: list[str | Path]) -> dict[str, Any]:
    """What browse.mjs says, or a failure in one line."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.fail(
            f"the browser gave up on {command[3]}: {done.stderr.strip()[-2000:]}", pytrace=False
        )
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def browse(
    chromium: str, node: str, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path], dict[str, Any]]:
    """Open a page in the browser and say all that it saw; see browse.mjs."""

    def run(page: Path) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("browse")
        smuggled = (
            '<p id="smuggled" style="color: rgb(1, 2, 3)">smuggled</p>'
            "<script>globalThis.injected = 1; document.title = 'injected'</script>"
            '<img src="beacon.png" alt="" onerror="globalThis.injected = 2">'
        )
        text = page.read_text(encoding="utf-8")
        assert text.count("</main>") == 1
        injected = folder / "injected.html"
        injected.write_text(text.replace("</main>", f"{smuggled}</main>"), encoding="utf-8")
        seen = browsed([node, HERE / "browse.mjs", chromium, page, injected, folder])
        return seen | {"pdf": str(folder / "report.pdf")}

    return run


@pytest.fixture(scope="session", params=["real", "hostile"])
def page(request: pytest.FixtureRequest, browse: Callable[[Path], dict[str, Any]]) -> Tested:
    """The page that the pipeline made, then the hostile one; each is opened once."""
    path = request.getfixturevalue(f"{request.param}_page")
    return Tested(request.param, path, path.parents[1] / "results", browse(path))


#: Configurations whose pages show all that such a page can: two kinds of layers, methods with
#: blocks to paste, warnings and notes; and the slopes of ALiBi. The file's name is hostile.
MODELS = {
    "rotary": {
        "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
        "sliding_window": 1024,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear", "type": "linear"},
    },
    "alibi": {"model_type": "bloom", "hidden_size": 1024, "n_head": 16},
}  # fmt: skip


@pytest.fixture(scope="session", params=MODELS)
def model_page(
    request: pytest.FixtureRequest, root: Path, chromium: str, node: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Tested:  # fmt: skip
    """The page of ``posinfo model --html``, opened once."""
    content = json.dumps(MODELS[request.param]).encode()
    found = read_model(files.parse(content, HOSTILE))
    path = tmp_path_factory.mktemp("model") / "model.html"
    path.write_text(models_page(found, str(root / "workflow" / "report"), "0"), encoding="utf-8")
    seen = browsed([node, HERE / "browse.mjs", chromium, path])
    return Tested(request.param, path, path.parent, seen)
