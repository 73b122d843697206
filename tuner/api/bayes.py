"""Says how minimum Bayes risk compares the hypotheses of a list with each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from portmert.metrics._base import FloatArray, Metric
from portmert.tuner.api.lists import Lists
from portmert.tuner.api.texts import Progress
from portmert.tuner.ground.errors import InputError
from portmert.tuner.texts.mbr import Average, by_model, expected_scores


@dataclass(frozen=True)
class Mbr:
    """Says what expected score hypotheses are chosen by: minimum Bayes risk.

    Parameters
    ----------
    metric
        It reads nothing but tokens.
    temperature
        A hypothesis is taken for the truth with the softmax of this many times its model score:
        under the weights, or in the list where there are none. None: all are as likely.
    size
        Only so many of each list are taken for the truth: the best under the weights; without
        weights the best of the list's own scores where there is a temperature, else the first.
        All hypotheses can be chosen.
    average
        `scores`: the mean of the metric's scores against each truth. `statistics`: the score of
        the mean statistics; see docs/how-to/mbr.md.
    """

    metric: str | Metric
    temperature: float | None = None
    size: int | None = None
    average: Average = "scores"

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.size is not None and self.size < 1:
            raise ValueError(f"size is {self.size}; it must be at least 1")
        if self.temperature is not None and not 0.0 <= self.temperature < math.inf:
            raise ValueError(
                f"temperature is {self.temperature}; it must be 0 or more, and finite"
            )
        if self.average not in ("scores", "statistics"):
            raise ValueError(f"average is {self.average!r}; it is scores or statistics")


def expected(
    mbr: Mbr,
    metric: Metric,
    lists: Lists,
    scores: FloatArray | None,
    progress: Progress | None,
) -> FloatArray:
    """Return (H,) expected scores, such that higher is better.

    Parameters
    ----------
    metric
        That of `mbr`.
    scores : (H,) float64 or None
        Model scores under the weights, where there are weights.

    Raises
    ------
    InputError
        The metric needs more than tokens, or there are no scores for the temperature.
    """
    nbest = lists.nbest
    if scores is None and mbr.temperature is None:
        scores = np.zeros(len(nbest.texts))  # of equal ones the first come first
    elif scores is None:
        scores = nbest.model_scores
        starts = nbest.offsets[:-1]
        if (np.maximum.reduceat(scores, starts) == np.minimum.reduceat(scores, starts)).all():
            raise InputError(
                "a temperature weighs hypotheses by their model scores, but in no segment do "
                "those of these lists differ; give weights, or no temperature"
            )
    weights = by_model(nbest.offsets, scores, temperature=mbr.temperature, size=mbr.size)
    found = expected_scores(
        metric,
        lists.scored.texts,
        nbest.offsets,
        weights,
        average=mbr.average,
        progress=progress,
    )
    return metric.oriented(found)
