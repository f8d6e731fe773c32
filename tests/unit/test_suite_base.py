"""How a suite records rows, and what becomes of a measurement that crashes."""

import math

import pytest
import torch

from posinfo.gate import row_lines
from posinfo.ledger import row_problem
from posinfo.rows import RELATIONS
from posinfo.suites.base import Recorder, Suite, describe

COMMON = {"subject": "x", "evidence": "float32", "basis": "b"}


@pytest.fixture
def rows() -> Recorder:
    return Recorder("s", "c", ("head_dim",))


def fail(message: str = "out of range"):
    raise IndexError(message)


def test_each_relation_is_recorded_under_its_name(rows):
    rows.within("within", 1.0, 1.1, bound=0.2, **COMMON)
    rows.exceeds("exceeds", 1.0, 2.0, bound=0.5, **COMMON)
    rows.equals("equals", 3, 3, **COMMON)
    rows.raises("raises", fail, "IndexError: out of range", **COMMON)
    assert rows.needs("needs", "1.0", "1.0", evidence="peer", basis="b")
    assert [row.relation for row in rows.rows] == list(RELATIONS)
    assert [row.decision.outcome for row in rows.rows] == ["holds"] * 5
    assert {(row.suite, row.case) for row in rows.rows} == {("s", "c")}


def test_the_same_numbers_the_other_way_round_fail(rows):
    rows.within("within", 1.0, 2.0, bound=0.5, **COMMON)
    rows.exceeds("exceeds", 1.0, 1.1, bound=0.2, **COMMON)
    rows.equals("equals", 3, 4, **COMMON)
    rows.raises("raises", fail, "IndexError: another message", **COMMON)
    rows.raises("raises, another type", fail, "ValueError: out of range", **COMMON)
    assert [row.decision.outcome for row in rows.rows] == ["fails"] * 5


@pytest.mark.parametrize("found", ["not installed", "1.0.1", "left out by the config"])
def test_a_package_that_is_not_there_in_its_version_is_not_run(rows, found):
    assert not rows.needs("needs", found, "1.0", evidence="peer", basis="b")
    [row] = rows.rows
    assert (row.decision.outcome, row.decision.ratio) == ("not run", None)
    assert (row.subject, row.measured_text, row.reference_text) == ("needs", found, "1.0")


def test_a_package_of_which_nothing_is_known_is_an_error(rows):
    assert not rows.needs("needs", "", "1.0", evidence="peer", basis="b")
    assert rows.rows[0].decision.outcome == "error"


def test_a_call_that_raises_nothing_fails_and_says_what_came_back(rows):
    rows.raises("look-up", lambda: torch.ones(1), "IndexError: out of range", **COMMON)
    assert rows.rows[0].decision.outcome == "fails"
    assert rows.rows[0].measured_text == "no error: returned Tensor"


def test_ctrl_c_is_no_measurement(rows):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows.raises("look-up", interrupted, "KeyboardInterrupt: ", **COMMON)
    suite = Suite("s", "t")
    suite.case("c")(lambda rows, parameters: interrupted())
    with pytest.raises(KeyboardInterrupt):
        suite.run({})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_none_gives_an_error_row(rows, value):
    rows.within("within", value, 1.0, bound=1.0, **COMMON)
    rows.exceeds("exceeds", value, 1.0, bound=1.0, **COMMON)
    rows.equals("equals", value, value, **COMMON)
    assert [row.decision.outcome for row in rows.rows] == ["error"] * 3


@pytest.mark.parametrize(
    "value", [None, "", torch.tensor(math.nan)], ids=["None", "empty", "tensor of NaN"]
)
def test_a_missing_value_never_equals_itself(rows, value):
    """Neither refused nor an error row, it would hold: evidence made of nothing."""
    try:
        rows.equals("equals", value, value, **COMMON)
    except (TypeError, ValueError):
        return
    assert rows.rows[0].decision.outcome == "error"


def test_numbers_are_kept_as_numbers_and_the_rest_as_text(rows):
    rows.equals("number", 3, 3.0, **COMMON)
    rows.equals("shape", "[2, 5]", "[2, 5]", **COMMON)
    number, shape = rows.rows
    assert (number.measured, number.reference, number.measured_text) == (3.0, 3.0, "")
    assert isinstance(number.measured, float)
    assert (shape.measured, shape.measured_text, shape.reference_text) == (None, "[2, 5]", "[2, 5]")


