"""Defines what an optimizer is, and runs the restarts that all of them share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as component_dataclass

from portmert.metrics._base import FloatArray, IntArray
from portmert.tuner.executors.team import Team, Threads
from portmert.tuner.ground import streams
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.problem import TuningProblem


@dataclass(frozen=True)
class Unseen:
    """Estimates what weights are worth on segments that they were not found on.

    Parameters
    ----------
    value : float
        The objective.
    error : float
        Its standard error.
    rows : (S,) int64
        The hypothesis that was chosen for each segment while it was held out, as a row of the
        statistics.
    """

    value: float
    error: float
    rows: IntArray = field(compare=False)


@dataclass(frozen=True)
class Found:
    """Holds what one search found.

    Parameters
    ----------
    weights : (F,) float64
        Or (F + P,) where the problem has P sparse features.
    value : float
        The objective at `weights`, from scratch, less the prior's penalty.
    line_searches : int
        0 where the optimizer makes none.
    unseen : Unseen or None
        Of optimizers that hold segments out.
    """

    weights: FloatArray
    value: float
    line_searches: int = 0
    unseen: Unseen | None = None

    def worth(self) -> float:
        """Return what makes one search's end better than another's."""
        return self.value if self.unseen is None else self.unseen.value


@dataclass(frozen=True)
class Outcome(Found):
    """Holds what an optimizer found: its best restart, with the line searches of all of them.

    Parameters
    ----------
    restarts : tuple of float
        The value of the end of each restart. The highest won, or the one with the highest estimate
        for unseen segments where there are estimates; of equal ones the first.
    cpu_seconds : float
        Processor time of all restarts together.
    """

    restarts: tuple[float, ...] = ()
    cpu_seconds: float = 0.0


@component_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Optimizer(ABC):
    """Searches for the weights of highest objective; its fields are the keys of [optimizer].

    Parameters
    ----------
    restarts : int
        Independent searches; the best end wins (Moses' default is 20). The first begin at the
        starts given, the others at a start perturbed by noise of `spread` times its length.
    spread : float
        See `restarts`.
    """

    restarts: Annotated[int, Ge(1)] = 20
    spread: Annotated[float, Gt(0)] = 0.5

    sparse: ClassVar[bool] = False
    """Whether weights of sparse features are searched; else they stay as they are."""
    reads_all: ClassVar[bool] = False
    """Whether the statistics of all hypotheses are read, not only of those that win somewhere."""
    holds_out: ClassVar[bool] = False
    """Whether segments are held out to estimate what weights are worth on unseen text. The start
    weights should then not have been found on these segments."""

    @classmethod
    def name(cls) -> str:
        """Return the name used in configurations: the file's, with hyphens."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    @abstractmethod
    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> Found:
        """Search from one start, which lies inside the bounds and is not modified.

        What is found is never worse than the start.
        """

    def optimize(
        self,
        problem: TuningProblem,
        starts: list[FloatArray],
        *,
        bounds: Bounds | None = None,
        seed: int = 0,
        threads: int = 1,
        team: Team | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Outcome:
        """Search from each start, `restarts` times in all or once from each start if that is more.

        The result depends on the seed, never on the number of threads or workers: restart r draws
        from its own stream and the results are compared in order.

        Parameters
        ----------
        starts : list of (F,) float64, at least one
            Clipped to the bounds. Not modified. (F + P,) with P sparse features.
        threads : int
            Restarts that run at once.
        team : Team, optional
            Where it is a cluster, restarts are sent there if they are more than threads and the
            problem can travel.
        progress : callable, optional
            Called as progress(restarts done, restarts in all), first with 0, from this thread.
        """
        bounds = bounds or Bounds.none(problem.width)
        count = max(self.restarts, len(starts))
        if team is None or not (team.is_remote and count > threads and problem.can_travel):
            team = Threads(threads)
        shared = team.shared(problem)
        tasks = [(shared, self, starts, bounds, seed, restart) for restart in range(count)]
        if progress is not None:
            progress(0, count)
        done = dict(team.run(_restart, tasks, progress=progress, named="restart {}".format))
        ends, seconds = zip(*(done[restart] for restart in range(count)), strict=True)
        best = max(ends, key=Found.worth)  # of equal ones the first
        return Outcome(
            best.weights,
            best.value,
            sum(found.line_searches for found in ends),
            best.unseen,
            tuple(found.value for found in ends),
            sum(seconds),
        )


def _restart(
    problem: TuningProblem,
    optimizer: Optimizer,
    starts: list[FloatArray],
    bounds: Bounds,
    seed: int,
    restart: int,
) -> tuple[Found, float]:
    """Make one restart; return what it found and how many seconds of a processor it took."""
    rng, dense = streams.restart(seed, restart), len(problem.features)
    weights = starts[restart % len(starts)]
    if restart >= len(starts):
        noise = rng.normal(size=dense) / problem.spread
        length = np.linalg.norm(weights[:dense] * problem.spread)
        weights = weights.copy()
        weights[:dense] += optimizer.spread * length / dense**0.5 * noise
    begin = time.thread_time()
    found = optimizer.search(problem, bounds.clip(weights), bounds, rng)
    return found, time.thread_time() - begin
