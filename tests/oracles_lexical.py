"""Slow twins of METEOR and TERp, from their formulas; and small lexicons as files."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

STEMS = {"dogs": "dog", "walks": "walk", "walked": "walk"}
"""What Snowball's English stemmer says of the words of the tests; others are their own stems."""
SYNSETS = (("noun", "dog", "hound"), ("noun", "cat", "tom"), ("verb", "walk", "stroll"))
PHRASES = (
    (0.5, "the dog", "it"),
    (0.1, "the deal", "it"),
    (0.25, "cat", "the walked tom"),
    (1.0, "walks home", "strolled dog"),
)
WORDS = ("the", "dog", "dogs", "hound", "walks", "walked", "strolled", "tom", "cat", "it", "home")
FUNCTION_WORDS = ("the", "it")


@dataclass(frozen=True)
class Lexicon:
    """What the twins know of words; empty: nothing."""

    stems: dict[str, str]
    synonyms: frozenset[frozenset[str]]
    phrases: tuple[tuple[float, tuple[str, ...], tuple[str, ...]], ...] = ()
    function_words: frozenset[str] = frozenset()

    def module(self, one, other):
        """How two words match: 0 exactly, 1 by stem, 2 as synonyms, None not at all."""
        if one == other:
            return 0
        if self.stems.get(one, one) == self.stems.get(other, other) and self.stems:
            return 1
        return 2 if frozenset((one, other)) in self.synonyms else None


NOTHING = Lexicon({}, frozenset())
ALL = Lexicon(
    STEMS,
    frozenset(
        frozenset(pair)
        for group in (("dog", "dogs", "hound"), ("cat", "tom"), ("walks", "walked", "strolled"))
        for pair in itertools.combinations(group, 2)
    ),
    tuple((p, tuple(a.split()), tuple(b.split())) for p, a, b in PHRASES),
    frozenset(FUNCTION_WORDS),
)


def write_wordnet(folder):
    """Write the files of WordNet that are read, with `SYNSETS`."""
    folder.mkdir(exist_ok=True)
    lines = [
        f"{word}%{1 if part == 'noun' else 2}:00:00:: {offset:08d} 1 0"
        for offset, (part, *words) in enumerate(SYNSETS, 100)
        for word in words
    ]
    (folder / "index.sense").write_text("\n".join(sorted(lines)) + "\n")
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"{part}.exc").write_text("tomcats tom\n" if part == "noun" else "")
    return folder


def write_paraphrases(path):
    """Write `PHRASES` as TERp does."""
    path.write_text("".join(f"{p} <p>{a}</p> <p>{b}</p>\n" for p, a, b in PHRASES))
    return path


# METEOR


def meteor_links(hypothesis, reference, j, lexicon, phrases):
    """Links of reference word j: place and words of the hypothesis, of the reference, module."""
    for i, word in enumerate(hypothesis):
        module = lexicon.module(word, reference[j])
        if module is not None:
            yield i, 1, 1, module
    for a, b in phrases:
        if reference[j : j + len(a)] != a:
            continue
        for i in range(len(hypothesis) - len(b) + 1):
            known = len(a) == len(b) == 1 and lexicon.module(hypothesis[i], a[0]) is not None
            if hypothesis[i : i + len(b)] == b and not known:
                yield i, len(b), len(a), 3


def link_counts(hypothesis, reference, module, function_words):
    """For each module content words of both sides, then function words."""
    counts = [0] * 16
    for side, words in enumerate((hypothesis, reference)):
        for word in words:
            counts[4 * module + 2 * (word in function_words) + side] += 1
    return counts


def meteor_vectors(hypothesis, reference, lexicon, *, version15):
    """All vectors of best alignments: counts by module, kind and side, then chunks.

    Most words, in 1.5 those not linked exactly count half; then fewest chunks; then least
    distance.
    """
    hypothesis, reference = tuple(hypothesis), tuple(reference)
    phrases = {pair for _, a, b in lexicon.phrases for pair in ((a, b), (b, a)) if version15}

    @functools.cache
    def best(j, used, last):
        """(words, -chunks, -distance) of the rest, and the vectors that reach it."""
        if j == len(reference):
            return (0, 0, 0), frozenset({(0,) * 17})
        options = [best(j + 1, used, None)]
        for i, taken, over, module in meteor_links(hypothesis, reference, j, lexicon, phrases):
            span = frozenset(range(i, i + taken))
            if span & used:
                continue
            (words, chunks, distance), vectors = best(j + over, used | span, i + taken)
            weight = (2 if module == 0 or not version15 else 1) * (taken + over)
            new = 0 if i == last else 1
            own = link_counts(
                hypothesis[i : i + taken], reference[j : j + over], module, lexicon.function_words
            )
            more = {tuple(map(sum, zip(v, (*own, new), strict=True))) for v in vectors}
            options.append(((words + weight, chunks - new, distance - abs(i - j)), more))
        key = max(key for key, _ in options)
        return key, frozenset().union(*(vectors for other, vectors in options if other == key))

    return best(0, frozenset(), None)[1]


def meteor_2005(lengths, matched, chunks, *, alpha, beta, gamma):
    if matched == 0:
        return 0.0
    p, r = matched / lengths[0], matched / lengths[1]
    return p * r / (alpha * p + (1 - alpha) * r) * (1 - gamma * (chunks / matched) ** beta)


def meteor_15(vector, parameters, weights):
    """The score of Meteor's 23 numbers."""
    alpha, beta, gamma, delta = parameters
    shares = []
    for side in (0, 1):
        total = delta * (vector[side] - vector[2 + side]) + (1 - delta) * vector[2 + side]
        linked = sum(
            weight * (delta * vector[4 + 4 * k + side] + (1 - delta) * vector[6 + 4 * k + side])
            for k, weight in enumerate(weights)
        )
        shares.append(linked / total if total else 0.0)
    if 0 in shares:
        return 0.0
    mean = 1 / ((1 - alpha) / shares[0] + alpha / shares[1])
    return max(0.0, mean * (1 - gamma * (vector[20] / ((vector[21] + vector[22]) / 2)) ** beta))
