"""Tables of the report and data of its figures, from rows, ledger and config alone.

Each function takes :class:`Data` and returns the records of one CSV; its key is the name of
the CSV and of its schema under ``workflow/schemas/tables`` or ``workflow/schemas/figures``.
"""

from collections.abc import Callable, Mapping

from posinfo.captions import FINDING
from posinfo.tables import (
    controls,
    evidence,
    exercises,
    extension,
    figures,
    findings,
    implementations,
    judgement,
    lessons,
    models,
    peers,
    sources,
    trained,
)
from posinfo.tables.data import Data, MissingRows, Record

__all__ = ["FIGURES", "FINDING", "FINDINGS", "TABLES", "Data", "MissingRows", "build", "build_all"]

Maker = Callable[[Data], list[Record]]

#: The tables of the report, by key.
TABLES: dict[str, Maker] = {
    "symbols": lessons.symbols,
    "learned-shapes": lessons.learned_shapes,
    "rotary-shapes": lessons.rotary_shapes,
    "learned-properties": lessons.learned_properties,
    "rotary-properties": lessons.rotary_properties,
    "comparison": lessons.comparison,
    "theta-angles": lessons.theta_angles,
    "offset-test": lessons.offset_test,
    "past-the-table": lessons.past_the_table,
    "exercise": lessons.exercise,
    "norm-preservation": lessons.norm_preservation,
    "rescaling": extension.rescaling,
    "never-trained": extension.never_trained,
    "turns-of-models": models.turns_of_models,
    "twice-the-length": trained.twice_the_length,
    "real-model-shifted": trained.real_model_shifted,
    "peers": peers.peers,
    "agreement": models.agreement,
    "implementations": implementations.implementations,
    "judgement": judgement.judgement,
    "exercises": exercises.exercises,
    "sources": sources.sources,
    "detection": controls.detection,
    "sensitivity": controls.sensitivity,
    "random-faults": controls.random_faults,
    "evidence": evidence.evidence,
}

#: The data of the figures, by key.
FIGURES: dict[str, Maker] = {
    "mechanism": figures.mechanism,
    "angles-by-position": figures.angles_by_position,
    "shift-error": figures.shift_error,
    "frequency-ratios": figures.frequency_ratios,
    "angle-error-by-dtype": figures.angle_error_by_dtype,
    "cosine-decay": figures.cosine_decay,
    "coverage": figures.coverage,
    "permutation-error": figures.permutation_error,
    "loss-by-length": trained.loss_by_length,
    "loss-by-method": trained.loss_by_method,
    "table-similarity": trained.table_similarity,
    "real-loss-by-position": trained.real_loss_by_position,
    "wavelengths-of-models": models.wavelengths_of_models,
    "detection-matrix": controls.detection_matrix,
}

#: The data of the small figures beside the findings of the first screen, by key.
FINDINGS: dict[str, Maker] = {
    f"{FINDING}doubled-context": findings.doubled_context,
    f"{FINDING}lessons-own-checks": findings.lessons_own_checks,
    f"{FINDING}change-of-base": findings.change_of_base,
    f"{FINDING}float32-limit": findings.float32_limit,
    f"{FINDING}causal-mask": findings.causal_mask,
    f"{FINDING}untrained-rows": findings.untrained_rows,
}


def build(maker: Maker, data: Data) -> tuple[list[Record], str]:
    """A table's records and nothing, or no records and why there are none."""
    try:
        return maker(data), ""
    except MissingRows as error:
        return [], str(error)


def build_all(
    makers: Mapping[str, Maker], data: Data, kind: str
) -> tuple[dict[str, list[Record]], list[Record]]:
    """All tables, or the data of all figures, by key, and a record for each that is missing."""
    made, missing = {}, []
    for key, maker in makers.items():
        made[key], reason = build(maker, data)
        if reason:
            missing.append({"kind": kind, "key": key, "reason": reason})
    return made, missing
