"""Learns from lists, segment by segment, and chooses what was learnt, in plain numpy."""

from itertools import pairwise

import numpy as np


def expected_statistics(scores, offsets, stats):
    """Return the probabilities and the expected statistics."""
    shares = np.zeros(len(scores))
    for a, b in pairwise(offsets):
        logs = scores[a:b] - np.logaddexp.reduce(scores[a:b])
        shares[a:b] = np.exp(logs)
    return shares, shares @ stats


def mira(lists, worth, numbers, *, lower, upper, c):
    """Return the numbers after each list in turn, and the hopes; -1 where fear is as good.

    The lists are (n, X) arrays; worth has one (n,) array for each.
    """
    ways, hopes = [], []
    for features, gains in zip(lists, worth, strict=True):
        scores = np.cumsum(features * numbers, axis=1)[:, -1]  # in order: a step makes exact ties
        hope, fear = np.argmax(scores + gains), np.argmax(scores - gains)
        gain = gains[hope] - gains[fear]
        change = features[hope] - features[fear]
        loss = gain - scores[hope] + scores[fear]
        if gain > 0 and gain > scores[hope] - scores[fear] and change.any():
            step = min(c, loss / np.cumsum(change * change)[-1])
            numbers = np.clip(numbers + step * change, lower, upper)
        ways.append(numbers)
        hopes.append(hope if gain > 0 else -1)
    return ways, hopes


def believed(score, stats, penalties, *, blends, shares, segments, samples, keeps_start):
    """Return the parts of searches that some segments choose, the start's not counted.

    Rows of statistics (n, S, K) are of the start, then of each share of each blend; samples are
    lists of segments.
    """

    def value(row):
        return score(stats[row][segments].sum(axis=0)) - penalties[row]

    def error(a, b):
        return np.std(
            [score(stats[a][at].sum(axis=0)) - score(stats[b][at].sum(axis=0)) for at in samples],
            ddof=1,
        )

    whole = range(1, 1 + len(blends))
    best = max(whole, key=value)
    belief = []
    for row in whole:
        gap = value(best) - value(row)
        belief.append(np.exp(-gap / error(best, row)) if gap > 0 and error(best, row) else not gap)
    mean = sum(b * blend for b, blend in zip(belief, blends, strict=True)) / sum(belief)
    rows = range(best, len(stats), len(blends))
    top = max(rows, key=value)
    for row, share in zip(rows, shares, strict=True):
        is_left = not keeps_start or value(row) - value(0) > 1.645 * error(row, 0)
        if is_left and value(top) - value(row) <= error(top, row):
            return share * mean
    return 0 * mean
