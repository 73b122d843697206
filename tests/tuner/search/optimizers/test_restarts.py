"""Restarts in threads: what becomes of them when the user interrupts."""

import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from portmert.tuner.base.context import using
from portmert.tuner.components import registry
from portmert.tuner.search.optimizers._base import Optimizer, SearchResult
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.support.interrupts import HANGS, ends


@dataclass(frozen=True)
class Slow(Optimizer):
    """The second search does not end before it is allowed to."""

    restarts: int = 3
    may_end: threading.Event = field(default_factory=threading.Event)
    ended: list[float] = field(default_factory=list)

    def search(self, problem, start, bounds, rng):  # noqa: ARG002
        if self.ended:
            assert self.may_end.wait(timeout=HANGS)
        self.ended.append(0.0)
        return SearchResult(start, 0.0)


@dataclass(frozen=True)
class Stays(Optimizer):
    """Each search ends where it begins."""

    restarts: int = 1000
    begun: list[np.ndarray] = field(default_factory=list)

    def search(self, problem, start, bounds, rng):  # noqa: ARG002
        self.begun.append(start)
        return SearchResult(start, 0.0)


def test_restarts_begin_at_half_the_length_of_the_start_from_it():
    # Features have a spread of 0.2 and 4, the start so measured the length 5 = |(3, 4)|: noise of
    # 2.5, as much from each of the two.
    stats = StatTable(np.ones((2, 2)))
    problem = TuningProblem(
        np.array([[0.0, 0.4], [8.0, 0.0]]), np.array([0, 2]), stats, registry.metric("wer")
    )
    start, optimizer = np.array([15.0, -1.0]), Stays()
    optimizer.optimize(problem, [start])
    assert optimizer.begun[0].tolist() == start.tolist()
    noise = (np.array(optimizer.begun[1:]) - start) * [0.2, 4.0]
    assert (noise**2).mean(axis=0) == pytest.approx([2.5**2 / 2] * 2, rel=0.15)
    assert noise.mean(axis=0) == pytest.approx([0.0, 0.0], abs=0.2)


def test_who_interrupts_does_not_wait_for_searches():
    metric = registry.metric("wer")
    stats = StatTable(np.ones((1, len(metric.stat_names))))
    problem = TuningProblem(np.ones((1, 1)), np.array([0, 1]), stats, metric)
    optimizer = Slow()

    def interrupt(_phase, done, _total):
        if done:
            raise KeyboardInterrupt

    try:
        with pytest.raises(KeyboardInterrupt), using(progress=interrupt):
            optimizer.optimize(problem, [np.ones(1)])
        assert len(optimizer.ended) == 1
    finally:
        optimizer.may_end.set()


LONG = """
import sys
import numpy as np
from portmert.tuner.base.context import using
from portmert.tuner.components import registry
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable

rng = np.random.default_rng(1)
stats = np.column_stack([rng.integers(0, 9, size=10_000), *np.ones((2, 10_000))])
problem = TuningProblem(
    rng.normal(size=(8, 10_000)), np.arange(0, 10_001, 50), StatTable(stats),
    registry.metric("bleu:max_order=1"),
)
try:
    with using(threads=2, progress=lambda *at: print("searching", flush=True)):
        registry.optimizer(sys.argv[1]).optimize(problem, [np.ones(8)])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize(
    "optimizer",
    [
        "mert:searches_per_feature=10000000,restarts=2",
        "kbmira:epochs=10000000,restarts=2",
        "min-risk:iterations=10000000,restarts=200",
        "pro:rounds=10000000,restarts=2",
        "pro:samples=4000000,restarts=2",
        "bagged:epochs=10000000,restarts=2",
    ],
)
def test_a_search_in_python_ends_soon_after_an_interrupt(optimizer):
    ends(LONG, optimizer, working="searching")
