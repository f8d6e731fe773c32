"""all-MiniLM-L6-v2: what its learned table holds, and what becomes of texts longer than it."""

from collections.abc import Mapping
from typing import Any

from posinfo.suites.base import Recorder
from posinfo.suites.pretrained.suite import SUITE, Real, keeps, more

MODEL = "minilm"
#: Rows of the table, and of its half.
ROWS = 512
#: Difference of cosines below which nothing is decided.
LEAST = 0.01
SAME, CUT = "cosine with the right codes", "cosine with the text cut to the table"
OTHERS = "mean cosine with the other texts"

Parameters = Mapping[str, Any]


@SUITE.case("rows of a real table")
def rows_of_a_table(rows: Recorder, parameters: Parameters) -> None:
    """Cosines of a trained table's rows by their distance."""
    real = Real.given(MODEL, parameters)
    for method in ("as trained", "about the mean"):

        def cosine(distance: int, which: str = "mean", method: str = method) -> float:
            quantity = f"{which} cosine of rows"
            return real.values("table", quantity, method=method, distance=distance)[0]

        for distance in [one for one in real.settings["distances"] if one <= NEAR]:
            rows.exceeds(
                f"mean cosine of rows {distance} apart, {method}", max(cosine(distance), 0.0), 0.0,
                bound=UNRELATED, subject=real.subject, evidence="trained",
                basis=f"margin: {UNRELATED:g} of a cosine, about twice the deviation of one cosine "
                "of two random rows of this width, for a mean over hundreds", method=method,
                distance=distance, lowest=cosine(distance, "lowest"),
                highest=cosine(distance, "highest"), table_rows=ROWS, **real.about,
            )  # fmt: skip
        rows.exceeds(
            f"mean cosine of neighbouring rows above that of rows {FAR} apart, {method}",
            max(cosine(1), cosine(FAR)), cosine(FAR), bound=5 * UNRELATED, subject=real.subject,
            evidence="trained", basis=f"margin: five times {UNRELATED:g}, as above", method=method,
            distance=1, against=f"rows {FAR} apart", table_rows=ROWS, **real.about,
        )  # fmt: skip


@SUITE.case("end of a real table")
def end_of_a_table(rows: Recorder, parameters: Parameters) -> None:
    """What the model says of as many positions as it has rows, and of one more."""
    real = Real.given(MODEL, parameters)
    for method, error in ERRORS.items():
        for length, expected in ((ROWS, "no error"), (ROWS + 1, error)):
            [said] = real.texts("overflow", method=method, context=length)
            rows.equals(
                f"what the model says of {length} positions, {method}", said, expected,
                subject=real.subject, evidence="trained", basis="exact: type and message",
                method=method, context=length, table_rows=ROWS, **real.about,
            )  # fmt: skip


@SUITE.case("texts longer than a real table")
def longer_texts(rows: Recorder, parameters: Parameters) -> None:
    """Embeddings by clamped and interpolated codes, against the right ones or the cut text."""
    real = Real.given(MODEL, parameters)
    inside, outside = real.settings["inside"], real.settings["outside"]
    half = ROWS // 2

    def same(method: str, length: int, given: int = half) -> list[float]:
        return real.values("texts", SAME, method=method, context=length, rows=given)

    ones = [1.0] * real.settings["texts"]
    keeps(
        rows, real, "cosine with the model's own embedding, all rows by our codes",
        same("as trained", ROWS, ROWS), ones, bound=1e-5,
        basis="margin: a thousandth of what counts as a difference of cosines",
        method="as trained", context=ROWS, table_rows=ROWS,
    )  # fmt: skip
    for length in inside:
        for method in ("clamped", "interpolated"):
            about = {"method": method, "context": length, "table_rows": half}
            more(rows, real, f"fall of the cosine with the right codes at {length}, {method}",
                 ones, same(method, length), least=LEAST, against="the right codes",
                 **about)  # fmt: skip
            if (length, method) in BETTER_THAN_CUT:
                more(rows, real, f"cosine at {length} of {method} above that of the cut text",
                     same(method, length), same("cut", length), least=LEAST, against="cut",
                     **about)  # fmt: skip
    length = inside[-1]
    more(
        rows, real, f"cosine with the right codes at {length} of interpolated above clamped",
        same("interpolated", length), same("clamped", length), least=LEAST,
        method="interpolated", against="clamped", context=length, table_rows=half,
    )  # fmt: skip
    others = real.values("texts", OTHERS, method="as trained", context=ROWS, rows=ROWS)
    more(rows, real, "fall of the cosine from a text to the other texts", ones, others,
         least=LEAST, method="as trained", against="the other texts", context=ROWS,
         table_rows=ROWS)  # fmt: skip
    for length in outside:
        by = {
            method: real.values("texts", CUT, method=method, context=length, rows=ROWS)
            for method in ("clamped", "interpolated")
        }
        for method, values in by.items():
            about = {"method": method, "context": length, "table_rows": ROWS}
            more(
                rows, real, f"fall of the cosine with the text cut to the table at {length}, "
                f"{method}", ones, values, least=LEAST, against="the text cut to the table",
                **about,
            )  # fmt: skip
        more(
            rows, real, f"cosine at {length} of interpolated above clamped", by["interpolated"],
            by["clamped"], least=LEAST, method="interpolated", against="clamped", context=length,
            table_rows=ROWS,
        )  # fmt: skip


# --- what is asserted ------------------------------------------------------------------------

#: Distances at which rows must be related, one at which they need not, and a cosine that rows
#: with nothing to do with each other do not reach in the mean.
NEAR, FAR, UNRELATED = 16, 256, 0.1
#: What the model says past its table.
ERRORS = {
    "called as usual": "RuntimeError: index 512 is out of bounds for dimension 1 with size 512",
    "token types given": "IndexError: index out of range in self",
}
#: Where codes that are not the right ones keep more of a text than cutting it does.
BETTER_THAN_CUT: tuple[tuple[int, str], ...] = ((512, "interpolated"),)
