"""Which statements of the lessons hold for a function that was checked."""

from collections.abc import Sequence

from posinfo.check.result import CHECK_FAILS, FAILS, HOLDS, NOT_ASKED, Result, Stated
from posinfo.claims import Claim


def decide(result: Result, claims: Sequence[Claim]) -> list[Stated]:
    """Find out which statements of the lessons hold for a function.

    One holds if each check that it rests on does. If one of them fails, nothing but that is known:
    a function whose last frequency is wrong turns the first pair as it should. If none of them was
    to be asked, nothing is said of it. Of several claims about one statement the first that was
    verified stands for it. Of a function that does not run, or that is right once it is called with
    other axes, nothing is said at all.
    """
    if result.other_axes:
        return []
    outcomes = {finding.check: finding.outcome for finding in result.findings}
    deciding: dict[str, tuple[str, ...]] = {}
    for info in result.known:
        for name in info.decides:
            deciding[name] = (*deciding.get(name, ()), info.name)
    decided: list[Stated] = []
    for name, checks in sorted(deciding.items()):
        claim = _speaking(claims, name)
        if claim is None or any(claim.id == stated.id for stated in decided):
            continue
        if not set(checks) & set(outcomes):
            continue
        found = {outcomes.get(check, NOT_ASKED) for check in checks}
        outcome = CHECK_FAILS if FAILS in found else NOT_ASKED if NOT_ASKED in found else HOLDS
        decided.append(
            Stated(claim.id, claim.covers, claim.statement, claim.verdict, outcome, checks)
        )
    return decided if any(stated.outcome != NOT_ASKED for stated in decided) else []


def _speaking(claims: Sequence[Claim], statement: str) -> Claim | None:
    """The claim that stands for a statement of the lessons, of those that were computed."""
    found = [claim for claim in claims if claim.kind == "computed" and statement in claim.covers]
    for verdict in ("verified", "conditional"):
        for claim in found:
            if claim.verdict == verdict:
                return claim
    return None
