"""Slow twins of METEOR and TERp, from their formulas; and small lexicons as files."""

from __future__ import annotations

import functools
import itertools
import math
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

    def module(self, word, reference_word):
        """How two words match: 0 exactly, 1 by stem, 2 as synonyms, None not at all."""
        if word == reference_word:
            return 0
        if self.stems and len({self.stems.get(w, w) for w in (word, reference_word)}) == 1:
            return 1
        return 2 if frozenset((word, reference_word)) in self.synonyms else None


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
            is_earlier = len(a) == len(b) == 1 and lexicon.module(hypothesis[i], a[0]) is not None
            if hypothesis[i : i + len(b)] == b and not is_earlier:
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
        for i, width, over, module in meteor_links(hypothesis, reference, j, lexicon, phrases):
            span = frozenset(range(i, i + width))
            if span & used:
                continue
            (words, chunks, distance), vectors = best(j + over, used | span, i + width)
            weight = (2 if module == 0 or not version15 else 1) * (width + over)
            chunk = 0 if i == last else 1
            counts = link_counts(
                hypothesis[i : i + width], reference[j : j + over], module, lexicon.function_words
            )
            extended = {tuple(map(sum, zip(v, (*counts, chunk), strict=True))) for v in vectors}
            options.append(((words + weight, chunks - chunk, distance - abs(i - j)), extended))
        key = max(key for key, _ in options)
        return key, frozenset().union(*(vectors for reached, vectors in options if reached == key))

    return best(0, frozenset(), None)[1]


def mapped(hypothesis, reference, lexicon):
    """All texts that the best alignments of METEOR map a hypothesis to."""
    placed = {}

    def go(j, used, last, key):
        if j == len(reference):
            words = tuple(
                reference[used[i]] if i in used else word for i, word in enumerate(hypothesis)
            )
            placed.setdefault(key, set()).add(words)
            return
        go(j + 1, used, None, key)
        for i, word in enumerate(hypothesis):
            if i not in used and lexicon.module(word, reference[j]) is not None:
                count, chunks, distance = key
                there = (count + 1, chunks - (i != last), distance - abs(i - j))
                go(j + 1, {**used, i: j}, i + 1, there)

    go(0, {}, None, (0, 0, 0))
    return placed[max(placed)]


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


# TERp

TERPA = (
    0, 0.2588527567630183, 1.4269364675533365, 1.5565478292505814, 0, 0, 0.5620538767397316,
)  # fmt: skip
TERPA_PHRASE = (
    -0.2306579294476191,
    -0.1469465037633749,
    -0.07843705907022736,
    0.17708577297831574,
)
TERPH = (
    0, 0.5160029868027748, 0.8897481530721948, 1.6362908525843867, 0.9574806141940626,
    0.16474604979800672, 0.686718582391978,
)  # fmt: skip
TERPH_PHRASE = (1.0366410752548514, 0.6518645817002747, -0.008317921340980746, 1.1121928362344298)
GRID = 2**40
"""Costs are compared as whole numbers of 1 / GRID."""
MATCH, INSERT, DELETE, SUBSTITUTE, STEM, SYNONYM, SHIFT = range(7)


