"""What the lessons say of documents, and what reading these documents showed."""

from posinfo.tables.data import Data, Record, verdict

#: The columns that stay empty where no claim rests on reading.
_TEXTS = ("lesson", "claim", "statement", "document", "revision", "place", "says")


def sources(data: Data) -> list[Record]:
    """Every claim that rests on reading, once for each place that was read for it."""
    records = []
    for claim in data.entries():
        written = data.written(claim["id"])
        if claim["kind"] != "source" or written is None:
            continue
        for source in written.sources:
            records.append(
                {
                    "lesson": claim["lesson"],
                    "claim": claim["id"],
                    "statement": claim["statement"],
                    "document": source.document,
                    "revision": source.revision,
                    "place": source.place,
                    "says": source.says,
                    "verdict": verdict(claim),
                }
            )
    return records or [dict.fromkeys(_TEXTS, "") | {"verdict": "no claim"}]
