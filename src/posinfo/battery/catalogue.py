"""The batteries of each kind of implementation, and the lessons' own checks beside them."""

from posinfo.battery import bias, cache, extension, lessons, rotary, tables
from posinfo.battery.base import Battery

#: By kind: the battery itself, and those that are asked beside it.
BATTERIES: dict[str, tuple[Battery, ...]] = {
    "rotary": (rotary.BATTERY, lessons.BATTERY, lessons.EXERCISE),
    "learned": (tables.LEARNED,),
    "sinusoidal": (tables.SINUSOIDAL,),
    "alibi": (bias.ALIBI,),
    "t5": (bias.T5_BIAS,),
    "extension": (extension.BATTERY,),
    "cache": (cache.BATTERY,),
}


def checks_of(kind: str) -> tuple[str, ...]:
    """Names of all checks that are asked of a kind, in order."""
    return tuple(name for battery in BATTERIES[kind] for name in battery.names())