class Terp:
    """TERp of one hypothesis and one reference, with lists of words."""

    def __init__(self, lexicon, costs, phrase_costs, stop_words=(), *, with_phrases=True):
        self.lexicon = lexicon
        self.given = costs, phrase_costs
        self.costs = [round(cost * GRID) for cost in costs]
        self.stop_words = stop_words
        self.phrases = {}  # reference phrase, hypothesis phrase -> price and features
        for p, a, b in lexicon.phrases if with_phrases and phrase_costs else ():
            e = Terp(lexicon, *self.given, stop_words, with_phrases=False).edits(b, a)[1]
            features = (e * math.log10(p), e * p, e)
            price = phrase_costs[0] + sum(
                map(math.prod, zip(phrase_costs[1:], features, strict=True))
            )
            price = round(max(0.0, price) * GRID)
            if (a, b) not in self.phrases or price < self.phrases[a, b][0]:
                self.phrases[a, b] = price, features

    def word_edit(self, word, reference_word):
        """Cost and kind of the cheapest edit of two words."""
        module = self.lexicon.module(word, reference_word)
        if module == 0:
            return self.costs[MATCH], MATCH
        kinds = [SUBSTITUTE]
        stems = self.lexicon.stems
        if stems and stems.get(word, word) == stems.get(reference_word, reference_word):
            kinds.append(STEM)
        if frozenset((word, reference_word)) in self.lexicon.synonyms:
            kinds.append(SYNONYM)
        return min((self.costs[kind], kind) for kind in kinds)

    def steps(self, hypothesis, reference, i, j):
        """What may lead to (i, j), the preferred first: cost, words of both, kind, phrase."""
        pairs = sorted(
            (
                (a, b)
                for a, b in self.phrases
                if hypothesis[:i][-len(b) :] == b and reference[:j][-len(a) :] == a
            ),
            key=lambda pair: (-len(pair[1]), -len(pair[0])),
        )
        long = [(self.phrases[p][0], len(p[1]), len(p[0]), None, p) for p in pairs]
        yield from (step for step in long if step[1] + step[2] > 2)
        if i and j:
            cost, kind = self.word_edit(hypothesis[i - 1], reference[j - 1])
            yield cost, 1, 1, kind, None
        yield from (step for step in long if step[1] + step[2] == 2)
        if i:
            yield self.costs[INSERT], 1, 0, INSERT, None
        if j:
            yield self.costs[DELETE], 0, 1, DELETE, None

    def align(self, hypothesis, reference):
        """Distance, steps from the first to the last."""
        best = {(0, 0): (0, None)}
        for i in range(len(hypothesis) + 1):
            for j in range(len(reference) + 1):
                for step in self.steps(hypothesis, reference, i, j) if (i, j) != (0, 0) else ():
                    cost = best[i - step[1], j - step[2]][0] + step[0]
                    if (i, j) not in best or cost < best[i, j][0]:
                        best[i, j] = cost, step
        path, i, j = [], len(hypothesis), len(reference)
        while i or j:
            path.append(best[i, j][1])
            i, j = i - path[-1][1], j - path[-1][2]
        return best[len(hypothesis), len(reference)][0], path[::-1]

    def spans(self, hypothesis, reference, h, r):
        """Lengths of the matching spans that begin here and end in a pair of words.

        At most 10 words on either side.
        """
        begun, ends, todo = set(), set(), [(0, 0)]
        while todo:
            a, b = todo.pop()
            steps = [
                (len(y), len(x), False)
                for x, y in self.phrases
                if hypothesis[h + a :][: len(y)] == y and reference[r + b :][: len(x)] == x
            ]
            if h + a < len(hypothesis) and r + b < len(reference):
                word, reference_word = hypothesis[h + a], reference[r + b]
                if self.lexicon.module(word, reference_word) is not None:
                    steps.append((1, 1, True))
            for step, over, is_pair in steps:
                span = a + step, b + over
                if max(span) <= 10 and is_pair:
                    ends.add(span)
                if max(span) <= 10 and span not in begun:
                    begun.add(span)
                    todo.append(span)
        return ends

    def shifts(self, hypothesis, reference, path):
        """All moves: (longest side, -start, -gap, words moved), and the text after it."""
        extra, missed, where, i, j = [], [], [], 0, 0
        for _, width, over, kind, _ in path:
            i, j = i + width, j + over
            extra += [kind != MATCH] * width
            missed += [kind != MATCH] * over
            where += [i - 1] * over
        for h, r in itertools.product(range(len(hypothesis)), range(len(reference))):
            for a, b in self.spans(hypothesis, reference, h, r):
                if not (any(extra[h : h + a]) and any(missed[r : r + b])):
                    continue
                if h <= where[r] < h + a:
                    continue
                if all(word in self.stop_words for word in hypothesis[h : h + a]):
                    continue
                if all(word in self.stop_words for word in reference[r : r + b]):
                    continue
                moved, remaining = hypothesis[h : h + a], hypothesis[:h] + hypothesis[h + a :]
                for k in range(r - 1, r + b):
                    gap = 0 if k < 0 else where[k] + 1
                    place = gap - a if gap > h + a else gap
                    yield (max(a, b), -h, -gap, a), remaining[:place] + moved + remaining[place:]

    def edits(self, hypothesis, reference):
        """The 11 counts, and the weighted sum."""
        hypothesis, reference = tuple(hypothesis), tuple(reference)
        shifts = 0
        distance, path = self.align(hypothesis, reference)
        while True:
            options = []
            for rank, text in self.shifts(hypothesis, reference, path):
                gain = distance - self.align(text, reference)[0]
                if gain >= max(1, self.costs[SHIFT]):
                    options.append((gain, rank, text))
            if not options:
                break
            hypothesis = max(options)[2]
            shifts += 1
            distance, path = self.align(hypothesis, reference)
        counts = [sum(step[3] == kind for step in path) for kind in range(6)] + [shifts]
        used = [self.phrases[step[4]][1] for step in path if step[4]]
        features = [sum(f[k] for f in used) for k in range(3)]
        total = (distance + shifts * self.costs[SHIFT]) / GRID
        return [*counts, len(used), *features], total
