"""Faulty biases of ALiBi and T5, and the right ones that the library holds."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from posinfo.battery.bias import T5, Alibi
from posinfo.encodings import alibi, t5
from posinfo.faults.base import Fault


def _library_t5(table: Tensor, positions: Tensor, bidirectional: bool) -> Tensor:
    return t5.bias(table, positions, bidirectional=bidirectional)


#: Right implementations, by kind and name.
RIGHT: dict[str, dict[str, Callable[[], Any]]] = {
    "alibi": {"library": lambda: Alibi("library", lambda *given: alibi.bias(*given))},
    "t5": {"library": lambda: T5("library", _library_t5)},
}

# --- ALiBi ----------------------------------------------------------------------------------------


def _slopes(heads: int) -> list[float]:
    if heads & (heads - 1):
        lower = 2 ** int(math.log2(heads))
        return _slopes(lower) + _slopes(2 * lower)[::2][: heads - lower]
    return [2 ** (-8 * (head + 1) / heads) for head in range(heads)]


def _by_slopes(slopes: Callable[[int], list[float]]) -> Callable[..., Tensor]:
    """The bias with other slopes."""

    def bias(positions: Tensor, heads: int, dtype: torch.dtype = torch.float32) -> Tensor:
        distance = (positions[:, None] - positions).abs().to(dtype)
        return -torch.tensor(slopes(heads), dtype=dtype)[:, None, None] * distance

    return bias


def _by_distance(distance: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The bias with something else than the distance of query and key."""

    def bias(positions: Tensor, heads: int, dtype: torch.dtype = torch.float32) -> Tensor:
        apart = distance(positions[:, None], positions[None, :]).to(dtype)
        return -torch.tensor(_slopes(heads), dtype=dtype)[:, None, None] * apart

    return bias


def _one_progression(heads: int) -> list[float]:
    return [2 ** (-8 * (head + 1) / heads) for head in range(heads)]


def _from_zero(heads: int) -> list[float]:
    return [2 * slope for slope in _slopes(heads)] if heads == 8 else [
        slope * 2 ** (8 / 2 ** int(math.log2(heads))) for slope in _slopes(heads)
    ]  # fmt: skip


def _sorted(heads: int) -> list[float]:
    return sorted(_slopes(heads), reverse=True)


def _backwards(heads: int) -> list[float]:
    return _slopes(heads)[::-1]


def _logarithms(heads: int) -> list[float]:
    return [8 * (head + 1) / heads for head in range(heads)]


def _signed(query: Tensor, key: Tensor) -> Tensor:
    return query - key


def _few_bits(query: Tensor, key: Tensor) -> Tensor:
    return (query.to(torch.bfloat16) - key.to(torch.bfloat16)).abs()


def _half_precision(positions: Tensor, heads: int, dtype: torch.dtype = torch.float32) -> Tensor:
    slopes = torch.tensor(_slopes(heads)).to(torch.bfloat16)
    distance = (positions[:, None] - positions).abs().to(torch.bfloat16)
    return -(slopes[:, None, None] * distance).to(dtype)


def _of_the_query(query: Tensor, key: Tensor) -> Tensor:
    return query.expand(len(query), key.shape[-1])


def _logarithm(query: Tensor, key: Tensor) -> Tensor:
    return torch.log1p((query - key).abs().float())


def _from_one(query: Tensor, key: Tensor) -> Tensor:
    return (query - key).abs() + 1


def _places(query: Tensor, key: Tensor) -> Tensor:
    count = torch.arange(len(query))
    return (count[:, None] - count).abs()


