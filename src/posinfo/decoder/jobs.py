"""The two kinds of training jobs: a decoder from nothing, and one tuned at longer contexts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from posinfo.decoder.model import draw
from posinfo.decoder.settings import Settings, extended, language, sizes
from posinfo.decoder.tasks import TASKS
from posinfo.decoder.training import Course, train

#: Steps from one line of a job's log, and of its CSV, to the next.
EVERY = 20

Trained = tuple[dict[str, Tensor], list[dict[str, Any]]]


def from_nothing(encoding: str, settings: Settings, say: Callable[[str], None]) -> Trained:
    """Train the decoders of one encoding, all seeds together, at the trained length.

    Parameters
    ----------
    encoding
        One of :data:`posinfo.decoder.model.ENCODINGS`.
    settings
        The config's section ``decoder``.
    say
        Takes a line of progress.

    Returns
    -------
    tuple
        The weights, and records of the loss by step and seed.
    """
    seeds = settings["seeds"]
    start = draw(encoding, sizes(settings), seeds, settings["deviation"])
    told = settings["training"]
    course = Course(**{**told, "texts": tuple(told["texts"])})
    weights, history = train(
        encoding, sizes(settings), language(settings), start, course, seeds,
        length=settings["trained_length"], say=_progress(encoding, told, say),
    )  # fmt: skip
    return weights, _thinned(history, 1)


def tuned(
    method: str, start: Mapping[str, Tensor], settings: Settings, say: Callable[[str], None]
) -> Trained:
    """Go on training rotary decoders at each longer context, read by one method.

    Parameters
    ----------
    method
        A key of :data:`posinfo.scaling.METHODS`.
    start
        The trained weights; those of every factor begin from them.
    settings
        The config's section ``decoder``.
    say
        Takes a line of progress.

    Returns
    -------
    tuple
        Weights of all factors, their names behind ``<factor>/``, and records of the loss.
    """
    tuning = settings["tuning"]
    weights: dict[str, Tensor] = {}
    records: list[dict[str, Any]] = []
    for factor in settings["factors"]:
        # As many tokens a step at each factor.
        course = Course(
            steps=tuning["steps"], warmup=tuning["warmup"], learning_rate=tuning["learning_rate"],
            texts=tuple(max(1, texts // factor) for texts in tuning["texts"]),
        )  # fmt: skip
        longer = (factor - 1) * settings["trained_length"]
        # Patterns begin anywhere that leaves them as many places as at L: tuned on early ones
        # alone, a decoder would be read past what it saw in content, and not only in length.
        told = language(settings)
        told = replace(told, prefix=told.prefix + longer)
        name = f"rotary, {method}, factor {factor}"
        found, history = train(
            "rotary", sizes(settings), told, start, course, settings["seeds"],
            length=settings["trained_length"] + longer,
            reading=extended(settings, method, factor), say=_progress(name, tuning, say),
        )  # fmt: skip
        weights |= {f"{factor}/{part}": value for part, value in found.items()}
        records += _thinned(history, factor)
    return weights, records


def _progress(
    name: str, course: Mapping[str, Any], say: Callable[[str], None]
) -> Callable[[int, Tensor], None]:
    def at(step: int, loss: Tensor) -> None:
        if step % EVERY == 0 or step == course["steps"]:
            means = ", ".join(
                f"{task} {value:.3f}" for task, value in zip(TASKS, loss.mean(0), strict=True)
            )
            say(f"{name}: step {step} of at most {course['steps']}, nats above the best: {means}")

    return at


def _thinned(history: Sequence[Mapping[str, Any]], factor: int) -> list[dict[str, Any]]:
    last = history[-1]["step"] if history else 0
    return [
        {"factor": factor, **record}
        for record in history
        if record["step"] % EVERY == 0 or record["step"] in (1, last)
    ]
