"""What rotation does to the norms of queries and keys, and where "max diff < 1e-5" ends."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from posinfo.encodings import rotary
from posinfo.reference import rounding
from posinfo.rows import CONTRADICTION_MARGIN
from posinfo.scaling import yarn_attention_factor
from posinfo.suites.base import Recorder, Suite
from posinfo.suites.common import DTYPES, draw

SUITE = Suite(
    "norms",
    "Norms before and after rotation",
    columns=("dtype", "scale", "head_dim", "attention_factor", "seed"),
)

_ADJACENT = "posinfo.encodings.rotary.rotate_adjacent"
_COMPLEX = "posinfo.encodings.rotary.rotate_complex"
_ABSOLUTE = "largest absolute difference of norms"
_RELATIVE = "largest relative difference of norms"


def _turn(x: Tensor, base: float, *, attention_factor: float = 1.0) -> Tensor:
    """Rotate [B, T, h, d] by position, in the precision of ``x``.

    Angles are computed in float32, as models do, unless ``x`` is float64: in float16 and
    bfloat16 the positions themselves would be lost.
    """
    precise = torch.float64 if x.dtype == torch.float64 else torch.float32
    thetas = rotary.frequencies(x.shape[-1], base, precise)
    angle = rotary.angles(torch.arange(x.shape[1]), thetas)
    cos, sin = (
        f(angle).unsqueeze(1).to(x.dtype) * attention_factor for f in (torch.cos, torch.sin)
    )
    return rotary.rotate_by(x, cos, sin)


def _worst(before: Tensor, after: Tensor) -> tuple[float, float]:
    """Largest absolute and largest relative difference of norms over the last dimension.

    The norms are taken in the precision of the vectors, as a lesson's reader would.
    """
    norms, turned = (torch.linalg.vector_norm(x, dim=-1).double() for x in (before, after))
    difference = (turned - norms).abs()
    return difference.max().item(), (difference / norms).max().item()


def _relative(before: Tensor, after: Tensor) -> float:
    """Largest relative difference of norms that are taken in float64: the rotation's alone."""
    return (after.double().norm(dim=-1) / before.double().norm(dim=-1) - 1).abs().max().item()


