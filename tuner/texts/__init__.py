"""Prepares texts for metrics and scores them: tokens, word alignments, text steps, statistics.

It imports base and the executors.
"""
