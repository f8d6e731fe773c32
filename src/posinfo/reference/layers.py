"""A stack of transformer layers in arbitrary precision, by plain loops over numbers.

Nothing here calls :mod:`posinfo.encodings`. Biases and codes come from closed forms and from
whole-number arithmetic, rotated scores from the offset alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
from mpmath import mpf

from posinfo.reference import rotary

#: Decimal digits carried: twice those of float64.
DIGITS = 34

Matrix = Sequence[Sequence[Any]]


def _columns(matrix: Matrix) -> list[tuple[Any, ...]]:
    return list(zip(*matrix, strict=True))


def _product(a: Matrix, b: Matrix) -> list[list[mpf]]:
    columns = _columns(b)
    return [[mpmath.fdot(row, column) for column in columns] for row in a]


def _norm(rows: Matrix, epsilon: float) -> list[list[mpf]]:
    result = []
    for row in rows:
        root = mpmath.sqrt(mpmath.fdot(row, row) / len(row) + mpf(epsilon))
        result.append([x / root for x in row])
    return result


def slope(head: int, heads: int) -> mpf:
    """ALiBi's slope of a head, in closed form (see :mod:`posinfo.encodings.alibi`)."""
    lower = 1 << (heads.bit_length() - 1)
    if head < lower:
        return mpf(2) ** (mpf(-8 * (head + 1)) / lower)
    return mpf(2) ** (mpf(-4 * (2 * (head - lower) + 1)) / lower)


def bucket(offset: int, *, bidirectional: bool, buckets: int = 32, max_distance: int = 128) -> int:
    """T5's bucket of an offset, key minus query, by whole numbers: no logarithm is rounded."""
    first = 0
    if bidirectional:
        buckets //= 2
        first = buckets if offset > 0 else 0
        distance = abs(offset)
    else:
        distance = max(-offset, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    # The largest step with (max_distance / exact)^(step / steps) <= distance / exact.
    steps = buckets - exact
    step = 0
    while step + 1 < steps and max_distance ** (
        step + 1
    ) * exact**steps <= distance**steps * exact ** (step + 1):
        step += 1
    return first + exact + step


def code(position: int, width: int, base: float) -> list[mpf]:
    """Sinusoidal code of a position: sin and cos of each frequency's angle in turn."""
    parts = [mpmath.expj(position * theta) for theta in rotary.frequencies(width, base)]
    return [number for part in parts for number in (part.imag, part.real)]


def scores(
    x: Matrix, layer: Mapping[str, Matrix], *, heads: int, epsilon: float
) -> list[list[list[mpf]]]:
    """Scores of a first layer's queries and keys without positions: head, query, key.

    The parameters are those of :func:`stack`.
    """
    with mpmath.workdps(DIGITS):
        seen = _norm(x, epsilon)
        q, k = (_product(seen, layer[name]) for name in ("query", "key"))
        size = len(q[0]) // heads
        return [
            [[mpmath.fdot(query[part], key[part]) / mpmath.sqrt(size) for key in k] for query in q]
            for part in (slice(head * size, (head + 1) * size) for head in range(heads))
        ]


def stack(
    x: Matrix,
    layers: Sequence[Mapping[str, Matrix]],
    *,
    heads: int,
    encoding: str,
    settings: Any,
    positions: Sequence[int],
    causal: bool,
    epsilon: float,
) -> list[list[mpf]]:
    """Outputs of a stack of layers, as :func:`posinfo.encodings.layers.run` defines it.

    Parameters
    ----------
    x
        Token embeddings, T rows of d numbers.
    layers
        For each layer its matrices by name: query, key, value, output, up, down.
    heads
        Number of heads.
    encoding
        none, learned, sinusoidal, rotary, alibi or t5 bias.
    settings
        The table of learned and t5 bias, the base of sinusoidal and rotary, else ignored.
    positions
        Positions of the tokens.
    causal
        Whether tokens see only what stands before them, and themselves.
    epsilon
        Added to the mean squares of the norms.
    """
    with mpmath.workdps(DIGITS):
        rows = [[mpf(value) for value in row] for row in x]
        added: list[Any] = []
        if encoding == "learned":
            added = [settings[position] for position in positions]
        elif encoding == "sinusoidal":
            added = [code(position, len(rows[0]), settings) for position in positions]
        if added:
            rows = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, added)]  # noqa: B905
        for layer in layers:
            seen = _norm(rows, epsilon)
            q, k, v = (_product(seen, layer[name]) for name in ("query", "key", "value"))
            gathered = _attend(q, k, v, heads, encoding, settings, positions, causal)
            rows = _sum(rows, _product(gathered, layer["output"]))
            middle = [
                [h / (1 + mpmath.exp(-h)) for h in row]
                for row in _product(_norm(rows, epsilon), layer["up"])
            ]
            rows = _sum(rows, _product(middle, layer["down"]))
        return rows


def _sum(a: Matrix, b: Matrix) -> list[list[mpf]]:
    return [[x + y for x, y in zip(*pair, strict=True)] for pair in zip(a, b, strict=True)]


def _attend(
    q: Matrix,
    k: Matrix,
    v: Matrix,
    heads: int,
    encoding: str,
    settings: Any,
    positions: Sequence[int],
    causal: bool,
) -> list[list[mpf]]:
    """What every head gathers for each token, the heads side by side."""
    size = len(q[0]) // heads
    gathered: list[list[mpf]] = [[] for _ in q]
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        columns = _columns([row[part] for row in v])
        for i, query in enumerate(q):
            weights = []
            for j, key in enumerate(k):
                if causal and j > i:
                    continue
                offset = positions[i] - positions[j]
                if encoding == "rotary":
                    thetas = rotary.frequencies(size, settings)
                    score = rotary.score(query[part], key[part], offset, thetas)
                else:
                    score = mpmath.fdot(query[part], key[part])
                score /= mpmath.sqrt(size)
                if encoding == "alibi":
                    score -= slope(head, heads) * abs(offset)
                elif encoding == "t5 bias":
                    score += settings[bucket(-offset, bidirectional=not causal)][head]
                weights.append(mpmath.exp(score))
            total = mpmath.fsum(weights)
            gathered[i] += [mpmath.fdot(weights, column[: len(weights)]) / total
                            for column in columns]  # fmt: skip
    return gathered
