"""The words of the page: what each verdict, relation and kind of evidence means."""

from dataclasses import dataclass

from posinfo.report.model import Mark, Term


@dataclass(frozen=True)
class Lesson:
    """A lesson's title and how its headings begin, in their order."""

    title: str
    headings: tuple[str, ...]


#: The lessons that claims come from, by the letter that their ids begin with.
LESSONS = {
    "A": Lesson(
        "Positional Information: Absolute, Relative, RoPE",
        (
            "The claim",
            "Mental model",
            "Worked example: learned absolute embeddings",
            "Worked example: RoPE",
            "Failure mode",
            "Exercise",
        ),
    ),
    "B": Lesson(
        "Positional Information: Absolute Embeddings and RoPE",
        (
            "Introduction",
            "The one-sentence version",
            "A consistent shape trace",
            "1.1 Mechanism",
            "1.2 Forward pass",
            "1.3 Worked example",
            "1.4 Key properties",
            "1.5 Failure mode",
            "2.1 Mechanism",
            "2.2 Forward pass",
            "2.3 Worked example",
            "2.4 Key properties",
            "3.1 Test setup",
            "3.2 Results",
            "3.3 Norm preservation",
            "4. Comparison",
            "5. Staff/Principal Engineering Judgment",
            "6. Visual and text equivalent",
            "7. Exercises",
            "8. Sources",
        ),
    ),
}

#: Marks in the order in which they are counted.
MARKS = {
    mark.name: mark
    for mark in (
        Mark("verified", "verified", "every row that must support it does, and none breaks it"),
        Mark(
            "conditional",
            "conditional",
            "it holds under the condition named, and a measured row shows it break outside",
        ),
        Mark("refuted", "refuted", "a measured row, or a proof, contradicts it"),
        Mark(
            "undecided",
            "undecided",
            "its rows are not the ones it needs, or one does not hold; this run fails",
        ),
        Mark(
            "read",
            "read in a source",
            "a document was read, not reproduced: it confirms, partly confirms or contradicts",
        ),
        Mark(
            "judgement",
            "left to judgement",
            "nothing computes it; what bears on it is named, and it is never counted as verified",
        ),
        Mark("awaiting", "awaiting", "not measured yet; it counts for nothing"),
        Mark(
            "notrun",
            "not run",
            "it needs a package that was left out of this run; it counts for nothing",
        ),
        Mark(
            "stale",
            "stale",
            "the code that measured real models for it, or its settings, have changed since; it "
            "counts for nothing",
        ),
    )
}

#: The section of captions that belong to the chapter on published models.
MODELS_CHAPTER = "Models"

#: Marks that are verdicts on what was computed.
VERDICTS = ("verified", "conditional", "refuted")

#: What reading a document showed, as a word.
READINGS = {
    "confirmed": "confirmed, read",
    "partly": "partly confirmed, read",
    "contradicted": "contradicted, read",
}

OUTCOMES = {
    "holds": Mark("verified", "holds", "the assertion is true"),
    "fails": Mark("refuted", "fails", "the assertion is false; the run fails"),
    "error": Mark("undecided", "error", "a crash, a missing value, NaN or infinity"),
    "not run": Mark("notrun", "not run", "a package that it needs is not there"),
}

RELATION_TERMS = (
    Term("within", "the error, |measured − reference|, is at most the bound (shown as ≤)"),
    Term(
        "exceeds",
        "the error is at least the bound (shown as ≥): how a counter-example is asserted",
    ),
    Term("equals", "measured and reference are the same number or text, with nothing allowed"),
    Term("raises", "the call ends in the expected exception with the expected message"),
    Term("needs", "a package is there, in the version that its rows were made with"),
)

OUTCOME_TERMS = (
    Term("holds", "the assertion is true"),
    Term("fails", "the assertion is false: the run fails, whichever claim uses the row"),
    Term(
        "error",
        "a crash, a missing value, NaN or infinity: evidence for nothing, and the run fails",
    ),
    Term(
        "not run",
        "a package that may be left out is not there, so that its rows were not made: evidence "
        "for nothing, and the run goes on",
    ),
)

EVIDENCE_TERMS = (
    Term("proof", "a symbolic proof: sympy reduces the difference to zero"),
    Term("reference", "arbitrary precision: 50 digits and more with mpmath"),
    Term("float32", "a seeded measurement with torch on a CPU, in float32 where no other is named"),
    Term("control", "a faulty implementation that the check must reject"),
    Term("peer", "agreement with an independent library"),
    Term("trained", "a trained model: a tiny decoder trained here, or published weights"),
)

#: Implementations of Python by the names that they give themselves.
INTERPRETERS = {"cpython": "CPython", "pypy": "PyPy"}

#: What torch and numpy report of their settings (:func:`posinfo.numerics.effective`), in words.
SETTINGS = {
    "torch_cpu_capability": "Vector instructions of torch",
    "torch_threads": "Threads of an operation",
    "torch_interop_threads": "Threads of operations side by side",
    "torch_deterministic": "Deterministic algorithms alone",
    "torch_mkldnn": "oneDNN",
    "numpy_dispatched_features": "Vector instructions of numpy beyond its baseline",
}


def setting(value: object) -> str:
    """The value of a setting, as a reader would say it.

    >>> setting(True), setting([]), setting("DEFAULT"), setting(1)
    ('on', 'none', 'default', '1')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if str(value) == "DEFAULT" else str(value)
