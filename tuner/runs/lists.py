"""Merge the n-best lists of a run's iterations, and strings of search graphs, one by one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..base import streams
from ..base.errors import counted
from ..base.warn import notice
from ..graphs.collection import drawn_around
from ..nbest.check import ListChecker
from ..nbest.model import NBest, new_outputs
from ..nbest.read import merge
from ..search.list_statistics import statistics_table
from ..search.stat_table import StatTable
from ..weights.feature_weights import FeatureWeights, read_weights
from .loop import MergedLists
from .records import write_json
from .scorer import Evaluator

GRAPHS_NAME = "graphs.gz"
"""The file of an iteration's search graphs, beside its list."""
MOST = 1
"""How often an iteration adds strings of graphs after the first time. With three, tunings from
weights far off failed: a graph tells little about weights far away. See research/graphs.md."""
LITTLE = 0.05
"""A share of all hypotheses: a search over so few new ones finds almost the same weights."""


class ListMerger(MergedLists):
    """The lists of a run's iterations, counted from 1; callers ask for them in this order.

    They are merged in order too, so that a resumed run numbers words like an unbroken run.
    The best strings of the search graphs of all decodings so far, under weights not decoded with,
    are added to them. The iteration's folder has a file of what was asked for each time.

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
        self._added: set[Path] = set()

    def last(self, number: int) -> NBest:
        """Return the list of one iteration; those before it are merged then."""
        while self._merged is None or self._count < number:
            for path in sorted(self.files(self._count).parent.glob("graph-strings-*.json")):
                if path not in self._added:
                    self._add(path)
            self._count += 1
            before = 0 if self._merged is None else len(self._merged.texts)
            origin = self.files(self._count).with_name("weights.json")
            checked = self.checker.checked(
                self._read(self._count),
                read_weights(origin),
                origin=origin.name,
                is_hiding=self.evaluator.experiment.decoder.hides_features,
            )
            last = replace(checked, model_scores=checked.unlisted)  # which stay when lists merge
            if self._merged is not None:
                self.new_outputs = new_outputs(self._merged, last)
            self._merged = last if self._merged is None else merge([self._merged, last])
            self.new = len(self._merged.texts) - before
        return self._read(number)

    def graphs(self, number: int) -> Path | None:
        """Return the file of a decoding's graphs; None for a decoder without."""
        has_graphs = self.evaluator.experiment.decoder.makes_graphs
        return self.files(number).with_name(GRAPHS_NAME) if has_graphs else None

    def add_strings_around(self, number: int, weights: FeatureWeights) -> None:
        """Add the strings under random weights around those of an iteration."""
        if self.graphs(number):
            tune = self.evaluator.experiment.tune
            nbest, rng = self.last(number), streams.graph_weights(tune.seed, number)
            self._add_strings(
                number, 0, drawn_around(weights, nbest, rng), max(1, tune.nbest // 2)
            )

    def add_strings_under(
        self, number: int, search: int, weights: FeatureWeights, *, is_cut: bool
    ) -> bool:
        """Add the strings under the weights after a search; return whether to search again.

        Parameters
        ----------
        search
            Counted from 1 in each iteration.
        is_cut
            Whether the search found weights farther away; else few new strings end the iteration.
        """
        if not self.graphs(number) or search > MOST:
            return False
        before = self.count(number)
        self._add_strings(number, search, [weights], self.evaluator.experiment.tune.nbest)
        new = self.count(number) - before
        notice(f"iteration {number}: {counted(new, 'new hypothesis')} in the search graphs")
        return is_cut or new > LITTLE * before

    def _add_strings(
        self, number: int, search: int, weights: Sequence[FeatureWeights], size: int
    ) -> None:
        """Write down what is asked for, unless it is there already, and merge the strings."""
        path = self.files(number).with_name(f"graph-strings-{search}.json")
        if not path.exists():
            write_json(path, {"size": size, "weights": [each.values for each in weights]})
        self._add(path)

    def _add(self, path: Path) -> None:
        """Merge the strings that a file of the last iteration asks for."""
        assert self._merged is not None  # noqa: S101  its own list comes first
        self._added.add(path)
        graphs = [self.files(n).with_name(GRAPHS_NAME) for n in range(1, self._count + 1)]
        self._merged = merge([self._merged, self.evaluator.strings_of_graphs(path, graphs)])

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
