"""Climb along coordinates, the steepest first."""

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.tuner.search.optimizers._exact import Climb, ExactSearch


@dataclass(frozen=True)
class Coordinate(ExactSearch):
    """Search the line along each feature and take the best step, until none gains (Och 2003).

    A line along one feature needs only that feature's values, which are the slopes. Model scores
    are updated after each step, not computed anew.
    """

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:  # noqa: ARG002  draws nothing
        """Improve `climb` until no single feature's line gains."""
        while True:
            points = [climb.look_along(feature) for feature in range(climb.features)]
            values = [-np.inf if point is None else point.value for point in points]
            if not climb.move_along(int(np.argmax(values))):
                break
        climb.keep()
