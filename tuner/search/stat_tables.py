"""Makes tables of sufficient statistics, from texts or from Moses' scores.dat."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tuner.errors import InputError
from tuner.search.problem import StatTable
from tuner.texts.corpus import References, make_batch
from tuner.texts.statistics import compute_stats, notices

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics._base import FloatArray, IntArray, Metric, Texts
    from tuner.nbest.model import NBest
    from tuner.nbest.moses_dat import DatLists

    Annotate = Callable[[IntArray], Texts]


def statistics_table(
    nbest: NBest,
    references: References,
    metric: Metric,
    *,
    threads: int,
    notice: Callable[[str], None],
    annotate: Annotate | None = None,
) -> StatTable:
    """Return the statistics of all hypotheses, and say what is odd about the hypotheses.

    Parameters
    ----------
    annotate : callable, optional
        Takes (n,) int64 hypotheses and returns their texts with what else the metric needs. It is
        slow, so that statistics are then computed only of hypotheses that are asked for.

    Raises
    ------
    InputError
        Lists and references do not fit, or the metric needs what they lack.
    """
    batch = make_batch(nbest.texts, nbest.offsets, references, lines=nbest.lines)
    if annotate is None:
        table = StatTable(compute_stats(metric, batch, threads=threads))
    else:
        make_texts = annotate

        def compute(hypotheses: IntArray) -> FloatArray:
            part = replace(batch.take(hypotheses), hypotheses=make_texts(hypotheses))
            return compute_stats(metric, part, threads=threads)

        shape = (len(nbest.texts), len(metric.stat_names))
        table = StatTable(np.zeros(shape), compute)
    for line in notices(metric, batch):
        notice(line)
    return table


def moses_stats(lists: DatLists, metric: Metric) -> FloatArray:
    """Return the (H, K) statistics of a scores.dat if they are those of `metric`.

    Raises
    ------
    InputError
        They are another metric's.
    """
    if lists.score_name.lower() != metric.name() or lists.stats.shape[1] != len(metric.stat_names):
        raise InputError(
            f"scores.dat holds {lists.stats.shape[1]} statistics of {lists.score_name}, metric "
            f"{metric.name()} has {len(metric.stat_names)}; give --metric "
            f"{lists.score_name.lower()}, or the n-best lists and references in place of the files"
        )
    return lists.stats
