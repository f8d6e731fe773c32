"""A model's frequencies beside those of transformers: what a difference may be, and known ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posinfo.models.model import Rope

#: Names of a type in :data:`posinfo.scaling.METHODS`, by the name of transformers.
METHODS = {"default": "none", "linear": "pi", "dynamic": "dynamic_ntk", "yarn": "yarn",
           "longrope": "longrope", "llama3": "llama3", "proportional": "pi"}  # fmt: skip

_LLAMA = {
    "model_type": "llama", "hidden_size": 512, "num_attention_heads": 4, "head_dim": 128,
    "max_position_embeddings": 32768, "rope_theta": 10000.0,
}  # fmt: skip
_YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0,
         "original_max_position_embeddings": 4096}  # fmt: skip
_GEMMA = {
    "model_type": "gemma3_text", "hidden_size": 512, "num_attention_heads": 4, "head_dim": 128,
    "num_hidden_layers": 6, "max_position_embeddings": 32768,
}  # fmt: skip


@dataclass(frozen=True)
class Known:
    """A difference that is known, with whose fault it is.

    Attributes
    ----------
    name
        What it is called in rows and tables.
    side
        Whose fault it is.
    cause
        What happens, and where in the code.
    config
        A configuration that shows it.
    layers
        The kind of layers that it shows in.
    length
        The length at which it shows; the stated one if 0.
    """

    name: str
    side: str
    cause: str
    config: Mapping[str, Any]
    layers: str = ""
    length: int = 0


KNOWN = (
    Known(
        "truncate in a nested block", "transformers 5.24.0",
        "YaRN looks for truncate beside the blocks of the kinds of layers, and not in the block: "
        "false there is read as true (modeling_rope_utils.py, _compute_yarn_parameters).",
        {**_GEMMA, "rope_parameters": {
            "full_attention": {**_YARN, "truncate": False},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
        "full_attention",
    ),
    Known(
        "base of OLMo 3 outside of the block", "transformers 5.24.0",
        "The configuration's class takes rope_theta out of the file for the full layers, so the "
        "layers with a window get the default (configuration_olmo3.py).",
        {"model_type": "olmo3", "hidden_size": 512, "num_attention_heads": 4,
         "num_hidden_layers": 4, "max_position_embeddings": 8192, "rope_theta": 1000000.0},
        "sliding_attention",
    ),
    Known(
        "length of Phi-3 within the block", "transformers 5.24.0",
        "The class has 4096 as a value of its own, which wins over the block's "
        "original_max_position_embeddings (standardize_rope_params).",
        {"model_type": "phi3", "hidden_size": 384, "num_attention_heads": 4,
         "max_position_embeddings": 131072, "rope_theta": 10000.0,
         "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 48,
                          "long_factor": [2.0] * 48, "original_max_position_embeddings": 8192}},
        length=8192,
    ),
)  # fmt: skip


def reference_call(rope: Rope, length: int) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """How :mod:`posinfo.reference.scaling` is asked for the same frequencies.

    Returns
    -------
    tuple
        The method's name, the width, base, length and factor, and the method's options.
    """
    method = METHODS[rope.kind]
    options: dict[str, Any] = {
        key: value for key, value in rope.options.items()
        if rope.kind in ("yarn", "llama3", "longrope")
    }  # fmt: skip
    if rope.kind in ("dynamic", "longrope"):
        options["length"] = length
    return method, (rope.dim, rope.base, rope.trained, rope.factor), options
