"""Runs a suite under the numerical profile: the one way to measure, for jobs and commands."""

import importlib
from collections.abc import Mapping
from typing import Any

from posinfo import numerics


def measure(
    suite: str, parameters: Mapping[str, Any], *, only: str | None = None
) -> list[dict[str, object]]:
    """Measure a suite and return its rows as flat mappings.

    Parameters
    ----------
    suite
        Its name; the module ``posinfo.suites.<name>`` holds it.
    parameters
        The suite's section of the config, with what all suites share.
    only
        The one case to measure; all of them if None.

    Raises
    ------
    KeyError
        If the suite has no case of the name ``only``.
    """
    numerics.set_environment()
    numerics.torch_with_profile()
    module = importlib.import_module(f"posinfo.suites.{suite}")
    rows = module.SUITE.run(parameters, only=only, say=lambda line: print(line, flush=True))
    return [row.record() for row in rows]
