"""Real trained weights, read past the length that they were trained on; see :mod:`.plan`."""
