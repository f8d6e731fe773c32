"""Numbers in prose: what counts as one, and when two are the same."""

import re
from collections.abc import Iterator

# A power of ten as it is written out, and exponents as text can have them.
_POWER = r"\s?[×·*]\s?10(?:\^\{?[-−+]?\d+\}?|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
_EXPONENT = rf"(?:[eE][-−+]?\d+|{_POWER}|\^\{{?[-−+]?\d+\}}?|[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?"
_UNIT = r"(?:%|[kKMGT]i?B|[kMG]|[nµμm]?s)"
_NUMBER = re.compile(
    # Part of no name, version or address: float32, Qwen2.5, GPT-2, v1.2, 1.2.3, #7, [^1].
    r"(?<![\w.#^§])(?<![A-Za-z][-/])"
    rf"(?:(?<!\d)[-−+±])?(?:\d+(?:,\d+)*(?:\.\d+)?|\.\d+){_EXPONENT}"
    rf"(?:\s?%|{_UNIT})?(?![\w])(?!\.\d)"
)
#: What has digits and states no number: addresses, identifiers of documents, dates, and places.
_NO_NUMBER = re.compile(
    r"https?://\S+|\b(?:arXiv|doi|ISBN|RFC|PEP)[:\s]\s?\S+|\b\d{4}-\d{2}-\d{2}\b"
    r"|\b(?:[Ss]ections?|[Cc]hapters?|[Ff]igures?|[Ff]ig\.|[Tt]ables?|[Ee]quations?|[Ee]q\.|[Ll]essons?"
    r"|[Ee]xercises?|[Pp]art|[Ss]tep)\s\(?\d+(?:\.\d+)*"
    r"|\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$(?!\d)",
    re.DOTALL,
)
_SUPERSCRIPT = str.maketrans("⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹−", "-+0123456789-")


def find(text: str) -> Iterator[tuple[int, str]]:
    """Place and text of each number.

    >>> [number for _, number in find("float32 errs by 4.8 × 10⁻⁷, in 1,024 of 4,096 cells")]
    ['4.8 × 10⁻⁷', '1,024', '4,096']
    """
    masked = _NO_NUMBER.sub(lambda found: "\0" * len(found[0]), text)
    for found in _NUMBER.finditer(masked):
        yield found.start(), found[0]


def canonical_text(text: str) -> str:
    """A number as a computer writes it, a percent sign included.

    >>> canonical_text("−4.8 × 10⁻⁷"), canonical_text("1,024"), canonical_text("28 %")
    ('-4.8e-7', '1024', '28%')
    """
    plain = re.sub(r"[\s,{}]", "", text.translate(_SUPERSCRIPT))
    plain = re.sub(r"[×·*]10\^?", "e", plain)
    # 10⁻⁷ alone, or 10^-7.
    return re.sub(r"^([-+]?)10\^?(?=[-+]\d)", r"\g<1>1e", plain)


def canonical(text: str) -> str:
    """A number in one form, for ``10,000``, ``1e4`` and ``1 × 10⁴`` are the same.

    >>> canonical("10,000") == canonical("1e4") == canonical("1 × 10⁴")
    True
    """
    plain = canonical_text(text)
    try:
        return repr(float(plain))
    except ValueError:
        return plain
