"""Tables: what stands in them comes from rows, config and ledger, and says so when it cannot."""

import copy
import math
import re
import subprocess
import sys
from typing import Any

import pytest

from posinfo import scaling
from posinfo.ledger import decide_claims
from posinfo.schemas import table_fields
from posinfo.tables import FIGURES, TABLES, Data, MissingRows, build
from posinfo.tables.extension import METHODS
from posinfo.tables.lessons import (
    COMPARISON,
    LEARNED_PROPERTIES,
    ROTARY_PROPERTIES,
    evaluated,
)
from posinfo.tidy import read, write

MAKERS = {**TABLES, **FIGURES}
#: Tables that rest on no row: of the config alone, and of the ledger alone.
FROM_CONFIG = {"symbols"}
#: The table about the rows themselves counts those that do not hold, too.
ABOUT_ROWS = {"evidence"}
FROM_LEDGER = {"learned-properties", "rotary-properties", "comparison"}


@pytest.fixture(scope="module")
def ledger(claims, records) -> list[dict[str, Any]]:
    return [entry.record() for entry in decide_claims(claims, records)]


@pytest.fixture(scope="module")
def data(records, ledger, config) -> Data:
    return Data(records, ledger, config)


@pytest.fixture(scope="module")
def made(data) -> dict[str, list[dict[str, Any]]]:
    return {key: maker(data) for key, maker in MAKERS.items()}


def schema_of(root, key: str):
    kind = "tables" if key in TABLES else "figures"
    return table_fields(root / "workflow" / "schemas" / kind / f"{key}.yaml")


@pytest.mark.parametrize(("kind", "makers"), [("tables", TABLES), ("figures", FIGURES)])
def test_every_schema_has_its_table_and_every_table_its_schema(root, kind, makers):
    schemas = (root / "workflow" / "schemas" / kind).glob("*.yaml")
    assert sorted(makers) == sorted(path.stem for path in schemas)


@pytest.mark.parametrize("key", MAKERS)
def test_a_table_reads_back_from_its_csv_as_it_was_made(key, made, root, tmp_path):
    fields = schema_of(root, key)
    write(tmp_path / "table.csv", made[key], fields)
    again = read(tmp_path / "table.csv", fields)
    empty = {"string": "", "number": None, "integer": None}
    assert again == [
        {
            field["name"]: empty[field["type"]] if value is None else value
            for field in fields
            for value in [record.get(field["name"])]
        }
        for record in made[key]
    ]
    for field in fields:
        assert any(record[field["name"]] not in ("", None) for record in again), field["name"]


@pytest.mark.parametrize("key", sorted(set(MAKERS) - FROM_CONFIG - FROM_LEDGER - ABOUT_ROWS))
def test_without_rows_a_table_says_which_file_lacks_which_case(key, ledger, config):
    records, reason = build(MAKERS[key], Data([], ledger, config))
    assert records == []
    assert re.match(r"results/suites/\w+\.csv has no row of the case '.+'", reason)


@pytest.mark.parametrize("key", sorted(FROM_LEDGER))
def test_without_claims_a_table_of_properties_says_so_of_each(key, records, config):
    made, reason = build(MAKERS[key], Data(records, [], config))
    assert reason == ""
    assert {(record["claim"], record["verdict"]) for record in made} == {("", "no claim")}
    with_claims = {"learned-properties": LEARNED_PROPERTIES, "rotary-properties": ROTARY_PROPERTIES}
    if key in with_claims:
        assert [record["property"] for record in made] == [one.name for one in with_claims[key]]


@pytest.mark.parametrize("outcome", ["fails", "error"])
@pytest.mark.parametrize("key", sorted(set(MAKERS) - FROM_CONFIG - FROM_LEDGER - ABOUT_ROWS))
def test_no_number_is_published_whose_assertion_failed(key, outcome, records, ledger, config):
    broken = [dict(row, outcome=outcome) for row in records]
    made, reason = build(MAKERS[key], Data(broken, ledger, config))
    assert made == []
    assert reason.startswith("a row that it needs does not hold: ")


