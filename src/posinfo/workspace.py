"""Where the library that a run uses comes from."""

import os


def pass_on(source: str) -> None:
    """Let every process that this one starts import the library from ``source`` first.

    A working copy is then measured by its own code, whatever else is installed, and needs no
    installation at all in an environment that has the dependencies.
    """
    others = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([source, others] if others else [source])
