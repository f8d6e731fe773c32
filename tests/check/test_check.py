"""`posinfo check` on right and on wrong functions, in every form that it takes.

The functions stand in files of their own, in right/ and wrong/: each is called ``rotate``.
"""

import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

#: Options of right functions that need some.
OPTIONS = {
    "other_axes": {"axes": "bthd"},
    "partial": {"rotary_dim": 32},
    "table_of_4096": {"last_position": 4095},
    "odd_names": {"signature": "positions"},
    "position_ids": {"axes": "bhtd"},
}

#: What must reject each wrong function, a part of the words, and the fault that it is like.
WRONG = {
    "angles_mixed": ("pair norms", "", "half-split tables on adjacent pairs"),
    "angles_other_way": ("direction", "turns the other way round", "angle of the wrong sign"),
    "angles_reflection": ("position zero", "largest move", "reflection"),
    "angles_swapped": ("position zero", "largest move", "sine and cosine swapped"),
    "angles_term_missing": ("pair norms", "", "one sine term missing"),
    "at_random": ("repeatable", "the same call twice gives two results", "not deterministic"),
    "base_ignored": ("second base", "base 500,000", "base ignored"),
    "bfloat16_positions": ("far positions", "at position 257", "positions in bfloat16"),
    "cis_along_the_heads": (
        "batch shapes", "x of shape [2, 5, 5, 8]", "positions along the heads when they fit",
    ),
    "cis_conjugate": ("direction", "turns the other way round", "angle of the wrong sign"),
    "cis_one_row": ("near positions", "", "one row for all positions"),
    "cis_one_tensor": ("runs", "returns one tensor of shape [1, 5, 1, 8]", None),
    "cis_queries_alone": ("positions count", "no difference to k", "queries alone rotated"),
    "clamped": ("far positions", "", "positions clamped at 4,096"),
    "complex_result": ("runs", "returns complex numbers (complex64)", None),
    "contiguous": ("any order", "", "positions taken as contiguous"),
    "degrees": ("near positions", "", "angles in degrees"),
    "exits": ("runs", "raises SystemExit: done", None),
    "exponent_over_half": ("near positions", "", "exponent over half the width"),
    "exponent_without_two": ("near positions", "", "exponent without the two"),
    "first_base_kept": ("no memory", "base 500,000", "table of the first base kept"),
    "float64_result": ("dtype", "float64 from float32", "float64 result"),
    "forks": ("runs", "starts another process (os.fork)", None),
    "four_axes_alone": ("runs", "raises ValueError: not enough values", None),
    "fractions_cut_off": ("fractional positions", "", "fractions cut off"),
    "from_one": ("position zero", "", "positions start at one"),
    "half_rotated": ("whole width", "rotates the first 4 of 8", "half of the width rotated"),
    "input_changed": ("input untouched", "changes its input: q, k", "input changed in place"),
    "interrupts": ("runs", "raises KeyboardInterrupt", None),
    "last_pair_off": ("near positions", "pair 3 of width 8", None),
    "not_put_back": ("position zero", "", "pairs not put back"),
    "other_way": ("direction", "turns the other way round", "angle of the wrong sign"),
    "overwritten": ("pair norms", "", "first component overwritten"),
    "positions_ignored": ("positions count", "no difference to q and k", "positions ignored"),
    "prints": ("prints nothing", "prints 'rotating (2, 8)'", "prints"),
    "prints_below_python": ("prints nothing", "prints 'from below'", "prints"),
    "prints_once": ("keeps to itself", "prints 'table made'", None),
    "raises": ("runs", "raises ValueError: not [bold]today[/bold]", None),
    "raises_far_out": ("table end", "ends after position 2,047", "table ends at 4,096"),
    "returns_none": ("runs", "returns None", "returns None"),
    "reversed_frequencies": ("near positions", "", "frequencies in reverse order"),
    "seeds": ("keeps to itself", "changes the state of torch's random numbers", None),
    "stacked": ("shape", "returns shape [2, 3, 5, 4, 2]", "pairs left apart"),
    "starts_threads": ("keeps to itself", "starts a thread", None),
    "table_of_4096": ("table end", "ends after position 4,095", "table ends at 4,096"),
    "tables_added": ("linear", "", "code added instead of turned"),
    "tables_ids_ignored": ("near positions", "", "one row for all positions"),
    "tables_keys_other_way": ("q and k alike", "", "keys turned the other way"),
    "tables_normalised": ("q and k alike", "", "queries normalised"),
    "tables_other_way": ("direction", "turns the other way round", "angle of the wrong sign"),
    "tables_temperature": ("pair norms", "", "temperature left on"),
    "twice": ("near positions", "", "applied twice"),
}  # fmt: skip

