"""The iterations of a run, which is the best, and the result; stopping.py says when they end."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from portmert.metrics._base import Metric

from ..search.results import Confidence
from ..weights.feature_weights import FeatureWeights
from .promises import Promise
from .records import EQUALS_START, Scored


@dataclass(frozen=True)
class Iteration:
    """One pass of the outer loop; all scores are on the metric's own scale.

    Parameters
    ----------
    number
        The number of the iteration, from 1.
    hypotheses, new
        Number of distinct hypotheses in all lists so far, and of those that this iteration added.
    dev_score
        Score of the decoder's own best output under this iteration's weights, on the segments
        that are not held out.
    held_out_score
        The same on the held-out segments; None if there are none.
    start_score, optimized_score
        Score of the best hypotheses in all lists so far, under the weights at which the search
        began and under those that it found; None if the iteration only decoded.
    change
        The distance of the next iteration's weights from these, see `weight_change` in
        `portmert.tuner.search.averaging`.
    unseen_score
        An estimate of the score on unseen text under this iteration's weights: the dev score, less
        the advantage of segments that were tuned on over held-out segments in these searches. None
        if the optimizer holds no segments out.
    gain, gain_error
        How much higher the next iteration's weights score than these, by the best hypotheses in
        all lists so far, and its standard error over bootstrap samples; above 0 is better. None if
        the step was cut short, see `step_share` in `portmert.tuner.search.averaging`; the error
        also if the gain is equal in all samples.
    is_decoded
        False for weights that were found at the end of the run and not decoded: `dev_score` is
        then the score of the best hypotheses in all lists.
    promise
        What the lists promised of these weights before they were decoded; None for the start.
    """

    number: int
    hypotheses: int
    new: int
    dev_score: float
    held_out_score: float | None = None
    start_score: float | None = None
    optimized_score: float | None = None
    change: float | None = None
    unseen_score: float | None = None
    gain: float | None = None
    gain_error: float | None = None
    is_decoded: bool = True
    promise: Promise | None = None

    @property
    def real_score(self) -> float:
        """The score that chooses the best iteration: held out, else estimated, else dev."""
        scores = (self.held_out_score, self.unseen_score)
        return next((score for score in scores if score is not None), self.dev_score)

    @property
    def judged_by(self) -> str:
        """The name of `real_score` in messages."""
        if self.held_out_score is not None:
            return "the held-out score"
        return "the dev score" if self.unseen_score is None else "the estimate for unseen text"

    def as_line(self, metric: Metric) -> str:
        """Return the iteration as one line, with scores as the metric shows them."""
        dev = f"{metric.display.labelled('dev')} {metric.shown(self.dev_score):>6}"
        line = (
            f"iteration {self.number}: {self.hypotheses:7d} hypotheses, {self.new:6d} new, {dev}"
        )
        if self.held_out_score is not None:
            line += f", held out {metric.shown(self.held_out_score):>6}"
        if self.unseen_score is not None:
            line += f", unseen {metric.shown(self.unseen_score):>6}"
        if self.promise is not None:
            line += f" ({self.promise.text(metric)})"
        if not self.is_decoded:
            line += " (predicted, not decoded)"
        if self.start_score is None or self.optimized_score is None:
            return line
        return (
            f"{line}; optimized over all lists {metric.shown(self.start_score):>6} -> "
            f"{metric.shown(self.optimized_score):>6}, weights change {self.change:.4f}"
        )


def best_iteration(iterations: Sequence[Iteration], metric: Metric) -> Iteration:
    """Return the earliest iteration with the best score, see `Iteration.real_score`."""
    return max(iterations, key=lambda iteration: metric.oriented(iteration.real_score))


def gain_line(best: Iteration, gain: tuple[float, float | None], metric: Metric) -> str:
    """Return the gain of the best iteration over the start weights as a line, with its error."""
    value, error = gain
    spread = metric.display.shown_spread
    shown = f"{'-' * (value < 0)}{spread(abs(value))}"
    shown += "" if error is None else f" ± {spread(error)}"
    worse = "; the start weights are better" if value < 0 else ""
    return f"gain over the start weights: {shown}, by {best.judged_by}{worse}"


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Parameters
    ----------
    metric
        Signature of the metric that was tuned on.
    score, start_score
        Dev scores of the decoder's best output under the result and under the start weights.
    best
        The iteration whose weights are the result: the earliest with the best score. The score is
        the held-out one, or else the estimate for unseen text, or else the dev score. Iteration 1
        has the start weights.
    stopped
        The reason why the loop ended.
    held_out
        Score of the held-out segments under the result; None if there are none.
    unseen
        Estimate of the score on unseen text under the result; None if the optimizer makes none.
    gain, gain_error
        How much better the result is than the start weights, by the score that chose it, and the
        standard error; above 0 is better. No error: the score is of other segments, or there is
        none.
    test
        Score of the test set under the result; None if there is none.
    start_test
        The same under the start weights; None for replicas behind the first, which share it.
    confidence
        Percentiles of the weights over bootstrap samples; None if none were asked for.
    start_list, dev_list, test_list, start_test_list
        The n-best lists of the dev set under the start weights and under the result, and of the
        test set under the result and under the start weights (None if there is none); the first
        hypothesis of each segment is the output. If the result was not decoded, `dev_list` is of
        the weights before it.
    warnings
        What looks wrong with the data, one line each.
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
    gain: float = 0.0
    gain_error: float | None = None
    start_test: Scored | None = None
    start_test_list: Path | None = None
    warnings: tuple[str, ...] = ()

    @property
    def keeps_start(self) -> str:
        """A sentence if tuning found nothing better than the start weights, else nothing."""
        if self.best > 1:
            return ""
        return f"{EQUALS_START} ({self.iterations[0].judged_by} got no better)"
