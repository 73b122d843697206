"""Search for weights over n-best lists: the problem, exact lines, optimizers.

It imports nbest, texts and weights.
"""

DEFAULT_OPTIMIZER = "bagged"
"""What searches where nothing is said: docs/explanation/unseen.md has the measurements."""