def test_two_rows_of_one_name_are_refused(rows):
    rows.equals("shape", "[2]", "[2]", **COMMON)
    with pytest.raises(ValueError, match="two rows named 'c / shape / x'"):
        rows.within("shape", 1.0, 1.0, bound=1.0, **COMMON)
    rows.equals("shape", "[2]", "[2]", **COMMON | {"subject": "another"})
    assert len(rows.rows) == 2


def test_a_column_that_the_suite_has_not_is_refused(rows):
    rows.equals("own column", 1, 1, head_dim=8, **COMMON)
    assert rows.rows[0].extra == {"head_dim": 8}
    with pytest.raises(ValueError, match="suite s has no column heads"):
        rows.equals("misspelt column", 1, 1, heads=8, **COMMON)
    assert len(rows.rows) == 1


def test_unknown_evidence_is_refused(rows):
    with pytest.raises(ValueError, match="unknown evidence 'hearsay'"):
        rows.equals("q", 1, 1, **COMMON | {"evidence": "hearsay"})
    assert rows.rows == []


def test_a_contradiction_names_the_row_as_the_gate_looks_for_it(rows):
    rows.exceeds("q", 2.0, 1.0, bound=0.5, contradicts=("case", "other", "y"), **COMMON)
    assert rows.rows[0].contradicts == "case / other / y"


def test_an_exception_is_described_in_one_line():
    assert describe(ValueError("two\nlines  of\r\ntext")) == "ValueError: two lines of text"


@pytest.fixture
def suite() -> Suite:
    suite = Suite("s", "A suite", columns=("head_dim",))

    @suite.case("z last by name")
    def good(rows, parameters):
        rows.equals("seed", parameters["seed"], 123, **COMMON)

    @suite.case("crashing")
    def crashing(rows, parameters):
        rows.equals("before the crash", 1, 1, **COMMON)
        raise RuntimeError("no\nmemory")

    @suite.case("a first by name")
    def other(rows, parameters):
        rows.equals("b", 1, 1, **COMMON)
        rows.equals("a", 1, 1, **COMMON)

    return suite


def test_a_crash_gives_an_error_row_and_keeps_everything_else(suite):
    said: list[str] = []
    rows = suite.run({"seed": 123}, say=said.append)
    outcomes = {(row.case, row.quantity): row.decision.outcome for row in rows}
    assert outcomes == {
        ("a first by name", "a"): "holds",
        ("a first by name", "b"): "holds",
        ("crashing", "before the crash"): "holds",
        ("crashing", "measurement completes"): "error",
        ("z last by name", "seed"): "holds",
    }
    (crash,) = (row for row in rows if row.decision.outcome == "error")
    assert crash.measured_text == "RuntimeError: no memory"
    assert crash.subject.endswith(".crashing")
    assert any("Traceback" in line and "no\nmemory" in line for line in said)


def test_a_crash_reaches_the_gate_with_its_subject(suite):
    records = [row.record() for row in suite.run({"seed": 123})]
    (line,) = row_lines(records)
    assert ".crashing" in line
    assert "RuntimeError: no memory" in line
    (crash,) = (record for record in records if record["outcome"] == "error")
    assert line == f"results/suites/s.csv: {row_problem(crash)}"


def test_a_wrong_parameter_is_a_crash_of_its_case_alone(suite):
    outcomes = {row.case: row.decision.outcome for row in suite.run({})}
    assert outcomes["z last by name"] == "error"
    assert outcomes["a first by name"] == "holds"


def test_a_row_named_twice_is_a_crash_of_its_case():
    suite = Suite("s", "t")

    @suite.case("c")
    def twice(rows, parameters):
        rows.equals("q", 1, 1, **COMMON)
        rows.equals("q", 2, 2, **COMMON)

    rows = suite.run({})
    assert [row.decision.outcome for row in rows] == ["error", "holds"]
    assert "two rows named 'c / q / x'" in rows[0].measured_text


def test_rows_are_sorted_by_their_key(suite):
    keys = [(row.case, row.quantity, row.subject) for row in suite.run({"seed": 123})]
    assert keys == sorted(keys)
    assert next(iter(suite.cases)) == "z last by name"


def test_one_case_can_be_measured_alone(suite):
    assert {row.case for row in suite.run({}, only="a first by name")} == {"a first by name"}
    with pytest.raises(KeyError):
        suite.run({}, only="a first by nam")


def test_two_cases_of_one_name_are_refused(suite):
    with pytest.raises(ValueError, match="suite s has two cases named 'crashing'"):
        suite.case("crashing")(lambda rows, parameters: None)
