"""Real models: from a configuration to its angles, what is odd about it, and how to extend it.

:mod:`~posinfo.models.files` reads a ``config.json``, a folder with one, or a GGUF file's header.
:mod:`~posinfo.models.configuration` says in one form what the many forms of such files say, and
:mod:`~posinfo.models.findings` what is wrong with them. :mod:`~posinfo.models.table` works out
the angles, by the plain floats of :mod:`~posinfo.models.frequencies`.

Nothing here imports torch or numpy: a configuration is read in less time than they need to start.
"""
