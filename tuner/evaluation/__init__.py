"""Judges what was tuned: comparisons, histories, human scores, meta-evaluation, papers' tables.

It imports runs and all rooms below it.
"""
