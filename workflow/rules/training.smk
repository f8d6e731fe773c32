"""Training: small decoders, one job an encoding, and one a method that extends the context.

Needs: the config's section decoder, the library, torch.
Makes: results/trained/<encoding>.safetensors and rotary-<method>.safetensors, a CSV of the loss by
step beside each, and the digest of both. The suite trained reads the weights, and trains nothing.
"""

ENCODINGS = config["decoder"]["encodings"]
TUNED = config["decoder"]["tuning"]["methods"]
TRAINED = [
    path
    for weights in weight_files(config).values()
    for path in (weights, weights.replace(".safetensors", ".csv"))
]


wildcard_constraints:
    encoding="|".join(ENCODINGS),
    method="|".join(TUNED),


rule train_decoder:
    input:
        library=library("posinfo.decoder.jobs", "posinfo.decoder.process"),
        schema=TRAINING_SCHEMA,
    output:
        weights="results/trained/{encoding}.safetensors",
        csv="results/trained/{encoding}.csv",
        digest="results/digests/train_decoder_{encoding}.sha256",
    log:
        "logs/train_decoder/{encoding}.log",
    benchmark:
        "logs/benchmarks/train_decoder_{encoding}.tsv"
    # What takes longest begins first.
    priority: 2
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=settings_of_training,
    script:
        "../../scripts/train_decoder.py"


rule tune_decoder:
    input:
        weights="results/trained/rotary.safetensors",
        library=library("posinfo.decoder.jobs", "posinfo.decoder.process"),
        schema=TRAINING_SCHEMA,
    output:
        weights="results/trained/rotary-{method}.safetensors",
        csv="results/trained/rotary-{method}.csv",
        digest="results/digests/tune_decoder_{method}.sha256",
    log:
        "logs/tune_decoder/{method}.log",
    benchmark:
        "logs/benchmarks/tune_decoder_{method}.tsv"
    priority: 1
    conda:
        "../../environment.yml"
    threads: 1
    params:
        settings=settings_of_tuning,
    script:
        "../../scripts/tune_decoder.py"
