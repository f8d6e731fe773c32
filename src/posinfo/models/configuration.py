"""From the keys of a configuration to a model: where each value comes from, and what is odd.

What wins over what, and which key a type reads, is as in Hugging Face transformers 5.24.0
(``modeling_rope_utils.py`` and the families' ``configuration_*.py``), for that is what runs most
of these files. Where it is known to err, the right reading is taken and a finding or the table of
agreement says so.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from posinfo.errors import InputError, nearest
from posinfo.models import families, findings, frequencies
from posinfo.models.families import ALIASES, FAMILIES, Family
from posinfo.models.files import Raw
from posinfo.models.keys import MOST, WIDEST, Keys
from posinfo.models.model import Finding, Model, Rope

#: The base that transformers takes where neither a file nor a family has one.
USUAL_BASE = 10000.0

_WIDTH = ("hidden_size", "n_embd", "d_model", "dim")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_KV_HEADS = ("num_key_value_heads", "n_kv_heads", "num_kv_heads", "multi_query_group_num")
_HEAD_DIM = ("head_dim", "kv_channels", "d_kv", "attention_head_dim")
_STATED = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx",
           "max_sequence_length")  # fmt: skip
_BASES = ("rope_theta", "rotary_emb_base", "rope_base", "rotary_base", "global_rope_theta")
_SHARES = ("partial_rotary_factor", "rotary_pct", "rotary_percentage", "rope_pct")
_BLOCKS = ("rope_scaling", "rope_parameters")

#: What each type reads beside the common keys: what it needs, and what may be there.
TYPES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "default": ((), ()),
    "linear": (("factor",), ()),
    "dynamic": (("factor",), ()),
    "yarn": (
        ("factor", "original_max_position_embeddings"),
        ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    ),
    "longrope": (
        ("short_factor", "long_factor", "original_max_position_embeddings"),
        ("factor", "attention_factor"),
    ),
    "llama3": (
        ("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
        (),
    ),
    "proportional": ((), ("factor",)),
}
COMMON = ("rope_type", "type", "rope_theta", "partial_rotary_factor")

#: Keys that published files carry in a block, and that change no angle.
_BOOKKEEPING = ("finetuned", "mrope_section", "mrope_interleaved", "max_position_embeddings",
                "llama_4_scaling_beta")  # fmt: skip

#: What marks a file as one of a model with rotary embeddings.
_ROTARY_SIGNS = (*_BASES, *_BLOCKS, *_SHARES, "rotary_dim", "qk_rope_head_dim", "use_rope",
                 "rope_ratio")  # fmt: skip


class Known(NamedTuple):
    """A published model of that name, and the base that it was trained with."""

    name: str
    base: float


class Reader:
    """Reads one configuration; its methods collect findings on the way."""

    def __init__(self, raw: Raw, known: Callable[[str], Known | None] | None = None) -> None:
        self.raw, self.known = raw, known
        self.top = Keys(raw.file, raw.content, names=raw.keys)
        self.found: list[Finding] = []
        self.keys = self._text_part()
        own = self.keys.text("model_type") or self.top.text("model_type") or ""
        self.name = own
        self.family = FAMILIES.get(ALIASES.get(own, own))
        self.defaults = self.family or Family(pairs=families.UNTOLD)
        #: Values that the family gave, with the keys that are missing.
        self.filled: dict[str, Any] = {}

    def _text_part(self) -> Keys:
        """Of a model of several kinds of input the part that reads text."""
        if self.top.first((*_WIDTH, *_HEADS)) is None:
            for key in ("text_config", "llm_config", "language_config"):
                inner = self.top.below(key)
                if inner is not None:
                    return inner
        return self.top

    # --- the whole -----------------------------------------------------------------------------

    def model(self) -> Model:
        """The model.

        Raises
        ------
        InputError
            Naming file, key and what is allowed.
        """
        for key in self.raw.twice:
            self.found.append(findings.duplicate(key))
        positions = self._positions()
        sizes = {
            "layers": self._whole(_LAYERS, most=MOST),
            "heads": self._whole(_HEADS, most=MOST),
            "kv_heads": self._whole(_KV_HEADS, most=MOST),
            "width": self._whole(_WIDTH, most=2**24),
        }
        more: dict[str, Any] = {}
        if positions == families.ROTARY:
            more = self._rotary(sizes)
        elif positions == families.LEARNED:
            more = self._learned(sizes)
        elif positions == families.ALIBI:
            more = self._alibi(sizes)
        elif positions == families.BUCKETS:
            more = self._buckets(sizes)
        if self.filled:
            self.found.append(findings.from_family(self.name, self.filled))
        ordered = sorted(self.found, key=lambda one: one.level != "warning")
        return Model(
            self.raw.file, self.raw.name, self.name, positions, **sizes, **more,
            findings=tuple(ordered),
        )  # fmt: skip

    def _whole(self, names: Sequence[str], *, most: int) -> int | None:
        key = self.keys.first(names)
        return None if key is None else self.keys.whole(key, most=most)

    def _positions(self) -> str:
        """How the model tells positions.

        Raises
        ------
        InputError
            If neither a key nor the family says so.
        """
        said = self.keys.content.get("position_embedding_type")
        words = {
            "rope": families.ROTARY, "rotary": families.ROTARY, "alibi": families.ALIBI,
            "nope": families.NOTHING, "none": families.NOTHING, "learned": families.LEARNED,
            "learned_absolute": families.LEARNED,
        }  # fmt: skip
        if isinstance(said, str) and said in words:
            return words[said]
        if self.name in ("falcon", "RefinedWeb", "RefinedWebModel"):
            return families.ALIBI if self.keys.flag("alibi") else families.ROTARY
        if self.name == "mpt":
            attention = self.keys.below("attn_config")
            told = attention.flag("alibi") if attention else None
            return families.LEARNED if told is False else families.ALIBI
        if self.family is not None:
            return self.family.positions
        if self.keys.flag("alibi"):
            return families.ALIBI
        if self.keys.first(_ROTARY_SIGNS) is None:
            listed = ", ".join(sorted(FAMILIES))
            said = (
                f"{self.name!r} is a family that is not known here" if self.name else "is missing"
            )
            raise self.keys.wrong(
                "model_type",
                f"{said}, and no key such as rope_theta, rope_scaling or rope_parameters says how "
                f"positions are told: add rope_theta for rotary embeddings, or one of {listed}",
            )
        self.found.append(findings.unknown_family(self.name))
        return families.ROTARY

    # --- lengths and widths --------------------------------------------------------------------

    def _stated(self) -> tuple[int, str]:
        key = self.keys.first(_STATED)
        if key is not None:
            return self.keys.whole(key), self.keys.label(key)
        if self.defaults.stated is None:
            raise self.keys.wrong(
                "max_position_embeddings", "is missing: a whole number of positions of at least 1"
            )
        self.filled["max_position_embeddings"] = self.defaults.stated
        return self.defaults.stated, f"the family {self.name}"

    def _head_dim(self, sizes: Mapping[str, int | None]) -> tuple[int, str]:
        """Width of the part of a head that may rotate, and where it comes from.

        Raises
        ------
        InputError
            If there is no way to find it.
        """
        apart = self.defaults.rotary_head or (
            "qk_rope_head_dim" if "qk_rope_head_dim" in self.keys else ""
        )
        if apart and apart in self.keys:
            return self.keys.whole(apart, most=WIDEST), self.keys.label(apart)
        if apart:
            raise self.keys.wrong(
                apart, "is missing: in this family it is the width that rotates, a whole number"
            )
        key = self.keys.first(_HEAD_DIM)
        if key is not None:
            return self.keys.whole(key, most=WIDEST), self.keys.label(key)
        # A null is no gap: it asks for the quotient.
        if self.defaults.head_dim is not None and "head_dim" not in self.keys.content:
            self.filled["head_dim"] = self.defaults.head_dim
            return self.defaults.head_dim, f"the family {self.name}"
        width, heads = sizes["width"], sizes["heads"]
        if width is None or heads is None:
            missing = [
                names[0] for names, value in ((_WIDTH, width), (_HEADS, heads)) if value is None
            ]
            raise self.keys.wrong(
                "head_dim",
                f"is missing, and so is {' and '.join(missing)}: give head_dim, or both "
                "hidden_size and num_attention_heads",
            )
        wide, many = (self.keys.label(self.keys.first(names)) for names in (_WIDTH, _HEADS))
        if width % heads:
            raise self.keys.wrong(
                "head_dim",
                f"is missing, and {wide} {width} is no multiple of {many} {heads}: give head_dim",
            )
        if width // heads > WIDEST:
            raise self.keys.wrong("head_dim", f"must be at most {WIDEST}, not {width // heads}")
        return width // heads, f"{wide} {width} / {many} {heads}"

    # --- rotary --------------------------------------------------------------------------------

    def _rotary(self, sizes: Mapping[str, int | None]) -> dict[str, Any]:
        head_dim, from_head = self._head_dim(sizes)
        stated = self._stated()
        block = self._block()
        kinds, counts = self._kinds(sizes["layers"])
        window = self._window()
        nested = block is not None and any(
            isinstance(value, dict) for value in block.content.values()
        )
        ropes = []
        if nested:
            for kind, value in block.content.items():
                if value is not None and not isinstance(value, dict):
                    self.found.append(findings.beside_nested(block.label(kind)))
                    continue
                if value is None:
                    continue
                part = block.below(kind)
                head = self._head_of(kind, head_dim, from_head)
                ropes.append(self._rope(part, kind, counts.get(kind), window, head, stated, True))
            if not ropes:
                raise block.wrong("full_attention", "holds no object: a block for a kind of layers")
        elif self.defaults.local is not None:
            for kind in ("full_attention", "sliding_attention"):
                part = block if kind == "full_attention" else None
                head = (head_dim, from_head)
                ropes.append(self._rope(part, kind, counts.get(kind), window, head, stated, False))
        else:
            rotated = [kind for kind in kinds if kind != self.defaults.unrotated]
            label = rotated[0] if self.defaults.unrotated and rotated else ""
            count = counts.get(label) if label else sizes["layers"]
            all_slide = (
                (not kinds and not self.defaults.mixed)
                or set(kinds) == {"sliding_attention"}
                or bool(label)
            )
            reach, head = window if all_slide else None, (head_dim, from_head)
            ropes.append(self._rope(block, label, count, reach, head, stated, False))
        unrotated = self._unrotated(sizes["layers"], counts)
        if unrotated:
            self.found.append(findings.unrotated(unrotated, sizes["layers"]))
        elif window and any(rope.window for rope in ropes):
            self.found.append(findings.window(window, [r for r in ropes if r.window], self.keys))
        if self.raw.header is not None and self.raw.header.factors:
            self.found.append(findings.factors_in_tensors(self.raw.header.factors))
        return {
            "rope": tuple(ropes),
            "pairing": self._pairing(),
            "stated": stated[0],
            "unrotated": unrotated,
        }

    def _head_of(self, kind: str, head_dim: int, source: str) -> tuple[int, str]:
        """The width of a head of these layers: full ones may have another (Gemma 4)."""
        if kind != "full_attention" or self.name not in ("gemma4", "gemma4_text"):
            return head_dim, source
        width = self.keys.whole("global_head_dim", most=WIDEST)
        if width is not None:
            return width, self.keys.label("global_head_dim")
        self.filled["global_head_dim"] = 512
        return 512, f"the family {self.name}"

    def _block(self) -> Keys | None:
        """The block with the scaling; transformers lets ``rope_scaling`` win if there are two."""
        filled = [
            key for key in _BLOCKS if (part := self.keys.below(key)) is not None and part.content
        ]
        if len(filled) == 2:
            self.found.append(findings.two_blocks(self.keys))
        return self.keys.below(filled[0]) if filled else None

    def _kinds(self, layers: int | None) -> tuple[list[str], dict[str, int]]:
        """The kinds of layers, in order of first sight, and how many there are of each."""
        listed = self.keys.content.get("layer_types")
        if listed is not None:
            if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
                raise self.keys.wrong("layer_types", "must be a list of texts, one a layer")
            kinds = list(listed)
        elif layers is not None and (self.defaults.local or self.defaults.unrotated
                                     or self.name in ("gemma4", "gemma4_text")):  # fmt: skip
            key = self.keys.first(("sliding_window_pattern", "global_attn_every_n_layers"))
            usual = 4 if self.name in ("cohere2", "exaone4") else self.defaults.every
            every = (self.keys.whole(key) if key else None) or usual
            full = (0, every) if self.defaults.first else (every - 1, every)
            kinds = [
                "full_attention" if index % full[1] == full[0] else "sliding_attention"
                for index in range(layers)
            ]
        else:
            return [], {}
        return list(dict.fromkeys(kinds)), {kind: kinds.count(kind) for kind in kinds}

    def _window(self) -> int | None:
        if self.keys.content.get("use_sliding_window") is False:
            return None
        if self.name in ("qwen2", "qwen3", "qwen2_moe", "qwen3_moe") and not self.keys.flag(
            "use_sliding_window"
        ):
            return None
        key = self.keys.first(("sliding_window", "local_attention"))
        if key is None or self.keys.content[key] == 0:
            return None
        return self.keys.whole(key)

    def _unrotated(self, layers: int | None, counts: Mapping[str, int]) -> int:
        """How many layers have no rotation."""
        listed = self.keys.content.get("no_rope_layers")
        if listed:
            if not isinstance(listed, list) or not all(one in (0, 1) for one in listed):
                raise self.keys.wrong("no_rope_layers", "must be a list of 0 and 1, one a layer")
            # Despite the name, 1 is a layer with rotation.
            return listed.count(0)
        if self.name in ("llama4", "llama4_text", "smollm3") and layers:
            return layers // (self.keys.whole("no_rope_layer_interval") or 4)
        return counts.get(self.defaults.unrotated, 0)

    def _pairing(self) -> str:
        key = self.keys.first(("rope_interleave", "rope_interleaved", "rotary_emb_interleaved"))
        if key is not None:
            return families.NEIGHBOURS if self.keys.flag(key) else families.HALVES
        if self.raw.header is not None:
            return families.NEIGHBOURS if self.raw.header.neighbours else families.UNTOLD
        return self.defaults.pairs

    def _rope(
        self, block: Keys | None, layers: str, count: int | None, window: int | None,
        head: tuple[int, str], stated: tuple[int, str], nested: bool,
    ) -> Rope:  # fmt: skip
        """The rotary embedding that a block asks for, or that its absence does."""
        kind = self._kind(block)
        base, from_base = self._base(block, layers, nested)
        dim, turned, share, from_share = self._rotated(block, head[0], kind)
        pairs = dim // 2
        options: dict[str, Any] = {}
        sources = {"base": from_base, "head_dim": head[1], "rotated": from_share,
                   "stated": stated[1]}  # fmt: skip
        length, trained = stated[0], stated[0]
        sources["trained"] = stated[1]
        attention = implied = softmax = 1.0
        if kind in ("yarn", "longrope", "llama3"):
            trained, sources["trained"] = self._original(block, kind, stated, nested)
        factor, sources["factor"] = self._factor(block, kind, trained, length)
        slow = dim == 2 and kind == "dynamic"
        if slow:
            raise block.wrong("rope_type", "dynamic needs two pairs or more, and one rotates")
        if kind == "linear":
            trained, sources["trained"] = self._interpolated(block, factor, stated)
        elif kind == "dynamic":
            if "original_max_position_embeddings" in block:
                block.whole("original_max_position_embeddings")
            length = max(trained, round(factor * trained))
            sources["stated"] = f"{sources['factor']} × {stated[1]}"
            self.found.append(findings.dynamic_cache(dim, base, factor, trained))
        elif kind == "yarn":
            options = self._yarn_options(block)
            if base == 1:
                raise block.wrong("rope_theta", "must be greater than 1")
            implied = self._yarn_attention(block, factor)
            attention = self._explicit(block, implied)
            softmax = self._softmax(block, factor)
            self.found += findings.yarn_lengths(
                block, factor, trained, self.keys.label(self.keys.first(_STATED) or _STATED[0]),
                length,
            )  # fmt: skip
        elif kind == "longrope":
            options = {
                name: block.divisors(name, pairs) for name in ("short_factor", "long_factor")
            }
            implied = frequencies.longrope_attention(factor, trained)
            attention = self._explicit(block, implied)
            self.found.append(findings.two_lists(trained))
        elif kind == "llama3":
            options = {
                name: self._required(block, kind, name)
                for name in ("low_freq_factor", "high_freq_factor")
            }
            self.found += findings.order_of_turns(block, options)
        if trained > length and kind in ("yarn", "longrope", "llama3"):
            self.found.append(findings.shorter_than_trained(trained, sources["trained"], length,
                                                            sources["stated"]))  # fmt: skip
        if block is not None:
            self.found += findings.unread(block, kind, TYPES, COMMON, _BOOKKEEPING)
        slides = layers != "full_attention" and (
            layers in ("sliding_attention", "chunked_attention") or not layers
        )
        return Rope(
            layers, count, window if slides else None, head[0], dim, turned, base, kind, factor,
            trained, length, attention, implied, softmax, options, sources, share,
        )  # fmt: skip

    def _kind(self, block: Keys | None) -> str:
        """The type, by the name that transformers has for it."""
        if block is None:
            return "default"
        given = {key: block.text(key) for key in ("rope_type", "type") if key in block}
        if len(given) == 2:
            self.found.append(findings.type_twice(block, given))
        key = next(iter(given), "rope_type")
        kind = given.get(key, "default")
        if kind == "mrope":
            return "default"
        if kind == "su" or (kind == "yarn" and "long_factor" in block):
            # Names that early files of Phi-3 have for it.
            return "longrope"
        if kind not in TYPES:
            raise block.wrong(key, f"{kind!r} is unknown: {nearest(kind, TYPES)}")
        return kind

    def _base(self, block: Keys | None, layers: str, nested: bool) -> tuple[float, str]:
        if block is not None and "rope_theta" in block:
            return block.number("rope_theta", above=1), block.label("rope_theta")
        local = self.defaults.local if layers == "sliding_attention" and not nested else None
        names, usual = local or ((*self.defaults.base_keys, *_BASES), self.defaults.base)
        if not self.defaults.base_keys:
            # The code of these families has the base in it.
            return usual, f"the code of {self.name}"
        key = self.keys.first(names)
        if key is not None:
            ratio = self.keys.number("rope_ratio") or 1.0
            more = f" × {self.keys.label('rope_ratio')}" if ratio != 1 else ""
            return self.keys.number(key, above=1) * ratio, self.keys.label(key) + more
        self._missing_base(usual, "rope_theta" if not local else local[0][0])
        return usual, f"the family {self.name}" if self.family else "the usual base"

    def _missing_base(self, usual: float, key: str) -> None:
        known = self.known(self.raw.name) if self.known else None
        if known is not None and known.base != usual and key == "rope_theta":
            self.found.append(findings.missing_base(self.keys.label(key), usual, known))
        elif self.family is None:
            self.found.append(findings.missing_base(self.keys.label(key), usual, None))
        else:
            self.filled[key] = usual

    def _rotated(self, block: Keys | None, head_dim: int, kind: str) -> tuple[int, int, float, str]:
        """Width that pairs span, pairs that turn, the share of a head, and where it is from.

        Raises
        ------
        InputError
            If an odd number of dimensions would rotate, or none, or more than there are.
        """
        where, key = self.keys, self.keys.first(_SHARES)
        if block is not None and "partial_rotary_factor" in block:
            where, key = block, "partial_rotary_factor"
        given, share, source = key is not None, self.defaults.partial, ""
        if key is not None:
            share, source = where.number(key, most=1), where.label(key)
        elif "rotary_dim" in self.keys:
            key, where = "rotary_dim", self.keys
            rotated = self.keys.whole("rotary_dim", most=WIDEST)
            if rotated > head_dim:
                text = f"must be at most the {head_dim} of a head, not {rotated}"
                raise self.keys.wrong("rotary_dim", text)
            share, source = rotated / head_dim, self.keys.label("rotary_dim")
        elif self.name in ("gptj", "codegen"):
            share, source = min(64 / head_dim, 1.0), f"the family {self.name}"
            self.filled["rotary_dim"] = 64
        elif share != 1:
            source = f"the family {self.name}"
            self.filled["partial_rotary_factor"] = share
        if given and share != 1 and self.family and not self.family.takes_share:
            if kind != "proportional":
                self.found.append(findings.unread_share(self.name, where.label(key), share, kind))
            if kind == "default":
                share = 1.0
        if kind == "proportional":
            if head_dim % 2:
                raise self.keys.wrong("head_dim", self._odd(head_dim))
            turned = int(share * head_dim // 2)
            if turned < 1:
                text = f"rotates no pair of the {head_dim} dimensions of a head"
                raise where.wrong(key or "partial_rotary_factor", text)
            return head_dim, turned, share, source
        # As transformers has it; a share of a width in floating point may fall just short of it.
        dim = int(head_dim * share)
        if key == "rotary_dim" or self.name in ("gptj", "codegen"):
            dim = round(head_dim * share)
        if dim % 2:
            name = key if given or key else "head_dim"
            raise where.wrong(name or "head_dim", self._odd(dim))
        if dim < 2:
            raise where.wrong(key or "head_dim",
                              f"rotates {dim} of the {head_dim} dimensions of a head, and a pair "
                              "is two")  # fmt: skip
        return dim, dim // 2, share, source

    @staticmethod
    def _odd(dim: int) -> str:
        return (
            f"rotates {dim} dimensions, which is odd: they turn in pairs, so an even number of at "
            "least 2"
        )

    def _required(self, block: Keys, kind: str, key: str, **limits: Any) -> float:
        value = block.number(key, **limits)
        if value is None:
            raise block.wrong(key, f"is missing: {kind} needs it, a number greater than 0")
        return value

    def _factor(
        self, block: Keys | None, kind: str, trained: int, stated: int
    ) -> tuple[float, str]:
        if kind == "default":
            return 1.0, ""
        value = block.number("factor")
        label = block.label("factor")
        if value is not None:
            if value < 1:
                self.found.append(findings.below_one(label, value))
            return value, label
        if kind == "proportional":
            return 1.0, ""
        if kind in ("linear", "dynamic", "llama3"):
            raise block.wrong("factor", f"is missing: {kind} needs it, a number of at least 1")
        value = stated / trained
        if kind == "yarn":
            self.found.append(findings.missing_factor(label, value, stated, trained))
        return value, f"{stated} / {trained}"

    def _original(
        self, block: Keys, kind: str, stated: tuple[int, str], nested: bool
    ) -> tuple[int, str]:
        """The length before scaling. One outside of a flat block wins, as for transformers."""
        name = "original_max_position_embeddings"
        inside, outside = block.whole(name), None if nested else self.keys.whole(name)
        if inside and outside and inside != outside:
            self.found.append(findings.two_originals(block, self.keys, name, inside, outside))
        if outside:
            return outside, self.keys.label(name)
        if inside:
            return inside, block.label(name)
        usual = None if nested else self.defaults.other_defaults.get(name)
        if usual:
            self.filled[name] = usual
            return int(usual), f"the family {self.name}"
        self.found.append(findings.missing_original(block, name, kind, *stated))
        return stated

    def _interpolated(self, block: Keys, factor: float, stated: tuple[int, str]) -> tuple[int, str]:
        """The trained length of a linear scaling, whose type has no key for it."""
        name = "original_max_position_embeddings"
        for keys in (block, self.keys):
            given = keys.whole(name)
            if given:
                self.found += findings.linear_lengths(keys.label(name), given, factor, *stated)
                return given, keys.label(name)
        trained = max(1, round(stated[0] / factor))
        self.found.append(findings.assumed_original(trained, factor, *stated))
        return trained, f"{stated[1]} / factor"

    def _yarn_options(self, block: Keys) -> dict[str, Any]:
        fast = block.number("beta_fast") or frequencies.BETA_FAST
        slow = block.number("beta_slow") or frequencies.BETA_SLOW
        if fast <= slow:
            self.found.append(findings.order_of_betas(block, fast, slow))
        truncate = block.flag("truncate")
        return {"beta_fast": fast, "beta_slow": slow,
                "truncate": True if truncate is None else truncate}  # fmt: skip

    def _yarn_attention(self, block: Keys, factor: float) -> float:
        one, all_dim = (block.number(name, zero=True) for name in ("mscale", "mscale_all_dim"))
        if one and all_dim:
            return frequencies.mscale(factor, one) / frequencies.mscale(factor, all_dim)
        if (one or all_dim) and not self.defaults.rotary_head:
            self.found.append(findings.mscale_alone(block, factor, one, all_dim))
        return frequencies.mscale(factor)

    def _softmax(self, block: Keys, factor: float) -> float:
        """What families with a head of two parts multiply the softmax's scale by (DeepSeek)."""
        weight = block.number("mscale_all_dim", zero=True)
        if not self.defaults.rotary_head or not weight:
            return 1.0
        value = frequencies.mscale(factor, weight) ** 2
        self.found.append(findings.softmax_scale(block, weight, factor, value))
        return value

    def _explicit(self, block: Keys, implied: float) -> float:
        value = block.number("attention_factor")
        if value is None:
            return implied
        self.found += findings.explicit_attention(block, value, implied)
        return value

    # --- other ways of telling positions -------------------------------------------------------

    def _learned(self, sizes: Mapping[str, int | None]) -> dict[str, Any]:
        stated = self._stated()
        if sizes["width"] is None:
            raise self.keys.wrong("hidden_size", "is missing: the width of the table of positions")
        positions, rows = stated[0], stated[0] + self.defaults.extra_rows
        if self.name == "roberta":
            # Row 0 and the padding's stand for no position.
            padding = self.keys.whole("pad_token_id", least=0)
            positions = rows - (1 if padding is None else padding) - 1
            if positions < 1:
                raise self.keys.wrong("max_position_embeddings", "leaves no row for a position")
        self.found.append(findings.table_ends(positions))
        return {"stated": positions, "options": {"rows": rows, "positions": positions}}

    def _alibi(self, sizes: Mapping[str, int | None]) -> dict[str, Any]:
        if sizes["heads"] is None:
            raise self.keys.wrong("num_attention_heads", "is missing: a slope belongs to each head")
        attention = self.keys.below("attn_config") if self.name == "mpt" else None
        largest = (attention.number("alibi_bias_max") if attention else None) or 8.0
        order = "higher halves" if self.name == "mpt" else "lower first"
        key = self.keys.first(_STATED)
        stated = self.keys.whole(key) if key else None
        slopes = frequencies.alibi_slopes(sizes["heads"], order=order, largest=largest)
        return {"stated": stated, "options": {"slopes": slopes, "order": order}}

    def _buckets(self, sizes: Mapping[str, int | None]) -> dict[str, Any]:
        buckets = self.keys.whole("relative_attention_num_buckets", most=MOST) or 32
        distance = self.keys.whole("relative_attention_max_distance") or 128
        return {"options": {"buckets": buckets, "distance": distance}}


def read_model(raw: Raw, known: Callable[[str], Known | None] | None = None) -> Model:
    """The model that a file describes.

    Parameters
    ----------
    raw
        What stands in the file.
    known
        Gives the published model of a name, if one is known; asked where no base is given.

    Raises
    ------
    InputError
        Naming file, key and what is allowed.
    """
    try:
        return Reader(raw, known).model()
    except (OverflowError, ZeroDivisionError, ValueError) as error:
        text = f"its numbers have no angles: {error}"
        raise InputError(raw.file, text) from error
