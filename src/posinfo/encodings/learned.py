"""Learned absolute position embeddings: one trained row a position, added to the token's row.

Source: Radford et al. 2019 (GPT-2), ``src/model.py``, where the tables are ``wte`` and ``wpe``.
"""

import torch
from torch import Tensor


def embed(token_table: Tensor, position_table: Tensor, ids: Tensor, positions: Tensor) -> Tensor:
    """Token embedding plus position embedding.

    Parameters
    ----------
    token_table
        Shape [vocabulary, d].
    position_table
        Shape [max_position, d].
    ids
        Token ids, shape [B, T], integer.
    positions
        Positions, integer, of a shape that broadcasts with ``ids``: [T], [1, T] or [B, T].

    Returns
    -------
    Tensor
        Shape [B, T, d].

    Raises
    ------
    IndexError
        If an id or a position is not a row of its table (on a CPU).
    """
    return torch.nn.functional.embedding(ids, token_table) + torch.nn.functional.embedding(
        positions, position_table
    )


class LearnedPositions(torch.nn.Module):
    """A trainable position table of shape [max_position, d], added to token embeddings.

    Initialised as in GPT-2's source: normal with a standard deviation of 0.01.
    """

    def __init__(self, max_position: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        rows = torch.randn(max_position, width, generator=generator, dtype=torch.float64)
        self.table = torch.nn.Parameter(0.01 * rows.float())

    def forward(self, embedded: Tensor, positions: Tensor) -> Tensor:
        """Add the rows of ``positions`` [T], [1, T] or [B, T] to ``embedded`` [B, T, d]."""
        return embedded + torch.nn.functional.embedding(positions, self.table)