#: These end their process, or never do: the command alone can be asked about them.
ALONE = {
    "crashes": ("table end", "crashes the interpreter (SIGSEGV)"),
    "ends_process": ("runs", "ends the process (exit status 0)"),
    "hangs": ("fractional positions", "hangs: no answer within 5 s"),
}


def files(kind: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted((HERE / kind).glob("*.py"))}


@pytest.fixture(scope="module")
def events(child_environment, tmp_path_factory, worker_id) -> dict[str, list[dict]]:
    """What is found out about every function that leaves its process alive."""
    if worker_id == "master":
        return asked(child_environment)
    # Workers side by side share one folder: the first asks, the others wait and read.
    place = tmp_path_factory.getbasetemp().parent / "checked.json"
    with open(place, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if not file.read():
            json.dump(asked(child_environment), file)
            file.flush()
    return json.loads(place.read_text(encoding="utf-8"))


def asked(environment: dict[str, str]) -> dict[str, list[dict]]:
    requests = {}
    for kind in ("right", "wrong"):
        for name, path in files(kind).items():
            if name in ALONE:
                continue
            options = OPTIONS.get(name, {}) if kind == "right" else {}
            requests[f"{kind}/{name}"] = {
                "target": {"file": str(path), "function": "rotate", **options},
                "only": None,
                "nearest": True,
            }
    return many(requests, environment)


def many(requests: dict[str, dict], environment: dict[str, str]) -> dict[str, list[dict]]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "many.py")],
        input=json.dumps(requests), capture_output=True, text=True, check=True, timeout=300,
        env=environment,
    )  # fmt: skip
    return json.loads(done.stdout)


def findings(events: list[dict]) -> dict[str, dict]:
    assert events[-1] == {"event": "end"}, events[-1]
    return {event["check"]: event for event in events if event["event"] == "finding"}


def of(events: list[dict], kind: str) -> list[dict]:
    return [event for event in events if event["event"] == kind]


def test_there_are_as_many_as_promised_in_all_four_forms(events):
    assert len(files("right")) >= 10
    assert len(files("wrong")) >= 40
    for kind in ("right", "wrong"):
        forms = {
            of(found, "loaded")[0]["form"]
            for name, found in events.items()
            if name.startswith(kind)
        }
        assert forms == {"positions", "angles", "freqs_cis", "cos_sin"}
    assert set(WRONG) | set(ALONE) == set(files("wrong"))


@pytest.mark.parametrize("name", files("right"))
def test_a_right_function_passes(events, name):
    found = events[f"right/{name}"]
    rejecting = {check: f["words"] for check, f in findings(found).items()
                 if f["outcome"] == "fails"}  # fmt: skip
    assert rejecting == {}
    assert len(findings(found)) > 20
    assert not of(found, "nearest")
    half_split = name in {
        "float64_inside", "lesson_a_half_split", "transformers", "transformers_ids",
        "transformers_half_width", "transformers_squeezed",
    }  # fmt: skip
    assert of(found, "layout")[0]["layout"].startswith("half-split" if half_split else "adjacent")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_rejected_and_named(events, name):
    check, words, like = WRONG[name]
    found = events[f"wrong/{name}"]
    finding = findings(found)[check]
    assert finding["outcome"] == "fails"
    assert words in finding["words"]
    nearest = of(found, "nearest")
    assert [event["name"] for event in nearest] == ([like] if like else [])
    for event in nearest:
        # What fails the same checks may be another fault: its hint might mislead.
        assert (event["hint"] != "") == (event["compared"] == "results")
        assert len(event["hint"].splitlines()) <= 2
    if name in ("at_random", "tables_added"):
        assert [event["compared"] for event in nearest] == ["checks"]


@pytest.mark.parametrize(
    ("name", "layout", "batched"),
    [
        ("transformers", "halves concatenated", True),
        ("transformers_pairwise", "repeated pairwise", True),
        ("transformers_half_width", "half the width", False),
        ("transformers_ids", "halves concatenated", False),
        ("transformers_squeezed", "halves concatenated", True),
    ],
)
def test_the_tables_that_fit_are_found(events, name, layout, batched):
    [tables] = of(events[f"right/{name}"], "tables")
    assert (tables["layout"], tables["batched"]) == (layout, batched)


