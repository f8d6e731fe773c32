"""SmolLM2 read at and past its trained length: losses, facts found again, shifts, caches, layouts.

Attention and everything else is transformers' real Llama; only the rotary embedding is ours, and
the measurement ``layout`` shows first that with the model's own frequencies it changes nothing.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from posinfo.encodings.rotary import adjacent_to_half_split
from posinfo.offline import QUIET
from posinfo.pretrained.rope import Embedding, adjacent, half_split_to_adjacent
from posinfo.pretrained.sources import SMOLLM2
from posinfo.pretrained.text import Window, windows

Record = dict[str, Any]
Settings = Mapping[str, Any]
Say = Callable[[str], None]

#: Positions whose loss is written down as one mean.
BUCKET = 256
#: Positions of which logits are computed at a time: all of them would take gigabytes.
CHUNK = 512


class Loaded(NamedTuple):
    """The model with its tokenizer, and the module of transformers that it is made of."""

    model: Any
    encode: Callable[[str], list[int]]
    modeling: Any

    def rotary(self, method: str, factor: float, settings: Settings, **more: Any) -> Embedding:
        """Our rotary embedding for this model by a method."""
        config = self.model.config
        options = {"new_base": settings["abf_base"]} if method == "abf" else {}
        return Embedding(
            method, config.head_dim, config.rope_parameters["rope_theta"],
            config.max_position_embeddings, factor, options, **more,
        )  # fmt: skip


def load(folder: str | Path) -> Loaded:
    """The model from the file of its weights, in float32.

    Parameters
    ----------
    folder
        Where :func:`posinfo.pretrained.fetch.fetch` put it.
    """
    os.environ.update(QUIET)
    from transformers import AutoTokenizer, LlamaForCausalLM, logging
    from transformers.models.llama import modeling_llama

    logging.disable_progress_bar()
    named = {"gguf_file": SMOLLM2.weights, "local_files_only": True}
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32, **named).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, **named)

    def encode(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False, verbose=False).input_ids

    return Loaded(model, encode, modeling_llama)


def window_of(loaded: Loaded, settings: Settings, number: int) -> Window:
    """One of the windows, counted from 0."""
    return windows(loaded.encode, settings["windows"], settings["lengths"], settings["seed"])[
        number
    ]


# --- reading -------------------------------------------------------------------------------


class Read(NamedTuple):
    """What the model makes of tokens: of each, the loss in nats, and whether it came first."""

    loss: Tensor
    first: Tensor


def read(loaded: Loaded, tokens: Sequence[int]) -> Read:
    """Loss and rank of each token but the first, given those before it.

    Returns
    -------
    Read
        Tensors of shape [T]; the first token's loss is NaN, for nothing stands before it.
    """
    given = torch.tensor(tokens)[None]
    with torch.no_grad():
        hidden = loaded.model.model(given, use_cache=False).last_hidden_state[0]
        losses, first = [torch.tensor([math.nan])], [torch.tensor([False])]
        for start in range(0, len(tokens) - 1, CHUNK):
            logits = loaded.model.lm_head(hidden[start : min(start + CHUNK, len(tokens) - 1)])
            target = given[0, start + 1 : start + 1 + len(logits)]
            losses.append(torch.nn.functional.cross_entropy(logits, target, reduction="none"))
            first.append(logits.argmax(-1) == target)
    return Read(torch.cat(losses), torch.cat(first))


def _last_loss(result: Read, window: Window, end: int, context: int, last: int) -> Record:
    """The mean loss of the text among the last positions of a context that ends at ``end``."""
    # The first of them has nothing before it where the context is no longer than they are.
    start = end - last + 1
    plain = torch.tensor(window.plain[start:end])
    losses = result.loss[start - (end - context) : context][plain]
    return {
        "context": context, "position_from": start, "position_to": end, "tokens": len(losses),
        "quantity": "loss", "value": losses.mean().item(),
    }  # fmt: skip


# --- measurements, each for one window -------------------------------------------------------


def at_lengths(loaded: Loaded, settings: Settings, number: int, say: Say) -> Iterator[Record]:
    """The model as trained, on the same last tokens behind contexts of every length."""
    window = window_of(loaded, settings, number)
    lengths, last = settings["lengths"], settings["last"]
    loaded.model.model.rotary_emb = loaded.rotary("none", 1.0, settings)
    for end in [length for length in lengths if length > settings["trained_length"]]:
        for context in [length for length in lengths if length <= settings["trained_length"]]:
            result = read(loaded, window.tokens[end - context : end])
            record = {"measurement": "lengths", "method": "none", "window": number}
            yield record | _last_loss(result, window, end, context, last)
            asked = [question for question in window.questions if question.length == end]
            places = [place - end + context for one in asked for place in one.digits]
            yield record | {
                "context": context, "position_from": end - last, "position_to": end,
                "tokens": len(places), "quantity": "loss of digits never told",
                "value": result.loss[places].mean().item(),
            }  # fmt: skip
            say(f"window {number}, {context} positions before {end}")


def long(
    loaded: Loaded, settings: Settings, number: int, say: Say, *, method: str, length: int
) -> Iterator[Record]:
    """One pass over a window, extended by a method: loss along it, and facts found again."""
    window = window_of(loaded, settings, number)
    loaded.model.model.rotary_emb = loaded.rotary(method, settings["factor"], settings)
    result = read(loaded, window.tokens[:length])
    about = {"measurement": "long", "method": method, "window": number, "context": length}
    plain = torch.tensor(window.plain[:length])
    plain[0] = False
    for start in range(0, length, BUCKET):
        here = plain[start : start + BUCKET]
        if here.any():
            losses = result.loss[start : start + BUCKET][here]
            yield about | {
                "position_from": start, "position_to": start + BUCKET, "tokens": len(losses),
                "quantity": "loss along the text", "value": losses.mean().item(),
            }  # fmt: skip
    for end in [one for one in settings["lengths"] if one <= length]:
        yield about | _last_loss(result, window, end, end, settings["last"]) | {"context": length}
        asked = [question for question in window.questions if question.length == end]
        places = [place for question in asked for place in question.digits]
        told = about | {"position_from": 0, "position_to": end, "tokens": len(places)}
        yield told | {
            "quantity": "loss of digits told at the start",
            "value": result.loss[places].mean().item(),
        }
        yield told | {
            "quantity": "share of digits told at the start that come first",
            "value": result.first[places].double().mean().item(),
        }
    say(f"window {number}, {method}, {length} positions")


def layouts(loaded: Loaded, settings: Settings, number: int, say: Say) -> Iterator[Record]:
    """Our rotary embedding in place of the library's; the other layout; rounded positions."""
    window = window_of(loaded, settings, number)
    lengths, last = settings["lengths"], settings["last"]
    end = lengths[-1]
    model = loaded.model
    theirs = model.model.rotary_emb

    def record(method: str, context: int) -> tuple[Record, Read]:
        result = read(loaded, window.tokens[end - context : end])
        say(f"window {number}, {method}, {context} positions")
        about = {"measurement": "layout", "method": method, "window": number}
        return about | _last_loss(result, window, end, context, last), result

    context = lengths[0]
    first, by_library = record("library", context)
    yield first
    model.model.rotary_emb = loaded.rotary("none", 1.0, settings)
    ours, by_us = record("half-split", context)
    yield ours
    yield ours | {
        "quantity": "largest difference of a token's loss from the library's",
        "value": (by_us.loss - by_library.loss)[1:].abs().max().item(),
    }
    with adjacent(loaded.modeling):
        wrong, _ = record("adjacent, weights of the other layout", context)
        yield wrong
        _reorder(model)
        right, by_other = record("adjacent, weights reordered", context)
        yield right
        yield right | {
            "quantity": "largest difference of a token's loss from the library's",
            "value": (by_other.loss - by_library.loss)[1:].abs().max().item(),
        }
    _reorder(model, back=True)
    for context in [length for length in lengths if length <= settings["trained_length"]]:
        model.model.rotary_emb = loaded.rotary("none", 1.0, settings, positions=torch.bfloat16)
        yield record("positions in bfloat16", context)[0]
    model.model.rotary_emb = theirs


