"""Tables: what stands in them comes from rows, config and ledger, and says so when it cannot."""

import copy
import math
import re
import subprocess
import sys
from typing import Any

import pytest

from posinfo import extras, scaling
from posinfo.captions import load
from posinfo.ledger import decide_claims
from posinfo.schemas import load_yaml, table_fields
from posinfo.tables import FIGURES, FINDING, FINDINGS, TABLES, Data, MissingRows, build
from posinfo.tables.extension import METHODS
from posinfo.tables.figures import ORDERS
from posinfo.tables.judgement import BEARINGS, QUESTIONS, WAYS_ROUND
from posinfo.tables.lessons import (
    COMPARISON,
    LEARNED_PROPERTIES,
    ROTARY_PROPERTIES,
    evaluated,
)
from posinfo.tidy import read, write

MAKERS = {**TABLES, **FIGURES, **FINDINGS}
#: Tables that rest on no row: of the config alone, and of the ledger alone.
FROM_CONFIG = {"symbols"}
#: Tables about the rows themselves count those that do not hold, too, and show no number of theirs.
ABOUT_ROWS = {"evidence", "implementations"}
FROM_LEDGER = {"learned-properties", "rotary-properties", "comparison"}
#: Of the ledger and of the claims as they are written.
FROM_CLAIMS = {"judgement", "sources"}
WITHOUT_ROWS = FROM_CONFIG | FROM_LEDGER | FROM_CLAIMS | ABOUT_ROWS


def shown(entry) -> str:
    """A ledger entry's verdict as a table says it: of a source, what reading it showed."""
    return {"read": entry["recorded"]}.get(entry["reproduced"], entry["reproduced"])


@pytest.fixture(scope="module")
def ledger(claims, records) -> list[dict[str, Any]]:
    return [entry.record() for entry in decide_claims(claims, records)]


@pytest.fixture(scope="module")
def data(records, ledger, config, claims) -> Data:
    return Data(records, ledger, config, claims)


@pytest.fixture(scope="module")
def made(data) -> dict[str, list[dict[str, Any]]]:
    return {key: maker(data) for key, maker in MAKERS.items()}


def schema_of(root, key: str):
    kind = "tables" if key in TABLES else "figures"
    return table_fields(root / "workflow" / "schemas" / kind / f"{key}.yaml")


@pytest.mark.parametrize(
    ("kind", "makers"), [("tables", TABLES), ("figures", {**FIGURES, **FINDINGS})]
)
def test_every_schema_has_its_table_and_every_table_its_schema(root, kind, makers):
    schemas = (root / "workflow" / "schemas" / kind).glob("*.yaml")
    assert sorted(makers) == sorted(path.stem for path in schemas)


def test_the_small_figures_are_known_by_their_names():
    assert all(key.startswith(FINDING) for key in FINDINGS)
    assert not any(key.startswith(FINDING) for key in FIGURES)


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


@pytest.mark.parametrize("key", sorted(set(MAKERS) - WITHOUT_ROWS))
def test_without_rows_a_table_says_which_file_lacks_which_case(key, ledger, config):
    records, reason = build(MAKERS[key], Data([], ledger, config))
    assert records == []
    assert re.match(r"results/suites/\w+\.csv has no row of the case '.+'", reason)


@pytest.mark.parametrize("key", sorted(FROM_LEDGER | FROM_CLAIMS))
def test_without_claims_a_table_of_properties_says_so_of_each(key, records, config):
    made, reason = build(MAKERS[key], Data(records, [], config))
    assert reason == ""
    assert {(record["claim"], record["verdict"]) for record in made} == {("", "no claim")}
    with_claims = {"learned-properties": LEARNED_PROPERTIES, "rotary-properties": ROTARY_PROPERTIES}
    if key in with_claims:
        assert [record["property"] for record in made] == [one.name for one in with_claims[key]]


@pytest.mark.parametrize("outcome", ["fails", "error"])
@pytest.mark.parametrize("key", sorted(set(MAKERS) - WITHOUT_ROWS))
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
    verdicts = {entry["id"]: shown(entry) for entry in ledger}
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


def test_the_failure_of_lesson_a_depends_on_the_call(made, config):
    size = config["gpt2"]["max_position"]
    asked = [record for record in made["past-the-table"] if record["asked"] == "one row"]
    assert {(record["number"], record["table_rows"]) for record in asked} == {(size, size)}
    results = {record["call"]: record["result"] for record in asked}
    assert results["torch.nn.Embedding"] == "IndexError"
    assert results["tensor[int:int]"] == "nothing"
    prompts = [record for record in made["past-the-table"] if record["asked"] == "a prompt"]
    assert {record["number"]: record["result"] for record in prompts} == {
        size: "answers", size + 1: "IndexError", 2000: "IndexError",
    }  # fmt: skip


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


