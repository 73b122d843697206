"""Decoders and metrics that are programs of the user's; see docs/how-to/own-metric.md.

The decoder `command`, with formulas of its weights; the metrics `command:` and `command+links:`.
"""
