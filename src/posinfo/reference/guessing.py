"""What the decoder's tasks cost a reader that guesses, or that knows a text as a bag of tokens.

Counted out, without the decoder or the tasks' own code.
"""

import math
from itertools import product


def evenly(choices: int) -> float:
    """Nats of a guess that holds all choices for equally likely."""
    return math.log(choices)


def entropy_of_some(count: int, values: int) -> float:
    """Expected entropy, in nats, of ``count`` values drawn evenly, when their bag is known.

    One of the drawn is asked for; who knows the bag alone can do no better than its shares.
    Counted over all draws.
    """
    total = 0.0
    for drawn in product(range(values), repeat=count):
        shares = [drawn.count(value) / count for value in set(drawn)]
        total -= sum(share * math.log(share) for share in shares)
    return total / values**count


def recall_from_a_bag(pairs: int, values: int) -> float:
    """Nats below which no reader of a bag gets on the recall task, on average over its questions.

    Before the last but r - 1 of the questions r values are still to be asked for. Whoever knows
    which, but not whose they are, pays the entropy of their bag; a reader of all tokens as a bag
    knows no more than that.
    """
    return sum(entropy_of_some(left, values) for left in range(1, pairs + 1)) / pairs
