"""The smallest decoder with a learned position table, and its training on a task of positions.

One head of causal attention between a sum of two embeddings and a read-out. The task, to name
each token's position modulo a number of classes, needs nothing but the position, so that a few
dozen steps solve it wherever training goes, and what it never reached shows.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from posinfo.encodings.attention import attend
from posinfo.encodings.learned import embed

#: Standard deviation of GPT-2's token embeddings; here of the positions too.
DEVIATION = 0.02


class TinyDecoder(torch.nn.Module):
    """Token and position embeddings, one causal attention with a residual, and a read-out.

    Parameters
    ----------
    vocabulary, max_position, width, classes
        Rows of the token table, rows of the position table, their width, and the answers that
        the read-out scores.
    generator
        All draws come from it, in float64, and are cast.
    """

    def __init__(
        self,
        vocabulary: int,
        max_position: int,
        width: int,
        classes: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()

        def normal(deviation: float, *shape: int) -> torch.nn.Parameter:
            drawn = torch.randn(*shape, generator=generator, dtype=torch.float64)
            return torch.nn.Parameter((deviation * drawn).float())

        self.tokens = normal(DEVIATION, vocabulary, width)
        self.positions = normal(DEVIATION, max_position, width)
        self.query, self.key, self.value = (
            normal(1 / math.sqrt(width), width, width) for _ in range(3)
        )
        self.readout = normal(1 / math.sqrt(width), width, classes)

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Scores [B, T, classes] of tokens ``ids`` [B, T] at ``positions`` [T] or [B, T].

        Raises
        ------
        IndexError
            If an id or a position is not a row of its table (on a CPU).
        """
        x = embed(self.tokens, self.positions, ids, positions)
        attended = attend(x @ self.query, x @ self.key, x @ self.value)
        return (x + attended) @ self.readout


def answers(positions: Tensor, classes: int) -> Tensor:
    """What the task asks for at each position: its remainder by the number of classes."""
    return positions % classes


def batches(
    vocabulary: int, batch: int, length: int, generator: torch.Generator
) -> Iterator[Tensor]:
    """Endless batches of token ids [batch, length], drawn evenly: they say nothing of position."""
    while True:
        yield torch.randint(0, vocabulary, (batch, length), generator=generator)


def train(
    model: TinyDecoder,
    data: Iterator[Tensor],
    *,
    steps: int,
    learning_rate: float,
    momentum: float = 0.9,
) -> float:
    """Train on the positions 0 … T - 1 of each batch by plain descent with momentum.

    Returns
    -------
    float
        Cross-entropy of the last step, in nats a token.
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=momentum)
    loss = torch.zeros(())
    for _ in range(steps):
        ids = next(data)
        positions = torch.arange(ids.shape[1])
        scores = model(ids, positions)
        wanted = answers(positions, scores.shape[-1]).expand(ids.shape)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.item()
