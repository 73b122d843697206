"""The base class of optimizers, with the restarts that all of them share."""

import math
import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Gt
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as component_dataclass

from portmert.metrics._base import FloatArray, IntArray
from portmert.metrics._elementary import norm

from ...base import streams
from ...base.components import Check, Component, Refuse, described
from ...base.context import current, within
from ...base.threads import Team
from ..constraints import Bounds
from ..metric_scale import rescaled
from ..problem import TuningProblem
from ..unseen import Unseen, middle_estimate

FOLDS = 10
"""Folds of an optimizer that holds no segments out."""


@dataclass(frozen=True)
class SearchResult:
    """The result of one search, or of the best of several restarts.

    Parameters
    ----------
    weights : (F,) float64
        (F + P,) if the problem has P sparse features.
    objective : float
        See `TuningProblem.objective`, at `weights`.
    line_searches : int
        Exact line searches, of all restarts and folds; 0 if the optimizer makes none.
    unseen : Unseen or None
        The estimate for unseen text, if the optimizer holds segments out. Of several restarts it
        is not the highest estimate but the middle one, see `middle_estimate`.
    seconds : float
        Processor time: of all restarts; or, of one search, in the threads that it started itself.
    restarts : tuple of float
        The objective at the end of each restart. The restart with the highest one won, or the one
        with the highest estimate for unseen text if there are estimates; of equal ones the first.
    """

    weights: FloatArray
    objective: float
    line_searches: int = 0
    unseen: Unseen | None = None
    seconds: float = 0.0
    restarts: tuple[float, ...] = ()


def _checked_result(
    refuse: Refuse,
    answer: object,
    problem: TuningProblem,
    start: FloatArray,
    bounds: Bounds,
    rng: np.random.Generator,
) -> SearchResult:
    """Return a result with finite weights inside the bounds; refuse any other."""
    del problem, rng
    if not isinstance(answer, SearchResult):
        refuse(described(answer), "SearchResult(weights, objective)")
    weights = _checked_numbers(refuse, answer.weights, start.shape, "weights")
    if np.any(weights != bounds.clip(weights)):
        refuse(f"weights {weights.tolist()}", "weights inside the bounds")
    objective = float(_checked_numbers(refuse, answer.objective, (), "an objective"))
    if not (answer.unseen is None or isinstance(answer.unseen, Unseen)):
        refuse(f"unseen={described(answer.unseen)}", "Unseen or None")
    return replace(answer, weights=weights, objective=objective)


def _checked_numbers(refuse: Refuse, answer: Any, shape: tuple[int, ...], name: str) -> FloatArray:
    try:
        array = np.asarray(answer)
    except ValueError:  # rows of several lengths
        array = np.empty(0, dtype=object)
    if array.shape != shape or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        text = array.tolist() if array.dtype.kind in "biuf" else described(answer)
        refuse(f"{name} {text}", f"finite numbers of shape {shape}")
    return array.astype(np.float64)


def _checked_folds(refuse: Refuse, answer: Any, segments: int, seed: int) -> IntArray:
    del seed
    folds = _checked_numbers(refuse, answer, (segments,), "folds").astype(np.int64)
    if folds.min(initial=0) < 0:
        refuse(f"fold {folds.min()}", "numbers from 0")
    return folds