def test_of_one_that_does_not_run_nothing_else_is_said(events):
    for name in ("raises", "returns_none", "cis_one_tensor"):
        found = findings(events[f"wrong/{name}"])
        failing = [check for check, finding in found.items() if finding["outcome"] == "fails"]
        assert failing == ["runs"]
        assert found["direction"]["outcome"] == "not asked"
        assert found["direction"]["words"] == "it does not run"


def test_positions_with_a_batch_are_noted(events):
    notes = {name: [n["words"] for n in of(found, "noted")] for name, found in events.items()}
    assert {name for name, words in notes.items() if words} == {"right/position_ids"}
    assert notes["right/position_ids"] == ["takes positions with a batch, [B, T]"]


def test_a_function_that_would_be_right_with_other_axes_is_told_so(events):
    assert [event["axes"] for event in of(events["wrong/four_axes_alone"], "axes")] == ["bhtd"]
    assert not of(events["wrong/other_way"], "axes")


def test_ready_angles_decide_nothing_about_frequencies(events):
    def decided(name: str) -> set[str]:
        [loaded] = of(events[name], "loaded")
        return {statement for check in loaded["checks"] for statement in check["decides"]}

    assert {"A24", "B20"} <= decided("right/adjacent")
    assert not {"A24", "B20"} & decided("right/lesson_a")
    assert "B23" in decided("right/lesson_a")


# --- the command ------------------------------------------------------------------------------


def posinfo(
    *arguments: object, cwd: Path = HERE, **environment: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "posinfo", "check", *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")} | environment,
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        ["right/adjacent.py:rotate"],
        ["right/lesson_a.py:rotate"],
        ["right/lesson_b.py:rotate"],
        ["right/transformers.py:rotate"],
        ["right/odd_names.py:rotate", "--signature", "positions"],
        ["right/partial.py:rotate", "--rotary-dim", "32"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_right_function_gives_0(arguments):
    done = posinfo(*arguments)
    assert done.returncode == 0, done.stdout
    assert done.stderr == ""
    assert "✗" not in done.stdout
    assert "✓ holds" in done.stdout
    assert "\x1b" not in done.stdout
    assert "✓ statements of the lessons that hold for it: A20 " in done.stdout


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("angles_other_way", "behaves like: angle of the wrong sign"),
        ("cis_queries_alone", "behaves like: queries alone rotated"),
        ("tables_normalised", "behaves like: queries normalised"),
        ("four_axes_alone", "posinfo check wrong/four_axes_alone.py:rotate --axes bhtd"),
        (
            "last_pair_off",
            "pair 3 of 4 alone is wrong (at width 8, counted from 0): its angle is 1.01",
        ),
        ("raises", "not [bold]today[/bold]\\x1b[31m"),
    ],
)
def test_a_wrong_function_gives_1_and_advice(name, says):
    done = posinfo(f"wrong/{name}.py:rotate")
    assert done.returncode == 1, done.stdout
    assert says in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout


def test_of_what_does_not_run_the_line_is_named_and_little_else():
    done = posinfo("wrong/raises.py:rotate")
    lines = done.stdout.splitlines()
    source = (HERE / "wrong" / "raises.py").read_text(encoding="utf-8").splitlines()
    raised = next(n for n, line in enumerate(source, 1) if "raise " in line)
    [runs] = [line for line in lines if line.startswith("✗ fails")]
    assert runs.endswith(f", at raises.py:{raised}")
    assert [" ".join(line.split()) for line in lines if line.startswith("–")] == [
        "– not asked 25 checks not asked: it does not run"
    ]
    assert lines[-1] == "27 checks: 1 holds, 1 fails, 25 not asked"
    assert len(lines) < 10


def test_of_what_other_axes_make_right_that_is_said_first():
    lines = posinfo("wrong/four_axes_alone.py:rotate").stdout.splitlines()
    assert lines[1].startswith("with other axes everything holds: ")
    assert not [line for line in lines if "statements" in line]


