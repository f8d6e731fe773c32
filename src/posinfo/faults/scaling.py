"""Faulty context extension, and the right methods that the library holds."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from posinfo import scaling
from posinfo.battery.extension import METHODS, Extension
from posinfo.faults.base import Fault


def _library(method: str) -> Extension:
    held = scaling.METHODS[method]
    return Extension("library", method, held.frequencies, held.attention_factor)


#: Right implementations, by kind and name.
RIGHT: dict[str, dict[str, Callable[[], Any]]] = {
    "extension": {method: partial(_library, method) for method in METHODS}
}

# --- right parts, written anew, that the faults are made of -----------------------------------


def _rope(dim: int, base: float) -> Tensor:
    return 1 / base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim)


def _yarn_range(dim: int, base: float, length: float) -> tuple[float, float]:
    def pair(turns: float) -> float:
        return dim * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    return max(math.floor(pair(32)), 0), min(math.ceil(pair(1)), dim - 1)


def _kept(dim: int, low: float, high: float) -> Tensor:
    return 1 - ((torch.arange(dim // 2) - low) / (high - low)).clamp(0, 1)


def _blend(theta: Tensor, factor: float, kept: Tensor) -> Tensor:
    return theta / factor * (1 - kept) + theta * kept


def _temperature(factor: float, length: int = 0) -> float:
    return 0.1 * math.log(factor) + 1


def _yarn(dim, base, length, factor):
    return _blend(_rope(dim, base), factor, _kept(dim, *_yarn_range(dim, base, length)))


def _turns(theta: Tensor, length: float) -> Tensor:
    return theta * length / (2 * math.pi)


# --- faults ---------------------------------------------------------------------------------------


def _ramp_inverted(dim, base, trained, factor):
    return _blend(_rope(dim, base), factor, 1 - _kept(dim, *_yarn_range(dim, base, trained)))


def _wavelengths_blended(dim, base, trained, factor):
    theta = _rope(dim, base)
    kept = _kept(dim, *_yarn_range(dim, base, trained))
    return theta / ((1 - kept) * factor + kept)


def _ramp_over_dimensions(dim, base, trained, factor):
    low, high = _yarn_range(dim, base, trained)
    kept = 1 - ((torch.arange(0, dim, 2) - low) / (high - low)).clamp(0, 1)
    return _blend(_rope(dim, base), factor, kept)


def _stated_length(dim, base, trained, factor):
    kept = _kept(dim, *_yarn_range(dim, base, factor * trained))
    return _blend(_rope(dim, base), factor, kept)


def _changed_base_kept(dim, base, trained, factor):
    kept = _kept(dim, *_yarn_range(dim, base, trained))
    changed = _rope(dim, base * factor ** (dim / (dim - 2)))
    return _rope(dim, base) / factor * (1 - kept) + changed * kept


def _no_ramp(dim, base, trained, factor):
    low, high = _yarn_range(dim, base, trained)
    kept = (torch.arange(dim // 2) < (low + high) / 2).float()
    return _blend(_rope(dim, base), factor, kept)


def _limits_not_clamped(dim, base, trained, factor):
    step = 2 * math.log(base) / dim
    low, high = (math.log(trained / (turns * 2 * math.pi)) / step for turns in (32, 1))
    return _blend(_rope(dim, base), factor, _kept(dim, math.floor(low), math.ceil(high)))


def _code_for_paper(dim, base, trained, factor):
    return _yarn(dim, base, trained, factor)


def _wavelength_ramp(dim, base, trained, factor):
    theta = _rope(dim, base)
    wavelength = 2 * math.pi / theta
    short, long = trained / 4, trained / 1
    kept = 1 - ((wavelength - short) / (long - short)).clamp(0, 1)
    return _blend(theta, factor, kept)


def _factors_swapped(dim, base, trained, factor):
    theta = _rope(dim, base)
    kept = ((_turns(theta, trained) - 4) / (1 - 4)).clamp(0, 1)
    return _blend(theta, factor, kept)


def _without_two_pi(dim, base, trained, factor):
    theta = _rope(dim, base)
    return _blend(theta, factor, ((theta * trained - 1) / (4 - 1)).clamp(0, 1))


def _discarded(dim, base, trained, factor):
    return _rope(dim, base)


def _base_times_factor(dim, base, trained, factor):
    return _rope(dim, base * factor)


def _half_exponent(dim, base, trained, factor):
    return _rope(dim, base * factor ** (dim / 2 / (dim / 2 - 2)))


def _positions_and_base(dim, base, trained, factor):
    return _rope(dim, base * factor ** (dim / (dim - 2))) / factor


def _multiplied(dim, base, trained, factor):
    return _rope(dim, base) * factor


def _slow_half(dim, base, trained, factor):
    theta = _rope(dim, base)
    return torch.where(torch.arange(dim // 2) < dim // 4, theta, theta / factor)


def _always(dim, base, trained, factor, **options):
    grown = factor * factor - (factor - 1)
    return _rope(dim, base * grown ** (dim / (dim - 2)))


def _not_started_at_one(dim, base, trained, factor, **options):
    current = max(options.get("length") or factor * trained, trained)
    return _rope(dim, base * (factor * current / trained) ** (dim / (dim - 2)))


def _shrinking(dim, base, trained, factor, **options):
    current = options.get("length") or factor * trained
    grown = factor * current / trained - (factor - 1)
    return _rope(dim, base * max(grown, 1e-3) ** (dim / (dim - 2)))


class _Ratchet:
    """Dynamic NTK that keeps the base of the longest sequence it has met."""

    def __init__(self) -> None:
        self.longest: dict[tuple[int, float], float] = {}

    def __call__(self, dim, base, trained, factor, **options):
        current = max(options.get("length") or factor * trained, trained)
        current = self.longest[dim, base] = max(self.longest.get((dim, base), 0.0), current)
        grown = factor * current / trained - (factor - 1)
        return _rope(dim, base * grown ** (dim / (dim - 2)))


def _another_base_times_factor(dim, base, trained, factor, *, new_base=500_000.0):
    return _rope(dim, new_base * factor)


def _longrope(dim, base, trained, factor, *, short_factor, long_factor, current, swapped=False):
    long = current > trained
    divisors = long_factor if long != swapped else short_factor
    return _rope(dim, base) / torch.tensor(divisors, dtype=torch.float32)


def _lists_swapped(dim, base, trained, factor, **options):
    current = options.pop("length", None) or factor * trained
    return _longrope(dim, base, trained, factor, current=current, swapped=True, **options)


def _long_list_always(dim, base, trained, factor, **options):
    options.pop("length", None)
    return _longrope(dim, base, trained, factor, current=math.inf, **options)


def _lists_multiplied(dim, base, trained, factor, **options):
    current = options.pop("length", None) or factor * trained
    theta = _rope(dim, base)
    return theta**2 / _longrope(dim, base, trained, factor, current=current, **options)


def _right_longrope(dim, base, trained, factor, **options):
    current = options.pop("length", None) or factor * trained
    return _longrope(dim, base, trained, factor, current=current, **options)


def _pi(dim, base, trained, factor):
    return _rope(dim, base) / factor


def _squared(factor: float, length: int = 0) -> float:
    return _temperature(factor) ** 2


def _longrope_factor(factor: float, length: int) -> float:
    return math.sqrt(1 + math.log(factor) / math.log(length))


def _common_logarithm(factor: float, length: int = 0) -> float:
    return 0.1 * math.log10(factor) + 1


def _without_root(factor: float, length: int) -> float:
    return 1 + math.log(factor) / math.log(length)


def _one(factor: float, length: int = 0) -> float:
    return 1.0


def _extension(
    method: str,
    frequencies: Callable[..., Tensor],
    attention_factor: Callable[..., float] = _one,
    replaces: dict[str, Callable[..., Any]] | None = None,
) -> dict[str, Any]:
    return {
        "kind": "extension",
        "make": partial(Extension, "faulty", method, frequencies, attention_factor),
        "replaces": {f"posinfo.scaling.{name}": by for name, by in (replaces or {}).items()},
    }


def _inverted_in_place(pairs, low, high, *, dtype):
    return ((torch.arange(pairs, dtype=dtype) - low) / (high - low)).clamp(0, 1)


def _over_dimensions_in_place(pairs, low, high, *, dtype):
    return 1 - ((2 * torch.arange(pairs, dtype=dtype) - low) / (high - low)).clamp(0, 1)


def _wavelengths_in_place(frequency, factor, kept):
    return frequency / ((1 - kept) * factor + kept)


def _always_in_place(factor, length, trained_length):
    return factor * factor - (factor - 1)


# The library's functions take symbols too, with the logarithm of symbols.
def _squared_in_place(factor, *, log=math.log):
    return (log(factor) / 10 + 1) ** 2


def _common_logarithm_in_place(factor, *, log=math.log):
    return log(factor) / log(10) / 10 + 1


def _no_ramp_in_place(pairs, low, high, *, dtype):
    return (torch.arange(pairs) < (low + high) / 2).to(dtype)


def _wavelength_ramp_in_place(frequency, trained_length, *, alpha, beta):
    wavelength = 2 * math.pi / frequency
    short, long = trained_length / beta, trained_length / alpha
    return 1 - ((wavelength - short) / (long - short)).clamp(0, 1)


def _factors_swapped_in_place(frequency, trained_length, *, alpha, beta):
    return ((_turns(frequency, trained_length) - beta) / (alpha - beta)).clamp(0, 1)


def _without_two_pi_in_place(frequency, trained_length, *, alpha, beta):
    return ((frequency * trained_length - alpha) / (beta - alpha)).clamp(0, 1)


def _discarded_in_place(frequency, trained_length, *, alpha, beta):
    return torch.ones_like(frequency)


_ENDS, _BLEND, _VALUES = "first and last pair", "blend", "frequencies"
_PUBLISHED, _ATTENTION, _LENGTH, _ONE = (
    "published values", "attention factor", "current length", "factor one",
)  # fmt: skip

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="yarn ramp inverted",
        stage="scaling",
        wrong="Fast pairs are interpolated and slow ones kept; the other way round is right.",
        seen="Not seen as a repaired report; the reference masks the complement of its ramp "
        "(jquesnelle/yarn, 1 - linear_ramp_mask), and the complement is easily left out.",
        hint="The ramp grows with the number of the pair: one minus it is what is kept.",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _BLEND, _VALUES, "falling", _PUBLISHED),
        **_extension("yarn", _ramp_inverted, _temperature,
                     {"kept_by_index": _inverted_in_place}),
    ),
    Fault(
        name="yarn blend of wavelengths",
        stage="scaling",
        wrong="Wavelengths are blended; frequencies are, and between them the two differ.",
        seen="jquesnelle/yarn#24 proposes it; mlx-node/mlx-node#60 has it in a port.",
        hint="Blend theta / s and theta themselves.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES, _PUBLISHED),
        **_extension("yarn", _wavelengths_blended, _temperature,
                     {"blend": _wavelengths_in_place}),
    ),
    Fault(
        name="yarn ramp over dimensions",
        stage="scaling",
        wrong="The ramp counts dimensions, two a pair, against limits that count pairs.",
        seen="Not seen as a report; jquesnelle/yarn#60 asks what the ramp counts.",
        hint="Count pairs, 0 to d/2 - 1.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES, _PUBLISHED),
        **_extension("yarn", _ramp_over_dimensions, _temperature,
                     {"kept_by_index": _over_dimensions_in_place}),
    ),
    Fault(
        name="yarn with the stated length",
        stage="scaling",
        wrong="The ramp's limits come from the extended length; those of training are right.",
        seen="huggingface/transformers 4.48.3 (see #38224), NVIDIA/Megatron-LM#1418.",
        hint="Use original_max_position_embeddings for the limits.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES, _PUBLISHED),
        **_extension("yarn", _stated_length, _temperature),
    ),
    Fault(
        name="yarn fast pairs from a changed base",
        stage="scaling",
        wrong="Pairs that are kept take the base of NTK-aware scaling; they keep their own.",
        seen="paiml/aprender#2161.",
        hint="Blend the trained frequencies with themselves over the factor, and nothing else.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES, _PUBLISHED),
        **_extension("yarn", _changed_base_kept, _temperature),
    ),
    Fault(
        name="yarn without a ramp",
        stage="scaling",
        wrong="Pairs are kept or interpolated, with a step between; the blend is left out.",
        seen="Not seen in public; stands for methods by parts whose middle part is missing.",
        hint="Blend linearly between the two limits.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES, _PUBLISHED),
        **_extension("yarn", _no_ramp, _temperature, {"kept_by_index": _no_ramp_in_place}),
    ),
    Fault(
        name="yarn limits not clamped",
        stage="scaling",
        wrong="The ramp's limits are used as they come out, below pair 0 too; a short trained "
        "length then interpolates the fastest pairs.",
        seen="Not seen in public; the reference clamps to 0 and d - 1 (jquesnelle/yarn).",
        hint="Clamp the limits before the ramp.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES),
        **_extension("yarn", _limits_not_clamped, _temperature),
    ),
    Fault(
        name="yarn temperature forgotten",
        stage="scaling",
        wrong="cos and sin are not multiplied by 0.1 ln s + 1.",
        seen="guoqingbao/xinfer#329; turboderp-org/exllamav3#259 lost it where two settings "
        "are equal.",
        hint="Multiply cos and sin by the factor, or logits by its square.",
        caught_by=_ATTENTION,
        rejected_by=(_ATTENTION, _PUBLISHED),
        **_extension("yarn", _yarn, _one, {"yarn_attention_factor": lambda factor, **_: 1.0}),
    ),
    Fault(
        name="yarn temperature twice",
        stage="scaling",
        wrong="The factor is squared already where it multiplies cos and sin: logits get its "
        "fourth power.",
        seen="NVIDIA/TensorRT-LLM#16379: the logarithm was applied twice.",
        hint="Square it on the logits or put it on cos and sin, not both.",
        caught_by=_ATTENTION,
        rejected_by=(_ATTENTION, _PUBLISHED),
        **_extension("yarn", _yarn, _squared,
                     {"yarn_attention_factor": _squared_in_place}),
    ),
    Fault(
        name="yarn temperature by common logarithm",
        stage="scaling",
        wrong="The factor uses log10; the natural logarithm is meant.",
        seen="Not seen in public; stands for the wrong function of that name.",
        hint="Use the natural logarithm.",
        caught_by=_ATTENTION,
        rejected_by=(_ATTENTION, _PUBLISHED),
        **_extension("yarn", _yarn, _common_logarithm,
                     {"yarn_attention_factor": _common_logarithm_in_place}),
    ),
    Fault(
        name="yarn paper with the code's ramp",
        stage="scaling",
        wrong="Claims the paper's ramp over turns, and has the code's over pairs: up to 0.67 of a "
        "frequency apart.",
        seen="jquesnelle/yarn#60 and #65.",
        hint="Say which of the two it is: models are trained with the code's.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES),
        **_extension("yarn_paper", _code_for_paper, _temperature),
    ),
    Fault(
        name="interpolation with a temperature",
        stage="scaling",
        wrong="Position interpolation is given YaRN's attention factor; it has none, and at "
        "factor 1 nothing shows it.",
        seen="Not seen in public; stands for a temperature left on when the method is changed.",
        hint="Set the attention factor to 1 for this method.",
        caught_by=_ATTENTION,
        rejected_by=(_ATTENTION,),
        **_extension("pi", _pi, _temperature),
    ),
    Fault(
        name="interpolation that multiplies",
        stage="scaling",
        wrong="Frequencies are multiplied by the factor; they are divided by it.",
        seen="Not seen as a report: libraries differ in whether their setting is s or 1/s "
        "(ggml-org/llama.cpp#2268: 0.25 for four times the context).",
        hint="Divide by the factor, or pass its reciprocal.",
        caught_by="falling",
        rejected_by=("falling", _ENDS, _VALUES, _PUBLISHED),
        **_extension("pi", _multiplied, _one,
                     {"interpolate": lambda quantity, factor: quantity * factor}),
    ),
    Fault(
        name="interpolation of the slow half",
        stage="scaling",
        wrong="Only the slower half of the pairs is divided; position interpolation divides all.",
        seen="Not seen in public; stands for a method applied to the wrong part.",
        hint="Divide every frequency, or every position.",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _VALUES, _PUBLISHED),
        **_extension("pi", _slow_half, _one),
    ),
    Fault(
        name="interpolation of positions and base",
        stage="scaling",
        wrong="Positions are divided and the base is changed too: slow pairs are slowed by s "
        "squared.",
        seen="turboderp/exllama#118 measures it at 8192: perplexity 6.1 with positions divided by "
        "4, and 15.4 with the base changed as well (Tulu-30B-SuperHOT).",
        hint="Use one of the two.",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _VALUES, _PUBLISHED),
        **_extension("pi", _positions_and_base, _one),
    ),
    Fault(
        name="ntk base times factor",
        stage="scaling",
        wrong="The base is multiplied by the factor itself; its power d/(d - 2) is right, or the "
        "last pair falls short of the factor.",
        seen="Eyeline-Labs/CineScale#7 describes base times factor (there on purpose); the fixed "
        "form of the method divides frequencies as well.",
        hint="Raise the factor to d/(d - 2).",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _VALUES, _PUBLISHED),
        **_extension("ntk", _base_times_factor, _one,
                     {"ntk_base": lambda base, factor, head_dim: base * factor}),
    ),
    Fault(
        name="ntk exponent of half the dimension",
        stage="scaling",
        wrong="The exponent counts pairs, (d/2) / (d/2 - 2); it counts dimensions, d/(d - 2).",
        seen="Not seen in public; stands for d taken for the number of pairs.",
        hint="Use the rotated dimension for d.",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _VALUES, _PUBLISHED),
        **_extension("ntk", _half_exponent, _one,
                     {"ntk_base": lambda base, factor, head_dim: base * factor ** (
                         head_dim / (head_dim - 4))}),
    ),
    Fault(
        name="dynamic ntk always on",
        stage="scaling",
        wrong="The base of the longest context is used at every length: short texts change too.",
        seen="vllm-project/vllm#3488 and #5093.",
        hint="Change the base beyond the trained length alone.",
        caught_by=_LENGTH,
        rejected_by=(_LENGTH, _PUBLISHED),
        **_extension("dynamic_ntk", _always, _one, {"dynamic_factor": _always_in_place}),
    ),
    Fault(
        name="dynamic ntk factor not from one",
        stage="scaling",
        wrong="The base grows with s n / L; less s - 1, it starts from 1 at the trained length.",
        seen="Not seen in public; stands for the second term of the formula left out.",
        hint="Use s n / L - (s - 1).",
        caught_by=_LENGTH,
        rejected_by=(_LENGTH, _ENDS, _VALUES, _PUBLISHED),
        **_extension("dynamic_ntk", _not_started_at_one, _one,
                     {"dynamic_factor": lambda factor, length, trained: factor * length / trained}),
    ),
    Fault(
        name="dynamic ntk below the trained length",
        stage="scaling",
        wrong="The length is not held at the trained one: shorter texts get a smaller base.",
        seen="theroyallab/tabbyAPI#18: a factor of about 0.96 where none is needed.",
        hint="Take the larger of the current and the trained length.",
        caught_by=_LENGTH,
        rejected_by=(_LENGTH,),
        **_extension("dynamic_ntk", _shrinking, _one),
    ),
    Fault(
        name="dynamic ntk never taken back",
        stage="caching",
        wrong="After a long text the base stays: shorter ones that follow are changed.",
        seen="huggingface/transformers#25306, #27033.",
        hint="Compute the base from the current length each time.",
        caught_by=_LENGTH,
        rejected_by=(_LENGTH,),
        kind="extension",
        make=lambda: Extension("faulty", "dynamic_ntk", _Ratchet()),
    ),
    Fault(
        name="another base times the factor",
        stage="scaling",
        wrong="The adjusted base is multiplied by the factor; it is the new base, as it is.",
        seen="Not seen in public; stands for two methods applied at once.",
        hint="Set the base and leave the factor at 1.",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _VALUES),
        **_extension("abf", _another_base_times_factor, _one),
    ),
    Fault(
        name="llama3 ramp over wavelengths",
        stage="scaling",
        wrong="The blend is linear in the wavelength; it is linear in L / wavelength.",
        seen="ml-explore/mlx-examples#907, found in review.",
        hint="Use (L / wavelength - low) / (high - low).",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES, _PUBLISHED),
        **_extension("llama3", _wavelength_ramp, _one,
                     {"kept_by_turns": _wavelength_ramp_in_place}),
    ),
    Fault(
        name="llama3 factors swapped",
        stage="scaling",
        wrong="low_freq_factor and high_freq_factor change places: fast pairs are interpolated "
        "and slow ones kept.",
        seen="Not seen as a report; the names invite it, for the low factor bounds the long "
        "wavelengths.",
        hint="The low factor is 1, the high one 4, and pairs above the high one are kept.",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _BLEND, _VALUES, "falling", _PUBLISHED),
        **_extension("llama3", _factors_swapped, _one,
                     {"kept_by_turns": _factors_swapped_in_place}),
    ),
    Fault(
        name="llama3 wavelength without two pi",
        stage="scaling",
        wrong="1 / theta is taken for the wavelength; it is 2 pi / theta.",
        seen="Not seen in public; stands for a wavelength in radians.",
        hint="The wavelength is 2 pi over the frequency.",
        caught_by=_BLEND,
        rejected_by=(_BLEND, _VALUES, _PUBLISHED),
        **_extension("llama3", _without_two_pi, _one, {"kept_by_turns": _without_two_pi_in_place}),
    ),
    Fault(
        name="llama3 scaling computed and dropped",
        stage="scaling",
        wrong="The scaled frequencies are computed and the trained ones returned.",
        seen="huggingface/transformers#32330; settings that are read and never used: "
        "unslothai/unsloth#6197, Blaizzy/mlx-vlm#1710.",
        hint="Return the scaled frequencies.",
        caught_by=_ENDS,
        rejected_by=(_ENDS, _BLEND, _VALUES, _PUBLISHED),
        **_extension("llama3", _discarded, _one, {"kept_by_turns": _discarded_in_place}),
    ),
    Fault(
        name="longrope lists swapped",
        stage="scaling",
        wrong="The long list serves short texts and the short list long ones.",
        seen="EricLBuehler/mistral.rs#251, told in ggml-org/llama.cpp#6849: the short list was "
        "used for prompts beyond the trained length.",
        hint="The short list is for lengths up to the trained one.",
        caught_by=_LENGTH,
        rejected_by=(_LENGTH, _ENDS, _VALUES),
        **_extension("longrope", _lists_swapped, _longrope_factor),
    ),
    Fault(
        name="longrope long list always",
        stage="scaling",
        wrong="The long list serves every length; up to the trained one it is the short list's "
        "turn.",
        seen="lablup/mlxcel#1358; trymirai/lalamo#326 chooses by what is possible, not by what "
        "is there.",
        hint="Choose by the current length.",
        caught_by=_LENGTH,
        rejected_by=(_LENGTH,),
        **_extension("longrope", _long_list_always, _longrope_factor),
    ),
    Fault(
        name="longrope factors multiply",
        stage="scaling",
        wrong="Frequencies are multiplied by the list; they are divided by it.",
        seen="Not seen in public; lablup/mlxcel#1358 shows a right product, of wavelengths.",
        hint="Multiply wavelengths, or divide frequencies.",
        caught_by="falling",
        rejected_by=("falling", _ENDS, _VALUES, _LENGTH),
        **_extension("longrope", _lists_multiplied, _longrope_factor),
    ),
    Fault(
        name="longrope attention factor without its root",
        stage="scaling",
        wrong="1 + ln s / ln L multiplies cos and sin; its root does.",
        seen="Not seen in public; microsoft/LongRoPE#21 asks where the factor comes from.",
        hint="Take the square root.",
        caught_by=_ATTENTION,
        rejected_by=(_ATTENTION, _PUBLISHED),
        **_extension("longrope", _right_longrope, _without_root,
                     {"longrope_attention_factor": lambda factor, length, **_: _without_root(
                         factor, length)}),
    ),
    Fault(
        name="temperature at factor one",
        stage="scaling",
        wrong="The attention factor is a constant, and stays on where nothing is extended.",
        seen="ml-explore/mlx-lm#1507 and vllm-project/vllm#46280: a factor that configurations "
        "set is not honoured, so that one stays on where 1 is asked for.",
        hint="At factor 1 the attention factor is 1.",
        caught_by=_ONE,
        rejected_by=(_ONE, _ATTENTION, _PUBLISHED),
        **_extension("yarn", _yarn, lambda factor, length=0: _temperature(40.0),
                     {"yarn_attention_factor": lambda factor, **_: _temperature(40.0)}),
    ),
)  # fmt: skip