@component_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Optimizer(Component):
    """Search for the weights with the highest objective; the fields are the keys of [optimizer].

    Parameters
    ----------
    restarts : int
        Number of independent searches; the best one wins (Moses' default is 20). The first ones
        begin at the given starts, the others at a start plus random noise.
    spread : float
        Length of that noise, relative to the length of the start.
    """

    restarts: Annotated[int, Ge(1)] = 20
    spread: Annotated[float, Gt(0)] = 0.5

    _family: ClassVar[str] = "optimizer"
    _checks: ClassVar[Mapping[str, Check]] = {
        "search": _checked_result,
        "folds_of": _checked_folds,
    }
    sparse: ClassVar[bool] = False
    """Whether weights of sparse features are searched. If not, they stay as they are."""
    reads_all: ClassVar[bool] = False
    """Whether the statistics of all hypotheses are read, or only of those that can win."""
    holds_out: ClassVar[bool] = False
    """Whether segments are held out, to estimate the score on unseen text. The start weights
    should then not have been found on these segments."""

    def folds_of(self, segments: int, seed: int) -> IntArray:  # noqa: ARG002  not all hold out
        """Return the (S,) folds with which the first search of a seed holds segments out.

        If it holds none out: tenths of the segments, by which standard errors are told.
        """
        return np.arange(segments) * min(segments, FOLDS) // max(segments, 1)

    def explorer(self) -> Self:
        """Return the optimizer of an outer loop, which decodes what was not yet shown better."""
        return self

    @abstractmethod
    def search(
        self, problem: TuningProblem, start: FloatArray, bounds: Bounds, rng: np.random.Generator
    ) -> SearchResult:
        """Search from one start, which lies inside the bounds and is not modified.

        The result is never worse than the start, and the same for any number of threads.
        """

    def optimize(
        self,
        problem: TuningProblem,
        starts: list[FloatArray],
        *,
        bounds: Bounds | None = None,
        seed: int = 0,
    ) -> SearchResult:
        """Search from each start: `restarts` times in all, at least once from each.

        The result depends on the seed and never on the number of threads or workers: each restart
        draws from its own stream, and the results are compared in order. Restarts are sent to the
        cluster of the context if there are more of them than threads and the problem can travel.

        Parameters
        ----------
        starts : list of (F,) float64, at least one
            Clipped to the bounds. Not modified. (F + P,) with P sparse features.
        """
        bounds = bounds or Bounds.none(problem.width)
        problem, scale = rescaled(problem, bounds.clip(starts[0]))
        count = max(self.restarts, len(starts))
        context, workers = current(), Team(current().threads)
        if context.cluster and count > context.threads and problem.stats.can_travel:
            workers = context.cluster
        shared = workers.shared(problem)
        tasks = [(shared, self, starts, bounds, seed, restart) for restart in range(count)]
        context.progress("searching", 0, count)
        if count == 1:  # a thread of its own would keep memory of its own
            with within(replace(context, cluster=None, progress=Team.step)):
                results = {0: _restart(*tasks[0])}
            context.progress("searching", 1, 1)
        else:
            run = workers.run(_restart, tasks, phase="searching", name_of="restart {}".format)
            results = dict(run)
        ends, seconds, no_scores = zip(
            *(results[restart] for restart in range(count)), strict=True
        )
        for sums in filter(None, no_scores):
            problem.stats.note_no_score(sums)
        best = max(  # of equal ones the first
            ends, key=lambda end: end.unseen.oriented_score if end.unseen else end.objective
        )
        estimates = [end.unseen for end in ends if end.unseen is not None]
        unseen = middle_estimate(estimates, problem.stats, problem.metric) if estimates else None
        if unseen is not None:
            error = math.ldexp(unseen.error, scale.exponent)
            unseen = replace(
                unseen, oriented_score=scale.restored(unseen.oriented_score), error=error
            )
        return SearchResult(
            best.weights,
            scale.restored(best.objective),
            sum(end.line_searches for end in ends),
            unseen,
            seconds=sum(seconds),
            restarts=tuple(scale.restored(end.objective) for end in ends),
        )


def _restart(
    problem: TuningProblem,
    optimizer: Optimizer,
    starts: list[FloatArray],
    bounds: Bounds,
    seed: int,
    restart: int,
) -> tuple[SearchResult, float, tuple[float, ...] | None]:
    """Make one restart.

    Returns
    -------
    end : SearchResult
    seconds : float
        Processor time.
    no_score : tuple of float, or None
        See `StatTable`; what a worker notes there does not come back by itself.
    """
    rng, dense = streams.restart(seed, restart), len(problem.features)
    weights = starts[restart % len(starts)]
    if restart >= len(starts):
        noise = rng.normal(size=dense) / problem.spread
        length = norm(weights[:dense] * problem.spread)
        weights = weights.copy()
        weights[:dense] += optimizer.spread * length / dense**0.5 * noise
    begin = time.thread_time()
    end = optimizer.search(problem, bounds.clip(weights), bounds, rng)
    return end, time.thread_time() - begin + end.seconds, problem.stats.no_score
