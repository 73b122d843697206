"""Slow twins of minimum Bayes risk: one pair after the other, from the definition."""

from __future__ import annotations

import math
from collections import Counter

from tests.oracles.metrics import ngrams


def clipped(hypothesis, reference, n):
    """Matched n-grams of a pair of texts."""
    return sum((ngrams(hypothesis, n) & ngrams(reference, n)).values())


def truths(scores, temperature=None, size=None):
    """The probability of each hypothesis of a list."""
    best = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:size]
    raised = {i: math.exp((temperature or 0) * (scores[i] - scores[best[0]])) for i in best}
    return [raised.get(i, 0.0) / sum(raised.values()) for i in range(len(scores))]


def expected_scores(texts, probabilities, score):
    """The mean of score(hypothesis, reference) for each hypothesis of one list."""
    return [
        sum(p * score(text, reference) for reference, p in zip(texts, probabilities, strict=True))
        for text in texts
    ]


def score_of_means(texts, probabilities, stats, score):
    """The score of the mean statistics for each hypothesis of one list."""
    scores = []
    for text in texts:
        total = Counter()
        for reference, p in zip(texts, probabilities, strict=True):
            for k, value in enumerate(stats(text, reference)):
                total[k] += p * value
        scores.append(score([total[k] for k in sorted(total)]))
    return scores
