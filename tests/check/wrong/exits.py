"""Ends the program."""

import sys


def rotate(x, positions, base=10000.0):
    sys.exit("done")
