"""Settings of all tests: no property is timed, for a machine may be busy."""

from hypothesis import settings

settings.register_profile("assay", deadline=None)
settings.load_profile("assay")
