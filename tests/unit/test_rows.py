"""The one decision about a row: what holds, what fails, and what is evidence for nothing."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from posinfo.rows import (
    COLUMNS,
    EVIDENCE,
    KEY,
    OUTCOMES,
    PASSING,
    RELATIONS,
    Decision,
    Row,
    decide,
    key_text,
)

UNUSABLE = [None, math.nan, math.inf, -math.inf]
FINITE = st.floats(allow_nan=False, allow_infinity=False)
POSITIVE = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
NUMERIC = ("within", "exceeds", "equals")
BOUNDED = ("within", "exceeds")


def usable(**changed: float | None) -> dict:
    """Arguments for which ``within``, ``exceeds`` and ``equals`` each come to a decision."""
    return {"measured": 2.0, "reference": 1.0, "bound": 0.5} | changed


@pytest.mark.parametrize("relation", NUMERIC)
def test_the_usable_arguments_are_decided(relation):
    assert decide(relation, **usable()).outcome in ("holds", "fails")


@pytest.mark.parametrize("relation", NUMERIC)
@pytest.mark.parametrize("side", ["measured", "reference"])
@pytest.mark.parametrize("value", UNUSABLE)
def test_a_side_that_is_no_number_is_evidence_for_nothing(relation, side, value):
    assert decide(relation, **usable(**{side: value})) == Decision("error", None, None)


@pytest.mark.parametrize("relation", BOUNDED)
@pytest.mark.parametrize("bound", [*UNUSABLE, 0.0, -0.0, -1e-300, -1.0])
def test_a_bound_that_is_no_positive_number_is_evidence_for_nothing(relation, bound):
    assert decide(relation, **usable(bound=bound)) == Decision("error", None, None)


@pytest.mark.parametrize("relation", BOUNDED)
def test_two_equal_unusable_sides_do_not_agree(relation):
    for value in UNUSABLE:
        assert decide(relation, measured=value, reference=value, bound=1.0).outcome == "error"


@pytest.mark.parametrize("relation", BOUNDED)
def test_a_difference_beyond_float64_is_evidence_for_nothing(relation):
    assert decide(relation, measured=1.7e308, reference=-1.7e308, bound=1.0).outcome == "error"


@given(FINITE, FINITE, POSITIVE)
def test_within_holds_up_to_its_bound(measured, reference, bound):
    error = abs(measured - reference)
    assume(math.isfinite(error))
    decision = decide("within", measured=measured, reference=reference, bound=bound)
    assert decision.outcome == ("holds" if error <= bound else "fails")
    assert decision.error == error
    assert decision.ratio == error / bound


@given(FINITE, FINITE, POSITIVE)
def test_exceeds_holds_from_its_bound_on(measured, reference, bound):
    error = abs(measured - reference)
    assume(math.isfinite(error) and error > 0)
    decision = decide("exceeds", measured=measured, reference=reference, bound=bound)
    assert decision.outcome == ("holds" if error >= bound else "fails")
    assert decision.error == error
    assert decision.ratio == bound / error


@given(st.sampled_from(BOUNDED), FINITE, FINITE, POSITIVE)
def test_a_row_that_holds_uses_at_most_its_whole_bound(relation, measured, reference, bound):
    decision = decide(relation, measured=measured, reference=reference, bound=bound)
    if decision.outcome == "holds":
        assert 0 <= decision.ratio <= 1
    elif decision.outcome == "fails" and decision.ratio is not None:
        assert decision.ratio >= 1


@given(st.sampled_from(BOUNDED), FINITE, FINITE, POSITIVE)
def test_measured_and_reference_are_symmetric(relation, measured, reference, bound):
    one = decide(relation, measured=measured, reference=reference, bound=bound)
    assert one == decide(relation, measured=reference, reference=measured, bound=bound)


@given(POSITIVE)
def test_a_difference_of_exactly_the_bound_is_within_and_exceeds(bound):
    for relation in BOUNDED:
        assert decide(relation, measured=bound, reference=0.0, bound=bound) == Decision(
            "holds", bound, 1.0
        )


@given(
    st.sampled_from(RELATIONS),
    st.none() | st.floats(),
    st.none() | st.floats(),
    st.none() | st.floats(),
    st.text(max_size=2),
    st.text(max_size=2),
)
def test_nothing_holds_without_two_usable_sides(
    relation, measured, reference, bound, measured_text, reference_text
):
    decision = decide(
        relation,
        measured=measured,
        reference=reference,
        bound=bound,
        measured_text=measured_text,
        reference_text=reference_text,
    )
    assert decision.outcome in OUTCOMES
    numbers = all(value is not None and math.isfinite(value) for value in (measured, reference))
    texts = bool(measured_text and reference_text)
    if decision.outcome == "holds":
        assert numbers if relation in BOUNDED else (numbers or texts)
    if decision.outcome == "error":
        assert decision.error is None
        assert decision.ratio is None


def test_exceeds_without_any_difference_fails():
    """No ratio either: a bound over a difference of nothing is no number."""
    decision = decide("exceeds", measured=1.0, reference=1.0, bound=1e-300)
    assert decision == Decision("fails", 0.0, None)


@given(FINITE, FINITE)
def test_equals_takes_numbers_bit_for_bit(measured, reference):
    decision = decide("equals", measured=measured, reference=reference)
    assert decision.outcome == ("holds" if measured == reference else "fails")
    assert decision.ratio is None
    beside = math.nextafter(measured, math.inf)
    assert decide("equals", measured=measured, reference=measured).outcome == "holds"
    if math.isfinite(beside):
        assert decide("equals", measured=measured, reference=beside).outcome == "fails"


@pytest.mark.parametrize("relation", ["equals", "raises"])
@pytest.mark.parametrize(
    ("measured", "reference", "outcome"),
    [
        ("[2, 5]", "[2, 5]", "holds"),
        ("[2, 5]", "[5, 2]", "fails"),
        ("[2, 5]", "[2, 5] ", "fails"),
        ("", "[2, 5]", "error"),
        ("[2, 5]", "", "error"),
        ("", "", "error"),
    ],
)
def test_texts_are_compared_whole(relation, measured, reference, outcome):
    decision = decide(relation, measured_text=measured, reference_text=reference)
    assert decision == Decision(outcome, None, None)


@pytest.mark.parametrize(
    ("found", "version", "outcome"),
    [
        ("5.24.0", "5.24.0", "holds"),
        ("5.24.1", "5.24.0", "not run"),
        ("not installed", "5.24.0", "not run"),
        ("", "5.24.0", "error"),
        ("5.24.0", "", "error"),
    ],
)
def test_a_package_is_there_in_its_version_or_not_run(found, version, outcome):
    decision = decide("needs", measured_text=found, reference_text=version)
    assert decision == Decision(outcome, None, None)


def test_nothing_but_a_package_is_not_run():
    assert "not run" in PASSING
    for relation in set(RELATIONS) - {"needs"}:
        for text in ("a", ""):
            found = decide(relation, measured_text=text, reference_text="b")
            assert found.outcome in ("fails", "error")
    for relation in NUMERIC:
        assert decide(relation, **usable()).outcome != "not run"


def test_a_number_is_not_compared_with_a_text():
    assert decide("equals", measured=1.0, reference_text="1.0").outcome == "error"
    assert decide("equals", reference=1.0, measured_text="1.0").outcome == "error"


def test_raises_takes_texts_only():
    assert decide("raises", measured=1.0, reference=1.0).outcome == "error"


@pytest.mark.parametrize("relation", ["", "Within", "less", "approximately"])
def test_an_unknown_relation_is_a_fault_of_the_suite(relation):
    with pytest.raises(ValueError, match=r"unknown relation .* allowed: within, exceeds"):
        decide(relation, **usable())


def row(**changed) -> Row:
    return Row(
        **{
            "suite": "s",
            "case": "c",
            "quantity": "q",
            "subject": "x",
            "relation": "within",
            "evidence": EVIDENCE[0],
            "basis": "b",
            "decision": Decision("holds", 0.25, 0.5),
            "measured": 1.25,
            "reference": 1.0,
            "bound": 0.5,
        }
        | changed
    )


def test_a_record_has_the_shared_columns_in_order_and_then_the_suites_own():
    record = row(extra={"head_dim": 8}).record()
    assert tuple(record) == (*COLUMNS, "head_dim")
    assert record["head_dim"] == 8
    assert (record["measured"], record["reference"], record["bound"]) == (1.25, 1.0, 0.5)


def test_a_record_takes_error_ratio_and_outcome_from_the_decision():
    record = row(decision=Decision("fails", 3.0, 6.0)).record()
    assert (record["error"], record["ratio"], record["outcome"]) == (3.0, 6.0, "fails")


def test_the_key_names_case_quantity_and_subject():
    assert KEY == ("case", "quantity", "subject")
    assert key_text("c", "q", "x") == "c / q / x"
