"""Independent libraries beside ours: pairs, frequencies, rotations, scores, and where they part.

Each library gets the same inputs as our code; what lies between is what the rounding of two
computations allows. Where libraries do different things, a row says which, and another how far
apart that is. A library that is not there makes one row, which says so, and no other.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor

from posinfo import libraries, scaling
from posinfo.encodings import rotary
from posinfo.extras import NEEDED
from posinfo.libraries import LIBRARIES, Library, RotaryEmbeddingTorch, Transformers
from posinfo.reference import precision, rounding
from posinfo.reference import rotary as exact_rotary
from posinfo.reference import scaling as reference
from posinfo.reference.rounding import UNIT
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import Comparison, draw
from posinfo.suites.formulations import halves_order
from posinfo.suites.offsets import pairwise_dot

SUITE = Suite(
    "peers",
    "Independent libraries: pairs, frequencies, rotations, and where they differ",
    columns=(
        "library", "method", "model", "against", "head_dim", "base", "trained_length", "factor",
        "pair", "weights", "dtype",
    ),
)  # fmt: skip

_U, _U64 = UNIT["float32"], UNIT["float64"]

_BOTH = (
    "rounding analysis, u = 2^-24, of both computations: power 2u, reciprocal u, and the "
    "method's own operations"
)
_LAST_ANGLE = f"{_BOTH}, times the last trained position"
_MARGIN = "margin: ten times what rounding can do"
_READ = "what the library's source says, measured from what it returns"

#: How the code of each library pairs dimensions.
_LAYOUTS = {
    "rotary-embedding-torch": "neighbours",
    "transformers": "halves",
    "x-transformers": "neighbours",
}


class Setting(NamedTuple):
    """A model's rotary embedding and how far it is extended."""

    head_dim: int
    base: float
    trained_length: int
    factor: int

    @property
    def label(self) -> str:
        """How quantities name the setting: ``d=128 b=10000 L=4096 s=8``."""
        return f"d={self.head_dim} b={self.base:.10g} L={self.trained_length} s={self.factor:g}"

    @property
    def columns(self) -> dict[str, float]:
        """The columns that hold the setting."""
        return self._asdict()


def _settings(parameters: Mapping[str, Any]) -> Iterator[Setting]:
    for head_dim, base, factor in product(
        parameters["head_dims"], parameters["bases"], parameters["factors"]
    ):
        yield Setting(head_dim, base, parameters["trained_length"], factor)


def _of_table(parameters: Mapping[str, Any]) -> Setting:
    return Setting(trained_length=parameters["trained_length"], **parameters["table"])


def _present(parameters: Mapping[str, Any]) -> Iterator[Library]:
    """The libraries that are there in the version that is measured."""
    for package, version in NEEDED["peers"].items():
        if parameters["packages"].get(package) == version:
            yield LIBRARIES[package]()


def _transformers(parameters: Mapping[str, Any]) -> Iterator[Transformers]:
    yield from (found for found in _present(parameters) if isinstance(found, Transformers))


