"""Search lines by Powell's method of conjugate directions."""

from __future__ import annotations

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.tuner.search.optimizers._exact import Climb, ExactSearch


@dataclass(frozen=True)
class Powell(ExactSearch):
    """Search along a set of directions that learns from the way made (Powell 1964).

    The set begins as the features' own directions. After each round the way made in the round is
    searched as well. If that gains, it replaces the direction that gained most, which it resembles
    most; if not, the set stays.
    """

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:  # noqa: ARG002  draws nothing
        """Improve `climb` until a round gains nothing."""
        columns = climb.whole.all_columns
        directions = list(np.diag(1.0 / climb.whole.spread))
        while True:
            begin = climb.weights
            gains = [climb.move(columns, direction) for direction in directions]
            if not any(gains):
                break
            way = climb.weights - begin
            if way.any() and climb.move(columns, way):
                directions.pop(int(np.argmax(gains)))
                directions.append(way / climb.length(way))
        climb.keep()
