"""Settings of all tests."""

import os
import tempfile

from hypothesis import settings

# Headers of tuned configurations have a date; runs that are compared must have the same.
os.environ["SOURCE_DATE_EPOCH"] = "1340000000"

# No test may find, or leave, anything in the user's own cache.
_CACHE = tempfile.TemporaryDirectory(prefix="portmert-cache-")
os.environ["PORTMERT_CACHE"] = _CACHE.name

# The first call of a kernel compiles it, so that no example can be held to a time.
settings.register_profile("portmert", deadline=None, print_blob=True)
settings.load_profile("portmert")
