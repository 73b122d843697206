"""Feature weights by name, and the file they are kept in."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tuner.errors import InputError, suggest
from tuner.files import read_bytes, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from metrics._base import FloatArray

FeatureNames = tuple[tuple[str, int], ...]
"""(name, number of values) of each dense feature, in column order."""


@dataclass(frozen=True)
class FeatureWeights:
    """Feature weights: name -> one value for each of the feature's columns.

    All values are finite. The order of names is the order in which they were given; two weights
    are compared by name, never by position.
    """

    values: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        for name, numbers in self.values.items():
            for number in numbers:
                if not math.isfinite(number):
                    raise InputError(f"weight of {name} is {number}; weights must be finite")

    @property
    def names(self) -> FeatureNames:
        """Names and sizes, in order."""
        return tuple((name, len(numbers)) for name, numbers in self.values.items())

    def vector(self, names: FeatureNames, *, origin: str = "weights") -> FloatArray:
        """Return the (F,) weights of the columns `names`.

        Raises
        ------
        InputError
            A feature has no weight here, or another number of them; `origin` names the file.
        """
        columns: list[float] = []
        for name, size in names:
            numbers = self.values.get(name)
            if numbers is None:
                raise InputError(
                    f"{origin}: no weight for feature {name}{suggest(name, self.values)}"
                )
            if len(numbers) != size:
                raise InputError(
                    f"{origin}: feature {name} has {len(numbers)} weights, the n-best list has "
                    f"{size} values"
                )
            columns.extend(numbers)
        return np.array(columns, dtype=np.float64)

    @classmethod
    def from_vector(cls, names: FeatureNames, vector: FloatArray | Sequence[float]) -> FeatureWeights:
        """Name the columns of a weight vector."""
        values, start = {}, 0
        for name, size in names:
            values[name] = tuple(float(number) for number in vector[start : start + size])
            start += size
        if start != len(vector):
            raise ValueError(f"{len(vector)} weights for {start} feature columns")
        return cls(values)

    def to_json(self) -> str:
        """Return the text of a weights file: `{"weights": {name: [values]}}`."""
        return json.dumps(
            {"weights": {name: list(numbers) for name, numbers in self.values.items()}}, indent=1
        )


def read_weights(path: Path | str) -> FeatureWeights:
    """Read feature weights from our JSON or from a moses.ini, told apart by content.

    Raises
    ------
    InputError
        The file holds neither, or a weight that is not a finite number.
    """
    raise NotImplementedError
