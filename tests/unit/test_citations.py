"""BibTeX of claims, tables and figures: whole entries, in which no sign is a command."""

import re
from types import SimpleNamespace

import pytest

from posinfo.report import citations

CLAIM = SimpleNamespace(
    id="norms-kept", covers=("B38", "B39"), mark=SimpleNamespace(word="refuted")
)
EXHIBIT = SimpleNamespace(
    kind="table", key="norm-x", anchor="table-norm-x", title="50 % of {a_b} & $c",
    path="results/tables/norm_x.csv", digest="0123456789abcdef" * 4,
)  # fmt: skip
PAGE = SimpleNamespace(ledger_path="results/ledger.csv", ledger_digest="ab" * 32)


def fields(entry: str) -> dict[str, str]:
    """A reader of its own: type, key, and fields by the braces that they open and close."""
    head = re.match(r"@(\w+)\{([\w-]+),\s*", entry)
    assert head, entry
    found, rest = {"type": head[1], "key": head[2]}, entry[head.end() :]
    while not rest.startswith("}"):
        name = re.match(r"(\w+)\s*=\s*\{", rest)
        assert name, rest
        at, depth = name.end(), 1
        while depth:
            if rest[at] == "\\":
                at += 1
            else:
                depth += {"{": 1, "}": -1}.get(rest[at], 0)
            at += 1
        found[name[1]] = rest[name.end() : at - 1]
        rest = rest[at:].lstrip(", \n")
    assert rest == "}"
    return found


def test_a_claim_says_its_verdict_and_refers_to_the_ledger():
    entry = fields(citations.of_claim(CLAIM))
    assert entry == {
        "type": "misc",
        "key": "posinfo-claim-norms-kept",
        "title": "{Claim norms-kept (B38, B39): refuted}",
        "crossref": "posinfo-ledger",
    }
    ledger = fields(citations.of_ledger(PAGE))
    assert ledger["key"] == entry["crossref"]
    assert ledger["note"].endswith(f"; results/ledger.csv, sha256 {'ab' * 32}")


def test_a_table_names_its_data_and_refers_to_the_project():
    entry = fields(citations.of_exhibit(EXHIBIT))
    assert entry["key"] == "posinfo-table-norm-x"
    assert entry["note"] == r"results/tables/norm\_x.csv, sha256 0123456789ab"
    assert entry["title"] == r"{Table norm-x: 50 \% of \{a\_b\} \& \$c}"
    assert entry["crossref"] == fields(citations.of_project())["key"]


@pytest.mark.parametrize("digest", ["", "ab" * 32])
def test_what_is_not_there_is_not_named(digest):
    shown = SimpleNamespace(**{**vars(EXHIBIT), "digest": digest})
    assert ("note" in fields(citations.of_exhibit(shown))) == bool(digest)
    page = SimpleNamespace(ledger_path="results/ledger.csv", ledger_digest=digest)
    assert ("sha256" in citations.of_ledger(page)) == bool(digest)


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", "}, note={x", "\\input{/etc}", 'a"b']
)
def test_hostile_text_ends_no_field(hostile):
    shown = SimpleNamespace(**{**vars(EXHIBIT), "title": hostile})
    entry = fields(citations.of_exhibit(shown))
    assert set(entry) == {"type", "key", "title", "crossref", "note"}
    assert "\\input{" not in entry["title"].replace("textbackslash{}", "")
