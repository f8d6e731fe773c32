"""Symbolic proofs about the order of tokens, for any scores and any values.

What a query gathers is a weighted mean. The score of two tokens and a token's value are left as
functions of which nothing is known, so that what is shown holds for all weights and widths. It
does not know where tokens stand: that is what it means that no position is given.
"""

from collections.abc import Sequence
from itertools import permutations

import sympy as sp

#: What is shown, what was found, and what must be found.
Proof = tuple[str, str, str]

_SCORE, _VALUE = sp.Function("s"), sp.Function("v")
_LENGTH = 3


def gather(query: sp.Expr, seen: Sequence[sp.Expr]) -> sp.Expr:
    """What a query gathers from the tokens it sees: softmax of the scores, times the values."""
    weights = [sp.exp(_SCORE(query, token)) for token in seen]
    values = [weight * _VALUE(token) for weight, token in zip(weights, seen, strict=True)]
    return sp.Add(*values) / sp.Add(*weights)


def _tokens() -> tuple[sp.Symbol, ...]:
    return sp.symbols(f"x0:{_LENGTH}")


def _outputs(tokens: Sequence[sp.Expr], causal: bool) -> dict[sp.Expr, sp.Expr]:
    """Each token's output in a sequence: the whole of it is seen, or what stands before."""
    return {
        token: gather(token, tokens[: place + 1] if causal else tokens)
        for place, token in enumerate(tokens)
    }


def _same(a: sp.Expr, b: sp.Expr) -> bool:
    """Whether two outputs are one function: not if they differ for some scores and values."""
    if a == b:
        return True
    tokens = _tokens()
    some = [
        output.replace(_SCORE, lambda *_: sp.Integer(0)).replace(
            _VALUE, lambda token: sp.Integer(10) ** tokens.index(token)
        )
        for output in (a, b)
    ]
    return some[0] == some[1] and sp.simplify(a - b) == 0


def _unchanged(tokens: Sequence[sp.Expr], causal: bool) -> list[int]:
    """For each token, in how many orders its output is the one it has in the first."""
    plain = _outputs(tokens, causal)
    orders = [_outputs(order, causal) for order in permutations(tokens)]
    return [sum(_same(order[token], plain[token]) for order in orders) for token in tokens]


def equivariant() -> Proof:
    """Without a mask every token's output is the same in all orders."""
    return (
        "orders of three tokens that keep each output, no mask",
        str(_unchanged(_tokens(), causal=False)),
        str([6] * _LENGTH),
    )


def masked() -> Proof:
    """Behind a causal mask an output is kept by the orders that keep the set before it."""
    return (
        "orders of three tokens that keep each output, causal mask",
        str(_unchanged(_tokens(), causal=True)),
        # The first token must stay first; the second must follow the first; the last stay last.
        str([2, 1, 2]),
    )


def last_token() -> Proof:
    """Behind a causal mask the last token's output is the same in all orders of the prefix."""
    *before, last = _tokens()
    plain = _outputs([*before, last], causal=True)[last]
    differences = [
        sp.simplify(_outputs([*order, last], causal=True)[last] - plain)
        for order in permutations(before)
    ]
    return (
        "output of the last token in each order of the prefix, less the first, causal mask",
        str(differences),
        str([0] * len(differences)),
    )


def one_over_t() -> Proof:
    """With equal scores, a value of 1 at the first token and 0 elsewhere, place t gathers 1/t."""
    tokens = _tokens()
    found = [
        sp.simplify(
            output.replace(_SCORE, lambda *_: sp.Integer(0)).replace(
                _VALUE, lambda token: sp.Integer(token == tokens[0])
            )
        )
        for output in _outputs(tokens, causal=True).values()
    ]
    return (
        "uniform causal attention onto the first of three tokens",
        str(found),
        str([sp.Rational(1, place + 1) for place in range(_LENGTH)]),
    )
