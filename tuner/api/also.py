"""Reports tuned weights by metrics that they were not tuned on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from portmert.metrics._base import IntArray, Metric
from portmert.tuner.api.searching import Ended, ListProblem
from portmert.tuner.api.texts import Notice
from portmert.tuner.components.comet import neural
from portmert.tuner.nbest.model import best_hypotheses, model_scores
from portmert.tuner.search.problem import StatTable
from portmert.tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True)
class OtherScore:
    """Holds what another metric says of tuned weights.

    Parameters
    ----------
    metric : Metric
    signature : str
        The metric and all else that scores depend on.
    start_score, score : float
        Of the best hypotheses under the start weights, and under those found.
    unseen_score : float or None
        Of those that were chosen while their segment was held out; None where none was.
    """

    metric: Metric = field(repr=False)
    signature: str
    start_score: float
    score: float
    unseen_score: float | None

    def as_json(self) -> dict[str, object]:
        """Return what `portmert optimize --json` prints."""
        return {
            "metric": self.signature,
            "start_score": self.start_score,
            "final_score": self.score,
            "unseen_score": self.unseen_score,
        }

    def __str__(self) -> str:
        shown = self.metric.shown
        unseen = "" if self.unseen_score is None else f", unseen {shown(self.unseen_score)}"
        return f"{self.signature}: {shown(self.start_score)} -> {shown(self.score)}{unseen}"


def others(
    metrics: Sequence[Metric],
    problem: ListProblem,
    ended: Ended,
    start: FeatureWeights,
    *,
    threads: int,
    notice: Notice,
) -> tuple[OtherScore, ...]:
    """Return what other metrics say of the hypotheses that a search began and ended with."""
    read = problem.read
    chosen = [
        read.best(start, problem.start_alpha),
        best_hypotheses(ended.nbest, model_scores(ended.nbest, ended.found.weights)),
    ]
    if ended.found.unseen_rows is not None:
        chosen.append(ended.found.unseen_rows)
    found = []
    for metric in metrics:
        stats = read.statistics(metric, threads=threads, notice=notice, lazily=True)

        def score(rows: IntArray, metric: Metric = metric, stats: StatTable = stats) -> float:
            return float(metric.score(stats.total(np.asarray(rows, dtype=np.int64))))

        scores = [score(rows) for rows in chosen]
        found.append(
            OtherScore(
                metric,
                problem.ready.signature(metric, read.references.offsets),
                scores[0],
                scores[1],
                scores[2] if len(scores) > 2 else None,
            )
        )
    return tuple(found)


def remind(metric: Metric, also: Sequence[object], notice: Notice) -> None:
    """Say that numbers of a network or from outside should not be the only ones."""
    if also or not (metric.of_lists or any(neural(metric))):
        return
    notice(
        f"{metric.name()}: what such scores reward may not be what readers want, and tuning finds "
        f"it; report other metrics too: --also chrf"
    )
