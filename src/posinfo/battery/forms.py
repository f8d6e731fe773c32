"""Makes a subject of the rotary battery from a function in one of the known forms.

Brings queries and keys [..., T, d] into the axes of the form and back, and computes what the form
hands over, from frequencies in 50 digits and in float64, rounded once: nothing here rotates.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posinfo.battery.base import Misbehaviour
from posinfo.battery.rotary import LAST_POSITION, Rotary
from posinfo.battery.signatures import Signature
from posinfo.reference import rotary as exact

#: Layouts of the tables of cosines and sines, in the order in which they are tried, and what each
#: makes of half a table [..., d/2].
TABLES: dict[str, Callable[[Tensor], Tensor]] = {
    "halves concatenated": lambda half: torch.cat([half, half], dim=-1),
    "repeated pairwise": lambda half: half.repeat_interleave(2, dim=-1),
    "half the width": lambda half: half,
}
#: Rounding does not choose between inputs that suit alike: what is further off does not suit.
SUITS = 1e-3


def subject(
    function: Callable[..., Any],
    signature: Signature,
    *,
    name: str,
    axes: str | None = None,
    rotary_dim: int | None = None,
    last_position: int | None = None,
) -> "Adapted":
    """A function as the battery asks it.

    Parameters
    ----------
    function
        What is asked.
    signature
        Its form and parameters.
    name
        What people call it.
    axes
        One of :data:`posinfo.battery.signatures.AXES`, if they are not those of the form.
    rotary_dim
        Leading dimensions that it declares to rotate; all if None.
    last_position
        The last position that it declares to take.
    """
    kind = {
        "positions": ByPositions,
        "angles": ByAngles,
        "freqs_cis": ByComplex,
        "cos_sin": ByTables,
    }[signature.form.name]
    return kind(function, signature, name, axes, rotary_dim, last_position)


@cache
def _frequencies(dim: int, base: float) -> Tensor:
    return torch.tensor(
        [float(value) for value in exact.frequencies(dim, base)], dtype=torch.float64
    )


class Adapted(ABC):
    """A function of one form; :meth:`rotary` is the subject."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        name: str,
        axes: str | None,
        rotary_dim: int | None,
        last_position: int | None,
    ) -> None:
        self.function = function
        self.signature = signature
        self.axes = axes or self._own_axes(signature)
        self.name = name
        self.rotary_dim = rotary_dim
        self.last_position = LAST_POSITION if last_position is None else last_position

    @property
    def rotary(self) -> Rotary:
        """The function as the battery's checks call it."""
        by_positions = self.signature.form.name == "positions"
        return Rotary(
            self.name,
            self.turn,
            takes_positions=by_positions,
            takes_base=by_positions and "base" in self.signature.parameters,
            rotary_dim=self.rotary_dim,
            last_position=self.last_position,
        )

    @abstractmethod
    def turn(self, q: Tensor, k: Tensor, positions: Tensor, base: float) -> Any:
        """Rotate queries and keys [..., T, d] by positions [T]."""

    # --- the function's own way ---------------------------------------------------------------

    def _own_axes(self, signature: Signature) -> str:
        return signature.form.axes

    def call(self, given: dict[str, Any]) -> Any:
        """Call the function with the values of its roles: by name, or by place without one."""
        by_place, by_name = [], {}
        for role, parameter in self.signature.parameters.items():
            if role in given:
                if parameter:
                    by_name[parameter] = given[role]
                else:
                    by_place.append(given[role])
        return self.function(*by_place, **by_name)

    def there(self, x: Tensor) -> Tensor:
        """From [..., T, d] into the axes of the function.

        With one head or none it is no copy, so that a change of the input is seen.
        """
        if self.axes == "td":
            return x
        leading = x.shape[:-2]
        if self.axes == "btd":
            return x.reshape(-1, *x.shape[-2:])
        # Of one axis before T it is a batch: the heads of all sequences rotate alike.
        batch, heads = math.prod(leading[:1]), math.prod(leading[1:])
        moved = x.reshape(batch, heads, *x.shape[-2:])
        # In one piece, as a projection leaves them: a function may view them in another shape.
        return moved.transpose(1, 2).contiguous() if self.axes == "bthd" else moved

    def back(self, found: Any, given: Tensor, before: Tensor) -> Any:
        """From the axes of the function to [..., T, d]; what has another shape there is named.

        Raises
        ------
        Misbehaviour
            If the result has not the shape of what was given.
        """
        if not isinstance(found, Tensor) or self.axes == "td":
            return found
        if found.shape != given.shape:
            raise Misbehaviour(
                f"returns shape {list(found.shape)} for x of shape {list(given.shape)}"
            )
        return (found.transpose(1, 2) if self.axes == "bthd" else found).reshape(before.shape)

    def _both(self, found: Any, given: tuple[Tensor, Tensor], q: Tensor, k: Tensor) -> Any:
        """The two tensors of a function that returns both, or what it returned instead."""
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            return found
        return tuple(
            self.back(part, there, before)
            for part, there, before in zip(found, given, (q, k), strict=True)
        )

    def example(self, *leading: int) -> tuple[Tensor, Tensor, np.ndarray]:
        """Queries [*leading, 3, d], their positions [3], and the angles [3, d/2]."""
        generator = torch.Generator().manual_seed(1)
        shape = (*leading, 3, self.rotary_dim or 8)
        x = torch.randn(shape, generator=generator, dtype=torch.float64).float()
        positions = torch.tensor([0, 1, 5])
        return x, positions, self.angles(x, positions, 10_000.0).numpy()

    def angles(self, x: Tensor, positions: Tensor, base: float) -> Tensor:
        """Angles [T, d/2] in float64, for the rotated part of ``x``."""
        dim = self.rotary_dim or x.shape[-1]
        return torch.outer(positions.double(), _frequencies(dim, base))


