"""What a difference between trained decoders must exceed to be more than their seeds.

The one rule for every verdict that rests on training: over the seeds, the mean of their paired
differences against the half-width of its 95 % interval by Student's t, and never less than
:data:`LEAST`, so that a difference that nobody would care about decides nothing.
"""

import math
from collections.abc import Sequence

#: Nats below which no difference decides anything.
LEAST = 0.05

#: 97.5 % quantiles of Student's t by degrees of freedom (Student 1908; any table of t has them).
T = {
    2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228,
    11: 2.201,
}  # fmt: skip


def half_width(differences: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the mean of a few differences, one a seed.

    Raises
    ------
    ValueError
        If there are fewer than 3, or more than 12.
    """
    count = len(differences)
    if count - 1 not in T:
        raise ValueError(f"3 to 12 seeds have a spread here, got {count}")
    mean = math.fsum(differences) / count
    square = math.fsum((one - mean) ** 2 for one in differences) / (count - 1)
    return T[count - 1] * math.sqrt(square / count)


def margin(differences: Sequence[float], least: float = LEAST) -> float:
    """What the mean of the differences must exceed; see the module."""
    return max(half_width(differences), least)


def basis(count: int) -> str:
    """The rule in words, for rows."""
    return (
        f"the spread over {count} seeds: half the 95 % interval of the mean of their differences, "
        f"and at least {LEAST} nats"
    )
