"""Learns from lists, segment by segment, in plain numpy: minimum risk and MIRA."""

from itertools import pairwise

import numpy as np


def expected_statistics(scores, offsets, stats):
    """Return the probabilities, the expected statistics, the entropies."""
    shares, entropy = np.zeros(len(scores)), 0.0
    for a, b in pairwise(offsets):
        logs = scores[a:b] - np.logaddexp.reduce(scores[a:b])
        shares[a:b] = np.exp(logs)
        entropy -= float(shares[a:b] @ logs)
    return shares, shares @ stats, entropy


def mira(lists, worth, numbers, *, lower, upper, c):
    """Return the numbers after each list in turn, and the hopes; -1 where fear is as good.

    The lists are (n, X) arrays; worth has one (n,) array for each.
    """
    ways, hopes = [], []
    for features, gains in zip(lists, worth, strict=True):
        scores = features @ numbers
        hope, fear = np.argmax(scores + gains), np.argmax(scores - gains)
        gain = gains[hope] - gains[fear]
        change = features[hope] - features[fear]
        loss = gain - change @ numbers
        if gain > 0 and loss > 0 and change.any():
            step = min(c, loss / (change @ change))
            numbers = np.clip(numbers + step * change, lower, upper)
        ways.append(numbers)
        hopes.append(hope if gain > 0 else -1)
    return ways, hopes
