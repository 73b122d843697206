"""The base class of decoders, which turn weights into n-best lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from portmert.tuner.executors.team import Team
from portmert.tuner.weights.feature_weights import FeatureWeights

Progress = Callable[[int, int], None]
"""Called as progress(segments done, segments in all)."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Decoder(ABC):
    """A decoder turns weights into n-best lists; its fields are the keys of the [decoder] table.

    A subclass is a frozen pydantic dataclass in a file of the decoder's name.

    Attributes
    ----------
    inputs : tuple of str
        The fields whose files must be there before a run begins. Their content identifies the run:
        a run that began without them could not go on with them.
    reads_whole : bool
        Whether it can only decode the whole text that it is made for.
    """

    inputs: ClassVar[tuple[str, ...]] = ()
    reads_whole: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        """Return the name used in configurations: the file's, with hyphens."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    def train(self) -> None:  # noqa: B027  most have nothing to train
        """Train models that are not there yet and are kept; `decode` does it when it must."""

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
        team: Team | None = None,
    ) -> None:
        """Write the `size`-best list of every line of `source` to `out`, a Moses n-best list.

        `out` appears whole or not at all. Segments are numbered from 0, each has at least one
        hypothesis, the decoder's own best one first. Logs and scratch files lie in `workdir`.
        The same weights give the same bytes, also at the workers of a `team`. A decoder that can
        share its work uses a team on a cluster; any other team changes nothing.
        """

    @abstractmethod
    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:
        """Write the decoder's configuration with `weights`; `header` says where they came from."""
