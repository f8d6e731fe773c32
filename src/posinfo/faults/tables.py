"""Faulty learned tables and sinusoidal codes, and the right ones that the library holds."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from posinfo.battery.tables import Learned, Sinusoidal
from posinfo.encodings import learned, sinusoidal
from posinfo.faults.base import Fault

#: Right implementations, by kind and name.
RIGHT: dict[str, dict[str, Callable[[], Any]]] = {
    "learned": {"library": lambda: Learned("library", lambda *given: learned.embed(*given))},
    "sinusoidal": {
        "library": lambda: Sinusoidal("library", lambda *given: sinusoidal.code(*given))
    },
}

# --- learned tables -------------------------------------------------------------------------------


def _sum(tokens: Tensor, table: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
    return tokens[ids] + functional.embedding(positions, table)


def _one_on(tokens, table, ids, positions):
    return _sum(tokens, table, ids, positions + 1)


def _clamped(tokens, table, ids, positions):
    return _sum(tokens, table, ids, positions.clamp(0, len(table) - 1))


def _wrapped(tokens, table, ids, positions):
    return _sum(tokens, table, ids, positions % len(table))


def _from_the_end(tokens, table, ids, positions):
    return tokens[ids] + table[positions]


def _twice(tokens, table, ids, positions):
    return _sum(tokens, table, ids, positions) + functional.embedding(positions, table)


def _tokens_scaled(tokens, table, ids, positions):
    return tokens[ids] * math.sqrt(tokens.shape[1]) + functional.embedding(positions, table)


def _counted(tokens, table, ids, positions):
    return _sum(tokens, table, ids, torch.arange(ids.shape[-1]))


def _of_the_first_sequence(tokens, table, ids, positions):
    return _sum(tokens, table, ids, positions if positions.dim() == 1 else positions[0])


def _spread_out(tokens, table, ids, positions):
    length = ids.shape[-1]
    stretched = positions * (len(table) - 1) // max(length - 1, 1)
    return _sum(tokens, table, ids, torch.where(positions < length, stretched, positions))


def _frozen(tokens, table, ids, positions):
    return _sum(tokens, table.detach(), ids, positions)


class _Remembered:
    """Rows looked up once, for the first sequence of each length."""

    def __init__(self) -> None:
        self.rows: dict[int, Tensor] = {}

    def __call__(self, tokens, table, ids, positions):
        length = ids.shape[1]
        if length not in self.rows:
            self.rows[length] = functional.embedding(positions, table)
        return tokens[ids] + self.rows[length]


def _learned(embed: Callable[..., Tensor]) -> dict[str, Any]:
    return {
        "kind": "learned",
        "make": partial(Learned, "faulty", embed),
        "replaces": {"posinfo.encodings.learned.embed": embed},
    }


_ROW = "row of the position"

_TABLES = (
    Fault(
        name="learned row one too far",
        stage="position",
        wrong="Position p gets row p + 1 of a table made for positions from 0; row p is right.",
        seen="huggingface/transformers#20761 and #19240: OPT and BART carry two unused rows, and "
        "positions shifted by two, which tables of other models do not have.",
        hint="Shift positions only for a table that was trained with padding rows in front.",
        caught_by=_ROW,
        rejected_by=(_ROW, "each sequence", "one at a time", "every length", "added once",
                     "end of the table", "below zero", "gradient"),
        **_learned(_one_on),
    ),
    Fault(
        name="learned positions clamped to the table",
        stage="position",
        wrong="Positions past the table share its last row; they have none, and must be refused.",
        seen="Documented behaviour of jax.numpy: indices out of bounds are clamped in a look-up, "
        "so that a table in JAX does this unless told otherwise.",
        hint="Raise when a position is not a row of the table.",
        caught_by="end of the table",
        rejected_by=("end of the table", "below zero"),
        **_learned(_clamped),
    ),
    Fault(
        name="learned positions wrapped around the table",
        stage="position",
        wrong="Positions past the table start again at row 0; they must be refused.",
        seen="torch.take_along_dim takes an index past the end modulo the rows, silently: the rows "
        "of suite lookup show it.",
        hint="Raise when a position is not a row of the table; look rows up by embedding().",
        caught_by="end of the table",
        rejected_by=("end of the table", "below zero"),
        **_learned(_wrapped),
    ),
    Fault(
        name="learned position minus one taken from the end",
        stage="position",
        wrong="A position of -1, as padding gets from a running count, takes the last row.",
        seen="pytorch/pytorch#151967: compiled embedding look-ups wrapped negative indices; plain "
        "indexing of a tensor does so by design.",
        hint="Look rows up by embedding(), or refuse negative positions.",
        caught_by="below zero",
        rejected_by=("below zero",),
        **_learned(_from_the_end),
    ),
    Fault(
        name="learned row added twice",
        stage="position",
        wrong="The row of the position is added twice; once is right.",
        seen="Not seen in public; stands for a model that adds positions and is given embeddings "
        "which hold them already.",
        hint="Add positions either before the model or inside it.",
        caught_by="added once",
        rejected_by=(_ROW, "each sequence", "one at a time", "every length", "added once",
                     "end of the table", "gradient"),
        **_learned(_twice),
    ),
    Fault(
        name="learned model with scaled tokens",
        stage="scaling",
        wrong="Tokens are multiplied by the root of the width before the sum; GPT-2 adds them as "
        "they are.",
        seen="Right for the original transformer (arXiv 1706.03762, section 3.4), from whose code "
        "it is taken over; no report of it with a GPT-2 table was found.",
        hint="Leave the factor out unless the table was trained with it.",
        caught_by="added once",
        rejected_by=(_ROW, "each sequence", "one at a time", "every length", "added once",
                     "end of the table"),
        **_learned(_tokens_scaled),
    ),
    Fault(
        name="learned positions counted instead of given",
        stage="position",
        wrong="Every call counts from 0; the positions that it is given are right.",
        seen="huggingface/transformers#21080 and #24694: GPT-2 and GPT-Neo count through padding "
        "on the left; Blaizzy/mlx-vlm#1983: each decoded token stands at position 0.",
        hint="Pass positions on: counting is right without padding and without a cache alone.",
        caught_by="one at a time",
        rejected_by=(_ROW, "each sequence", "one at a time", "added once", "end of the table",
                     "below zero", "gradient"),
        **_learned(_counted),
    ),
    Fault(
        name="learned positions of the first sequence for all",
        stage="axis",
        wrong="All sequences of a batch get the positions of its first one.",
        seen="scouzi1966/maclocal-api#92: sequences of a batch that are padded to one length are "
        "given the positions of the longest (there with rotary embeddings).",
        hint="Keep positions as [B, T] where sequences are padded.",
        caught_by="each sequence",
        rejected_by=("each sequence",),
        **_learned(_of_the_first_sequence),
    ),
    Fault(
        name="learned rows spread over the sequence",
        stage="position",
        wrong="Short sequences are stretched over the whole table, so that a position's row "
        "depends on the length.",
        seen="Right for pictures, where vision transformers interpolate their tables; no report "
        "of it with text was found: stands for rows that depend on the length.",
        hint="A token at position p gets row p, however long the sequence.",
        caught_by="every length",
        rejected_by=(_ROW, "each sequence", "every length", "added once", "gradient"),
        **_learned(_spread_out),
    ),
    Fault(
        name="learned table not trained",
        stage="side effect",
        wrong="The table gets no gradient, and keeps its random rows.",
        seen="facebookresearch/fairseq#402 and jadore801120/attention-is-all-you-need-pytorch#33 "
        "ask whether a position table is trained; the reverse, a fixed table that is trained, is "
        "Project-MONAI/MONAI#7564.",
        hint="Hold the table as a parameter, and do not detach it.",
        caught_by="gradient",
        rejected_by=("gradient",),
        **_learned(_frozen),
    ),
    Fault(
        name="learned rows remembered by length",
        stage="caching",
        wrong="Rows are kept for each length, and given to a later sequence at other positions.",
        seen="lucidrains/rotary-embedding-torch#11: a cache whose key leaves the offset out "
        "(there of rotary angles).",
        hint="Key the cache by positions, or look rows up anew: it costs a copy.",
        caught_by="one at a time",
        rejected_by=("one at a time", "added once", "end of the table"),
        kind="learned",
        make=lambda: Learned("faulty", _Remembered()),
    ),
)  # fmt: skip


# --- sinusoidal codes -----------------------------------------------------------------------------


def _codes(exponents: Callable[[int], Tensor]) -> Callable[[Tensor, int, float], Tensor]:
    """Codes with sine and cosine in turn, whose frequencies are base^-exponent."""

    def code(positions: Tensor, width: int, base: float, dtype=torch.float32) -> Tensor:
        angles = torch.outer(positions.to(dtype), 1 / base ** exponents(width).to(dtype))
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)

    return code


_right_codes = _codes(lambda width: torch.arange(0, width, 2) / width)
_not_doubled = _codes(lambda width: torch.arange(width // 2) / width)
_doubled_twice = _codes(lambda width: 2 * torch.arange(0, width, 2) / width)
_over_one_less = _codes(lambda width: torch.arange(width // 2) / (width // 2 - 1))


def _cosine_of_the_next(positions, width, base, dtype=torch.float32):
    places = torch.arange(width).to(dtype)
    angles = torch.outer(positions.to(dtype), 1 / base ** (places / width))
    even = torch.arange(width) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


def _floored(positions, width, base, dtype=torch.float32):
    # The precedence of -a / d // 2: the quotient is rounded down to a whole number.
    step = -math.log(base) / width // 2
    angles = torch.outer(positions.to(dtype), torch.exp(torch.arange(0, width, 2) * step).to(dtype))
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def _halves(positions, width, base, dtype=torch.float32):
    code = _right_codes(positions, width, base, dtype)
    return torch.cat([code[:, 0::2], code[:, 1::2]], dim=-1)


def _swapped(positions, width, base, dtype=torch.float32):
    return _right_codes(positions, width, base, dtype).unflatten(-1, (-1, 2)).flip(-1).flatten(-2)


def _from_one(positions, width, base, dtype=torch.float32):
    return _right_codes(positions + 1, width, base, dtype)


def _fixed_base(positions, width, base, dtype=torch.float32):
    return _right_codes(positions, width, 10_000.0, dtype)


def _few_bits(positions, width, base, dtype=torch.float32):
    return _right_codes(positions.to(torch.bfloat16), width, base, dtype)


def _in_order(positions, width, base, dtype=torch.float32):
    return _right_codes(torch.arange(len(positions)) + positions.min(), width, base, dtype)


def _sinusoidal(code: Callable[..., Tensor], *, stands: bool = True) -> dict[str, Any]:
    return {
        "kind": "sinusoidal",
        "make": partial(Sinusoidal, "faulty", code),
        # The rows ask for codes of one base alone, at positions without gaps.
        "replaces": {"posinfo.encodings.sinusoidal.code": code} if stands else {},
    }


_NEAR = "near positions"

_CODES = (
    Fault(
        name="sinusoidal exponent without the two",
        stage="frequency",
        wrong="The exponent is i/d for pair i; 2i/d is right, or frequencies fall half as far.",
        seen="r9y9/deepvoice3_pytorch#19 asks for this form; stands for the reading of the "
        "formula's i as the number of the pair without its factor.",
        hint="Use 2i/d for pair i, or i/d for the even places i.",
        caught_by=_NEAR,
        rejected_by=(_NEAR, "second base", "any order", "far positions", "offset alone"),
        **_sinusoidal(_not_doubled),
    ),
    Fault(
        name="sinusoidal exponent doubled twice",
        stage="frequency",
        wrong="Places 0, 2, 4, … are doubled once more: the exponent is 4i/d for pair i, not 2i/d.",
        seen="BrianPulfer/PapersReimplementations#9; the sines of SamLynnEvans/Transformer#25.",
        hint="The loop runs over even places already: do not double them.",
        caught_by=_NEAR,
        rejected_by=(_NEAR, "second base", "any order", "far positions", "offset alone"),
        **_sinusoidal(_doubled_twice),
    ),
    Fault(
        name="sinusoidal exponent over one pair less",
        stage="frequency",
        wrong="Exponents run from 0 to 1 over d/2 - 1 steps; they stop short of 1 by 2/d.",
        seen="tensorflow/tensor2tensor#1423: the code of the paper's authors divides so, and "
        "fairseq after it; right with weights that were trained so.",
        hint="Divide by d/2 unless the weights were trained with the other.",
        caught_by=_NEAR,
        rejected_by=(_NEAR, "second base", "any order", "far positions", "offset alone"),
        **_sinusoidal(_over_one_less),
    ),
    Fault(
        name="sinusoidal cosine of the next frequency",
        stage="pairing",
        wrong="The cosine takes the exponent of its own odd place; it shares that of its sine.",
        seen="jadore801120/attention-is-all-you-need-pytorch#32, Kyubyong/transformer#38, "
        "shenweichen/DeepCTR#379, SamLynnEvans/Transformer#25.",
        hint="Sine and cosine of a pair have one frequency: use 2 (i // 2) / d for place i.",
        caught_by="pair norms",
        rejected_by=(_NEAR, "second base", "any order", "far positions", "pair norms",
                     "offset alone"),
        **_sinusoidal(_cosine_of_the_next),
    ),
    Fault(
        name="sinusoidal exponent rounded down",
        stage="frequency",
        wrong="-ln b / d // 2 is a whole number: the division by d/2 needs brackets.",
        seen="zju3dv/LoFTR#41: repaired, and kept as an option (temp_bug_fix) for weights "
        "that were trained with it.",
        hint="Write -ln b / (d // 2).",
        caught_by=_NEAR,
        rejected_by=(_NEAR, "second base", "any order", "far positions", "offset alone"),
        **_sinusoidal(_floored),
    ),
    Fault(
        name="sinusoidal sines before cosines",
        stage="pairing",
        wrong="All sines come first and then all cosines; in turn is what the paper says.",
        seen="tensorflow/tensor2tensor#177, allenai/allennlp#2993, facebookresearch/fairseq#4648: "
        "harmless in training from scratch, wrong with weights for the other order.",
        hint="Interleave, or reorder the weights that read the code.",
        caught_by="layout",
        rejected_by=("position zero", "layout", _NEAR, "second base", "any order",
                     "far positions", "pair norms"),
        **_sinusoidal(_halves),
    ),
    Fault(
        name="sinusoidal cosine before sine",
        stage="pairing",
        wrong="Cosines stand at even and sines at odd places; the other way round is right.",
        seen="Not seen as a report of its own; diffusers has an option flip_sin_to_cos for codes "
        "of time steps, so that both orders are in use.",
        hint="Put the sine first.",
        caught_by="layout",
        rejected_by=("position zero", "layout", _NEAR, "second base", "any order",
                     "far positions"),
        **_sinusoidal(_swapped),
    ),
    Fault(
        name="sinusoidal positions from one",
        stage="position",
        wrong="Position p gets the code of p + 1.",
        seen="facebookresearch/fairseq#123 describes it, for learned tables: positions are counted "
        "from the number of the padding token on.",
        hint="Count positions from 0, or from where the weights were trained.",
        caught_by="position zero",
        rejected_by=("position zero", _NEAR, "second base", "any order", "far positions"),
        **_sinusoidal(_from_one),
    ),
    Fault(
        name="sinusoidal base fixed",
        stage="frequency",
        wrong="The base is 10,000 whatever is asked for.",
        seen="Most public implementations write 10000 into the formula, XLM in "
        "huggingface/transformers 5.24 among them; harmless until another base is asked for.",
        hint="Use the base that is given.",
        caught_by="second base",
        rejected_by=("second base",),
        **_sinusoidal(_fixed_base, stands=False),
    ),
    Fault(
        name="sinusoidal positions in bfloat16",
        stage="position",
        wrong="Positions are rounded to 8 bits before they meet the frequency: 257 becomes 256.",
        seen="Known of rotary embeddings, as huggingface/transformers#29285; here for models cast "
        "to half precision as a whole.",
        hint="Compute angles in float32 and round the code.",
        caught_by="far positions",
        rejected_by=("far positions", "offset alone"),
        **_sinusoidal(_few_bits),
    ),
    Fault(
        name="sinusoidal positions taken as contiguous",
        stage="position",
        wrong="Codes count on from the first position; each position that is given has its own.",
        seen="Not seen as a report: modules that add a slice of a table, as tutorials write them, "
        "know the length alone; a fault where positions have gaps.",
        hint="Look codes up by position.",
        caught_by="any order",
        rejected_by=("any order", "far positions", "offset alone"),
        **_sinusoidal(_in_order, stands=False),
    ),
)  # fmt: skip

FAULTS: tuple[Fault, ...] = _TABLES + _CODES
