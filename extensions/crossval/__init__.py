"""Tunes on half of the segments of lists, scores the other half; see docs/how-to/crossval.md."""
