"""Description: what the results are.

Needs: every CSV of a run, and their schemas.
Makes: results/datapackage.json, which says what each column of each CSV is.
"""

DATAPACKAGE = "results/datapackage.json"

# Every CSV of a run with the schema of its columns.
SCHEMA_OF = {
    **dict.fromkeys((path for path in TRAINED if path.endswith(".csv")), TRAINING_SCHEMA),
    **{
        path: in_workflow(f"workflow/schemas/suites/{Path(path).stem}.yaml")
        for path in SUITE_RESULTS
    },
    CONTROLS: CONTROLS_SCHEMA,
    "results/ledger.csv": LEDGER_SCHEMA,
    **{path: in_workflow(f"workflow/schemas/tables/{Path(path).stem}.yaml") for path in TABLES},
    **{path: in_workflow(f"workflow/schemas/figures/{Path(path).stem}.yaml") for path in FIGURES},
    **dict.fromkeys(MISSING, MISSING_SCHEMA),
}

# Everything that a run makes, but the digests.
RESULTS = [
    *TRAINED,
    *SUITE_RESULTS,
    *ENVIRONMENTS,
    CONTROLS,
    "results/ledger.csv",
    *TABLES,
    *FIGURES,
    *PICTURES,
    *MISSING,
    DATAPACKAGE,
    "report/index.html",
]


rule describe_results:
    input:
        tables=list(SCHEMA_OF),
        schemas=list(SCHEMA_OF.values()),
        shared_schema=in_workflow("workflow/schemas/suites/rows.yaml"),
        library=library("posinfo.datapackage", "posinfo.schemas"),
    output:
        json=DATAPACKAGE,
        digest="results/digests/describe_results.sha256",
    log:
        "logs/describe_results.log",
    conda:
        "../../environment.yml"
    script:
        "../../scripts/describe_results.py"