def _reorder(model: Any, back: bool = False) -> None:
    """Reorder the rows of all query and key projections for adjacent pairs, or back."""
    order = adjacent_to_half_split if back else half_split_to_adjacent
    for layer in model.model.layers:
        for projection in (layer.self_attn.q_proj, layer.self_attn.k_proj):
            projection.weight.data = order(projection.weight.data, model.config.head_dim)


def shifts(loaded: Loaded, settings: Settings, number: int, say: Say) -> Iterator[Record]:
    """Logits of a short phrase whose positions are all moved by the same amount."""
    phrase = torch.tensor(loaded.encode(settings["phrases"][number]))[None]
    for precision in (torch.float32, torch.float64):
        loaded.model.model.rotary_emb = loaded.rotary("none", 1.0, settings, angles=precision)
        logits = {}
        for shift in (0, *settings["shifts"]):
            positions = torch.arange(phrase.shape[1])[None] + shift
            with torch.no_grad():
                logits[shift] = loaded.model(
                    phrase, position_ids=positions, use_cache=False
                ).logits[0]
        here = logits[0].double().log_softmax(-1)
        for shift in settings["shifts"]:
            there = logits[shift].double().log_softmax(-1)
            about = {
                "measurement": "shift", "window": number, "shift": shift,
                "method": f"angles in {str(precision).removeprefix('torch.')}",
                "context": phrase.shape[1], "tokens": phrase.shape[1],
            }  # fmt: skip
            divergence = (here.exp() * (here - there)).sum(-1)
            changed = logits[shift].argmax(-1) != logits[0].argmax(-1)
            for quantity, value in {
                "largest difference of a logit": (logits[shift] - logits[0]).abs().max(),
                "largest KL divergence": divergence.max(),
                "KL divergence at the last token": divergence[-1],
                "share of top tokens that change": changed.double().mean(),
                "top token changes at the last token": changed[-1].double(),
            }.items():
                yield about | {"quantity": quantity, "value": value.item()}
        say(f"phrase {number}, angles in {precision}, {len(settings['shifts'])} shifts")


