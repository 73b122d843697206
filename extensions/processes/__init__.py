"""Processes that answer line by line and stay; see docs/how-to/own-metric.md.

The extensions `demo`, `parsers` and `programs` keep decoders, metrics and parsers running in them.
"""