def _options(method: str, head_dim: int, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the config sets for a method."""
    if method != "longrope":
        return {}
    return {
        name: [series["first"] + pair * series["step"] for pair in range(head_dim // 2)]
        for name, series in parameters["longrope"].items()
    }


def _peer(library: Library, subject: str, **columns: Any) -> dict[str, Any]:
    """What the rows of a library share."""
    return {"library": library.package, "subject": subject, "evidence": "peer", **columns}


# --- which there are, and how they pair dimensions ----------------------------------------------


@SUITE.case("libraries")
def which_libraries(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Which libraries are there, in the version that the rows were made with."""
    for package, version in NEEDED["peers"].items():
        rows.needs(
            package, parameters["packages"].get(package, ""), version, evidence="peer",
            basis="the pin of the extra peers", library=package,
        )  # fmt: skip


@SUITE.case("layouts")
def layouts(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Which dimensions a library turns together, from what becomes of unit vectors."""
    for library in _present(parameters):
        for dim in parameters["head_dims"]:
            x = torch.zeros(dim, 2, dim)
            x[:, 1] = torch.eye(dim)
            turned = library.rotate(x, parameters["base"])[:, 1]
            rows.equals(
                f"dimensions that are turned together, d={dim}",
                libraries.layout(turned.tolist()), _LAYOUTS[library.package], basis=_READ,
                head_dim=dim, **_peer(library, library.rotation),
            )  # fmt: skip


# --- frequencies --------------------------------------------------------------------------------


def _bounds(
    library: Library, method: str, setting: Setting, options: Mapping[str, Any]
) -> list[float]:
    """Relative bound on a library's frequency against ours, a number a pair; never 0.

    Ours and theirs have the roundings of the same formula. Theirs has one more where it divides
    positions before it multiplies, and where it takes turns from wavelengths.
    """
    ours = reference.rounding_bounds(method, *setting, **options)
    theirs = reference.rounding_bounds(method, *setting, turn_roundings=3, **options)
    divides = math.frexp(setting.factor)[0] != 0.5
    more = float(method == "pi" and library.package == "rotary-embedding-torch" and divides)
    return [
        rounding.gamma((own + other) / _U + more) or sys.float_info.min
        for own, other in zip(ours, theirs, strict=True)
    ]


def _worst(found: Tensor, ours: Tensor, bounds: Sequence[float]) -> Comparison:
    """The pair whose relative difference uses most of its bound."""
    apart = (found.double() / ours.double() - 1).abs().tolist()
    return max(
        (
            Comparison(error, 0.0, bound, pair)
            for pair, (error, bound) in enumerate(zip(apart, bounds, strict=True))
        ),
        # Of pairs that agree bit for bit the one that might have been furthest apart.
        key=lambda compared: (compared.used(), compared.bound),
    )


def _agreement(
    rows: Recorder, library: Library, method: str, setting: Setting, found: Tensor,
    options: Mapping[str, Any], **columns: Any,
) -> tuple[str, float]:  # fmt: skip
    """Two rows: how far a library's frequencies are from ours, and its angles therefore.

    Returns
    -------
    tuple
        The quantity of the second row, and its bound.
    """
    ours = scaling.METHODS[method].frequencies(*setting, **options)
    bounds = _bounds(library, method, setting, options)
    worst = _worst(found, ours, bounds)
    name = columns.get("model", "")
    label = f"{name}, {setting.label}" if name else setting.label
    common = _peer(
        library, _function(library, method), method=method, against="ours", **setting.columns,
        **columns,
    )  # fmt: skip
    rows.within(
        f"relative difference of frequencies, {label}", worst.measured, 0,
        bound=worst.bound, basis=f"{_BOTH}; the pair that uses most of its bound",
        pair=worst.pair, **common,
    )  # fmt: skip
    last = setting.trained_length - 1
    apart = (found.double() - ours.double()).abs() * last
    allowed = (ours.double() * torch.tensor(bounds, dtype=torch.float64)).max().item() * last
    quantity = f"largest difference of an angle at the last trained position, {label}"
    rows.within(quantity, apart.max().item(), 0, bound=allowed, basis=_LAST_ANGLE, **common)
    return quantity, allowed


def _function(library: Library, method: str) -> str:
    """How the part of a library that computes a method is named."""
    if isinstance(library, Transformers) and method != "none":
        return f"transformers ROPE_INIT_FUNCTIONS[{library.methods[method]}]"
    option = library.methods[method]
    if option and not isinstance(library, Transformers):
        return f"{library.rotation}({option})"
    return library.rotation


@SUITE.case("frequencies")
def frequencies(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The frequencies of every method that a library has, against ours."""
    for library in _present(parameters):
        for setting, method in product(_settings(parameters), library.methods):
            if method == "none" and setting.factor != parameters["factors"][0]:
                continue
            options = _options(method, setting.head_dim, parameters)
            found, _ = library.frequencies(method, *setting, **options)
            _agreement(rows, library, method, setting, found, options)


@SUITE.case("pair 0")
def pair_zero(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """What becomes of the fastest pair: interpolation slows it, a change of base does not."""
    setting = _of_table(parameters)
    for library in _present(parameters):
        for method in library.methods:
            if method not in ("pi", "ntk", "dynamic_ntk"):
                continue
            found, _ = library.frequencies(method, *setting)
            share = 1 / setting.factor if method == "pi" else 1.0
            rows.within(
                f"frequency of pair 0, {setting.label}", found[0], share,
                bound=max(rounding.gamma(2), sys.float_info.min) * share, pair=0,
                basis="1/s for interpolation, 1 for a change of base; the quotient's rounding",
                **_peer(library, _function(library, method), method=method, against="ours",
                        **setting.columns),
            )  # fmt: skip


@SUITE.case("attention factors")
def attention_factors(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """What a library multiplies cos and sin by, against ours."""
    for library in _present(parameters):
        for factor in parameters["factors"]:
            setting = _of_table(parameters)._replace(factor=factor)
            for method in library.methods:
                if method == "none":
                    continue
                options = _options(method, setting.head_dim, parameters)
                _, found = library.frequencies(method, *setting, **options)
                ours = scaling.METHODS[method].attention_factor(factor, setting.trained_length)
                common = _peer(
                    library, _function(library, method), method=method, against="ours",
                    **setting.columns,
                )  # fmt: skip
                quantity = f"attention factor, {setting.label}"
                if ours == 1:
                    rows.equals(
                        quantity, found, 1.0, basis="the method has no attention factor", **common
                    )
                    continue
                # Both: logarithms of 2u, quotient or product, sum and, for LongRoPE, a root.
                rows.within(
                    quantity, found, ours, bound=2 * rounding.gamma(8, _U64) * ours,
                    basis="rounding analysis, u = 2^-53: logarithms, quotient, sum and root, twice",
                    **common,
                )  # fmt: skip


@SUITE.case("proportional")
def proportional(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Proportional RoPE turns the first pairs of the full width, partial RoPE a narrower head."""
    setting = _of_table(parameters)
    share, dim = parameters["proportion"], setting.head_dim
    for library in _transformers(parameters):
        config = library.config(
            dim, setting.base, setting.trained_length, "proportional", partial_rotary_factor=share
        )
        found, _ = library.computed(config)
        turned = int(share * dim // 2)
        ours = rotary.frequencies(dim, setting.base)[:turned]
        partial_width = rotary.frequencies(2 * turned, setting.base)
        bound = rounding.gamma(2 * rounding.frequency(dim, setting.base) / _U)
        subject = "transformers ROPE_INIT_FUNCTIONS[proportional]"
        common = _peer(
            library, subject, method="proportional",
            **setting.columns | {"factor": None},
        )  # fmt: skip
        quantity = f"largest relative difference of a turned pair's frequency, share {share:g}"
        rows.within(
            f"{quantity}, exponents over the head",
            (found[:turned].double() / ours.double() - 1).abs().max().item(), 0, bound=bound,
            basis=_BOTH, against="ours", **common,
        )  # fmt: skip
        rows.exceeds(
            f"{quantity}, exponents over the turned width",
            (found[:turned].double() / partial_width.double() - 1).abs().max().item(), 0,
            bound=CONTRADICTION_MARGIN * bound, basis=_MARGIN, against="partial rotation",
            contradicts=("proportional", f"{quantity}, exponents over the head", subject),
            **common,
        )  # fmt: skip
        rows.equals(
            f"pairs that are not turned, share {share:g}", (found == 0).sum().item(),
            dim // 2 - turned, basis="a count: all but the first", against="ours", **common,
        )  # fmt: skip


# --- rotations and scores -----------------------------------------------------------------------


def _pair_norms(x: Tensor, layout: str) -> Tensor:
    """Norms [..., d/2] of the pairs of ``x`` in a layout, in float64."""
    if layout == "halves":
        x = torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)
    return x.double().unflatten(-1, (-1, 2)).norm(dim=-1)


def _thetas(dim: int, base: float) -> Tensor:
    return torch.tensor([float(t) for t in exact_rotary.frequencies(dim, base)]).double()


def _ours(x: Tensor, base: float, start: int, layout: str) -> Tensor:
    """Our rotation of ``x`` [h, T, d], in a layout."""
    positions = torch.arange(start, start + x.shape[-2])
    angles = rotary.angles(positions, rotary.frequencies(x.shape[-1], base))
    turn = rotary.rotate_half_split if layout == "halves" else rotary.rotate_adjacent
    return turn(x, angles)


def _allowed(x: Tensor, base: float, start: int, layout: str) -> Tensor:
    """Bound of each component [h, T, d] of two rotations of ``x`` against each other."""
    dim = x.shape[-1]
    positions = torch.arange(start, start + x.shape[-2], dtype=torch.float64)
    angle = positions[:, None] * _thetas(dim, base) * (rounding.frequency(dim, base) + _U)
    pairs = _pair_norms(x, layout) * 2 * (angle + rounding.ROTATION * _U) * rounding.SECOND_ORDER
    return pairs.repeat(1, 1, 2) if layout == "halves" else pairs.repeat_interleave(2, dim=-1)


def _nearest(found: Tensor, ours: Tensor, allowed: Tensor) -> Comparison:
    """The element that uses most of its bound."""
    used = (found.double() - ours.double()).abs() / allowed
    place = int(torch.nan_to_num(used, nan=math.inf).argmax())
    return Comparison(*(x.flatten()[place].item() for x in (found, ours, allowed)))


@SUITE.case("rotated vectors")
def rotated_vectors(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Vectors as each library rotates them, against ours in its layout."""
    base = parameters["base"]
    for library in _present(parameters):
        layout = _LAYOUTS[library.package]
        for dim, start in product(parameters["head_dims"], parameters["starts"]):
            x = draw((parameters["heads"], parameters["length"], dim), parameters["seed"])
            found = library.rotate(x, base, start)
            worst = _nearest(found, _ours(x, base, start, layout), _allowed(x, base, start, layout))
            rows.within(
                f"rotated component nearest its bound, d={dim}, from position {start}",
                worst.measured, worst.exact, bound=worst.bound, head_dim=dim, base=base,
                against="ours", **_peer(library, library.rotation),
                basis="rounding analysis of both: angles, cos and sin, products and sum",
            )  # fmt: skip


@SUITE.case("rotated vectors, extended")
def rotated_when_extended(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """YaRN through the whole module of transformers: its angles and its factor on cos and sin."""
    setting = _of_table(parameters)
    dim, length = setting.head_dim, parameters["length"]
    x = draw((parameters["heads"], length, dim), parameters["seed"])
    for library in _transformers(parameters):
        module = library.module(library.method_config("yarn", *setting))
        factor = scaling.METHODS["yarn"].attention_factor(setting.factor, setting.trained_length)
        own = scaling.yarn(*setting)
        relative = torch.tensor(_bounds(library, "yarn", setting, {})).double()
        for start in parameters["starts"]:
            positions = torch.arange(start, start + length)
            angles = rotary.angles(positions, own)
            # Half-split pairs are neighbours in another order of dimensions.
            order = halves_order(dim)
            found = torch.empty_like(x)
            found[..., order] = library.turn(module, x[..., order], start)
            ours = rotary.rotate_by(x, angles.cos() * factor, angles.sin() * factor)
            moved = positions.double()[:, None] * own.double() * (relative + 2 * _U)
            # The factor is rounded, and multiplies cos and sin: two roundings each, both ways.
            pairs = _pair_norms(x, "neighbours") * factor * rounding.SECOND_ORDER
            allowed = pairs * (moved + 2 * (rounding.ROTATION + 2) * _U)
            worst = _nearest(found, ours, allowed.repeat_interleave(2, dim=-1))
            rows.within(
                f"rotated component nearest its bound, {setting.label}, from position {start}",
                worst.measured, worst.exact, bound=worst.bound, method="yarn", against="ours",
                **_peer(library, library.rotation, **setting.columns),
                basis="rounding analysis of both: angles, attention factor, cos and sin, products "
                "and sum",
            )  # fmt: skip


def _score_bounds(q: Tensor, k: Tensor, base: float, start: int) -> Tensor:
    """Bound of each score [h, T, T] in two computations; pairs are neighbours."""
    dim, length = q.shape[-1], q.shape[-2]
    at = torch.arange(start, start + length, dtype=torch.float64)
    products = _pair_norms(q, "neighbours").unsqueeze(-2) * _pair_norms(k, "neighbours").unsqueeze(
        -3
    )
    reach = (at[:, None] - at).abs() * rounding.frequency(dim, base) + (at[:, None] + at) * _U
    phase = (reach.unsqueeze(-1) * _thetas(dim, base)).clamp(max=2)
    turned = (products * (phase + rounding.gamma(2 * rounding.ROTATION))).sum(-1)
    # Twice, for both computations: see posinfo.reference.rounding.score.
    return 2 * (turned + rounding.pairwise_sum(dim, _U) * products.sum(-1))


@SUITE.case("scores")
def scores(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Scores of a library on weights in its layout and in the other one, against ours."""
    base, start = parameters["base"], parameters["starts"][0]
    heads, width, length = parameters["heads"], parameters["width"], parameters["length"]
    inputs = draw((length, width), parameters["seed"])
    for library, dim in product(list(_present(parameters)), parameters["head_dims"]):
        to_q, to_k = (
            draw((heads * dim, width), parameters["seed"] + number) / math.sqrt(width)
            for number in (1, 2)
        )

        def project(weight: Tensor, dim: int = dim) -> Tensor:
            """Queries or keys [h, T, d]."""
            return (
                pairwise_dot(inputs.unsqueeze(1), weight).unflatten(-1, (-1, dim)).transpose(0, 1)
            )

        def dots(q: Tensor, k: Tensor) -> Tensor:
            return pairwise_dot(q.unsqueeze(-2), k.unsqueeze(-3))

        q, k = project(to_q), project(to_k)
        turn = partial(_ours, base=base, start=start, layout="neighbours")
        ours, allowed = dots(turn(q), turn(k)), _score_bounds(q, k, base, start)
        reorder = partial(rotary.adjacent_to_half_split, head_dim=dim)
        weights = {"neighbours": (to_q, to_k), "halves": (reorder(to_q), reorder(to_k))}
        layout = _LAYOUTS[library.package]
        other = next(name for name in weights if name != layout)
        found = {}
        for name, pair in weights.items():
            given = [project(weight) for weight in pair]
            found[name] = dots(*(library.rotate(x, base, start) for x in given))
        common = _peer(library, library.rotation, head_dim=dim, base=base, against="ours")
        quantity = f"score nearest its bound, d={dim}, weights for {{}}"
        worst = _nearest(found[layout], ours, allowed)
        rows.within(
            quantity.format(layout), worst.measured, worst.exact, bound=worst.bound,
            basis="rounding analysis of both: angles, rotations, and pairwise sums",
            weights="for its layout", **common,
        )  # fmt: skip
        apart = (found[other] - ours).abs()
        place = int(torch.nan_to_num(apart, nan=math.inf).argmax())
        rows.exceeds(
            f"score that differs most, d={dim}, weights for {other}",
            found[other].flatten()[place].item(), ours.flatten()[place].item(),
            bound=CONTRADICTION_MARGIN * allowed.max().item(), basis=_MARGIN,
            contradicts=("scores", quantity.format(layout), library.rotation),
            weights="for the other layout", **common,
        )  # fmt: skip
        # What cannot tell the layouts apart.
        same = torch.eye(length, dtype=torch.bool).expand_as(ours)
        worst = _nearest(found[other][same], ours[same], allowed[same])
        rows.within(
            f"score of query and key at one position, d={dim}, weights for {other}",
            worst.measured, worst.exact, bound=worst.bound,
            basis="rounding analysis: a rotation of both keeps the score, whatever it pairs",
            weights="for the other layout", **common,
        )  # fmt: skip
        at_zero = [library.rotate(x[:, :1], base, 0) - x[:, :1] for x in (q, k)]
        rows.equals(
            f"what position 0 changes, d={dim}, weights for {other}",
            max(part.abs().max().item() for part in at_zero), 0.0,
            basis="by no angle nothing is turned: products with 1 and 0",
            weights="for the other layout", **common,
        )  # fmt: skip


# --- where they part ----------------------------------------------------------------------------

#: The ramps of YaRN by what they are linear in, and how ours is asked for each.
_RAMPS: dict[str, tuple[str, dict[str, bool]]] = {
    "whole pairs": ("yarn", {"truncate": True}),
    "pairs": ("yarn", {"truncate": False}),
    "turns": ("yarn_paper", {}),
}


def _matching(found: Tensor, candidates: Mapping[str, tuple[Tensor, list[float]]]) -> str:
    """Names of the candidates that frequencies agree with, each with its bounds."""
    names = [
        name
        for name, (ours, bounds) in candidates.items()
        if _worst(found, ours, bounds).used() <= 1
    ]
    return " and ".join(names) or "none of these"


@SUITE.case("ramps")
def ramps(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """What YaRN's ramp is linear in, and how far that is from its paper's, for published models."""
    for library, model in product(list(_transformers(parameters)), parameters["yarn"]):
        setting = Setting(*(model[name] for name in Setting._fields))
        truncate = {"truncate": model["truncate"]}
        found, _ = library.frequencies("yarn", *setting, **truncate)
        agreed = _agreement(rows, library, "yarn", setting, found, truncate, model=model["name"])
        candidates = {}
        for name, (method, options) in _RAMPS.items():
            ours = scaling.METHODS[method].frequencies(*setting, **options)
            bounds = _bounds(library, method, setting, options)
            candidates[name] = (ours, bounds)
        common = _peer(
            library, _function(library, "yarn"), method="yarn", model=model["name"],
            **setting.columns,
        )  # fmt: skip
        rows.equals(
            f"what the ramp is linear in, {model['name']}", _matching(found, candidates),
            "whole pairs" if model["truncate"] else "pairs", basis=_READ, against="ours", **common,
        )  # fmt: skip
        _apart_from_paper(rows, library, setting, truncate, found, agreed, common)


def _apart_from_paper(
    rows: Recorder, library: Library, setting: Setting, truncate: dict[str, bool], found: Tensor,
    agreed: tuple[str, float], common: dict[str, Any],
) -> None:  # fmt: skip
    """How far frequencies are from those of YaRN's paper, and angles therefore.

    ``agreed`` names the row on how far angles are from ours, with its bound.
    """
    paper = reference.frequencies("yarn_paper", *setting)
    code = reference.frequencies("yarn", *setting, **truncate)
    own = reference.rounding_bounds("yarn", *setting, **truncate)
    name, last = common["model"], setting.trained_length - 1
    given = found.double().tolist()
    relative = [abs(float(theirs) / value - 1) for theirs, value in zip(paper, given, strict=True)]
    angle = [abs(float(theirs) - value) * last for theirs, value in zip(paper, given, strict=True)]
    for quantity, values, exact, bound, held, least in (
        (
            "largest relative difference of a frequency", relative,
            max(abs(theirs / ours - 1) for theirs, ours in zip(paper, code, strict=True)),
            # The largest may come to lie at another pair by rounding: any pair's bound.
            max(rounding.gamma(mine / _U + 1) * float(theirs / ours)
                for mine, theirs, ours in zip(own, paper, code, strict=True)),
            f"relative difference of frequencies, {name}, {setting.label}",
            max(_bounds(library, "yarn", setting, truncate)),
        ),
        (
            "largest difference of an angle at the last trained position", angle,
            max(abs(theirs - ours) * last for theirs, ours in zip(paper, code, strict=True)),
            max(rounding.gamma(mine / _U + 1) * float(ours) * last
                for mine, ours in zip(own, code, strict=True)),
            *agreed,
        ),
    ):  # fmt: skip
        rows.within(
            f"{quantity} from the paper's, {name}", max(values), exact, bound=bound,
            basis="rounding analysis, u = 2^-24, of the library's; the paper's in 50 digits",
            pair=max(range(len(values)), key=values.__getitem__), against="the paper's ramp",
            **common,
        )  # fmt: skip
        rows.exceeds(
            f"{quantity} from the paper's is no rounding, {name}", max(values), 0,
            bound=CONTRADICTION_MARGIN * least, basis=_MARGIN, against="the paper's ramp",
            contradicts=("ramps", held, common["subject"]), **common,
        )  # fmt: skip


#: Which of a configuration's lengths transformers takes for the trained one, by method.
_LENGTHS = {
    "dynamic_ntk": "max_position_embeddings",
    "yarn": "original_max_position_embeddings",
    "longrope": "original_max_position_embeddings",
    "llama3": "original_max_position_embeddings",
}


@SUITE.case("lengths")
def lengths(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Which of two lengths in a configuration a method takes for the trained one."""
    setting = _of_table(parameters)
    stated = setting.trained_length * setting.factor
    known = {
        "original_max_position_embeddings": setting.trained_length,
        "max_position_embeddings": stated,
    }
    extra = {"llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0}}
    for library, method in product(list(_transformers(parameters)), _LENGTHS):
        options = _options(method, setting.head_dim, parameters)
        # Past both for the method that follows the length, between them for the one of two lists.
        length = 2 * stated if method == "dynamic_ntk" else 2 * setting.trained_length
        follows = {"length": length} if method in ("dynamic_ntk", "longrope") else {}
        candidates = {}
        for name, trained in known.items():
            asked = setting._replace(trained_length=trained)
            ours = scaling.METHODS[method].frequencies(*asked, **options, **follows)
            bounds = _bounds(library, method, asked, options | follows)
            candidates[name] = (ours, bounds)
        common = _peer(
            library, _function(library, method), method=method, **setting.columns,
        )  # fmt: skip
        for given in ("both lengths", "one length"):
            more = {"factor": setting.factor, **options, **extra.get(method, {})}
            if given == "both lengths":
                more["original_max_position_embeddings"] = setting.trained_length
            config = library.config(
                setting.head_dim, setting.base, stated, library.methods[method], **more
            )
            found, _ = library.computed(config, length)
            expected = _LENGTHS[method] if given == "both lengths" else "max_position_embeddings"
            rows.equals(
                f"what counts as the trained length, {method}, {given} in the configuration",
                _matching(found, candidates), expected, basis=_READ, against="ours", **common,
            )  # fmt: skip
        original, other = (candidates[name][0].double() for name in known)
        apart = (other / original - 1).abs()
        rows.exceeds(
            f"largest relative difference of a frequency between the two lengths, {method}",
            apart.max().item(), 0, pair=int(apart.argmax()), basis=_MARGIN,
            bound=CONTRADICTION_MARGIN * max(candidates["max_position_embeddings"][1]),
            against="the other length", **common,
        )  # fmt: skip
        angles = (other - original).abs() * (setting.trained_length - 1)
        bound = max(
            mine * value for mine, value in zip(
                candidates["max_position_embeddings"][1], original.tolist(), strict=True)
        )  # fmt: skip
        rows.exceeds(
            "largest difference of an angle at the last trained position between the two "
            f"lengths, {method}", angles.max().item(), 0, pair=int(angles.argmax()), basis=_MARGIN,
            bound=CONTRADICTION_MARGIN * bound * (setting.trained_length - 1),
            against="the other length", **common,
        )  # fmt: skip


#: What is in bfloat16: the input, or the module with its input.
_CONVERTED = {
    "float32": (torch.float32, torch.float32),
    "input in bfloat16": (torch.float32, torch.bfloat16),
    "module and input in bfloat16": (torch.bfloat16, torch.bfloat16),
}

#: The precision in which positions are held then, by library: as the code of each says.
_POSITIONS = {
    "transformers": dict.fromkeys(_CONVERTED, "float32"),
    "rotary-embedding-torch": {
        "float32": "float32",
        "input in bfloat16": "bfloat16",
        "module and input in bfloat16": "bfloat16",
    },
    "x-transformers": {
        "float32": "float32",
        "input in bfloat16": "float32",
        "module and input in bfloat16": "bfloat16",
    },
}


def _unwrapped(angles: Tensor) -> Tensor:
    """Angles [T, n] known up to a turn, made continuous over T."""
    steps = angles.diff(dim=0)
    whole = torch.round(steps / (2 * math.pi)) * 2 * math.pi
    return torch.cat([angles[:1], angles[1:] - whole.cumsum(0)])


def _angle_errors(library: Library, dim: int, base: float, length: int, module: torch.dtype,
                  given: torch.dtype) -> tuple[Tensor, int]:  # fmt: skip
    """Errors of angles [T, d/2] in radians, and the number of positions that are told apart."""
    exact = torch.arange(length, dtype=torch.float64)[:, None] * _thetas(dim, base)
    if isinstance(library, Transformers):
        # It gives out cosines and sines alone: the angle is known up to a turn.
        cos, sin = (part.double() for part in library.cos_sin(dim, base, length, module, given))
        apart = torch.atan2(
            sin * exact.cos() - cos * exact.sin(), cos * exact.cos() + sin * exact.sin()
        )
        return _unwrapped(apart).abs(), len(torch.unique(torch.cat([cos, sin], -1), dim=0))
    angles = library.angles(dim, base, length, module, given).double()
    return (angles - exact).abs(), len(torch.unique(angles, dim=0))


@SUITE.case("precision of positions")
def precision_of_positions(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Angles of a model in bfloat16: which positions fall together, and how far angles are off."""
    setting = _of_table(parameters)
    dim, base, length = setting.head_dim, setting.base, setting.trained_length
    # The largest of any pair: frequency and product for the angle, and for a library that gives
    # out cosines and sines the roundings of both, which turn by at most sqrt(2) u.
    allowed = max(
        rounding.angle(length - 1, theta, rounding.frequency(dim, base))
        for theta in _thetas(dim, base).tolist()
    ) + 2 * math.sqrt(2) * _U  # fmt: skip
    within = "largest error of an angle up to the last trained position, float32"
    for library in _present(parameters):
        for name, (module, given) in _CONVERTED.items():
            errors, distinct = _angle_errors(library, dim, base, length, module, given)
            common = _peer(
                library, library.rotation, dtype=name, head_dim=dim, base=base,
                trained_length=length,
            )  # fmt: skip
            held = _POSITIONS[library.package][name]
            told_apart = {
                dtype: precision.distinct_positions(length, dtype)
                for dtype in ("float32", "bfloat16")
            }
            found = [dtype for dtype, count in told_apart.items() if count == distinct]
            rows.equals(
                f"positions below {length} that are told apart, {name}", distinct,
                told_apart[held], basis="a count: positions that the precision holds apart",
                against="exact", **common,
            )  # fmt: skip
            rows.equals(
                f"precision of positions, {name}", " and ".join(found) or "neither", held,
                basis=f"{_READ}: the positions that are told apart", against="exact", **common,
            )  # fmt: skip
            if name == "float32":
                rows.within(
                    within, errors.max().item(), 0, bound=allowed, against="exact", **common,
                    basis="rounding analysis: the frequency, the product, cosine and sine",
                )  # fmt: skip
                continue
            if isinstance(library, Transformers) and module == torch.float32:
                # The angle is that of float32; its cosine and sine are rounded to the input's.
                rows.within(
                    f"largest error of an angle up to the last trained position, {name}",
                    errors.max().item(), 0, against="exact", **common,
                    bound=allowed + math.sqrt(2) * UNIT["bfloat16"] * 1.01,
                    basis="rounding analysis: float32 angles; cos and sin rounded to bfloat16",
                )  # fmt: skip
                continue
            if held == "float32" and module == torch.float32:
                rows.within(
                    f"largest error of an angle up to the last trained position, {name}",
                    errors.max().item(), 0, bound=allowed, against="exact", **common,
                    basis="rounding analysis: the frequency, the product, cosine and sine",
                )  # fmt: skip
                continue
            rows.exceeds(
                f"largest error of an angle up to the last trained position, {name}",
                errors.max().item(), 0, bound=CONTRADICTION_MARGIN * allowed, basis=_MARGIN,
                against="exact",
                contradicts=("precision of positions", within, library.rotation), **common,
            )  # fmt: skip
        if isinstance(library, RotaryEmbeddingTorch):
            _after_bfloat16(rows, library, setting, parameters["seed"])


def _after_bfloat16(
    rows: Recorder, library: RotaryEmbeddingTorch, setting: Setting, seed: int
) -> None:
    """A module keeps the angles of its first call, and gives them to a call in float32 too."""
    dim, base, length = setting.head_dim, setting.base, setting.trained_length
    x = draw((1, length, dim), seed)
    module = library.module(dim, base)
    fresh = module.rotate_queries_or_keys(x).detach()
    module = library.module(dim, base)
    module.rotate_queries_or_keys(x.bfloat16())
    after = module.rotate_queries_or_keys(x).detach()
    apart = (after - fresh).abs()
    place = int(torch.nan_to_num(apart, nan=math.inf).argmax())
    allowed = _allowed(x, base, 0, _LAYOUTS[library.package])
    rows.exceeds(
        "component that differs most, float32 after bfloat16 in one module",
        after.flatten()[place].item(), fresh.flatten()[place].item(),
        bound=CONTRADICTION_MARGIN * allowed.max().item(), basis=_MARGIN, head_dim=dim, base=base,
        trained_length=length, dtype="float32 after bfloat16", against="a new module",
        **_peer(library, library.rotation),
    )  # fmt: skip


@SUITE.case("cache")
def cached_keys(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """Keys rotated one at a time, as a cache holds them, against all at once; and dynamic NTK."""
    base, length = parameters["base"], parameters["length"]
    dim = parameters["table"]["head_dim"]
    x = draw((parameters["heads"], length, dim), parameters["seed"])
    for library in _present(parameters):
        layout = _LAYOUTS[library.package]
        whole = library.rotate(x, base)
        allowed = _allowed(x, base, 0, layout)
        steps = [library.rotate(x[:, at : at + 1], base, at) for at in range(length)]
        worst = _nearest(torch.cat(steps, dim=1), whole, allowed)
        common = _peer(library, library.rotation, head_dim=dim, base=base)
        quantity = f"component nearest its bound, one at a time against all at once, d={dim}"
        rows.within(
            quantity, worst.measured, worst.exact, bound=worst.bound, method="none",
            basis="rounding analysis of both: angles, cos and sin, products and sum",
            against="all at once", **common,
        )  # fmt: skip
        if not isinstance(library, Transformers):
            continue
        # Trained on half of the sequence: with the second half the base changes under the first.
        half = length // 2
        module = library.module(
            library.config(dim, base, half, "dynamic", factor=parameters["factors"][0])
        )
        early = library.turn(module, x[:, :half])
        late = library.turn(module, x)[:, :half]
        apart = (early - late).abs()
        place = int(torch.nan_to_num(apart, nan=math.inf).argmax())
        rows.exceeds(
            f"component that differs most, before and after the length grows, d={dim}",
            late.flatten()[place].item(), early.flatten()[place].item(),
            bound=CONTRADICTION_MARGIN * allowed[:, :half].max().item(), basis=_MARGIN,
            method="dynamic_ntk", against="all at once",
            contradicts=("cache", quantity, library.rotation), **common,
        )  # fmt: skip
