"""Scores every hypothesis of a list against the list: what minimum Bayes risk chooses by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric, Texts
from portmert.metrics._pairs import PairBatch, WeightedLists
from portmert.metrics._shared import flat
from portmert.metrics.kernels.pairs import first_equals
from portmert.tuner.executors.team import each
from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.numbers import LARGEST
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.texts.statistics import check_texts

Average = Literal["scores", "statistics"]
"""What is averaged over a list: see `expected_scores`."""

PAIRS_PER_BLOCK = 16_384
"""Enough for numpy's calls to be few, few enough for their arrays to stay in the processor."""
REFERENCES_PER_BLOCK = 128
"""Of a long list, whose n-grams are looked up once a block."""


@dataclass(frozen=True, eq=False)
class _Distinct:
    """Holds the distinct texts of lists, and which of them each text is."""

    texts: Texts
    offsets: IntArray
    weights: FloatArray
    places: IntArray


def expected_scores(
    metric: Metric,
    texts: Texts,
    offsets: IntArray,
    weights: FloatArray,
    *,
    average: Average = "scores",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FloatArray:
    """Return (H,) the expected score of each hypothesis if the truth is one of its list.

    Equal texts of a list are compared once: their weights add up, and their scores are equal.

    Parameters
    ----------
    metric
        It reads nothing but tokens. What it counts in all references of a test set, as NIST does,
        it counts in all distinct hypotheses.
    texts
        H hypotheses as they are scored.
    offsets : (S + 1,) int64
        Those of list s are `offsets[s]:offsets[s + 1]`.
    weights : (H,) float64
        Of each hypothesis as a reference; those of a list add to 1. One of weight 0 is none.
    average
        `scores`: the mean of the scores against each reference.
        `statistics`: the score of the mean statistics, as of a text in which the hypothesis stands
        once beside every reference. Another number where the score is no linear function of the
        statistics. BLEU and chrF have it in time that grows with the hypotheses, not with pairs.
    threads
        Default: all processors. The result is the same for any number.
    progress : callable, optional
        Called as progress(done, all) with blocks of pairs.

    Raises
    ------
    InputError
        The metric needs more than tokens, or a text is too long for it.
    """
    if metric.needs or not metric.reads_references:
        what = " and ".join(sorted(map(str, metric.needs))) or "no references"
        raise InputError(
            f"metric {metric.name()} reads {what}; minimum Bayes risk compares the tokens of the "
            f"hypotheses of a list with each other: take a metric of tokens, as chrf or bleu"
        )
    distinct = _distinct(texts, offsets, weights)
    whole = Batch(distinct.texts, distinct.offsets, distinct.texts, distinct.offsets)
    check_texts(metric, whole)
    if average == "statistics":
        lists = WeightedLists.of(distinct.texts, distinct.offsets, distinct.weights)
        mean = metric.mean_stats(lists)
        if mean is not None:
            return np.asarray(metric.score(mean)[distinct.places])
    chosen = np.flatnonzero(distinct.weights > 0.0)
    segments = np.searchsorted(distinct.offsets, chosen, side="right") - 1
    firsts, lasts = distinct.offsets[:-1][segments], distinct.offsets[1:][segments]
    blocks = list(_blocks(segments, lasts - firsts))
    width = 1 if average == "scores" else len(metric.stat_names)

    def work(number: int) -> FloatArray:
        """Return the weighted sums over the references of a block, one list behind another."""
        part = slice(*blocks[number])
        first, last = int(firsts[part][0]), int(lasts[part][-1])
        pairs = PairBatch.of(
            distinct.texts.rows(first, last),
            firsts[part] - first,
            lasts[part] - first,
            chosen[part] - first,
        )
        values = metric.stats(replace(pairs, whole=whole))
        if average == "scores":
            values = metric.score(values)[:, np.newaxis]
        sums = np.zeros((last - first, width))
        begin = 0
        for rows in _runs(segments[part]):
            references = chosen[part][rows]
            start, stop = firsts[part][rows.start] - first, lasts[part][rows.start] - first
            end = begin + len(references) * (stop - start)
            scores = values[begin:end].reshape(len(references), stop - start, width)
            sums[start:stop] = np.einsum("r,rhk->hk", distinct.weights[references], scores)
            begin = end
        return sums

    found = each(work, len(blocks), threads=threads or available_processors(), progress=progress)
    sums = np.zeros((len(distinct.texts), width))
    for (begin, end), part in zip(blocks, found, strict=True):
        sums[firsts[begin] : lasts[end - 1]] += part
    expected = sums[:, 0] if average == "scores" else metric.score(sums)
    return np.asarray(expected[distinct.places])


def uniform(offsets: IntArray) -> FloatArray:
    """Return (H,) weights that are equal in each list, and add to 1."""
    sizes = np.diff(offsets)
    return np.repeat(1.0 / sizes, sizes)


def by_model(
    offsets: IntArray,
    scores: FloatArray,
    *,
    temperature: float | None = None,
    size: int | None = None,
) -> FloatArray:
    """Return (H,) weights of hypotheses as references, by what the model thinks of them.

    Parameters
    ----------
    offsets : (S + 1,) int64
        Those of list s are `offsets[s]:offsets[s + 1]`.
    scores : (H,) float64
        Model scores; higher is better.
    temperature
        Weights are the softmax of this many times the scores, at most `LARGEST` times; None: all
        equal.
    size
        So many of each list with the highest scores, of equal ones the first; all others weigh 0.
        None: all.
    """
    weights = np.zeros(len(scores))
    for begin, end in pairwise(offsets.tolist()):
        own = scores[begin:end]
        kept = begin + np.argsort(-own, kind="stable")[:size]
        logits = min(temperature or 0.0, LARGEST) * scores[kept]
        shares = np.exp(logits - logits.max())
        weights[kept] = shares / shares.sum()
    return weights


def _distinct(texts: Texts, offsets: IntArray, weights: FloatArray) -> _Distinct:
    """Return the distinct texts of each list, the first of equal ones with the weights of all."""
    tokens = flat(texts.tokens)
    firsts: IntArray = first_equals(tokens.values, tokens.offsets, offsets)
    rows = np.flatnonzero(firsts == np.arange(len(firsts)))
    if len(rows) == len(firsts):
        return _Distinct(texts, offsets, weights, rows)
    places = np.searchsorted(rows, firsts)
    summed = np.bincount(places, weights, minlength=len(rows)).astype(np.float64)
    return _Distinct(texts.take(rows), np.searchsorted(rows, offsets), summed, places)


def _runs(segments: IntArray) -> Iterator[slice]:
    """Yield where each run of equal numbers begins and ends."""
    begins = np.flatnonzero(np.diff(segments, prepend=-1)).tolist()
    for begin, end in zip(begins, [*begins[1:], len(segments)], strict=True):
        yield slice(begin, end)


def _blocks(segments: IntArray, sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Yield ranges of references that are worked on at once: of several lists, or of a part.

    Parameters
    ----------
    segments, sizes : (Q,) int64
        The list of each reference, and how many hypotheses it has.
    """
    begin, pairs = 0, 0
    for run in _runs(segments):
        size = int(sizes[run.start])
        own = size * (run.stop - run.start)
        if pairs and pairs + own > PAIRS_PER_BLOCK:
            yield begin, run.start
            begin, pairs = run.start, 0
        step = max(PAIRS_PER_BLOCK // size, REFERENCES_PER_BLOCK)
        while run.stop - begin > step and begin >= run.start:
            yield begin, begin + step
            begin += step
        pairs += size * (run.stop - max(begin, run.start))
    if begin < len(segments):
        yield begin, len(segments)
