"""Settings of all tests."""

import os

from hypothesis import settings

# Headers of tuned configurations have a date; runs that are compared must have the same.
os.environ["SOURCE_DATE_EPOCH"] = "1340000000"

# The first call of a kernel compiles it, so that no example can be held to a time.
settings.register_profile("portmert", deadline=None, print_blob=True)
settings.load_profile("portmert")
