"""Published models: their pairs and turns, and what transformers makes of their configurations.

The tables of ``posinfo model`` against arbitrary precision, for every model of ``config/models``;
and its frequencies and attention factors beside those of transformers, for these models and for
configurations of every type that are drawn at random. Where the two differ on purpose a row says
so, and by how much.
"""

import copy
import importlib
import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from posinfo import scaling
from posinfo.extras import NEEDED
from posinfo.models import agreement, extend, generate, presets
from posinfo.models.configuration import read_model
from posinfo.models.files import Raw
from posinfo.models.model import Model, Rope
from posinfo.offline import QUIET
from posinfo.reference import rounding
from posinfo.reference import scaling as reference
from posinfo.reference.rounding import UNIT
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder, Suite

SUITE = Suite(
    "models",
    "Published models: pairs, turns, and what transformers makes of their configurations",
    columns=(
        "model", "layers", "type", "head_dim", "base", "trained_length", "stated_length", "factor",
        "pair", "wavelength", "turns", "angle", "inside", "share", "configurations", "cause",
    ),
)  # fmt: skip

_U32, _U64 = UNIT["float32"], UNIT["float64"]

#: Digits of the tables of pairs, which float64 holds with three to spare.
DIGITS = 12

_COUNT = "a count: the closed form in 50 digits must give the same"
_DIGITS = f"both to {DIGITS} digits: they may differ by one in the last"
_BOTH = (
    "rounding analysis, u = 2^-24, of the library's float32: power 2u, reciprocal u, and the "
    "type's own operations; ours is float64"
)
_ATTENTION = "rounding analysis, u = 2^-53: logarithms, quotient, sum and root, twice"
_MARGIN = "margin: ten times what rounding can do"
_PACKAGE = "transformers"


class Named(NamedTuple):
    """A rotary embedding of a published model, with the name that rows have for it."""

    name: str
    preset: presets.Preset
    model: Model
    rope: Rope

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that its rows share."""
        rope = self.rope
        return {
            "model": self.name, "layers": rope.layers, "head_dim": 2 * rope.turned,
            "base": rope.base, "trained_length": rope.seen, "stated_length": rope.stated,
            "type": self.preset.extension or rope.kind,
            "factor": None if rope.kind == "default" else rope.factor,
        }  # fmt: skip


def _rotary(parameters: Mapping[str, Any]) -> Iterator[Named]:
    """The rotary embeddings of the published models; the first of a model has its bare name."""
    for content in parameters["presets"]:
        preset = presets.from_content(content["key"], content)
        model = preset.model()
        for number, rope in enumerate(model.rope):
            name = preset.name if number == 0 else f"{preset.name}, {rope.layers}"
            yield Named(name, preset, model, rope)


# --- turns and pairs ----------------------------------------------------------------------------


@SUITE.case("turns of models")
def turns_of_models(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Turns within the trained length of published models; pairs that never complete one."""
    for named in _rotary(parameters):
        rope, name = named.rope, named.name
        dim, base, length = 2 * rope.turned, rope.base, rope.seen
        theta = scaling.none(dim, base, length, 1)
        own = reference.rounding_bounds("none", dim, base, length, 1)[-1] / _U32
        bound = rounding.gamma(own + 2)
        common = {
            "subject": "posinfo.scaling.none", "evidence": "float32", **named.columns,
        }  # fmt: skip
        longest = reference.wavelengths(dim, base)[-1]
        rows.within(
            f"longest wavelength, {name}", 2 * math.pi / theta[-1], longest,
            bound=bound * float(longest), pair=dim // 2 - 1, **common,
            basis="rounding analysis, u = 2^-24: the frequency, 2 pi and the quotient",
        )  # fmt: skip
        slowest = reference.turns(dim, base, length)[-1]
        rows.within(
            f"turns of the slowest pair, {name}", theta[-1] * (length / (2 * math.pi)), slowest,
            bound=bound * float(slowest), pair=dim // 2 - 1, **common,
            basis="rounding analysis, u = 2^-24: the frequency, L / (2 pi) and the product",
        )  # fmt: skip
        pairs = dim // 2
        count = _below_one_turn(theta, length)
        rows.equals(
            f"pairs that never complete a turn, {name}", count,
            reference.pairs_below_one_turn(dim, base, length),
            share=count / pairs, basis=_COUNT, **common,
        )  # fmt: skip
        # The count above would agree at zero too; this row would not hold.
        rows.exceeds(
            f"some pair never completes a turn, {name}", count, 0, bound=1,
            share=count / pairs, basis="a count that is not 0 is at least 1", **common,
        )  # fmt: skip
        # The contrast: the count can be zero, and is when training is long enough.
        enough = round(2 * longest)
        count = _below_one_turn(theta, enough)
        rows.equals(
            f"the same, were it trained on twice its longest wavelength, {name}", count,
            reference.pairs_below_one_turn(dim, base, enough),
            share=count / pairs, basis=_COUNT, **(common | {"trained_length": enough}),
        )  # fmt: skip


