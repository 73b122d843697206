"""Slow twins of the metrics: plain Python from the formulas of the papers, exact where they are.

A segment is (hypothesis, references): texts of words with their links; see `Text`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Tree:
    """A constituency parse; a leaf is a word and has no children."""

    label: str
    children: tuple[Tree, ...] = ()


@dataclass(frozen=True)
class Text:
    words: tuple[str, ...]
    links: frozenset[tuple[int, int]] = frozenset()
    tags: tuple[str, ...] = ()
    heads: tuple[tuple[int, str], ...] = ()
    """For each word its head (from 1, 0 is the root) and label; none: no parse."""
    tree: Tree | None = None
    parses: tuple[tuple[float, tuple[tuple[int, str], ...]], ...] = ()
    """Log score and heads of each parse, best first."""
    roles: tuple[tuple[int, tuple[tuple[str, tuple[int, ...]], ...]], ...] | None = None
    """Of each predicate its position and arguments: role, positions; None: no analysis."""
    drs: object | None = None
    """A `semantics.Node`; None: no analysis."""


@dataclass(frozen=True)
class Segment:
    source_length: int
    hypothesis: Text
    references: tuple[Text, ...]


def expected_links(text, parses, gamma):
    """The expected count of each (dependent, head, label); `parses` 0 is all that there are."""
    best_parses = text.parses[: parses or None]
    if not best_parses:
        return {}
    highest = max(gamma * score for score, _ in best_parses)
    shares = [math.exp(gamma * score - highest) for score, _ in best_parses]
    expected = Counter()
    for share, (_, heads) in zip(shares, best_parses, strict=True):
        for word, (head, label) in enumerate(heads):
            expected[word, head, label] += share / sum(shares)
    return expected


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def clipped_matches(segment, n):
    limit = Counter()
    for reference in segment.references:
        limit |= ngrams(reference.words, n)  # the maximum of each count
    return sum((ngrams(segment.hypothesis.words, n) & limit).values())


def closest_length(segment):
    length = len(segment.hypothesis.words)
    return min((abs(len(r.words) - length), len(r.words)) for r in segment.references)[1]


def ratio(a, b):
    return Fraction(a) / Fraction(b) if b else Fraction(0)


# BLEU


def smoothed_precisions(m, t, smooth, smooth_value):
    precisions, k = [], 0
    for n in range(len(m)):
        a, b = Fraction(m[n]), Fraction(t[n])
        if smooth == "moses+1":
            a, b = a + 1, b + 1
        elif smooth in ("add1", "add-k") and n > 0:
            value = Fraction(1) if smooth == "add1" or smooth_value is None else smooth_value
            a, b = a + Fraction(value), b + Fraction(value)
        elif smooth == "mteval" and b == 0:
            a, b = Fraction(1), Fraction(1)
        elif a == 0 and b > 0 and smooth == "floor":
            a = Fraction(0.1 if smooth_value is None else smooth_value)
        elif a == 0 and b > 0 and smooth in ("exp", "mteval"):
            k += 1
            a = Fraction(1, 2**k)
        precisions.append(ratio(a, b))
    return precisions


def bleu(segments, *, max_order=4, reflen="closest", smooth="none", smooth_value=None):
    def length(segment):
        lengths = [len(r.words) for r in segment.references]
        if reflen == "closest":
            return closest_length(segment)
        return min(lengths) if reflen == "shortest" else Fraction(sum(lengths), len(lengths))

    hypothesis = sum(len(s.hypothesis.words) for s in segments)
    reference = sum(length(s) for s in segments)
    if hypothesis == 0:
        return 0.0
    m = [sum(clipped_matches(s, n) for s in segments) for n in range(1, max_order + 1)]
    t = [
        sum(max(0, len(s.hypothesis.words) - n + 1) for s in segments)
        for n in range(1, max_order + 1)
    ]
    if smooth in ("exp", "floor", "add-k", "add1") and not any(m):
        return 0.0
    precisions = smoothed_precisions(m, t, smooth, smooth_value)
    if min(precisions) == 0:
        return 0.0
    mean_log = sum(math.log(p) for p in precisions) / max_order
    return math.exp(mean_log + min(0.0, float(1 - Fraction(reference) / hypothesis)))


# PORT


def lengths_sums(segments):
    closest = [closest_length(s) for s in segments]
    lengths = [len(s.hypothesis.words) for s in segments]
    return (
        sum(closest),
        sum(min(a, b) for a, b in zip(lengths, closest, strict=True)),
        sum(max(a, b) for a, b in zip(lengths, closest, strict=True)),
    )


def sbp(segments):
    reference, shorter, _ = lengths_sums(segments)
    if shorter == 0:
        return 1.0 if reference == 0 else 0.0
    return math.exp(1 - reference / shorter)


def srp(segments):
    reference, _, longer = lengths_sums(segments)
    if reference == 0:
        return 1.0 if longer == 0 else 0.0
    return math.exp(1 - longer / reference)


def precision(segments, n):
    return ratio(
        sum(clipped_matches(s, n) for s in segments),
        sum(max(0, len(s.hypothesis.words) - n + 1) for s in segments),
    )


def recall(segments, n, *, cap=False):
    value = ratio(
        sum(clipped_matches(s, n) for s in segments),
        sum(max(0, closest_length(s) - n + 1) for s in segments),
    )
    return min(value, Fraction(1)) if cap else value


def mean_of_two(a, b, mean):
    if mean == "h":
        return 0.0 if 0 in (a, b) else 2 / (1 / a + 1 / b)
    return {"a": (a + b) / 2, "g": math.sqrt(a * b), "q": math.sqrt((a * a + b * b) / 2)}[mean]


def orders_of(segments, max_order, effective_order):
    """The orders; with `effective_order` those of which a hypothesis or a reference has one."""
    longest = max(max(len(s.hypothesis.words), closest_length(s)) for s in segments)
    return (
        range(1, max_order + 1) if not effective_order else range(1, min(max_order, longest) + 1)
    )


def qmean(segments, *, recall_cap=False, max_order=4, mean="q", effective_order=False):
    orders = orders_of(segments, max_order, effective_order)
    if not orders:
        return 0.0
    pa = sum(precision(segments, n) for n in orders) / len(orders)
    ra = sum(recall(segments, n, cap=recall_cap) for n in orders) / len(orders)
    return mean_of_two(float(pa) * sbp(segments), float(ra) * srp(segments), mean)


def bleu_sbp(segments, *, max_order=4, effective_order=False):
    orders = orders_of(segments, max_order, effective_order)
    if not orders:
        return 0.0
    product = math.prod(precision(segments, n) for n in orders)
    return float(product) ** (1 / len(orders)) * sbp(segments)


# Word order


def permutation(n, links, *, null="inherit", encoding="order"):
    """docs/metrics/port.md, counted from 1."""
    positions = []
    for i in range(n):
        positions_of_word = [j for source, j in links if source == i]
        earlier_aligned = any(source < i for source, _ in links)
        if positions_of_word:
            positions.append(min(positions_of_word))
        elif not earlier_aligned:
            positions.append(-1)
        else:
            positions.append(positions[i - 1] + (1 if null == "plus_one" else 0))
    order = sorted(range(n), key=lambda i: positions[i])
    if encoding == "order":
        return [i + 1 for i in order]
    return [order.index(i) + 1 for i in range(n)]


def v_parts(p1, p2):
    n = len(p1)
    if n < 2:
        return Fraction(1), Fraction(1)
    dist1 = sum(abs(a - b) for a, b in zip(p1, p2, strict=True))
    q1, q2 = [0, *p1], [0, *p2]
    dist2 = sum(abs((q1[i] - q1[i - 1]) - (q2[i] - q2[i - 1])) for i in range(1, n + 1))
    v1 = 1 - Fraction(dist1, n * (n + 1) // 2)
    v2 = 1 - Fraction(dist2, n * n - 1)
    return v1, v2


def v1(p1, p2):
    return v_parts(p1, p2)[0]


def v2(p1, p2):
    return v_parts(p1, p2)[1]


def v(p1, p2):
    parts = v_parts(p1, p2)
    return Fraction(0) if parts[1] == 0 else 2 / (1 / parts[0] + 1 / parts[1])


def rho(p1, p2):
    n = len(p1)
    if n < 2:
        return Fraction(1)
    return 1 - Fraction(
        6 * sum((a - b) ** 2 for a, b in zip(p1, p2, strict=True)), n * (n * n - 1)
    )


def discordance(p1, p2):
    n = len(p1)
    if n < 2:
        return Fraction(0)
    pairs = sum(p1[i] < p1[j] and p2[i] > p2[j] for i in range(n) for j in range(n))
    return Fraction(pairs, n * (n - 1) // 2)


def agreement(p1, p2):
    if not p1:
        return Fraction(1)
    return Fraction(sum(a == b for a, b in zip(p1, p2, strict=True)), len(p1))


def ordering_value(p1, p2, *, order="v", scale="linear", tau_lr=False):
    if order in ("v", "v1", "v2"):
        return float({"v": v, "v1": v1, "v2": v2}[order](p1, p2))
    if tau_lr:
        return 1 - math.sqrt(discordance(p1, p2))
    x = rho(p1, p2) if order == "rho" else 1 - 2 * discordance(p1, p2)
    return float(max(x, Fraction(0)) if scale == "clip" else (x + 1) / 2)


def segment_ordering(
    segment, *, order="v", null="inherit", encoding="order", scale="linear", tau_lr=False
):
    if not segment.hypothesis.words:
        return 0.0

    def p(text):
        return permutation(segment.source_length, text.links, null=null, encoding=encoding)

    return max(
        ordering_value(p(r), p(segment.hypothesis), order=order, scale=scale, tau_lr=tau_lr)
        if r.words
        else 0.0
        for r in segment.references
    )


def ordering(segments, **options):
    weights = [closest_length(s) for s in segments]
    if sum(weights) == 0:
        return 0.0
    values = [segment_ordering(s, **options) for s in segments]
    return sum(w * x for w, x in zip(weights, values, strict=True)) / sum(weights)


def port(segments, *, alpha=0.25, combination="h", order="v", **options):
    links = {
        key: options.pop(key) for key in ("null", "encoding", "scale", "tau_lr") if key in options
    }
    b = ordering(segments, order=order, **links)
    weighted = 0.0 if b == 0 else b**alpha
    return mean_of_two(qmean(segments, **options), weighted, combination)


def damped(segments, *, measure, null="inherit", encoding="rank", refchoice="closest"):
    total = 0.0
    for s in segments:
        length = len(s.hypothesis.words)
        values = []
        for r in s.references:
            p1, p2 = (
                permutation(s.source_length, text.links, null=null, encoding=encoding)
                for text in (r, s.hypothesis)
            )
            if measure == "hamming":
                similarity = float(agreement(p1, p2))
            else:
                similarity = 1 - math.sqrt(discordance(p1, p2))
            brevity = min(1.0, math.exp(1 - len(r.words) / length)) if length else 0.0
            values.append(similarity * brevity if r.words else 0.0)
        total += max(values) if refchoice == "closest" else sum(values) / len(values)
    return total / len(segments)


def lr(segments, *, alpha=0.5, **options):
    return alpha * damped(segments, **options) + (1 - alpha) * bleu(segments)
