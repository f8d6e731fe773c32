"""What the decoders that were trained here make of longer texts, from their weights alone.

The cases lie in one module a subject; they are measured in the order in which these are imported.
"""

# isort: off
from posinfo.suites.trained.suite import SUITE
from posinfo.suites.trained import lengths, table, extended, cause
# isort: on

__all__ = ["SUITE", "cause", "extended", "lengths", "table"]
