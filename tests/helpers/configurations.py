"""Configurations as they are published, as far as positions go, by a name each."""

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "num_hidden_layers": 32, "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}  # fmt: skip

LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 8192, "rope_type": "llama3"}  # fmt: skip

YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}

LONGROPE = {"type": "longrope", "short_factor": [1.0 + 0.01 * i for i in range(48)],
            "long_factor": [1.0 + i for i in range(48)]}  # fmt: skip

PHI3 = {
    "model_type": "phi3", "hidden_size": 3072, "num_attention_heads": 32, "num_hidden_layers": 32,
    "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
    "rope_theta": 10000.0, "rope_scaling": LONGROPE,
}  # fmt: skip

GEMMA3 = {
    "model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34,
        "sliding_window": 1024, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    },
}  # fmt: skip

GEMMA4 = {
    "model_type": "gemma4_text", "hidden_size": 2304, "num_attention_heads": 8,
    "num_hidden_layers": 12, "head_dim": 256, "global_head_dim": 512, "sliding_window": 512,
    "max_position_embeddings": 131072,
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                           "rope_theta": 1000000.0},
    },
}  # fmt: skip

DEEPSEEK = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
    "num_hidden_layers": 61, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
    "max_position_embeddings": 163840, "rope_theta": 10000,
    "rope_scaling": {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1, "mscale": 1.0,
                     "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096},
}  # fmt: skip

GPT_OSS = {
    "model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "head_dim": 64,
    "num_hidden_layers": 36, "max_position_embeddings": 131072, "rope_theta": 150000,
    "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                     "truncate": False, "original_max_position_embeddings": 4096},
}  # fmt: skip

#: One a family or form; none of them is wrong, so none may give a warning.
RIGHT = {
    "llama, no scaling": LLAMA,
    "llama, v5": {key: value for key, value in LLAMA.items() if key != "rope_theta"}
    | {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
    "llama 3.1": LLAMA | {"max_position_embeddings": 131072, "rope_scaling": LLAMA3},
    "llama 3.2": LLAMA | {"max_position_embeddings": 131072, "head_dim": 64,
                          "rope_scaling": LLAMA3 | {"factor": 32.0}},
    "head_dim null": LLAMA | {"head_dim": None},
    "mistral 0.1": {"model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32,
                    "num_hidden_layers": 32, "max_position_embeddings": 32768,
                    "sliding_window": 4096, "rope_theta": 10000.0},
    "qwen2.5": {"model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28,
                "num_hidden_layers": 28, "max_position_embeddings": 32768,
                "rope_theta": 1000000.0, "sliding_window": 131072, "use_sliding_window": False},
    "qwen2.5, yarn as documented": {
        "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28,
        "max_position_embeddings": 32768, "rope_theta": 1000000.0,
        "rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768,
                         "type": "yarn"}},
    "yarn, lengths agree": LLAMA | {"max_position_embeddings": 32768, "rope_scaling": YARN},
    "linear": LLAMA | {"max_position_embeddings": 32768,
                       "rope_scaling": {"type": "linear", "factor": 8.0}},
    "dynamic": LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "phi-3, longrope": PHI3,
    "phi-3, su": PHI3 | {"rope_scaling": LONGROPE | {"type": "su"}},
    "phi-2, partial": {"model_type": "phi", "hidden_size": 2560, "num_attention_heads": 32,
                       "num_hidden_layers": 32, "max_position_embeddings": 2048,
                       "partial_rotary_factor": 0.4, "rope_theta": 10000.0},
    "gpt-neox": {"model_type": "gpt_neox", "hidden_size": 6144, "num_attention_heads": 64,
                 "num_hidden_layers": 44, "max_position_embeddings": 2048, "rotary_pct": 0.25,
                 "rotary_emb_base": 10000},
    "gpt-j": {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28,
              "n_positions": 2048, "rotary_dim": 64},
    "gemma 2": {"model_type": "gemma2", "hidden_size": 3584, "num_attention_heads": 16,
                "num_hidden_layers": 42, "head_dim": 256, "max_position_embeddings": 8192,
                "rope_theta": 10000.0, "sliding_window": 4096},
    "gemma 3, text inside": GEMMA3,
    "gemma 4, nested": GEMMA4,
    "deepseek v3": DEEPSEEK,
    "gpt-oss": GPT_OSS,
    "qwen2-vl, mrope": {"model_type": "qwen2_vl", "hidden_size": 3584, "num_attention_heads": 28,
                        "max_position_embeddings": 32768, "rope_theta": 1000000.0,
                        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}},
    "cohere 2": {"model_type": "cohere2", "hidden_size": 4096, "num_attention_heads": 32,
                 "num_hidden_layers": 32, "max_position_embeddings": 8192, "rope_theta": 50000,
                 "sliding_window": 4096, "sliding_window_pattern": 4},
    "smollm3": {"model_type": "smollm3", "hidden_size": 2048, "num_attention_heads": 16,
                "num_hidden_layers": 36, "max_position_embeddings": 65536,
                "rope_theta": 5000000.0, "no_rope_layer_interval": 4},
    "modernbert": {"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12,
                   "num_hidden_layers": 22, "max_position_embeddings": 8192,
                   "local_attention": 128, "global_rope_theta": 160000.0,
                   "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3},
    "chatglm-like, unknown family": {"model_type": "mine", "hidden_size": 4096,
                                     "num_attention_heads": 32, "max_position_embeddings": 4096,
                                     "rope_theta": 10000.0},
    "gpt-2": {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12,
              "n_positions": 1024},
    "opt": {"model_type": "opt", "hidden_size": 768, "num_attention_heads": 12,
            "num_hidden_layers": 12, "max_position_embeddings": 2048},
    "roberta": {"model_type": "roberta", "hidden_size": 768, "num_attention_heads": 12,
                "num_hidden_layers": 12, "max_position_embeddings": 514, "pad_token_id": 1,
                "position_embedding_type": "absolute"},
    "bloom": {"model_type": "bloom", "hidden_size": 4096, "n_head": 32, "n_layer": 30},
    "mpt": {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
            "max_seq_len": 2048, "attn_config": {"alibi": True, "alibi_bias_max": 8}},
    "falcon, alibi": {"model_type": "falcon", "hidden_size": 2048, "num_attention_heads": 20,
                      "alibi": True},
    "falcon, rotary": {"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71,
                       "num_hidden_layers": 32, "alibi": False},
    "t5": {"model_type": "t5", "d_model": 512, "num_heads": 8, "num_layers": 6, "d_kv": 64},
    "jamba": {"model_type": "jamba", "hidden_size": 4096, "num_attention_heads": 32,
              "num_hidden_layers": 32},
}  # fmt: skip


