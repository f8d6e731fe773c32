"""Raises at every call."""


def rotate(x, positions, base=10000.0):
    raise ValueError("not [bold]today[/bold]\x1b[31m")
