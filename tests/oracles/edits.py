"""Slow twins of the metrics that edit, spell or link: plain Python from their definitions."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations

from tests.oracles.metrics import Segment, Text, ngrams


def best(values):
    """Of several (score, statistics) the highest score, the first of equal ones."""
    return max(values, key=lambda value: value[0])[1]


# Edit distances


def levenshtein(a, b):
    @cache
    def distance(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        )

    return distance(len(a), len(b))


def jump_distance(hypothesis, reference):
    """CDER's distance as a shortest path over places (reference words, hypothesis words)."""
    goal = (len(reference), len(hypothesis))
    queue, visited = [(0, (0, 0))], set()
    while queue:
        cost, (j, i) = heapq.heappop(queue)
        if (j, i) == goal:
            return cost
        if (j, i) in visited:
            continue
        visited.add((j, i))
        for k in range(len(hypothesis) + 1):
            heapq.heappush(queue, (cost + 1, (j, k)))
        if j < len(reference):
            heapq.heappush(queue, (cost + 1, (j + 1, i)))
            if i < len(hypothesis):
                differ = hypothesis[i] != reference[j]
                heapq.heappush(queue, (cost + differ, (j + 1, i + 1)))
    raise AssertionError("every place can be reached")


def rate_stats(segment, distance):
    """The distance and the length of the reference where their quotient is lowest."""
    values = []
    for reference in segment.references:
        edits, length = distance(segment.hypothesis.words, reference.words), len(reference.words)
        rate = Fraction(edits, length) if length else math.inf if edits else 0
        values.append((-rate, (edits, length)))
    return best(values)


def wer_stats(segment):
    return rate_stats(segment, levenshtein)


def edit_kinds(words, reference):
    """(substitutions, insertions, deletions), from the costs of all beginnings backwards."""
    i, j, kinds = len(words), len(reference), [0, 0, 0]
    while i or j:
        insertion = 1 + levenshtein(words[: i - 1], reference[:j]) if i else math.inf
        deletion = 1 + levenshtein(words[:i], reference[: j - 1]) if j else math.inf
        pair = math.inf
        if i and j:
            differ = words[i - 1] != reference[j - 1]
            pair = differ + levenshtein(words[: i - 1], reference[: j - 1])
        if insertion <= min(deletion, pair):
            i, kinds[1] = i - 1, kinds[1] + 1
        elif deletion <= pair:
            j, kinds[2] = j - 1, kinds[2] + 1
        else:
            i, j, kinds[0] = i - 1, j - 1, kinds[0] + differ
    return tuple(kinds)


def equal_words(words, reference):
    """(unchanged words, edits): shared ends, then jiwer's path, from costs of all beginnings."""
    for side in (0, -1):
        if words and reference and words[side] == reference[side]:
            cut = slice(1, None) if side == 0 else slice(None, -1)
            equal, edits = equal_words(words[cut], reference[cut])
            return equal + 1, edits
    if not words or not reference:
        return 0, len(words) + len(reference)
    cost = levenshtein(words, reference)
    equal = 0
    i, j = len(words), len(reference)
    while i and j:
        if levenshtein(words[:i], reference[:j]) == 1 + levenshtein(words[:i], reference[: j - 1]):
            j -= 1
        elif (
            levenshtein(words[: i - 1], reference[:j])
            == levenshtein(words[: i - 1], reference[: j - 1]) - 1
        ):
            i -= 1
        else:
            i, j = i - 1, j - 1
            equal += words[i] == reference[j]
    return equal, cost


def equal_word_stats(segment, score):
    words = segment.hypothesis.words
    values = []
    for reference in segment.references:
        row = (*equal_words(words, reference.words), len(words), len(reference.words))
        values.append((score(*row), row))
    return best(values)


def match_error_rate(equal, edits, _words, _length):
    return Fraction(edits, equal + edits) if edits else Fraction(0)


def preserved(equal, _edits, words, length):
    if not words or not length:
        return Fraction(int(words == length))
    return Fraction(equal, words) * Fraction(equal, length)


def cer_stats(segment, *, spaces):
    """Of the characters of each text, where words may have white space of other scripts."""

    def letters(text):
        return tuple(" ".join(text.words) if spaces else "".join("".join(text.words).split()))

    return rate_stats(
        Segment(
            0,
            Text(letters(segment.hypothesis)),
            tuple(Text(letters(r)) for r in segment.references),
        ),
        levenshtein,
    )