def test_one_row_that_does_not_hold_is_named(records, ledger, config):
    broken = [
        dict(row, outcome="fails") if row["quantity"] == "angle of pair 2 at position 50" else row
        for row in records
    ]
    _, reason = build(TABLES["theta-angles"], Data(broken, ledger, config))
    assert reason == (
        "a row that it needs does not hold: angles: lesson table / "
        "angle of pair 2 at position 50 / posinfo.encodings.rotary.angles"
    )


def test_two_rows_where_one_is_expected_are_no_row(data):
    with pytest.raises(MissingRows, match="rows where one is expected"):
        data.row("angles", "lesson table", begins="theta of pair")


def test_a_column_that_no_row_has_is_a_mistake_and_not_a_missing_row(data):
    with pytest.raises(KeyError, match="colour"):
        data.rows("angles", "lesson table", colour="blue")


@pytest.mark.parametrize(
    ("shape", "values"),
    [("[B, T, d]", [2, 5, 32]), ("[1, T, 1, d_head/2]", [1, 5, 1, 4]), ("[d_head/2]", [4])],
)
def test_a_shape_in_symbols_has_the_values_of_its_symbols(shape, values):
    assert evaluated(shape, {"B": 2, "T": 5, "d": 32, "d_head": 8}) == str(values)


def test_a_shape_that_is_not_what_its_symbols_say_makes_no_table(records, ledger, config):
    other = copy.deepcopy(config)
    other["lesson_b"]["batch"] += 1
    _, reason = build(TABLES["rotary-shapes"], Data(records, ledger, other))
    batch, length, heads = (config["lesson_b"][key] for key in ("batch", "length", "heads"))
    assert f"[{batch}, {length}, {heads}, 4]" in reason
    assert f"give [{batch + 1}, {length}, {heads}, 4]" in reason


@pytest.mark.parametrize("key", sorted(FROM_LEDGER))
def test_each_property_stands_with_every_claim_that_decides_it(key, made, claims, ledger):
    verdicts = {entry["id"]: entry["reproduced"] for entry in ledger}
    for record in made[key]:
        assert record["verdict"] == verdicts[record["claim"]]
    listed = {
        "learned-properties": LEARNED_PROPERTIES,
        "rotary-properties": ROTARY_PROPERTIES,
        "comparison": [cell for _, *cells in COMPARISON for cell in cells],
    }[key]
    found = [
        claim.id for stated in listed for claim in claims if set(stated.covers) & set(claim.covers)
    ]
    assert sorted(record["claim"] for record in made[key]) == sorted(found)


def test_a_property_whose_claim_awaits_says_so(records, ledger, config):
    waiting = [
        dict(entry, reproduced="awaiting") if "B16" in entry["covers"] else entry
        for entry in ledger
    ]
    cost = [
        record
        for record in TABLES["learned-properties"](Data(records, waiting, config))
        if record["property"] == "cost"
    ]
    assert [record["verdict"] for record in cost] == ["awaiting"]


def test_angles_are_the_position_times_the_formula(made, config):
    dim, base = config["lesson_b"]["head_dim"], config["base"]
    positions = config["suites"]["angles"]["lesson_positions"]
    assert len(made["theta-angles"]) == dim // 2 * len(positions)
    for record in made["theta-angles"]:
        angle = record["position"] * base ** (-2 * record["pair"] / dim)
        assert record["angle"] == pytest.approx(angle, rel=1e-6)
        assert record["turns"] == pytest.approx(angle / (2 * math.pi), rel=1e-6)
        assert record["theta"] * record["wavelength"] == pytest.approx(2 * math.pi, rel=1e-12)