def changed(config: dict, **more: object) -> dict:
    """A copy with other values; a value of ``...`` takes a key out."""
    made = config | more
    return {key: value for key, value in made.items() if value is not ...}


def scaled(**block: object) -> dict:
    """A Llama whose block holds these."""
    return LLAMA | {"rope_scaling": block}


#: What cannot be read: bytes or an object, and what the line must say.
BROKEN = {
    "empty": (b"", "line 1: is not JSON"),
    "not json": (b"{'model_type': 'llama'}", "line 1: is not JSON"),
    "cut off": (b'{"model_type": "llama",\n "hidden_size"', "line 2: is not JSON"),
    "a list": (b"[1, 2]", "must be an object with keys and values, not a list"),
    "a number": (b"3", "must be an object with keys and values, not a number"),
    "null": (b"null", "must be an object with keys and values, not null"),
    "a text": (b'"llama"', "must be an object with keys and values, not a text"),
    "not utf-8": (b'{"model_type": "\xff"}', "is not UTF-8 at byte 16"),
    "with a mark": (b"\xef\xbb\xbf{}", "is not JSON"),
    "nested without end": (b"[" * 100000, "nested too deeply"),
    "too large": (b" " * (2**20 + 1), "has 1,048,577 bytes, too many for a configuration: at "
                                      "most 1,048,576"),
    "nothing in it": ({}, "model_type: is missing"),
    "unknown family without a sign": ({"model_type": "rwkv", "hidden_size": 8}, "'rwkv'"),
    "no dimensions": (changed(LLAMA, hidden_size=..., num_attention_heads=...),
                      "head_dim: is missing, and so is hidden_size and num_attention_heads"),
    "no heads": (changed(LLAMA, num_attention_heads=...), "and so is num_attention_heads"),
    "no width": (changed(LLAMA, hidden_size=...), "and so is hidden_size"),
    "width no multiple": (changed(LLAMA, hidden_size=4100), "4100 is no multiple of"),
    "head_dim zero": (changed(LLAMA, head_dim=0), "head_dim: must be a whole number of at least 1"),
    "head_dim negative": (changed(LLAMA, head_dim=-128), "not -128"),
    "head_dim text": (changed(LLAMA, head_dim="128"), "not '128'"),
    "head_dim true": (changed(LLAMA, head_dim=True), "not true"),
    "head_dim fraction": (changed(LLAMA, head_dim=64.5), "not 64.5"),
    "head_dim too large": (changed(LLAMA, head_dim=10**9), "head_dim: must be at most 65536"),
    "head_dim odd": (changed(LLAMA, head_dim=65), "head_dim: rotates 65 dimensions, which is odd"),
    "partial odd": (RIGHT["phi-2, partial"] | {"hidden_size": 3200, "partial_rotary_factor": 0.25},
                    "partial_rotary_factor: rotates 25 dimensions, which is odd"),
    "partial none": (RIGHT["phi-2, partial"] | {"partial_rotary_factor": 0.001},
                     "rotates 0 of the 80"),
    "partial above one": (changed(LLAMA, partial_rotary_factor=1.5),
                          "partial_rotary_factor: must be a number greater than 0, at most 1"),
    "rotary_dim above the head": (changed(RIGHT["gpt-j"], rotary_dim=512), "at most the 256"),
    "heads zero": (changed(LLAMA, num_attention_heads=0), "num_attention_heads: must be"),
    "layers negative": (changed(LLAMA, num_hidden_layers=-1), "num_hidden_layers: must be"),
    "length zero": (changed(LLAMA, max_position_embeddings=0), "max_position_embeddings: must be"),
    "length text": (changed(LLAMA, max_position_embeddings="8k"), "not '8k'"),
    "length missing, family unknown": (
        {"model_type": "mine", "head_dim": 64, "rope_theta": 10000.0},
        "max_position_embeddings: is missing"),
    "base zero": (changed(LLAMA, rope_theta=0), "rope_theta: must be a number greater than 1"),
    "base one": (changed(LLAMA, rope_theta=1), "rope_theta: must be a number greater than 1"),
    "base negative": (changed(LLAMA, rope_theta=-1e4), "rope_theta: must be"),
    "base text": (changed(LLAMA, rope_theta="10000"), "rope_theta: must be a number"),
    "base infinite": (b'{"model_type": "llama", "head_dim": 64, "rope_theta": 1e999}',
                      "rope_theta: must be a number"),
    "base not a number": (b'{"model_type": "llama", "head_dim": 64, "rope_theta": NaN}',
                          "rope_theta: must be a number"),
    "block a list": (changed(LLAMA, rope_scaling=[4]), "rope_scaling: must be an object"),
    "block a text": (changed(LLAMA, rope_scaling="yarn"), "rope_scaling: must be an object"),
    "type unknown": (scaled(rope_type="yarm"), "'yarm' is unknown: did you mean 'yarn'"),
    "type a number": (scaled(rope_type=4), "rope_scaling.rope_type: must be a text"),
    "factor zero": (scaled(rope_type="linear", factor=0), "rope_scaling.factor: must be a number"),
    "factor negative": (scaled(rope_type="linear", factor=-4.0), "not -4.0"),
    "factor text": (scaled(rope_type="linear", factor="4"), "rope_scaling.factor: must be"),
    "factor missing": (scaled(rope_type="linear"), "rope_scaling.factor: is missing"),
    "original zero": (scaled(**YARN | {"original_max_position_embeddings": 0}),
                      "original_max_position_embeddings: must be a whole number"),
    "low factor missing": (scaled(**changed(LLAMA3, low_freq_factor=...)),
                           "rope_scaling.low_freq_factor: is missing: llama3 needs it"),
    "high factor negative": (scaled(**LLAMA3 | {"high_freq_factor": -4.0}), "high_freq_factor"),
    "beta negative": (scaled(**YARN | {"beta_fast": -32}), "rope_scaling.beta_fast: must be"),
    "mscale text": (scaled(**YARN | {"mscale": "1"}), "rope_scaling.mscale: must be"),
    "truncate a number": (scaled(**YARN | {"truncate": 0}), "truncate: must be true or false"),
    "attention negative": (scaled(**YARN | {"attention_factor": -1.0}), "attention_factor: must"),
    "long list short": (PHI3 | {"rope_scaling": LONGROPE | {"long_factor": [1.0] * 47}},
                        "long_factor: must be a list of 48 numbers greater than 0, one a pair, "
                        "and has 47"),
    "short list missing": (PHI3 | {"rope_scaling": changed(LONGROPE, short_factor=...)},
                           "short_factor: must be a list of 48"),
    "long list with a zero": (PHI3 | {"rope_scaling": LONGROPE | {"long_factor": [1.0] * 47 + [0]}},
                              "long_factor[47]: must be a number greater than 0"),
    "list a number": (PHI3 | {"rope_scaling": LONGROPE | {"long_factor": 4}}, "and is 4"),
    "nested empty": (changed(GEMMA4, rope_parameters={"full_attention": {"rope_type": "ntk"}}),
                     "rope_parameters.full_attention.rope_type: 'ntk' is unknown"),
    "deepseek without its width": (changed(DEEPSEEK, qk_rope_head_dim=...), "qk_rope_head_dim"),
    "layer types a text": (changed(GEMMA4, layer_types="full"), "layer_types: must be a list"),
    "no table width": ({"model_type": "gpt2", "n_positions": 1024}, "hidden_size: is missing"),
    "alibi without heads": ({"model_type": "bloom", "hidden_size": 64}, "a slope belongs to"),
    "text part a list": ({"model_type": "llava", "text_config": [1]}, "text_config: must be an"),
}  # fmt: skip
