"""What a configuration says, in one form for all of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posinfo.models import frequencies
from posinfo.models.families import ROTARY

WARNING, NOTE = "warning", "note"


@dataclass(frozen=True)
class Finding:
    """Something that a reader should know.

    Attributes
    ----------
    level
        :data:`WARNING` or :data:`NOTE`.
    code
        A name that stays: what scripts look for.
    key
        The key that it is about, as the file calls it.
    text
        A sentence or two, with the numbers, and what to do.
    numbers
        The numbers by name.
    """

    level: str
    code: str
    key: str
    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rope:
    """The rotary embedding of some layers, or of all.

    Attributes
    ----------
    layers
        Kind of the layers, as in ``full_attention``; empty for all of one kind.
    count
        How many layers; None if the file does not tell.
    window
        How far these layers look back in positions; None for all the way.
    head_dim
        Width of a head.
    dim
        Width that the exponents of frequencies are taken over, and that the pairs span.
    turned
        Pairs that rotate at all.
    base
        Base of the frequencies.
    kind
        The type of scaling by the name of transformers.
    factor
        The factor of the scaling; 1 where there is none.
    trained, stated
        Lengths in positions: trained on before any scaling, and stated to work after it.
    attention
        What cos and sin are multiplied by.
    implied
        What that would be without an explicit value.
    softmax
        What the scale of the softmax is multiplied by beside.
    options
        Further keys of the type, with what they mean.
    sources
        Where base, factor, lengths and widths come from.
    share
        The share of a head as it was given, for a block to paste; 1 if it is all.
    """

    layers: str
    count: int | None
    window: int | None
    head_dim: int
    dim: int
    turned: int
    base: float
    kind: str
    factor: float
    trained: int
    stated: int
    attention: float = 1.0
    implied: float = 1.0
    softmax: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    share: float = 1.0

    @property
    def pairs(self) -> int:
        """Pairs of dimensions, those that stand still included."""
        return self.dim // 2

    @property
    def seen(self) -> int:
        """Distances that training showed, from 0 on: all of its length, or a window's."""
        return min(self.trained, self.window or self.trained)

    @property
    def farthest(self) -> int:
        """Distances that the stated length has, from 0 on, within a window where there is one."""
        return min(self.stated, self.window or self.stated)

    @property
    def plain(self) -> list[float]:
        """Frequencies before any scaling, shape [pairs], in radians per position."""
        return frequencies.plain(self.dim, self.base, self.turned)

    def frequencies(self, length: int | None = None) -> list[float]:
        """Frequencies in effect at a length, shape [pairs], in radians per position.

        Parameters
        ----------
        length
            The current length, which some types follow; the stated one if not given.
        """
        length = self.stated if length is None else length
        plain, options = self.plain, self.options
        match self.kind:
            case "linear" | "proportional":
                return frequencies.linear(plain, self.factor)
            case "dynamic":
                base = frequencies.dynamic_base(
                    self.dim, self.base, self.factor, self.trained, length
                )
                return frequencies.plain(self.dim, base)
            case "yarn":
                return frequencies.yarn(
                    plain, self.base, self.trained, self.factor,
                    options["beta_fast"], options["beta_slow"], options["truncate"],
                )  # fmt: skip
            case "llama3":
                return frequencies.llama3(
                    plain, self.trained, self.factor,
                    options["low_freq_factor"], options["high_freq_factor"],
                )  # fmt: skip
            case "longrope":
                name = "long_factor" if length > self.trained else "short_factor"
                return frequencies.longrope(plain, options[name])
        return plain


@dataclass(frozen=True)
class Model:
    """A model as far as its positions go.

    Attributes
    ----------
    file, name, family
        Where it was read, what it is called, and its ``model_type``.
    positions
        How it tells positions: one of the words of :mod:`posinfo.models.families`.
    layers, heads, kv_heads, width
        Sizes; None where the file does not tell and nothing needs them.
    unrotated
        Layers without any rotation.
    pairing
        How pairs lie in a head.
    stated
        The stated length in positions, where there is one.
    rope
        The rotary embeddings: one, or one for each kind of layers.
    options
        What other ways of telling positions need: rows, slopes, buckets.
    findings
        What was found about it, warnings first.
    """

    file: str
    name: str
    family: str
    positions: str = ROTARY
    layers: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    width: int | None = None
    unrotated: int = 0
    pairing: str = ""
    stated: int | None = None
    rope: tuple[Rope, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that ``--strict`` counts."""
        return tuple(one for one in self.findings if one.level == WARNING)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The findings that are none."""
        return tuple(one for one in self.findings if one.level == NOTE)
