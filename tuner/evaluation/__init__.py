"""Judges what was tuned: comparisons, histories, human scores, meta-evaluation, the tables of papers.

It imports runs and all rooms below it.
"""
