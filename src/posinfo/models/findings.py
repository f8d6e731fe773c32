"""What is odd about a configuration, in words with numbers; each kind has a code that stays."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from posinfo.models import frequencies
from posinfo.models.keys import Keys
from posinfo.models.model import NOTE, WARNING, Finding, Rope

if TYPE_CHECKING:
    from posinfo.models.configuration import Known

#: Up to this share of it an attention factor differs from the implied one by rounding alone.
ROUNDED = 5e-3


def _of(value: float) -> str:
    return f"{value:.10g}"


def _warning(code: str, key: str, text: str, **numbers: Any) -> Finding:
    return Finding(WARNING, code, key, text, numbers)


def _note(code: str, key: str, text: str, **numbers: Any) -> Finding:
    return Finding(NOTE, code, key, text, numbers)


# --- warnings ---------------------------------------------------------------------------------


def duplicate(key: str) -> Finding:
    """A key stands twice in one object."""
    return _warning("duplicate-key", key, f"{key} stands twice in one object; the last one counts.")


def two_blocks(keys: Keys) -> Finding:
    """Both names of the block are filled."""
    return _warning(
        "two-blocks", keys.label("rope_parameters"),
        f"{keys.label('rope_scaling')} and {keys.label('rope_parameters')} are both there; "
        "transformers 5 reads rope_scaling alone, others may not. Keep one.",
    )  # fmt: skip


def beside_nested(label: str) -> Finding:
    """A value beside the blocks of the kinds of layers."""
    return _warning(
        "ignored-key", label,
        f"{label} stands beside blocks for kinds of layers, and is read for none of them.",
    )  # fmt: skip


def type_twice(block: Keys, given: Mapping[str, str | None]) -> Finding:
    """Both names of the type are there."""
    new, old = given["rope_type"], given["type"]
    same = "they agree" if new == old else f"rope_type wins, so {old!r} is not what runs"
    return _warning(
        "type-twice", block.label("type"),
        f"{block.label('rope_type')} is {new!r} and {block.label('type')} is {old!r}: {same}. "
        "Code for one name alone reads the other as absent; keep rope_type.",
        rope_type=new, type=old,
    )  # fmt: skip


def missing_base(label: str, usual: float, known: "Known | None") -> Finding:
    """No base, where the default is not what the model was trained with, or nobody knows."""
    if known is None:
        text = (
            f"{label} is missing and the family is not known here; {_of(usual)} is assumed, as by "
            "transformers. Give the base that the model was trained with."
        )
        return _warning("missing-base", label, text, assumed=usual)
    return _warning(
        "missing-base", label,
        f"{label} is missing, so its family's default {_of(usual)} is used; {known.name} was "
        f"trained with {_of(known.base)}. Add \"rope_theta\": {_of(known.base)}.",
        assumed=usual, trained_with=known.base,
    )  # fmt: skip


def missing_original(block: Keys, name: str, kind: str, stated: int, source: str) -> Finding:
    """A scaling that needs the length before it, and is not told."""
    label = block.label(name)
    return _warning(
        "missing-original", label,
        f"{label} is missing, so {kind} takes {source} = {stated} for the length before scaling, "
        f"as transformers does. If that is the length after it, every blended pair is wrong.",
        assumed=stated,
    )  # fmt: skip


def missing_factor(label: str, value: float, stated: int, trained: int) -> Finding:
    """YaRN without a factor."""
    return _warning(
        "missing-factor", label,
        f"{label} is missing; {stated} / {trained} = {_of(value)} is assumed. transformers 5.24 "
        "refuses the file.",
        assumed=value,
    )  # fmt: skip


def below_one(label: str, value: float) -> Finding:
    """A factor that shortens the context."""
    return _warning(
        "factor-below-one", label,
        f"{label} is {_of(value)}: below 1 it makes the context shorter. Was 1 / factor meant, "
        f"{_of(1 / value)}?",
        factor=value,
    )  # fmt: skip


def yarn_lengths(
    block: Keys, factor: float, trained: int, label: str, stated: int
) -> Iterator[Finding]:
    """Factor and lengths of YaRN, which must agree; unchanged lengths are in use, too."""
    reach, ratio = factor * trained, stated / trained
    numbers = {"factor": factor, "original": trained, "stated": stated, "implied_factor": ratio}
    if "factor" not in block or abs(ratio / factor - 1) < 1e-9:
        return
    if stated == trained:
        if factor != 1:
            yield _note(
                "stated-unchanged", label,
                f"{label} is still the length before scaling, {stated}; the factor {_of(factor)} "
                f"reaches {_of(reach)}. Whoever serves the model may stop at {stated}.",
                **numbers,
            )  # fmt: skip
        return
    yield _warning(
        "factor-and-lengths", block.label("factor"),
        f"{block.label('factor')} is {_of(factor)}, but {label} {stated} is {_of(ratio)} times the "
        f"{trained} before scaling; {_of(factor)} times are {_of(reach)}. The angles follow the "
        f"factor, and limits may follow {label}: set the one that is wrong.",
        **numbers,
    )  # fmt: skip


def linear_lengths(
    label: str, trained: int, factor: float, stated: int, source: str
) -> Iterator[Finding]:
    """Factor and lengths of a linear scaling, where a length before it is given."""
    if abs(stated / trained / factor - 1) < 1e-9 or stated == trained:
        return
    yield _warning(
        "factor-and-lengths", label,
        f"{source} {stated} is {_of(stated / trained)} times {label} {trained}, but the factor is "
        f"{_of(factor)}.",
        factor=factor, original=trained, stated=stated, implied_factor=stated / trained,
    )  # fmt: skip


def two_originals(block: Keys, keys: Keys, name: str, inside: int, outside: int) -> Finding:
    """The length before scaling stands twice, with two values."""
    return _warning(
        "original-twice", block.label(name),
        f"{block.label(name)} is {inside} and {keys.label(name)} is {outside}; transformers 5 "
        f"takes {outside}. Keep one.",
        inside=inside, outside=outside,
    )  # fmt: skip


def shorter_than_trained(trained: int, source: str, stated: int, label: str) -> Finding:
    """A model that is scaled to less than it had."""
    return _warning(
        "original-above-stated", source,
        f"{source} is {trained}, more than {label} {stated}: the two may be interchanged.",
        original=trained, stated=stated,
    )  # fmt: skip


def order_of_turns(block: Keys, options: Mapping[str, float]) -> Iterator[Finding]:
    """The two thresholds of Llama 3.1 in the wrong order."""
    low, high = options["low_freq_factor"], options["high_freq_factor"]
    if low >= high:
        yield _warning(
            "frequency-factors-order", block.label("low_freq_factor"),
            f"{block.label('low_freq_factor')} is {_of(low)} and "
            f"{block.label('high_freq_factor')} {_of(high)}: it must be the smaller one. As it is "
            f"nothing is blended, and pairs are scaled from {_of(low)} turns down at once.",
            low_freq_factor=low, high_freq_factor=high,
        )  # fmt: skip


def order_of_betas(block: Keys, fast: float, slow: float) -> Finding:
    """The two thresholds of YaRN in the wrong order."""
    return _warning(
        "betas-order", block.label("beta_fast"),
        f"{block.label('beta_fast')} is {_of(fast)} and {block.label('beta_slow')} {_of(slow)}: it "
        "must be the larger one. As it is fast pairs are interpolated and slow ones kept.",
        beta_fast=fast, beta_slow=slow,
    )  # fmt: skip


def explicit_attention(block: Keys, value: float, implied: float) -> Iterator[Finding]:
    """An attention factor that is not what the other keys say."""
    if abs(value / implied - 1) <= ROUNDED:
        return
    yield _warning(
        "attention-factor", block.label("attention_factor"),
        f"{block.label('attention_factor')} is {_of(value)}, where the factor implies "
        f"{implied:.6g}: logits are multiplied by {value**2:.6g} and not by {implied**2:.6g}. "
        "Take it out unless the model was trained with it.",
        given=value, implied=implied,
    )  # fmt: skip


def mscale_alone(block: Keys, factor: float, one: float | None, all_dim: float | None) -> Finding:
    """One of a pair of keys, which is read only with the other."""
    key = "mscale" if one else "mscale_all_dim"
    other = "mscale_all_dim" if one else "mscale"
    value = one or all_dim or 0.0
    return _warning(
        "ignored-key", block.label(key),
        f"{block.label(key)} {_of(value)} is read only together with {other}; without it cos and "
        f"sin are multiplied by {frequencies.mscale(factor):.6g}.",
        value=value, attention_factor=frequencies.mscale(factor),
    )  # fmt: skip


def unread(
    block: Keys, kind: str, types: Mapping[str, tuple[Sequence[str], Sequence[str]]],
    common: Collection[str], bookkeeping: Collection[str],
) -> Iterator[Finding]:  # fmt: skip
    """Keys of a block that its type does not read."""
    needed, allowed = types[kind]
    for key, value in block.content.items():
        if key in needed or key in allowed or key in common or value is None:
            continue
        label = block.label(key)
        if key in bookkeeping:
            yield _note("bookkeeping-key", label, f"{label} changes no angle.")
            continue
        readers = [name for name, (must, may) in types.items() if key in must or key in may]
        who = f"; it belongs to {' and '.join(readers)}" if readers else ""
        yield _warning(
            "ignored-key", label,
            f"{label} is not read by {kind}{who}. What was it meant to change?",
        )  # fmt: skip


def unread_share(name: str, label: str, share: float, kind: str) -> Finding:
    """A share of a head in a family whose code rotates all of it."""
    what = (
        "all of it rotates"
        if kind == "default"
        else f"{kind} makes frequencies for the share, and the code then fails on their number"
    )
    return _warning(
        "ignored-key", label,
        f"{label} is {_of(share)}, but the code of {name} rotates whole heads: {what}.",
        share=share,
    )  # fmt: skip


# --- notes ------------------------------------------------------------------------------------


def unknown_family(name: str) -> Finding:
    """A family whose defaults are not known here."""
    called = f"{name!r}" if name else "without a name"
    return _note(
        "unknown-family", "model_type",
        f"The family {called} is not known here: its own defaults, and how pairs lie in a head, "
        "are not either.",
    )  # fmt: skip


def from_family(name: str, filled: Mapping[str, Any]) -> Finding:
    """What the file leaves to the defaults of its family."""
    listed = ", ".join(f"{key} {_of(value)}" for key, value in filled.items())
    return _note(
        "family-default", ", ".join(filled),
        f"Not in the file, and taken from the defaults of {name or 'transformers'}: {listed}.",
        **filled,
    )  # fmt: skip


def dynamic_cache(dim: int, base: float, factor: float, trained: int) -> Finding:
    """What dynamic scaling does to a cache."""
    reach = round(factor * trained)
    later = frequencies.dynamic_base(dim, base, factor, trained, reach)
    return _note(
        "dynamic-cache", "rope_type",
        f"Past {trained} positions the base grows with the length, from {_of(base)} to {later:.6g} "
        f"at {reach}: keys that a cache already holds were rotated with an earlier base, and no "
        "longer fit. Recompute them, or fix the length.",
        base=base, base_at_reach=later, reach=reach,
    )  # fmt: skip


def two_lists(trained: int) -> Finding:
    """What changing lists does to a cache."""
    return _note(
        "longrope-cache", "long_factor",
        f"Up to {trained} positions short_factor is used, past it long_factor: keys that a cache "
        "holds from before were rotated with the other list.",
        switch=trained,
    )  # fmt: skip


def assumed_original(trained: int, factor: float, stated: int, source: str) -> Finding:
    """The trained length of a linear scaling, which its type does not tell."""
    return _note(
        "assumed-original", source,
        f"linear has no key for the length before scaling: {source} {stated} is taken for the one "
        f"after it, so {trained} before. If it is the one before, the factor reaches "
        f"{_of(stated * factor)}.",
        assumed=trained,
    )  # fmt: skip


def softmax_scale(block: Keys, weight: float, factor: float, value: float) -> Finding:
    """The other place where DeepSeek scales."""
    return _note(
        "softmax-scale", block.label("mscale_all_dim"),
        f"This family multiplies the scale of its softmax by {value:.6g} beside, for "
        f"{block.label('mscale_all_dim')} {_of(weight)} and factor {_of(factor)}.",
        softmax=value,
    )  # fmt: skip


def unrotated(count: int, layers: int | None) -> Finding:
    """Layers that know nothing of positions."""
    of = f" of {layers}" if layers else ""
    return _note(
        "unrotated-layers", "layer_types",
        f"{count}{of} layers rotate nothing: what follows is about the others.", layers=count,
    )  # fmt: skip


def window(size: int, ropes: Sequence[Rope], keys: Keys) -> Finding:
    """Layers that look back only so far."""
    which = ", ".join(rope.layers for rope in ropes if rope.layers) or "all layers"
    return _note(
        "window", keys.label("sliding_window"),
        f"In {which} no query sees further back than {size} positions: distances stay below that, "
        "however long the text.",
        window=size,
    )  # fmt: skip


def factors_in_tensors(names: Sequence[str]) -> Finding:
    """A GGUF file whose divisors are no part of its header."""
    return _warning(
        "factors-in-tensors", names[0],
        f"The file divides frequencies by tensors that a header does not hold: {', '.join(names)}. "
        "The frequencies below are those before it; name the model's config.json for its own.",
    )  # fmt: skip


def table_ends(rows: int) -> Finding:
    """Where a learned table ends."""
    return _note(
        "table-ends", "max_position_embeddings",
        f"The table has rows for positions 0 to {rows - 1}: position {rows} is an error, and no "
        "factor extends it. New rows have to be trained.",
        positions=rows,
    )  # fmt: skip