def _below_one_turn(theta: Tensor, length: int) -> float:
    """Pairs that make less than a full turn; NaN if a frequency is not finite."""
    if not bool(theta.isfinite().all()):
        return math.nan
    return float((theta.double() * length < 2 * math.pi).sum())


@SUITE.case("pairs of models")
def pairs_of_models(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Every pair of every published model: its frequency at the stated length."""
    for named in _rotary(parameters):
        rope = named.rope
        method, setting, options = agreement.reference_call(rope, rope.stated)
        exact = reference.frequencies(method, *setting, **options)
        outside = set(extend.outside(rope, rope.stated))
        for pair, (value, right) in enumerate(
            zip(rope.frequencies(), exact, strict=True)
        ):  # fmt: skip
            expected = _short(float(right))
            rows.within(
                f"frequency of pair {pair}, {named.name}", _short(value), expected,
                bound=10.0 ** (math.floor(math.log10(expected)) - DIGITS + 1) * (1 + 1e-3),
                subject="posinfo model", evidence="reference", basis=_DIGITS, pair=pair,
                wavelength=_short(2 * math.pi / value),
                turns=_short(rope.plain[pair] * rope.seen / (2 * math.pi)),
                angle=_short(value * (rope.farthest - 1)),
                inside="no" if pair in outside else "yes", **named.columns,
            )  # fmt: skip


def _short(value: float) -> float:
    """To :data:`DIGITS` digits: the last bits of a power vary between processors."""
    return float(f"{value:.{DIGITS}g}")


# --- agreement with transformers ----------------------------------------------------------------


@SUITE.case("libraries")
def which_libraries(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Whether transformers is there, in the version that the rows were made with."""
    rows.needs(
        _PACKAGE, parameters["packages"].get(_PACKAGE, ""), NEEDED["peers"][_PACKAGE],
        evidence="peer", basis="the pin of the extra peers",
    )  # fmt: skip


def _there(parameters: Mapping[str, Any]) -> bool:
    return parameters["packages"].get(_PACKAGE) == NEEDED["peers"][_PACKAGE]


class Theirs:
    """What transformers makes of a configuration, by its own classes."""

    def __init__(self) -> None:
        os.environ.update(QUIET)
        from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING

        # It warns of keys that are drawn here on purpose.
        logging.getLogger("transformers").setLevel(logging.ERROR)
        self._functions, self._configs = ROPE_INIT_FUNCTIONS, CONFIG_MAPPING

    def configuration(self, config: Mapping[str, Any]) -> Any:
        """An object of the family's class; what it is given is copied, for it changes that."""
        values = {key: copy.deepcopy(value) for key, value in config.items()}
        return self._configs[values.pop("model_type")](**values)

    def frequencies(
        self, config: Mapping[str, Any], layers: str, length: int
    ) -> tuple[list[float], float]:
        """Frequencies [d/2] in effect at a length, and the attention factor."""
        family = config["model_type"]
        if family == "gptj":
            from transformers.models.gptj import modeling_gptj

            # A table of sines and cosines: the first position gives the frequencies.
            table = modeling_gptj.create_sinusoidal_positions(2, config["rotary_dim"])
            half = config["rotary_dim"] // 2
            sines, cosines = table[1, :half].double(), table[1, half:].double()
            return torch.atan2(sines, cosines).tolist(), 1.0
        made = self.configuration(config)
        blocks = made.rope_parameters
        nested = layers in blocks
        more = {"layer_type": layers} if nested else {}
        kind = (blocks[layers] if nested else blocks)["rope_type"]
        if kind == "default":
            found, factor = self._rotation(family).compute_default_rope_parameters(made, **more)
        else:
            found, factor = self._functions[kind](made, device="cpu", seq_len=length, **more)
        return found.double().tolist(), float(factor)

    @staticmethod
    def _rotation(family: str) -> Any:
        name = family.removesuffix("_text")
        module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        # Another family's class is in the module too where one is imported there.
        own = [value for value in vars(module).values()
               if isinstance(value, type) and value.__module__ == module.__name__
               and hasattr(value, "compute_default_rope_parameters")]  # fmt: skip
        return own[0]


@cache
def _theirs() -> Theirs:
    return Theirs()


class Compared(NamedTuple):
    """The pair that uses most of its bound: relative difference, bound, index; and factors."""

    error: float
    bound: float
    pair: int
    ours: float
    theirs: float

    @property
    def used(self) -> float:
        """How much of the bound is used; NaN counts as all of it."""
        used = self.error / self.bound
        return math.inf if math.isnan(used) else used

    @property
    def agrees(self) -> bool:
        """Whether frequencies and attention factors agree within their bounds."""
        return self.used <= 1 and abs(self.ours - self.theirs) <= _attention_bound(self.ours)


def _attention_bound(factor: float) -> float:
    return 2 * rounding.gamma(8, _U64) * factor


@cache
def _bounds(
    method: str, setting: tuple[Any, ...], options: tuple[tuple[str, Any], ...]
) -> list[float]:
    """Relative bound on a float32 frequency of theirs against a float64 one of ours."""
    found = reference.rounding_bounds(method, *setting, turn_roundings=3, **dict(options))
    # Ours has the same roundings, with a smaller unit, and a few more.
    return [bound * (1 + _U64 / _U32) + rounding.gamma(8, _U64) for bound in found]


def compared(config: Mapping[str, Any], rope: Rope, length: int) -> Compared:
    """A rotary embedding beside theirs at a length.

    Raises
    ------
    ValueError
        If they rotate another number of pairs, or let others stand still.
    """
    found, factor = _theirs().frequencies(config, rope.layers, length)
    ours = rope.frequencies(length)
    if [value == 0 for value in found] != [value == 0 for value in ours]:
        raise ValueError(f"{len(found)} pairs of theirs are not the {len(ours)} of ours")
    method, setting, options = agreement.reference_call(rope, length)
    bounds = _bounds(method, setting, tuple(options.items()))
    if config["model_type"] == "gptj":
        # From a sine and a cosine, each good to 2u: d phi <= 2 (2u) sin(phi) cos(phi).
        bounds = [bound + rounding.gamma(4) for bound in bounds]
    worst = Compared(0.0, 1.0, 0, rope.attention, factor)
    for pair, (mine, other, bound) in enumerate(zip(ours, found, bounds, strict=True)):
        if mine:
            one = Compared(abs(other / mine - 1), bound, pair, rope.attention, factor)
            worst = max(worst, one, key=lambda each: (each.used, each.bound * (each.error > 0)))
    return worst


def _lengths(rope: Rope) -> Sequence[int]:
    """Where a type may change its frequencies: within its trained length, and beyond."""
    return rope.trained, max(rope.stated, 2 * rope.trained)


def _subject(kind: str) -> str:
    return f"transformers ROPE_INIT_FUNCTIONS[{kind}]" if kind != "default" else "transformers"


@SUITE.case("agreement, published")
def published(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Published models: frequencies and attention factors beside those of transformers."""
    if not _there(parameters):
        return
    for named in _rotary(parameters):
        rope = named.rope
        found = compared(named.preset.config, rope, rope.stated)
        common = {
            "subject": _subject(rope.kind), "evidence": "peer",
            **named.columns | {"type": rope.kind},
        }  # fmt: skip
        rows.within(
            f"relative difference of frequencies, {named.name}", found.error, 0,
            bound=found.bound, pair=found.pair, basis=_BOTH, **common,
        )  # fmt: skip
        rows.within(
            f"attention factor, {named.name}", found.ours, found.theirs,
            bound=_attention_bound(found.ours), basis=_ATTENTION, **common,
        )  # fmt: skip


@SUITE.case("agreement, drawn")
def drawn(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Configurations of every type, drawn at random: how many agree, and the one nearest not to."""
    if not _there(parameters):
        return
    count = parameters["configurations"]
    for kind in generate.KINDS:
        random = Random(f"{parameters['seed']} {kind}")  # noqa: S311  (no secret)
        agree, worst = 0, Compared(0.0, 1.0, 0, 1.0, 1.0)
        for _ in range(count):
            config = generate.configuration(random, kind)
            model = read_model(Raw("a drawn configuration", config, kind))
            found = [
                compared(config, rope, length) for rope in model.rope for length in _lengths(rope)
            ]
            agree += all(one.agrees for one in found)
            worst = max(worst, *found, key=lambda one: one.used)
        common = {
            "subject": "transformers" if kind == "nested" else _subject(kind),
            "evidence": "peer", "type": kind, "configurations": count,
        }  # fmt: skip
        rows.equals(
            f"configurations that agree, {kind}", agree, count,
            basis="a count: frequencies and attention factors within their bounds", **common,
        )  # fmt: skip
        rows.within(
            f"relative difference of frequencies, {kind}", worst.error, 0, bound=worst.bound,
            basis=f"{_BOTH}; the pair of all configurations that uses most of its bound", **common,
        )  # fmt: skip


@SUITE.case("agreement, known differences")
def known_differences(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Configurations that transformers is known to read otherwise, and what that comes to."""
    if not _there(parameters):
        return
    for known in agreement.KNOWN:
        model = read_model(Raw("an example", known.config, known.name))
        rope = next(one for one in model.rope if one.layers == known.layers)
        length = known.length or rope.stated
        found, _ = _theirs().frequencies(known.config, known.layers, length)
        ours = rope.frequencies(length)
        method, setting, options = agreement.reference_call(rope, length)
        allowed = max(_bounds(method, setting, tuple(options.items())))
        apart = [abs(other / mine - 1) for mine, other in zip(ours, found, strict=True)]
        pair = max(range(len(apart)), key=apart.__getitem__)
        rows.exceeds(
            f"largest relative difference of a frequency, {known.name}", apart[pair], 0,
            bound=CONTRADICTION_MARGIN * allowed, pair=pair, type=rope.kind, basis=_MARGIN,
            subject=known.side, evidence="peer", cause=known.cause,
        )  # fmt: skip
