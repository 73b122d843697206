"""`make bench`: speed and memory against fixed units, never a test."""
