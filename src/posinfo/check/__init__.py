"""``posinfo check``: the rotary battery on a reader's own function, in a process of its own.

``process`` starts ``child``, which alone imports torch and the reader's file, and turns whatever
comes back, or does not, into a ``result``; ``show`` and ``page`` lay it out.
"""
