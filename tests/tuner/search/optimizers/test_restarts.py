"""Restarts in threads: what becomes of them when the user interrupts."""

import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from portmert.tuner.components import registry
from portmert.tuner.search.optimizers._base import Found, Optimizer
from portmert.tuner.search.problem import StatTable, TuningProblem


@dataclass(frozen=True)
class Slow(Optimizer):
    """The second search does not end before it is allowed to."""

    restarts: int = 3
    may_end: threading.Event = field(default_factory=threading.Event)
    ended: list[float] = field(default_factory=list)

    def search(self, problem, start, bounds, rng):  # noqa: ARG002
        if self.ended:
            assert self.may_end.wait(timeout=60)
        self.ended.append(0.0)
        return Found(start, 0.0)


def test_who_interrupts_does_not_wait_for_searches():
    metric = registry.metric("wer")
    stats = StatTable(np.ones((1, len(metric.stat_names))))
    problem = TuningProblem(np.ones((1, 1)), np.array([0, 1]), stats, metric)
    optimizer = Slow()

    def interrupt(done, _total):
        if done:
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt):
            optimizer.optimize(problem, [np.ones(1)], threads=1, progress=interrupt)
        assert len(optimizer.ended) == 1
    finally:
        optimizer.may_end.set()
