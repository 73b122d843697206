"""Expected scores of hypotheses against their own list, for minimum Bayes risk."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from portmert.metrics import _pairs, _shared
from portmert.metrics._base import Batch, FloatArray, IntArray, Metric, Texts, Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.metrics.kernels.pairs import first_equals
from portmert.tuner.base import errors
from portmert.tuner.base.threads import each, raise_if_cancelled
from portmert.tuner.texts.statistics import check_texts, checked_stats

Average = Literal["scores", "statistics"]
"""The quantity that is averaged over a list; see `expected_scores`."""

PAIRS_PER_BLOCK = 16_384
"""Large enough for few calls of numpy, small enough for the processor's cache."""
PIECE_SECONDS = 0.5
"""TER compares some thousand pairs in this time, chrF a whole block."""
REFERENCES_PER_BLOCK = 128
"""The least references in a block of a long list: its n-grams are looked up once a block."""


@dataclass(frozen=True, eq=False)
class _Distinct:
    """The distinct texts of lists, and the place of each text among them."""

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
) -> FloatArray:
    """Return (H,) the expected score of each hypothesis over the references in its list.

    Equal texts of a list are compared once: their weights are added, and their scores are equal.

    Parameters
    ----------
    metric
        It reads tokens only. If it counts in all references of a test set, as NIST does,
        it counts here in all distinct hypotheses.
    texts
        H hypotheses, prepared for scoring.
    offsets : (S + 1,) int64
        The hypotheses of list s are `offsets[s]:offsets[s + 1]`.
    weights : (H,) float64
        Weight of each hypothesis as a reference; the weights of a list add to 1. A hypothesis of
        weight 0 is no reference.
    average
        `scores`: the mean of the scores against each reference. `statistics`: the score of the
        mean statistics, as for a text in which the hypothesis stands once beside every reference.
        The two differ if the score is no linear function of the statistics. For BLEU and chrF its
        time grows with the hypotheses, not with the pairs.

    Raises
    ------
    InputError
        The metric needs more than tokens, or a text is too long for it.
    """
    if metric.needs or not metric.reads_references:
        needs = " and ".join(sorted(map(str, metric.needs))) or "no references"
        raise errors.InputError(
            f"metric {metric.name()} reads {needs}; minimum Bayes risk compares the tokens of the "
            f"hypotheses of a list with each other: take a metric of tokens, as chrf or bleu"
        )
    distinct = _distinct(texts, offsets, weights)
    whole = Batch(distinct.texts, distinct.offsets, distinct.texts, distinct.offsets)
    check_texts(metric, whole)
    if average == "statistics":
        lists = _pairs.WeightedLists.of(distinct.texts, distinct.offsets, distinct.weights)
        mean = metric.mean_stats(lists)
        if mean is not None:
            return np.asarray(metric.score(mean)[distinct.places])
    pairs = _Pairs(metric, distinct, whole, scores=average == "scores")
    parts = each(pairs.sums, len(pairs.blocks), phase="comparing")
    return np.asarray(pairs.expected(list(parts))[distinct.places])


