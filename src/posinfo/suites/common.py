"""What several suites share: seeded draws, proofs as rows, and names of dtypes and shapes."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from posinfo.suites.base import Recorder

DTYPES = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


class Comparison(NamedTuple):
    """A measured value, what it must be, and the bound on their distance; ``pair`` if one is meant.

    A row is often the worst of many comparisons. NaN must be that worst, and ``max`` passes over
    it, for every comparison with NaN is false: so the distance of NaN is infinite here.
    """

    measured: float
    exact: float
    bound: float
    pair: int | None = None

    def error(self) -> float:
        """Distance of the measured value from the exact one."""
        distance = abs(self.measured - self.exact)
        return math.inf if math.isnan(distance) else distance

    def used(self) -> float:
        """How much of the bound the error uses."""
        return self.error() / self.bound


def draw(shape: Sequence[int], seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard normal numbers from a generator of their own.

    Drawn in float64 and cast: float32 draws differ between kinds of processors, float64 draws
    do not.
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def shape_text(tensor: Tensor) -> str:
    """A shape as the lessons write it: ``[2, 5, 32]``."""
    return str(list(tensor.shape))


def dtype_text(tensor: Tensor) -> str:
    """A precision as text: ``complex64``."""
    return str(tensor.dtype).removeprefix("torch.")


def prove(
    rows: Recorder,
    proof: Callable[[], tuple[str, str, str]],
    subject: str,
    about: str = "function that torch runs",
) -> None:
    """Add a symbolic proof as a row: what sympy found must be what it must be."""
    shows, found, expected = proof()
    rows.equals(
        shows,
        found,
        expected,
        subject=subject,
        evidence="proof",
        basis=f"symbolic: sympy's simplification of the {about}",
    )
