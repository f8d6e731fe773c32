"""Numbers for readers: few digits, and never another number."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from posinfo.numbers_text import significant

_ASCII = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def value_of(text: str) -> float:
    """The number that a reader sees."""
    mantissa, _, power = text.replace(",", "").replace("−", "-").partition(" × 10")
    return float(mantissa) * 10.0 ** int(power.translate(_ASCII)) if power else float(mantissa)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (4.76837e-7, 2, "4.8 × 10⁻⁷"),
        (9.996e-7, 3, "1.00 × 10⁻⁶"),
        (-1.5e-12, 2, "−1.5 × 10⁻¹²"),
        (1.5e30, 2, "1.5 × 10³⁰"),
        (0.0001, 2, "0.00010"),
        (0.5, 3, "0.500"),
        (2.080083823, 4, "2.080"),
        (1234.5, 3, "1,230"),
        (0.0099999, 1, "0.01"),
        (999999.7, 3, "1.00 × 10⁶"),
        (1048576, 3, "1,048,576"),
        (1048576.0, 3, "1,048,576"),
        (0.0, 3, "0"),
        (-3.0, 3, "−3"),
        (None, 3, ""),
        ("[2, 5]", 3, "[2, 5]"),
        (math.nan, 3, "nan"),
        (math.inf, 3, "inf"),
    ],
)
def test_numbers_as_a_reader_sees_them(value, digits, text):
    assert significant(value, digits) == text


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 6), st.sampled_from([1, -1]))
def test_the_text_is_the_number_to_its_digits(size, digits, sign):
    value = sign * size
    text = significant(value, digits)
    assert abs(value_of(text) / value - 1) <= 0.5001 * 10.0 ** (1 - digits)


@given(st.integers(-(10**9) + 1, 10**9 - 1))
def test_whole_numbers_are_written_in_full(value):
    assert value_of(significant(value)) == value
    assert value_of(significant(float(value))) == value


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_no_number_is_written_as_python_writes_it(value):
    assert re.fullmatch(r"[\d,]+(\.\d+)?( × 10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", significant(value))
