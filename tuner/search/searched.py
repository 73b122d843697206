"""Holds what is searched, wherever it came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, rows_taken
from portmert.tuner.ground.mapped import empty_beside, release
from portmert.tuner.search.problem import NOTHING, StatTable
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights


@dataclass(frozen=True, eq=False)
class Searched:
    """Holds what is searched, wherever it came from.

    Parameters
    ----------
    features : (F, H) float64
    offsets : (S + 1,) int64
    names : FeatureNames
    stats : StatTable
    metric : Metric
    rescore : callable
        From weights to the metric's score, from scratch.
    sparse_scores : (H,) float64, or empty
        The part of the model scores of sparse features that are not searched.
    sparse : scipy.sparse.csr_array (H, P), or None
        Sparse features that are searched, `sparse_names`.
    rows : (H,) int64, or None for 0..H-1
        Which row of `stats` belongs to each hypothesis.
    """

    features: FloatArray
    offsets: IntArray
    names: FeatureNames
    stats: StatTable
    metric: Metric
    rescore: Callable[[FeatureWeights], float]
    sparse_scores: FloatArray = field(default_factory=lambda: NOTHING)
    sparse: Any = None
    sparse_names: tuple[str, ...] = ()
    rows: IntArray | None = None

    def take(self, segments: IntArray) -> Searched:
        """Return some segments, once or repeatedly; `rescore` stays as it is."""
        hypotheses, offsets = rows_taken(self.offsets, segments)
        features = empty_beside(self.features, (len(self.features), len(hypotheses)))
        for column, taken in zip(self.features, features, strict=True):
            np.take(column, hypotheses, out=taken)
            release(column, taken)
        return replace(
            self,
            features=features,
            offsets=offsets,
            rows=hypotheses if self.rows is None else self.rows[hypotheses],
            sparse_scores=(self.sparse_scores[hypotheses] if self.sparse_scores.size else NOTHING),
            sparse=None if self.sparse is None else self.sparse[hypotheses],
        )

    def sparse_vector(self, weights: FeatureWeights) -> FloatArray:
        """Return the (P,) weights of the sparse features that are searched; 0 if not given."""
        return np.array(
            [weights.values.get(name, (0.0,))[0] for name in self.sparse_names], dtype=np.float64
        )
