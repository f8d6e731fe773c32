"""Positional Information, Verified: checks what lessons say about positions in transformers.

The mathematics lives in :mod:`posinfo.encodings`, :mod:`posinfo.scaling`,
:mod:`posinfo.reference` and :mod:`posinfo.proofs` and does no input or output.
:mod:`posinfo.suites` measures it, :mod:`posinfo.ledger` decides the claims, and
:mod:`posinfo.report` publishes the outcome. Nothing here knows Snakemake.
"""

__version__ = "0.1.0"
