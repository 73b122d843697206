"""Slow twins of the search kernels, written from the definitions, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise


def best_line(slopes, intercepts, step):
    """The highest line at a step; of equal ones the first."""
    values = [Fraction(a) * step + Fraction(b) for a, b in zip(slopes, intercepts, strict=True)]
    return values.index(max(values))


def upper_envelope(slopes, intercepts, low, high):
    """[(winner, first step)] in a window: who is highest between any two crossings."""
    low, high = Fraction(low), Fraction(high)
    crossings = {
        Fraction(b2 - b1) / Fraction(a1 - a2)
        for (a1, b1), (a2, b2) in combinations(zip(slopes, intercepts, strict=True), 2)
        if a1 != a2
    }
    ends = sorted({low, high, *(step for step in crossings if low < step < high)})
    envelope = []
    for left, right in pairwise(ends):
        winner = best_line(slopes, intercepts, (left + right) / 2)
        if not envelope or envelope[-1][0] != winner:
            envelope.append((winner, left))
    return envelope


def line_surface(features, offsets, weights, direction, stats, score, low, high):
    """[(left end, right end, score)] along a line, each interval rescored from scratch."""
    exact = [Fraction(float(w)) for w in weights]
    change = [Fraction(float(d)) for d in direction]
    ends = {Fraction(low), Fraction(high)}
    for start, stop in pairwise(offsets):
        lines = [
            (
                sum(d * Fraction(float(f)) for d, f in zip(change, row, strict=True)),
                sum(w * Fraction(float(f)) for w, f in zip(exact, row, strict=True)),
            )
            for row in features[start:stop]
        ]
        for (a1, b1), (a2, b2) in combinations(lines, 2):
            if a1 != a2 and low < (b2 - b1) / (a1 - a2) < high:
                ends.add((b2 - b1) / (a1 - a2))
    rising = sorted(ends)
    surface = []
    for left, right in pairwise(rising):
        middle = (left + right) / 2
        there = [w + middle * d for w, d in zip(exact, change, strict=True)]
        total = sum(stats[h] for h in winners(features, offsets, there))
        surface.append((left, right, score(total)))
    return surface


def winners(features, offsets, weights):
    """The best hypothesis of each segment; of equal ones the first. `features`: H lists of F."""
    best = []
    for start, stop in pairwise(offsets):
        scores = [
            sum(Fraction(w) * Fraction(float(f)) for w, f in zip(weights, row, strict=True))
            for row in features[start:stop]
        ]
        best.append(start + scores.index(max(scores)))
    return best
