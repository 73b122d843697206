"""Slow twins of the part-of-speech and tree metrics, from the papers: plain Python, exact counts.

A node is (label, children), children a tuple of nodes; a forest is a tuple of nodes, None where
there is no parse.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

from tests.oracles.metrics import bleu, closest_length, ngrams, ratio


def f_score(precision, recall):
    both = precision + recall
    return 2 * precision * recall / both if both else 0


# Tags


def in_tags(segment):
    def view(text):
        return replace(text, words=text.tags)

    return replace(
        segment,
        hypothesis=view(segment.hypothesis),
        references=tuple(map(view, segment.references)),
    )


def pair_counts(hypothesis, reference):
    """[match, hypothesis, reference] of each order."""
    counts = []
    for n in range(1, 5):
        items, references = ngrams(hypothesis, n), ngrams(reference, n)
        counts.append([(items & references).total(), items.total(), references.total()])
    return counts


def mean_share(shares, mean):
    if mean == "gm":
        return float(math.prod(shares)) ** (1 / len(shares)) if shares else 0.0
    return sum(shares) / len(shares) if shares else 0


def effective(counts, effective_order):
    """Rows [match, hypothesis, reference], if asked for without those that have no item."""
    return [row for row in counts if row[1] + row[2] or not effective_order]


def averages(counts, mean, *, effective_order=False):
    """Mean precision and mean recall of rows [match, hypothesis, reference]."""
    rows = effective(counts, effective_order)
    return [mean_share([ratio(row[0], row[k]) for row in rows], mean) for k in (1, 2)]


def added(tables):
    return [
        [sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)
    ]


def tag_counts(segment, *, pooled=False):
    best = None
    for reference in segment.references:
        counts = pair_counts(segment.hypothesis.tags, reference.tags)
        if pooled:
            words = pair_counts(segment.hypothesis.words, reference.words)
            counts = added([counts, words])
        value = f_score(*averages(counts, "am"))
        if best is None or value > best[0]:
            best = (value, counts)
    return best[1]


def pos(segments, *, which, mean="gm", pooled=False, effective_order=False, f_first=False):
    counts = added([tag_counts(s, pooled=pooled) for s in segments])
    precision, recall = averages(counts, mean, effective_order=effective_order)
    if f_first and which == "F":
        rows = effective(counts, effective_order)
        return mean_share([ratio(2 * match, hyp + ref) for match, hyp, ref in rows], mean)
    return {"P": precision, "R": recall, "F": f_score(precision, recall)}[which]


def posbleu(segments, **options):
    return bleu([in_tags(s) for s in segments], **options)


def wpbleu(segments, **options):
    return (bleu(segments, **options) + posbleu(segments, **options)) / 2


# Forests


def dependency_forest(text):
    if not text.heads:
        return None

    def node(i):
        below = [j for j, (head, _) in enumerate(text.heads) if head == i + 1]
        return (text.words[i], tuple(map(node, below)))

    return tuple(node(i) for i, (head, _) in enumerate(text.heads) if head == 0)


def constituency_forest(text, *, lexical=False):
    if text.tree is None:
        return None

    def node(tree):
        below = tree.children if lexical else [c for c in tree.children if c.children]
        return (tree.label, tuple(map(node, below)))

    return (node(text.tree),)


def all_nodes(forest):
    for node in forest:
        yield node
        yield from all_nodes(node[1])


def height(node):
    return 1 + max(map(height, node[1]), default=0)


def cut(node, levels):
    return (node[0], tuple(cut(child, levels - 1) for child in node[1]) if levels > 1 else ())


def subtrees(forest, n):
    return Counter(cut(node, n) for node in all_nodes(forest) if height(node) >= n)


def chains(forest, n):
    def down(node, length):
        if length == 1:
            return [(node[0],)]
        return [(node[0], *path) for child in node[1] for path in down(child, length - 1)]

    return Counter(chain for node in all_nodes(forest) for chain in down(node, n))


def overlap_counts(forest, references, *, items, depth):
    """[match, hypothesis, reference] of each order, and whether there is a parsed reference."""
    orders = range(1, depth + 1)
    parsed = [[items(r, n) for n in orders] for r in references if r is not None]
    if not parsed:
        return [[0, 0, 0]] * depth, False
    counted = [items(forest or (), n) for n in orders]
    sizes = [[counter.total() for counter in reference] for reference in parsed]
    closest = [
        min((abs(size[n] - counted[n].total()), size[n:]) for size in sizes)[1][0]
        for n in range(depth)
    ]
    counts = []
    for n in range(depth):
        limit = Counter()
        for reference in parsed:
            limit |= reference[n]
        counts.append([(counted[n] & limit).total(), counted[n].total(), closest[n]])
    return counts, True


def overlap(
    segments,
    *,
    forest_of,
    items,
    kind,
    depth=4,
    noparse="ignore",
    average="corpus",
    effective_order=False,
):
    def value(counts):
        precision, recall = averages(counts, "am", effective_order=effective_order)
        return precision if kind == "precision" else f_score(precision, recall)

    tables, scores = [], []
    for s in segments:
        forest = forest_of(s.hypothesis)
        counts, comparable = overlap_counts(
            forest, [forest_of(r) for r in s.references], items=items, depth=depth
        )
        if forest is None and noparse == "worst":
            counts = [[match, reference, reference] for match, _, reference in counts]
        tables.append(counts)
        ignored = forest is None and noparse == "ignore" and kind == "precision"
        if comparable and not ignored:
            scores.append(value(counts))
    if average == "segments":
        return ratio(sum(scores), len(scores))
    return value(added(tables))


# Tree kernels


def fragments(forest):
    """Every fragment, as often as it occurs; its leaves are bare labels."""

    def rooted(node):
        if not node[1]:
            return []
        choices = [[child[0], *rooted(child)] for child in node[1]]
        trees = [()]
        for options in choices:
            trees = [(*tree, option) for tree in trees for option in options]
        return [(node[0], *children) for children in trees]

    return Counter(fragment for node in all_nodes(forest) for fragment in rooted(node))


def cosine(tree, reference):
    a, b = fragments(tree), fragments(reference)
    if not a and not b:
        return float(tree == reference)
    if not a or not b:
        return 0.0

    def product(x, y):
        return sum(count * y[fragment] for fragment, count in x.items())

    return math.sqrt(Fraction(product(a, b) ** 2, product(a, a) * product(b, b)))


def tree_kernel(segments, *, forest_of, weight="one"):
    total, weights = 0.0, 0
    for s in segments:
        references = [forest for r in s.references if (forest := forest_of(r)) is not None]
        if references:
            hypothesis = forest_of(s.hypothesis)
            value = 0.0 if hypothesis is None else max(cosine(hypothesis, r) for r in references)
            w = closest_length(s) if weight == "reflen" else 1
            total, weights = total + w * value, weights + w
    return total / weights if weights else 0.0
