"""Decoders and metrics of the user's own; see docs/how-to/own-metric.md.

The decoder `command`, with formulas of its weights; functions that decode, for `portmert.tune`;
the metrics `command:` and `command+links:`.
"""
