"""What decoders share that replay what was saved: lists, search graphs."""

from collections.abc import Iterable
from pathlib import Path

from portmert.metrics._base import Vocabulary

from ..base.files import write_text, writing
from ..base.warn import collected_notices
from ..graphs import collection
from ..graphs.collection import Graphs
from ..graphs.graph_readers._base import GraphReader
from ..weights.feature_weights import FeatureWeights
from ..weights.moses_ini import read_moses_ini


def write_config(config: Path | None, weights: FeatureWeights, path: Path, *, header: str) -> None:
    """Write a copy of a moses.ini with other weights, or our weights file where there is none."""
    if config is None:
        write_text(path, weights.to_json() + "\n")
        return
    content = read_moses_ini(config).with_weights(weights.values, header=header)
    with writing(path) as out:
        out.write(content)


def read_graphs(
    paths: Iterable[Path], reader: GraphReader | None, vocabulary: Vocabulary | None = None
) -> Graphs:
    """Read graphs once, without a word: they are read again where a killed run goes on."""
    with collected_notices():
        return collection.read_graphs(paths, reader, vocabulary)
