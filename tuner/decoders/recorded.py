"""Saved n-best lists in place of a decoder."""

from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Unpack

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Vocabulary

from ..base.context import current
from ..base.errors import ConfigError, InputError, counted, faults_at
from ..base.files import read_lines, write_text, writing
from ..base.warn import collected_notices
from ..components import registry
from ..components.features import FeatureLike, with_features
from ..nbest.model import NBest, best_rows, model_scores, taken, write_nbest
from ..nbest.read import read_nbest
from ..texts import prepare, text_pipeline
from ..weights.feature_weights import FeatureWeights, read_weights
from ..weights.moses_ini import read_moses_ini
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
        # Sparse features have one value, and start at 0 as in Moses where nothing is said.
        sparse = tuple((name, 1) for name in (nbest.sparse.names if nbest.sparse else ()))
        path = self.start or self.config
        if path is None:
            ones = {name: (1.0,) * size for name, size in nbest.feature_names}
            return FeatureWeights(ones | {name: (0.0,) for name, _ in sparse})
        weights = read_weights(path)
        dense = FeatureWeights.from_vector(
            nbest.feature_names, weights.vector(nbest.feature_names, origin=str(path))
        )
        sparse_weights = {name: weights.values.get(name, (0.0,)) for name, _ in sparse}
        return FeatureWeights({**dense.values, **sparse_weights})

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
        if self.config is None:
            write_text(path, weights.to_json() + "\n")
            return
        content = read_moses_ini(self.config).with_weights(weights.values, header=header)
        with writing(path) as out:
            out.write(content)

    def _load(self) -> NBest:
        """Read the lists; a second call in the same process uses what the first one read."""
        files = (*self.lists, *(file for feature in self.features for file in feature.files))
        try:
            stamps = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in files)
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}") from None
        return _read(self, stamps)


@lru_cache(maxsize=1)
def _read(decoder: Recorded, stamps: tuple[tuple[int, int], ...]) -> NBest:  # noqa: ARG001
    """Read lists and features; `stamps` tells whether their files changed since."""
    pipeline = text_pipeline.TextPipeline.from_names(decoder.text, decoder.text_model)
    with collected_notices():
        nbest = read_nbest(decoder.lists, Vocabulary(), reader=registry.reader(decoder.format))
        return with_features(nbest, decoder.features, preparation=prepare.Preparation(pipeline))
