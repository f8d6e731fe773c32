"""all-MiniLM-L6-v2, an encoder with a learned table: its rows, and texts longer than the table."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

from posinfo.offline import QUIET
from posinfo.pretrained.text import texts

Record = dict[str, Any]
Settings = Mapping[str, Any]
Say = Callable[[str], None]


class Loaded(NamedTuple):
    """The model with its tokenizer, and the tokens put around every text."""

    model: Any
    encode: Callable[[str], list[int]]
    around: tuple[int, int]

    @property
    def table(self) -> Tensor:
        """The learned table, [rows, width]."""
        return self.model.embeddings.position_embeddings.weight.detach()


def load(folder: str | Path) -> Loaded:
    """The model from the files that :func:`posinfo.pretrained.fetch.fetch` put into a folder."""
    os.environ.update(QUIET)
    from transformers import AutoTokenizer, BertModel, logging

    logging.disable_progress_bar()
    model = BertModel.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, use_safetensors=True
    ).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)

    def encode(text: str) -> list[int]:
        return tokenizer(text, add_special_tokens=False, verbose=False, truncation=False).input_ids

    return Loaded(model, encode, (tokenizer.cls_token_id, tokenizer.sep_token_id))


# --- reading -------------------------------------------------------------------------------


def clamped(table: Tensor, length: int, rows: int) -> Tensor:
    """Codes [length, width] from the first ``rows`` of a table, the last one for all the rest."""
    return table[torch.arange(length).clamp(max=rows - 1)]


def interpolated(table: Tensor, length: int, rows: int) -> Tensor:
    """Codes [length, width] between the first ``rows`` of a table, evenly, from first to last."""
    places = torch.linspace(0, rows - 1, length, dtype=torch.float64)
    below = places.floor().long().clamp(max=rows - 2)
    share = (places - below)[:, None].to(table.dtype)
    return table[below] * (1 - share) + table[below + 1] * share


CODES = {"clamped": clamped, "interpolated": interpolated}


def embed(loaded: Loaded, tokens: Sequence[int], codes: Tensor | None = None) -> Tensor:
    """The embedding of a text, of length one: the mean over all tokens, as the model is used.

    Parameters
    ----------
    tokens
        The text's tokens, without those put around it.
    codes
        Codes of the positions, [tokens + 2, width], in place of the table's own rows.
    """
    whole = torch.tensor([loaded.around[0], *tokens, loaded.around[1]])[None]
    embeddings = loaded.model.embeddings
    with torch.no_grad():
        if codes is None:
            states = loaded.model(input_ids=whole).last_hidden_state
        else:
            given = embeddings.word_embeddings(whole) + codes[None]
            # The module adds the codes of positions by itself: all of them become nothing.
            states = _without_table(loaded, given)
    return normalize(states[0].mean(0), dim=0)


def _without_table(loaded: Loaded, given: Tensor) -> Tensor:
    table = loaded.model.embeddings.position_embeddings.weight
    kept = table.data
    table.data = torch.zeros_like(kept)
    try:
        positions = torch.zeros(given.shape[:2], dtype=torch.long)
        return loaded.model(
            inputs_embeds=given, position_ids=positions, token_type_ids=torch.zeros_like(positions)
        ).last_hidden_state
    finally:
        table.data = kept


# --- measurements ----------------------------------------------------------------------------


def table_rows(loaded: Loaded, settings: Settings, say: Say) -> Iterator[Record]:
    """Cosines of the learned table's rows by their distance, as they are and about their mean."""
    table = loaded.table.double()
    for method, rows in {"as trained": table, "about the mean": table - table.mean(0)}.items():
        for distance in settings["distances"]:
            cosines = cosine_similarity(rows[distance:], rows[:-distance], dim=-1)
            about = {"measurement": "table", "method": method, "distance": distance,
                     "tokens": len(cosines)}  # fmt: skip
            for quantity, value in {
                "mean cosine of rows": cosines.mean(),
                "lowest cosine of rows": cosines.min(),
                "highest cosine of rows": cosines.max(),
            }.items():
                yield about | {"quantity": quantity, "value": value.item()}
    say(f"table of {len(table)} rows, {len(settings['distances'])} distances")


def overflow(loaded: Loaded, settings: Settings, say: Say) -> Iterator[Record]:
    """What the model says of one position more than its table has rows.

    Called as usual it stumbles first over a buffer of token types, as long as the table; with the
    token types given, it is the table that is asked for a row that it does not have.
    """
    rows = len(loaded.table)
    for length in (rows, rows + 1):
        given = torch.full((1, length), loaded.around[0])
        for method, more in {
            "called as usual": {},
            "token types given": {"token_type_ids": torch.zeros_like(given)},
        }.items():
            positions = torch.arange(length)[None]
            try:
                with torch.no_grad():
                    loaded.model(input_ids=given, position_ids=positions, **more)
                said = "no error"
            except (IndexError, RuntimeError) as error:
                said = " ".join(f"{type(error).__name__}: {error}".split())
            yield {"measurement": "overflow", "method": method, "context": length,
                   "quantity": "what the model says", "value_text": said}  # fmt: skip
    say(f"{rows} and {rows + 1} positions")


def longer_texts(loaded: Loaded, settings: Settings, say: Say) -> Iterator[Record]:
    """Embeddings of texts by codes that are clamped or interpolated.

    Inside the table the embedding with the right codes is known: ``rows`` says how many rows the
    method may use, and the cosine is that of the two embeddings of the same text. Past the table
    none is known; there the cosine is with the embedding of the text cut to what the table holds.
    """
    table = loaded.table
    rows, half = len(table), len(table) // 2
    inside, outside = settings["inside"], settings["outside"]
    found = texts(loaded.encode, settings["texts"], max(outside) - 2)
    at: dict[tuple[int, int], Tensor] = {}
    for number, tokens in enumerate(found):
        for length in sorted({*inside, half, rows}):
            at[number, length] = embed(loaded, tokens[: length - 2])
        whole = at[number, rows]
        about = {"measurement": "texts", "window": number}

        def record(method: str, length: int, given: int, quantity: str, value: Tensor,
                   about: Record = about) -> Record:  # fmt: skip
            return about | {"method": method, "context": length, "rows": given,
                            "quantity": quantity, "value": value.item()}  # fmt: skip

        same = "cosine with the right codes"
        ours = embed(loaded, tokens[: rows - 2], clamped(table, rows, rows))
        yield record("as trained", rows, rows, same, whole @ ours)
        for length in inside:
            right = at[number, length]
            for method, codes in CODES.items():
                by = embed(loaded, tokens[: length - 2], codes(table, length, half))
                yield record(method, length, half, same, right @ by)
            yield record("cut", length, half, same, right @ at[number, half])
        cut = "cosine with the text cut to the table"
        for length in sorted({*inside, half}):
            yield record("as trained", length, rows, cut, whole @ at[number, length])
        for length in outside:
            for method, codes in CODES.items():
                by = embed(loaded, tokens[: length - 2], codes(table, length, rows))
                yield record(method, length, rows, cut, whole @ by)
        say(f"text {number + 1} of {len(found)}")
    for number in range(len(found)):
        others = [
            at[number, rows] @ at[other, rows] for other in range(len(found)) if other != number
        ]
        yield {"measurement": "texts", "method": "as trained", "window": number, "context": rows,
               "rows": rows, "quantity": "mean cosine with the other texts",
               "value": torch.stack(others).mean().item()}  # fmt: skip
