"""Holds what the optimizers share that climb by exact line searches."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt
from pydantic.dataclasses import dataclass

from portmert.metrics._base import FloatArray
from portmert.tuner.search.climb import Climb
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers._base import Found, Optimizer
from portmert.tuner.search.problem import TuningProblem


@dataclass(frozen=True)
class ExactSearch(Optimizer):
    """Climbs by exact line searches.

    Parameters
    ----------
    restarts, spread
        See `Optimizer`.
    tolerance : float
        A gain counts if it is larger than this share of the objective's size.
    smooth : float
        Half width, in units of the weights' length, of the window over which the error surface
        is averaged before a step is chosen; 0 searches the surface as it is.
    """

    tolerance: Annotated[float, Ge(0), Lt(1)] = 1e-7
    smooth: Annotated[float, Ge(0)] = 0.0

    @abstractmethod
    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` from where it stands; it keeps the best weights it has seen."""

    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> Found:
        """Climb from one start."""
        climb = Climb(problem, start, bounds, tolerance=self.tolerance, smooth=self.smooth)
        self.climb(climb, rng)
        return Found(climb.best_weights, climb.best_value, climb.line_searches)
