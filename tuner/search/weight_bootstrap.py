"""Measure how sure weights are: tune again on segments drawn with replacement."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from portmert.metrics._base import IntArray, Metric

from ..base import streams
from ..base.context import current
from ..base.threads import Team
from ..base.variation import is_constant
from ..base.warn import collected_notices, notice
from ..nbest.model import NBest, without_texts
from ..weights.feature_weights import FeatureWeights, columns_by_name
from . import averaging, weight_search
from .results import PERCENTILES, Confidence
from .stat_table import StatTable


def resampled(segments: int, *, seed: int, sample: int) -> tuple[IntArray, int]:
    """Return (S,) segments drawn with replacement, rising, and a seed for what follows."""
    rng, following = streams.weight_sample(seed, sample)
    return np.sort(rng.integers(0, segments, size=segments)), following


def bootstrap(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: weight_search.Setup,
    samples: Sequence[int],
    *,
    segments: IntArray | None = None,
) -> Iterator[tuple[int, FeatureWeights]]:
    """Yield samples and the weights found on each, in the order in which their searches end.

    The workers of the context's cluster search, or threads here, each with a copy of the features.
    Lists whose statistics are not all known are searched here too: a sample asks for few of them.

    Parameters
    ----------
    stats : StatTable
        Statistics of the lists' hypotheses.
    setup : Setup
        How the weights were found, with the result as the first start: each sample is searched
        once from there, with a seed of its own. An optimizer that holds segments out begins at
        `toward`, which was found on none of them.
    samples : sequence of int
        The samples, counted from 0.
    segments : (n,) int64, optional
        The segments that the weights were found on, if not all.
    """
    workers, cluster = Team(current().threads), current().cluster
    if cluster is not None:
        if not stats.can_travel:
            notice(
                "bootstrap samples are searched on this machine: they ask for the statistics of "
                "few hypotheses, and workers would need all of them"
            )
        else:
            workers = cluster
            nbest = without_texts(nbest)
    shared = workers.shared(nbest), workers.shared(stats)
    tasks = [(*shared, metric, setup, sample, segments) for sample in samples]
    name_of_sample = "bootstrap sample {}".format
    for place, weights in workers.run(found_on, tasks, phase="sampling", name_of=name_of_sample):
        yield samples[place], weights


def found_on(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: weight_search.Setup,
    sample: int,
    segments: IntArray | None = None,
) -> FeatureWeights:
    """Return the weights found on one bootstrap sample of the segments, see `bootstrap`."""
    drawn, seed = resampled(
        len(nbest) if segments is None else len(segments), seed=setup.seed, sample=sample
    )
    toward = setup.toward if setup.optimizer.holds_out else None
    once = replace(
        setup,
        seed=seed,
        starts=setup.starts[:1] if toward is None else (toward,),
        optimizer=replace(setup.optimizer, restarts=1),
    )
    with collected_notices():  # the search for the weights has given the same ones
        search = weight_search.find_weights(
            nbest,
            stats,
            metric,
            once,
            segments=drawn if segments is None else segments[drawn],
        )
    return search.weights


def confidence(weights: Sequence[FeatureWeights]) -> Confidence:
    """Return the percentiles of each weight over samples, at least one."""
    names, rows = averaging.stacked(weights)
    percentiles = [
        None if is_constant(column) else np.percentile(column, PERCENTILES).tolist()
        for column in rows.T
    ]
    columns = columns_by_name(names.items()).items()
    return Confidence(len(weights), {name: percentiles[part] for name, part in columns})
