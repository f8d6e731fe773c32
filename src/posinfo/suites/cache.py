"""Keys and values in a cache: decoding with it against computing everything anew."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from posinfo import scaling
from posinfo.encodings import cache, rotary
from posinfo.reference import attention as exact
from posinfo.reference import rotary as reference
from posinfo.reference import rounding
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import Comparison, draw, shape_text

SUITE = Suite(
    "cache",
    "Cached decoding against recomputation, and tables and caches of finite size",
    columns=(
        "head_dim", "length", "lengths", "frequencies", "cached", "position_given", "position",
        "method",
    ),
)  # fmt: skip

_DECODE = "posinfo.encodings.cache.decode"
_LAYOUT = "posinfo.encodings.cache.FiniteAttention"
_FORMULA = "posinfo.encodings.cache.last_output"
_ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
_U = rounding.UNIT["float32"]
_ROTATED, _PLAIN = "rotated keys", "keys before rotation"
_RIGHT = "tokens in the cache"
_BASIS = "rounding analysis: two rotations, scores, softmax and sum, on both sides, same angles"
_MARGIN = "margin: ten times the bound that holds with fixed frequencies and right positions"


class Sequence(NamedTuple):
    """Queries, keys and values of one sequence, before rotation, shape [h, T, d]."""

    q: Tensor
    k: Tensor
    v: Tensor


def _sequence(parameters: Mapping[str, Any], dim: int, number: int = 0) -> Sequence:
    shape = (parameters["heads"], parameters["length"], dim)
    seed = parameters["seed"] + 3 * number
    return Sequence(*(draw(shape, seed + n) for n in range(3)))


def _static(parameters: Mapping[str, Any], dim: int) -> cache.Frequencies:
    thetas = rotary.frequencies(dim, parameters["base"])
    return lambda length: thetas


def _dynamic(parameters: Mapping[str, Any], dim: int) -> cache.Frequencies:
    """Dynamic NTK: up to the trained length the frequencies of training, then ever lower ones."""
    trained, factor = parameters["trained_length"], parameters["factor"]
    return lambda length: scaling.dynamic_ntk(
        dim, parameters["base"], trained, factor, length=length
    )


def _pair_norms(x: Tensor) -> Tensor:
    """Norm of each adjacent pair, in float64: [..., d/2] of [..., d]."""
    return x.double().unflatten(-1, (-1, 2)).norm(dim=-1)


def _bounds(sequence: Sequence, frequencies: cache.Frequencies) -> Tensor:
    """Bound on each output [h, T, d] of one computation in float32, its angles taken as given.

    An angle is one product of the same two numbers whichever way it is computed, so that two
    computations differ by what comes after alone.
    """
    heads, length, dim = sequence.q.shape
    bounds = torch.empty(heads, length, dim, dtype=torch.float64)
    query_norms, key_norms = _pair_norms(sequence.q), _pair_norms(sequence.k)
    for step in range(length):
        positions = torch.arange(step + 1)
        thetas = frequencies(step + 1)
        for head in range(heads):
            scores = exact.scores(
                sequence.q[head, step], sequence.k[head, : step + 1], step - positions, thetas
            )
            errors = exact.score_errors(
                query_norms[head, step] * key_norms[head, : step + 1],
                torch.zeros(dim // 2), (step, positions),
            )  # fmt: skip
            values = sequence.v[head, : step + 1].double()
            bounds[head, step] = exact.output_errors(scores, values, errors)
    return bounds


def _worst(
    measured: Tensor, expected: Tensor, bounds: Tensor, by: Callable[[Comparison], float]
) -> Comparison:
    """Of all components, the one that uses most of its bound, or errs most."""
    flat = (x.double().flatten().tolist() for x in (measured, expected, bounds))
    return max((Comparison(*three) for three in zip(*flat, strict=True)), key=by)


def _agreement(dim: int, frequencies: str, cached: str, given: str, length: int) -> str:
    return (
        f"output furthest from recomputation over {length} steps, d={dim}, {frequencies}, "
        f"{cached} cached, position: {given}"
    )


@SUITE.case("decoding")
def decoding(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Token by token with a cache, against everything anew at each step."""
    length = parameters["length"]
    for dim in parameters["head_dims"]:
        sequence = _sequence(parameters, dim)
        static, dynamic = _static(parameters, dim), _dynamic(parameters, dim)
        kept: tuple[str, float] | None = None
        for name, frequencies, cached, given, position in (
            ("fixed frequencies", static, _ROTATED, _RIGHT, lambda step: step),
            ("fixed frequencies", static, _PLAIN, _RIGHT, lambda step: step),
            ("dynamic NTK", dynamic, _PLAIN, _RIGHT, lambda step: step),
            ("dynamic NTK", dynamic, _ROTATED, _RIGHT, lambda step: step),
            ("fixed frequencies", static, _ROTATED, "always 0", lambda step: 0),
            # The cache is one place off: every step takes the position of the one before.
            ("fixed frequencies", static, _ROTATED, "one less after the prompt",
             lambda step: step - (step >= parameters["prompt"])),
        ):  # fmt: skip
            found = cache.decode(
                *sequence,
                frequencies,
                position=position,
                rotate_before_caching=cached == _ROTATED,
            )
            anew = cache.recompute(*sequence, frequencies)
            quantity = _agreement(dim, name, cached, given, length)
            common = {
                "subject": _DECODE, "head_dim": dim, "length": length, "frequencies": name,
                "cached": cached, "position_given": given, "evidence": "float32",
            }  # fmt: skip
            if given == _RIGHT and (name == "fixed frequencies" or cached == _PLAIN):
                bounds = 2 * _bounds(sequence, frequencies)
                worst = _worst(found, anew, bounds, Comparison.used)
                rows.within(quantity, worst.measured, worst.exact, bound=worst.bound,
                            basis=_BASIS, **common)  # fmt: skip
                kept = kept or (quantity, bounds.max().item(), worst.bound)
            else:
                worst = _worst(found, anew, torch.ones_like(anew), Comparison.error)
                rows.exceeds(quantity, worst.measured, worst.exact,
                             bound=CONTRADICTION_MARGIN * kept[1],
                             contradicts=("decoding", kept[0], _DECODE),
                             basis=_MARGIN, **common)  # fmt: skip
        rows.equals(
            f"shape of a cached key, rotated or not, d={dim}",
            shape_text(rotary.rotate_adjacent(sequence.k[:, :1], torch.zeros(1, dim // 2))),
            shape_text(sequence.k[:, :1]), subject=_ADJACENT, evidence="float32", head_dim=dim,
            basis="a rotation keeps shape and precision: the cache takes the same room",
        )  # fmt: skip


@SUITE.case("within the trained length")
def within_trained_length(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Dynamic NTK up to the trained length, where it has not begun, and at the step after."""
    trained = parameters["trained_length"]
    for dim in parameters["head_dims"]:
        sequence = _sequence(parameters, dim)
        dynamic = _dynamic(parameters, dim)
        found, anew = (
            compute(*(x[:, : trained + 1] for x in sequence), dynamic)
            for compute in (cache.decode, cache.recompute)
        )
        bounds = 2 * _bounds(Sequence(*(x[:, :trained] for x in sequence)), dynamic)
        common = {
            "subject": _DECODE, "head_dim": dim, "frequencies": "dynamic NTK", "cached": _ROTATED,
            "position_given": _RIGHT, "evidence": "float32",
        }  # fmt: skip
        inside = f"output furthest from recomputation up to the trained length, d={dim}"
        worst = _worst(found[:, :trained], anew[:, :trained], bounds, Comparison.used)
        rows.within(inside, worst.measured, worst.exact, bound=worst.bound, basis=_BASIS,
                    length=trained, **common)  # fmt: skip
        last = _worst(found[:, trained:], anew[:, trained:], torch.ones_like(anew[:, trained:]),
                      Comparison.error)  # fmt: skip
        rows.exceeds(
            f"output furthest from recomputation one step past the trained length, d={dim}",
            last.measured, last.exact, bound=CONTRADICTION_MARGIN * bounds.max().item(),
            contradicts=("within the trained length", inside, _DECODE), length=trained + 1,
            basis="margin: ten times the bound that holds up to the trained length", **common,
        )  # fmt: skip


@SUITE.case("arbitrary precision")
def arbitrary_precision(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The last output of cached decoding, against attention in 50 digits with nothing rotated."""
    length, base = parameters["length"], parameters["base"]
    positions = torch.arange(length)
    for dim in parameters["head_dims"]:
        sequence = Sequence(*(x[:1] for x in _sequence(parameters, dim)))
        q, k, v = (x[0] for x in sequence)
        found = cache.decode(*sequence, _static(parameters, dim))[0, -1]
        thetas = reference.frequencies(dim, base)
        expected = exact.output(
            q[-1].tolist(), k.tolist(), v.tolist(), (length - 1 - positions).tolist(), thetas
        )
        rounded = torch.tensor([float(theta) for theta in thetas], dtype=torch.float64)
        errors = exact.score_errors(
            _pair_norms(q[-1]) * _pair_norms(k), rounded, (length - 1, positions),
            frequency_bound=rounding.frequency(dim, base),
        )  # fmt: skip
        scores = exact.scores(q[-1], k, length - 1 - positions, rounded)
        worst = _worst(
            found, torch.tensor([float(part) for part in expected], dtype=torch.float64),
            exact.output_errors(scores, v.double(), errors), Comparison.used,
        )  # fmt: skip
        rows.within(
            f"output of step {length} nearest its bound, d={dim}", worst.measured, worst.exact,
            bound=worst.bound, subject=_DECODE, evidence="reference", head_dim=dim, length=length,
            frequencies="fixed frequencies", cached=_ROTATED, position_given=_RIGHT,
            basis="rounding analysis: angles, rotations, scores, softmax and sum, in float32",
        )  # fmt: skip


def _turn(x: Tensor, position: int, thetas: Tensor) -> Tensor:
    """A vector [d] rotated to a position, or by so many positions."""
    return rotary.rotate_adjacent(x[None], rotary.angles(torch.tensor([position]), thetas))[0]


@SUITE.case("cached keys")
def cached_keys(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A rotated key by itself: it scores by its position, and can be turned on or back.

    Each row is the draw, and the component, that comes closest to its bound.
    """
    for dim in parameters["head_dims"]:
        drawn = [
            tuple(draw((dim,), parameters["seed"] + 2 * number + n) for n in range(2))
            for number in range(parameters["draws"])
        ]
        for position in parameters["key_positions"]:
            found = [_cached_key(q, k, position, parameters) for q, k in drawn]
            for quantity, method, basis in (
                ("score of the cached key", "scored",
                 "rounding analysis: both angles, both rotations, the sum and the division"),
                (f"cached key turned on to position {parameters['query_position']}", "turned on",
                 "rounding analysis: three angles and three rotations of a pair"),
                ("cached key turned back to position 0", "turned back",
                 "rounding analysis: two angles and two rotations of a pair"),
            ):  # fmt: skip
                worst = max((by_method[method] for by_method in found), key=Comparison.used)
                rows.within(
                    f"{quantity}, position {position}, d={dim}", worst.measured, worst.exact,
                    bound=worst.bound, subject=_ADJACENT, evidence="float32", head_dim=dim,
                    position=position, cached=_ROTATED, method=method, basis=basis,
                )  # fmt: skip


def _cached_key(
    q: Tensor, k: Tensor, position: int, parameters: Mapping[str, Any]
) -> dict[str, Comparison]:
    """A key cached at ``position``: its score against exact arithmetic, and turned elsewhere."""
    dim, base, query_at = q.shape[0], parameters["base"], parameters["query_position"]
    thetas, exact_thetas = rotary.frequencies(dim, base), reference.frequencies(dim, base)
    rounded = torch.tensor([float(theta) for theta in exact_thetas], dtype=torch.float64)
    norms = _pair_norms(k)
    cached = _turn(k, position, thetas)
    expected = reference.score(q.tolist(), k.tolist(), query_at - position, exact_thetas)
    bound = exact.score_errors(
        (_pair_norms(q) * norms)[None], rounded, (query_at, torch.tensor([position])),
        frequency_bound=rounding.frequency(dim, base),
    )  # fmt: skip
    measured = (_turn(q, query_at, thetas) @ cached).item()
    root = math.sqrt(dim)
    found = {"scored": Comparison(measured / root, float(expected) / root, bound.item())}
    for method, further, wanted, angles, rotations in (
        ("turned on", query_at - position, _turn(k, query_at, thetas), 2 * query_at, 3),
        ("turned back", -position, k, 2 * position, 2),
    ):
        # Both sides have the same frequencies: the rounding of each angle is all that differs.
        reach = thetas.double() * angles * _U + rotations * rounding.ROTATION * _U
        bounds = (norms * reach).repeat_interleave(2) * rounding.SECOND_ORDER
        found[method] = _worst(_turn(cached, further, thetas), wanted, bounds, Comparison.used)
    return found


@SUITE.case("finite layout")
def finite_layout(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """A table of rotations and a cache of fixed size: which lengths run, and which run wrong.

    The values are 0 for tokens that the cache has places for and 1 for later ones, so that each
    output is the share of attention that goes to later tokens.
    """
    settings, base = parameters["layout"], parameters["base"]
    size, longer, dim = settings["max_length"], settings["length"], settings["head_dim"]
    q, k = (draw((1, longer, 1, dim), parameters["seed"] + n) for n in range(2))
    v = torch.ones_like(q)
    v[:, :size] = 0.0
    layout = {"subject": _LAYOUT, "head_dim": dim, "evidence": "float32"}

    def run(model: cache.FiniteAttention, start: int, end: int) -> Tensor:
        return model(q[:, start:end], k[:, start:end], v[:, start:end], start)

    model = cache.FiniteAttention(size, 1, dim, base)
    rows.equals(
        "rotations, and places in the cache",
        f"{len(model.rotary.rotations)}, {model.keys.shape[1]}", f"{2 * size}, {size}",
        basis="the reference program makes twice as many rotations as places", **layout,
    )  # fmt: skip
    rows.equals(
        f"shape of the output of {size} tokens at once", shape_text(run(model, 0, size)),
        str([1, size, 1, dim]), length=size, method="prompt", basis="an output a token", **layout,
    )  # fmt: skip
    for length in sorted({size + 1, longer}):
        rows.raises(
            f"output of {length} tokens at once",
            lambda n=length: run(cache.FiniteAttention(size, 1, dim, base), 0, n),
            f"RuntimeError: The expanded size of the tensor ({size}) must match the existing size "
            f"({length}) at non-singleton dimension 1. Target sizes: [1, {size}, 1, {dim}]. "
            f"Tensor sizes: [{length}, 1, {dim}]",
            length=length, method="prompt", basis="torch's own type and message, on a CPU",
            **layout,
        )  # fmt: skip
    stored = model.keys.clone()
    last = run(model, longer - 1, longer)
    rows.equals(
        f"places that change when token {longer} is cached after {size}",
        int((model.keys != stored).any(dim=-1).sum()), 0, length=longer, method="step",
        basis="an empty slice takes a length of 1, and nothing is stored", **layout,
    )  # fmt: skip
    rows.raises(
        f"output of token {2 * size + 1}",
        lambda: model(q[:, :1], k[:, :1], v[:, :1], 2 * size),
        f"ValueError: rotations of shape [0, {dim // 2}] do not fit x of shape "
        f"[1, 1, 1, {dim // 2}]: expected [1, {dim // 2}]",
        length=2 * size + 1, method="step",
        basis="the rotations end, and broadcasting is checked as in the reference code", **layout,
    )  # fmt: skip
    _share_of_later(rows, parameters, last, Sequence(*(x[0].transpose(0, 1) for x in (q, k, v))))


def _share_of_later(
    rows: Recorder, parameters: Mapping[str, Any], last: Tensor, sequence: Sequence
) -> None:
    """Attention of the last token to tokens past the cache: by formula, and in the layout."""
    settings = parameters["layout"]
    size, longer, step = settings["max_length"], settings["length"], settings["step"]
    lengths = sorted({*range(size + 1, longer, step), longer})
    shares = [_by_formula(parameters, sequence, length) for length in lengths]
    quantity = f"attention of token {longer} to tokens from {size + 1} on"
    common = {"head_dim": settings["head_dim"], "evidence": "float32"}
    basis = "rounding analysis: angles, rotations, scores, softmax and sum, in float32"
    whole = shares[-1]
    rows.within(
        quantity, whole.measured, whole.exact, bound=whole.bound, subject=_FORMULA,
        method="formula", basis=basis, length=longer, **common,
    )  # fmt: skip
    rows.exceeds(
        quantity, last[0, 0, 0, 0].item(), whole.exact, bound=CONTRADICTION_MARGIN * whole.bound,
        contradicts=("finite layout", quantity, _FORMULA), subject=_LAYOUT, method="step",
        basis="margin: ten times the bound that the formula keeps", length=longer, **common,
    )  # fmt: skip
    worst = max(shares, key=Comparison.used)
    rows.within(
        f"error of the attention of a token to those from {size + 1} on, nearest its bound, of "
        f"each {step}th token from {size + 1} and of token {longer}",
        worst.measured - worst.exact, 0.0, bound=worst.bound, subject=_FORMULA, method="formula",
        basis=basis, length=lengths[shares.index(worst)], lengths=len(lengths), **common,
    )  # fmt: skip


def _by_formula(parameters: Mapping[str, Any], sequence: Sequence, length: int) -> Comparison:
    """The last of ``length`` tokens: its share of attention to those past the cache, and exactly.

    The exact share comes from scores by offset in float64, without a rotation.
    """
    size, dim = parameters["layout"]["max_length"], parameters["layout"]["head_dim"]
    base = parameters["base"]
    so_far = Sequence(*(x[:, :length] for x in sequence))
    q, k, v = (x[0] for x in so_far)
    positions = torch.arange(length)
    thetas = torch.tensor(
        [float(theta) for theta in reference.frequencies(dim, base)], dtype=torch.float64
    )
    scores = exact.scores(q[-1], k, length - 1 - positions, thetas)
    errors = exact.score_errors(
        _pair_norms(q[-1]) * _pair_norms(k), thetas, (length - 1, positions),
        frequency_bound=rounding.frequency(dim, base),
    )  # fmt: skip
    return Comparison(
        cache.last_output(*so_far, rotary.frequencies(dim, base))[0, 0, 0].item(),
        scores.softmax(dim=0)[size:].sum().item(),
        exact.output_errors(scores, v.double(), errors)[0].item(),
    )
