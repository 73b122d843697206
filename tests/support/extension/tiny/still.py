"""An optimizer: stays where it is."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from portmert.tuner.search.optimizers._base import Optimizer, SearchResult


@dataclass(frozen=True)
class Still(Optimizer):
    """Finds the start."""

    def search(self, problem, start, bounds, rng):  # noqa: ARG002
        return SearchResult(start, problem.metric.oriented(problem.score(start)))