@pytest.mark.parametrize("name", ALONE)
def test_a_function_that_takes_its_process_along_is_a_finding(name):
    check, words = ALONE[name]
    done = posinfo(f"wrong/{name}.py:rotate", "--json", "--timeout", "5")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    result = json.loads(done.stdout)
    outcomes = {one["check"]: one["outcome"] for one in result["checks"]}
    names = list(outcomes)
    at = names.index(check)
    # What was found before is kept, and what comes after was not asked.
    assert {outcomes[name] for name in names[:at]} <= {"holds"}
    assert outcomes[check] == "fails"
    assert {outcomes[name] for name in names[at + 1 :]} <= {"not asked"}
    assert words in result["checks"][at]["words"]


def test_json_has_every_key_and_all_digits():
    done = posinfo("wrong/table_of_4096.py:rotate", "--json")
    assert done.returncode == 1
    result = json.loads(done.stdout)
    assert list(result) == [
        "schema", "file", "function", "outcome", "form", "axes", "tables", "layout", "rotary_dim",
        "last_position", "counts", "checks", "claims", "diagnosis", "nearest_fault",
        "right_with_axes", "notes",
    ]  # fmt: skip
    assert (result["schema"], result["outcome"]) == (1, "fails")
    for check in result["checks"]:
        assert list(check) == ["check", "promise", "outcome", "measured", "bound", "unit", "words",
                               "notes"]  # fmt: skip
    norms = next(check for check in result["checks"] if check["check"] == "pair norms")
    assert 0 < norms["measured"] <= norms["bound"] < 1e-6
    assert len(str(norms["measured"])) > 12
    outcomes = {claim["id"]: claim["outcome"] for claim in result["claims"]}
    assert outcomes["rope-needs-no-table"] == "check fails"
    assert outcomes["rope-rotates-and-adds-nothing"] == "holds"
    assert result["nearest_fault"]["name"] == "table ends at 4,096"


def test_one_check_alone():
    done = posinfo("wrong/other_way.py:rotate", "--only", "shape", "--only", "direction", "--json")
    assert done.returncode == 1
    assert [c["check"] for c in json.loads(done.stdout)["checks"]] == ["shape", "direction"]
    assert posinfo("wrong/other_way.py:rotate", "--only", "shape").returncode == 0


