"""Merge the n-best lists of a run's iterations one by one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ..nbest.check import ListChecker
from ..nbest.model import NBest, new_outputs
from ..nbest.read import merge
from ..search.list_statistics import statistics_table
from ..search.stat_table import StatTable
from ..weights.feature_weights import read_weights
from .loop import MergedLists
from .scorer import Evaluator


class ListMerger(MergedLists):
    """The lists of a run's iterations, counted from 1; callers ask for them in this order.

    They are merged in order too, so that a resumed run numbers words like an unbroken run.
    An extension derives from it, and adds strings of search graphs to them.

    Parameters
    ----------
    evaluator : Evaluator
    files : callable
        Number of an iteration -> the file of its list.

    Attributes
    ----------
    new : int
        How many hypotheses the list of the last iteration added.
    new_outputs : float
        The share of segments whose first hypothesis there was in no earlier list.
    checker : ListChecker
        It has seen the lists so far.
    """

    def __init__(self, evaluator: Evaluator, files: Callable[[int], Path]) -> None:
        self.evaluator = evaluator
        self.files = files
        self._last: tuple[int, NBest] | None = None
        self._merged: NBest | None = None
        self._count = 0
        self.new = 0
        self.new_outputs = 1.0
        self.checker = ListChecker()

    def last(self, number: int) -> NBest:
        """Return the list of one iteration; those before it are merged then."""
        while self._merged is None or self._count < number:
            if self._count:
                self.add_asked(self._count)
            self._count += 1
            before = 0 if self._merged is None else len(self._merged.texts)
            origin = self.files(self._count).with_name("weights.json")
            checked = self.checker.checked(
                self._read(self._count),
                read_weights(origin),
                origin=origin.name,
                is_hiding=self.evaluator.experiment.decoder.hides_features,
            )
            # Model scores stay when lists merge. Where nothing is hidden, the rest is rounding.
            last = replace(checked, model_scores=checked.unlisted, unlisted=checked.unlisted[:0])
            if self._merged is not None:
                self.new_outputs = new_outputs(self._merged, last)
            self._merged = last if self._merged is None else merge([self._merged, last])
            self.new = len(self._merged.texts) - before
        return self._read(number)

    def graphs(self, number: int) -> Path | None:  # noqa: ARG002
        """Return the file of a decoding's graphs; None for a decoder without."""
        return None

    def add_asked(self, number: int) -> None:
        """Add what the files of an iteration ask for, before the next list: here nothing."""

    def add(self, nbest: NBest) -> None:
        """Merge more hypotheses with the lists so far."""
        assert self._merged is not None  # noqa: S101  the list of an iteration comes first
        self._merged = merge([self._merged, nbest])

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
        if self.checker.has_unlisted:
            nbest = replace(nbest, unlisted=nbest.model_scores)
        stats = statistics_table(
            nbest,
            self.evaluator.references,
            experiment.metric,
            annotate=annotate,
            check=False,  # the first outputs are checked when they are scored
        )
        return nbest, stats
