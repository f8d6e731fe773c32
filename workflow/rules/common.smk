"""What the stages share: paths, checked config and claims, and the last lines on the terminal.

No rules here. Whatever is wrong with the input ends the run while this is read, before any job,
with one line and exit status 2.
"""

import atexit
import os
import shlex
import sys
from pathlib import Path

# The library of this working copy, not one that happens to be installed.
_SOURCE = os.path.join(workflow.basedir, "src")
sys.path.insert(0, _SOURCE)

from posinfo import revision, runlock
from posinfo.captions_rst import write_captions
from posinfo.catalogue import SUITES, faults
from posinfo.checks import (
    check_agreement,
    check_claims,
    check_config,
    check_implementations,
    check_presets,
    check_writable,
)
from posinfo.claims import suites_under_faults, under_faults
from posinfo.errors import InputError
from posinfo.imports import library_files
from posinfo.parameters import preset_files, suite_parameters, weight_files
from posinfo.pretrained import code, plan
from posinfo.pretrained.sources import SOURCES
from posinfo.rehearsal import run as rehearsal
from posinfo.schemas import fields_by_name, load_yaml
from posinfo.workspace import pass_on

pass_on(_SOURCE)

# Snakemake puts the interpreter into a shell command as it is: a path with a space needs quotes.
sys.executable = shlex.quote(sys.executable)

#: Where a run writes.
OUTPUT_FOLDERS = (
    *(
        f"results/{name}"
        for name in (
            "pretrained",
            "trained",
            "suites",
            "environments",
            "controls",
            "tables",
            "figures",
            "missing",
            "digests",
        )
    ),
    "report",
    "logs",
    ".snakemake",
)


def in_workflow(path):
    """A file of the workflow, relative to the working directory: absolute paths would make
    everything run again after the folder was moved."""
    return os.path.normpath(os.path.join(os.path.relpath(workflow.basedir), path))


def library(*modules):
    """The library's files that these modules import, for Snakemake does not follow imports."""
    return [in_workflow(f"src/{path}") for path in library_files(_SOURCE, modules)]


def refuse(error):
    """End the run with one line, before any job."""
    print(f"posinfo: {error}", file=sys.stderr)
    sys.exit(2)


def claim_files():
    """The claims' files: of the workflow, or else, where it has none of the name, of this folder."""
    return [
        (
            path
            if not os.path.exists(in_workflow(path)) and os.path.exists(path)
            else in_workflow(path)
        )
        for path in config["claims"]
    ]


def columns_of_suites():
    """The columns of each suite's rows, by the suite's name."""
    fields = fields_by_name(SUITE_SCHEMAS)
    return {suite: [field["name"] for field in fields[suite]] for suite in SUITES}


def check_readable():
    """Check that the config can be read, before Snakemake reads it: its own words are longer."""
    try:
        load_yaml(in_workflow("config/config.yaml"))
    except InputError as error:
        refuse(error)


def only_looks():
    """Whether this call runs no job: it may then go on beside a run that does."""
    looking = {
        "--lint",
        "--list",
        "--list-rules",
        "--list-target-rules",
        "--summary",
        "--detailed-summary",
        "--dag",
        "--rulegraph",
        "--filegraph",
        "--unlock",
        "-l",
        "-S",
        "-D",
    }
    return (
        workflow.output_settings.dryrun
        or not looking.isdisjoint(sys.argv)
        or wants_snakemakes_report()
    )


def check_inputs():
    """Check the config, the claims, and that results can be written; hold the run's lock."""
    global CLAIMS, RUN_LOCK
    try:
        check_config(
            config, config_files(), load_yaml(in_workflow("workflow/schemas/config.schema.yaml"))
        )
        check_agreement(config, config_files())
        check_implementations(config, config_files())
        check_presets(
            preset_files(config),
            load_yaml(in_workflow("workflow/schemas/preset.schema.yaml")),
            config["models"],
        )
        CLAIMS = check_claims(
            claim_files(), load_yaml(CLAIMS_SCHEMA), columns_of_suites(), faults()
        )
        check_writable(OUTPUT_FOLDERS)
        if not only_looks():
            RUN_LOCK = runlock.hold()
    except InputError as error:
        refuse(error)


def config_files():
    """Where the config comes from, the strongest last."""
    files = [
        in_workflow("config/config.yaml"),
        *map(os.path.relpath, workflow.overwrite_configfiles),
    ]
    return list(dict.fromkeys(files))


def clear_last_words():
    Path("logs/last-words.txt").unlink(missing_ok=True)


def announce_trained_models():
    """Say what the measurement on real weights costs, before it starts."""
    if "trained_models" in sys.argv:
        minutes = plan.total(config["pretrained"]) / 60
        print(
            f"trained_models: {len(PRETRAINED_JOBS)} jobs on real weights, about {minutes:.0f} "
            f"minutes of one core's time in all, so on {workflow.cores} cores about "
            f"{minutes / workflow.cores:.0f}. Stop it when you like: what is done stays done.",
            file=sys.stderr,
        )


