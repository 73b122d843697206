"""Exact line searches along random directions."""

from typing import Annotated

import numpy as np
from annotated_types import Ge
from pydantic.dataclasses import dataclass

from ._climb import Climb, Climber


@dataclass(frozen=True)
class RandomDirections(Climber):
    """Search along random directions until many in a row gain nothing (Cer et al. 2008).

    Directions are drawn from a normal distribution. Each feature is scaled by the spread of its
    values, so that no feature dominates because of its units.

    Parameters
    ----------
    patience : int
        The search stops after this many lines in a row without a gain, times the number of
        features.
    """

    patience: Annotated[int, Ge(1)] = 10

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` until `patience` runs out."""
        idle = 0
        while idle < self.patience * climb.features:
            idle = 0 if climb.move_randomly(rng) else idle + 1
        climb.keep()
