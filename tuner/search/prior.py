"""Pulls the search towards given weights: a penalty taken off the objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portmert.metrics._base import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Prior:
    """Computes strength * |u/|u| - u0/|u0||^2, u being weights times spread, u0 those pulled to.

    Only the direction of weights counts, as only that chooses hypotheses; and each weight counts
    by what its feature moves, whatever the unit it is measured in. The penalty is in units of the
    metric: 0 at `toward`, `2 * strength` at right angles to it, `4 * strength` opposite to it.

    Parameters
    ----------
    strength : float
        Above 0.
    toward : (F,) float64
        u0 divided by spread; all 0: there is no direction to pull to, and no penalty.
    spread : (F,) float64
        See `TuningProblem`.
    """

    strength: float
    toward: FloatArray
    spread: FloatArray

    @property
    def _unit(self) -> FloatArray:
        scaled = self.toward * self.spread
        return scaled / (np.linalg.norm(scaled) or 1.0)

    def penalty(self, weights: FloatArray) -> float:
        """Return the penalty of (F,) weights; weights of 0 count as at right angles."""
        scaled = weights * self.spread
        length = float(np.linalg.norm(scaled))
        cosine = float(scaled @ self._unit) / length if length > 0 else 0.0
        return self.strength * 2 * (1 - cosine) if self.toward.any() else 0.0

    def gradient(self, weights: FloatArray) -> FloatArray:
        """Return the (F,) derivative of the penalty by weights * spread."""
        scaled = weights * self.spread
        length = float(np.linalg.norm(scaled))
        if length == 0 or not self.toward.any():
            return np.zeros(len(weights))
        cosine = float(scaled @ self._unit) / length
        slope: FloatArray = -2 * self.strength * (self._unit - cosine * scaled / length) / length
        return slope

    def along(
        self, weights: FloatArray, columns: IntArray, direction: FloatArray, steps: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return the penalties at steps along a line, and the step of the lowest (maybe NaN)."""
        if not self.toward.any():
            return np.zeros(len(steps)), np.nan
        scaled, unit = weights * self.spread, self._unit
        slopes = direction * self.spread[columns]
        along, length = float(scaled @ unit), float(scaled @ scaled)
        rise, mixed = float(slopes @ unit[columns]), float(slopes @ scaled[columns])
        square = float(slopes @ slopes)

        def cosines(at: FloatArray) -> FloatArray:
            lengths = np.sqrt(np.maximum(length + at * (2 * mixed + at * square), 1e-300))
            values: FloatArray = (along + at * rise) / lengths
            return values

        # The cosine's derivative is 0 where rise * length - along * mixed + step * curve = 0.
        curve = rise * mixed - along * square
        nearest = np.nan if curve == 0 else (along * mixed - rise * length) / curve
        # At both ends of the line the cosine is the same but for its sign, so that the one place
        # without a slope is the highest where it is above 0, and else the lowest.
        if np.isfinite(nearest) and not cosines(np.array([nearest]))[0] > 0:
            nearest = np.nan
        penalties: FloatArray = self.strength * 2 * (1 - cosines(steps))
        return penalties, float(nearest)
