"""A result as one HTML file, in the style of the report."""

from posinfo.check import show
from posinfo.check.result import CHECK_FAILS, FAILS, HOLDS, NOT_ASKED, Result
from posinfo.numbers_text import significant
from posinfo.report.model import Mark
from posinfo.report.page import render_template

TEMPLATE = "check.html.j2"

#: How an outcome looks: the shapes and colours are the report's.
LOOKS = {
    HOLDS: Mark("verified", "holds", "the property was found"),
    FAILS: Mark("refuted", "fails", "it was not"),
    CHECK_FAILS: Mark("refuted", "check fails", "a check that it rests on fails"),
    NOT_ASKED: Mark("awaiting", "not asked", "there was nothing to ask"),
}


def page(result: Result, templates: str, version: str) -> str:
    """The result as HTML: one file, no scripts, no requests.

    Parameters
    ----------
    result
        What was found; the template escapes all of it.
    templates
        The folder of the report's templates.
    version
        Version of this library.
    """
    checks = [
        {
            "mark": LOOKS[finding.outcome],
            "name": name,
            "measured": significant(finding.measured, show.DIGITS),
            "bound": show.bound(finding),
            "unit": result.info(finding.check).unit if finding.measured is not None else "",
            "words": show.said(result, finding),
        }
        for name, finding in show.listed(result)
    ]
    failing = {finding.check for finding in result.findings if finding.outcome == FAILS}
    claims = [
        {
            "mark": LOOKS[claim.outcome],
            "covers": claim.covers,
            "statement": claim.statement,
            "checks": [check for check in claim.checks if check in failing],
        }
        for claim in sorted(
            result.claims, key=lambda claim: (CHECK_FAILS, NOT_ASKED, HOLDS).index(claim.outcome)
        )
    ]
    return render_template(
        templates,
        TEMPLATE,
        good=result.good,
        file=show.plain(result.target.file),
        function=result.target.function,
        called=show.called(result),
        described=show.described(result),
        counted=show.counted(result),
        rejected=show.rejected(result),
        advice=show.advice(result),
        checks=checks,
        claims=claims,
        version=version,
    )
