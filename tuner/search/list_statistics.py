"""Make tables of sufficient statistics, from texts or from Moses' scores.dat."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, Texts

from ..base.errors import InputError
from ..base.warn import warn_of
from ..nbest.model import NBest
from ..nbest.moses_dat import DatLists
from ..texts import corpus, statistics
from .stat_table import StatTable

Annotate = Callable[[IntArray], Texts]


_NGRAMS = re.compile(r"(?:\w+\.)?(?:matched|total|ref_total)_\d+")
_AMOUNTS = frozenset({"correct", "edits", "hyp_len", "ref_len", "segments"})
_MOST = 1e15
"""The largest statistic of one hypothesis: sums over any list are still exact."""


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


def moses_stats(lists: DatLists, metric: Metric) -> FloatArray:
    """Return the (H, K) statistics of a scores.dat if they can be those of `metric`.

    Raises
    ------
    InputError
        They are another metric's, or no text has them.
    """
    theirs, width = lists.score_name.lower(), lists.stats.shape[1]
    if theirs != metric.name() or width != len(metric.stat_names):
        is_named = theirs == metric.name() or "," in theirs  # a mean of several has no such name
        another = "" if is_named else f"--metric {theirs}, or "
        raise InputError(
            f"{lists.scores_in} holds {width} statistics of {lists.score_name}, metric "
            f"{metric.name()} has {len(metric.stat_names)}; give {another}the n-best lists and "
            f"references in place of the files"
        )
    wrong = _impossible(lists.stats, metric)
    if wrong is not None:
        row, reason = wrong
        segment = int(np.searchsorted(lists.offsets, row, side="right")) - 1
        hypothesis = row - int(lists.offsets[segment]) + 1
        raise InputError(
            f"{lists.scores_in}: segment {segment}, hypothesis {hypothesis}: {reason}; no text "
            f"has such statistics of {metric.name()}: make the file again"
        )
    return lists.stats


def _impossible(stats: FloatArray, metric: Metric) -> tuple[int, str] | None:
    """Return the first hypothesis whose statistics cannot be counts, and why."""
    names = metric.stat_names
    for name, values in zip(names, stats.T, strict=True):
        of_ngrams = _NGRAMS.fullmatch(name)
        checks = [(np.abs(values) > _MOST, "is larger than any count")]
        if of_ngrams or name in _AMOUNTS:
            checks.append((values < 0, "is negative"))
        if of_ngrams:
            checks.append((values != np.floor(values), "is no whole number"))
        above = (name.replace("matched", "total"), name.replace("matched", "ref_total"))
        checks += [
            (values > stats[:, names.index(most)], f"is above {most}")
            for most in above
            if most != name and most in names
        ]
        for wrong, reason in checks:
            if wrong.any():
                row = int(np.argmax(wrong))
                return row, f"{name} is {values[row]:g}, which {reason}"
    return None