def end_with_last_words(log=None):
    """Let the jobs' own lines be the last on the terminal, after everything of Snakemake's."""
    words = Path("logs/last-words.txt")
    text = words.read_text(encoding="utf-8") if words.exists() else ""
    if not text and log:
        logs = " and ".join(
            os.path.relpath(path) for path in ([log] if isinstance(log, str) else log)
        )
        text = f"The run ended before its jobs were done: see above, or {logs}\n"
    atexit.register(lambda: print(text, end="", file=sys.stderr, flush=True))


def files_in(folder):
    """The files of one of the workflow's folders, in the order of their names."""
    found = sorted(path.name for path in Path(in_workflow(folder)).iterdir() if path.is_file())
    return [in_workflow(f"{folder}/{name}") for name in found]


def keys_of(folder):
    """The names of the schemas in a folder: each is the key of a table or figure."""
    return [Path(path).stem for path in files_in(folder) if path.endswith(".yaml")]


def wants_snakemakes_report():
    """Whether this call makes Snakemake's own report, for which captions are written as rst."""
    return any(argument.partition("=")[0] == "--report" for argument in sys.argv)


def in_report(paths, kind, data=None):
    """Files of tables or figures, marked for Snakemake's own report: caption, category, labels.

    ``data`` holds the CSV of each file, whose caption it shares: by default the file itself.
    """
    if not wants_snakemakes_report():
        return paths
    captions = write_captions(
        in_workflow("workflow/report/captions.yaml"),
        load_yaml(in_workflow("workflow/schemas/captions.schema.yaml")),
        {kind: data or paths},
        in_workflow("workflow/schemas"),
    )
    marked = []
    for path, source in zip(paths, data or paths):
        if source in captions:
            caption, file = captions[source]
            title, lesson, file = caption.title, caption.lesson, os.path.abspath(file)
        else:
            title, lesson, file = Path(source).stem, "both", SMALL_FIGURE_CAPTION
        about = {
            "caption": file,
            "category": f"{kind.capitalize()}s",
            "subcategory": "Both lessons" if lesson == "both" else f"Lesson {lesson}",
            "labels": {"Title": title, "File": os.path.basename(path)},
        }
        # On one line: at the beginning of one the name would be read as a directive.
        marked.append(report(path, **about))
    return marked


def suite_library(wildcards):
    """What a suite's numbers depend on."""
    return library("posinfo.measure", f"posinfo.suites.{wildcards.suite}")


def files_of(wildcards):
    """Other files that a suite reads: implementations, published models, or trained weights."""
    if wildcards.suite == "trained":
        return list(weight_files(config).values())
    if wildcards.suite == "models":
        return preset_files(config)
    if wildcards.suite == "pretrained":
        return [READINGS_SCHEMA, *files_in("baseline/pretrained")]
    if wildcards.suite != "implementations":
        return []
    return list(dict.fromkeys(entry["file"] for entry in config["implementations"]))


def parameters_of(wildcards):
    """What a suite is told."""
    return suite_parameters(config, wildcards.suite)


def settings_of_training(wildcards):
    """What the training of an encoding is told: nothing of other encodings, or of later training."""
    later = ("encodings", "factors", "abf_base", "yarn", "tuning")
    return {key: value for key, value in config["decoder"].items() if key not in later}


def settings_of_tuning(wildcards):
    """What further training by a method is told: nothing of the other methods."""
    tuning = {key: value for key, value in config["decoder"]["tuning"].items() if key != "methods"}
    told = {key: value for key, value in config["decoder"].items() if key != "encodings"}
    return {**told, "tuning": tuning}


def digests_of_weights(wildcards):
    """The digests of a model's files: another file is fetched anew."""
    return dict(SOURCES[wildcards.model].files)


def weights_of_job(wildcards):
    """The weights that a job reads."""
    return f"weights/{PRETRAINED_JOBS[wildcards.job].model}/fetched.txt"


def settings_of_job(wildcards):
    """What a job on real weights is told: nothing of the other model."""
    told = config["pretrained"]
    model = PRETRAINED_JOBS[wildcards.job].model
    return {"seed": told["seed"], model: told[model]}


def controls_library(wildcards):
    """What the controls of claims depend on: the faults, and the suites that they measure."""
    return library(
        "posinfo.controls",
        "posinfo.measure",
        *(f"posinfo.suites.{suite}" for suite in suites_under_faults(CLAIMS)),
    )


def controls_request(wildcards):
    """The claims that name a fault, without their prose."""
    return under_faults(CLAIMS)


def controls_parameters(wildcards):
    """What each suite is told that controls measure."""
    return {suite: suite_parameters(config, suite) for suite in suites_under_faults(CLAIMS)}


