"""What tuned weights must beat: the start weights, equal weights, and one feature alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray

from ..search.problem import within_segment_spread
from ..weights.feature_weights import FeatureWeights, value_labels
from .optimizing import PreparedLists


class Alone(NamedTuple):
    """Weights under which one value of a feature chooses, with the `sign` that scores better.

    `choices` (S,) are the hypotheses that it chooses on the lists.
    """

    feature: str
    sign: str
    weights: FeatureWeights
    choices: IntArray


class RivalWeights(NamedTuple):
    """Weights that need no search, with their length penalties; None: there are none.

    `alone` are the dense features, the best first.
    """

    start: tuple[FeatureWeights, float] | None
    equal: tuple[FeatureWeights, float] | None
    alone: Sequence[Alone]


@dataclass(frozen=True, eq=False)
class Rivals:
    """The rivals of weights that are tuned on these lists."""

    dev: PreparedLists

    @cached_property
    def _rows(self) -> list[tuple[str, FloatArray, tuple[IntArray, IntArray]]]:
        """The name of each value of a feature, its weights, and the (S,) choices by its signs."""
        dev, names = self.dev, self.dev.nbest.feature_names
        labels, values = value_labels(names), []
        for label, unit in zip(labels, np.eye(len(labels)), strict=True):
            weights = (FeatureWeights.from_vector(names, sign * unit) for sign in (1, -1))
            plus, minus = (dev.best(vector, 0.0) for vector in weights)
            values.append((label, unit, (plus, minus)))
        return values

    @cached_property
    def _spread(self) -> FloatArray:
        """The (F,) spread of each value within segments."""
        columns = np.ascontiguousarray(self.dev.nbest.features.T)
        return within_segment_spread(columns, self.dev.nbest.offsets)

    def on(self, segments: IntArray | None = None) -> RivalWeights:
        """Return the rivals of weights that are tuned on some segments, or on all.

        The sign of each feature is the one that scores better there, in `equal` too: there each
        feature is divided by its spread within segments.
        """
        dev, search, names = self.dev, self.dev.search, self.dev.nbest.feature_names
        start = (dev.start, search.start.length_penalty) if search.setup.starts else None
        by_score: list[tuple[float, Alone]] = []
        equal = np.zeros(len(self._rows))
        for label, unit, choices in self._rows:
            plus, minus = (
                float(dev.metric.oriented(dev.stats.score(dev.metric, rows)))
                for rows in (x if segments is None else x[segments] for x in choices)
            )
            is_less = minus > plus
            vector = -unit if is_less else unit
            equal += vector
            weights = FeatureWeights.from_vector(names, vector)
            alone = Alone(label, "-" * is_less, weights, choices[is_less])
            by_score.append((max(plus, minus), alone))
        if not by_score:
            return RivalWeights(start, None, ())
        best = int(np.argmax([score for score, _ in by_score]))
        alone_weights = [alone for _, alone in by_score]
        alone_weights.insert(0, alone_weights.pop(best))
        weights = FeatureWeights.from_vector(names, equal / self._spread)
        return RivalWeights(start, (weights, search.alpha), alone_weights)
