"""Parts of `posinfo check` that need no process of their own; the command: tests/check."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from rich.console import Console

from posinfo.battery import forms
from posinfo.battery.signatures import AXES, FORMS, recognise
from posinfo.check.result import CheckInfo, Finding, Nearest, Result
from posinfo.check.show import claimed, listed, plain, show
from posinfo.check.statements import decide
from posinfo.check.target import Target, check_exists, parse
from posinfo.claims import Claim
from posinfo.errors import InputError
from posinfo.schemas import load_yaml


def by(function, named=None):
    return recognise(function, "it", named)


@pytest.mark.parametrize(
    ("function", "form"),
    [
        (lambda x, positions: 0, "positions"),
        (lambda q, pos, theta=1.0: 0, "positions"),
        (lambda tensor, position_ids, *, base=1.0: 0, "positions"),
        (lambda x, angles: 0, "angles"),
        (lambda xq, xk, freqs_cis: 0, "freqs_cis"),
        (lambda query, key, cos, sin: 0, "cos_sin"),
        (lambda q, k, cos, sin, position_ids=None, unsqueeze_dim=1: 0, "cos_sin"),
        (lambda sin, cos, k, q, other=3: 0, "cos_sin"),
    ],
)
def test_a_form_is_recognised_by_its_names(function, form):
    assert by(function).form.name == form


@pytest.mark.parametrize(
    "function", [lambda x: 0, lambda a, b: 0, lambda x, cos, sin: 0, lambda x, positions, y: 0, max]
)
def test_another_form_is_refused_and_the_forms_are_named(function):
    with pytest.raises(InputError, match="--signature") as error:
        by(function)
    assert all(form.text in str(error.value) for form in FORMS.values())


def test_a_named_form_takes_the_parameters_in_their_order():
    signature = by(lambda u, v, *, b=1.0: 0, "positions")
    assert signature.parameters == {"x": "u", "positions": "v", "base": "b"}
    assert by(lambda *many: 0, "angles").parameters == {"x": "", "angles": ""}


def adapted(function, *, axes=None, named=None):
    return forms.subject(function, by(function, named), name="it", axes=axes)


@pytest.mark.parametrize("shape", [(5, 8), (2, 5, 8), (2, 3, 5, 8)])
@pytest.mark.parametrize("axes", AXES)
def test_axes_go_there_and_back(axes, shape):
    seen = []

    def rotate(x, positions):
        seen.append(x)
        return x

    x = torch.arange(float(torch.Size(shape).numel())).view(shape)
    q, k = adapted(rotate, axes=axes).turn(x, x + 1, torch.arange(5), 1.0)
    assert torch.equal(q, x)
    assert torch.equal(k, x + 1)
    dimensions = {"td": len(shape), "btd": 3, "bhtd": 4, "bthd": 4}
    # The last calls: those before ask which positions it takes.
    assert seen[-1].dim() == dimensions[axes]
    assert seen[-1].shape[1 if axes == "bthd" else -2] == 5
    assert seen[0].is_contiguous()


def test_what_stands_along_the_heads_stays_there():
    """[B, T, h, d]: the numbers of one head and position must come back to them."""

    def mark(x, positions):
        length, heads = x.shape[1:3]
        return torch.arange(length * heads).view(1, length, heads, 1).expand(x.shape).float()

    q, _ = adapted(mark, axes="bthd").turn(*[torch.zeros(1, 3, 5, 2)] * 2, torch.arange(5), 1.0)
    assert q[0, 2, 4, 0] == 4 * 3 + 2


def test_rows_by_number_come_in_another_order_than_the_positions():
    given = {}

    def rotate(q, k, cos, sin, position_ids):
        given.update(cos=cos, ids=position_ids)
        return q, k

    adapted(rotate).turn(*[torch.ones(1, 4, 8)] * 2, torch.arange(4), 10_000.0)
    rows = given["cos"][given["ids"][0]]
    assert torch.allclose(rows[:, 0], torch.arange(4.0).cos())
    assert not torch.equal(given["cos"], rows)


@pytest.mark.parametrize("text", ["", "rope.py", "rope.py:", ":rotate", "rope.py:a b", "a:b-c"])
def test_a_target_of_another_form_is_refused(text):
    with pytest.raises(InputError, match=r"as in rope\.py:rotate"):
        parse(text)


def test_a_target_may_hold_colons_and_dots():
    assert parse("C:/a b/rope.py:Rope.turn") == ("C:/a b/rope.py", "Rope.turn")


@pytest.mark.parametrize(
    "text",
    [
        "from math import *",
        "globals()['turn'] = 1",
        "def __getattr__(name): ...",
        "turn = 1",
        "import turn",
        "from a import b as turn",
        "if True:\n    def turn(): ...",
    ],
)
def test_what_running_the_file_may_define_is_left_to_that(tmp_path, text):
    file = tmp_path / "rope.py"
    file.write_text(text)
    check_exists(Target(str(file), "turn"))


def claim(name, covers, verdict="verified"):
    return Claim(name, (covers,), "A", "s", "computed", f"{name}.", "f", verdict=verdict)


def result(*findings, known=()):
    found = Result(Target("rope.py", "rotate"), text="f(x, angles)", axes="td")
    found.known = [
        CheckInfo("one", "does one", "", ["A01", "A02"]),
        CheckInfo("two", "does two", "", ["A02"]),
        *known,
    ]
    found.findings = list(findings)
    return found


def test_a_statement_holds_if_all_that_decides_it_does():
    claims = [
        claim("conditional", "A01", "conditional"),
        claim("first", "A01"),
        claim("both", "A02"),
    ]
    held, failed = Finding("one", "holds"), Finding("two", "fails", "no")
    found = result(held, failed)
    assert {c.id: c.outcome for c in decide(found, claims)} == {
        "first": "holds",
        "both": "check fails",
    }
    found = result(held, Finding("two", "not asked"))
    assert {c.id: c.outcome for c in decide(found, claims)}["both"] == "not asked"
    found = result(held)
    found.known[1] = CheckInfo("two", "does two", "", ["A02"], asked=False)
    assert {c.id: c.outcome for c in decide(found, claims)}["both"] == "not asked"


def test_of_statements_on_a_failing_check_nothing_but_that_is_said():
    found = result(Finding("one", "holds"), Finding("two", "fails", "no"))
    found.claims = decide(found, [claim("first", "A01"), claim("both", "A02")])
    assert claimed(found) == [
        "✓ statements of the lessons that hold for it: A01",
        "✗ statements of the lessons that rest on a check that fails:",
        "    two: A02",
    ]


def test_without_a_finding_of_use_nothing_is_said_of_statements():
    claims = [claim("first", "A01"), claim("both", "A02")]
    assert decide(result(Finding("one", "not asked"), Finding("two", "not asked")), claims) == []
    found = result(Finding("one", "holds"), Finding("two", "fails", "no"))
    found.other_axes = "bthd"
    assert decide(found, claims) == []


def test_checks_that_were_not_asked_for_one_reason_are_one_line():
    found = result(
        Finding("one", "not asked", "a"), Finding("two", "not asked", "a"),
        Finding("three", "not asked", "b"), Finding("four", "holds"), Finding("five", "holds"),
    )  # fmt: skip
    assert [name for name, _ in listed(found)] == ["2 checks", "three", "four", "five"]


def test_an_end_in_a_check_keeps_what_was_found():
    found = result(Finding("one", "holds"), known=[CheckInfo("three", "does three", "", [])])
    found.ended("two", "hangs")
    found.complete()
    assert [(f.check, f.outcome) for f in found.findings] == [
        ("one", "holds"), ("two", "fails"), ("three", "not asked"),
    ]  # fmt: skip
    assert not found.good


def test_nothing_asked_is_not_good():
    assert not result(Finding("one", "not asked"), Finding("two", "not asked")).good
    assert result(Finding("one", "holds"), Finding("two", "not asked")).good


def test_infinity_is_text_in_json():
    found = result(Finding("one", "fails", "x", float("inf"), 1e-7), Finding("two", "holds"))
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert (record["checks"][0]["measured"], record["checks"][0]["bound"]) == ("inf", 1e-7)


@pytest.mark.parametrize("terminal", [False, True])
def test_marks_are_no_colours_and_words_no_markup(terminal):
    found = result(Finding("one", "fails", "[red]\x1b[31m \udc80 a"), Finding("two", "holds"))
    found.nearest = Nearest("angle of the wrong sign", "Turn it.\nOr so.", "", 0.9)
    stream = io.StringIO()
    show(found, Console(file=stream, width=100, force_terminal=terminal, highlight=False))
    text = stream.getvalue()
    assert "✗ fails" in text
    assert "✓ holds" in text
    assert r"[red]\x1b[31m \udc80 a" in text
    assert "behaves most like: angle of the wrong sign\n    Turn it.\n    Or so." in text
    assert ("\x1b[" in text) is terminal
    assert plain("a\nb é 10⁻⁷") == r"a\nb é 10⁻⁷"


def test_the_configs_schema_knows_the_forms_and_axes(root):
    schema = load_yaml(root / "workflow" / "schemas" / "config.schema.yaml")
    entry = schema["properties"]["implementations"]["items"]["properties"]
    assert entry["signature"]["enum"] == list(FORMS)
    assert entry["axes"]["enum"] == list(AXES)


def test_ctrl_c_ends_both_processes_without_a_traceback(tmp_path, child_environment):
    (tmp_path / "rope.py").write_text(
        "import os, time\n"
        "with open('pid.new', 'w') as file:\n    file.write(str(os.getpid()))\n"
        "os.rename('pid.new', 'pid')\n"
        "time.sleep(1000)\n"
        "def rotate(x, positions): ...\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "posinfo", "check", "rope.py:rotate"],
        cwd=tmp_path, env=child_environment, stderr=subprocess.PIPE, text=True,
        # A shell has its background jobs ignore Ctrl-C, and their children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (tmp_path / "pid").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    assert process.returncode not in (0, 1)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
