"""What is measured on real weights: the jobs, each for one window, and about what each costs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Settings = Mapping[str, Any]
Record = dict[str, Any]

#: Seconds on one core of a machine of 2026: a pass over n positions costs about
#: ``LINEAR * n + SQUARE * n ** 2``, loading a model ``LOADING``.
LOADING, LINEAR, SQUARE = 12.0, 3.2e-3, 6.0e-7


@dataclass(frozen=True)
class Job:
    """A measurement of one model in one window.

    Attributes
    ----------
    model
        A key of :data:`posinfo.pretrained.sources.SOURCES`.
    measurement
        The name of the function that measures.
    window
        The window, phrase or text; None where there is no such thing.
    told
        What the function is told besides.
    passes
        Positions of each pass over the model, for the cost.
    """

    model: str
    measurement: str
    window: int | None = None
    told: Mapping[str, Any] = field(default_factory=dict)
    passes: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        """About how long it takes on one core."""
        return LOADING + sum(LINEAR * n + SQUARE * n**2 for n in self.passes)


def jobs(settings: Settings) -> dict[str, Job]:
    """All jobs by name, the long ones first.

    Parameters
    ----------
    settings
        The config's section ``pretrained``.
    """
    found = _smollm2(settings["smollm2"]) if "smollm2" in settings else {}
    if "minilm" in settings:
        found |= _minilm()
    return dict(sorted(found.items(), key=lambda item: -item[1].seconds))


def _smollm2(own: Settings) -> dict[str, Job]:
    trained, lengths = own["trained_length"], own["lengths"]
    short = [length for length in lengths if length <= trained]
    beyond = [length for length in lengths if length > trained]
    found: dict[str, Job] = {}
    for window in range(own["windows"]):
        for method in own["methods"]:
            name = method.replace(", ", "-").replace(" ", "-")
            # Frequencies that follow the length need a pass for each of them.
            for length in beyond if method == "dynamic_ntk" else beyond[-1:]:
                found[f"smollm2-long-{name}-{length}-{window}"] = Job(
                    "smollm2", "long", window, {"method": method, "length": length}, (length,)
                )
        found[f"smollm2-lengths-{window}"] = Job(
            "smollm2", "at_lengths", window, passes=(*short, *short)
        )
        found[f"smollm2-layouts-{window}"] = Job(
            "smollm2", "layouts", window, passes=(*short, *[short[0]] * 4)
        )
        for name, told in own["caches"].items():
            total = told["prefill"] + own["piece"] * own["pieces"]
            found[f"smollm2-cache-{name}-{window}"] = Job(
                "smollm2", "cached", window, told, (total, total)
            )
    for phrase in range(len(own["phrases"])):
        found[f"smollm2-shifts-{phrase}"] = Job("smollm2", "shifts", phrase)
    return found


def _minilm() -> dict[str, Job]:
    return {
        "minilm-table": Job("minilm", "table_rows"),
        "minilm-overflow": Job("minilm", "overflow"),
        "minilm-texts": Job("minilm", "longer_texts", passes=(512,) * 4),
    }


def named(name: str, settings: Settings) -> Job:
    """The job of a name, from the settings of its model alone."""
    return jobs(settings)[name]


def total(settings: Settings) -> float:
    """About how many seconds of one core everything takes."""
    return sum(job.seconds for job in jobs(settings).values())


def run(
    job: Job, folder: str | Path, settings: Settings, say: Callable[[str], None]
) -> Iterator[Record]:
    """Measure: load the model from its folder, and give the records of the job one by one.

    On one thread, so that jobs side by side do not disturb each other.
    """
    import torch

    from posinfo.pretrained import minilm, smollm

    torch.set_num_threads(1)

    module = {"smollm2": smollm, "minilm": minilm}[job.model]
    loaded = module.load(folder)
    measure = getattr(module, job.measurement)
    own = {**settings[job.model], "seed": settings["seed"]}
    given = () if job.window is None else (job.window,)
    for record in measure(loaded, own, *given, say, **job.told):
        yield {"model": job.model, **record}
