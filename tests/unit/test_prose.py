"""What claims say in words: no measured number is typed, and every one asked for is there."""

import re

import pytest

from posinfo.gate import verdict_line
from posinfo.ledger import decide_claims

PLACEHOLDER = re.compile(r"\{\{.*?\}\}", re.DOTALL)
#: A number with a point or an exponent, but not one within a name: float32, Qwen2.5-14B, v0.1.
MEASURED = re.compile(
    r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+|\s?×\s?10\W?[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
)


def typed_numbers(text: str) -> set[str]:
    return set(MEASURED.findall(PLACEHOLDER.sub(" ", text)))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("errs by 0.0031 at most", {"0.0031"}),
        ("errs by 4.8e-7.", {"4.8e-7"}),
        ("within 1e-5 or 2.5", {"1e-5", "2.5"}),
        ("about −1.25", {"−1.25"}),
        ("is 4.8 × 10⁻⁷", {"4.8"}),
        ("is 5 × 10⁻⁷", {"5 × 10⁻⁷"}),
        ("{{ supports.error.max | sig(2) }} of 1,024 cells", set()),
        ("in float32, Qwen2.5, 50 digits, at position 100.", set()),
        ("pair 0. Then", set()),
    ],
)
def test_a_typed_number_is_found(text, found):
    assert typed_numbers(text) == found


def computed(claims):
    return [claim for claim in claims if claim.kind == "computed"]


def test_no_measured_number_is_typed_into_prose(claims):
    """A number of the lesson's own statement is no measurement."""
    typed = {}
    for claim in computed(claims):
        for field in ("why", "headline"):
            own = typed_numbers(claim.statement) | typed_numbers(claim.condition)
            numbers = typed_numbers(getattr(claim, field)) - own
            if numbers:
                typed[claim.id, field] = numbers
    assert typed == {}


def test_every_placeholder_is_filled_with_a_finite_number(claims, records):
    filled = 0
    for entry in decide_claims(computed(claims), records):
        claim = entry.claim
        for text, template in ((entry.why, claim.why), (entry.headline, claim.headline)):
            assert "{{" not in text, entry.claim.id
            assert not re.search(r"\b(nan|inf|None)\b", text), entry.claim.id
            asked = len(PLACEHOLDER.findall(template))
            filled += asked
            assert bool(asked) == (text != template), entry.claim.id
    assert filled > 20


def test_the_prose_of_other_claims_is_no_template(claims):
    """Only computed claims have rows: elsewhere a placeholder would stand in the report."""
    for claim in claims:
        texts = [claim.statement, claim.awaits]
        if claim.kind != "computed":
            texts += [claim.condition, claim.why, claim.headline]
        assert not any("{{" in text or "{%" in text for text in texts), claim.id


def test_every_text_is_made_of_sentences(claims):
    for claim in claims:
        for field in ("statement", "why", "headline", "condition"):
            text = getattr(claim, field)
            if text:
                assert text.endswith("."), (claim.id, field)
                assert "  " not in text, (claim.id, field)


def test_no_two_claims_state_the_same(claims):
    statements = [claim.statement for claim in claims]
    assert len(set(statements)) == len(statements)


def test_a_shape_that_a_statement_names_is_pinned_by_a_selector(claims):
    """Otherwise another config would make another shape, and the statement would stay verified."""
    for claim in claims:
        if claim.kind != "computed":
            continue
        pinned = {
            value
            for selector in claim.supports + claim.breaks
            for value in selector.where.get("measured_text", ())
        }
        for shape in re.findall(r"[\[(]\d+(?:, \d+)+[\])]", claim.statement):
            pair = shape.startswith("(") and any(
                shape in str(value)
                for selector in claim.supports
                for value in selector.where.get("quantity", ())
            )
            listed = f"[{shape[1:-1]}]"
            assert pair or listed in pinned, f"{claim.id}: {shape} is pinned by no selector"


def test_no_file_has_a_place_left_to_fill(root):
    for path in (*root.glob("*.md"), *root.glob("*/README.md")):
        assert "@" + "@" not in path.read_text(encoding="utf-8"), path


def test_the_readme_shows_the_verdicts_that_a_run_ends_with(root, claims, records):
    ledger = [entry.record() for entry in decide_claims(claims, records)]
    line = f"{verdict_line(ledger)}. Every row holds: report/index.html"
    assert line in (root / "README.md").read_text(encoding="utf-8")
