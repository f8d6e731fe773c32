"""Lesson B's questions of judgement, each reason with the claims that speak for and against it."""

from typing import NamedTuple

from posinfo.tables.data import Data, Record, Row, verdict


class Reason(NamedTuple):
    """A reason that the lesson gives, and the statements of the coverage list it stands for."""

    detail: str
    covers: tuple[str, ...]


class Question(NamedTuple):
    """A question, what the lesson recommends, and why it does."""

    question: str
    recommendation: str
    reasons: tuple[Reason, ...]


QUESTIONS = (
    Question(
        "What should bring position into a decoder that generates text?",
        "RoPE",
        (
            Reason("it goes on past the trained length", ("B51",)),
            Reason("scores by offset suit a causal objective", ("B52",)),
        ),
    ),
    Question(
        "When will a learned table do?",
        "when the greatest length is known and fixed",
        (
            Reason("nothing asks for a row past the end", ("B53",)),
            Reason("its cost is known beforehand", ("B16",)),
        ),
    ),
    Question(
        "Does RoPE ask for another cache of keys and values?",
        "no",
        (
            Reason("keys are rotated on their way into the cache", ("B54",)),
            Reason("a cached key brings its position along", ("B55",)),
        ),
    ),
    Question(
        "Should values be rotated as well?",
        "no",
        (Reason("they would bring position into the content", ("B56",)),),
    ),
    Question(
        "What if the context becomes twice as long?",
        "RoPE copes, a learned table does not",
        (
            Reason("angles can be computed anywhere", ("B57",)),
            Reason("a longer table means training again", ("B58",)),
        ),
    ),
)

#: How a claim that states a reason bears on it. Nothing that was not measured counts.
BEARINGS = {
    "verified": "for",
    "confirmed": "for",
    "conditional": "under a condition",
    "partly": "under a condition",
    "refuted": "against",
    "contradicted": "against",
}
OPEN = "open"

#: Claims that state a way round the recommendation: verified, they speak against its reason.
WAYS_ROUND = ("keys-cached-before-rotation", "rotated-values-can-be-turned-back")
_TURNED = {"for": "against", "against": "for"}


def judgement(data: Data) -> list[Record]:
    """Each question, once for every claim that bears on one of its reasons."""
    return [
        {
            "question": each.question,
            "recommendation": each.recommendation,
            "reason": reason.detail,
            **record,
        }
        for each in QUESTIONS
        for reason in each.reasons
        for record in _bearing(data, reason)
    ]


def _bearing(data: Data, reason: Reason) -> list[Record]:
    found = data.claims(*reason.covers)
    if not found:
        return [{"bearing": OPEN, "claim": "", "says": "", "verdict": "no claim"}]
    records = []
    for claim in found:
        bearing = BEARINGS.get(verdict(claim), OPEN)
        if claim["id"] in WAYS_ROUND:
            bearing = _TURNED.get(bearing, bearing)
        records.append(_record(claim, bearing, claim["statement"]))
        # What nothing computes rests on other claims: its file names them, and how they bear.
        written = data.written(claim["id"])
        if written is None:
            continue
        for side, weights in (("for", written.weighs_for), ("against", written.weighs_against)):
            for weight in weights:
                (other,) = data.entries(weight.claim)
                decided = verdict(other) in BEARINGS
                records.append(_record(other, side if decided else OPEN, weight.reason))
    return records


def _record(claim: Row, bearing: str, says: str) -> Record:
    return {"bearing": bearing, "claim": claim["id"], "says": says, "verdict": verdict(claim)}
