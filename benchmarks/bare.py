"""All suites, the ledger, tables, figures and the page in one Python process, in a row.

What the pipeline costs is measured against this. Run it at the top of a working copy; it writes
below the folder it is given. The marks `# %%` divide it into the cells of a notebook, which
benchmarks/pipeline.py makes of it.
"""

# %% Paths and config
import sys
from pathlib import Path

import yaml

sys.path.insert(0, "src")
SCHEMAS, TEMPLATES = Path("workflow/schemas"), "workflow/report"
OUT = Path(sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "bare")
CONFIG = yaml.safe_load(Path("config/config.yaml").read_text(encoding="utf-8"))
SUITES = list(CONFIG["suites"])

# %% Suites
from posinfo.measure import measure
from posinfo.parameters import suite_parameters
from posinfo.schemas import fields_by_name, load_yaml, table_fields
from posinfo.tidy import read_all, write, write_atomically

fields = fields_by_name(SCHEMAS / f"suites/{suite}.yaml" for suite in SUITES)
paths = [OUT / f"suites/{suite}.csv" for suite in SUITES]
for suite, path in zip(SUITES, paths, strict=True):
    write(path, measure(suite, suite_parameters(CONFIG, suite)), fields[suite])
rows, _ = read_all(paths, fields)

# %% Ledger
from posinfo.claims import load_claims
from posinfo.ledger import decide_claims

claims = load_claims(CONFIG["claims"], load_yaml(SCHEMAS / "claims.schema.yaml"))
ledger_fields = table_fields(SCHEMAS / "ledger.yaml")
write(OUT / "ledger.csv", [e.record() for e in decide_claims(claims, rows)], ledger_fields)
ledger, _ = read_all([OUT / "ledger.csv"], {"ledger": ledger_fields})

# %% Controls
from posinfo.claims import suites_under_faults, under_faults
from posinfo.controls import control

controls_schema = SCHEMAS / "controls/claim-controls.yaml"
parameters = {suite: suite_parameters(CONFIG, suite) for suite in suites_under_faults(claims)}
write(
    OUT / "claim-controls.csv",
    control(under_faults(claims), parameters),
    table_fields(controls_schema),
)

# %% Tables and figures
from posinfo.figures import THEMES, draw
from posinfo.tables import FIGURES, TABLES, Data, build_all

data = Data(rows, ledger, {key: value for key, value in CONFIG.items() if key != "claims"})
missing_fields = table_fields(SCHEMAS / "missing.yaml")
for kind, makers in (("table", TABLES), ("figure", FIGURES)):
    made, missing = build_all(makers, data, kind)
    for key, records in made.items():
        write(OUT / f"{kind}s/{key}.csv", records, table_fields(SCHEMAS / f"{kind}s/{key}.yaml"))
        if kind == "figure":
            for style in THEMES:
                picture = draw(key, records, style)
                write_atomically(OUT / f"figures/{key}.{style.name}.svg", picture)
    write(OUT / f"missing/{kind}s.csv", missing, missing_fields)

# %% Page
from posinfo.report import build, read_inputs, render

in_order = {kind: sorted(Path(SCHEMAS / kind).glob("*.yaml")) for kind in ("tables", "figures")}
inputs = read_inputs(
    suites=[str(path) for path in paths],
    suite_schemas=[str(SCHEMAS / f"suites/{suite}.yaml") for suite in SUITES],
    controls=str(OUT / "claim-controls.csv"),
    controls_schema=str(controls_schema),
    ledger=str(OUT / "ledger.csv"),
    ledger_schema=str(SCHEMAS / "ledger.yaml"),
    claims=CONFIG["claims"],
    claims_schema=str(SCHEMAS / "claims.schema.yaml"),
    tables=[str(OUT / f"tables/{path.stem}.csv") for path in in_order["tables"]],
    table_schemas=[str(path) for path in in_order["tables"]],
    figures=[str(OUT / f"figures/{path.stem}.csv") for path in in_order["figures"]],
    figure_schemas=[str(path) for path in in_order["figures"]],
    drawings=[
        str(OUT / f"figures/{path.stem}.{style.name}.svg")
        for path in in_order["figures"]
        for style in THEMES
    ],
    missing=[str(OUT / "missing/tables.csv"), str(OUT / "missing/figures.csv")],
    missing_schema=str(SCHEMAS / "missing.yaml"),
    captions=f"{TEMPLATES}/captions.yaml",
    captions_schema=str(SCHEMAS / "captions.schema.yaml"),
)
write_atomically(OUT / "index.html", render(build(inputs), TEMPLATES))
