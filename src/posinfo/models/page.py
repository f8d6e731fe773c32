"""A model as one HTML file, in the style of the report."""

import json

from posinfo.check.show import plain
from posinfo.models import extend, families, show, table
from posinfo.models.model import WARNING, Model, Rope
from posinfo.report.model import Mark
from posinfo.report.page import render_template

TEMPLATE = "model.html.j2"

#: How a finding looks: the shapes and colours are the report's.
LOOKS = {
    WARNING: Mark("conditional", "warning", "something to look at"),
    "note": Mark("read", "note", "something to know"),
}
#: How the last column of the table of pairs looks.
INSIDE = Mark("verified", "inside", "within the angles of training")
OUTSIDE = Mark("refuted", "outside", "past the angles of training")


def page(model: Model, templates: str, version: str) -> str:
    """The model as HTML: one file, no scripts, no requests.

    Parameters
    ----------
    model
        What was read; the template escapes all of it.
    templates
        The folder of the report's templates.
    version
        Version of this library.
    """
    return render_template(
        templates,
        TEMPLATE,
        title=plain(model.name),
        file=plain(model.file),
        counted=_counted(model),
        findings=[
            {"mark": LOOKS[one.level], "code": one.code, "text": plain(one.text)}
            for one in model.findings
        ],
        facts=[(name, plain(text)) for name, text in show.facts(model)],
        ropes=[_rope(model, rope, number) for number, rope in enumerate(model.rope)],
        slopes=[
            (str(row["head"]), show.number(row["slope"]), show.number(row["distance_of_one"]),
             show.number(row["bias"]))
            for row in (table.slopes(model) if model.positions == families.ALIBI else [])
        ],
        good=not model.warnings,
        version=version,
    )  # fmt: skip


def _counted(model: Model) -> str:
    parts = []
    for number, word in ((len(model.warnings), "warning"), (len(model.notes), "note")):
        parts.append(f"{number or 'no'} {word}{'' if number == 1 else 's'}")
    return ", ".join(parts)


def _rope(model: Model, rope: Rope, number: int) -> dict[str, object]:
    rows = table.pair_rows(model, rope)
    found = extend.extensions(rope) if table.extends(rope) else []
    return {
        "id": f"rope-{number}",
        "title": show.title(rope),
        "facts": [(name, plain(text)) for name, text in
                  [*show.rope_facts(rope), *show.measured(rope)]],
        "pairs": [
            (cells[:5], INSIDE if row["inside"] else OUTSIDE, cells[6])
            for cells, row in zip(show.pair_cells(rows), rows, strict=True)
        ],
        "trained": rope.trained,
        "stated": rope.stated,
        "methods": show.method_cells(found),
        "blocks": [
            {
                "name": f"{one.name}, {one.factor} times",
                "text": json.dumps(
                    {
                        "max_position_embeddings": one.stated,
                        "rope_parameters": show.pasted(rope, one),
                    },
                    indent=2,
                ),
            }
            for one in found
            if one.method != "none"
        ],
    }  # fmt: skip
