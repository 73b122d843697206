"""What decoders share that replay what was saved: lists, search graphs."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from portmert.metrics._base import Vocabulary

from ..base.errors import InputError
from ..base.files import write_text, writing
from ..base.warn import collected_notices
from ..graphs.collection import Graphs
from ..graphs.graph_readers._base import GraphReader
from ..nbest.model import NBest
from ..weights.feature_weights import FeatureNames, FeatureWeights, read_weights
from ..weights.moses_ini import read_moses_ini


def start_weights(dense: FeatureNames, sparse: Iterable[str], path: Path | None) -> FeatureWeights:
    """Return the weights that a file has for features; without a file, all 1.

    Sparse features have one value, and start at 0 as in Moses where nothing is said.
    """
    if path is None:
        ones = {name: (1.0,) * size for name, size in dense}
        return FeatureWeights(ones | dict.fromkeys(sparse, (0.0,)))
    weights = read_weights(path)
    vector = weights.vector(dense, origin=str(path))
    sparse_weights = {name: weights.values.get(name, (0.0,)) for name in sparse}
    return FeatureWeights({**FeatureWeights.from_vector(dense, vector).values, **sparse_weights})


def write_config(config: Path | None, weights: FeatureWeights, path: Path, *, header: str) -> None:
    """Write a copy of a moses.ini with other weights, or our weights file where there is none."""
    if config is None:
        write_text(path, weights.to_json() + "\n")
        return
    content = read_moses_ini(config).with_weights(weights.values, header=header)
    with writing(path) as out:
        out.write(content)


def stamps(paths: Iterable[Path]) -> tuple[tuple[int, int], ...]:
    """Return what tells whether files changed: their times and sizes."""
    try:
        return tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None


def read_graphs(
    paths: Iterable[Path], reader: GraphReader | None, vocabulary: Vocabulary | None = None
) -> Graphs:
    """Read graphs; a second call in the same process uses what the first one read."""
    files = tuple(paths)
    return _read(files, reader, vocabulary, stamps(files))


@lru_cache(maxsize=1)
def _read(
    paths: tuple[Path, ...],
    reader: GraphReader | None,
    vocabulary: Vocabulary | None,
    stamps: tuple[tuple[int, int], ...],  # noqa: ARG001  tells whether files changed since
) -> Graphs:
    with collected_notices():
        return Graphs.read(paths, Vocabulary() if vocabulary is None else vocabulary, reader)


def harvest(
    graphs: Graphs,
    weights: Sequence[FeatureWeights],
    *,
    size: int,
    untuned: FeatureWeights | None = None,
) -> NBest:
    """Return the best distinct strings of graphs, see `Decoder.harvest`.

    Parameters
    ----------
    untuned
        Weights of all features of the graphs; lists have those that are tuned.
    """
    others = {} if untuned is None else untuned.values
    all_weights = [FeatureWeights({**others, **each.values}) for each in weights]
    return graphs.nbest(all_weights, [size] * len(weights), features=weights[0])