def test_a_position_past_the_table_ends_in_an_error_or_in_nothing(made, config):
    settings = config["suites"]["offsets"]
    learned = [record for record in made["offset-test"] if record["method"] == "learned"]
    past = [record for record in learned if record["in_table"] == "no"]
    assert {record["position"] for record in past} == set(settings["positions_outside"])
    for record in past:
        silent = record["call"] == "tensor[int:int]"
        assert record["result"] == ("no row, and no error" if silent else "IndexError")
        assert silent or "out of" in record["message"]
    by_formula = [record for record in made["offset-test"] if record["call"] == "the formula"]
    assert [record["result"] for record in by_formula] == ["a rotation"] * len(by_formula)
    assert len(by_formula) == 1 + len(settings["positions_outside"])


def test_the_lessons_bound_on_norms_is_kept_at_unit_scale_in_float32_alone(made):
    for record in made["norm-preservation"]:
        if record["dtype"] == "float64":
            assert record.get("kept") is None
            continue
        plain = (record["dtype"], record["scale"], record["attention_factor"]) == ("float32", 1, 1)
        assert record["kept"] == ("yes" if plain else "no"), record["setting"]
        assert (record["absolute"] <= record["tolerance"]) is plain


def test_the_methods_are_those_of_the_library(made):
    assert sorted(METHODS) == sorted(scaling.METHODS)
    for record in made["rescaling"]:
        changes = scaling.METHODS[record["method"]].changes_base
        assert record["changes_base"] == ("yes" if changes else "no"), record["method"]


def test_the_figures_ratios_are_those_of_the_library(made, config):
    figure = config["suites"]["extension"]["figure"]
    trained = scaling.none(**figure)
    for method in ("pi", "ntk", "yarn", "llama3"):
        ratios = scaling.METHODS[method].frequencies(**figure) / trained
        drawn = [r["ratio"] for r in made["frequency-ratios"] if r["method"] == method]
        assert drawn == pytest.approx(ratios.tolist(), rel=1e-6)


def test_a_method_that_changes_the_base_lies_on_its_line(made):
    for record in made["frequency-ratios"]:
        if record["changes_base"] == "yes":
            assert record["best_base_ratio"] == pytest.approx(record["ratio"], rel=1e-6)


def test_a_smaller_config_makes_smaller_tables(run_suite, ledger, config):
    """Other head sizes and positions, without a change of code."""
    small = copy.deepcopy(config)
    small["suites"]["offsets"] |= {"head_dims": [16], "shifts": [10, 100], "breaking_shift": 1000}
    rows = [row.record() for row in run_suite("offsets", **small["suites"]["offsets"])]
    shifted = FIGURES["shift-error"](Data(rows, ledger, small))
    assert [(record["head_dim"], record["shift"]) for record in shifted] == [(16, 10), (16, 100)]
    assert {record["head_dim"] for record in TABLES["exercise"](Data(rows, ledger, small))} == {16}


def test_tables_and_figures_load_neither_torch_nor_pyplot(child_environment):
    script = (
        "import sys, posinfo.tables, posinfo.figures, posinfo.captions;"
        "print(sorted({'torch', 'snakemake', 'matplotlib.pyplot'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=child_environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "[]\n"


def test_the_rows_are_counted_by_suite_and_kind_of_evidence(made, records, ledger, config):
    rows = made["evidence"]
    assert sum(row["rows"] for row in rows) == len(records)
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert list(dict.fromkeys(row["suite"] for row in rows)) == list(config["suites"])
    for row in rows:
        own = [
            one
            for one in records
            if (one["suite"], one["evidence"]) == (row["suite"], row["evidence"])
        ]
        ratios = [one["ratio"] for one in own if one["ratio"] is not None]
        assert row["rows"] == row["holds"] == len(own)
        assert row["largest_ratio"] == max(ratios, default=None)
        assert row["tight"] == sum(ratio > 0.5 for ratio in ratios)
    failing = [dict(record, outcome="fails") for record in records]
    assert {row["holds"] for row in TABLES["evidence"](Data(failing, ledger, config))} == {0}
    assert build(TABLES["evidence"], Data([], ledger, config)) == ([], "no suite has a row")
