"""Symbolic proofs about the rotation, run on the very functions that torch runs.

Each proof returns what sympy made of it and what it must be, as text: a wrong rotation gives
another text. Vectors of d dimensions are d/2 pairs that do not mix, so one pair with a
frequency of its own stands for all.
"""

from typing import NamedTuple

import sympy as sp

from posinfo.encodings.rotary import rotate_pair


class Proof(NamedTuple):
    """What is shown, what the expression became, and what it must become."""

    shows: str
    found: str
    expected: str


def _matrix(angle: sp.Expr) -> sp.Matrix:
    """The matrix of the rotation: its columns are the images of (1, 0) and (0, 1)."""
    cos, sin = sp.cos(angle), sp.sin(angle)
    return sp.Matrix([rotate_pair(1, 0, cos, sin), rotate_pair(0, 1, cos, sin)]).T


def _reals(names: str) -> tuple[sp.Symbol, ...]:
    return sp.symbols(names, real=True)


def orthogonal() -> Proof:
    """R(a) transposed times R(a) is the identity."""
    (a,) = _reals("a,")
    product = (_matrix(a).T * _matrix(a)).applyfunc(sp.simplify)
    return Proof("R(a)ᵀ R(a) = I", str(product.tolist()), str(sp.eye(2).tolist()))


def determinant() -> Proof:
    """The determinant is 1: a rotation, not a reflection."""
    (a,) = _reals("a,")
    return Proof("det R(a) = 1", str(sp.simplify(_matrix(a).det())), "1")


def pair_norm() -> Proof:
    """The norm of each pair is kept."""
    a, x, y = _reals("a x y")
    turned = rotate_pair(x, y, sp.cos(a), sp.sin(a))
    change = sp.simplify(turned[0] ** 2 + turned[1] ** 2 - x**2 - y**2)
    return Proof("x'² + y'² − x² − y² = 0", str(change), "0")


def composition() -> Proof:
    """Turning by b and then by a is turning by a + b: angles add, as positions do."""
    a, b = _reals("a b")
    difference = (_matrix(a) * _matrix(b) - _matrix(a + b)).applyfunc(
        lambda entry: sp.expand(sp.expand_trig(entry))
    )
    return Proof("R(a) R(b) − R(a + b) = 0", str(difference.tolist()), str(sp.zeros(2).tolist()))


def counter_clockwise() -> Proof:
    """The rotation is the textbook's: counter-clockwise, x' = x cos a − y sin a."""
    a, x, y = _reals("a x y")
    turned = sp.Matrix(rotate_pair(x, y, sp.cos(a), sp.sin(a)))
    point = sp.expand(sp.expand_complex((x + sp.I * y) * sp.exp(sp.I * a)))
    expected = sp.Matrix([sp.re(point), sp.im(point)])
    difference = (turned - expected).applyfunc(sp.simplify)
    return Proof(
        "(x', y') − (Re, Im) of (x + iy) e^(ia) = 0",
        str(difference.tolist()),
        str(sp.zeros(2, 1).tolist()),
    )


def relative() -> Proof:
    """The dot product of a rotated query and key has the offset m − n as its only position."""
    m, n, t, s, a, b, c, d = _reals("m n t s a b c d")

    def score(i: sp.Expr, j: sp.Expr) -> sp.Expr:
        q = rotate_pair(a, b, sp.cos(i * t), sp.sin(i * t))
        k = rotate_pair(c, d, sp.cos(j * t), sp.sin(j * t))
        return q[0] * k[0] + q[1] * k[1]

    # In the offset and the absolute position n, expanded: n must be gone from the derivative.
    moved = sp.expand(sp.expand_trig(score(m + s, n + s)).diff(s))
    return Proof("d/ds of the score at (m + s, n + s) = 0", str(sp.simplify(moved)), "0")


def offset_formula() -> Proof:
    """The dot product is (ac + bd) cos((m − n)θ) − (bc − ad) sin((m − n)θ)."""
    m, n, t, a, b, c, d = _reals("m n t a b c d")
    q = rotate_pair(a, b, sp.cos(m * t), sp.sin(m * t))
    k = rotate_pair(c, d, sp.cos(n * t), sp.sin(n * t))
    offset = (m - n) * t
    expected = (a * c + b * d) * sp.cos(offset) - (b * c - a * d) * sp.sin(offset)
    difference = sp.expand(q[0] * k[0] + q[1] * k[1] - sp.expand_trig(sp.expand(expected)))
    return Proof("score − formula of the offset = 0", str(sp.simplify(difference)), "0")
