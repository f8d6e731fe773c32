"""Captions for Snakemake's own report (``snakemake --report``), which wants a file in rst for each.

Only that command needs them. They are the captions of the page, with the numbers of the CSVs.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from posinfo.captions import Caption, load
from posinfo.errors import InputError
from posinfo.schemas import table_fields
from posinfo.tidy import read

#: Where they are written: Snakemake's own folder, which nobody reads.
FOLDER = ".snakemake/captions"

#: Signs that rst reads as marks.
_MARKS = re.compile(r"([\\`*_|<>:\[\]])")


def rst(title: str, text: str) -> str:
    r"""A caption in rst, in which every sign stands for itself; for jinja, too, that reads it next.

    >>> print(rst("A_b", "50 % of {{ x }}"))
    **A\_b.** 50 % of {{ '{' }}{{ '{' }} x }}
    <BLANKLINE>
    """
    escaped = [_MARKS.sub(r"\\\1", part).replace("{", "{{ '{' }}") for part in (title, text)]
    return f"**{escaped[0]}.** {escaped[1]}\n"


def write_captions(
    captions: str | Path,
    schema: Mapping[str, Any],
    data: Mapping[str, Sequence[str]],
    schemas: str | Path,
) -> dict[str, tuple[Caption, str]]:
    """Write the caption of each table and figure as an rst file.

    Parameters
    ----------
    captions, schema
        Path of ``workflow/report/captions.yaml``, and its schema, loaded.
    data
        Paths of the CSVs by kind, ``table`` or ``figure``.
    schemas
        The folder of the schemas.

    Returns
    -------
    dict
        By the CSV's path its caption, and the path of the file.

    Raises
    ------
    InputError
        If the captions are wrong.
    """
    loaded = load(captions, schema)
    Path(FOLDER).mkdir(parents=True, exist_ok=True)
    written = {}
    for kind, paths in data.items():
        for path in paths:
            caption = loaded.get(Path(path).stem)
            if caption is None or caption.kind != kind:
                continue
            try:
                fields = table_fields(f"{schemas}/{kind}s/{caption.key}.yaml")
                text = caption.filled(read(path, fields)).caption
            except InputError as error:
                text = caption.filled([], str(error)).caption
            target = f"{FOLDER}/{kind}-{caption.key}.rst"
            Path(target).write_text(rst(caption.title, text), encoding="utf-8")
            written[path] = (caption, target)
    return written
