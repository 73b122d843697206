"""Settings of all tests."""

from hypothesis import settings

# The first call of a kernel compiles it, so that no example can be held to a time.
settings.register_profile("portmert", deadline=None, print_blob=True)
settings.load_profile("portmert")
