"""Make tables of sufficient statistics."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, Texts

from ..base.warn import warn_of
from ..nbest.model import NBest
from ..texts import corpus, statistics
from .stat_table import StatTable

Annotate = Callable[[IntArray], Texts]


def statistics_table(
    nbest: NBest,
    references: corpus.References,
    metric: Metric,
    *,
    annotate: Annotate | None = None,
    check: bool = True,
) -> StatTable:
    """Return the statistics of all hypotheses, and warn of what is odd about the hypotheses.

    Parameters
    ----------
    check
        Whether to warn.
    annotate : callable, optional
        Takes (n,) int64 hypotheses and returns their texts with what else the metric needs. It is
        slow, so that statistics are then computed only of hypotheses that are asked for; so are
        those of a metric that reads the source, a neural one.

    Raises
    ------
    InputError
        Lists and references do not fit, or the metric needs what they lack.
    """
    batch = corpus.make_batch(nbest.texts, nbest.offsets, references, outcomes=nbest.outcomes)
    if annotate is None and "source" not in metric.needs:
        table = StatTable(statistics.compute_stats(metric, batch))
    else:
        make_texts = annotate or nbest.texts.take

        def compute(hypotheses: IntArray) -> FloatArray:
            part = replace(batch.take(hypotheses), hypotheses=make_texts(hypotheses))
            return statistics.compute_stats(metric, part)

        shape = (len(nbest.texts), len(metric.stat_names))
        table = StatTable(np.zeros(shape), compute)
    if check:
        warn_of(statistics.notices(metric, batch))
    return table
