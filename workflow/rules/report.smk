"""Publication: tables and figures from the rows, and one page of all.

Needs: every suite's CSV, the controls, the ledger, the templates, captions and findings. No torch.
Makes: results/tables/<table>.csv, results/figures/<figure>.csv with a light and a dark SVG, and
report/index.html.
"""


rule make_tables:
    input:
        suites=SUITE_RESULTS,
        ledger="results/ledger.csv",
        claims=claim_files(),
        library=library("posinfo.tables"),
        suite_schemas=SUITE_SCHEMAS,
        claims_schema=CLAIMS_SCHEMA,
        ledger_schema=LEDGER_SCHEMA,
        table_schemas=files_in("workflow/schemas/tables"),
        missing_schema=MISSING_SCHEMA,
    output:
        tables=in_report(TABLES, "table"),
        missing="results/missing/tables.csv",
        digest="results/digests/make_tables.sha256",
    log:
        "logs/make_tables.log",
    conda:
        "../../environment.yml"
    params:
        config=MEASURED_CONFIG,
    script:
        "../../scripts/make_tables.py"


rule make_figures:
    input:
        suites=SUITE_RESULTS,
        library=library("posinfo.figures", "posinfo.tables"),
        suite_schemas=SUITE_SCHEMAS,
        figure_schemas=files_in("workflow/schemas/figures"),
        missing_schema=MISSING_SCHEMA,
    output:
        data=in_report(FIGURES, "figure"),
        svg=in_report(PICTURES, "figure", DRAWN_FROM),
        missing="results/missing/figures.csv",
        digest="results/digests/make_figures.sha256",
    log:
        "logs/make_figures.log",
    conda:
        "../../environment.yml"
    params:
        config=MEASURED_CONFIG,
    script:
        "../../scripts/make_figures.py"


rule render_report:
    input:
        suites=SUITE_RESULTS,
        controls=CONTROLS,
        ledger="results/ledger.csv",
        claims=claim_files(),
        tables=TABLES,
        data=FIGURES,
        svg=PICTURES,
        missing=MISSING,
        comparison=COMPARISON,
        digests=recorded,
        environments=ENVIRONMENTS,
        templates=files_in("workflow/report"),
        library=library("posinfo.report"),
        suite_schemas=SUITE_SCHEMAS,
        controls_schema=CONTROLS_SCHEMA,
        claims_schema=CLAIMS_SCHEMA,
        captions_schema=in_workflow("workflow/schemas/captions.schema.yaml"),
        findings_schema=in_workflow("workflow/schemas/findings.schema.yaml"),
        ledger_schema=LEDGER_SCHEMA,
        comparison_schema=COMPARISON_SCHEMA,
        table_schemas=files_in("workflow/schemas/tables"),
        figure_schemas=files_in("workflow/schemas/figures"),
        missing_schema=MISSING_SCHEMA,
        portability=accepted_rehearsal,
        portability_schemas=files_in("workflow/schemas/portability"),
    output:
        page=report(
            "report/index.html",
            caption="../report/page.rst",
            category="Report",
            labels={"Title": "Positional Information, Verified", "File": "index.html"},
        ),
        digest="results/digests/render_report.sha256",
    log:
        "logs/render_report.log",
    conda:
        "../../environment.yml"
    params:
        implementations=config["implementations"],
        portability=folder_of_rehearsal,
        rehearsed=state_of_rehearsal,
    script:
        "../../scripts/render_report.py"
