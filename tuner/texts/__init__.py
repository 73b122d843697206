"""Prepares texts for metrics and scores them: tokens, word alignments, text steps, statistics.

It imports the ground and the executors.
"""
