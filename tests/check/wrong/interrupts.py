"""Raises what is no Exception."""


def rotate(x, positions, base=10000.0):
    raise KeyboardInterrupt
