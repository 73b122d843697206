"""What looks wrong about features that a user adds: functions of the references.

A column that copies an outcome is noticed in nbest/findings.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric

from ..nbest.model import NBest
from ..texts import statistics
from . import registry
from .features import Feature

MOST_HYPOTHESES = 600
"""Hypotheses that are looked at."""
LEAST_HYPOTHESES = 20
LEAST_COMPARED = 40
"""Hypotheses, besides one in each segment, below which nothing is said of ranks."""
ALIKE = 0.999
"""The correlation above which a feature is a function of another column."""
ALIKE_RANKS = 0.995
"""The correlation of ranks within segments above which it is."""
MOST_REFERENCES = 4
"""References that are also taken one by one."""
JUDGES = (
    "wer", "per", "cer", "ter", "wil", "mer", "chrf", "chrf:word_order=2", "bleu:smooth=exp",
    "bleu:smooth=exp,effective_order=true", "bleu:smooth=moses+1", "ribes", "nist", "meteor",
)  # fmt: skip
"""Metrics of the references that a feature is compared with, besides the metric tuned on."""


def doubtful_features(
    features: Sequence[Feature], nbest: NBest, batch: Batch, metric: Metric
) -> dict[str, str]:
    """Return what looks wrong about added features, a line each by name.

    Parameters
    ----------
    features
        The features that the user added.
    nbest
        The lists with these features.
    batch
        The same hypotheses with their references.
    metric
        The metric tuned on.
    """
    columns = [name for name, size in nbest.feature_names for _ in range(size)]
    # Lengths and the like are computed from the lists alone.
    read = [feature.name for feature in features if feature.files and feature.name in columns]
    return _functions_of_references(
        {name: nbest.features[:, columns.index(name)] for name in read},
        batch,
        [metric, *(registry.metric(feature.metric) for feature in features if feature.metric)],
    )


def _functions_of_references(
    features: Mapping[str, FloatArray], batch: Batch, metrics: Sequence[Metric]
) -> dict[str, str]:
    """Return a line for each feature that a metric, or the share of known words, explains."""
    sample = np.unique(np.linspace(0, len(batch) - 1, 60).astype(np.int64))
    starts, sizes = batch.offsets[sample], np.diff(batch.offsets)[sample]
    each = max(1, MOST_HYPOTHESES // len(sample))
    sizes = np.minimum(sizes, each)
    rows = np.concatenate(list(map(np.arange, starts, starts + sizes)))
    varying = {name: column[rows] for name, column in features.items() if column[rows].std() > 0}
    lines: dict[str, str] = {}
    if not varying or len(rows) < LEAST_HYPOTHESES or not len(batch.references):
        return lines
    segments = np.repeat(np.arange(len(sizes)), sizes)
    ranks = {name: _ranks(values, segments) for name, values in varying.items()}
    for description, scores in _scores_by_references(batch.take(rows), metrics):
        scored = _ranks(scores, segments)
        for name in list(varying):
            same_ranks = len(rows) - len(sizes) >= LEAST_COMPARED and _alike(
                ranks[name], scored, ALIKE_RANKS
            )
            if same_ranks or _alike(varying[name], scores, ALIKE):
                del varying[name]
                how = "" if not same_ranks else "of ranks within segments "
                least = ALIKE_RANKS if same_ranks else ALIKE
                lines[name] = (
                    f"feature {name} is {description}, or a function of it (correlation {how}"
                    f"above {least}): where there are no references, there is no such feature, so "
                    f"the result means nothing"
                )
        if not varying:
            break
    return lines


def _scores_by_references(
    batch: Batch, metrics: Sequence[Metric]
) -> Iterator[tuple[str, FloatArray]]:
    """Yield names, and (H,) scores against all references and against each alone."""
    judges = dict.fromkeys([*metrics, *map(registry.metric, JUDGES)])
    most = int(np.diff(batch.reference_offsets).max(initial=0))
    alone = range(min(most, MOST_REFERENCES)) if most > 1 else ()
    for part in [batch, *(_one_reference(batch, number) for number in alone)]:
        words = [
            np.mean([word in set().union(*references) for word in words]) if words else 0.0
            for words, references in part.words()
        ]
        yield (
            "the share of its words that these references have",
            np.array(words, dtype=np.float64),
        )
        for judge in judges:
            if judge.needs or judge.of_lists or not judge.reads_references or judge.reads_gold:
                continue
            stats = statistics.compute_stats(judge, part)
            scores = np.asarray(judge.score(stats), dtype=np.float64)
            if np.isfinite(scores).all():
                yield f"{judge.name()} of the hypotheses against these references", scores


def _one_reference(batch: Batch, number: int) -> Batch:
    """Return a batch with one reference a segment: of this number, or the last."""
    first, counts = batch.reference_offsets[:-1], np.diff(batch.reference_offsets)
    rows = (first + np.minimum(number, counts - 1))[counts > 0]
    offsets = np.concatenate([[0], np.cumsum(counts > 0)]).astype(np.int64)
    return replace(batch, references=batch.references.take(rows), reference_offsets=offsets)


def _ranks(values: FloatArray, segments: IntArray) -> FloatArray:
    """Return the ranks of values within segments, less their mean; ties share one."""
    from scipy.stats import rankdata  # noqa: PLC0415  start-up time

    by_segment = np.split(values, np.flatnonzero(np.diff(segments)) + 1)
    return np.concatenate([rankdata(part) - (len(part) + 1) / 2 for part in by_segment])


def _alike(a: FloatArray, b: FloatArray, least: float) -> bool:
    if a.std() == 0 or b.std() == 0:
        return False
    return bool(abs(np.corrcoef(a, b)[0, 1]) > least)