class Tags(HTMLParser):
    """Every tag, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_the_page_escapes_whatever_the_function_says(tmp_path):
    file = tmp_path / "<b>&'\".py"
    file.write_text(
        "def rotate(x, positions):\n    raise ValueError('<script>alert(1)</script> {{ 7*7 }}')\n"
    )
    page = tmp_path / "page.html"
    done = posinfo(f"{file}:rotate", "--html", page)
    assert done.returncode == 1, done.stderr
    text = page.read_text(encoding="utf-8")
    found = Tags(text)
    assert "script" not in found.tags
    assert "b" not in found.tags
    assert "<script>alert(1)</script> {{ 7*7 }}" in found.text
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "It does not hold" in text


def test_the_page_begins_with_what_fails_and_what_to_do(tmp_path):
    page = tmp_path / "page.html"
    posinfo("wrong/from_one.py:rotate", "--html", page)
    text = page.read_text(encoding="utf-8")
    top = Tags(text[text.index("<main") : text.index("Findings</h2>")]).text
    places = [top.index(words) for words in (
        "position zero: largest move", "and ", " more", "positions start at one", "adjacent pairs",
    )]  # fmt: skip
    assert places == sorted(places)
    # What was found stands beside the property: on a phone the numbers are beyond the edge.
    heads = re.findall('<th scope="?col[^>]*>([^<]*)', text[text.index("Findings</h2>") :])
    assert heads[:2] == ["Property", "Finding"]


GOOD = "def rotate(x, positions): ...\n"


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        ("", ["absent.py:rotate"], "absent.py: does not exist"),
        ("", ["rope.py"], "rope.py: name a file and a function in it, as in rope.py:rotate"),
        ("", ["rope.py:"], "rope.py:: name a file and a function in it"),
        ("", [".:rotate"], ".: is a folder"),
        ("def rotate(x, positions:\n", ["rope.py:rotate"], "rope.py line 1: is not Python: '('"),
        (
            "def turn(x, positions): ...\n",
            ["rope.py:tunr"],
            "rope.py: has no 'tunr': did you mean 'turn'?",
        ),
        (
            "\nimport no_such_module\n" + GOOD,
            ["rope.py:rotate"],
            "rope.py line 2: cannot be imported: ModuleNotFoundError: No module named",
        ),
        (
            "import os\nos._exit(3)\n" + GOOD,
            ["rope.py:rotate"],
            "rope.py: cannot be imported: ends the process (exit status 3)",
        ),
        (GOOD, ["rope.py:rotate", "--signature", "angle"], "did you mean 'angles'?"),
        (GOOD, ["rope.py:rotate", "--axes", "thd"], "--axes: 'thd' is unknown"),
        (GOOD, ["rope.py:rotate", "--rotary-dim", "7"], "--rotary-dim: 7 must be even"),
        (GOOD, ["rope.py:rotate", "--last-position", "9"], "9 must be from 255"),
        (GOOD, ["rope.py:rotate", "--timeout", "0"], "--timeout: 0 must be"),
        (GOOD, ["rope.py:rotate", "--only", "norms"], "there is no check 'norms': did you mean"),
        (GOOD, ["rope.py:rotate", "--html", "no/page.html"], "the folder no does not exist"),
    ],
)
def test_what_cannot_be_run_gives_2_and_one_line(tmp_path, content, arguments, says):
    if content:
        (tmp_path / "rope.py").write_text(content, encoding="utf-8")
    done = posinfo(*arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("posinfo: ")
    assert says in line
    assert {path.name for path in tmp_path.iterdir()} <= {"rope.py"}


#: Files that the other process refuses: content, what is declared, and what it says.
REFUSED = {
    "exits": ("import sys\nsys.exit(3)\n" + GOOD, {}, "line 2: cannot be imported: SystemExit: 3"),
    "no callable": ("rotate = 3\n", {}, "is not callable: it is a value of type int"),
    "class": ("class rotate: ...\n", {}, "is a class: name a function, or an instance"),
    "no form": (
        "def rotate(a, b, *, c): ...\n",
        {},
        "f(a, b, *, c) is none of the forms that can be checked: f(x, positions[, base])",
    ),
    "one tensor": ("def rotate(x, cos, sin): ...\n", {}, "is none of the forms"),
    "too few": ("def rotate(a): ...\n", {"signature": "angles"}, "takes 1 parameters"),
    "too many": (
        "def rotate(a, b, c): ...\n",
        {"signature": "angles"},
        "needs a parameter 'c', which f(x, angles) does not give",
    ),
    "later": ("exec('turn = 1')\n", {}, "has no 'rotate'"),
    "attribute": ("class rotate: ...\n", {"function": "rotate.turn"}, "has no attribute 'turn'"),
}


def test_what_the_other_process_refuses_is_one_line(tmp_path, child_environment):
    requests = {}
    for name, (content, declared, _) in REFUSED.items():
        file = tmp_path / f"{name}.py"
        file.write_text(content, encoding="utf-8")
        target = {"file": str(file), "function": "rotate"} | declared
        requests[name] = {"target": target, "only": None, "nearest": True}
    for name, events in many(requests, child_environment).items():
        [last] = of(events, "refused")
        assert events[-1] == last
        assert last["problem"].startswith(str(tmp_path / f"{name}.py"))
        assert REFUSED[name][2] in last["problem"], last["problem"]
        assert "\n" not in last["problem"]


def test_files_of_the_same_names_as_libraries_are_no_trap(tmp_path):
    for name in ("torch.py", "json.py", "random.py", "posinfo.py"):
        (tmp_path / name).write_text("raise RuntimeError('the wrong one')\n")
    text = (HERE / "right" / "adjacent.py").read_text(encoding="utf-8")
    (tmp_path / "rope.py").write_text(text + "\nimport beside  # noqa\n", encoding="utf-8")
    (tmp_path / "beside.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "posinfo", "check", "rope.py:rotate"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_of_the_function_outlives_the_check(tmp_path):
    (tmp_path / "rope.py").write_text(
        "import os, time\n"
        "def rotate(x, positions):\n"
        "    if os.fork() == 0:\n"
        "        with open('pid', 'w') as file:\n"
        "            file.write(str(os.getpid()))\n"
        "        time.sleep(1000)\n"
        "    while not os.path.exists('pid'):\n"
        "        time.sleep(0.01)\n"
        "    return x\n"
    )
    assert posinfo("rope.py:rotate", cwd=tmp_path).returncode == 1
    pid = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_the_readme_shows_what_the_command_prints():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.partition("<!-- check -->\n```console\n$ posinfo check ")[2]
    command, _, expected = block.partition("\n```\n<!-- /check -->")[0].partition("\n")
    done = posinfo(*shlex.split(command), cwd=ROOT)
    assert done.returncode == 1
    assert done.stdout == f"{expected}\n"
