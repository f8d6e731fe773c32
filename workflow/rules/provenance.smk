"""Description: what the results are, and where they come from.

Needs: everything that a run makes, the page too; git, if the commit is to be known.
Makes: results/datapackage.json, which says what each column of each CSV is, and
results/provenance.json: versions, processor, settings, seeds, commit, and a digest of each result.
"""

DATAPACKAGE = "results/datapackage.json"
PROVENANCE = "results/provenance.json"

# Every CSV of a run with the schema of its columns.
SCHEMA_OF = {
    **dict.fromkeys((path for path in TRAINED if path.endswith(".csv")), TRAINING_SCHEMA),
    **{
        path: in_workflow(f"workflow/schemas/suites/{Path(path).stem}.yaml")
        for path in SUITE_RESULTS
    },
    CONTROLS: CONTROLS_SCHEMA,
    "results/ledger.csv": LEDGER_SCHEMA,
    COMPARISON: COMPARISON_SCHEMA,
    **{path: in_workflow(f"workflow/schemas/tables/{Path(path).stem}.yaml") for path in TABLES},
    **{path: in_workflow(f"workflow/schemas/figures/{Path(path).stem}.yaml") for path in FIGURES},
    **dict.fromkeys(MISSING, MISSING_SCHEMA),
}

# Everything that a run makes, but what describes it and the digests.
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
    COMPARISON,
    BASIS,
    DATAPACKAGE,
    "report/index.html",
]

# What was measured or trained, and where it is written in what environment: weights say so
# themselves.
WEIGHTS = list(weight_files(config).values())
MEASURED = [*SUITE_RESULTS, CONTROLS, *WEIGHTS]
MEASURED_IN = [*ENVIRONMENTS, *WEIGHTS]


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


# The last job before the gate, and nothing rests on it. The page does not: it would otherwise be
# another one at each commit and on each processor, though what it shows is the same, and a page
# that is kept as an example, in a commit that it would have to name, could never be made again.
rule record_provenance:
    input:
        measured=MEASURED,
        environments=MEASURED_IN,
        accepted=accepted_readings,
        results=RESULTS,
        library=library("posinfo.provenance"),
    output:
        json=PROVENANCE,
        digest="results/digests/record_provenance.sha256",
    log:
        "logs/record_provenance.log",
    conda:
        "../../environment.yml"
    params:
        # Another commit records it anew, and repeats nothing else: Snakemake has found then that
        # all results are those of that commit.
        code=state_of_code,
        accepted=names_of_accepted,
        config=config,
    script:
        "../../scripts/record_provenance.py"
