"""Goes through several references and keeps the one that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from portmert.metrics._base import Batch, FloatArray
from portmert.metrics._ngrams import require_references


def each_reference(batch: Batch) -> Iterator[Batch]:
    """Yield the batch with one reference a segment: the first of each, then the second, ...

    A segment with fewer references than others has its first one again.
    """
    require_references(batch)
    starts, counts = batch.reference_offsets[:-1], np.diff(batch.reference_offsets)
    if (counts == 1).all():
        yield batch
        return
    for k in range(int(counts.max())):
        yield replace(
            batch,
            references=batch.references.take(starts + np.where(k < counts, k, 0)),
            reference_offsets=np.arange(len(batch) + 1),
            whole=batch.corpus,
        )


def best_reference(
    batch: Batch,
    stats: Callable[[Batch], FloatArray],
    score: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return (H, K): the statistics against the reference under which each hypothesis scores best.

    `stats` sees batches with one reference a segment; of equal scores the first counts.
    """
    singles = each_reference(batch)
    best = stats(next(singles))
    best_scores: FloatArray | None = None
    for single in singles:
        if best_scores is None:  # not before it is needed: most test sets have one reference
            best_scores = score(best)
        rows = stats(single)
        scores = score(rows)
        better = scores > best_scores
        best = np.where(better[:, np.newaxis], rows, best)
        best_scores = np.where(better, scores, best_scores)
    return best
