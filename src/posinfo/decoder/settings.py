"""What the config says of the decoder, as the objects that model, tasks and training take."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from posinfo import scaling
from posinfo.decoder.model import Reading, Sizes
from posinfo.decoder.tasks import Language

Settings = Mapping[str, Any]


def language(settings: Settings) -> Language:
    """The tasks' sizes, from the config's section ``decoder``."""
    tasks = settings["tasks"]
    return Language(**{**tasks, "period": tuple(tasks["period"])})


def sizes(settings: Settings) -> Sizes:
    """The decoder's sizes, from the config's section ``decoder``."""
    names = ("width", "heads", "layers", "hidden", "base", "buckets")
    own = {name: settings[name] for name in names}
    return Sizes(vocabulary=language(settings).vocabulary, length=settings["trained_length"], **own)


def frequencies(settings: Settings, method: str, factor: float) -> Tensor:
    """Frequencies [d_head/2] that a method of :mod:`posinfo.scaling` gives the decoder.

    The methods' own settings are those of the config: ``abf_base``, and the turns between which
    YaRN blends.
    """
    options: dict[str, float] = {}
    if method == "abf":
        options = {"new_base": settings["abf_base"]}
    elif method == "yarn":
        options = {"beta_fast": settings["yarn"]["fast"], "beta_slow": settings["yarn"]["slow"]}
    size = sizes(settings)
    return scaling.METHODS[method].frequencies(
        size.head_dim, size.base, size.length, factor, **options
    )


def extended(settings: Settings, method: str, factor: float, *, plain: bool = False) -> Reading:
    """How a decoder with rotary embeddings reads a context ``factor`` times as long by a method.

    ``plain`` leaves out the attention factor of a method that has one.
    """
    attention = scaling.METHODS[method].attention_factor(factor, settings["trained_length"])
    return Reading(
        frequencies=frequencies(settings, method, factor), factor=1.0 if plain else attention
    )
