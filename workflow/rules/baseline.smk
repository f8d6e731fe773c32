"""Comparison with what was accepted last.

Needs: everything that was measured and decided, the accepted results in baseline/results.
Makes: results/comparison.csv, a row a difference, and results/basis.json: what this run's results
rest on, from which `posinfo diff` says why values differ, now or when they are old.
"""


rule compare_baseline:
    input:
        suites=SUITE_RESULTS,
        controls=CONTROLS,
        ledger="results/ledger.csv",
        tables=TABLES,
        figures=FIGURES,
        accepted=accepted_results(),
        readings=in_workflow("baseline/pretrained/readings.csv"),
        measured=MEASURED,
        environments=MEASURED_IN,
        claims=claim_files(),
        library=library(
            "posinfo.baseline",
            "posinfo.controls",
            "posinfo.tables",
            "posinfo.measure",
            *(f"posinfo.suites.{suite}" for suite in SUITES),
        ),
        schemas=list(dict.fromkeys(SCHEMA_OF.values())),
        claims_schema=CLAIMS_SCHEMA,
        schema=COMPARISON_SCHEMA,
    output:
        csv=COMPARISON,
        basis=BASIS,
        digest="results/digests/compare_baseline.sha256",
    log:
        "logs/compare_baseline.log",
    conda:
        "../../environment.yml"
    params:
        baseline=folder_of_accepted,
        schemas=folder_of_schemas,
        source=folder_of_library,
        config=config,
        packages=packages_of_suites,
    script:
        "../../scripts/compare_baseline.py"
