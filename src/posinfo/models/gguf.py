"""The header of a GGUF file: its keys and values, without its tokens and weights.

Read here and not by the package ``gguf``, which maps the whole file, makes an array of every
token of the vocabulary, and needs numpy; a test compares the two. The layout is that of ggml's
``docs/gguf.md``, versions 2 and 3.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from posinfo.errors import InputError

MAGIC = b"GGUF"

#: What a value may be, by its number: the form in which struct reads it.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
            12: "d"}  # fmt: skip
_TEXT, _ARRAY = 8, 9

#: Limits beyond which a header is not one: of its values, of its tensors, and of a key or text.
_VALUES, _TENSORS, _LETTERS = 10_000, 1_000_000, 2**26
#: Longer arrays are vocabularies, and left out.
_ITEMS = 4096

#: Tensors that hold a divisor for each pair, which a header does not give.
FACTORS = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")

#: Architectures whose converted weights have pairs of neighbours: the "normal" kind of llama.cpp.
_NEIGHBOURS = ("llama", "mistral", "mixtral", "deepseek2")

#: Keys after the architecture's name, and how a ``config.json`` calls them.
_KEYS = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.sliding_window": "sliding_window",
    "attention.key_length": "head_dim",
    "rope.freq_base": "rope_theta",
}
_SCALING = {
    "rope.scaling.type": "rope_type",
    "rope.scaling.factor": "factor",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
    "rope.scaling.yarn_beta_fast": "beta_fast",
    "rope.scaling.yarn_beta_slow": "beta_slow",
}
#: Names of architectures that Hugging Face calls otherwise.
_ARCHITECTURES = {"gptneox": "gpt_neox", "phi2": "phi", "deepseek2": "deepseek_v3",
                  "gpt-oss": "gpt_oss", "gemma3": "gemma3_text"}  # fmt: skip


@dataclass(frozen=True)
class Header:
    """What a header says: keys with values (long arrays are None), and names of tensors."""

    values: Mapping[str, Any]
    tensors: tuple[str, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """Tensors with divisors of frequencies."""
        return tuple(name for name in FACTORS if name in self.tensors)

    @property
    def neighbours(self) -> bool:
        """Whether the converted weights rotate neighbours together."""
        return self.values.get("general.architecture") in _NEIGHBOURS


def read(file: str) -> Header:
    """Read a header.

    Raises
    ------
    InputError
        If it cannot be read, ends early, or is of a version that is not known.
    """
    try:
        with open(file, "rb") as stream:
            return _header(stream, file)
    except OSError as error:
        raise InputError(file, f"cannot be read: {error.strerror}") from error
    except (struct.error, EOFError) as error:
        raise InputError(file, "is a GGUF file that ends within its header") from error
    except (UnicodeDecodeError, ValueError) as error:
        raise InputError(file, f"is a GGUF file whose header cannot be read: {error}") from error


def _header(stream: BinaryIO, file: str) -> Header:
    stream.read(len(MAGIC))
    (version,) = _unpack(stream, "I")
    if version not in (2, 3):
        text = (
            f"is a GGUF file of version {version}; versions 2 and 3 with low bytes first are read"
        )
        raise InputError(file, text)
    tensors, values = _unpack(stream, "QQ")
    if tensors > _TENSORS or values > _VALUES:
        raise ValueError(f"{tensors} tensors and {values} values are too many")
    found = {}
    for _ in range(values):
        key = _text(stream)
        found[key] = _value(stream, *_unpack(stream, "I"))
    names = []
    for _ in range(tensors):
        names.append(_text(stream))
        (dimensions,) = _unpack(stream, "I")
        if dimensions > 8:
            raise ValueError(f"{names[-1]!r} has {dimensions} dimensions")
        # Its sizes, its type and where it lies.
        _unpack(stream, f"{dimensions}QIQ")
    return Header(found, tuple(names))


def _unpack(stream: BinaryIO, form: str) -> tuple[Any, ...]:
    form = "<" + form
    return struct.unpack(form, stream.read(struct.calcsize(form)))


def _text(stream: BinaryIO) -> str:
    (length,) = _unpack(stream, "Q")
    if length > _LETTERS:
        raise ValueError(f"a text of {length} bytes")
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content.decode()


def _value(stream: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _text(stream)
    if kind in _NUMBERS:
        return _unpack(stream, _NUMBERS[kind])[0]
    if kind != _ARRAY:
        raise ValueError(f"type {kind} is unknown")
    inner, count = _unpack(stream, "IQ")
    if inner == _TEXT:
        if count > _LETTERS:
            raise ValueError(f"an array of {count} texts")
        for _ in range(count):
            _text(stream)
        return None
    if inner not in _NUMBERS:
        raise ValueError(f"an array of type {inner}")
    size = struct.calcsize("<" + _NUMBERS[inner])
    if count > _ITEMS:
        stream.seek(count * size, 1)
        return None
    return list(_unpack(stream, f"{count}{_NUMBERS[inner]}"))


def as_configuration(header: Header) -> tuple[dict[str, Any], dict[str, str]]:
    """A header in the keys of a ``config.json``, and the header's name of each key."""
    values = header.values
    own = str(values.get("general.architecture", ""))
    content: dict[str, Any] = {"model_type": _ARCHITECTURES.get(own, own)}
    keys = {"model_type": "general.architecture"}
    for there, here in _KEYS.items():
        name = f"{own}.{there}"
        value = values.get(name)
        if isinstance(value, list) and value and len(set(value)) == 1:
            value = value[0]
        if value is not None:
            content[here], keys[here] = _short(value), name
    scaling = {}
    for there, here in _SCALING.items():
        value = values.get(f"{own}.{there}")
        if value is not None:
            scaling[here], keys[f"rope_scaling.{here}"] = _short(value), f"{own}.{there}"
    if scaling.get("rope_type", "none") != "none":
        content["rope_scaling"] = scaling
    rotated = values.get(f"{own}.rope.dimension_count")
    if isinstance(rotated, int):
        name = f"{own}.rope.dimension_count"
        if own == "deepseek2":
            content["qk_rope_head_dim"], keys["qk_rope_head_dim"] = rotated, name
        else:
            content["rotary_dim"], keys["rotary_dim"] = rotated, name
    return content, keys


def _short(value: Any) -> Any:
    """A number that float32 holds, in the digits that a person wrote."""
    if isinstance(value, float):
        for digits in range(1, 10):
            short = float(f"{value:.{digits}g}")
            if struct.pack("<f", short) == struct.pack("<f", value):
                return short
    return value