@SUITE.case("lesson run")
def lesson_run(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The lesson's own check: its seed, its shapes, its bound, in both formulations."""
    size, tolerance = parameters["lesson_b"], parameters["tolerance"]
    batch, length, heads, dim = (size[name] for name in ("batch", "length", "heads", "head_dim"))
    # The lesson does not print its check of norms: Q and K are drawn in float32 with its seed, in
    # this order, as its example of the shapes draws them.
    generator = torch.Generator().manual_seed(parameters["seed"])
    q, k = (torch.randn(batch, length, heads, dim, generator=generator) for _ in range(2))
    thetas = rotary.frequencies(dim, parameters["base"])
    angle = rotary.angles(torch.arange(length), thetas)
    by_complex = rotary.rotate_complex(q, k, rotary.unit_complex(angle))
    by_pairs = tuple(rotary.rotate_adjacent(x, angle.unsqueeze(1)) for x in (q, k))
    for subject, turned in ((_ADJACENT, by_pairs), (_COMPLEX, by_complex)):
        for name, before, after in zip(("Q", "K"), (q, k), turned, strict=True):
            absolute, relative = _worst(before, after)
            common = {
                "subject": subject, "dtype": "float32", "scale": 1.0, "head_dim": dim,
                "seed": parameters["seed"],
            }  # fmt: skip
            rows.within(
                f"{_ABSOLUTE}, {name}", absolute, 0.0, bound=tolerance,
                evidence="float32", basis="the lesson's own bound", **common,
            )  # fmt: skip
            rows.within(
                f"{_RELATIVE}, {name}", relative, 0.0, bound=rounding.norm_change(dim),
                evidence="float32", basis="rounding analysis: one rotation and two norms", **common,
            )  # fmt: skip
            rows.within(
                f"{_RELATIVE}, norms in float64, {name}", _relative(before, after), 0.0,
                bound=rounding.norm_change(dim, norms_exact=True),
                evidence="float32", basis="rounding analysis: one rotation", **common,
            )  # fmt: skip
    pair_norms = [x.double().unflatten(-1, (-1, 2)).norm(dim=-1) for x in (q, by_pairs[0])]
    rows.within(
        "largest relative difference of pair norms, Q",
        (pair_norms[1] / pair_norms[0] - 1).abs().max().item(), 0.0,
        bound=rounding.norm_change(2, norms_exact=True), subject=_ADJACENT, evidence="float32",
        basis="rounding analysis: one rotation", dtype="float32", scale=1.0, head_dim=dim,
    )  # fmt: skip


def _contrast(
    rows: Recorder,
    parameters: Mapping[str, Any],
    x: Tensor,
    *,
    label: str,
    dtype: str,
    scale: float,
    attention_factor: float = 1.0,
) -> None:
    """One setting: the derived relative bound holds, and where it must, the lesson's fails."""
    dim = x.shape[-1]
    turned = _turn(x, parameters["base"], attention_factor=attention_factor)
    absolute, _ = _worst(x, turned)
    common = {
        "subject": "posinfo.encodings.rotary.rotate_by",
        "evidence": "float32",
        "dtype": dtype,
        "scale": scale,
        "head_dim": dim,
        "attention_factor": attention_factor,
    }
    # Half precision is too coarse to measure a norm's change in; float64 has no finer one.
    finer = dtype != "float64"
    if attention_factor == 1.0:
        rows.within(f"{_RELATIVE}, {label}", _relative(x, turned), 0.0,
                    bound=rounding.norm_change(dim, dtype, norms_exact=finer),
                    basis="rounding analysis: one rotation" + ("" if finer else " and two norms"),
                    **common)  # fmt: skip
    else:
        # The factor stands in cos and sin: every norm grows by it, whatever the rounding.
        ratio = (turned.double().norm(dim=-1) / x.double().norm(dim=-1)).flatten()
        furthest = ratio[(ratio - attention_factor).abs().argmax()].item()
        rows.within(f"ratio of norms, {label}", furthest, attention_factor,
                    bound=attention_factor * (rounding.norm_change(dim, dtype, norms_exact=True)
                                              + 2 * rounding.UNIT[dtype]),
                    basis="rounding analysis: one rotation, and cos and sin times the factor",
                    **common)  # fmt: skip
    if dtype == "float64":
        return
    if scale == 1.0 and dtype == "float32" and attention_factor == 1.0:
        rows.within(f"{_ABSOLUTE}, {label}", absolute, 0.0, bound=parameters["tolerance"],
                    basis="the lesson's own bound", **common)  # fmt: skip
    else:
        rows.exceeds(f"{_ABSOLUTE}, {label}", absolute, 0.0,
                     bound=CONTRADICTION_MARGIN * parameters["tolerance"],
                     basis="margin: ten times the lesson's own bound",
                     contradicts=("lesson run", f"{_ABSOLUTE}, Q", _ADJACENT),
                     **common)  # fmt: skip


@SUITE.case("scale")
def scale(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The same check on longer vectors: an absolute bound does not scale, a relative one does."""
    for factor in parameters["scales"]:
        x = draw(parameters["wide_shape"], parameters["seed"]) * factor
        _contrast(rows, parameters, x, label=f"scale {factor:g}", dtype="float32",
                  scale=float(factor))  # fmt: skip


@SUITE.case("dtype")
def dtype(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The same check in the precisions that models are run in."""
    for name in parameters["dtypes"]:
        x = draw(parameters["wide_shape"], parameters["seed"], DTYPES[name])
        _contrast(rows, parameters, x, label=name, dtype=name, scale=1.0)


@SUITE.case("attention factor")
def attention_factor(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """YaRN multiplies cos and sin by a factor: the rotation then no longer keeps norms."""
    for factor in parameters["yarn_factors"]:
        x = draw(parameters["wide_shape"], parameters["seed"])
        _contrast(rows, parameters, x, label=f"YaRN at factor {factor:g}", dtype="float32",
                  scale=1.0, attention_factor=float(yarn_attention_factor(factor)))  # fmt: skip
