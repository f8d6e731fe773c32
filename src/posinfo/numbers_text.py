"""Numbers for readers: significant digits, in plain or scientific notation."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal


def significant(
    value: float | int | None,
    digits: int = 3,
    rounding: str = ROUND_HALF_EVEN,
    *,
    whole: bool = True,
) -> str:
    """A number to a few significant digits, as text.

    Small and large numbers come as ``4.8 × 10⁻⁷``, integers in full with thin grouping unless
    ``whole`` is false: they are then rounded like other numbers.

    >>> significant(0.000000476837, 2)
    '4.8 × 10⁻⁷'
    >>> significant(1048576)
    '1,048,576'
    >>> significant(1048576, whole=False)
    '1.05 × 10⁶'
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return str(value)
    if (whole or not value) and value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}".replace("-", "−")
    # Rounded first: 0.0099999 to one digit is 0.01, whose exponent is another.
    exact = Decimal(value)
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding)
    exponent = rounded.adjusted()
    if -4 <= exponent < 6:
        text = f"{rounded:,.{max(digits - 1 - exponent, 0)}f}"
    else:
        text = f"{rounded.scaleb(-exponent):.{digits - 1}f} × 10{_superscript(exponent)}"
    return text.replace("-", "−")


def at_most(value: float | int | None, digits: int = 3) -> str:
    """A number that the value does not exceed: rounded up.

    >>> at_most(1.742, 2)
    '1.8'
    """
    return significant(value, digits, ROUND_CEILING)


def at_least(value: float | int | None, digits: int = 3) -> str:
    """A number that the value does not fall short of: rounded down.

    >>> at_least(0.2264, 1)
    '0.2'
    """
    return significant(value, digits, ROUND_FLOOR)


def _superscript(number: int) -> str:
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
