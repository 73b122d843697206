"""Make tables of sufficient statistics."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, Texts

from ..base.errors import InputError, counted
from ..base.warn import warn_of
from ..nbest.model import NBest
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
    if nbest.statistics is not None:
        return StatTable(statistics_in(nbest, metric))
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


def statistics_in(nbest: NBest, metric: Metric) -> FloatArray:
    """Return the (H, K) statistics that lists have if they can be those of `metric`.

    Raises
    ------
    InputError
        They are another metric's, or no text has them.
    """
    rows, name, where, _ = nbest.counted
    theirs, width = name.lower(), rows.shape[1]
    if (name and theirs != metric.name()) or width != len(metric.stat_names):
        is_named = theirs == metric.name() or "," in theirs  # a mean of several has no such name
        another = "" if is_named or not name else f"--metric {theirs}, or "
        raise InputError(
            f"{where}: {counted(width, 'statistic')}{f' of {name}' if name else ''}, metric "
            f"{metric.name()} has {len(metric.stat_names)}: {', '.join(metric.stat_names)}; give "
            f"{another}the n-best lists and references in their place"
        )
    wrong = _impossible(rows, metric) if name else None  # others may be expected counts
    if wrong is not None:
        row, reason = wrong
        segment = int(np.searchsorted(nbest.offsets, row, side="right")) - 1
        hypothesis = row - int(nbest.offsets[segment]) + 1
        raise InputError(
            f"{where}: segment {nbest.names[segment]}, hypothesis {hypothesis}: {reason}; no text "
            f"has such statistics of {metric.name()}: make the file again"
        )
    return rows


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
