"""Metrics that say what they are told of two test sets."""

from dataclasses import replace

import numpy as np

from portmert.extensions.metaeval.data import Judged, MetricScores
from portmert.extensions.metaeval.evaluation import evaluate
from portmert.metrics.terp import Ter
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.texts.groups import Groups


class Given(Ter):
    """A metric of which each statistic is a score: a corpus has the mean."""

    higher_is_better = True

    def score(self, stats):
        return stats[..., 0] / np.maximum(stats[..., 1], 1.0)


def given_scores(scores, label="given"):
    return MetricScores(label, Given(), label, np.stack([scores, np.ones(scores.shape)], axis=-1))


def two_sets(likeness=None):
    """Measures of two test sets with different systems."""
    rng = np.random.default_rng(11)
    sets = []
    for number, (segments, names) in enumerate(((12, "ABC"), (9, "DEFG")), 1):
        human = rng.normal(size=(segments, len(names)))
        people = Judged(
            tuple(names), human, np.arange(1.0, segments + 1), {"document": Groups(
                tuple(f"{number}.{d}" for d in range(segments // 3)), np.arange(segments) // 3, "",
            )},
        )  # fmt: skip
        scores = [
            given_scores(human + noise * rng.normal(size=human.shape), f"noise {noise}")
            for noise in (0.5, 1.0, 2.0)
        ]
        scores = [replace(score, likeness=likeness and likeness(human)) for score in scores]
        sets.append(evaluate(people, scores, Resampling(samples=40), name=f"set {number}"))
    return sets
