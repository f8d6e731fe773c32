"""The lessons' exercises, with answers whose values are read from rows."""

from posinfo.numbers_text import at_most, significant
from posinfo.tables.data import Data, Record
from posinfo.tables.lessons import Property, decided


def exercises(data: Data) -> list[Record]:
    """Each part of each answer, once for every claim that decides it."""
    return [
        *_relative_position(data),
        *_parameters(data),
        *_longer(data),
        *_frequencies(data),
        *_shapes(data),
    ]


def _answered(
    data: Data, lesson: str, exercise: str, question: str, part: str, answer: str,
    value: float | None, covers: tuple[str, ...],
) -> list[Record]:  # fmt: skip
    return [
        {
            "lesson": lesson,
            "exercise": exercise,
            "question": question,
            "part": record["property"],
            "answer": record["detail"],
            "value": value,
            "claim": record["claim"],
            "decides": record["decides"],
            "verdict": record["verdict"],
        }
        for record in decided(data, Property(part, answer, covers))
    ]


def _relative_position(data: Data) -> list[Record]:
    """Lesson A's exercise: at the lesson's own head size, at wider ones, and what it shows."""
    settings = data.of_suite("offsets")
    shift, pairs = settings["exercise_shift"], settings["exercise_pairs"]
    own = data.config["lesson_a"]["head_dim"]
    at = " and at ".join(f"({i}, {j})" for i, j in pairs)
    question = (
        f"One vector is query and key, at {at}. Do its scores change when both positions move "
        f"by {shift}?"
    )
    rows = {
        (dim, i, j): data.row(
            "offsets", "exercise",
            quantity=f"score at ({i + shift}, {j + shift}) against ({i}, {j}), d={dim}",
        )
        for dim in settings["head_dims"]
        for i, j in pairs
    }  # fmt: skip
    records = []
    for (i, j), covers in zip(pairs, (("A35",), ("A36",)), strict=True):
        row = rows[own, i, j]
        answer = (
            f"no more than rounding: {significant(row['reference'])} before the move, "
            f"{significant(row['measured'])} after it"
        )
        part = f"({i}, {j}) and ({i + shift}, {j + shift})"
        records += _answered(data, "A", "", question, part, answer, row["error"], covers)
    wider = [row for (dim, *_), row in rows.items() if dim != own]
    if wider:
        sizes = " and ".join(str(dim) for dim in settings["head_dims"] if dim != own)
        worst = max(wider, key=lambda row: row["error"])
        answer = f"no more than rounding: by {at_most(worst['error'], 2)} at most"
        records += _answered(
            data, "A", "", question, f"heads of {sizes}", answer, worst["error"], ("A37",)
        )
    return records + _answered(
        data, "A", "", question, "what that demonstrates", "see the claim", None, ("A38",)
    )


def _parameters(data: Data) -> list[Record]:
    size = data.of_suite("shapes")["exercise_max_position"]
    width = data.config["lesson_b"]["width"]
    question = f"How many parameters does position cost, for {size} positions and width {width}?"
    records = []
    for part, of in (("learned", "the learned table, the exercise"), ("RoPE", "RoPE")):
        count = data.row("shapes", "parameters", quantity=f"parameters of {of}")["measured"]
        records += _answered(
            data, "B", "1", question, part, significant(count), count, ("B65",)
        )  # fmt: skip
    return records


def _longer(data: Data) -> list[Record]:
    """Lesson B's second exercise: a model, every look-up, the formula and a fixed layout."""
    size = data.of_suite("shapes")["exercise_max_position"]
    length = max(
        row["length"] for row in data.rows("lookup", "whole sequence", table_rows=size)
    )  # fmt: skip
    question = f"A model made for {size} positions is given {length}: what does each method do?"
    asked = {"table_rows": size, "length": length}
    decoder = data.row("lookup", "prompt past the table", relation="raises", **asked)
    calls: dict[str, list[str]] = {}
    for row in data.rows("lookup", "whole sequence", **asked):
        calls.setdefault(row["behaviour"], []).append(row["api"])
    looked_up = "; ".join(f"{behaviour}: {', '.join(api)}" for behaviour, api in calls.items())
    layout = data.of_suite("cache")["layout"]
    case, share = "finite layout", "attention of token"
    formula = data.row("cache", case, begins=share, method="formula")
    prompt = data.row("cache", case, method="prompt", length=layout["length"])
    step = data.row("cache", case, begins=share, method="step")
    later = f"tokens from {layout['max_length'] + 1} on get {{}} of the last one's attention"
    answers = (
        ("learned, a decoder", decoder["measured_text"], None, ("B66",)),
        ("learned, by call", looked_up, None, ("B66",)),
        (
            "RoPE, by formula",
            f"it runs: {later.format(significant(formula['measured']))}, as they should",
            formula["measured"],
            ("B67",),
        ),
        ("RoPE, fixed layout, at once", prompt["measured_text"], None, ("B67",)),
        (
            "RoPE, fixed layout, token by token",
            f"it answers, wrongly: {later.format(significant(step['measured']))}",
            step["measured"],
            ("B67",),
        ),
    )
    return [
        record
        for part, answer, value, covers in answers
        for record in _answered(data, "B", "2", question, part, answer, value, covers)
    ]


def _frequencies(data: Data) -> list[Record]:
    dim = data.config["lesson_b"]["head_dim"]
    position = data.of_suite("angles")["lesson_positions"][0]
    question = (
        f"Which frequencies has a head of {dim}, and by what angle does position {position} turn "
        "its first pair?"
    )
    records = []
    for pair in range(dim // 2):
        theta = data.row("angles", "lesson table", quantity=f"theta of pair {pair}")["measured"]
        records += _answered(
            data, "B", "3", question, f"θ of pair {pair}", f"{theta:.4g}", theta, ("B68",)
        )
    angle = data.row(
        "angles", "lesson table", quantity=f"angle of pair 0 at position {position}"
    )["measured"]  # fmt: skip
    return records + _answered(
        data, "B", "3", question, f"angle of pair 0 at {position}", f"{angle:.4g} rad", angle,
        ("B68",),
    )  # fmt: skip


def _shapes(data: Data) -> list[Record]:
    case = "rotary path, lesson B"
    question = "Which shapes have Q, K and V after the rotation, and does V change?"
    records = []
    for part, quantity in (
        ("Q", "shape of Q after RoPE"),
        ("K", "shape of K after RoPE"),
        ("V, as attention returns it", "shape of the attention's output, V unrotated"),
    ):
        shape = data.row("shapes", case, quantity=quantity)["measured_text"]
        records += _answered(data, "B", "4", question, part, shape, None, ("B69",))
    quantity = "largest change of V by the rotation and the attention"
    change = data.row("shapes", case, quantity=quantity)["measured"]
    answer = "V is what it was, bit for bit" if change == 0 else f"V changes by {change:.2g}"
    return records + _answered(data, "B", "4", question, "V itself", answer, change, ("B69",))
