"""Evaluates tuned systems and metrics: comparisons, histories, human scores, papers' tables.

It imports runs and all packages below it.
"""