def test_every_question_has_a_line_for_each_claim_on_each_of_its_reasons(made, ledger):
    for each in QUESTIONS:
        for reason in each.reasons:
            lines = [
                record
                for record in made["judgement"]
                if (record["question"], record["reason"]) == (each.question, reason.detail)
            ]
            direct = [
                entry["id"] for entry in ledger if set(reason.covers) & set(entry["covers"].split())
            ]
            assert direct
            assert set(direct) <= {record["claim"] for record in lines}


def test_a_judgement_is_open_and_what_it_rests_on_is_named(made, claims):
    for claim in claims:
        if claim.kind != "judgement" or not {"B52", "B53"} & set(claim.covers):
            continue
        own = next(record for record in made["judgement"] if record["claim"] == claim.id)
        assert (own["bearing"], own["verdict"]) == ("open", "judgement")
        reason = [record for record in made["judgement"] if record["reason"] == own["reason"]]
        for side, weights in (("for", claim.weighs_for), ("against", claim.weighs_against)):
            assert weights
            for weight in weights:
                line = next(record for record in reason if record["says"] == weight.reason)
                assert line["claim"] == weight.claim
                assert line["bearing"] in (side, "open")
                assert (line["bearing"] == "open") is (line["verdict"] in ("awaiting", "judgement"))


def test_nothing_that_was_not_decided_speaks_for_or_against(records, ledger, config, claims):
    waiting = [dict(entry, reproduced="awaiting") for entry in ledger]
    made = TABLES["judgement"](Data(records, waiting, config, claims))
    assert {record["bearing"] for record in made} == {"open"}


@pytest.mark.parametrize(
    ("verdict", "bearing"),
    [("verified", "for"), ("refuted", "against"), ("conditional", "under a condition")],
)
def test_a_verdict_gives_the_bearing_and_a_way_round_turns_it(
    verdict, bearing, records, ledger, config
):
    assert {entry["id"] for entry in ledger} >= set(WAYS_ROUND)
    assert BEARINGS[verdict] == bearing
    decided = [dict(entry, reproduced=verdict) for entry in ledger]
    made = TABLES["judgement"](Data(records, decided, config))
    turned = {"for": "against", "against": "for"}.get(bearing, bearing)
    for record in made:
        assert record["bearing"] == (turned if record["claim"] in WAYS_ROUND else bearing)


def test_the_exercises_have_the_values_that_the_lessons_ask_for(made, config):
    answers = {(record["exercise"], record["part"]): record for record in made["exercises"]}
    size, width = config["suites"]["shapes"]["exercise_max_position"], config["lesson_b"]["width"]
    assert answers["1", "learned"]["value"] == size * width == 65536
    assert answers["1", "learned"]["answer"] == "65,536"
    assert answers["1", "RoPE"]["value"] == 0
    assert "4096" in answers["2", "learned, a decoder"]["question"]
    assert answers["2", "learned, a decoder"]["answer"].startswith("IndexError")
    for call in ("torch.nn.Embedding", "torch.gather", "torch.take_along_dim", "tensor[int:int]"):
        assert call in answers["2", "learned, by call"]["answer"]
    assert answers["2", "RoPE, by formula"]["value"] > 0.1
    assert answers["2", "RoPE, fixed layout, at once"]["answer"].startswith("RuntimeError")
    assert answers["2", "RoPE, fixed layout, token by token"]["value"] == 0
    thetas = [answers["3", f"θ of pair {pair}"] for pair in range(4)]
    assert [record["answer"] for record in thetas] == ["1", "0.1", "0.01", "0.001"]
    assert answers["3", "angle of pair 0 at 3"]["answer"] == "3 rad"
    for part in ("Q", "K", "V, as attention returns it"):
        assert answers["4", part]["answer"] == "[2, 5, 4, 8]"
    assert answers["4", "V itself"]["value"] == 0


def test_each_answer_stands_with_every_claim_that_decides_it(made, ledger):
    asked = {"A35", "A36", "A37", "A38", *(f"B{number}" for number in range(65, 70))}
    verdicts = {entry["id"]: shown(entry) for entry in ledger}
    deciding = {entry["id"] for entry in ledger if asked & set(entry["covers"].split())}
    assert {record["claim"] for record in made["exercises"]} == deciding
    for record in made["exercises"]:
        assert record["verdict"] == verdicts[record["claim"]]


def test_every_place_that_was_read_for_a_claim_is_listed(made, claims):
    listed = [
        (record["claim"], record["document"], record["place"], record["verdict"])
        for record in made["sources"]
    ]
    assert listed == [
        (claim.id, source.document, source.place, claim.verdict)
        for claim in claims
        if claim.kind == "source"
        for source in claim.sources
    ]


