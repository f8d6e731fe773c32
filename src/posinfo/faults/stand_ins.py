"""Faulty stand-ins for functions of the library: with one in place, rows of claims must fail.

A verified claim names a fault (``rejects`` in its entry) and is decided anew with the fault's
stand-ins in place; see :mod:`posinfo.controls`. Many faults carry theirs (``replaces``); what
:data:`STAND_INS` holds is put in place beside them. Each takes what the function takes that
it replaces, symbols too where the proofs run that function. The functions that stand-ins call are
bound here, at import, and :func:`posinfo.faults.inject.injected` leaves this module alone: so a
stand-in calls the right function and never itself.

Faults that a battery takes are described in the other modules; :data:`FAULTS` describes those that
only the library can have.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from posinfo.encodings import alibi, attention, layers, learned, rotary, t5
from posinfo.errors import InputError, nearest
from posinfo.faults import FAULTS as REGISTERED
from posinfo.faults.base import Fault
from posinfo.faults.rotary import TEMPERATURE

_angles = rotary.angles
_as_complex_pairs = rotary.as_complex_pairs
_attend = attention.attend
_bucket = t5.bucket
_embed = learned.embed
_embedding = torch.nn.functional.embedding
_frequencies = rotary.frequencies
_init_learned = learned.LearnedPositions.__init__
_init_table = rotary.RotaryTable.__init__
_rotate_by = rotary.rotate_by
_rotate_complex = rotary.rotate_complex
_turn = layers.Rotary.turn
_unit_complex = rotary.unit_complex


# --- frequencies ------------------------------------------------------------------------------


def _held_twice(head_dim: int, base: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return _frequencies(head_dim, base, dtype).repeat_interleave(2)


def _rotate_by_every_second(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return _rotate_by(x, cos[..., ::2], sin[..., ::2])


# --- the rotation -----------------------------------------------------------------------------


def _code_added(x: Any, y: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    return x + cos, y + sin


def _left_apart(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    turned = rotary.rotate_pair(x[..., ::2], x[..., 1::2], cos, sin)
    return torch.stack(turned, dim=-1).to(x.dtype)


def _warmer(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return _rotate_by(x, cos * TEMPERATURE, sin * TEMPERATURE)


def _warmer_complex(angles: Tensor) -> Tensor:
    return _unit_complex(angles) * TEMPERATURE


def _half_the_frequencies(head_dim: int, base: float, dtype: torch.dtype = torch.float32) -> Tensor:
    return _frequencies(head_dim // 2, base, dtype)


def _rotate_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    width = x.shape[-1] // 2
    return torch.cat([_rotate_by(x[..., :width], cos, sin), x[..., width:]], dim=-1)


def _half_as_pairs(x: Tensor) -> Tensor:
    return _as_complex_pairs(x[..., : x.shape[-1] // 2])


def _rotate_half_complex(q: Tensor, k: Tensor, rotations: Tensor) -> tuple[Tensor, Tensor]:
    # The right one takes pairs by a function that this fault replaces as well: the first half.
    turned = _rotate_complex(q, k, rotations)
    first, second = (
        torch.cat([part, x[..., x.shape[-1] // 2 :]], dim=-1)
        for part, x in zip(turned, (q, k), strict=True)
    )
    return first, second


def _keys_turned_back(
    self: layers.Rotary, q: Tensor, k: Tensor, v: Tensor, positions: Tensor, note: layers.Note
) -> tuple[Tensor, Tensor, Tensor]:
    query, _, value = _turn(self, q, k, v, positions, note)
    _, key, _ = _turn(self, q, k, v, -positions, note)
    return query, key, value


def _turned_on(
    self: layers.Rotary, attended: Tensor, positions: Tensor, note: layers.Note
) -> Tensor:
    if not self.undone:
        return attended
    thetas = _frequencies(attended.shape[-1], self.base, attended.dtype)
    return note(rotary.rotate_adjacent(attended, _angles(positions, thetas)), "turn", attended)


def _rotations_as_parameter(
    self: rotary.RotaryTable, head_dim: int, max_position: int, base: float
) -> None:
    _init_table(self, head_dim, max_position, base)
    rotations = self.rotations
    del self.rotations
    self.rotations = torch.nn.Parameter(rotations, requires_grad=False)


# --- attention and biases ---------------------------------------------------------------------


def _values_turned_too(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = True) -> Tensor:
    thetas = _frequencies(v.shape[-1], 10000.0, v.dtype)
    places = torch.arange(1, v.shape[-2] + 1)
    return _attend(q, k, rotary.rotate_adjacent(v, _angles(places, thetas)), causal=causal)


def _mask_after_softmax(
    x: Tensor,
    layer: layers.Layer,
    heads: int,
    encoding: layers.Encoding,
    positions: Tensor,
    causal: bool,
    note: layers.Note,
) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (
        (x @ weight).unflatten(-1, (heads, -1)).transpose(-2, -3)
        for weight in (layer.query, layer.key, layer.value)
    )
    q, k, v = encoding.turn(q, k, v, positions, note)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    bias = encoding.bias(positions, heads, causal, x.dtype, note)
    scores = scores if bias is None else scores + bias
    weights = scores.softmax(dim=-1)
    weights = weights.tril() if causal else weights
    attended = encoding.turn_back(weights @ v, positions, note)
    return attended.transpose(-2, -3).flatten(-2) @ layer.output, scores, weights


def _distance_by_root(positions: Tensor, heads: int, dtype: torch.dtype = torch.float32) -> Tensor:
    places = positions.double().sqrt()
    distance = (places.unsqueeze(-1) - places.unsqueeze(-2)).abs()
    slopes = torch.tensor(alibi.slopes(heads), dtype=torch.float64)
    return (-slopes.view(-1, 1, 1) * distance).to(dtype)


def _bucket_of_the_key(table: Tensor, positions: Tensor, *, bidirectional: bool) -> Tensor:
    offsets = -positions.expand(len(positions), -1)
    chosen = _bucket(offsets, bidirectional=bidirectional, buckets=table.shape[0])
    return table[chosen].movedim(-1, 0)


# --- learned tables ---------------------------------------------------------------------------


def _tokens_alone(
    token_table: Tensor, position_table: Tensor, ids: Tensor, positions: Tensor
) -> Tensor:
    return _embedding(ids, token_table)


def _no_row_added(self: layers.Learned, x: Tensor, positions: Tensor, note: layers.Note) -> Tensor:
    return x


def _counted_from_the_end(
    token_table: Tensor, position_table: Tensor, ids: Tensor, positions: Tensor
) -> Tensor:
    return _embed(token_table, position_table, ids, positions.flip(-1))


def _first_sequence_alone(
    token_table: Tensor, position_table: Tensor, ids: Tensor, positions: Tensor
) -> Tensor:
    if positions.shape == ids.shape:
        return _embed(token_table, position_table, ids, positions)
    x = _embedding(ids, token_table).clone()
    x[:1] += _embedding(positions, position_table)
    return x


def _joined(token_table: Tensor, position_table: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
    x = _embedding(ids, token_table)
    return torch.cat([x, _embedding(positions.expand(ids.shape), position_table)], dim=-1)


def _two_rows_more(
    self: learned.LearnedPositions, max_position: int, width: int, generator: torch.Generator
) -> None:
    _init_learned(self, max_position + 2, width, generator)


def _centred(self: learned.LearnedPositions, embedded: Tensor, positions: Tensor) -> Tensor:
    return embedded + _embedding(positions, self.table - self.table.mean(dim=0))


def _clamped(index: Tensor, weight: Tensor, *arguments: Any, **more: Any) -> Tensor:
    return _embedding(index.clamp(0, weight.shape[0] - 1), weight, *arguments, **more)


def _by_one_hot(index: Tensor, weight: Tensor, *arguments: Any, **more: Any) -> Tensor:
    if more.get("sparse"):
        return _embedding(index, weight, *arguments, **more)
    return torch.nn.functional.one_hot(index, weight.shape[0]).to(weight.dtype) @ weight


#: Stand-ins by fault, and by the dotted name of what they replace, beside those that it carries.
STAND_INS: dict[str, Mapping[str, Callable[..., Any]]] = {
    "each frequency held twice": {
        "posinfo.encodings.rotary.frequencies": _held_twice,
        "posinfo.encodings.rotary.rotate_by": _rotate_by_every_second,
    },
    "positions ignored": {
        "posinfo.encodings.learned.embed": _tokens_alone,
        "posinfo.encodings.layers.Learned.add": _no_row_added,
    },
    "code added instead of turned": {
        "posinfo.encodings.rotary.rotate_pair": _code_added,
    },
    "pairs left apart": {
        "posinfo.encodings.rotary.rotate_by": _left_apart,
    },
    "temperature left on": {
        "posinfo.encodings.rotary.rotate_by": _warmer,
        "posinfo.encodings.rotary.unit_complex": _warmer_complex,
    },
    "half of the width rotated": {
        "posinfo.encodings.rotary.frequencies": _half_the_frequencies,
        "posinfo.encodings.rotary.rotate_by": _rotate_half,
        "posinfo.encodings.rotary.as_complex_pairs": _half_as_pairs,
        "posinfo.encodings.rotary.rotate_complex": _rotate_half_complex,
    },
    "keys turned the other way": {
        "posinfo.encodings.layers.Rotary.turn": _keys_turned_back,
    },
    "values turned on instead of back": {
        "posinfo.encodings.layers.Rotary.turn_back": _turned_on,
    },
    "rotations registered as a parameter": {
        "posinfo.encodings.rotary.RotaryTable.__init__": _rotations_as_parameter,
    },
    "values turned too": {
        "posinfo.encodings.attention.attend": _values_turned_too,
    },
    "mask after the softmax": {
        "posinfo.encodings.layers._attention": _mask_after_softmax,
    },
    "bias by place instead of offset": {
        "posinfo.encodings.alibi.bias": _distance_by_root,
        "posinfo.encodings.t5.bias": _bucket_of_the_key,
    },
    "positions counted from the end": {
        "posinfo.encodings.learned.embed": _counted_from_the_end,
    },
    "positions added to the first sequence alone": {
        "posinfo.encodings.learned.embed": _first_sequence_alone,
    },
    "rows joined instead of added": {
        "posinfo.encodings.learned.embed": _joined,
    },
    "two rows more than positions": {
        "posinfo.encodings.learned.LearnedPositions.__init__": _two_rows_more,
    },
    "table centred at each look-up": {
        "posinfo.encodings.learned.LearnedPositions.forward": _centred,
    },
    "look-up clamped to the last row": {
        "torch.nn.functional.embedding": _clamped,
    },
    "rows read by a one-hot product": {
        "torch.nn.functional.embedding": _by_one_hot,
    },
}


def _library_fault(
    name: str, stage: str, *, wrong: str, seen: str, hint: str, rejected_by: tuple[str, ...]
) -> Fault:
    """A fault that no battery takes: claims reject it, the first of them by what it is about."""
    return Fault(
        name=name, kind="library", stage=stage, wrong=wrong, seen=seen, hint=hint,
        caught_by=rejected_by[0], rejected_by=rejected_by, make=lambda: STAND_INS[name],
        replaces=STAND_INS[name],
    )  # fmt: skip


#: Faults that only the library can have; what rejects each are the claims that name it.
FAULTS: tuple[Fault, ...] = (
    _library_fault(
        "each frequency held twice", "frequency",
        wrong="Holds every frequency twice, for both dimensions of its pair; one a pair is enough.",
        seen="huggingface/transformers, modeling_llama.py: the table of angles is joined to itself",
        hint="Keep one frequency a pair, and let the rotation apply it to both dimensions.",
        rejected_by=("one-frequency-a-pair",),
    ),
    _library_fault(
        "values turned on instead of back", "rotation",
        wrong="Turns what attention gathered by the query's angle again; it should turn it back.",
        seen="Not seen: the nearest is labmlai/annotated_deep_learning_paper_implementations#251, "
        "where values are turned twice",
        hint="Undo a rotation with the negative of its angle.",
        rejected_by=("rotated-values-can-be-turned-back",),
    ),
    _library_fault(
        "rotations registered as a parameter", "side effect",
        wrong="Registers the table of rotations as a parameter of the module; it is a constant.",
        seen="lucidrains/rotary-embedding-torch: self.freqs is a Parameter also when not learned",
        hint="Register the table as a buffer: it then moves with the module and counts as nothing.",
        rejected_by=("rope-has-no-parameters",),
    ),
    _library_fault(
        "values turned too", "rotation",
        wrong="Turns V by its position as well; RoPE turns queries and keys alone.",
        seen="lucidrains/x-transformers#182, up to 1.20.0",
        hint="Leave V as it is: a score has two positions to compare, a value has one.",
        rejected_by=("values-are-not-rotated", "shapes-after-rope"),
    ),
    _library_fault(
        "mask after the softmax", "axis",
        wrong="Hides later tokens after the softmax, so that weights do not sum to 1; mask scores.",
        seen="huggingface/pytorch-image-models#2236, lucidrains/memory-compressed-attention#2",
        hint="Set masked scores to minus infinity before the softmax.",
        rejected_by=("identical-tokens-alone-have-no-position",),
    ),
    _library_fault(
        "bias by place instead of offset", "position",
        wrong="Takes ALiBi's distance between roots of positions, and T5's bucket of the key's own "
        "position; both should take the difference of positions.",
        seen="Not seen: stands for every bias that is computed from places one by one",
        hint="Subtract positions first; give only the difference to the bias.",
        rejected_by=("biases-by-offset-do-not-move",),
    ),
    _library_fault(
        "positions counted from the end", "position",
        wrong="Gives the last token position 0, so that a token's position depends on the length.",
        seen="Not seen: the nearest is huggingface/transformers#21080, where padding in front is "
        "counted",
        hint="Count positions from the first token that is none of padding.",
        rejected_by=("position-adds-one-vector",),
    ),
    _library_fault(
        "positions added to the first sequence alone", "axis",
        wrong="Adds positions that are given once to the first sequence of a batch; all need them.",
        seen="Not seen: stands for in-place sums that broadcasting does not reach",
        hint="Add out of place and let broadcasting repeat the positions over the batch.",
        rejected_by=("learned-sum-broadcasts", "row-of-positions-broadcasts-over-the-batch"),
    ),
    _library_fault(
        "rows joined instead of added", "axis",
        wrong="Appends the position's row to the token's; it should be added, and keep the width.",
        seen="Not seen in a language model: a common choice for coordinates in vision",
        hint="Add both rows: they have the same width.",
        rejected_by=(
            "addition-preserves-the-shape", "learned-sum-keeps-the-shape-gpt2",
            "width-is-heads-times-head-dim", "neither-path-changes-shapes",
        ),
    ),
    _library_fault(
        "two rows more than positions", "position",
        wrong="Makes a table of two rows more than there are positions; one row a position.",
        seen="huggingface/transformers, OPTLearnedPositionalEmbedding: offset 2, for padding",
        hint="Make as many rows as positions, and look positions up without an offset.",
        rejected_by=("learned-table-has-one-row-a-position", "learned-table-parameters"),
    ),
    _library_fault(
        "table centred at each look-up", "side effect",
        wrong="Subtracts the table's mean before a look-up, so that rows depend on one another.",
        seen="Not seen: stands for every normalisation across positions",
        hint="Look rows up as they are.",
        rejected_by=("rows-are-separate-parameters", "unseen-rows-learn-nothing"),
    ),
    _library_fault(
        "look-up clamped to the last row", "position",
        wrong="Returns the last row for every position past the table; it should be an error.",
        seen="jax.lax.gather with the mode clip; tables that are clamped so that nothing stops",
        hint="Check positions against the number of rows before the look-up.",
        rejected_by=(
            "table-has-no-row-past-its-end", "prompt-of-2000-stops-a-table-of-1024",
            "offset-test-results",
        ),
    ),
    _library_fault(
        "rows read by a one-hot product", "side effect",
        wrong="Multiplies a one-hot row with the whole table; a look-up reads one row.",
        seen="google-research/bert, modeling.py: use_one_hot_embeddings, for processors that "
        "multiply faster than they gather",
        hint="Index the table, or use an embedding.",
        rejected_by=("look-up-uses-one-row", "learned-table-is-cheap"),
    ),
)  # fmt: skip


def with_stand_ins() -> list[str]:
    """Names of the faults that can be put in place in the library."""
    return [
        fault.name for fault in (*REGISTERED, *FAULTS) if fault.replaces or fault.name in STAND_INS
    ]


def stand_ins(name: str) -> dict[str, Callable[..., Any]]:
    """All stand-ins of a fault, by the dotted name of what each replaces.

    Raises
    ------
    InputError
        If there is no such fault, or nothing stands in for a function of the library.
    """
    faults = {fault.name: fault for fault in (*REGISTERED, *FAULTS)}
    if name not in faults:
        raise InputError("fault", f"{name!r} is unknown: {nearest(name, faults)}")
    found = {**faults[name].replaces, **STAND_INS.get(name, {})}
    if not found:
        raise InputError("fault", f"{name!r} has no stand-in for a function of the library")
    return found
