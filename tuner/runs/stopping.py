"""Decides when the outer loop ends and which iteration is the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from portmert.metrics._base import Metric
from portmert.tuner.ground.errors import counted


@dataclass(frozen=True)
class Iteration:
    """Holds one pass of the outer loop; all scores on the metric's own scale.

    Parameters
    ----------
    number
        Counted from 1.
    hypotheses, new
        Distinct hypotheses of all lists so far; those that this iteration's list added.
    dev_score
        Of the decoder's own best output under this iteration's weights; where a part of the dev
        set is held out, of the others.
    held_out_score
        The same of what is held out; None where nothing is.
    start_score, optimized_score
        Of the best hypotheses of all lists so far, under the weights that the search began at and
        under those it found; None where the iteration only decoded.
    change
        How far the next iteration's weights are from these, see `weight_change` in
        `portmert.tuner.search.averaging`.
    unseen_score
        An estimate of the score on unseen text under this iteration's weights: the dev score less
        what weights found by these searches score more on segments that they were found on than
        on segments held out. None where the optimizer holds none out.
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

    @property
    def real_score(self) -> float:
        """The score that the best iteration is chosen by: held out, else estimated, else dev."""
        known = (self.held_out_score, self.unseen_score)
        return next((score for score in known if score is not None), self.dev_score)

    @property
    def judged_by(self) -> str:
        """What `real_score` is."""
        if self.held_out_score is not None:
            return "the held-out score"
        return "the dev score" if self.unseen_score is None else "the estimate for unseen text"

    def as_line(self, metric: Metric) -> str:
        """Return it as one line; scores as the metric shows them."""
        line = (
            f"iteration {self.number}: {self.hypotheses:7d} hypotheses, "
            f"{self.new:6d} new, dev {metric.shown(self.dev_score):>6}"
        )
        if self.held_out_score is not None:
            line += f", held out {metric.shown(self.held_out_score):>6}"
        if self.unseen_score is not None:
            line += f", unseen {metric.shown(self.unseen_score):>6}"
        if self.start_score is None or self.optimized_score is None:
            return line
        return (
            f"{line}; optimized over all lists {metric.shown(self.start_score):>6} -> "
            f"{metric.shown(self.optimized_score):>6}, weights change {self.change:.4f}"
        )


def stop_reason(
    iterations: Sequence[Iteration],
    *,
    most: int,
    patience: int,
    min_weight_change: float,
    metric: Metric,
) -> str | None:
    """Say why the loop ends after these iterations, or None.

    Asked twice in each iteration: when it has been decoded and when it has been optimized.
    """
    last = iterations[-1]
    if last.number > 1 and last.new == 0:
        return "the decoder found no new hypothesis"
    stale = last.number - best_iteration(iterations, metric).number
    if stale >= patience:
        return f"{last.judged_by} has not risen for {counted(stale, 'iteration')}"
    if last.number > most:
        return f"the limit of {counted(most, 'search')} is reached"
    if last.change is not None and last.change < min_weight_change:
        return f"the weights stand still (change {last.change:.2g})"
    return None


def best_iteration(iterations: Sequence[Iteration], metric: Metric) -> Iteration:
    """Return the earliest iteration of the best score, see `Iteration.real_score`."""
    return max(iterations, key=lambda iteration: metric.oriented(iteration.real_score))
