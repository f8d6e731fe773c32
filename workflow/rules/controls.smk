"""Negative controls: each claim that names a fault, decided anew with the fault in place.

Needs: the claims, the config, the library with its faults, torch.
Makes: results/controls/claim-controls.csv, a row a claim, which asserts that it is undecided, and
results/environments/claim-controls.json, which says in what environment.
"""


# One job for all: claims share cases, and a fault is put in place once. It is the longest, so it
# begins first.
rule control_claims:
    input:
        library=controls_library,
        schemas=[
            in_workflow("workflow/schemas/suites/rows.yaml"),
            CONTROLS_SCHEMA,
        ],
    output:
        csv=CONTROLS,
        environment="results/environments/claim-controls.json",
        digest="results/digests/control_claims.sha256",
    log:
        "logs/control_claims.log",
    benchmark:
        "logs/benchmarks/control_claims.tsv"
    priority: 1
    conda:
        "../../environment.yml"
    threads: 1
    params:
        claims=controls_request,
        parameters=controls_parameters,
    script:
        "../../scripts/control_claims.py"
