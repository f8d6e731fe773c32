"""From the lessons' statements to a verified report: `snakemake --cores 4`.

The data flow in one direction, one file a stage under workflow/rules: training (small decoders),
suites (measured rows), controls (claims decided anew under faults), ledger (claims joined to rows),
report (tables, figures, page), baseline (what was accepted last), provenance, and the gate below,
which always runs, takes the page as an input and decides the exit status.
"""

from snakemake.utils import min_version

min_version("9.27.1")


report: "workflow/report/overview.rst"


include: "workflow/rules/common.smk"


check_readable()


configfile: in_workflow("config/config.yaml")


check_inputs()

# What tables and figures are told of the config.
MEASURED_CONFIG = {
    key: value for key, value in config.items() if key not in ("claims", "comparison")
}


include: "workflow/rules/training.smk"
include: "workflow/rules/pretrained.smk"
include: "workflow/rules/suites.smk"
include: "workflow/rules/controls.smk"
include: "workflow/rules/ledger.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/provenance.smk"
include: "workflow/rules/baseline.smk"


# The gate has no output, so it always runs; the page is among its inputs, so there is one to
# read on red runs too.
rule all:
    input:
        unpack(everything),
        suite_schemas=SUITE_SCHEMAS,
        controls_schema=CONTROLS_SCHEMA,
        ledger_schema=LEDGER_SCHEMA,
        missing_schema=MISSING_SCHEMA,
        comparison_schema=COMPARISON_SCHEMA,
        accepted=accepted_results(),
    log:
        "logs/gate.log",
    conda:
        "environment.yml"
    params:
        implementations=config["implementations"],
        baseline=folder_of_accepted,
    script:
        "scripts/gate.py"


onstart:
    clear_last_words()
    announce_trained_models()


onsuccess:
    end_with_last_words()


onerror:
    end_with_last_words(log)
