"""What looks wrong about features that a user adds: copies, and functions of the references."""

from collections.abc import Sequence

import numpy as np

from portmert.metrics._base import Batch, FloatArray, Metric
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import NBest
from portmert.tuner.texts import statistics

MOST_HYPOTHESES = 600
"""Hypotheses that are looked at."""
LEAST_HYPOTHESES = 20
ALIKE = 0.999
"""The correlation above which a feature is a function of another column."""
JUDGES = ("chrf", "chrf:word_order=2", "bleu:smooth=exp", "bleu:smooth=moses+1", "ter", "wer")
"""Metrics of the references that a feature is compared with, besides the metric tuned on."""


def doubtful_features(
    names: Sequence[str], nbest: NBest, batch: Batch, metric: Metric
) -> list[str]:
    """Return what looks wrong about added features, a line each.

    A feature that is constant within each segment is told where it is read.

    Parameters
    ----------
    names
        The names of the features that the user added.
    nbest
        The lists with these features.
    batch
        The same hypotheses with their references.
    metric
        The metric tuned on.
    """
    columns = [name for name, size in nbest.feature_names for _ in range(size)]
    spread = nbest.features.std(axis=0)
    lines, added = [], [columns.index(name) for name in names if name in columns]
    for place in added:
        for other in range(len(columns)):
            if other == place or (other in added and other > place):
                continue
            if min(spread[place], spread[other]) > 0 and _alike(
                nbest.features[:, place], nbest.features[:, other], 1 - 1e-9
            ):
                lines.append(
                    f"feature {columns[place]} is a copy of {columns[other]}, but for its scale: "
                    f"it adds nothing; leave one of them out"
                )
                break
    chosen = np.unique(np.linspace(0, len(batch) - 1, 60).astype(np.int64))
    starts, sizes = batch.offsets[chosen], np.diff(batch.offsets)[chosen]
    each = max(1, MOST_HYPOTHESES // len(chosen))
    ends = starts + np.minimum(sizes, each)
    rows = np.concatenate(list(map(np.arange, starts, ends)))
    varying = [place for place in added if nbest.features[rows, place].std() > 0]
    if not varying or len(rows) < LEAST_HYPOTHESES or not len(batch.references):
        return lines
    part = batch.take(rows)
    for judge in dict.fromkeys([metric, *map(registry.metric, JUDGES)]):
        if judge.needs or judge.of_lists or not judge.reads_references or judge.reads_gold:
            continue
        scores = np.asarray(judge.score(statistics.compute_stats(judge, part)), dtype=np.float64)
        for place in list(varying):
            if np.isfinite(scores).all() and _alike(nbest.features[rows, place], scores, ALIKE):
                varying.remove(place)
                lines.append(
                    f"feature {columns[place]} is {judge.name()} of the hypotheses against these "
                    f"references (correlation above {ALIKE}): where there are no references, "
                    f"there is no such feature, so the result means nothing"
                )
    return lines


def _alike(a: FloatArray, b: FloatArray, least: float) -> bool:
    if a.std() == 0 or b.std() == 0:
        return False
    return bool(abs(np.corrcoef(a, b)[0, 1]) > least)
