"""The lessons' exercises and their answers, which the page folds until they are asked for."""

import re
from collections.abc import Mapping, Sequence

from posinfo.report.inputs import Data
from posinfo.report.model import Answer, ClaimLink, ExerciseView

#: The table of the answers: kind and key.
EXERCISES = ("table", "exercises")

#: What of a lesson's and an exercise's name an anchor holds.
_NAMED = re.compile(r"[a-z0-9]+")


def exercises(exhibits: Sequence[Data], links: Mapping[str, ClaimLink]) -> tuple[ExerciseView, ...]:
    """The lessons' exercises with their answers, from the table that holds them.

    Its records follow each other by exercise and part; one part has a record for each claim.
    """
    records = [
        record
        for data in exhibits
        if (data.kind, data.key) == EXERCISES and not data.problem
        for record in data.records
    ]
    if any(record["claim"] not in links for record in records):
        return ()
    found: dict[tuple[str, str, str], dict[tuple[str, str], list[ClaimLink]]] = {}
    for record in records:
        parts = found.setdefault((record["lesson"], record["exercise"], record["question"]), {})
        part = parts.setdefault((record["part"], record["answer"]), [])
        part.append(links[record["claim"]])
    return tuple(
        ExerciseView(
            anchor="-".join(["exercise", *_NAMED.findall(f"{lesson} {exercise}".lower())]),
            name=f"Lesson {lesson}, exercise{f' {exercise}' if exercise else ''}",
            question=question,
            answers=tuple(
                Answer(part, answer, tuple(decided)) for (part, answer), decided in parts.items()
            ),
        )
        for (lesson, exercise, question), parts in found.items()
    )
