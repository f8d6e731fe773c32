"""What trained decoders make of longer texts, by length and method, and a table's rows."""

from posinfo.tables.data import Data, Record, Row

SUITE, REAL = "trained", "pretrained"
TASKS = ("repeat", "recall")
#: What each task asks for: the token just before, or something from the start.
PLACES = ("near", "far")
TINY = "decoder trained here"
AS_TRAINED = "as trained"
#: Names for people, in the order of figures.
ENCODINGS = {
    "rotary": "RoPE",
    "t5": "T5 bias",
    "alibi": "ALiBi",
    "none": "no positions",
    "sinusoidal": "sinusoidal",
    "learned": "learned table",
}
METHODS = {
    "none": "none",
    "pi": "interpolation",
    "ntk": "NTK-aware",
    "dynamic_ntk": "dynamic NTK",
    "abf": "ABF",
    "yarn": "YaRN",
    "yarn, no attention factor": "YaRN, frequencies alone",
}
#: Ways to read past a learned table's end.
WAYS = ("clamped", "interpolated", "untrained rows")
#: What is changed in the reading to find the cause.
INTERVENTIONS = (
    "distances clamped to L - 1", "distances clamped to L / 2", "window of L", "temperature",
)  # fmt: skip


def _of(row: Row) -> Record:
    """The columns that all records of losses have."""
    return {
        "task": row["task"],
        "loss": row["measured"],
        "lowest": row["lowest"],
        "highest": row["highest"],
    }


def _losses(data: Data, case: str, **where: object) -> list[Row]:
    return data.rows(SUITE, case, begins="loss, ", relation="within", **where)


def _whole(rows: list[Row], task: str, factor: int) -> Row:
    """The loss over the whole stretch of a length, not over a half of it."""
    found = [row for row in rows if (row["task"], row["factor"]) == (task, factor)]
    return max(found, key=lambda row: row["position_to"] - row["position_from"])


def loss_by_length(data: Data) -> list[Record]:
    """Loss of each encoding, and of a clamped table, over stretches of positions."""
    records: list[Record] = []
    for encoding in data.config["decoder"]["encodings"]:
        rows = _losses(data, "trained length", encoding=encoding)
        if encoding == "learned":
            rows += _losses(data, "learned table past its end", reading="clamped")
        else:
            rows += _losses(data, "past the trained length", encoding=encoding)
        for task in TASKS:
            of = [row for row in rows if row["task"] == task]
            wide = {row["factor"]: _whole(of, task, row["factor"]) for row in of}
            halves = [row for row in of if row is not wide[row["factor"]]]
            records += [
                {
                    "encoding": encoding,
                    "name": ENCODINGS[encoding] + (", clamped" if encoding == "learned" else ""),
                    "position_from": row["position_from"],
                    "position_to": row["position_to"],
                    **_of(row),
                }
                for row in sorted(halves, key=lambda row: row["position_from"])
            ]
    return records


def loss_by_method(data: Data) -> list[Record]:
    """Loss of rotary decoders on repeated patterns by method and factor, as it is and tuned."""
    case = "extension methods"
    tuned = data.config["decoder"]["tuning"]["steps"]
    records: list[Record] = []
    for steps in (0, tuned):
        for method, name in METHODS.items():
            if steps and method not in data.config["decoder"]["tuning"]["methods"]:
                continue
            rows = _losses(data, case, method=method, tuned_steps=steps)
            for factor in data.config["decoder"]["factors"]:
                about = {"method": method, "name": name, "steps": steps, "factor": factor}
                records.append(about | _of(_whole(rows, "repeat", factor)))
    return records


def table_similarity(data: Data) -> list[Record]:
    """Mean cosine of a learned table's rows by their distance, before training and after."""
    rows = data.rows(
        SUITE, "rows of the learned table", begins="mean cosine of rows ", relation="within"
    )
    return [
        {
            "stage": row["stage"],
            "distance": row["distance"],
            "cosine": row["measured"],
            "lowest": row["lowest"],
            "highest": row["highest"],
        }
        for row in sorted(
            rows, key=lambda row: (row["stage"] != "before training", row["distance"])
        )
    ]


def twice_the_length(data: Data) -> list[Record]:
    """What becomes of a model trained at L when it reads 2L, tiny and real, by method."""
    return _real(data) + _tiny(data)


