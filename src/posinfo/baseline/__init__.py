"""What was last accepted, and how results differ from it: see baseline/README.md.

:func:`compare` finds what differs between two folders of results, :func:`judge` says whether it was
promised not to, and why it can be there.
"""

from posinfo.baseline.comparing import Change, Comparison, compare
from posinfo.baseline.judging import Judged, judge

__all__ = ["Change", "Comparison", "Judged", "compare", "judge"]
