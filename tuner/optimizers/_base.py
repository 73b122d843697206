"""What an optimizer is, and the restarts all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt

from tuner.constraints import Bounds
from tuner.search import Climb

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics._base import FloatArray
    from tuner.problem import TuningProblem


@dataclass(frozen=True)
class Outcome:
    """What an optimizer found.

    Parameters
    ----------
    weights : (F,) float64
    value : float
        Objective at `weights`, from scratch.
    restarts : tuple of float
        Objective each restart ended at; of equal ones the first won.
    line_searches : int
    """

    weights: FloatArray
    value: float
    restarts: tuple[float, ...]
    line_searches: int


@dataclass(frozen=True)
class Optimizer(ABC):
    """A search for the weights of highest objective; its fields are the keys of [optimizer].

    Parameters
    ----------
    restarts : int
        Independent searches; the best end wins (Moses' default is 20). The first begin at the
        starts given, the others at a start perturbed by noise of `spread` times its length.
    spread : float
        See `restarts`.
    tolerance : float
        A gain counts if it is larger than this share of the objective's size.
    smooth : float
        Half width, in units of the weights' length, of the window over which the error surface
        is averaged before a step is chosen; 0 searches the surface as it is.
    """

    restarts: Annotated[int, Ge(1)] = 20
    spread: Annotated[float, Gt(0)] = 0.5
    tolerance: Annotated[float, Ge(0), Lt(1)] = 1e-7
    smooth: Annotated[float, Ge(0)] = 0.0

    @abstractmethod
    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` from where it stands; it keeps the best weights it has seen."""

    def optimize(
        self,
        problem: TuningProblem,
        starts: list[FloatArray],
        *,
        bounds: Bounds | None = None,
        seed: int = 0,
        threads: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> Outcome:
        """Search from each start, `restarts` times in all or once from each start if that is more.

        The result depends on the seed, never on the number of threads: restart r draws from its
        own stream and the results are compared in order.

        Parameters
        ----------
        starts : list of (F,) float64, at least one
            Clipped to the bounds. Not modified.
        threads : int
            Restarts that run at once.
        progress : callable, optional
            Called as progress(restarts done, restarts in all), from this thread.
        """
        bounds = bounds or Bounds.none(len(problem.features))
        count = max(self.restarts, len(starts))
        streams = np.random.SeedSequence(seed).spawn(count)

        def run(restart: int) -> Climb:
            rng = np.random.default_rng(streams[restart])
            weights = starts[restart % len(starts)]
            if restart >= len(starts):
                noise = rng.normal(size=len(weights)) / problem.spread
                length = np.linalg.norm(weights * problem.spread)
                weights = weights + self.spread * length / len(weights) ** 0.5 * noise
            climb = Climb(
                problem,
                bounds.clip(weights),
                bounds,
                tolerance=self.tolerance,
                smooth=self.smooth,
            )
            self.climb(climb, rng)
            return climb

        ends = []
        with ThreadPoolExecutor(max(1, min(threads, count))) as pool:
            for done, climb in enumerate(pool.map(run, range(count)), 1):
                ends.append(climb)
                if progress is not None:
                    progress(done, count)
        best = max(ends, key=lambda climb: climb.best_value)  # of equal ones the first
        return Outcome(
            best.best_weights,
            best.best_value,
            tuple(climb.best_value for climb in ends),
            sum(climb.line_searches for climb in ends),
        )