def recorded(wildcards=None):
    """What each job recorded of what it wrote, the page's aside."""
    return [
        *expand("results/digests/train_decoder_{encoding}.sha256", encoding=ENCODINGS),
        *expand("results/digests/tune_decoder_{method}.sha256", method=TUNED),
        *expand("results/digests/measure_suite_{suite}.sha256", suite=SUITES),
        *expand(
            "results/digests/{job}.sha256",
            job=[
                "control_claims",
                "decide_ledger",
                "make_tables",
                "make_figures",
                "compare_baseline",
            ],
        ),
    ]


def accepted_readings(wildcards):
    """What a run takes from accepted results, and does not measure."""
    return files_in("baseline/pretrained")


def names_of_accepted(wildcards):
    """Their paths in a working copy, wherever a run is started."""
    return [f"baseline/pretrained/{Path(path).name}" for path in accepted_readings(wildcards)]


def accepted_results():
    """The files of the accepted results, those that git would have."""
    folder = Path(in_workflow("baseline/results"))
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [os.path.relpath(path) for path in found]


def folder_of_accepted(wildcards):
    """Where the accepted results lie, whether there are any or not."""
    return in_workflow("baseline/results")


def folder_of_schemas(wildcards):
    """Where the table schemas lie."""
    return in_workflow("workflow/schemas")


def folder_of_library(wildcards):
    """Where the library lies."""
    return in_workflow("src")


def packages_of_suites(wildcards):
    """For each suite that can do without some packages, which of them it has."""
    told = {suite: suite_parameters(config, suite) for suite in SUITES}
    return {suite: known["packages"] for suite, known in told.items() if "packages" in known}


def accepted_rehearsal(wildcards):
    """The rehearsal that was accepted: nothing where there is none."""
    folder = "baseline/portability"
    return files_in(folder) if os.path.isdir(in_workflow(folder)) else []


def folder_of_rehearsal(wildcards):
    """Where it lies; empty where there is none."""
    return os.path.dirname(next(iter(accepted_rehearsal(wildcards)), ""))


def state_of_rehearsal(wildcards):
    """What a rehearsal of now would rest on: of another code the accepted one is stale."""
    return rehearsal.state(config)


def state_of_code(wildcards):
    """Which code makes the results: its commit, as far as git knows it, and a digest."""
    return {
        **revision.of_working_copy(workflow.basedir),
        "sha256": revision.digest(workflow.basedir),
    }


def everything(wildcards=None):
    """All that a run makes, by the names under which the gate takes it."""
    return {
        "suites": SUITE_RESULTS,
        "controls": CONTROLS,
        "ledger": "results/ledger.csv",
        "missing": MISSING,
        "environments": ENVIRONMENTS,
        "results": RESULTS,
        "comparison": COMPARISON,
        "page": "report/index.html",
        "provenance": PROVENANCE,
        "digests": [
            *recorded(),
            *expand(
                "results/digests/{job}.sha256",
                job=["render_report", "describe_results", "record_provenance"],
            ),
        ],
    }


SUITE_RESULTS = expand("results/suites/{suite}.csv", suite=SUITES)
CONTROLS = "results/controls/claim-controls.csv"
# In what environment each suite, and the controls, were measured.
ENVIRONMENTS = expand("results/environments/{name}.json", name=[*SUITES, Path(CONTROLS).stem])
TABLES = expand("results/tables/{key}.csv", key=keys_of("workflow/schemas/tables"))
FIGURES = expand("results/figures/{key}.csv", key=keys_of("workflow/schemas/figures"))
PICTURES = expand(
    "results/figures/{key}.{theme}.svg",
    key=keys_of("workflow/schemas/figures"),
    theme=["light", "dark"],
)
COMPARISON = "results/comparison.csv"
BASIS = "results/basis.json"
# The CSV that each of them is drawn from.
DRAWN_FROM = [data for data in FIGURES for _ in ("light", "dark")]
SMALL_FIGURE_CAPTION = os.path.abspath(in_workflow("workflow/report/small-figure.rst"))
MISSING = ["results/missing/tables.csv", "results/missing/figures.csv"]

SUITE_SCHEMAS = [in_workflow(f"workflow/schemas/suites/{name}.yaml") for name in ("rows", *SUITES)]
CONTROLS_SCHEMA = in_workflow("workflow/schemas/controls/claim-controls.yaml")
TRAINING_SCHEMA = in_workflow("workflow/schemas/training.yaml")
COMPARISON_SCHEMA = in_workflow("workflow/schemas/comparison.yaml")
LEDGER_SCHEMA = in_workflow("workflow/schemas/ledger.yaml")
MISSING_SCHEMA = in_workflow("workflow/schemas/missing.yaml")
READINGS_SCHEMA = in_workflow("workflow/schemas/readings.yaml")
PRETRAINED_CODE = code.digest(_SOURCE)
CLAIMS_SCHEMA = in_workflow("workflow/schemas/claims.schema.yaml")
