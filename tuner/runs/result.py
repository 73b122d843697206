"""Holds what a run found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from portmert.tuner.runs.scorer import Scored
from portmert.tuner.runs.stopping import Iteration
from portmert.tuner.search.weight_bootstrap import Confidence
from portmert.tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True)
class Result:
    """Holds what a run found.

    Parameters
    ----------
    metric
        Signature of the metric tuned on.
    score, start_score
        Dev scores of the decoder's own best output, tuned and with the start weights.
    best
        The iteration whose weights are the result: the earliest of the best score, held out,
        else estimated for unseen text, else of the dev set. The first has the start weights.
    stopped
        Why the loop ended.
    held_out
        Score of what was held out, under the result; None where nothing was.
    unseen
        Estimate of the score on unseen text under the result; None where the optimizer makes none.
    test
        Score of the test set under the result; None where there is none.
    confidence
        Percentiles of the weights over bootstrap samples; None where none were asked for.
    start_list, dev_list, test_list
        The n-best lists of the dev set under the start weights and under the result, and of the
        test set (None where there is none); the first hypothesis of each segment is the output.
    """

    metric: str
    score: float
    start_score: float
    best: int
    stopped: str
    iterations: tuple[Iteration, ...]
    weights: FeatureWeights
    weights_path: Path
    config_path: Path
    held_out: float | None
    unseen: float | None
    test: Scored | None
    confidence: Confidence | None
    start_list: Path
    dev_list: Path
    test_list: Path | None

    @property
    def keeps_start(self) -> str:
        """Say that tuning found nothing better than the start weights, empty if it did."""
        if self.best > 1:
            return ""
        judge = self.iterations[0].judged_by
        return f"the start weights are the result: {judge} got no better"
