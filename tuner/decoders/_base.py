"""What a decoder is: a thing that turns weights into n-best lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

    from tuner.weights.feature_weights import FeatureWeights

Progress = Callable[[int, int], None]
"""Called as progress(segments done, segments in all)."""


@dataclass(frozen=True)
class Decoder(ABC):
    """A decoder; its fields are the keys of the [decoder] table.

    A subclass is a frozen dataclass in a file of the decoder's name.

    Attributes
    ----------
    inputs : tuple of str
        The fields whose files must be there before a run begins: what a run holds is told by
        what they hold, so that one begun without them could not go on with them.
    """

    inputs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def read_weights(self) -> FeatureWeights:
        """Return the start weights of every tunable feature, in the decoder's order."""

    @abstractmethod
    def decode(
        self,
        weights: FeatureWeights,
        *,
        source: Path,
        size: int,
        out: Path,
        workdir: Path,
        progress: Progress,
    ) -> None:
        """Write the `size`-best list of every line of `source` to `out`, a Moses n-best list.

        `out` appears whole or not at all. Segments are numbered from 0, each has at least one
        hypothesis, the decoder's own best one first. Logs and scratch files lie in `workdir`.
        The same weights give the same bytes.
        """

    @abstractmethod
    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:
        """Write the decoder's configuration with `weights`; `header` says where they came from."""
