"""Configurations of every type with every legal key, drawn at random: for tests and comparisons.

All of them are right: what they hold is in the ranges that published models have, and a little
beyond. A draw is a function of the generator alone.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

#: Types, and forms of configurations that are more than one type.
KINDS = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional", "nested")

_BASES = (1e4, 1e5, 1.5e5, 5e5, 1e6, 5e6, 1e7, 12345.0)
_LENGTHS = (1024, 2048, 4096, 8192, 10000, 32768)
_FACTORS = (1.0, 1.5, 2.0, 4.0, 8.0, 10.0, 16.0, 3.7, 32.0, 40.0)
_HEADS = (32, 64, 80, 96, 128, 256)


def configuration(random: Random, kind: str) -> dict[str, Any]:
    """A configuration of a kind, in the old form or the new.

    Parameters
    ----------
    random
        What it is drawn from.
    kind
        One of :data:`KINDS`.
    """
    if kind == "nested":
        return _nested(random)
    partial = kind != "proportional" and random.random() < 0.4
    family = "phi" if partial else random.choice(("llama", "mistral", "qwen3"))
    if kind == "longrope":
        # The family that reads a share and has this type; its code allows no other.
        family = "phi3" if partial else "llama"
    head_dim = random.choice(_HEADS)
    heads = random.choice((4, 8))
    config: dict[str, Any] = {
        "model_type": family,
        "hidden_size": heads * head_dim,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "num_hidden_layers": 2,
        "intermediate_size": 64,
    }
    # Given, derived, or null, which asks for the quotient too.
    if family == "qwen3":
        config["head_dim"] = head_dim
    elif family in ("llama", "mistral"):
        config.update(random.choice(({}, {"head_dim": head_dim}, {"head_dim": None})))
    if partial:
        config["partial_rotary_factor"] = random.choice((0.25, 0.5, 0.75))
    length = random.choice(_LENGTHS)
    block, stated = _block(random, kind, _rotated(config, head_dim), length)
    config["max_position_embeddings"] = stated
    base = random.choice(_BASES)
    if kind == "longrope" and family == "phi3":
        # Its class takes the length from here alone.
        config["original_max_position_embeddings"] = block.pop("original_max_position_embeddings")
    if random.random() < 0.5:
        config["rope_parameters"] = {"rope_type": kind, "rope_theta": base, **block}
    else:
        config["rope_theta"] = base
        if kind != "default":
            name = random.choice(("type", "rope_type"))
            config["rope_scaling"] = {name: kind, **block}
    return config


def _rotated(config: Mapping[str, Any], head_dim: int) -> int:
    return int(head_dim * config.get("partial_rotary_factor", 1.0))


def _nested(random: Random) -> dict[str, Any]:
    """Kinds of layers with a block each, as in Gemma 3."""
    head_dim = random.choice(_HEADS)
    length = random.choice(_LENGTHS)
    kinds = random.sample(("default", "linear", "yarn", "llama3", "longrope", "dynamic"), 2)
    blocks, stated = {}, length
    for layers, kind in zip(("full_attention", "sliding_attention"), kinds, strict=True):
        block, reach = _block(random, kind, head_dim, length)
        # The one stated length is that of all: a type without a length of its own follows it.
        stated = max(stated, reach)
        # transformers reads truncate beside the blocks alone; see posinfo.models.agreement.
        block.pop("truncate", None)
        blocks[layers] = {"rope_type": kind, "rope_theta": random.choice(_BASES), **block}
    return {
        "model_type": "gemma3_text",
        "hidden_size": 4 * head_dim,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_hidden_layers": 6,
        "head_dim": head_dim,
        "sliding_window": 512,
        "max_position_embeddings": stated,
        "rope_parameters": blocks,
    }


def _block(random: Random, kind: str, rotated: int, length: int) -> tuple[dict[str, Any], int]:
    """The keys of a type beside base and type, and the stated length that goes with them."""
    if kind == "default":
        return {}, length
    factor = random.choice(_FACTORS)
    if kind in ("linear", "dynamic"):
        return {"factor": factor}, length
    if kind == "proportional":
        block: dict[str, Any] = {"partial_rotary_factor": random.choice((0.25, 0.5, 1.0))}
        if random.random() < 0.5:
            block["factor"] = factor
        return block, length
    stated = round(factor * length)
    original = {"original_max_position_embeddings": length}
    if kind == "llama3":
        low, high = random.choice(((1.0, 4.0), (0.5, 2.0), (1.0, 32.0), (1.5, 1.75)))
        return {"factor": factor, "low_freq_factor": low, "high_freq_factor": high,
                **original}, stated  # fmt: skip
    if kind == "longrope":
        pairs = rotated // 2
        step = random.choice((0.0, 0.1, 1.0))
        block = {
            "short_factor": [1.0 + step / 8 * pair for pair in range(pairs)],
            "long_factor": [1.0 + step * pair for pair in range(pairs)],
            **original,
        }
        if random.random() < 0.5:
            block["factor"] = factor
        if random.random() < 0.3:
            block["attention_factor"] = random.choice((0.5, 1.0, 1.25))
        return block, stated
    block = {"factor": factor, **original}
    optional: dict[str, Callable[[], Any]] = {
        "attention_factor": lambda: random.choice((0.5, 1.0, 1.25)),
        "betas": lambda: random.choice(((32, 1), (16, 2), (8.0, 1.5), (64, 0.5))),
        "truncate": lambda: random.choice((True, False)),
        "mscale": lambda: random.choice(((1.0, 1.0), (0.707, 0.707), (1.0, 0.5), (0.707, 1.0))),
    }
    for name, draw in optional.items():
        if random.random() < 0.5:
            continue
        value = draw()
        if name == "betas":
            block["beta_fast"], block["beta_slow"] = value
        elif name == "mscale":
            block["mscale"], block["mscale_all_dim"] = value
        else:
            block[name] = value
    return block, stated
