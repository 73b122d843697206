"""Saved search graphs in place of a decoder."""

from pathlib import Path
from typing import ClassVar, Unpack

from pydantic import field_validator
from pydantic.dataclasses import dataclass

from portmert.tuner.base.context import current
from portmert.tuner.base.errors import ConfigError, InputError, faults_at
from portmert.tuner.base.warn import collected_notices
from portmert.tuner.components import registry
from portmert.tuner.decoders import _shards, _tuned_config
from portmert.tuner.decoders._any_lists import Fitting
from portmert.tuner.decoders._base import Decoder, Decoding
from portmert.tuner.nbest.model import best_rows, taken, write_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights

from .collection import Graphs, files_of, read_graphs


@dataclass(frozen=True)
class GraphsDecoder(Decoder):
    """Finds the best strings in search graphs that a real decoder or recogniser wrote.

    It acts as a decoder that can make only the strings in the graphs, of which there are many
    more than in n-best lists. Nothing is decoded.

    Parameters
    ----------
    graphs : tuple of Path
        Files with all segments, or folders with a file for each. If segments have names, lines of
        the source begin with them.
    start : Path or None
        Start weights: our JSON or a moses.ini. Default: those of `config`, or
        else those that the graphs name: of recognisers their own.
    config : Path or None
        The decoder's moses.ini. The tuned configuration is a copy of it with new weights; without
        it the tuned configuration is our weights file.
    format : str
        Format of the graphs, as in `--graph-format`: auto, osgx:config=moses.ini, slf and so on.
    """

    inputs: ClassVar[tuple[str, ...]] = ("graphs", "start", "config")
    reads_whole: ClassVar[bool] = True

    graphs: tuple[Path, ...]
    start: Path | None = None
    config: Path | None = None
    format: str = "auto"

    @field_validator("graphs")
    @classmethod
    def _in_folders(cls, paths: tuple[Path, ...]) -> tuple[Path, ...]:
        """Return files only: their content is part of the run's identity."""
        with faults_at("graphs", InputError, ValueError):
            return tuple(map(Path, files_of(paths)))

    def __post_init__(self) -> None:
        if not self.graphs:
            raise ValueError("graphs is empty, name at least one file of graphs")
        with faults_at("format", ConfigError, ValueError):
            registry.graph_reader(self.format)

    def read_weights(self) -> FeatureWeights:
        """Return the start weights of the features that the graphs have."""
        return self._load().start(self.start or self.config)

    def decode(self, weights: FeatureWeights, **request: Unpack[Decoding]) -> None:
        """Write the `size` best distinct strings of each graph under `weights`, best first.

        Raises
        ------
        InputError
            A graph cannot be read, the source has other segments, or a feature without a weight.
        """
        size = request["size"]
        if size < 1:
            raise ValueError(f"size is {size}, must be at least 1")
        lines = list(enumerate(_shards.lines_of(request["source"])))
        graphs = self._load()
        nbest = graphs.nbest([weights], [size], segments=len(lines))
        nbest = Fitting(weights, scored=False).fitted(nbest, lines, where=graphs.files[0])
        rows, offsets = best_rows(nbest.model_scores, nbest.offsets, size=size)
        write_nbest(taken(nbest, rows, offsets), request["out"])
        current().progress("decoding", len(lines), len(lines))

    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:
        """Write `config` with its [weight] section replaced, or our weights file."""
        _tuned_config.write_config(self.config, weights, path, header=header)

    def _load(self) -> Graphs:
        with collected_notices():  # they come again where a killed run goes on
            return read_graphs(self.graphs, registry.graph_reader(self.format))
