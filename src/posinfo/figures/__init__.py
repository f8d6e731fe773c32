"""The figures of the report, each drawn from its CSV alone, for a light and a dark page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from posinfo.figures import findings, models, plots, trained
from posinfo.figures.detection import detection_matrix
from posinfo.figures.mechanism import mechanism
from posinfo.figures.style import SCALE, THEMES, TITLE, Style, canvas, drawing, svg

__all__ = ["FIGURES", "FINDINGS", "THEMES", "draw"]

Drawer = Callable[[Sequence[Mapping[str, Any]], Style], Figure]

#: The figures of the report, by key.
FIGURES: dict[str, Drawer] = {
    "mechanism": mechanism,
    "angles-by-position": plots.angles_by_position,
    "shift-error": plots.shift_error,
    "frequency-ratios": plots.frequency_ratios,
    "angle-error-by-dtype": plots.angle_error_by_dtype,
    "cosine-decay": plots.cosine_decay,
    "coverage": plots.coverage,
    "permutation-error": plots.permutation_error,
    "loss-by-length": trained.loss_by_length,
    "loss-by-method": trained.loss_by_method,
    "table-similarity": trained.table_similarity,
    "real-loss-by-position": trained.real_loss_by_position,
    "wavelengths-of-models": models.wavelengths_of_models,
    "detection-matrix": detection_matrix,
}

#: The small figures beside the findings of the first screen, by key.
FINDINGS: dict[str, Drawer] = {
    "finding-doubled-context": findings.doubled_context,
    "finding-lessons-own-checks": findings.lessons_own_checks,
    "finding-change-of-base": findings.change_of_base,
    "finding-float32-limit": findings.float32_limit,
    "finding-causal-mask": findings.causal_mask,
    "finding-untrained-rows": findings.untrained_rows,
}


def draw(key: str, records: Sequence[Mapping[str, Any]], style: Style) -> bytes:
    """A figure as SVG, or a plain placeholder if it has no data.

    Parameters
    ----------
    key
        A key of :data:`FIGURES` or :data:`FINDINGS`.
    records
        The records of ``results/figures/<key>.csv``.
    style
        One of :data:`THEMES`.
    """
    with drawing(style):
        drawer = (FIGURES | FINDINGS)[key]
        figure = drawer(records, style) if records else _placeholder(key, style)
        return svg(figure, 1.0 if key in FINDINGS else SCALE)


def _placeholder(key: str, style: Style) -> Figure:
    """A figure that says that it could not be drawn, and where the reason stands."""
    figure = canvas(110)
    figure.text(0.5, 0.68, "Not drawn: its rows are missing", ha="center", fontsize=TITLE,
                color=style.colours[1], weight="bold")  # fmt: skip
    figure.text(0.5, 0.4, f"results/figures/{key}.csv has no rows.", ha="center")
    figure.text(0.5, 0.2, "Why: results/missing/figures.csv", ha="center", color=style.muted)
    return figure
