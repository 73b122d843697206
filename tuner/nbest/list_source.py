"""Lists that are made under weights, in place of lists in files.

The core has none. An extension adds one by an entry point in `portmert.list_sources`: the best
strings of search graphs.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from portmert.metrics._base import Vocabulary

from ..weights.feature_weights import FeatureWeights
from .model import NBest
from .records import SegmentNames


class ListSource(ABC):
    """Lists of the best strings under some weights.

    Attributes
    ----------
    around : bool
        Whether a search adds the best strings under the weights that it finds, and searches again.
    """

    around: bool

    @property
    @abstractmethod
    def files(self) -> Sequence[Path | str]:
        """The files that the strings come from."""

    @property
    @abstractmethod
    def content(self) -> tuple[Any, ...]:
        """What the strings depend on besides the files."""

    @property
    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """The words of all strings."""

    @property
    @abstractmethod
    def start(self) -> FeatureWeights:
        """The weights under which the first strings were found."""

    @abstractmethod
    def nbest(self, segments: int | None, names: SegmentNames) -> NBest:
        """Return the lists; see `nbest.read.read_nbest`."""

    @abstractmethod
    def under(self, weights: Iterable[FeatureWeights]) -> Self:
        """Return these strings and the best ones under more weights."""

    @abstractmethod
    def only_under(self, weights: FeatureWeights) -> Self:
        """Return the best strings under these weights alone."""

    @abstractmethod
    def of_test_set(self, paths: Sequence[Path | str]) -> Self:
        """Return the strings of other files, without those that a search would add."""
