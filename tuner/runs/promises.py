"""What the lists promised of an iteration's weights, and what the decoder then made of them."""

from dataclasses import dataclass

import numpy as np

from portmert.metrics._base import FloatArray, Metric

from ..base.variation import is_constant
from ..search.unseen import CLEARLY_BETTER, error_without_folds

DECODED = "of the decoder's own best output"
PREDICTED = "what the lists promise; nothing was decoded with these weights"
"""Of which output a score of weights is."""


@dataclass(frozen=True)
class Promise:
    """The score of weights on the lists before they were decoded, and the score of the output.

    Parameters
    ----------
    predicted, decoded
        On the metric's own scale.
    error
        The standard error of their difference; None if no folds tell it.
    """

    predicted: float
    decoded: float
    error: float | None

    @property
    def is_kept(self) -> bool:
        """Whether nothing shows that it was broken: the two differ by at most the error."""
        return self.error is None or abs(self.decoded - self.predicted) <= self.error

    def is_exceeded(self, metric: Metric) -> bool:
        """Return whether the output is better than was promised, by `CLEARLY_BETTER` errors."""
        more = metric.oriented(self.decoded) - metric.oriented(self.predicted)
        return self.error is not None and more > CLEARLY_BETTER * self.error

    def text(self, metric: Metric) -> str:
        """Return both scores and the error as one reads them."""
        shown = metric.shown
        error = "" if self.error is None else f" ± {metric.display.shown_spread(self.error)}"
        return f"predicted {shown(self.predicted)}, decoded {shown(self.decoded)}{error}"


def promise_of(predicted: tuple[float, FloatArray], decoded: tuple[float, FloatArray]) -> Promise:
    """Return the two scores of one iteration's weights, with the error of the difference.

    Parameters
    ----------
    predicted, decoded : score and (K,) float64
        The score, and the oriented score without each of K folds of segments. With one fold, or
        equal differences without each of them, there is no error.
    """
    differences = np.asarray(decoded[1]) - predicted[1]
    error = None if is_constant(differences) else error_without_folds(differences)
    return Promise(predicted[0], decoded[0], error)


def cause(promise: Promise, metric: Metric, *, new_share: float, is_same: bool) -> str:
    """Return the likely cause why a promise was not kept.

    Parameters
    ----------
    new_share
        The share of segments whose output was in no list before.
    is_same
        Whether the output is what the weights before gave, though the lists promised another.
    """
    if is_same:
        return "the output did not change with the weights: do they reach the decoder?"
    is_lower = metric.oriented(promise.decoded) < metric.oriented(promise.predicted)
    if new_share > 0:
        tendency = "worse" if is_lower else "better"
        return (
            f"{new_share:.0%} of the output was in no list before, and is {tendency} than what "
            f"the lists held; more decodings bring the two together"
        )
    return (
        "the output was in the lists, but is not what these weights choose from them: the decoder "
        "prunes differently or uses features that its lists do not have"
    )
