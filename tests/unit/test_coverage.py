"""Which statements of the lessons the claims cover: every one, and how each is decided.

The ids of the statements are fixed, and so is the list of those that nothing decides yet: an id
leaves it when a claim decides it, in the same commit, and none is added unseen.
"""

import re

import pytest


def ids(text: str) -> set[str]:
    return set(text.split())


STATEMENTS = {f"A{n:02}" for n in range(1, 55)} | {f"B{n:02}" for n in range(1, 79)}

#: Ids with a claim that waits for a suite, and no other claim.
ONLY_AWAITING = ids("")
#: Ids that were read about, or of which a part is decided, and that wait for a suite besides.
AWAITING_TOO = ids("")

#: Ids that reading a document decides, and ids that nothing can decide.
SOURCE = ids("A06 A39 A45 A51 B08 B09 B10 B18 B25 B41 B47 B59 B70 B71 B72 B78")
JUDGEMENT = ids("B40 B52 B53 B61")


#: Claims that may be not run: those that rest on libraries which a run can do without.
MAY_NOT_RUN = ids(
    """
    configurations-name-two-lengths libraries-change-the-base-alike libraries-differ-in-pairs
    libraries-extend-alike libraries-interpolate-alike libraries-keep-positions-in-float32
    libraries-rotate-alike libraries-rotate-one-at-a-time libraries-score-alike-after-reordering
    ramp-in-whole-pairs yarn-in-libraries-is-the-papers
    """
)

#: Claims that rest on readings of real models, accepted earlier: they may be stale.
MAY_BE_STALE = ids(
    """
    real-model-at-twice-its-length real-model-better-extended-than-not
    real-model-cached-under-dynamic-scaling real-model-degrades-past-its-trained-length
    real-model-ends-with-its-table real-model-extended-where-it-need-not-be
    real-model-extended-without-training real-model-extrapolates-naturally
    real-model-in-the-other-layout real-model-predicts-alike-at-5-and-5000
    real-model-recalls-what-the-start-told real-model-with-positions-in-bfloat16
    real-table-clamped real-table-interpolated real-trained-rows-are-unrelated
    """
)


@pytest.fixture(scope="module")
def kinds(claims) -> dict[str, set[str]]:
    """The kinds of claims that cover each statement."""
    kinds: dict[str, set[str]] = {}
    for claim in claims:
        for statement in claim.covers:
            kinds.setdefault(statement, set()).add(claim.kind)
    return kinds


def test_every_statement_is_covered_and_nothing_else(kinds):
    assert len(STATEMENTS) == 132
    assert set(kinds) == STATEMENTS


def test_the_awaiting_ids_are_those_of_the_list(kinds):
    assert {name for name, found in kinds.items() if "awaiting" in found} == (
        ONLY_AWAITING | AWAITING_TOO
    )


def test_the_ids_that_nothing_but_a_suite_to_come_decides_are_those_of_the_list(kinds):
    assert {name for name, found in kinds.items() if found == {"awaiting"}} == ONLY_AWAITING
    assert not ONLY_AWAITING & AWAITING_TOO


def test_every_statement_about_a_document_was_read(kinds):
    assert {name for name in SOURCE if "source" not in kinds[name]} == set()


def test_every_matter_of_judgement_is_one(kinds):
    assert {name for name, found in kinds.items() if "judgement" in found} == JUDGEMENT


def test_all_others_are_computed(kinds):
    others = STATEMENTS - ONLY_AWAITING - SOURCE - JUDGEMENT
    lacking = {name for name in others - AWAITING_TOO if "computed" not in kinds[name]}
    assert lacking == set()
    assert len(others) > 55


def test_the_claims_that_may_be_not_run_are_those_of_the_list(claims, records):
    """All rest on rows of peers alone, and each of their selectors names its libraries."""
    from posinfo.ledger import decide_claims

    assert {claim.id for claim in claims if "peers" in claim.suites} == MAY_NOT_RUN
    for claim in claims:
        if claim.id in MAY_NOT_RUN:
            assert all("library" in one.where for one in claim.supports + claim.breaks), claim.id
    for entry in decide_claims(claims, records):
        assert ("peer" in entry.evidence) == (entry.claim.id in MAY_NOT_RUN)


def test_what_may_be_not_run_covers_no_statement_alone(claims):
    """Without the libraries every statement still has what decides it."""
    elsewhere = {one for claim in claims if claim.id not in MAY_NOT_RUN for one in claim.covers}
    assert elsewhere == STATEMENTS


def test_what_may_be_stale_is_on_the_list_and_covers_no_statement_alone(claims):
    """Without readings of real models every statement still has what decides it."""
    assert {claim.id for claim in claims if "pretrained" in claim.suites} == MAY_BE_STALE
    elsewhere = {one for claim in claims if claim.id not in MAY_BE_STALE for one in claim.covers}
    assert elsewhere == STATEMENTS


def test_a_statement_stands_in_its_own_lessons_file(claims):
    for claim in claims:
        assert claim.file.endswith(f"lesson-{claim.lesson.lower()}.yaml"), claim.id
        assert claim.lesson in {statement[0] for statement in claim.covers}, claim.id


def test_every_judgement_has_evidence_on_both_sides(claims):
    for claim in claims:
        if claim.kind == "judgement":
            assert claim.weighs_for, claim.id
            assert claim.weighs_against, claim.id


def test_every_source_names_revision_and_place(claims):
    """A revision is a commit, a version or a date, not `latest` alone."""
    for claim in claims:
        for source in claim.sources:
            assert len(source.revision) > 3, claim.id
            assert not re.fullmatch("latest|main|master|head", source.revision.lower()), claim.id


def test_a_verified_claim_has_more_than_one_kind_of_evidence_in_all(claims, records):
    """Proof, arbitrary precision and float32 each decide something."""
    from posinfo.ledger import decide_claims

    evidence = {kind for entry in decide_claims(claims, records) for kind in entry.evidence}
    assert evidence >= {"proof", "reference", "float32"}
