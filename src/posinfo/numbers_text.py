"""Numbers for readers: significant digits, in plain or scientific notation."""

import math


def significant(value: float | int | None, digits: int = 3) -> str:
    """A number to a few significant digits, as text.

    Small and large numbers come as ``4.8 × 10⁻⁷``, integers in full with thin grouping.

    >>> significant(0.000000476837, 2)
    '4.8 × 10⁻⁷'
    >>> significant(1048576)
    '1,048,576'
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}".replace("-", "−")
    # Rounded first: 0.0099999 to one digit is 0.01, whose exponent is another.
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    exponent = int(power)
    if -4 <= exponent < 6:
        text = f"{float(f'{mantissa}e{power}'):,.{max(digits - 1 - exponent, 0)}f}"
    else:
        text = f"{mantissa} × 10{_superscript(exponent)}"
    return text.replace("-", "−")


def _superscript(number: int) -> str:
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
