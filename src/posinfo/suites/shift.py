"""What a layer does when all positions move together, with each way in which positions enter."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from posinfo.encodings import layers, sinusoidal
from posinfo.encodings.layers import Passed
from posinfo.reference import rotary as reference
from posinfo.reference import rounding
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.stacks import (
    ENCODINGS,
    Stack,
    exact_outputs,
    most_used,
    outputs_of,
    stack,
    tokens,
)
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import DTYPES, Comparison

SUITE = Suite(
    "shift",
    "All positions moved together: attention weights and outputs with each encoding",
    columns=(
        "dtype",
        "layers",
        "encoding",
        "shift",
        "of",
        "context",
        "values",
        "projections",
        "against",
    ),
)

_BASIS = "running error analysis: every rounding of both runs at its largest and worst sign"
_MARGIN = "margin: ten times what rounding can do with RoPE at the smallest shift"
Take = Callable[[Passed], Tensor]


def _seen_weights(passed: Passed) -> Tensor:
    """The first layer's weights on what the causal mask leaves: the others are 0 by its doing."""
    seen = torch.ones(passed.weights.shape[-2:], dtype=torch.bool).tril()
    return passed.weights[..., seen]


_OF: dict[str, Take] = {"weights": _seen_weights, "outputs": outputs_of}
_RELATIVE = ("none", "alibi", "t5 bias")


