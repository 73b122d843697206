"""Slow twins of the DPM family: counters of tuples, from docs/metrics/dependencies.md."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from tests.oracles.metrics import expected_links, ngrams

LINKS = ("dlh", "dl", "lh", "dh")


def expected_items(text, name, *, parses, gamma):
    """The expected count of each item of one decomposition."""
    if name not in LINKS:
        return ngrams(text.words, int(name[0]))
    items = Counter()
    for (word, head, label), count in expected_links(text, parses, gamma).items():
        of = {
            "d": text.words[word],
            "l": label,
            "h": "<root>" if head == 0 else (text.words[head - 1],),
        }
        items[tuple((part, of[part]) for part in name)] += count
    return items


def counts(hypothesis, reference, of, **options):
    """For each decomposition [match, hyp, ref]."""
    rows = []
    for name in of.split("+"):
        hyp, ref = (expected_items(text, name, **options) for text in (hypothesis, reference))
        match = sum(min(count, ref[item]) for item, count in hyp.items())
        rows.append([match, sum(hyp.values()), sum(ref.values())])
    return rows


def share(a, b):
    return Fraction(a) / Fraction(b) if b else Fraction(0)


def harmonic(values):
    if min(values) == 0:
        return Fraction(0)
    return len(values) / sum(1 / value for value in values)


def score(rows, combination):
    if combination == "f":
        match, hyp, ref = (sum(Fraction(row[k]) for row in rows) for k in range(3))
        return float(harmonic([share(match, hyp), share(match, ref)]))
    return float(harmonic([share(row[0], row[k]) for row in rows for k in (1, 2)]))


def dpm(segments, *, of="1g+2g+dl+lh", parses=1, gamma=0.25, combination="f"):
    total = [[0, 0, 0] for _ in of.split("+")]
    for segment in segments:
        best = max(
            (
                counts(segment.hypothesis, reference, of, parses=parses, gamma=gamma)
                for reference in segment.references
            ),
            key=lambda rows: score(rows, combination),
        )
        total = [
            [a + b for a, b in zip(old, added, strict=True)]
            for old, added in zip(total, best, strict=True)
        ]
    return score(total, combination)
