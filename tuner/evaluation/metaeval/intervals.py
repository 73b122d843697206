"""Draws bootstrap samples of all correlations, thousands at a time.

A sample has each segment and each system a number of times. Sums over a sample are therefore
products of these numbers and the terms of a sum, and all samples are a few matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from tuner.evaluation.correlation import (
    VARIANTS,
    Pairs,
    from_sums,
    kendall,
    pearson,
    ranks,
    rounded,
)

if TYPE_CHECKING:
    from metrics._base import FloatArray, IntArray
    from tuner.evaluation.metaeval.data import Judged, MetricScores

Resampled = Literal["both", "segments", "systems"]
RESAMPLED: tuple[Resampled, ...] = get_args(Resampled)

_CHUNK = 1 << 22
"""Numbers of the largest array of a chunk of samples."""
_ROUNDING = 1e-12
"""A variance of standardised scores below this is none."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Holds B bootstrap samples.

    Parameters
    ----------
    rows : (B, N) float64
        How often each row (a segment or a document) is in each sample.
    systems : (B, M) int64
        Which systems are in each sample.
    """

    rows: FloatArray
    systems: IntArray

    @classmethod
    def draw(
        cls,
        rows: int,
        systems: int,
        *,
        samples: int,
        resampled: Resampled,
        rng: np.random.Generator,
    ) -> Draws:
        """Draw as many as there are, with replacement."""
        every = np.tile(np.arange(systems, dtype=np.int64), (samples, 1))
        return cls(
            np.ones((samples, rows))
            if resampled == "systems"
            else rng.multinomial(rows, np.full(rows, 1 / rows), size=samples).astype(np.float64),
            every
            if resampled == "segments"
            else rng.integers(0, systems, size=(samples, systems)),
        )

    @property
    def times(self) -> FloatArray:
        """(B, M) how often each system is in each sample."""
        found = np.zeros(self.systems.shape)
        np.add.at(found, (np.arange(len(found))[:, None], self.systems), 1.0)
        return found


def system_samples(data: Judged, scores: MetricScores, draws: Draws) -> dict[str, FloatArray]:
    """Return (B,) correlations of systems, each sample's corpora scored anew."""
    segments, systems, size = scores.stats.shape
    human = draws.rows @ data.human / segments
    metric = np.empty_like(human)
    step = max(1, _CHUNK // (systems * size))
    for start in range(0, len(human), step):
        part = slice(start, start + step)
        totals = draws.rows[part] @ scores.stats.reshape(segments, -1)
        metric[part] = rounded(scores.oriented(totals.reshape(-1, systems, size)))
    x, y = (np.take_along_axis(side, draws.systems, axis=1) for side in (metric, human))
    return {"pearson": pearson(x, y), "spearman": pearson(ranks(x), ranks(y))}


def kendall_samples(data: Judged, scores: FloatArray, draws: Draws) -> dict[str, FloatArray]:
    """Return (B,) of each Kendall variant; a pair counts as often as both its systems are in."""
    pairs = Pairs.of(data.human)
    concordant, discordant = pairs.outcomes(scores)
    times = draws.times
    of_pair = times[:, pairs.first] * times[:, pairs.second]
    right, wrong, total = (
        np.sum(draws.rows @ counts * of_pair, axis=1)
        for counts in (concordant, discordant, np.abs(pairs.sign))
    )
    return {name: kendall(right, wrong, total, name) for name in VARIANTS}


def pearson_samples(
    human: FloatArray, scores: FloatArray, lengths: FloatArray, draws: Draws
) -> dict[str, FloatArray]:
    """Return (B,) of Pearson's r: plain, weighted by length, mean of rows removed, and both.

    Parameters
    ----------
    human, scores : (N, M) float64
        Rows are segments, or documents.
    lengths : (N,) float64
    """
    x, y = standardised(scores), standardised(human)
    number, systems = x.shape
    # All terms of one product: (N, 6 * M) over rows, (M, 5 * N) over systems.
    over_rows = np.hstack([np.ones_like(x), x, y, x * x, y * y, x * y])
    over_systems = np.hstack([terms.T for terms in (x, y, x * x, y * y, x * y)])
    times = draws.times
    found: dict[str, list[FloatArray]] = {}
    step = max(1, _CHUNK // max(over_rows.shape[1], over_systems.shape[1]))
    for start in range(0, len(times), step):
        part = slice(start, start + step)
        of_system, count = times[part], times[part].sum(axis=1, keepdims=True)
        sx, sy, xx, yy, xy = np.moveaxis(
            (of_system @ over_systems).reshape(-1, 5, number), 1, 0
        )  # each (b, N)
        in_row = [xy - sx * sy / count, xx - sx * sx / count, yy - sy * sy / count]
        for name, rows in (("", draws.rows[part]), ("_weighted", draws.rows[part] * lengths)):
            sums = (rows @ over_rows).reshape(-1, 6, systems)
            total, *moments = np.moveaxis(np.sum(sums * of_system[:, None], axis=2), 1, 0)
            # Of nothing but empty references all sums are 0, and so is the correlation.
            total = np.maximum(total, 1e-300)
            mx, my, xx, yy, xy = moments
            found.setdefault(f"pearson{name}", []).append(
                _correlation(
                    xy - mx * my / total, xx - mx * mx / total, yy - my * my / total, total
                )
            )
            # The mean of a row is not weighted by length: of one row all lengths are the same.
            xy, xx, yy = (np.sum(rows * terms, axis=1) for terms in in_row)
            found.setdefault(f"pearson_mean_removed{name}", []).append(
                _correlation(xy, xx, yy, total)
            )
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _correlation(xy: FloatArray, xx: FloatArray, yy: FloatArray, total: FloatArray) -> FloatArray:
    least = _ROUNDING * total
    return from_sums(xy, np.where(xx > least, xx, 0.0), np.where(yy > least, yy, 0.0))


def standardised(scores: FloatArray) -> FloatArray:
    """Return scores with mean 0 and variance 1; zeros if all are the same."""
    centred = scores - scores.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    return np.asarray(centred / spread) if np.ptp(scores) > 0 and spread > 0 else 0.0 * scores


def interval(samples: FloatArray, level: float) -> tuple[float, float] | None:
    """Return the quantiles that a share `level` of the samples lies between; NaN are left out."""
    known = samples[~np.isnan(samples)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
