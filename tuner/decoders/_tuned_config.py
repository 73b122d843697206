"""The tuned configuration of decoders that replay lists or search graphs."""

from pathlib import Path

from ..base.files import write_text, writing
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
