"""The search graphs that a decoder writes in `tune`, and the hypotheses that they add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from portmert.metrics._base import Vocabulary
from portmert.tuner.base import streams
from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.base.warn import collected_notices, notice
from portmert.tuner.decoders._base import Decoder
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.read import merge
from portmert.tuner.runs.lists import ListMerger
from portmert.tuner.runs.records import read_file, write_json
from portmert.tuner.weights.feature_weights import FeatureWeights

from .collection import blocks_in, read_graphs
from .graph_readers._base import GraphReader
from .strings import drawn_around

if TYPE_CHECKING:
    from portmert.tuner.runs.scorer import Evaluator

GRAPHS_NAME = "graphs.gz"
"""The file of an iteration's search graphs, beside its list."""
MOST = 1
"""How often an iteration adds strings of graphs after the first time. With three, tunings from
weights far off failed: a graph tells little about weights far away. See research/graphs.md."""
LITTLE = 0.05
"""A share of all hypotheses: a search over so few new ones finds almost the same weights."""


def archived(path: Path, numbers: Sequence[int], reader: GraphReader | None) -> list[bytes]:
    """Return the graph of each line of a text as a part of an archive.

    Parameters
    ----------
    path
        The file or the folder that a decoder wrote.
    numbers
        The numbers of the lines in the whole text, which become the ids of the graphs.
    reader
        Of their format; None to recognise it.

    Raises
    ------
    InputError
        There is no graph for each line.
    """
    blocks = [block for _, block in blocks_in([path], reader)]
    if len(blocks) != len(numbers):
        raise InputError(
            f"{path}: {counted(len(blocks), 'graph')}, expected one for each of "
            f"{counted(len(numbers), 'segment')}"
        )
    texts = {block.segment: block.data.strip(b"\n") for block in blocks}
    in_order = [texts.get(str(n), block.data) for n, block in enumerate(blocks)]
    return [b"%d\n%s\n\n" % (n, text) for n, text in zip(numbers, in_order, strict=True)]


def strings_of_decodings(
    decoder: Decoder,
    graphs: Sequence[Path],
    weights: Sequence[FeatureWeights],
    *,
    size: int,
    vocabulary: Vocabulary,
) -> NBest:
    """Return the `size` best distinct strings of graphs under each of the weights.

    Parameters
    ----------
    graphs
        What the decoder wrote, of one or several decodings.
    weights
        With the same features.
    size
        As of `Decoder.decode`; equal hypotheses are returned once.
    vocabulary
        Gets the words of the graphs.
    """
    untuned, reader = decoder.untuned_weights().values, decoder.graph_reader()
    all_weights = [FeatureWeights({**untuned, **tuned.values}) for tuned in weights]
    lists = []
    for path in graphs:  # each is read once, not again with those of the next decoding
        with collected_notices():  # they come again where a killed run goes on
            read = read_graphs([path], reader, vocabulary)
        lists.append(read.nbest(all_weights, [size] * len(weights), features=weights[0]))
    return merge(lists)


@dataclass(frozen=True)
class StringsAsked:
    """What search graphs are asked for: so many strings of a segment under each weights."""

    size: int
    weights: tuple[Mapping[str, tuple[float, ...]], ...]


class GraphMerger(ListMerger):
    """The lists of a run's iterations, and strings of the graphs of the same decodings.

    The best strings of all decodings so far, under weights not decoded with, are added. The folder
    of an iteration has a file of what was asked for each time.
    """

    def __init__(self, evaluator: Evaluator, files: Callable[[int], Path]) -> None:
        super().__init__(evaluator, files)
        self._added: set[Path] = set()

    def graphs(self, number: int) -> Path:
        """Return the file of a decoding's graphs."""
        return self.files(number).with_name(GRAPHS_NAME)

    def add_strings_around(self, number: int, weights: FeatureWeights) -> None:
        """Add the strings under random weights around those of an iteration."""
        tune = self.evaluator.experiment.tune
        nbest, rng = self.last(number), streams.graph_weights(tune.seed, number)
        self._ask(number, 0, drawn_around(weights, nbest, rng), max(1, tune.nbest // 2))

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
        if search > MOST:
            return False
        before = self.count(number)
        self._ask(number, search, [weights], self.evaluator.experiment.tune.nbest)
        new = self.count(number) - before
        notice(f"iteration {number}: {counted(new, 'new hypothesis')} in the search graphs")
        return is_cut or new > LITTLE * before

    def add_asked(self, number: int) -> None:
        """Merge the strings that an iteration's files ask for, which a resumed run finds."""
        for path in sorted(self.files(number).parent.glob("graph-strings-*.json")):
            if path not in self._added:
                self._add(path, number)

    def _ask(self, number: int, search: int, weights: Sequence[FeatureWeights], size: int) -> None:
        """Write down what is asked for, unless it is there already, and merge the strings."""
        path = self.files(number).with_name(f"graph-strings-{search}.json")
        if not path.exists():
            write_json(path, {"size": size, "weights": [each.values for each in weights]})
        self._add(path, number)

    def _add(self, path: Path, number: int) -> None:
        """Merge the strings that a file of the last iteration asks for."""
        self._added.add(path)
        asked = read_file(path, StringsAsked)
        nbest = strings_of_decodings(
            self.evaluator.experiment.decoder,
            [self.graphs(n) for n in range(1, number + 1)],
            [FeatureWeights(dict(values)) for values in asked.weights],
            size=asked.size,
            vocabulary=self.evaluator.vocabulary,
        )
        self.add(self.evaluator.linked(nbest))
