"""Symbolic proofs, run on the very functions that torch runs."""
