"""Evaluates tuned systems and metrics: comparisons and papers' tables.

People's scores are in extensions/people and extensions/metaeval. It imports runs and all packages
below it.
"""
