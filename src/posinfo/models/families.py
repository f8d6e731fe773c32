"""What a configuration leaves to its family: defaults, names of keys, and how pairs lie.

The values are class defaults of Hugging Face transformers 5.24.0, which reads a missing key as
these; a test compares each of them with the classes where that package is installed. They need
not be what a model was trained with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

#: How a pair of dimensions lies in a head that rotates d of them.
HALVES = "halves (i and i + d/2)"
NEIGHBOURS = "neighbours (2i and 2i + 1)"
UNTOLD = "not told"

ROTARY, LEARNED, ALIBI, BUCKETS, NOTHING = (
    "rotary", "learned table", "ALiBi", "relative buckets", "none",
)  # fmt: skip


@dataclass(frozen=True)
class Family:
    """The defaults of a ``model_type``.

    Attributes
    ----------
    positions
        How the family tells positions: :data:`ROTARY` and so on.
    base
        Base of the frequencies if none is given.
    partial
        Share of a head that rotates if none is given.
    head_dim
        Width of a head if the key is missing; None if it then follows from the width.
    stated
        ``max_position_embeddings`` if missing.
    pairs
        How pairs lie in the family's own code.
    base_keys
        Names of the base outside of a block, the strongest first.
    local
        Keys and default of a base of its own for layers with a window; the scaling block then
        belongs to the other layers alone.
    every
        Of the layers with such a base, one in so many has none of a window.
    first
        Whether the first layer, and not the last of each group, is that one.
    extra_rows
        Rows that a learned table has beyond the positions it serves.
    unrotated
        Kind of layers that is not rotated at all, where the family has one.
    rotary_head
        Key of the width of the rotated part of a head, where it is kept apart.
    reads_share
        Whether the code rotates a part of a head although all of it is the default.
    mixed
        Whether a window is that of a part of the layers alone.
    other_defaults
        Defaults of further keys.
    """

    positions: str = ROTARY
    base: float = 10000.0
    partial: float = 1.0
    head_dim: int | None = None
    stated: int | None = None
    pairs: str = HALVES
    base_keys: tuple[str, ...] = ("rope_theta",)
    local: tuple[tuple[str, ...], float] | None = None
    every: int = 6
    first: bool = False
    extra_rows: int = 0
    unrotated: str = ""
    rotary_head: str = ""
    reads_share: bool = False
    mixed: bool = False
    other_defaults: Mapping[str, float] = field(default_factory=dict)

    @property
    def takes_share(self) -> bool:
        """Whether the family's code can rotate a part of a head."""
        return self.reads_share or self.partial != 1


_GEMMA3 = Family(base=1e6, head_dim=256, stated=131072, local=(("rope_local_base_freq",), 10000.0))
_MODERN = Family(
    base=160000.0, stated=8192, base_keys=("global_rope_theta",),
    local=(("local_rope_theta",), 10000.0), every=3, first=True,
)  # fmt: skip
_DEEPSEEK = Family(pairs=NEIGHBOURS, stated=4096, rotary_head="qk_rope_head_dim")
_GLM = Family(partial=0.5, head_dim=128, stated=131072, pairs=NEIGHBOURS)

FAMILIES: Mapping[str, Family] = {
    "apertus": Family(base=12e6, stated=65536),
    "arcee": Family(stated=4096),
    "bamba": Family(partial=0.5, stated=262144),
    "bert": Family(LEARNED, stated=512),
    "bloom": Family(ALIBI),
    "codegen": Family(reads_share=True, stated=2048, pairs=NEIGHBOURS, base_keys=()),
    "cohere": Family(base=500000.0, stated=8192, pairs=NEIGHBOURS),
    "cohere2": Family(stated=8192, pairs=NEIGHBOURS, unrotated="full_attention"),
    "deepseek_v2": replace(_DEEPSEEK, stated=2048),
    "deepseek_v3": _DEEPSEEK,
    "ernie4_5": Family(base=500000.0, head_dim=128, stated=131072, pairs=NEIGHBOURS),
    "exaone4": Family(stated=2048, unrotated="full_attention"),
    "falcon": Family(stated=2048),
    "gemma": Family(head_dim=256, stated=8192),
    "gemma2": Family(mixed=True, head_dim=256, stated=8192),
    "gemma3_text": _GEMMA3,
    "gemma4_text": Family(base=1e6, head_dim=256, stated=131072),
    "glm": _GLM,
    "glm4": _GLM,
    "glm4_moe": Family(partial=0.5, stated=131072),
    "gpt2": Family(LEARNED, stated=1024),
    "gpt_bigcode": Family(LEARNED, stated=1024),
    "gpt_neo": Family(LEARNED, stated=2048),
    "gpt_neox": Family(partial=0.25, stated=2048, base_keys=("rotary_emb_base",)),
    "gpt_oss": Family(mixed=True, base=150000.0, head_dim=64, stated=131072),
    "gptj": Family(reads_share=True, stated=2048, pairs=NEIGHBOURS, base_keys=()),
    "granite": Family(stated=2048),
    "granitemoe": Family(stated=2048),
    "helium": Family(base=100000.0, head_dim=128, stated=4096, pairs=NEIGHBOURS),
    "internlm3": Family(head_dim=128, stated=32768),
    "jamba": Family(NOTHING, stated=262144),
    "llama": Family(stated=2048),
    "llama4_text": Family(base=500000.0, head_dim=128, stated=131072, pairs=NEIGHBOURS),
    "minimax": Family(base=1e6, stated=131072),
    "ministral": Family(stated=131072),
    "mistral": Family(stated=131072),
    "mixtral": Family(base=1e6, stated=131072),
    "mllama_text_model": Family(base=500000.0, stated=131072),
    "modernbert": _MODERN,
    "mpt": Family(ALIBI),
    "nemotron": Family(partial=0.5, stated=4096),
    "olmo": Family(stated=2048),
    "olmo2": Family(stated=2048),
    "olmo3": Family(base=500000.0, stated=2048, local=(("rope_theta",), 500000.0), every=4),
    "olmoe": Family(stated=4096),
    "opt": Family(LEARNED, stated=2048, extra_rows=2),
    "persimmon": Family(partial=0.5, stated=16384),
    "phi": Family(partial=0.5, stated=2048),
    "phi3": Family(
        stated=4096, reads_share=True, other_defaults={"original_max_position_embeddings": 4096}
    ),
    "phimoe": Family(base=1e6, stated=131072),
    "qwen2": Family(mixed=True, stated=32768),
    "qwen2_5_vl_text": Family(mixed=True, base=1e6, stated=32768),
    "qwen2_moe": Family(mixed=True, stated=32768),
    "qwen2_vl_text": Family(mixed=True, base=1e6, stated=32768),
    "qwen3": Family(mixed=True, head_dim=128, stated=32768),
    "qwen3_moe": Family(mixed=True, stated=32768),
    "qwen3_next": Family(partial=0.25, head_dim=256, stated=32768),
    "roberta": Family(LEARNED, stated=512),
    "seed_oss": Family(head_dim=128, stated=524288),
    "smollm3": Family(base=2e6, stated=32768),
    "stablelm": Family(partial=0.25, stated=4096),
    "starcoder2": Family(stated=4096),
    "t5": Family(BUCKETS),
}

#: Other names of a family: wrappers whose text part is meant, and custom code of the same form.
ALIASES: Mapping[str, str] = {
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "kimi_k2": "deepseek_v3",
    "llama4": "llama4_text",
    "mllama": "mllama_text_model",
    "mt5": "t5",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen2_vl": "qwen2_vl_text",
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
    "umt5": "t5",
}
