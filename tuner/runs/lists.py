"""Merge the n-best lists of a run's iterations, one after the other."""

from collections.abc import Callable
from pathlib import Path

from ..nbest.model import NBest
from ..nbest.read import merge
from ..search.list_statistics import statistics_table
from ..search.stat_table import StatTable
from .scorer import Evaluator

GRAPHS_NAME = "graphs.gz"
"""The file of an iteration's search graphs, beside its list."""


class ListMerger:
    """The lists of a run's iterations, counted from 1; callers ask for them in this order.

    They are merged in order too, so that a resumed run numbers words like an unbroken run.

    Parameters
    ----------
    evaluator : Evaluator
    files : callable
        Number of an iteration -> the file of its list.

    Attributes
    ----------
    new : int
        How many hypotheses the list of the last iteration added.
    """

    def __init__(self, evaluator: Evaluator, files: Callable[[int], Path]) -> None:
        self.evaluator = evaluator
        self.files = files
        self._last: tuple[int, NBest] | None = None
        self._merged: NBest | None = None
        self._count = 0
        self.new = 0
        self._harvested: set[Path] = set()

    def last(self, number: int) -> NBest:
        """Return the list of one iteration; those before it are merged then."""
        while self._merged is None or self._count < number:
            for path in sorted(self.files(self._count).parent.glob("harvest-*.json")):
                if path not in self._harvested:
                    self.add(path)
            self._count += 1
            before = 0 if self._merged is None else len(self._merged.texts)
            last = self._read(self._count)
            self._merged = last if self._merged is None else merge([self._merged, last])
            self.new = len(self._merged.texts) - before
        return self._read(number)

    def add(self, path: Path) -> None:
        """Merge the strings of a harvest of the last iteration, see `Harvests`."""
        assert self._merged is not None  # noqa: S101  its own list comes first
        self._harvested.add(path)
        graphs = [self.files(n).with_name(GRAPHS_NAME) for n in range(1, self._count + 1)]
        self._merged = merge([self._merged, self.evaluator.harvest(path, graphs)])

    def _read(self, number: int) -> NBest:
        if self._last is None or self._last[0] != number:
            _ = self.evaluator.references  # come first, so that words get numbers
            self._last = number, self.evaluator.read(self.files(number))
        return self._last[1]

    def count(self, number: int) -> int:
        """Return how many hypotheses there are in iterations 1..number."""
        self.last(number)
        return 0 if self._merged is None else len(self._merged.texts)

    def merged(self, number: int) -> tuple[NBest, StatTable]:
        """Return the lists of iterations 1..number merged, and the statistics of all of it.

        The texts are those that the metric sees.
        """
        experiment = self.evaluator.experiment
        self.last(number)
        assert self._merged is not None  # noqa: S101  `last` has seen to it
        nbest, annotate = self.evaluator.for_metric(self._merged)
        stats = statistics_table(
            nbest,
            self.evaluator.references,
            experiment.metric,
            annotate=annotate,
            check=False,  # the first outputs are checked when they are scored
        )
        return nbest, stats
