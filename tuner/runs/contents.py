"""Tells values of configurations by what the files hold that they name."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from portmert.metrics._base import Metric
from portmert.metrics._lexicon_files import content_hash
from portmert.tuner.components.external import Scores
from portmert.tuner.components.features import Feature
from portmert.tuner.ground.files import file_digest


def content_of(value: object) -> Any:
    """Return a value as JSON can hold it; of a file, what it holds in place of its name."""
    if isinstance(value, Feature):
        value = value.content()
    if isinstance(value, Path):
        return _held(value)
    if isinstance(value, Scores):
        value = {"name": value.name(), "files": value.paths}
    if isinstance(value, Metric):  # a metric of a formula
        options = {f.name: content_of(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"name": value.name(), **options}
    if isinstance(value, list | tuple):
        return [content_of(item) for item in value]
    if isinstance(value, dict):
        return {str(key): content_of(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)


def _held(path: Path) -> str:
    """Return a hash of what a file holds; of a folder, unless it is WordNet's, its name."""
    if path.is_file():
        return file_digest(path)
    if (path / "index.sense").is_file():
        return content_hash(path)
    return path.name
