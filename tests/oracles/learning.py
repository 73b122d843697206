"""Learns from lists, segment by segment, and chooses what was learnt, in plain numpy."""

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


def preferred(score, stats, penalties, segments, samples):
    """Return the first of (n, S, K) rows that is better than row 0 and hardly below the best."""
    scores = [score(row[segments].sum(axis=0)) for row in stats]
    values = [one - penalty for one, penalty in zip(scores, penalties, strict=True)]
    best = values.index(max(values))
    for row in range(1, len(values) if best else 0):
        differences = [
            score(stats[best][sample].sum(axis=0)) - score(stats[row][sample].sum(axis=0))
            for sample in samples
        ]
        is_hardly_worse = values[best] - values[row] <= np.std(differences, ddof=1)
        if values[row] > values[0] and is_hardly_worse:
            return row
    return 0


def preferred_by_others(score, stats, penalties, fold_of, samples):
    """Return for each segment the row that the segments of the other folds prefer."""

    def without(segments, fold):
        return [segment for segment in segments if fold_of[segment] != fold]

    return [
        preferred(
            score,
            stats,
            penalties,
            without(range(len(fold_of)), fold),
            [without(sample, fold) for sample in samples],
        )
        for fold in fold_of
    ]
