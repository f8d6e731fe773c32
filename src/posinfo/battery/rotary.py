"""The battery for rotary embeddings: what any right implementation does, in either layout.

Nothing here calls :mod:`posinfo.encodings` or :mod:`posinfo.faults`: the expected values come from
frequencies in 50 digits and complex numbers in float64, and the bounds from rounding analysis, wide
enough for every right road in float32: powers or exponentials, real, complex or by matrices.
"""

import contextlib
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from posinfo.battery.base import (
    PLACE,
    Battery,
    Check,
    Finding,
    Misbehaviour,
    NotAsked,
    stated,
    verdict,
    worst_of,
)
from posinfo.reference import rotary as exact
from posinfo.reference.rounding import ROTATION, UNIT, gamma

ADJACENT, HALF_SPLIT = "adjacent pairs (2i, 2i+1)", "half-split pairs (i, i+d/2)"
LAYOUTS = (ADJACENT, HALF_SPLIT)

#: Positions that every implementation is asked about, unless its table is declared to end earlier.
LAST_POSITION = 131_072
WIDTHS = (8, 64, 128)
BASES = (10_000.0, 500_000.0)
#: Widths of a head that one check alone asks about: no power of two, as that of Phi-2, and one
#: that no call before has opened a table for.
ODD_WIDTH, UNSEEN = 80, 32
SEED = 123
#: An entry of a rotation matrix below this is rounding: what float32 makes of a sum of ones.
STILL = 1e-6

#: Whole positions far out: odd ones, for few bits hold even ones only, and the ends of tables.
FAR = (65, 255, 257, 1023, 1025, 2047, 2049, 4095, 4097, 8191, 8193, 16_383, 32_769, 65_537,
       100_003, 131_071, 131_072)  # fmt: skip
#: How many positions are asked in one row, and how far apart the ends of tables are taken to be.
MANY, TABLE = 4096, 1024
FRACTIONS = (0.5, 1.25, 2.75, 3.5, 100.25, 1000.5, 4095.75)
UNORDERED = (7, 3, 3, 0, 90, 12, 7, 250)


@dataclass(frozen=True)
class Rotary:
    """An implementation of rotary embeddings, as the checks call it.

    Parameters
    ----------
    name
        What people call it.
    turn
        Takes queries and keys [..., T, d], positions [T] and a base, and returns both rotated.
    takes_positions, takes_base
        Whether the implementation itself turns positions, or a base, into angles. One that is
        handed ready angles computes neither.
    rotary_dim
        Number of leading dimensions that it declares to rotate; all if None.
    last_position
        The last position that it declares to take.
    """

    name: str
    turn: Callable[[Tensor, Tensor, Tensor, float], tuple[Tensor, Tensor]]
    takes_positions: bool = True
    takes_base: bool = True
    rotary_dim: int | None = None
    last_position: int = LAST_POSITION