class _Pairs:
    """Compares hypotheses with the references of their list, in blocks of references."""

    def __init__(self, metric: Metric, distinct: _Distinct, whole: Batch, *, scores: bool) -> None:
        self._metric = metric
        self._distinct = distinct
        self._whole = whole
        self._scores = scores
        self._piece = 1024  # pairs; later as many as take PIECE_SECONDS
        self._width = 1 if scores else len(metric.stat_names)
        offsets = distinct.offsets
        self._chosen = np.flatnonzero(distinct.weights > 0.0)
        self._segments = np.searchsorted(offsets, self._chosen, side="right") - 1
        self._firsts, self._lasts = offsets[:-1][self._segments], offsets[1:][self._segments]
        self.blocks = list(_blocks(self._segments, self._lasts - self._firsts))

    def sums(self, number: int) -> FloatArray:
        """Return the weighted sums over the references of a block, list after list."""
        part = slice(*self.blocks[number])
        firsts, lasts, references = self._firsts[part], self._lasts[part], self._chosen[part]
        first, last = int(firsts[0]), int(lasts[-1])
        texts = self._distinct.texts.rows(first, last)
        values = self._stats(texts, firsts - first, lasts - first, references - first)
        if self._scores:
            values = self._metric.score(values)[:, np.newaxis]
        sums = np.zeros((last - first, self._width))
        begin = 0
        for rows in _runs(self._segments[part]):
            weights = self._distinct.weights[references[rows]]
            start, stop = firsts[rows.start] - first, lasts[rows.start] - first
            end = begin + len(weights) * (stop - start)
            scores = values[begin:end].reshape(len(weights), stop - start, self._width)
            sums[start:stop] = np.einsum("r,rhk->hk", weights, scores)
            begin = end
        return sums

    def _stats(
        self, texts: Texts, firsts: IntArray, lasts: IntArray, references: IntArray
    ) -> FloatArray:
        """Return the statistics of each pair, in pieces after which the search can be given up."""
        parts, begin, ends = [], 0, np.cumsum(lasts - firsts)
        while begin < len(references):
            raise_if_cancelled()
            before, since = int(ends[begin - 1]) if begin else 0, time.monotonic()
            end = max(int(np.searchsorted(ends, before + self._piece, side="right")), begin + 1)
            pairs = _pairs.PairBatch.of(
                texts, firsts[begin:end], lasts[begin:end], references[begin:end]
            )
            whole = replace(pairs, whole=self._whole)
            parts.append(checked_stats(self._metric, whole, int(ends[end - 1]) - before))
            took = max(time.monotonic() - since, 1e-9)
            self._piece = int(PIECE_SECONDS * (ends[end - 1] - before) / took)
            begin = end
        return np.concatenate(parts)

    def expected(self, parts: list[FloatArray]) -> FloatArray:
        """Return the expected score of each distinct hypothesis from the sums of all blocks."""
        sums = np.zeros((len(self._distinct.texts), self._width))
        for (begin, end), part in zip(self.blocks, parts, strict=True):
            sums[self._firsts[begin] : self._lasts[end - 1]] += part
        return sums[:, 0] if self._scores else np.asarray(self._metric.score(sums))


def _distinct(texts: Texts, offsets: IntArray, weights: FloatArray) -> _Distinct:
    """Return the distinct texts of each list; the first of equal texts has the weights of all."""
    tokens = _shared.flat(texts.tokens)
    firsts: IntArray = first_equals(tokens.values, tokens.offsets, offsets)
    rows = np.flatnonzero(firsts == np.arange(len(firsts)))
    if len(rows) == len(firsts):
        return _Distinct(texts, offsets, weights, rows)
    places = np.searchsorted(rows, firsts)
    summed = np.bincount(places, weights, minlength=len(rows)).astype(np.float64)
    return _Distinct(texts.take(rows), np.searchsorted(rows, offsets), summed, places)


def _runs(segments: IntArray) -> Iterator[slice]:
    """Yield the range of each run of equal numbers."""
    begins = np.flatnonzero(np.diff(segments, prepend=-1)).tolist()
    for begin, end in zip(begins, [*begins[1:], len(segments)], strict=True):
        yield slice(begin, end)


def _blocks(segments: IntArray, sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Yield ranges of references for one block each: of several lists, or of a part of one.

    Parameters
    ----------
    segments, sizes : (Q,) int64
        The list of each reference, and the number of its hypotheses.
    """
    begin, pairs = 0, 0
    for run in _runs(segments):
        size = int(sizes[run.start])
        run_pairs = size * (run.stop - run.start)
        if pairs and pairs + run_pairs > PAIRS_PER_BLOCK:
            yield begin, run.start
            begin, pairs = run.start, 0
        step = max(PAIRS_PER_BLOCK // size, REFERENCES_PER_BLOCK)
        while run.stop - begin > step and begin >= run.start:
            yield begin, begin + step
            begin += step
        pairs += size * (run.stop - max(begin, run.start))
    if begin < len(segments):
        yield begin, len(segments)


def warm_up() -> None:
    """Compile what both averages need, on two hypotheses."""
    texts = Texts.from_lines(["a b c d e", "b a c e d"], Vocabulary())
    for average in get_args(Average):
        expected_scores(Bleu(), texts, np.array([0, 2]), np.full(2, 0.5), average=average)