def cached(
    loaded: Loaded, settings: Settings, number: int, say: Say, *, method: str, prefill: int
) -> Iterator[Record]:
    """Decoding with a cache of rotated keys against one pass over everything.

    The cache is filled with ``prefill`` positions, then grows by pieces; the loss of the last
    piece is compared with that of a single pass over as many positions.
    """
    window = window_of(loaded, settings, number)
    piece, pieces = settings["piece"], settings["pieces"]
    total = prefill + piece * pieces
    tokens = torch.tensor(window.tokens[:total])[None]
    target = tokens[0, total - piece + 1 : total]
    loaded.model.model.rotary_emb = loaded.rotary(method, settings["factor"], settings)
    model = loaded.model
    with torch.no_grad():
        whole = model(tokens, use_cache=False, logits_to_keep=piece).logits[0, :-1]
        say(f"window {number}, {method}, {total} positions in one pass")
        past = model(tokens[:, :prefill], use_cache=True, logits_to_keep=1).past_key_values
        for start in range(prefill, total, piece):
            given = tokens[:, start : start + piece]
            step = model(
                given, cache=past, use_cache=True,
                position_ids=torch.arange(start, start + piece)[None],
            )  # fmt: skip
            past = step.past_key_values
        pieced = step.logits[0, :-1]
    say(f"window {number}, {method}, {total} positions in {pieces} pieces behind {prefill}")
    about = {
        "measurement": "cache", "method": method, "window": number, "context": total,
        "position_from": total - piece + 1, "position_to": total, "tokens": len(target),
    }  # fmt: skip
    entropy = torch.nn.functional.cross_entropy
    for quantity, value in {
        "loss, recomputed": entropy(whole, target),
        "loss, cached": entropy(pieced, target),
        "largest difference of a logit": (pieced - whole).abs().max(),
        "share of top tokens that change": (pieced.argmax(-1) != whole.argmax(-1)).double().mean(),
    }.items():
        yield about | {"quantity": quantity, "value": value.item()}
