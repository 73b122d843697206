"""Sums what is expected under a softmax, segment by segment, in plain numpy."""

from itertools import pairwise

import numpy as np


def expected_statistics(scores, offsets, counts, stats):
    """Return the probabilities times counts, the expected statistics, the entropies."""
    shares, entropy = np.zeros(len(scores)), 0.0
    for count, (a, b) in zip(counts, pairwise(offsets), strict=True):
        logs = scores[a:b] - np.logaddexp.reduce(scores[a:b])
        shares[a:b] = count * np.exp(logs)
        entropy -= count * float(np.exp(logs) @ logs)
    return shares, shares @ stats, entropy
