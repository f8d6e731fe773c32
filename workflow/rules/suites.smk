"""Measurement: one job a suite, each with its section of the config alone.

Needs: the config, the library, torch.
Makes: results/suites/<suite>.csv, a row an assertion, results/environments/<suite>.json, which says
in what environment they were measured, and the digest of both.
"""


wildcard_constraints:
    suite="|".join(SUITES),


rule measure_suite:
    input:
        library=suite_library,
        files=files_of,
        schemas=[
            in_workflow("workflow/schemas/suites/rows.yaml"),
            in_workflow("workflow/schemas/suites/{suite}.yaml"),
        ],
    output:
        csv="results/suites/{suite}.csv",
        environment="results/environments/{suite}.json",
        digest="results/digests/measure_suite_{suite}.sha256",
    log:
        "logs/measure_suite/{suite}.log",
    benchmark:
        "logs/benchmarks/measure_suite_{suite}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        parameters=parameters_of,
    script:
        "../../scripts/measure_suite.py"
