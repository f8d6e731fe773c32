"""The suites, one module each; each module holds its :class:`~posinfo.suites.base.Suite`."""