def cder_stats(segment):
    return rate_stats(segment, jump_distance)


def per_stats(segment):
    words, values = segment.hypothesis.words, []
    for reference in segment.references:
        correct = (Counter(words) & Counter(reference.words)).total()
        length = len(reference.words)
        score = -math.inf if words else 0
        if length:
            score = Fraction(correct - max(0, len(words) - length), length)
        values.append((score, (correct, len(words), length)))
    return best(values)


# Characters


def chrf_score(stats, beta):
    """From [(hypothesis n-grams, reference n-grams, matches)] of each order."""
    used = [(h, r, m) for h, r, m in stats if h and r]
    if not used:
        return Fraction(0)
    precision = sum(Fraction(m, h) for h, _, m in used) / len(used)
    recall = sum(Fraction(m, r) for _, r, m in used) / len(used)
    b = Fraction(beta) ** 2
    low = b * precision + recall
    return (1 + b) * precision * recall / low if low else Fraction(0)


def chrf(segment, *, max_order=6, beta=2):
    """The score of one segment."""

    def letters(text):
        return "".join("".join(text.words).split())

    characters, scores = letters(segment.hypothesis), []
    for reference in segment.references:
        stats = []
        for n in range(1, max_order + 1):
            h, r = ngrams(characters, n), ngrams(letters(reference), n)
            stats.append((h.total() if r else 0, r.total(), (h & r).total()))
        scores.append(chrf_score(stats, beta))
    return max(scores)


# NIST


def nist(segments, corpus=None):
    """The score of some segments of a corpus."""
    counts = Counter()
    words = 0
    for segment in corpus or segments:
        for reference in segment.references:
            words += len(reference.words)
            for n in range(1, 6):
                counts += ngrams(reference.words, n)
    total = 0.0
    for n in range(1, 6):
        information = 0.0
        for segment in segments:
            limit = Counter()
            for reference in segment.references:
                limit |= ngrams(reference.words, n)
            for ngram, count in (ngrams(segment.hypothesis.words, n) & limit).items():
                before = counts[ngram[:-1]] if n > 1 else words
                information += count * math.log2(before / counts[ngram])
        candidates = sum(max(0, len(s.hypothesis.words) - n + 1) for s in segments)
        total += information / candidates if candidates else 0.0
    length = sum(len(s.hypothesis.words) for s in segments)
    mean = sum(
        Fraction(sum(len(r.words) for r in s.references), len(s.references)) for s in segments
    )
    if length == 0:
        return 0.0
    ratio = min(1.0, length / mean) if mean else 1.0
    return total * math.exp(-math.log(2) / math.log(1.5) ** 2 * math.log(ratio) ** 2)


# RIBES


def places(phrase, words):
    return [i for i in range(len(words)) if words[i : i + len(phrase)] == phrase]


def links(hypothesis, reference):
    """The reference positions of those hypothesis words whose partner is certain, in order."""
    positions = []
    for i, word in enumerate(hypothesis):
        if places((word,), hypothesis) == [i] and len(places((word,), reference)) == 1:
            positions += places((word,), reference)
            continue
        for context in range(1, len(hypothesis)):
            left = hypothesis[i - context : i + 1] if context <= i else None
            right = hypothesis[i : i + context + 1] if i + context < len(hypothesis) else None
            unique = [
                (phrase, shift)
                for phrase, shift in ((left, context), (right, 0))
                if phrase
                and len(places(phrase, hypothesis)) == 1
                and len(places(phrase, reference)) == 1
            ]
            if unique:
                phrase, shift = unique[0]
                positions.append(places(phrase, reference)[0] + shift)
                break
    return positions


def ribes(segment, *, alpha=0.25, beta=0.10):
    """The value of one segment."""
    words, values = segment.hypothesis.words, [0.0]
    for reference in (r.words for r in segment.references):
        positions = links(words, reference)
        if len(positions) >= 2:
            pairs = list(combinations(positions, 2))
            agreement = sum(a < b for a, b in pairs) / len(pairs)
        else:
            agreement = float(len(positions) == 1 and len(reference) == 1)
        if agreement:
            penalty = min(1.0, math.exp(1 - len(reference) / len(words)))
            values.append(agreement * (len(positions) / len(words)) ** alpha * penalty**beta)
    return max(values)
