"""Searches weights over n-best lists: the problem, exact lines, optimizers.

It imports nbest, texts and weights.
"""