def _raised(positions: Tensor, heads: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return -_by_slopes(_slopes)(positions, heads, dtype)


def _alibi(
    bias: Callable[..., Tensor], slopes: Callable | None = None, *, stands: bool = True
) -> dict[str, Any]:
    replaced = {"posinfo.encodings.alibi.slopes": slopes} if slopes else {
        "posinfo.encodings.alibi.bias": bias
    }  # fmt: skip
    return {
        "kind": "alibi",
        "make": partial(Alibi, "faulty", bias),
        # The rows have two heads, near positions without gaps, and what the softmax leaves.
        "replaces": replaced if stands else {},
    }


_PUBLISHED, _POWERS, _OTHERS = "published slopes", "powers of two", "other numbers of heads"

_ALIBI = (
    Fault(
        name="alibi scores raised",
        stage="rotation",
        wrong="The penalty has the wrong sign: keys far away gain.",
        seen="meta-pytorch/attention-gym#86: slope times (query - key) was added.",
        hint="Add slope times (key - query), which is negative behind.",
        caught_by="sign",
        rejected_by=(_PUBLISHED, _POWERS, _OTHERS, "sign", "offset alone"),
        **_alibi(_raised),
    ),
    Fault(
        name="alibi slopes of one progression for any number of heads",
        stage="frequency",
        wrong="Slopes are 2^(-8h/n) for every n; the published models take those of the lower "
        "power of two, and then every second one of its double.",
        seen="ml-explore/mlx#343, repaired by #3071. The paper's text says it so for n heads, its "
        "code does not (baichuan-inc/Baichuan2#225).",
        hint="Follow get_slopes of the authors' code where n is no power of two.",
        caught_by=_OTHERS,
        rejected_by=(_PUBLISHED, _OTHERS),
        **_alibi(_by_slopes(_one_progression), stands=False),
    ),
    Fault(
        name="alibi slopes sorted",
        stage="frequency",
        wrong="The slopes are right but in falling order: heads get one another's.",
        seen="antofuller/CROMA#12 proposes it; NVIDIA/TensorRT-LLM#1611 did it for models of "
        "its own.",
        hint="Keep the order that the weights were trained with: it is not monotone.",
        caught_by=_OTHERS,
        rejected_by=(_PUBLISHED, _OTHERS),
        **_alibi(_by_slopes(_sorted), stands=False),
    ),
    Fault(
        name="alibi slopes from head zero",
        stage="frequency",
        wrong="Head h has slope 2^(-8h/n), from 1 on; 2^(-8(h+1)/n) is right.",
        seen="paiml/aprender#2143.",
        hint="Count heads from 1 in the exponent.",
        caught_by=_PUBLISHED,
        rejected_by=(_PUBLISHED, _POWERS, _OTHERS, "offset alone"),
        **_alibi(_by_slopes(_from_zero), _from_zero),
    ),
    Fault(
        name="alibi slopes in reverse order",
        stage="frequency",
        wrong="The first head has the smallest slope; it has the largest.",
        seen="Not seen in public; stands for heads that are counted from the other end.",
        hint="Head 0 looks nearest: its slope is the largest.",
        caught_by=_PUBLISHED,
        rejected_by=(_PUBLISHED, _POWERS, _OTHERS, "offset alone"),
        **_alibi(_by_slopes(_backwards), _backwards),
    ),
    Fault(
        name="alibi exponents instead of slopes",
        stage="frequency",
        wrong="The exponent 8h/n is used where 2 to minus that power is meant.",
        seen="Not seen in public; stands for a logarithm that is not taken back.",
        hint="Raise 2 to the negative exponent.",
        caught_by=_PUBLISHED,
        rejected_by=(_PUBLISHED, _POWERS, _OTHERS, "offset alone"),
        **_alibi(_by_slopes(_logarithms), _logarithms),
    ),
    Fault(
        name="alibi distance signed",
        stage="position",
        wrong="Distances ahead count as negative, so that keys ahead gain without a causal mask.",
        seen="lucidrains/x-transformers#88 and ofirpress/attention_with_linear_biases#5: right "
        "under a causal mask alone.",
        hint="Take the absolute distance, or declare that keys ahead are masked.",
        caught_by="both sides",
        rejected_by=("sign", "linear", "offset alone", "both sides", _POWERS, _OTHERS),
        **_alibi(_by_distance(_signed)),
    ),
    Fault(
        name="alibi positions in bfloat16",
        stage="position",
        wrong="Positions are rounded to 8 bits before the difference: far keys share a distance.",
        seen="NVIDIA/TensorRT-Model-Connect#667: Falcon's code multiplies in bfloat16.",
        hint="Take the difference of whole numbers, and round the bias.",
        caught_by="offset alone",
        rejected_by=("linear", "offset alone"),
        **_alibi(_by_distance(_few_bits)),
    ),
    Fault(
        name="alibi slopes in bfloat16",
        stage="dtype",
        wrong="Slopes and distances are rounded to 8 bits before their product: slopes between "
        "powers of two are off, and distances beyond 256.",
        seen="build_alibi_tensor of Falcon in huggingface/transformers 5.24, which this battery "
        "rejects; models trained so need it (NVIDIA/TensorRT-Model-Connect#667).",
        hint="Multiply in float32 and round the bias.",
        caught_by=_PUBLISHED,
        rejected_by=(_PUBLISHED, _POWERS, _OTHERS, "linear", "offset alone"),
        **_alibi(_half_precision, stands=False),
    ),
    Fault(
        name="alibi position of the query",
        stage="axis",
        wrong="The penalty grows with the query's position, the same for all keys: the softmax "
        "takes it away, and no position is left.",
        seen="Not seen in public; stands for the axis of queries taken for that of keys. Counting "
        "by keys, as BLOOM does, is right (Dao-AILab/flash-attention#540).",
        hint="Let the bias run along the keys.",
        caught_by="diagonal",
        rejected_by=(_POWERS, _OTHERS, "diagonal", "sign", "linear", "offset alone", "both sides"),
        **_alibi(_by_distance(_of_the_query)),
    ),
    Fault(
        name="alibi logarithm of the distance",
        stage="position",
        wrong="The penalty grows with ln(1 + distance); it is linear.",
        seen="Another method, KERPLE (arXiv 2205.09921), has it, with learned numbers.",
        hint="Multiply the slope by the distance itself.",
        caught_by="linear",
        rejected_by=(_PUBLISHED, _POWERS, _OTHERS, "linear", "offset alone"),
        **_alibi(_by_distance(_logarithm)),
    ),
    Fault(
        name="alibi distance from one",
        stage="position",
        wrong="A token's distance to itself is 1: all scores of a head fall by its slope, which "
        "the softmax takes away; wrong beside scores without it.",
        seen="vllm-project/vllm#945.",
        hint="The distance of a token to itself is 0.",
        caught_by="diagonal",
        rejected_by=(_PUBLISHED, _POWERS, _OTHERS, "diagonal", "linear", "offset alone"),
        **_alibi(_by_distance(_from_one), stands=False),
    ),
    Fault(
        name="alibi places instead of positions",
        stage="position",
        wrong="Distances are counted in places of the tensor; positions with gaps are further "
        "apart.",
        seen="HabanaAI/vllm-fork#503 adds positions for batches padded to one length.",
        hint="Subtract the positions that are given.",
        caught_by="linear",
        rejected_by=("linear", "offset alone"),
        **_alibi(_by_distance(_places), stands=False),
    ),
)  # fmt: skip


# --- T5 -------------------------------------------------------------------------------------------


def _bucket(
    offsets: Tensor,
    *,
    bidirectional: bool,
    buckets: int = 32,
    max_distance: int = 128,
    largest: Callable[[int], int] = lambda buckets: buckets - 1,
    steps: Callable[[Tensor, int, int], Tensor] | None = None,
    halves: bool = True,
    at_zero: bool = False,
) -> Tensor:
    """T5's buckets; each of the last four parameters can be given another answer."""
    first = torch.zeros_like(offsets)
    if bidirectional:
        buckets //= 2
        ahead = offsets >= 0 if at_zero else offsets > 0
        first = buckets * ahead.long() if halves else first
        distance = offsets.abs()
    else:
        distance = (-offsets).clamp(min=0)
    exact = buckets // 2
    ratio = distance.clamp(min=1).double() / exact
    share = steps(ratio, max_distance, exact) if steps else ratio.log() / math.log(
        max_distance / exact
    )  # fmt: skip
    far = (exact + (share * (buckets - exact) + 1e-9).long()).clamp(max=largest(buckets))
    return first + torch.where(distance < exact, distance, far)


def _look_up(bucket: Callable[..., Tensor]) -> Callable[[Tensor, Tensor, bool], Tensor]:
    def bias(table: Tensor, positions: Tensor, bidirectional: bool) -> Tensor:
        offsets = positions[None, :] - positions[:, None]
        chosen = bucket(offsets, bidirectional=bidirectional, buckets=len(table))
        return table[chosen].movedim(-1, 0)

    return bias


def _query_minus_key(offsets, **options):
    return _bucket(-offsets, **options)


def _sides_together(offsets, **options):
    return _bucket(offsets, halves=False, **options)


def _zero_ahead(offsets, **options):
    return _bucket(offsets, at_zero=True, **options)


def _last_left_out(offsets, **options):
    return _bucket(offsets, largest=lambda buckets: buckets - 2, **options)


def _base_two(offsets, **options):
    return _bucket(
        offsets, steps=lambda ratio, far, exact: ratio.log2() / math.log(far / exact), **options
    )


def _not_divided(offsets, **options):
    return _bucket(offsets, steps=lambda ratio, far, exact: ratio.log() / math.log(far), **options)


def _rounded_up(offsets, *, buckets=32, **options):
    half = buckets // 2 if options["bidirectional"] else buckets
    rest = half - half // 2

    def steps(ratio, far, exact):
        return (ratio.log() / math.log(far / exact) * rest).ceil() / rest

    return _bucket(offsets, buckets=buckets, steps=steps, **options)


def _all_at_once(offsets, *, bidirectional, buckets=32, max_distance=128):
    """Logarithmic from the first distance on: no bucket is exact."""
    if bidirectional:
        buckets //= 2
    distance = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    share = torch.log1p(distance.double()) / math.log1p(max_distance)
    chosen = (share * buckets).long().clamp(max=buckets - 1)
    return chosen + (buckets * (offsets > 0).long() if bidirectional else 0)


def _without_logarithm(offsets, *, bidirectional, buckets=32, max_distance=128):
    """Clipped distances, as in Shaw et al. 2018: nothing widens."""
    if bidirectional:
        buckets //= 2
    distance = offsets.abs() if bidirectional else (-offsets).clamp(min=0)
    return distance.clamp(max=buckets - 1) + (
        buckets * (offsets > 0).long() if bidirectional else 0
    )


def _thirty_two(offsets, *, buckets=32, **options):
    return _bucket(offsets, buckets=32, **options).clamp(max=buckets - 1)


def _heads_read_across(table: Tensor, positions: Tensor, bidirectional: bool) -> Tensor:
    offsets = positions[None, :] - positions[:, None]
    chosen = _bucket(offsets, bidirectional=bidirectional, buckets=len(table))
    return table[chosen].reshape(table.shape[1], len(positions), len(positions))


def _t5(bucket: Callable[..., Tensor], *, stands: bool = True) -> dict[str, Any]:
    return {
        "kind": "t5",
        "make": partial(T5, "faulty", _look_up(bucket)),
        # The rows have tables of 32 buckets alone.
        "replaces": {"posinfo.encodings.t5.bucket": bucket} if stands else {},
    }


def _read_across(table: Tensor, positions: Tensor, *, bidirectional: bool) -> Tensor:
    return _heads_read_across(table, positions, bidirectional)


_EVERY, _LAST = "every distance", "last bucket"

_T5 = (
    Fault(
        name="t5 offset query minus key",
        stage="position",
        wrong="The offset has the wrong sign: looking back, every key seen falls into bucket 0.",
        seen="dmlc/gluon-nlp#1470 turned it round, to agree with mesh_tensorflow.",
        hint="The offset is key minus query.",
        caught_by="keys ahead",
        rejected_by=("keys ahead", "near distances", "published buckets", _EVERY, "two sides",
                     "halves", _LAST, "number of buckets"),
        **_t5(_query_minus_key),
    ),
    Fault(
        name="t5 sides not told apart",
        stage="position",
        wrong="Keys ahead are not moved by half of the buckets: both sides share them.",
        seen="Not seen in public as a repaired report; stands for ml-explore/mlx-examples#113, "
        "where the buckets of an encoder came out wrong in the making.",
        hint="Add half of the buckets where the key lies ahead.",
        caught_by="halves",
        rejected_by=("near distances", "two sides", "halves"),
        **_t5(_sides_together),
    ),
    Fault(
        name="t5 token itself ahead",
        stage="position",
        wrong="Offset 0 counts as ahead; it belongs to the keys behind.",
        seen="Not seen in public; stands for >= where > is meant.",
        hint="Compare with > 0.",
        caught_by="halves",
        rejected_by=("near distances", "two sides", "halves", "number of buckets"),
        **_t5(_zero_ahead),
    ),
    Fault(
        name="t5 last bucket left out",
        stage="position",
        wrong="Buckets are clamped at one less than the last: it is never used.",
        seen="huggingface/candle#1312 repaired this clamp, which was missing there.",
        hint="Clamp at buckets - 1.",
        caught_by=_LAST,
        rejected_by=("published buckets", _EVERY, "two sides", _LAST, "number of buckets"),
        **_t5(_last_left_out),
    ),
    Fault(
        name="t5 logarithm to base two over a natural one",
        stage="frequency",
        wrong="Two logarithms of different bases are divided: buckets fill too early.",
        seen="Not seen in public as such; huggingface/candle#727 put the logarithmic buckets "
        "right, and lucidrains/x-transformers#10 the function as a whole.",
        hint="Use one base in numerator and denominator.",
        caught_by="published buckets",
        rejected_by=("published buckets", _EVERY, "two sides", "number of buckets"),
        **_t5(_base_two),
    ),
    Fault(
        name="t5 logarithm of the last distance alone",
        stage="frequency",
        wrong="The logarithm is divided by ln(128), not by ln(128 / exact): the last bucket is "
        "never reached.",
        seen="Not seen in public; stands for a scale that forgets where the logarithm starts.",
        hint="Divide by the logarithm of the last distance over the number of exact buckets.",
        caught_by=_LAST,
        rejected_by=("published buckets", _EVERY, "two sides", _LAST, "number of buckets"),
        **_t5(_not_divided),
    ),
    Fault(
        name="t5 buckets rounded up",
        stage="frequency",
        wrong="The logarithmic step is rounded up; the code cuts its fraction off.",
        seen="Not seen in public; stands for ceil in place of a cast.",
        hint="Round down.",
        caught_by="published buckets",
        rejected_by=("published buckets", _EVERY, "two sides", "number of buckets"),
        **_t5(_rounded_up),
    ),
    Fault(
        name="t5 no exact buckets",
        stage="frequency",
        wrong="Buckets widen from the first distance on; half of them hold one distance each.",
        seen="Not seen in public; stands for the first half left out.",
        hint="Give the first half of the buckets one distance each.",
        caught_by="near distances",
        rejected_by=("near distances", "published buckets", _EVERY, "two sides",
                     "number of buckets"),
        **_t5(_all_at_once),
    ),
    Fault(
        name="t5 distances clipped",
        stage="frequency",
        wrong="Nothing widens: all from distance 31 on share a bucket.",
        seen="Another method, relative positions with clipping (Shaw et al. 2018, arXiv "
        "1803.02155); huggingface/candle#727 had no logarithm at first.",
        hint="Widen the second half of the buckets logarithmically, up to distance 128.",
        caught_by="published buckets",
        rejected_by=("published buckets", _EVERY, "two sides", "number of buckets"),
        **_t5(_without_logarithm),
    ),
    Fault(
        name="t5 thirty-two buckets whatever the table",
        stage="frequency",
        wrong="The number of buckets is fixed at 32; the table says how many there are.",
        seen="lucidrains/x-transformers#11 asks for the number as a parameter, "
        "huggingface/transformers#16155 for the last distance.",
        hint="Take the number of buckets from the table.",
        caught_by="number of buckets",
        rejected_by=("number of buckets",),
        **_t5(_thirty_two, stands=False),
    ),
    Fault(
        name="t5 heads read across",
        stage="axis",
        wrong="[query, key, head] is reshaped to [head, query, key], not permuted: it fits, and "
        "mixes heads with keys.",
        seen="Not seen in public; stands for view or reshape where permute is meant.",
        hint="Move the axis of heads to the front.",
        caught_by="table",
        rejected_by=("table", "near distances", "published buckets", _EVERY,
                     "two sides", "halves", _LAST, "number of buckets"),
        kind="t5",
        make=partial(T5, "faulty", _heads_read_across),
        replaces={"posinfo.encodings.t5.bias": _read_across},
    ),
)  # fmt: skip

FAULTS: tuple[Fault, ...] = _ALIBI + _T5