class ByPositions(Adapted):
    """f(x, positions[, base]): it is asked for queries and for keys.

    Positions are [T]; a function that is right with [B, T] alone gets those. Whether it is one is
    in :attr:`batched`.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        #: Whether positions have a batch; None until it is known. Without a batch axis none have.
        self.batched: bool | None = False if self.axes == "td" else None

    def turn(self, q: Tensor, k: Tensor, positions: Tensor, base: float) -> Any:
        """See :class:`Adapted`."""
        if self.batched is None:
            self.batched = not self._right_with(batched=False) and self._right_with(batched=True)
        return tuple(self._turn(x, positions, base, self.batched) for x in (q, k))

    def _turn(self, x: Tensor, positions: Tensor, base: float, batched: bool) -> Any:
        there = self.there(x)
        given = positions.repeat(there.shape[0], 1) if batched else positions
        return self.back(self.call({"x": there, "positions": given, "base": base}), there, x)

    def _right_with(self, *, batched: bool) -> bool:
        x, positions, angles = self.example(2, 4)
        try:
            with torch.no_grad():
                return _distance(x, self._turn(x, positions, 10_000.0, batched), angles) < SUITS
        except Exception:  # it refuses these positions
            return False


class ByAngles(Adapted):
    """f(x, angles), as lesson A: angles [T, d/2] in float32, or finer if ``x`` is."""

    def turn(self, q: Tensor, k: Tensor, positions: Tensor, base: float) -> Any:
        """See :class:`Adapted`."""
        turned = []
        for x in (q, k):
            there = self.there(x)
            dtype = torch.promote_types(x.dtype, torch.float32)
            angles = self.angles(x, positions, base).to(dtype)
            if self.axes == "bthd":
                angles = angles.unsqueeze(1)
            turned.append(self.back(self.call({"x": there, "angles": angles}), there, x))
        return tuple(turned)


class ByComplex(Adapted):
    """f(xq, xk, freqs_cis), as lesson B and Llama: complex64 [T, d/2]."""

    def turn(self, q: Tensor, k: Tensor, positions: Tensor, base: float) -> Any:
        """See :class:`Adapted`."""
        angles = self.angles(q, positions, base)
        turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
        given = self.there(q), self.there(k)
        found = self.call({"q": given[0], "k": given[1], "freqs_cis": turns})
        return self._both(found, given, q, k)


class ByTables(Adapted):
    """f(q, k, cos, sin[, position_ids, unsqueeze_dim]), as the transformers library.

    The tables come in the layout, with or without a batch, that suits the function best: that is
    its caller's matter, not its own. Which one it was is in :attr:`tables`. Tables of which rows
    are taken by their number are [T, d], or [1, 1, T, d] as the library once had them.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        #: The layout of the tables, and whether they have a batch; None until it is known.
        self.tables: tuple[str, bool] | None = None

    def _own_axes(self, signature: Signature) -> str:
        return "bthd" if signature.default("unsqueeze_dim") == 2 else signature.form.axes

    def turn(self, q: Tensor, k: Tensor, positions: Tensor, base: float) -> Any:
        """See :class:`Adapted`."""
        if self.tables is None:
            self.tables = self._best()
        return self._turn(q, k, positions, base, *self.tables)

    def _turn(
        self, q: Tensor, k: Tensor, positions: Tensor, base: float, layout: str, batched: bool
    ) -> Any:
        given = self.there(q), self.there(k)
        angles = self.angles(q, positions, base)
        cos, sin = (TABLES[layout](part).to(q.dtype) for part in (angles.cos(), angles.sin()))
        roles: dict[str, Any] = {"q": given[0], "k": given[1]}
        batch = given[0].shape[0]
        if self._by_number:
            # As the library had it: rows of a table by their number. The table is upside down, so
            # that a function which takes its rows one after the other is found out.
            cos, sin = cos.flip(0), sin.flip(0)
            if batched:
                cos, sin = cos[None, None], sin[None, None]
            ids = torch.arange(len(positions) - 1, -1, -1)
            roles["position_ids"] = ids.expand(batch, -1)
        elif batched:
            cos, sin = (part.expand(batch, *part.shape) for part in (cos, sin))
        roles |= {"cos": cos, "sin": sin}
        wanted = 2 if self.axes == "bthd" else 1
        if "unsqueeze_dim" in self.signature.parameters:
            roles["unsqueeze_dim"] = wanted
        return self._both(self.call(roles), given, q, k)

    @property
    def note(self) -> str:
        """In words, what is unusual about the axes of the tables; empty if nothing is."""
        batched = self.tables is not None and self.tables[1]
        if self._by_number:
            return "takes cos and sin as [1, 1, T, d]" if batched else ""
        return "" if batched else "takes cos and sin without a batch, [T, d]"

    @property
    def _by_number(self) -> bool:
        """Whether it takes rows of a table by their number."""
        return "position_ids" in self.signature.required

    def _best(self) -> tuple[str, bool]:
        """The first kind of table with which it is right, or else least wrong."""
        x, positions, angles = self.example()
        by_number = self._by_number
        kinds = [
            (layout, batched)
            for batched in ((False, True) if by_number else (True, False))
            for layout in TABLES
        ]
        # The library's squeeze() of a table without axes for batch and heads shows at one position.
        lengths = (3, 1) if by_number else (3,)
        errors = []
        for kind in kinds:
            worst = 0.0
            for t in lengths:
                part = x[..., -t:, :]
                try:
                    with torch.no_grad():
                        q, _ = self._turn(part.clone(), part.clone(), positions[-t:], 10_000.0,
                                          *kind)  # fmt: skip
                    worst = max(worst, _distance(part, q, angles[-t:]))
                except Exception:  # it refuses these tables
                    worst = math.inf
            errors.append(worst)
        if min(errors) == math.inf:
            return kinds[0]
        return next(
            kind for kind, error in zip(kinds, errors, strict=True) if error < min(errors) + SUITS
        )


def _distance(before: Tensor, after: Tensor, angles: np.ndarray) -> float:
    """Distance from the nearest of four rotations: in either layout, in either direction."""
    found, start = (x.double().numpy() for x in (after, before))
    half = start.shape[-1] // 2
    distances = []
    for pairs in (lambda x: x[..., ::2] + 1j * x[..., 1::2],
                  lambda x: x[..., :half] + 1j * x[..., half:]):  # fmt: skip
        for sign in (1, -1):
            gap = np.abs(pairs(found) - pairs(start) * np.exp(sign * 1j * angles)).max()
            distances.append(math.inf if math.isnan(gap) else float(gap))
    return min(distances)
