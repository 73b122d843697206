"""Evaluates tuned systems and metrics: comparisons, human scores, papers' tables.

It imports runs and all packages below it.
"""