def _tokens(parameters: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    """Distinct tokens and the positions 0 … T - 1."""
    length, width = parameters["length"], parameters["heads"] * parameters["head_dim"]
    return tokens(length, width, parameters["seed"] + 3), torch.arange(length)


def _decoder(parameters: Mapping[str, Any], encoding: str) -> Stack:
    return stack(parameters, parameters["layers"], encoding, causal=True,
                 table_rows=parameters["table_rows"])  # fmt: skip


class _Moved:
    """A stack and its tokens at their places and elsewhere.

    What rounding can do is worked out once a place.
    """

    def __init__(self, model: Stack, x: Tensor, dtype: str, of: Take) -> None:
        self.model, self.x, self.dtype, self.of = model, x, dtype, of
        self._bounds: dict[int, Tensor] = {}

    def change(self, shift: int) -> Tensor:
        """Change of each component when all positions move by ``shift``."""
        first, second = (
            self.model.measure(self.x, torch.arange(len(self.x)) + s, DTYPES[self.dtype], self.of)
            for s in (0, shift)
        )
        return (second - first).abs()

    def bound(self, shift: int) -> Tensor:
        """What rounding can do to each component in the run at one place."""
        if shift not in self._bounds:
            self._bounds[shift] = self.model.bounds(
                self.x, torch.arange(len(self.x)) + shift, self.dtype, self.of
            )
        return self._bounds[shift]

    def most_used(self, shift: int, bounded_at: int | None = None) -> tuple[float, float]:
        """The change that uses most of what rounding can do at both places, and that.

        ``bounded_at`` is another shift than the one measured, whose bound is to be kept.
        """
        there = self.bound(shift if bounded_at is None else bounded_at)
        return most_used(self.change(shift), self.bound(0) + there)

    def margin(self, shift: int) -> float:
        """Ten times the most that rounding can do to a component at both places."""
        return CONTRADICTION_MARGIN * (self.bound(0) + self.bound(shift)).max().item()


def _by_shift(name: str, shift: int, dtype: str) -> str:
    return f"largest change of {name}, shift {shift}, {dtype}"


def _shifts(parameters: Mapping[str, Any], dtype: str) -> tuple[list[int], list[int]]:
    """Shifts at which invariance is asserted, and those at which float32 has left it."""
    shifts = sorted(parameters["shifts"])
    last = parameters["breaking_shift"] if dtype == "float32" else math.inf
    return [s for s in shifts if s < last], [s for s in shifts if s >= last]


@SUITE.case("RoPE by shift")
def by_shift(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A causal stack with RoPE: unchanged within rounding, which grows with the position."""
    x, _ = _tokens(parameters)
    model = _decoder(parameters, "rotary")
    for name, of in _OF.items():
        for dtype in parameters["dtypes"]:
            small, large = _shifts(parameters, dtype)
            moved = _Moved(model, x, dtype, of)
            common = {
                "subject": model.subject, "evidence": "float32", "dtype": dtype,
                "layers": parameters["layers"], "encoding": "rotary", "of": name,
            }  # fmt: skip
            for shift in small:
                found, allowed = moved.most_used(shift)
                rows.within(_by_shift(name, shift, dtype), found, 0.0, bound=allowed,
                            basis=_BASIS, shift=shift, against="this shift", **common)  # fmt: skip
                if shift <= parameters["holding_shift"]:
                    found, allowed = moved.most_used(shift, bounded_at=small[0])
                    rows.within(
                        f"{_by_shift(name, shift, dtype)}, against the bound at the smallest shift",
                        found, 0.0, bound=allowed, basis=f"{_BASIS}, at the smallest shift",
                        shift=shift, against="the smallest shift", **common,
                    )  # fmt: skip
            for shift in large:
                rows.exceeds(
                    _by_shift(name, shift, dtype),
                    moved.change(shift).max().item(), 0.0, bound=moved.margin(small[0]),
                    contradicts=("RoPE by shift", _by_shift(name, small[0], dtype), model.subject),
                    basis=_MARGIN, shift=shift, against="the smallest shift", **common,
                )  # fmt: skip


@SUITE.case("each encoding")
def each_encoding(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Biases by offset do not move at all; added tables and codes do, at every shift."""
    x, _ = _tokens(parameters)
    rotary = _decoder(parameters, "rotary")
    smallest = min(parameters["shifts"])
    for name, of in _OF.items():
        for dtype in parameters["dtypes"]:
            margin = _Moved(rotary, x, dtype, of).margin(smallest)
            for encoding in (e for e in ENCODINGS if e != "rotary"):
                model = _decoder(parameters, encoding)
                shifts = [
                    s for s in sorted(parameters["shifts"])
                    if encoding != "learned" or s + len(x) <= parameters["table_rows"]
                ]  # fmt: skip
                moved = _Moved(model, x, dtype, of)
                changes = torch.stack([moved.change(shift).max() for shift in shifts])
                common = {
                    "subject": model.subject, "evidence": "float32", "dtype": dtype,
                    "layers": parameters["layers"], "encoding": encoding, "of": name,
                    "shift": max(shifts),
                }  # fmt: skip
                if encoding in _RELATIVE:
                    rows.equals(
                        f"largest change of {name} over all shifts, {encoding}, {dtype}",
                        changes.max().item(), 0.0,
                        basis="offsets are whole numbers: equal bit for bit", **common,
                    )  # fmt: skip
                else:
                    rows.exceeds(
                        f"smallest change of {name} over all shifts, {encoding}, {dtype}",
                        changes.min().item(), 0.0, bound=margin, basis=_MARGIN,
                        contradicts=("RoPE by shift", _by_shift(name, smallest, dtype),
                                     rotary.subject),
                        projections="generic", **common,
                    )  # fmt: skip


def _elsewhere(
    model: Stack, early: Tensor, late: Tensor, places: tuple[int, int], dtype: str, of: Take
) -> tuple[Tensor, Tensor]:
    """The change from tokens ending early to tokens ending late, and what rounding can do.

    ``places`` are the first positions of both sequences.
    """
    both = [
        (x, place + torch.arange(len(x))) for x, place in zip((early, late), places, strict=True)
    ]
    first, second = (model.measure(x, positions, DTYPES[dtype], of) for x, positions in both)
    bounds = [model.bounds(x, positions, dtype, of) for x, positions in both]
    return (second - first).abs(), bounds[0] + bounds[1]


@SUITE.case("a phrase elsewhere")
def phrase(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The same tokens early and late: alone, with what stands before them, and after others."""
    x, _ = _tokens(parameters)
    near, far = parameters["phrase_positions"]
    length, width = x.shape
    before, others = (tokens(near, width, parameters["seed"] + n) for n in (4, 5))
    same, other = torch.cat([before, x]), torch.cat([others, x])
    model = _decoder(parameters, "rotary")
    own = torch.ones(length, length, dtype=torch.bool).tril()

    def phrase_outputs(passed: Passed) -> Tensor:
        return passed.outputs[..., -length:, :]

    def phrase_scores(passed: Passed) -> Tensor:
        return passed.scores[..., -length:, -length:][..., own]

    moves = "what stands before it moves too"
    replaced = "other tokens before it"
    starts = {"nothing before it": (near, far), moves: (0, far - near), replaced: (0, far - near)}
    for dtype in parameters["dtypes"]:
        common = {
            "subject": model.subject, "evidence": "float32", "dtype": dtype,
            "layers": parameters["layers"], "encoding": "rotary", "shift": far - near,
        }  # fmt: skip

        def named(context: str, of: str = "outputs", dtype: str = dtype) -> str:
            return f"largest change of a phrase's {of}, {near} to {far}, {context}, {dtype}"

        margin = 0.0
        for context, early, late in (
            ("nothing before it", x, x), (moves, same, same), (replaced, same, other),
        ):  # fmt: skip
            change, bound = _elsewhere(model, early, late, starts[context], dtype, phrase_outputs)
            margin = max(margin, CONTRADICTION_MARGIN * bound.max().item())
            own_row = {"of": "outputs", "context": context, **common}
            if context == replaced:
                rows.exceeds(
                    named(context), change.max().item(), 0.0, bound=margin,
                    contradicts=("a phrase elsewhere", named(moves), model.subject),
                    basis="margin: ten times what rounding can do at both places", **own_row,
                )  # fmt: skip
            else:
                found, allowed = most_used(change, bound)
                rows.within(named(context), found, 0.0, bound=allowed, basis=_BASIS, **own_row)
        change, bound = _elsewhere(model, same, other, starts[replaced], dtype, phrase_scores)
        found, allowed = most_used(change, bound)
        rows.within(named(replaced, "own scores"), found, 0.0, bound=allowed, basis=_BASIS,
                    of="scores", context=replaced, **common)  # fmt: skip


@SUITE.case("content and position kept apart")
def kept_apart(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """An added sinusoidal code, and projections that do not mix it with content: invariant too."""
    x, _ = _tokens(parameters)
    width = x.shape[1]
    half = width // 2
    x = x * (torch.arange(width) < half)
    generic = _decoder(parameters, "sinusoidal")
    generator = torch.Generator().manual_seed(parameters["seed"] + 6)
    model = generic.with_(
        layers=layers.separate(generic.layers, generic.heads, generator),
        encoding=layers.Sinusoidal(parameters["base"], width=half),
    )

    def content(passed: Passed) -> Tensor:
        return passed.outputs[..., :half]

    smallest = min(parameters["shifts"])
    for dtype in parameters["dtypes"]:
        common = {
            "subject": model.subject, "evidence": "float32", "dtype": dtype,
            "layers": parameters["layers"], "encoding": "sinusoidal", "projections": "kept apart",
        }  # fmt: skip
        for name, of in (("weights", _seen_weights), ("outputs", content)):
            moved = _Moved(model, x, dtype, of)
            for shift in _shifts(parameters, dtype)[0]:
                found, allowed = moved.most_used(shift)
                rows.within(_by_shift(name, shift, dtype), found, 0.0, bound=allowed,
                            basis=_BASIS, shift=shift, of=name, **common)  # fmt: skip
            here = torch.arange(len(x))
            stretched = (
                model.measure(x, 2 * here, DTYPES[dtype], of)
                - model.measure(x, here, DTYPES[dtype], of)
            ).abs()  # fmt: skip
            rows.exceeds(
                f"largest change of {name} when all offsets double, {dtype}",
                stretched.max().item(), 0.0, bound=moved.margin(smallest), of=name,
                contradicts=("content and position kept apart",
                             _by_shift(name, smallest, dtype), model.subject),
                basis="margin: ten times what rounding can do: the code is not just ignored",
                **common,
            )  # fmt: skip
        rows_of_code = sinusoidal.code(
            torch.arange(parameters["table_rows"]), half, parameters["base"], DTYPES[dtype]
        )
        table = torch.nn.functional.pad(rows_of_code, (half, 0))
        learned = model.with_(encoding=layers.Learned(table))
        inside = [s for s in parameters["shifts"] if s + len(x) <= parameters["table_rows"]]
        differences = [
            learned.measure(x, places, DTYPES[dtype]) - model.measure(x, places, DTYPES[dtype])
            for places in (torch.arange(len(x)) + shift for shift in inside)
        ]
        rows.equals(
            f"largest difference of outputs from a look-up table with the code's rows, {dtype}",
            torch.stack(differences).abs().max().item(), 0.0, shift=max(inside), of="outputs",
            basis="a look-up copies: equal bit for bit",
            **common | {"subject": learned.subject, "encoding": "learned"},
        )  # fmt: skip


@SUITE.case("code alone")
def code_alone(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Dot product of two sinusoidal codes, as they are and through a generic projection each."""
    width, base = parameters["heads"] * parameters["head_dim"], parameters["base"]
    offsets = range(1, parameters["largest_offset"] + 1)
    thetas = reference.frequencies(width, base)
    # A code is the vector (0, 1) in every pair, turned clockwise: cos alone is left of a score.
    upright = [0.0, 1.0] * (width // 2)
    exact = [float(reference.score(upright, upright, offset, thetas)) for offset in offsets]
    layer = stack(parameters, 1).layers[0]
    name = f"dot product of two codes, offsets 1 to {max(offsets)}"
    for dtype in parameters["dtypes"]:
        plain: dict[int, Comparison] = {}
        projected: dict[int, float] = {}
        asserted, _ = _shifts(parameters, dtype)
        for shift in sorted(parameters["shifts"]):
            places = shift + torch.tensor([0, *offsets])
            codes = sinusoidal.code(places, width, base, DTYPES[dtype]).double()
            projected[shift] = ((codes[1] @ layer.query) * (codes[0] @ layer.key)).sum().item()
            if shift not in asserted:
                continue
            compared = [
                Comparison(
                    math.fsum((codes[0] * code).tolist()), value,
                    rounding.score(
                        [1.0] * (width // 2), [float(theta) for theta in thetas],
                        (shift + offset, shift), rounding.frequency(width, base, dtype),
                        rounding.UNIT[dtype],
                    ),
                )
                for offset, code, value in zip(offsets, codes[1:], exact, strict=True)
            ]  # fmt: skip
            plain[shift] = max(compared, key=Comparison.used)
        common = {
            "subject": "posinfo.encodings.sinusoidal.code", "evidence": "float32",
            "dtype": dtype, "encoding": "sinusoidal", "of": "scores",
        }  # fmt: skip
        for shift, dot in plain.items():
            rows.within(
                f"{name}, shift {shift}, {dtype}", dot.measured, dot.exact, bound=dot.bound,
                basis="rounding analysis: both angles, and sin and cos of each", shift=shift,
                projections="none", **common,
            )  # fmt: skip
        smallest, *further = projected
        gap, place = min((abs(projected[s] - projected[smallest]), s) for s in further)
        rows.exceeds(
            f"smallest change through generic projections from shift {smallest} on, {dtype}",
            gap, 0.0, bound=CONTRADICTION_MARGIN * plain[smallest].bound, shift=place,
            contradicts=("code alone", f"{name}, shift {smallest}, {dtype}", common["subject"]),
            basis="margin: ten times what rounding can do to the codes' own product",
            projections="generic", **common,
        )  # fmt: skip


@SUITE.case("values turned")
def values_turned(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Values rotated too: outputs move with the shift, unless the rotation is undone after."""
    x, here = _tokens(parameters)
    plain = _decoder(parameters, "rotary")
    turned, undone = (
        plain.with_(encoding=layers.Rotary(parameters["base"], values=True, undone=undone))
        for undone in (False, True)
    )
    for dtype in parameters["dtypes"]:
        small, _ = _shifts(parameters, dtype)
        smallest = small[0]
        common = {
            "evidence": "float32", "dtype": dtype, "layers": parameters["layers"],
            "encoding": "rotary", "of": "outputs", "subject": plain.subject,
        }  # fmt: skip

        def named(shift: int, dtype: str = dtype) -> str:
            return f"{_by_shift('outputs', shift, dtype)}, values turned and outputs turned back"

        there, back = (_Moved(model, x, dtype, outputs_of) for model in (turned, undone))
        margin = _Moved(plain, x, dtype, outputs_of).margin(smallest)
        for shift in small:
            found, allowed = back.most_used(shift)
            rows.within(named(shift), found, 0.0, bound=allowed, basis=_BASIS, shift=shift,
                        values="turned, and back", **common)  # fmt: skip
            rows.exceeds(
                f"{_by_shift('outputs', shift, dtype)}, values turned",
                there.change(shift).max().item(), 0.0, bound=margin, shift=shift,
                contradicts=("RoPE by shift", _by_shift("outputs", smallest, dtype),
                             plain.subject),
                basis=_MARGIN, values="turned", **common,
            )  # fmt: skip
        apart = undone.measure(x, here, DTYPES[dtype]) - plain.measure(x, here, DTYPES[dtype])
        rows.exceeds(
            f"largest difference of outputs from those with values as they are, {dtype}",
            apart.abs().max().item(), 0.0, bound=back.margin(smallest), shift=0,
            values="turned, and back",
            contradicts=("values turned", named(smallest), plain.subject),
            basis="margin: ten times what rounding can do in both", **common,
        )  # fmt: skip


@SUITE.case("arbitrary precision")
def arbitrary_precision(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The stack with each encoding at late positions, by other code in arbitrary precision."""
    x, here = _tokens(parameters)
    shift = parameters["phrase_positions"][1]
    for name in ENCODINGS[1:]:
        model = _decoder(parameters, name)
        exact = exact_outputs(model, x, here + shift, parameters["base"])
        for dtype in parameters["dtypes"]:
            bound = model.bounds(x, here + shift, dtype, outputs_of)
            bound = bound + rounding.UNIT["float64"] * exact.abs()
            measured = model.measure(x, here + shift, DTYPES[dtype])
            found, allowed = most_used(measured - exact, bound)
            rows.within(
                f"largest difference of an output at position {shift} and on, {name}, {dtype}",
                found, 0.0, bound=allowed, subject=model.subject, evidence="float32",
                basis="running error analysis: every rounding of the run at its largest and "
                "worst sign; the reference in 34 digits", dtype=dtype,
                layers=parameters["layers"], encoding=name, shift=shift, of="outputs",
            )  # fmt: skip