@cache
def frequency_bound(rotary_dim: int, base: float) -> np.ndarray:
    """Relative bound on each float32 frequency, by whichever road; shape [d/2].

    A power and a reciprocal cost 4 roundings with the exponent's own. By exp(-(2i/d) ln b) the
    exponent carries three roundings, which its size amplifies: at most 3 (2i/d) ln b more.
    """
    exponents = np.arange(rotary_dim // 2) * 2 / rotary_dim
    return np.array([gamma(4 + 3 * share * abs(math.log(base))) for share in exponents])


@cache
def _frequencies(rotary_dim: int, base: float) -> np.ndarray:
    """Frequencies in float64, from 50 digits; shape [d/2], radians per position."""
    return np.array([float(value) for value in exact.frequencies(rotary_dim, base)])


def _numbers(x: Tensor) -> np.ndarray:
    return x.detach().double().numpy()


@cache
def _drawn(shape: tuple[int, ...], seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).float()


class Probe:
    """One subject, and how to ask it: calls that turn whatever it does into words."""

    def __init__(self, subject: Rotary) -> None:
        self.subject = subject
        self.printed = io.StringIO()
        self._layout: str | None = None
        self._whole: torch.dtype | None = None

    # --- inputs -------------------------------------------------------------------------------

    def widths(self) -> tuple[int, ...]:
        """The widths of a head that are asked about: those that hold the rotated part."""
        least = self.subject.rotary_dim or 0
        found = tuple(width for width in WIDTHS if width >= least)
        return found or (least,)

    def rotated(self, width: int) -> int:
        """How many leading dimensions of a head are rotated."""
        return self.subject.rotary_dim or width

    def draw(self, *shape: int, salt: int = 0) -> Tensor:
        """Standard normal numbers, the same in every call with the same arguments."""
        return _drawn(shape, SEED + salt).clone()

    def positions(self, values: Sequence[float]) -> Tensor:
        """Positions as the subject takes them: whole ones as int64 if it can, else as float32."""
        if any(value != int(value) for value in values):
            return torch.tensor(values, dtype=torch.float32)
        if self._whole is None:
            self._whole = self._dtype_of_whole_positions()
        return torch.tensor(values, dtype=self._whole)

    def _dtype_of_whole_positions(self) -> torch.dtype:
        """int64, unless the subject refuses it and takes float32."""
        x, positions = self.draw(2, self.widths()[0]), torch.arange(2)
        for dtype in (torch.int64, torch.float32):
            try:
                self._call(x, x, positions.to(dtype), BASES[0])
            except Misbehaviour:
                continue
            return dtype
        return torch.int64

    # --- calls --------------------------------------------------------------------------------

    def _call(self, q: Tensor, k: Tensor, positions: Tensor, base: float) -> tuple[Tensor, Tensor]:
        """Call the subject; what it raises or returns instead of two tensors becomes words."""
        about = f"for x of shape {list(q.shape)}"
        try:
            with contextlib.redirect_stdout(self.printed), torch.no_grad():
                result = self.subject.turn(q, k, positions, base)
        except Misbehaviour:
            raise
        except (Exception, SystemExit) as error:
            said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
            place = getattr(error, PLACE, "")
            at = f", at {place}" if place else ""
            raise Misbehaviour(f"raises {said} {about}{_range(positions)}{at}") from error
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise Misbehaviour(f"returns {_kind(result)} {about}, not rotated queries and keys")
        for part in result:
            if not isinstance(part, Tensor):
                raise Misbehaviour(f"returns {_kind(part)} {about}, not a tensor")
        return result[0], result[1]

    def turn(
        self, q: Tensor, k: Tensor, positions: Sequence[float], base: float = BASES[0]
    ) -> tuple[Tensor, Tensor]:
        """Rotated queries and keys of the inputs' shape; copies go in, so that none is harmed.

        Raises
        ------
        Misbehaviour
            If the subject raises, or returns anything but two finite tensors of that shape.
        """
        turned = self._call(q.clone(), k.clone(), self.positions(positions), base)
        for before, after in zip((q, k), turned, strict=True):
            if before.shape != after.shape:
                raise Misbehaviour(
                    f"returns shape {list(after.shape)} for x of shape {list(before.shape)}"
                )
            if not torch.isfinite(after).all():
                raise Misbehaviour(
                    f"returns NaN or infinity for x of shape {list(before.shape)}"
                    f"{_range(torch.tensor(positions))}"
                )
        return turned

    # --- what is expected ---------------------------------------------------------------------

    def layout(self) -> str:
        """The layout that the subject comes closest to: at position 1, on unit vectors."""
        if self._layout is None:
            width = self.widths()[0]
            x = torch.eye(width).unsqueeze(1)
            q, _ = self.turn(x, x, [1])
            errors = [self.error(x, q, [1], layout=layout)[0].max() for layout in LAYOUTS]
            self._layout = LAYOUTS[int(np.argmin(errors))]
        return self._layout

    def pairs(self, x: Tensor, layout: str | None = None) -> np.ndarray:
        """The rotated part of ``x`` as complex numbers, one a pair: [..., T, d/2] in complex128."""
        dim = self.rotated(x.shape[-1])
        values = _numbers(x)[..., :dim]
        if (layout or self.layout()) == ADJACENT:
            return values[..., ::2] + 1j * values[..., 1::2]
        return values[..., : dim // 2] + 1j * values[..., dim // 2 :]

    def angles(self, width: int, positions: Sequence[float], base: float) -> np.ndarray:
        """Exact angles in radians [T, d/2]: off by at most a few units in float64's last place."""
        return np.outer(np.asarray(positions, float), _frequencies(self.rotated(width), base))

    def error(
        self,
        before: Tensor,
        after: Tensor,
        positions: Sequence[float],
        base: float = BASES[0],
        *,
        layout: str | None = None,
        unit: float = UNIT["float32"],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Distance of each pair from where it must be, and its bound: both [..., T, d/2].

        In units of the pair's own length. The bound is the frequency's, times the angle, one
        product, and one rotation in the precision of ``unit``, to which cos and sin may have been
        rounded beforehand. What lies beyond the rotated part must not have moved: it counts with
        the last pair.
        """
        width = before.shape[-1]
        angles = self.angles(width, positions, base)
        start, found = self.pairs(before, layout), self.pairs(after, layout)
        lengths = np.maximum(np.abs(start), np.finfo(np.float32).tiny)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(found - start * np.exp(1j * angles)) / lengths
        relative = frequency_bound(self.rotated(width), base) + UNIT["float32"]
        rounded = 0.0 if unit == UNIT["float32"] else math.sqrt(2)
        bound = np.minimum(np.abs(angles) * relative, 2.0) + gamma(ROTATION + rounded, unit)
        beyond = self.rotated(width)
        if beyond < width and not torch.equal(after[..., beyond:].to(before.dtype),
                                              before[..., beyond:]):  # fmt: skip
            error[..., -1] = math.inf
        return np.where(np.isnan(error), math.inf, error), np.broadcast_to(bound, error.shape)

    def values(
        self,
        positions: Sequence[float],
        *,
        widths: Sequence[int],
        base: float = BASES[0],
        dtype: torch.dtype = torch.float32,
        unit: float = UNIT["float32"],
        notes: Sequence[str] = (),
    ) -> Finding:
        """Rotate drawn queries and keys and compare each pair with where it must be."""
        findings: list[Finding] = []
        for width in widths:
            before = [self.draw(len(positions), width, salt=salt).to(dtype) for salt in (1, 2)]
            after = self.turn(before[0], before[1], positions, base)
            for name, x, turned in zip("qk", before, after, strict=True):
                error, bound = self.error(x, turned, positions, base, unit=unit)
                at = np.unravel_index(np.argmax(error / bound), error.shape)
                found = verdict(
                    float(error[at]),
                    float(bound[at]),
                    f"{name} at position {positions[at[0]]:,}, pair {at[1]} of width {width}, "
                    f"base {base:,.0f}",
                    notes,
                )
                findings.append(found)
        return worst_of(findings)


def _range(positions: Tensor) -> str:
    if positions.numel() == 0:
        return ""
    low, high = positions.min().item(), positions.max().item()
    return f" at position {high:g}" if low == high else f" at positions {low:g} to {high:g}"


def _kind(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"one tensor of shape {list(value.shape)}"
    return f"a value of type {type(value).__name__}"


# --- the questions --------------------------------------------------------------------------------


def _runs(probe: Probe) -> Finding:
    x = probe.draw(5, probe.widths()[0])
    probe._call(x.clone(), x.clone(), probe.positions(range(5)), BASES[0])
    return stated(True)


def _shape(probe: Probe) -> Finding:
    for width in probe.widths():
        x = probe.draw(2, 3, 5, width)
        probe.turn(x, x, range(5))
    return stated(True)


def _dtype(probe: Probe) -> Finding:
    notes: list[str] = []
    first: dict[str, Tensor] = {}
    width = probe.widths()[0]
    for dtype in (torch.float32, torch.float64):
        x = probe.draw(5, width).to(dtype)
        try:
            turned = probe.turn(x, x, range(5))
        except Misbehaviour as what:
            if dtype == torch.float32:
                raise
            notes.append(f"takes no float64: {what}")
            continue
        for name, after in zip("qk", turned, strict=True):
            # Each is within its bound of the right pair, whose length is at most sqrt(2) of the
            # largest component.
            bound = 2 * math.sqrt(2) * probe.error(x, after, range(5))[1].max()
            if _largest(after, first.setdefault(name, after)) > bound:
                return stated(False, f"{name} from float64 is another than from float32")
            if after.dtype == dtype:
                continue
            words = f"{name} comes back as {_dtype_text(after)} from {_dtype_text(x)}"
            if dtype == torch.float32:
                return stated(False, words)
            notes.append(words)
    return stated(True, notes=notes)


def _dtype_text(x: Tensor) -> str:
    return str(x.dtype).removeprefix("torch.")


def _input_untouched(probe: Probe) -> Finding:
    width = probe.widths()[0]
    q, k = (probe.draw(2, 5, width, salt=salt) for salt in (1, 2))
    changed = _changed(probe, q, k)
    if not changed:
        apart = (_as_projected(probe.draw(2, 5, 3, width, salt=salt)) for salt in (1, 2))
        # One that takes no such input changes none: another check says so.
        with contextlib.suppress(Misbehaviour):
            changed = _changed(probe, *apart)
    return stated(not changed, f"changes its input: {', '.join(changed)}" if changed else "")


def _changed(probe: Probe, q: Tensor, k: Tensor) -> list[str]:
    """Which of its inputs a call changes."""
    given = {"q": q, "k": k, "positions": probe.positions(range(1, 6))}
    before = {name: value.clone() for name, value in given.items()}
    probe._call(*given.values(), BASES[0])
    return [name for name, value in given.items() if not torch.equal(value, before[name])]


def _repeatable(probe: Probe) -> Finding:
    x = probe.draw(9, probe.widths()[-1])
    first, second = (probe.turn(x, x, range(9)) for _ in range(2))
    same = all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    return stated(same, "" if same else "the same call twice gives two results")


def _no_memory(probe: Probe) -> Finding:
    """Further calls that differ in one thing from those before: each must come out right."""
    narrow, wide = probe.widths()[0], probe.widths()[-1]
    first = probe.values(range(2), widths=[narrow])
    if first.rejects:
        raise NotAsked(f"the first call is wrong already: {first.words}")
    calls = [(range(9), BASES[0], narrow), (range(3, 12), BASES[0], narrow)]
    calls.append((range(9), BASES[0], wide))
    if probe.subject.takes_base:
        calls.append((range(9), BASES[1], narrow))
    findings = [first]
    if (probe.subject.rotary_dim or 0) <= UNSEEN:
        # Half precision first, at a width that no other check asks: a table made for it must not
        # serve what comes after.
        with contextlib.suppress(Misbehaviour):
            probe.turn(*(probe.draw(9, UNSEEN).bfloat16() for _ in "qk"), range(9))
        calls.append((range(9), BASES[0], UNSEEN))
    for positions, base, width in [*calls, (range(2), BASES[0], narrow)]:
        try:
            found = probe.values(positions, widths=[width], base=base)
        except Misbehaviour as what:
            raise Misbehaviour(f"{what} after other calls") from what
        findings.append(found)
    return worst_of(findings)


def _prints_nothing(probe: Probe) -> Finding:
    x = probe.draw(5, probe.widths()[0])
    probe.turn(x, x, range(5))
    said = probe.printed.getvalue()
    first = said.strip().partition("\n")[0][:60]
    return stated(not said, f"prints {first!r}" if said else "")


def _position_zero(probe: Probe) -> Finding:
    x = probe.draw(3, probe.widths()[-1])
    worst = 0.0
    for after in probe.turn(x, x, [0, 0, 0]):
        worst = max(worst, _largest(after, x))
    return verdict(worst, gamma(ROTATION), "largest move of a component, relative to the largest")


def _largest(after: Tensor, before: Tensor) -> float:
    """Largest distance of two tensors' components, relative to the largest; NaN is infinite."""
    distance = np.abs(_numbers(after) - _numbers(before)).max()
    distance = float(distance) / float(np.abs(_numbers(before)).max())
    return math.inf if math.isnan(distance) else distance


def _near(probe: Probe) -> Finding:
    return probe.values(range(64), widths=probe.widths()[:1])


def _widths(probe: Probe) -> Finding:
    if len(probe.widths()) < 2:
        raise NotAsked("one width alone holds the rotated part")
    # Of a width that is a power of two a wrong one may be taken for right.
    odd = [width for width in (ODD_WIDTH,) if width >= (probe.subject.rotary_dim or 0)]
    return probe.values(range(64), widths=[*probe.widths()[1:], *odd])


def _far(probe: Probe) -> Finding:
    last = min(probe.subject.last_position, _last_that_runs(probe)[0])
    asked = [position for position in FAR if position <= last]
    if last not in asked:
        asked.append(last)
    findings = [probe.values(asked, widths=probe.widths())]
    # Many at once, but no more than matrices for all of them have room for.
    width, many = probe.widths()[0], _many(last)
    size = max(64, min(len(many), 2**24 // width**2))
    for start in range(0, len(many), size):
        findings.append(probe.values(many[start : start + size], widths=[width]))
    return worst_of(findings)


@cache
def _many(last: int) -> tuple[int, ...]:
    """Positions up to the last one: all at first, then those around ends of tables, and drawn ones.

    One wrong row of a table, or a sequence longer than all others that are asked, shows here.
    """
    generator = torch.Generator().manual_seed(SEED)
    ends = (end + step for end in range(TABLE, last, TABLE) for step in (-1, 0, 1))
    drawn = torch.randint(last + 1, (MANY,), generator=generator).tolist()
    return tuple(sorted({*range(min(MANY, last + 1)), *ends, *drawn} - {last + 1}))


def _last_that_runs(probe: Probe) -> tuple[int, str]:
    """The last position up to the promised one at which the subject runs, and what it said."""
    x = probe.draw(1, probe.widths()[0])

    def refusal(position: int) -> str:
        try:
            probe.turn(x, x, [position])
        except Misbehaviour as what:
            return str(what)
        return ""

    promised = probe.subject.last_position
    said = refusal(promised)
    if not said:
        return promised, ""
    works, ends = -1, promised
    while ends - works > 1:
        middle = (works + ends) // 2
        now = refusal(middle)
        works, ends, said = (works, middle, now) if now else (middle, ends, said)
    return max(works, 0), said


def _table_end(probe: Probe) -> Finding:
    last, said = _last_that_runs(probe)
    if said:
        return stated(False, f"ends after position {last:,}: {said}")
    return stated(True)


def _fractional(probe: Probe) -> Finding:
    asked = [position for position in FRACTIONS if position <= probe.subject.last_position]
    try:
        return probe.values(asked, widths=probe.widths()[:2])
    except Misbehaviour as what:
        # Refusing them is honest, and what a table of whole positions does; rounding them is not.
        raise NotAsked(f"takes whole positions alone: {what}") from what


def _any_order(probe: Probe) -> Finding:
    return probe.values(UNORDERED, widths=probe.widths()[:2])


def _positions_count(probe: Probe) -> Finding:
    x = probe.draw(5, probe.widths()[0])
    near, later = (probe.turn(x, x, range(start, start + 5)) for start in (0, 10))
    same = [name for name, a, b in zip("qk", near, later, strict=True) if torch.equal(a, b)]
    return stated(
        not same,
        f"its positions make no difference to {' and '.join(same)}" if same else "",
    )


def _second_base(probe: Probe) -> Finding:
    if not probe.subject.takes_base:
        raise NotAsked("it takes no base")
    return probe.values(range(64), widths=probe.widths()[:2], base=BASES[1])


def _pair_norms(probe: Probe) -> Finding:
    """In either layout: the norm of each pair before and after."""
    positions = [*range(16), *(p for p in FAR if p <= _last_that_runs(probe)[0])]
    worst = 0.0
    for width in probe.widths():
        before = [probe.draw(len(positions), width, salt=salt) for salt in (1, 2)]
        for x, turned in zip(before, probe.turn(*before, positions), strict=True):
            with np.errstate(invalid="ignore"):
                ratio = np.abs(np.abs(probe.pairs(turned)) / np.abs(probe.pairs(x)) - 1)
            worst = max(worst, float(np.where(np.isnan(ratio), math.inf, ratio).max()))
    return verdict(worst, gamma(ROTATION), "largest relative change of a pair's norm")


def _scores(q: Tensor, k: Tensor) -> np.ndarray:
    return (_numbers(q) * _numbers(k)).sum(-1)


def _offset_alone(probe: Probe) -> Finding:
    """Scores of distinct queries and keys at one offset, near the start and shifted."""
    (last, said), offset = _last_that_runs(probe), 5
    shifts = [
        shift for shift in (0, 10, 100, 1000, 4000, 30_000, 120_000) if shift + offset <= last
    ]
    if not shifts:
        raise Misbehaviour(f"ends before position {offset}: {said}")
    findings: list[Finding] = []
    for width in probe.widths():
        q, k = (probe.draw(1, width, salt=salt) for salt in (1, 2))
        theta = _frequencies(probe.rotated(width), BASES[0])
        products = np.abs(probe.pairs(q)[0]) * np.abs(probe.pairs(k)[0])
        kept = gamma(2 * ROTATION) * products.sum()
        scores = []
        for shift in shifts:
            turned_q, _ = probe.turn(q, q, [shift + offset])
            _, turned_k = probe.turn(k, k, [shift])
            scores.append(_scores(turned_q, turned_k)[0])
        for shift, score in zip(shifts, scores, strict=True):
            # Both vectors share the frequency's error; the roundings of the angles do not cancel.
            phase = theta * (
                offset * frequency_bound(probe.rotated(width), BASES[0])
                + (2 * shift + offset) * UNIT["float32"]
            )
            bound = float((products * np.minimum(phase, 2.0)).sum() + 2 * kept + bound_at_start(
                products, theta, offset))  # fmt: skip
            found = verdict(abs(score - scores[0]), bound, f"shifted by {shift:,} at width {width}")
            findings.append(found)
    return worst_of(findings)


def bound_at_start(products: np.ndarray, theta: np.ndarray, offset: int) -> float:
    """What the unshifted score itself may be off by through the rounding of its angle."""
    return float((products * theta).sum() * offset * UNIT["float32"])


def _direction(probe: Probe) -> Finding:
    """Scores at the offsets +3 and -3 against the closed form: their order is the direction."""
    width = probe.widths()[0]
    q, k = (probe.draw(1, width, salt=salt) for salt in (1, 2))
    at = {position: probe.turn(q, k, [position]) for position in (0, 3)}
    conj = probe.pairs(q)[0] * np.conj(probe.pairs(k)[0])
    theta = _frequencies(probe.rotated(width), BASES[0])
    beyond = probe.rotated(width)
    rest = float(_scores(q[..., beyond:], k[..., beyond:])[0])
    findings: list[Finding] = []
    for offset, (query, key) in {3: (3, 0), -3: (0, 3)}.items():
        score = float(_scores(at[query][0], at[key][1])[0])
        expected = float((conj * np.exp(1j * offset * theta)).real.sum()) + rest
        mirrored = float((conj * np.exp(-1j * offset * theta)).real.sum()) + rest
        phase = 3 * theta * (frequency_bound(beyond, BASES[0]) + UNIT["float32"])
        bound = float((np.abs(conj) * (phase + gamma(2 * ROTATION))).sum())
        words = f"score at offset {offset:+d}"
        if abs(score - expected) > bound >= abs(score - mirrored):
            words += f" is that of offset {-offset:+d}: it turns the other way round"
        found = verdict(abs(score - expected), bound, words)
        findings.append(found)
    return worst_of(findings)


def _composition(probe: Probe) -> Finding:
    """Turned by a and then by b is turned by a + b."""
    a, b = 3, 8
    width = probe.widths()[0]
    dim = probe.rotated(width)
    x = probe.draw(4, width)
    # Each angle is off by its share of a frequency's error and by one rounding.
    angles = probe.angles(width, [a + b], BASES[0])
    relative = frequency_bound(dim, BASES[0]) + UNIT["float32"]
    bound = np.broadcast_to(3 * gamma(ROTATION) + 2 * angles * relative, (4, dim // 2))
    findings: list[Finding] = []
    for which in (0, 1):
        first = probe.turn(x, x, [a] * 4)[which]
        twice = probe.turn(first, first, [b] * 4)[which]
        once = probe.turn(x, x, [a + b] * 4)[which]
        gap = np.abs(probe.pairs(twice) - probe.pairs(once)) / np.abs(probe.pairs(x))
        gap = np.where(np.isnan(gap), math.inf, gap)
        at = np.unravel_index(np.argmax(gap / bound), gap.shape)
        words = f"by {a} and then by {b}, against by {a + b}"
        findings.append(verdict(float(gap[at]), float(bound[at]), words))
    return worst_of(findings)


def _linear(probe: Probe) -> Finding:
    width = probe.widths()[-1]
    x, y = (probe.draw(6, width, salt=salt) for salt in (1, 2))
    # Powers of two: the sum alone rounds.
    mixed = [part.double() for part in probe.turn(4 * x - y / 2, 4 * x - y / 2, range(6))]
    turned_x, turned_y = probe.turn(x, x, range(6)), probe.turn(y, y, range(6))
    size = float((4 * x.abs() + y.abs() / 2).max())
    worst = max(
        _largest_absolute(m, 4 * a.double() - b.double() / 2)
        for m, a, b in zip(mixed, turned_x, turned_y, strict=True)
    )
    # A component of the three results is off by at most the norm of its pair, sqrt(2) of size.
    bound = math.sqrt(2) * gamma(2 * ROTATION + 2)
    findings = [verdict(worst / size, bound, "4x - y/2")]
    # Exact as well: a sum of squares far below or above one still has room in float32.
    for power in (12, -12):
        scaled = probe.turn(2.0**power * x, 2.0**power * x, range(6))
        size = 2.0**power * float(x.abs().max())
        worst = max(
            _largest_absolute(a, 2.0**power * b.double())
            for a, b in zip(scaled, turned_x, strict=True)
        )
        findings.append(verdict(worst / size, bound, f"x times 2^{power}"))
    try:
        nothing = probe.turn(torch.zeros_like(x), torch.zeros_like(x), range(6))
    except Misbehaviour as what:
        raise Misbehaviour(f"of zeros {what}") from what
    if any(part.any() for part in nothing):
        return stated(False, "makes something of zeros")
    return worst_of(findings)


def _largest_absolute(a: Tensor, b: Tensor) -> float:
    distance = float(np.abs(_numbers(a) - _numbers(b)).max())
    return math.inf if math.isnan(distance) else distance


def _batch_shapes(probe: Probe) -> Finding:
    """Each sequence of a batch comes out as it does alone, also with as many heads as positions."""
    width, worst = probe.widths()[0], 0.0
    words = ""
    shapes = (((2,), 5), ((2, 3), 5), ((2, 5), 5), ((5, 5), 5), ((1, 4), 1), ((17, 12), 3))
    for leading, length in shapes:
        q, k = (probe.draw(*leading, length, width, salt=salt) for salt in (1, 2))
        positions = range(1, length + 1)
        together = probe.turn(q, k, positions)
        # The ends, and two between that differ in both axes: what lies along a wrong axis shows.
        indices = list(np.ndindex(*leading))
        for index in indices[:1] + indices[1 : -1 : max(1, len(indices) // 2 - 1)] + indices[-1:]:
            alone = probe.turn(q[index], k[index], positions)
            for a, b, x in zip(together, alone, (q, k), strict=True):
                gap = _largest_absolute(a[index], b) / float(x.abs().max())
                if gap > worst:
                    worst, words = gap, f"x of shape {list(q.shape)}: a sequence alone differs"
    notes = []
    q, k = (_as_projected(probe.draw(2, 5, 3, width, salt=salt)) for salt in (1, 2))
    whole = probe.turn(q.contiguous(), k.contiguous(), range(1, 6))
    try:
        for a, b, x in zip(probe.turn(q, k, range(1, 6)), whole, (q, k), strict=True):
            gap = _largest_absolute(a, b) / float(x.abs().max())
            if gap > worst:
                worst, words = gap, "the same in memory that is not in one piece differs"
    except Misbehaviour as what:
        notes.append(f"takes no memory that is not in one piece: {what}")
    return verdict(worst, 2 * gamma(ROTATION), words, notes)


def _as_projected(x: Tensor) -> Tensor:
    """[B, T, h, d] seen as [B, h, T, d]: heads as a projection leaves them."""
    return x.transpose(1, 2)


def _alike(probe: Probe) -> Finding:
    width = probe.widths()[-1]
    x = probe.draw(6, width)
    # Not from 0 on: keys that are counted from 0 in each call must differ from the queries.
    positions = [4, 1, 2, 50, 51, 60]
    q, k = probe.turn(x, x, positions)
    return verdict(
        _largest(k, q) if float(q.abs().max()) else math.inf,
        2 * gamma(ROTATION),
        "one vector as query and as key",
    )


def _matrix(probe: Probe, width: int, position: int) -> np.ndarray:
    """The matrix [d, d] by which the subject turns a query, read off the unit vectors."""
    x = torch.eye(width).unsqueeze(1)
    q, _ = probe.turn(x, x, [position])
    return _numbers(q)[:, 0, :].T


def _whole_width(probe: Probe) -> Finding:
    width = probe.widths()[0]
    # Far enough out that the slowest pair of the narrowest head has moved by more than rounding.
    matrix = _matrix(probe, width, min(50, probe.subject.last_position))
    still = [i for i in range(width) if np.abs(matrix[:, i] - np.eye(width)[:, i]).max() < STILL]
    expected = list(range(probe.rotated(width), width))
    if still == expected:
        return stated(True)
    moved = [i for i in range(width) if i not in still]
    if moved == list(range(len(moved))) and moved:
        return stated(False, f"rotates the first {len(moved)} of {width} dimensions alone")
    if not moved:
        return stated(False, "rotates nothing")
    return stated(False, f"dimensions {_runs_of(still)} of {width} stay as they are"
                  if still else "moves dimensions beyond the rotated part")  # fmt: skip


def _runs_of(numbers: Sequence[int]) -> str:
    """Ascending whole numbers as text, runs of them shortened: ``0, 4 to 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def _pairing(probe: Probe) -> Finding:
    """Each dimension mixes with one other, and all by one layout."""
    width = probe.widths()[0]
    dim = probe.rotated(width)
    coupled = np.abs(_matrix(probe, width, min(50, probe.subject.last_position))) > STILL
    either_way = (coupled | coupled.T) & ~np.eye(width, dtype=bool)
    partners = {i: np.flatnonzero(either_way[i]).tolist() for i in range(dim)}
    wanted = {
        ADJACENT: {i: [i ^ 1] for i in range(dim)},
        HALF_SPLIT: {i: [(i + dim // 2) % dim] for i in range(dim)},
    }
    for layout, pairs in wanted.items():
        if partners == pairs:
            return stated(True, layout)
    first = next(i for i in range(dim) if partners[i] != wanted[probe.layout()][i])
    mixes = ", ".join(map(str, partners[first])) or "none"
    return stated(
        False,
        f"dimension {first} of {width} mixes with {mixes}, not with "
        f"{wanted[probe.layout()][first][0]} as in {probe.layout()}",
    )


def _half_precision(probe: Probe) -> Finding:
    findings: list[Finding] = []
    notes: list[str] = []
    last = _last_that_runs(probe)[0]
    asked = [position for position in (0, 1, 7, 257, 1001, 2049, 4097) if position <= last]
    for dtype, unit in ((torch.bfloat16, UNIT["bfloat16"]), (torch.float16, UNIT["float16"])):
        name = str(dtype).removeprefix("torch.")
        try:
            found = probe.values(asked, widths=probe.widths(), dtype=dtype, unit=unit)
            after = probe.turn(*(probe.draw(1, probe.widths()[0]).to(dtype) for _ in "qk"), [1])
        except Misbehaviour as what:
            notes.append(f"takes no {name}: {what}")
            continue
        notes += [
            f"{which} comes back as {_dtype_text(part)} from {name}"
            for which, part in zip("qk", after, strict=True)
            if part.dtype != dtype
        ]
        findings.append(replace(found, words=f"{name}, {found.words}"))
    if not findings:
        raise NotAsked("; ".join(notes))
    return replace(worst_of(findings), notes=tuple(notes))


_PAIR = "of the pair's length"

CHECKS = (
    Check("runs", "takes queries, keys and positions, and returns tensors", "", _runs),
    Check("shape", "keeps the shape", "", _shape, ("A27", "B28", "B29", "B34", "B50")),
    Check("dtype", "keeps the precision of its input", "", _dtype),
    Check("input untouched", "leaves its input as it was", "", _input_untouched),
    Check("repeatable", "gives the same result each time", "", _repeatable),
    Check("prints nothing", "says nothing", "", _prints_nothing),
    Check("positions count", "gives other results at other positions", "", _positions_count),
    Check("position zero", "changes nothing at position 0", "of the largest component",
          _position_zero, ("A28",)),
    Check("whole width", "rotates every dimension that it declares", "", _whole_width, ("A23",)),
    Check("pairing", "mixes dimensions in pairs, all by one layout", "", _pairing, ("A22", "B75")),
    Check("near positions", "turns pair i by position times frequency", _PAIR, _near,
          ("A24", "A25", "A26", "B20", "B23", "B24", "B30", "B31")),
    Check("widths", "does so at realistic widths", _PAIR, _widths, ("A24", "B20")),
    Check("second base", "follows the base", _PAIR, _second_base),
    Check("any order", "takes positions unordered, repeated and with gaps", _PAIR, _any_order),
    Check("fractional positions", "takes positions between whole ones", _PAIR, _fractional,
          ("B76",)),
    Check("table end", "runs up to the last position that it declares", "", _table_end,
          ("A40", "B45", "B67")),
    Check("far positions", "is right up to there, within float32", _PAIR, _far,
          ("A40", "B32", "B44", "B63")),
    Check("pair norms", "keeps the norm of each pair", "of the pair's norm", _pair_norms,
          ("A20", "A22", "B38")),
    Check("offset alone", "gives scores that depend on the offset alone", "score", _offset_alone,
          ("A29", "A35", "A36", "A37", "B36")),
    Check("direction", "turns counter-clockwise: +3 and -3 are told apart", "score", _direction,
          ("A31", "B23")),
    Check("composition", "adds up: by a and then by b is by a + b", _PAIR, _composition,
          ("A21", "B55")),
    Check("linear", "is linear in its input", "of the largest component", _linear, ("A20",)),
    Check("batch shapes", "treats each sequence of a batch alike", "of the largest component",
          _batch_shapes),
    Check("q and k alike", "turns queries and keys alike", "of the largest component", _alike,
          ("A29", "B36")),
    Check("no memory", "does not depend on the calls before", _PAIR, _no_memory),
    Check("half precision", "computes angles finer than half-precision inputs", _PAIR,
          _half_precision, ("B27",)),
)  # fmt: skip

BATTERY = Battery("rotary", CHECKS, Probe)
