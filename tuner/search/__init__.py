"""Searches for weights over n-best lists: the problem, exact line searches, optimizers.

It imports nbest, texts and weights.
"""

DEFAULT_OPTIMIZER = "bagged"
"""The optimizer that is used by default; research/unseen.md has the measurements."""