def _tiny(data: Data) -> list[Record]:
    factor = min(data.config["decoder"]["factors"])
    tuned = data.config["decoder"]["tuning"]["steps"]
    records: list[Record] = []

    def line(encoding: str, how: str, steps: int, rows: list[Row]) -> None:
        inside = _losses(data, "trained length", encoding=encoding)
        record: Record = {
            "model": TINY, "encoding": ENCODINGS[encoding], "how": how, "steps": steps,
        }  # fmt: skip
        for place, task in zip(PLACES, TASKS, strict=True):
            row = _whole(rows, task, factor)
            record |= _at(place, _whole(inside, task, 1)["measured"], row)
        records.append(record)

    encodings = data.config["decoder"]["encodings"]
    for encoding in encodings:
        if encoding != "learned":
            rows = _losses(data, "past the trained length", encoding=encoding)
            line(encoding, AS_TRAINED, 0, rows)
    if "learned" in encodings:
        for way in WAYS:
            line("learned", way, 0, _losses(data, "learned table past its end", reading=way))
    for method, name in METHODS.items():
        if method != "none":
            rows = _losses(data, "extension methods", method=method, tuned_steps=0)
            line("rotary", name, 0, rows)
    for method in data.config["decoder"]["tuning"]["methods"]:
        rows = _losses(data, "extension methods", method=method, tuned_steps=tuned)
        line("rotary", METHODS[method], tuned, rows)
    for name in INTERVENTIONS:
        line("rotary", name, 0, _losses(data, "cause", reading=name))
    return records


def _real(data: Data) -> list[Record]:
    settings = data.config["pretrained"]["smollm2"]
    trained = settings["trained_length"]
    twice = 2 * trained
    [text] = data.rows(
        REAL, "as trained", begins="loss of the tokens before", context=trained, position=twice
    )
    [fact] = data.rows(
        REAL, "far retrieval", begins="loss of a digit at", method="none", position=trained,
        against="",
    )  # fmt: skip
    records: list[Record] = []
    for method in _methods(data):
        [near] = data.rows(
            REAL, "extension methods", begins="loss at", method=method, position=twice, against=""
        )
        [far] = data.rows(
            REAL, "far retrieval", begins="loss of a digit at", method=method, position=twice,
            against="",
        )  # fmt: skip
        records.append(
            {
                "model": near["subject"],
                "encoding": ENCODINGS["rotary"],
                "how": AS_TRAINED if method == "none" else METHODS[method],
                "steps": 0,
                **_at("near", text["measured"], near),
                **_at("far", fact["measured"], far),
            }
        )
    return records


def _methods(data: Data) -> list[str]:
    """The methods of the readings, which may be other ones than the config of now names."""
    read = {row["method"] for row in data.rows(REAL, "along a long text")}
    return [name for name in METHODS if name in read]


def _at(place: str, inside: object, row: Row) -> Record:
    """A loss within L and at 2L, near or far, with its lowest and highest."""
    return {
        f"{place}_inside": inside,
        place: row["measured"],
        f"{place}_lowest": row["lowest"],
        f"{place}_highest": row["highest"],
    }


def real_loss_by_position(data: Data) -> list[Record]:
    """Loss of a real model along one long text, by method."""
    return [
        {
            "model": row["subject"],
            "method": row["method"],
            "name": AS_TRAINED if row["method"] == "none" else METHODS[row["method"]],
            "position_to": row["position"],
            "trained_length": data.config["pretrained"]["smollm2"]["trained_length"],
            "loss": row["measured"],
            "lowest": row["lowest"],
            "highest": row["highest"],
        }
        for method in _methods(data)
        for row in sorted(
            data.rows(REAL, "along a long text", method=method), key=lambda row: row["position"]
        )
    ]


def real_model_shifted(data: Data) -> list[Record]:
    """What a real model's predictions for a phrase become when all positions are moved."""
    records: list[Record] = []
    shifts = {row["shift"] for row in data.rows(REAL, "shifted phrases")}
    for shift in sorted(shifts):
        record: Record = {"shift": shift}
        for angles in ("float32", "float64"):
            for key, quantity in (
                ("logit", "largest difference of a logit"),
                ("divergence", "largest KL divergence"),
            ):
                [row] = data.rows(
                    REAL, "shifted phrases", begins=quantity, relation="within", shift=shift,
                    method=f"angles in {angles}",
                )  # fmt: skip
                record |= {"model": row["subject"], f"{key}_{angles}": row["measured"]}
        records.append(record)
    return records
