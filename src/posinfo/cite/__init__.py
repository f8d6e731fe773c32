"""Numbers, tables and verdicts in someone else's Markdown, kept equal to the results.

A marker in an HTML comment says what stands between it and its end; see ``docs/citing.md``.
``markers`` is the grammar, ``document`` finds markers and numbers in a text, ``results`` reads a
folder of results or a report, ``wording`` writes what is cited, ``plan`` compares. Only
``results`` opens files.
"""
