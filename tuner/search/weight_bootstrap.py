"""Measures how sure weights are: tunes again on segments drawn with replacement."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tuner import streams
from tuner.search.averaging import stacked
from tuner.search.optimization import optimize_stats
from tuner.tables import aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics._base import IntArray, Metric
    from tuner.nbest.model import NBest
    from tuner.search.optimization import Setup
    from tuner.search.problem import StatTable
    from tuner.weights.feature_weights import FeatureWeights

PERCENTILES = (2.5, 50.0, 97.5)
"""The middle one, and the ends of what 95 % of the samples lie within."""


@dataclass(frozen=True)
class Confidence:
    """Holds percentiles of each weight over samples, each of these scaled to |w| adding to 1.

    Parameters
    ----------
    samples : int
    weights : dict
        Name -> for each of the feature's values, its `PERCENTILES`.
    """

    samples: int
    weights: dict[str, list[list[float]]]

    def as_json(self) -> dict[str, object]:
        """Return it as the JSON object of reports."""
        return {
            "samples": self.samples,
            "percentiles": list(PERCENTILES),
            "weights": self.weights,
        }

    def as_text(self) -> str:
        """Return the percentiles of each weight as a table."""
        rows = [
            [f"{name}_{i}" if len(values) > 1 else name, *(f"{number:.4f}" for number in value)]
            for name, values in self.weights.items()
            for i, value in enumerate(values)
        ]
        headers = [f"weight, {self.samples} samples", *(f"{p:g} %" for p in PERCENTILES)]
        return aligned(headers, rows)


def resampled(segments: int, *, seed: int, sample: int) -> tuple[IntArray, int]:
    """Return (S,) segments drawn with replacement, rising, and a seed for what follows."""
    rng, following = streams.weight_sample(seed, sample)
    return np.sort(rng.integers(0, segments, size=segments)), following


def bootstrap(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: Setup,
    *,
    sample: int,
    segments: IntArray | None = None,
) -> FeatureWeights:
    """Return the weights found on one bootstrap sample of the segments.

    Parameters
    ----------
    stats : StatTable
        Of the lists' hypotheses.
    setup : Setup
        How the weights were found, but its first start is the weights found: each sample is
        searched once from there, with a seed of its own; by an optimizer that holds segments out
        from `toward`, which was found on none of them.
    segments : (n,) int64, optional
        Those that the weights were found on, where not all.
    """
    drawn, seed = resampled(
        len(nbest) if segments is None else len(segments), seed=setup.seed, sample=sample
    )
    toward = setup.toward if setup.optimizer.holds_out else None
    once = replace(
        setup,
        seed=seed,
        starts=setup.starts[:1] if toward is None else (toward,),
        optimizer=replace(setup.optimizer, restarts=1),
    )
    found = optimize_stats(
        nbest,
        stats,
        metric,
        once,
        notice=_ignore,  # it was said when the weights were found
        segments=drawn if segments is None else segments[drawn],
    )
    return found.weights


def _ignore(_: str) -> None:
    """Say nothing."""


def confidence(weights: Sequence[FeatureWeights]) -> Confidence:
    """Return the percentiles of each weight over samples, at least one."""
    names, rows = stacked(weights)
    percentiles = np.percentile(rows, PERCENTILES, axis=0).T
    by_name: dict[str, list[list[float]]] = {}
    at = 0
    for name, size in names.items():
        by_name[name] = percentiles[at : at + size].tolist()
        at += size
    return Confidence(len(weights), by_name)
