"""Evaluates two metrics on next to nothing, for the sake of compiling it."""

from __future__ import annotations

import numpy as np

from portmert.tuner.components import registry
from portmert.tuner.evaluation.metaeval.data import Judged, MetricScores
from portmert.tuner.evaluation.metaeval.evaluation import Settings, evaluate


def warm_up() -> None:
    """Run every kernel of a meta-evaluation on two systems and two segments."""
    metric = registry.metric("bleu")
    stats = np.ones((2, 2, len(metric.stat_names)))
    human = np.array([[0.0, 1.0], [2.0, 0.0]])
    scores = [MetricScores(label, metric, label, stats) for label in ("one", "other")]
    evaluate(Judged(("A", "B"), human, np.ones(2)), scores, Settings(samples=2))
