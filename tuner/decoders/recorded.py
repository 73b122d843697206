"""Saved n-best lists in place of a decoder."""

from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Unpack

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Vocabulary

from ..base.context import current
from ..base.errors import ConfigError, InputError, counted, faults_at
from ..base.files import read_lines, stamps
from ..base.warn import collected_notices
from ..components import registry
from ..components.features import FeatureLike, with_features
from ..nbest.model import NBest, best_rows, model_scores, taken, write_nbest
from ..nbest.read import read_nbest
from ..texts import prepare, text_pipeline
from ..weights.feature_weights import FeatureWeights, start_weights
from . import _tuned_config
from ._base import Decoder, Decoding


@dataclass(frozen=True)
class Recorded(Decoder):
    """Replays n-best lists that a real decoder wrote.

    It acts as a decoder that can make only the hypotheses in the lists. Given weights, it returns
    the best hypotheses of each segment under these weights. So a whole tuning can be tried and
    tested without the real decoder.

    Parameters
    ----------
    lists : tuple of Path
        N-best lists of one source text, plain or compressed; at least one.
    start : Path or None
        Start weights: our JSON or a moses.ini. Default: the weights of `config`, or else all 1.
    config : Path or None
        The decoder's moses.ini. The tuned configuration is a copy of it with new weights; without
        it the tuned configuration is our weights file.
    format : str
        Format of the lists, as in `--nbest-format`: moses, auto, marian, flat:n=5 and so on.
    features : tuple of Feature
        Features to add, written as in `--feature`: `qe=FILE`, `length` and so on.
    text, text_model
        Text steps for features that compare texts, as `text` and `text_model` in [data].
    """

    inputs: ClassVar[tuple[str, ...]] = ("lists", "features", "start", "config")
    reads_whole: ClassVar[bool] = True

    lists: tuple[Path, ...]
    start: Path | None = None
    config: Path | None = None
    format: str = "moses"
    features: tuple[FeatureLike, ...] = ()
    text: tuple[str, ...] = ()
    text_model: Path | None = None

    def __post_init__(self) -> None:
        if not self.lists:
            raise ValueError("lists is empty, name at least one n-best list")
        with faults_at("format", ConfigError, ValueError):
            registry.reader(self.format)
        with faults_at("text", ConfigError, ValueError):
            text_pipeline.TextPipeline.from_names(self.text, self.text_model)

    def read_weights(self) -> FeatureWeights:
        """Return the start weights of the features that the lists have."""
        nbest = self._load()
        sparse = nbest.sparse.names if nbest.sparse else ()
        return start_weights(nbest.feature_names, sparse, self.start or self.config)

    def decode(self, weights: FeatureWeights, **request: Unpack[Decoding]) -> None:
        """Write the `size` best hypotheses of each segment under `weights`, best first.

        If model scores are equal, the hypothesis that comes first in the lists is first.

        Raises
        ------
        InputError
            A list cannot be read, has another number of segments than `source`, or a feature
            without a weight.
        """
        source, size = request["source"], request["size"]
        if size < 1:
            raise ValueError(f"size is {size}, must be at least 1")
        nbest = self._load()
        lines = len(read_lines(source))
        if lines != len(nbest):
            raise InputError(
                f"{source}: {counted(lines, 'line')}, the recorded lists have "
                f"{counted(len(nbest), 'segment')} ({self.lists[0]}); they must be lists of this "
                f"text"
            )
        scores = model_scores(nbest, weights)
        rows, offsets = best_rows(scores, nbest.offsets, size=size)
        write_nbest(taken(nbest, rows, offsets), request["out"], weights)
        current().progress("decoding", lines, lines)

    def write_config(self, weights: FeatureWeights, path: Path, *, header: str) -> None:
        """Write `config` with its [weight] section replaced, or our weights file."""
        _tuned_config.write_config(self.config, weights, path, header=header)

    def _load(self) -> NBest:
        """Read the lists; a second call in the same process uses what the first one read."""
        files = (*self.lists, *(file for feature in self.features for file in feature.files))
        return _read(self, stamps(files))


@lru_cache(maxsize=1)
def _read(decoder: Recorded, stamps: tuple[tuple[int, int], ...]) -> NBest:  # noqa: ARG001
    """Read lists and features; `stamps` tells whether their files changed since."""
    pipeline = text_pipeline.TextPipeline.from_names(decoder.text, decoder.text_model)
    with collected_notices():
        nbest = read_nbest(decoder.lists, Vocabulary(), reader=registry.reader(decoder.format))
        return with_features(nbest, decoder.features, preparation=prepare.Preparation(pipeline))