def test_a_source_whose_claim_is_undecided_is_not_called_confirmed(records, ledger, config, claims):
    doubtful = [dict(entry, reproduced="undecided") for entry in ledger]
    made = TABLES["sources"](Data(records, doubtful, config, claims))
    assert {record["verdict"] for record in made} == {"undecided"}


def test_the_coverage_of_the_figures_setting_is_that_of_the_table(made, config):
    base = config["suites"]["extension"]["figure"]["base"]
    drawn = [record for record in made["coverage"] if record["base"] == base]
    assert [{**record, "base": base} for record in made["never-trained"]] == drawn


def test_outputs_move_exactly_where_something_tells_the_order(made):
    assert [setting for setting, *_ in ORDERS] == list(
        dict.fromkeys(record["setting"] for record in made["permutation-error"])
    )
    for record in made["permutation-error"]:
        still = record["setting"] in ("no positions, no mask", "ALiBi, order reversed")
        assert record["moved"] == ("no" if still else "yes")
        assert (record["change"] <= record["bound"]) is still


def test_every_row_on_orders_is_in_the_figure(made, records):
    shown = [
        row for row in records
        if row["suite"] == "permutation" and row["case"] in {case for _, case, _ in ORDERS}
    ]  # fmt: skip
    assert len(made["permutation-error"]) == len(shown)


# --- libraries that may be left out ---------------------------------------------------------------


def test_the_table_of_libraries_has_one_line_for_each_that_was_not_run(
    run_suite, ledger, config, root, tmp_path
):
    there = dict(extras.NEEDED["peers"])
    fields = table_fields(root / "workflow" / "schemas" / "suites" / "peers.yaml")
    captions = load(
        root / "workflow" / "report" / "captions.yaml",
        load_yaml(root / "workflow" / "schemas" / "captions.schema.yaml"),
    )
    shown = {}
    for absent in ([], ["transformers"], list(there)):
        packages = there | dict.fromkeys(absent, extras.ABSENT)
        rows = [row.record() for row in run_suite("peers", packages=packages)]
        write(tmp_path / "peers.csv", rows, fields)
        made, reason = build(
            TABLES["peers"], Data(read(tmp_path / "peers.csv", fields), ledger, config)
        )
        assert reason == ""
        write(tmp_path / "table.csv", made, schema_of(root, "peers"))
        again = read(tmp_path / "table.csv", schema_of(root, "peers"))
        lines = [record for record in again if record["variant"].startswith("not run: ")]
        assert [record["library"] for record in lines] == absent
        assert {record["library"] for record in again} == set(there)
        shown[len(absent)] = captions["peers"].filled(again).caption
    assert "not run" not in shown[0]
    assert shown[1].strip().endswith("Libraries that were not run: 1 of 3.")
    assert "YaRN" in shown[0]
    assert "YaRN" not in shown[1]
    assert shown[3].strip() == "Libraries that were not run: 3 of 3."


def test_every_fault_stands_with_what_rejects_it(made):
    from posinfo.battery.catalogue import BATTERIES
    from posinfo.faults import FAULTS

    table = {record["fault"]: record for record in made["detection"]}
    assert list(table) == [fault.name for fault in FAULTS]
    for fault in FAULTS:
        record, own = table[fault.name], set(BATTERIES[fault.kind][0].names())
        assert (record["wrong"], record["seen"]) == (fault.wrong, fault.seen)
        assert record["rejected_by"] == len(own & set(fault.rejected_by)) > 0
    matrix = {record["fault"]: record for record in made["detection-matrix"]}
    for fault in FAULTS:
        if fault.kind == "rotary":
            rejecting = {c for c, verdict in matrix[fault.name].items() if verdict == "rejected"}
            assert rejecting == set(fault.rejected_by)
            assert matrix[fault.name]["named_by"] == fault.caught_by


def test_random_faults_add_up_and_each_that_is_none_has_its_reason(made, config):
    fates = ("raises", "caught", "same", "rounding")
    for record in made["random-faults"]:
        assert sum(record[fate] for fate in fates) == record["made"]
        assert record["share"] == 1
        assert bool(record["why"]) == bool(record["same"] + record["rounding"])
    drawn = sum(record["made"] for record in made["random-faults"])
    assert drawn == config["suites"]["controls"]["mutants"]


def test_no_check_needs_more_than_it_must_to_detect_a_disturbance(made):
    sized = [record for record in made["sensitivity"] if record["size"] is not None]
    assert len(sized) > 20
    assert all(0 < record["share"] <= 1 for record in sized)
