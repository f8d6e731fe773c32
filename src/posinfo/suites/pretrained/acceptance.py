"""Whether the accepted readings are those that were measured, of the right weights."""

from collections.abc import Mapping
from typing import Any

from posinfo.pretrained import accepted
from posinfo.pretrained.sources import SOURCES
from posinfo.schemas import table_fields
from posinfo.suites.base import Recorder
from posinfo.suites.pretrained.suite import EVIDENCE, SUITE


@SUITE.case("accepted readings")
def accepted_readings(rows: Recorder, parameters: Mapping[str, Any]) -> None:
    """The accepted readings are those that were measured: an edit by hand is seen."""
    found = accepted.load(parameters["accepted"], table_fields(parameters["schema"]))
    rows.equals(
        "sha256 of the readings", found.digest, str(found.about["readings_sha256"]),
        subject="baseline/pretrained/readings.csv", evidence=EVIDENCE,
        basis="exact: what the measurement wrote down of its own file",
    )  # fmt: skip
    for name, source in SOURCES.items():
        told = found.about["weights"].get(name, {})
        rows.equals(
            f"sha256 of the weights, {name}", str(told.get("weights_sha256")),
            source.weights_sha256, subject=source.title, evidence=EVIDENCE,
            basis="exact: the digest that the code asks of the file", model=name,
        )  # fmt: skip
