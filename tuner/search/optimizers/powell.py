"""Powell's method by exact line searches."""

import numpy as np
from pydantic.dataclasses import dataclass

from ._climb import Climb, Climber


@dataclass(frozen=True)
class Powell(Climber):
    """Search lines along a set of directions, and adapt the set to each round (Powell 1964).

    At first the set has one direction for each feature. After each round the line along the whole
    step of the round is searched too. If that gains, its direction replaces the one that gained
    most, because they are most alike. Otherwise the set stays as it is.
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
            change = climb.weights - begin
            if change.any() and climb.move(columns, change):
                directions.pop(int(np.argmax(gains)))
                directions.append(change / climb.length(change))
        climb.keep()
