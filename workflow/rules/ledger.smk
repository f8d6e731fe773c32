"""Decision: claims joined to rows.

Needs: every suite's CSV, the claims.
Makes: results/ledger.csv, a row a claim with the recorded and the reproduced verdict.
"""


rule decide_ledger:
    input:
        suites=SUITE_RESULTS,
        claims=claim_files(),
        library=library("posinfo.ledger", "posinfo.claims"),
        suite_schemas=SUITE_SCHEMAS,
        claims_schema=CLAIMS_SCHEMA,
        ledger_schema=LEDGER_SCHEMA,
    output:
        csv=report(
            "results/ledger.csv",
            caption="../report/ledger.rst",
            category="Report",
            labels={"Title": "Verdicts", "File": "ledger.csv"},
        ),
        digest="results/digests/decide_ledger.sha256",
    log:
        "logs/decide_ledger.log",
    conda:
        "../../environment.yml"
    script:
        "../../scripts/decide_ledger.py"
