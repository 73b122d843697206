"""More hypotheses from the search graphs of a run's decodings, under weights not decoded with."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..base import streams
from ..base.errors import counted
from ..base.warn import notice
from ..decoders._base import Decoder
from ..graphs.collection import drawn_around
from ..weights.feature_weights import FeatureWeights
from .lists import GRAPHS_NAME, ListMerger
from .records import write_json

MOST = 1
"""Harvests of an iteration after the first one. With three, tunings from weights far off failed:
a graph tells little about weights far away. See research/graphs.md."""
LITTLE = 0.05
"""A share of all hypotheses: a search over so few new ones finds almost the same weights."""


class Harvests:
    """The harvests of a run: the iteration's folder has a file of what each asked for.

    Parameters
    ----------
    decoder, lists, size
        What makes them, where they are merged, and how many strings each segment gets.
    iteration
        Number of an iteration -> its folder.
    seed
        Of the run.
    """

    def __init__(
        self,
        decoder: Decoder,
        lists: ListMerger,
        iteration: Callable[[int], Path],
        *,
        size: int,
        seed: int,
    ) -> None:
        self._decoder, self._lists, self._iteration = decoder, lists, iteration
        self._size, self._seed = size, seed

    def graphs(self, number: int) -> Path | None:
        """Return the file of a decoding's graphs; None for a decoder without."""
        return self._iteration(number) / GRAPHS_NAME if self._decoder.makes_graphs else None

    def around(self, number: int, weights: FeatureWeights) -> None:
        """Add the strings under random weights around those of an iteration."""
        if self._decoder.makes_graphs:
            nbest, rng = self._lists.last(number), streams.harvest(self._seed, number)
            drawn = drawn_around(weights, nbest, rng)
            self._add(number, 0, drawn, max(1, self._size // 2))

    def under(self, number: int, harvest: int, weights: FeatureWeights, *, is_cut: bool) -> bool:
        """Add the strings under the weights after a search; return whether to search again.

        Parameters
        ----------
        harvest
            Counted from 1 in each iteration.
        is_cut
            Whether the search found weights farther away; else few new strings end the iteration.
        """
        if not self._decoder.makes_graphs or harvest > MOST:
            return False
        before = self._lists.count(number)
        self._add(number, harvest, [weights], self._size)
        new = self._lists.count(number) - before
        notice(f"iteration {number}: {counted(new, 'new hypothesis')} in the search graphs")
        return is_cut or new > LITTLE * before

    def _add(
        self, number: int, harvest: int, weights: Sequence[FeatureWeights], size: int
    ) -> None:
        """Write down a harvest, unless it is there already, and merge it with the lists."""
        path = self._iteration(number) / f"harvest-{harvest}.json"
        if not path.exists():
            write_json(path, {"size": size, "weights": [each.values for each in weights]})
        self._lists.add(path)
