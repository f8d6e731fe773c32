"""Real trained models past their trained length, from readings that were accepted earlier."""

from posinfo.suites.pretrained import (  # noqa: F401 - they register their cases
    acceptance,
    minilm,
    smollm,
)
from posinfo.suites.pretrained.suite import SUITE

__all__ = ["SUITE"]
