"""Claims, rows, captions and data as the report is given them, with what a test does not name."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from posinfo.captions import Caption
from posinfo.claims import Claim
from posinfo.report import view
from posinfo.report.inputs import Data

TEMPLATES = str(Path(__file__).parents[2] / "workflow" / "report")


def claim(name: str, *covers: str, **values: Any) -> Claim:
    usual = {
        "id": name, "covers": covers, "lesson": covers[0][0], "section": "The claim",
        "kind": "computed", "statement": name, "verdict": "verified", "file": "claims.yaml",
    }  # fmt: skip
    return Claim(**usual | values)


def row(**values: Any) -> dict[str, Any]:
    return {
        "suite": "norms", "case": "run", "quantity": "difference", "subject": "rotate",
        "relation": "within", "measured": 1e-7, "reference": 0.0, "error": 1e-7, "bound": 1e-5,
        "ratio": 0.01, "outcome": "holds", "evidence": "float32", "basis": "rounding",
        "measured_text": "", "reference_text": "",
    } | values  # fmt: skip


def decided(reproduced: str) -> dict[str, str]:
    """What the ledger says of a claim's verdict."""
    return {"reproduced": reproduced, "standing": ""}


def links_of(*claims: Claim, reproduced: str = "verified") -> dict[str, Any]:
    return {one.id: view.claim_link(one, decided(reproduced)) for one in claims}


def caption(key: str, *covers: str, **values: Any) -> Caption:
    usual = {
        "key": key, "kind": "table", "lesson": covers[0][0], "section": "The claim",
        "title": key.title(), "caption": f"About {key}.", "covers": covers, "file": "captions.yaml",
    }  # fmt: skip
    return Caption(**usual | values)


def data(key: str, *covers: str, **values: Any) -> Data:
    usual = {
        "key": key, "kind": "table", "path": f"results/tables/{key}.csv",
        "fields": [{"name": "n", "type": "integer", "title": "N", "unit": "rad"}],
        "caption": caption(key, *covers), "content": b"n\n1\n", "records": [{"n": 1}],
    }  # fmt: skip
    return Data(**usual | values)


def content_of(address: str) -> bytes:
    """What a ``data:`` address holds."""
    kind, _, content = address.partition(",")
    return base64.b64decode(content) if kind.endswith(";base64") else unquote_to_bytes(content)
