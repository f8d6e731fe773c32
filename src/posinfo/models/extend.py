"""What each method would make of a model at 2, 4 and 8 times its trained length."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from posinfo.models import frequencies
from posinfo.models.model import Rope

FACTORS = (2, 4, 8)

#: The methods in the order of the output, by their names in :data:`posinfo.scaling.METHODS`.
METHODS = {
    "none": "as trained",
    "pi": "interpolation (PI)",
    "ntk": "NTK-aware",
    "dynamic_ntk": "dynamic NTK",
    "yarn": "YaRN",
    "llama3": "Llama 3.1",
    "abf": "ABF",
}

#: How many times the base grows under ABF, as that of Llama 2 did: Xiong et al. (2023).
ABF_GROWTH = 50.0


@dataclass(frozen=True)
class Extension:
    """A method at a factor.

    Attributes
    ----------
    method, name, factor
        Which it is: its key, its name for people, and how many times longer the context becomes.
    length
        The longer context in positions.
    rope
        The rotary embedding that it makes.
    block
        The ``rope_parameters`` to paste.
    stated
        The ``max_position_embeddings`` to go with it.
    outside
        Pairs that reach an angle never trained; see :func:`outside`.
    """

    method: str
    name: str
    factor: int
    length: int
    rope: Rope
    block: dict[str, Any]
    stated: int
    outside: tuple[int, ...]


def outside(rope: Rope, length: int, before: Rope | None = None) -> list[int]:
    """Pairs that reach an angle never trained, in a context of a length.

    Those that made less than a turn within the trained length L, and whose angle at the last
    position reaches the one that RoPE as trained has at L, the first position never trained.
    Attention sees differences of positions: a window, where layers have one, bounds both. The
    definition of :func:`posinfo.reference.scaling.outside_pairs`.

    Parameters
    ----------
    before
        The rotary embedding as it was trained; the same, unscaled, if not given.

    Returns
    -------
    list of int
        Indices of the pairs, in order.
    """
    trained = (before or rope).plain
    last = min(length, rope.window or length) - 1
    return [
        pair
        for pair, (own, after) in enumerate(zip(trained, rope.frequencies(length), strict=True))
        if 0 < own * rope.seen < 2 * math.pi and last * after >= rope.seen * own
    ]


def never_turning(rope: Rope) -> list[int]:
    """Pairs that rotate and never complete a turn within the trained length."""
    return [pair for pair, value in enumerate(rope.plain) if 0 < value * rope.seen < 2 * math.pi]


def extended(rope: Rope, method: str, factor: int) -> Rope | None:
    """The rotary embedding of the same model, extended from its trained length.

    Returns
    -------
    Rope or None
        None where the method has no meaning: a change of base for a single pair, and all but
        interpolation where part of the pairs stands still.
    """
    plain = replace(
        rope, kind="default", factor=1.0, stated=factor * rope.trained, attention=1.0, implied=1.0,
        softmax=1.0, options={},
    )  # fmt: skip
    part = rope.turned < rope.pairs
    if part:
        kinds = {"none": 1.0, "pi": float(factor)}
        if method not in kinds:
            return None
        return replace(plain, kind="proportional", factor=kinds[method])
    if rope.dim == 2 and method in ("ntk", "dynamic_ntk"):
        return None
    match method:
        case "none":
            return plain
        case "pi":
            return replace(plain, kind="linear", factor=float(factor))
        case "ntk":
            return replace(plain, base=frequencies.ntk_base(rope.dim, rope.base, factor))
        case "abf":
            return replace(plain, base=rope.base * ABF_GROWTH)
        case "dynamic_ntk":
            return replace(plain, kind="dynamic", factor=float(factor))
        case "yarn":
            attention = frequencies.mscale(factor)
            usual = {"beta_fast": frequencies.BETA_FAST, "beta_slow": frequencies.BETA_SLOW,
                     "truncate": True}  # fmt: skip
            own = {**usual, **(rope.options if rope.kind == "yarn" else {})}
            return replace(
                plain, kind="yarn", factor=float(factor), options=own, attention=attention,
                implied=attention,
            )  # fmt: skip
        case "llama3":
            usual = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
            own = {**usual, **(rope.options if rope.kind == "llama3" else {})}
            return replace(plain, kind="llama3", factor=float(factor), options=own)
    raise ValueError(f"{method} is no method of this module")


def block(rope: Rope) -> dict[str, Any]:
    """The ``rope_parameters`` that ask for a rotary embedding."""
    made: dict[str, Any] = {"rope_type": rope.kind, "rope_theta": rope.base}
    if rope.kind != "default" and not (rope.kind == "proportional" and rope.factor == 1):
        made["factor"] = rope.factor
    if rope.kind in ("yarn", "llama3", "longrope"):
        made["original_max_position_embeddings"] = rope.trained
    usual = {"beta_fast": frequencies.BETA_FAST, "beta_slow": frequencies.BETA_SLOW,
             "truncate": True}  # fmt: skip
    for key, value in rope.options.items():
        if value != usual.get(key):
            made[key] = list(value) if isinstance(value, tuple) else value
    if rope.attention != rope.implied:
        made["attention_factor"] = rope.attention
    if rope.share != 1:
        made["partial_rotary_factor"] = rope.share
    return made


def extensions(rope: Rope, factors: Sequence[int] = FACTORS) -> list[Extension]:
    """Every method at every factor, from the trained length on."""
    found = []
    for method, name in METHODS.items():
        for factor in factors:
            made = extended(rope, method, factor)
            if made is None:
                continue
            length = factor * rope.trained
            # Dynamic scaling takes the stated length for the trained one.
            stated = rope.trained if method in ("none", "dynamic_ntk") else length
            left = tuple(outside(made, length, rope))
            found.append(Extension(method, name, factor, length, made, block(made), stated, left))
    return found
