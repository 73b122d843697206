"""Coordinate ascent by exact line searches."""

import numpy as np
from pydantic.dataclasses import dataclass

from ._climb import Climb, Climber

ENOUGH = 1e-4
"""The least gain of a round with a prior, as a share of the objective's size. Beside an edge of
the error surface, single features come nearer to the prior in thousands of ever smaller steps."""


@dataclass(frozen=True)
class Coordinate(Climber):
    """Search the line along each feature and take the best step, until none gains (Och 2003).

    A line along one feature needs only that feature's values, which are the slopes. Model scores
    are updated after each step, not computed anew. With a prior the climb also ends when as many
    steps as there are features gain less than 0.0001 of the objective's size together.
    """

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:  # noqa: ARG002  draws nothing
        """Improve `climb` until no single feature's line gains."""
        steps, before, unit = 0, climb.objective, np.ones(1)
        while True:
            points = [climb.best_point(np.array([f]), unit) for f in range(climb.features)]
            objectives = [-np.inf if point is None else point.objective for point in points]
            if not climb.move_along(int(np.argmax(objectives))):
                break
            steps += 1
            if climb.whole.prior is not None and steps % climb.features == 0:
                if climb.objective - before < ENOUGH * climb.size():
                    break
                before = climb.objective
        climb.keep()
