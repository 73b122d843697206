"""Read and write feature weights by name.

Their L1 norm is set by search/weight_search.py, and of averages by search/averaging.py.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray

from ..base.errors import InputError, counted, suggest
from ..base.files import TextFile, called, read_lines
from ..base.frames import Framed
from ..base.json_toml import parse_json, to_json
from ..base.numbers import FINITE, bounded, parse_number
from .moses_ini import MosesIni

_JOSHUA = re.compile(r"(?:tm|lm|feature-function)\s*=\s*[A-Za-z]")
"""A setting of Joshua's configuration, whose weights stand in lines of a name and a number."""

FeatureNames = tuple[tuple[str, int], ...]
"""(name, number of values) of each dense feature, in column order."""
MOST_SHOWN = 8
"""Weights that a notebook shows."""


def value_labels(names: FeatureNames) -> list[str]:
    """Return a label for each column: `TM0[2]` is the second value of TM0."""
    return [
        name if size == 1 else f"{name}[{number}]"
        for name, size in names
        for number in range(1, size + 1)
    ]


def columns_by_name(names: Iterable[tuple[str, int]]) -> dict[str, slice]:
    """Return which columns each feature has."""
    columns, start = {}, 0
    for name, size in names:
        columns[name] = slice(start, start + size)
        start += size
    return columns


@dataclass(frozen=True, repr=False)
class FeatureWeights(Framed):
    """Feature weights by name; a feature has one weight for each of its values.

    All weights are finite and not too large to calculate with (`base.numbers`). Names keep the
    order in which they were given, but weights are compared by name, never by position.
    """

    values: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        for name, numbers in self.values.items():
            for number in numbers:
                if not math.isfinite(bounded(number)):
                    raise InputError(f"weight of {name} is {number}; weights must be {FINITE}")

    def __repr__(self) -> str:
        labels = value_labels(self.names)
        numbers = [number for row in self.values.values() for number in row]
        shown = zip(labels[:MOST_SHOWN], numbers, strict=False)
        more = [f"{len(labels) - MOST_SHOWN} more"] if len(labels) > MOST_SHOWN else []
        texts = ", ".join([*(f"{label}={number:.4g}" for label, number in shown), *more])
        return f"FeatureWeights({texts})"

    @property
    def frame_rows(self) -> list[dict[str, Any]]:
        """A row for each value of a feature."""
        numbers = [number for row in self.values.values() for number in row]
        pairs = zip(value_labels(self.names), numbers, strict=True)
        return [{"feature": label, "weight": number} for label, number in pairs]

    @property
    def names(self) -> FeatureNames:
        """Names and sizes, in order."""
        return tuple((name, len(numbers)) for name, numbers in self.values.items())

    def vector(self, names: FeatureNames, *, origin: str = "weights") -> FloatArray:
        """Return the (F,) weights of the columns `names`.

        Raises
        ------
        InputError
            A feature has no weight here, or not one for each of its values; `origin` names the
            file.
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
                    f"{origin}: feature {name} has {counted(len(numbers), 'weight')}, the n-best "
                    f"list has {counted(size, 'value')}"
                )
            columns.extend(numbers)
        return np.array(columns, dtype=np.float64)

    @classmethod
    def from_vector(
        cls, names: FeatureNames, vector: FloatArray | Sequence[float]
    ) -> FeatureWeights:
        """Return the weights of a vector by the names of its columns."""
        width = sum(size for _, size in names)
        if width != len(vector):
            raise ValueError(f"{counted(len(vector), 'weight')} for {width} feature columns")
        columns = columns_by_name(names).items()
        return cls({name: tuple(map(float, vector[part])) for name, part in columns})

    def towards(self, target: FeatureWeights, share: float) -> FeatureWeights:
        """Return weights between these (share 0) and others (share 1); a missing name counts as 0.

        Constraints that both satisfy are kept: fixed and tied weights, bounds and signs.
        """
        values = {}
        for name in {**self.values, **target.values}:
            size = len(self.values.get(name) or target.values[name])
            absent = (0.0,) * size
            values[name] = tuple(
                (1 - share) * first + share * second
                for first, second in zip(
                    self.values.get(name, absent), target.values.get(name, absent), strict=True
                )
            )
        return FeatureWeights(values)

    def plain(self) -> dict[str, float | list[float]]:
        """Return the weights as users write them: a number, or a list of several."""
        return {name: row[0] if len(row) == 1 else list(row) for name, row in self.values.items()}

    @classmethod
    def of(cls, weights: Mapping[str, float | Sequence[float]]) -> FeatureWeights:
        """Return the weights that `plain` returned."""
        return cls(
            {
                name: tuple(map(float, row)) if isinstance(row, Sequence) else (float(row),)
                for name, row in weights.items()
            }
        )

    def to_json(self) -> str:
        """Return the text of a weights file: `{"weights": {name: [values]}}`."""
        return to_json({"weights": self.values})


def read_weights(path: Path | str) -> FeatureWeights:
    """Read feature weights from a file of one of four formats, recognised by its content.

    - our JSON, `{"weights": {name: [values]}}`; other keys are ignored;
    - a moses.ini, untuned or tuned: its `[weight]` section, `Name0= v v`;
    - a `runN.dense` of mert-moses.pl: no section, `Name0= v`, one line for each value;
    - weights of cdec or Travatar: `Name value` or `Name=value`, a line for each feature.

    Raises
    ------
    InputError
        The file has none of these formats, a weight is not a finite number, or the weights belong
        to a length penalty, which only `read_penalised_weights` returns.
    """
    weights, alpha = read_penalised_weights(path)
    if alpha:
        raise InputError(
            f"{path}: these weights go with a length penalty ({alpha:g}), which a decoder does "
            f"not know; tune again with `portmert optimize` without --length-penalty"
        )
    return weights


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


@dataclass(frozen=True)
class TunedOn:
    """What weights were tuned on; a file of weights of ours tells it.

    Parameters
    ----------
    metric
        The metric, and everything else on which its score depends.
    data
        A digest of the ids, features and statistics of the lists.
    missing
        What became of values that were missing: a rule of `nbest.missing`; "": none could be.
    ranges
        Name -> lowest and highest value of a feature, and its spread; see `Range`.
    portmert
        The version that tuned them.
    """

    metric: str = ""
    data: str = ""
    missing: str = ""
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    portmert: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the keys of a file of weights."""
        return {key: value for key, value in vars(self).items() if value}

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> TunedOn:
        """Return what a file tells; nothing in place of values of other types."""
        texts = {k: content[k] for k in vars(cls()) if isinstance(content.get(k), str)}
        ranges = content.get("ranges")
        return cls(
            **texts,
            ranges={
                name: numbers
                for name, numbers in (ranges.items() if isinstance(ranges, dict) else ())
                if isinstance(numbers, list)
                and len(numbers) == 3
                and all(type(x) in (int, float) for x in numbers)
            },
        )


def read_penalised_weights(path: TextFile) -> tuple[FeatureWeights, float]:
    """Read feature weights and their length penalty; see `read_tuned_weights`."""
    return read_tuned_weights(path)[:2]


def read_tuned_weights(path: TextFile) -> tuple[FeatureWeights, float, TunedOn]:
    """Read feature weights, their length penalty (alpha, 0 for none), and what they were tuned on.

    Raises
    ------
    InputError
        As `read_weights`, or `length_penalty` is not a finite number.
    """
    where, lines = called(path), read_lines(path)
    if lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise InputError(
            f"{where}: empty file, expected weights (our JSON, a moses.ini or a runN.dense)"
        )
    if first.lstrip().startswith("{"):
        return _from_json("\n".join(lines), where)
    ini = MosesIni(tuple(lines), where)
    if not ini.sections:
        numbered = list(enumerate(lines, 1))
        if any(map(_JOSHUA.match, lines)):
            numbered = [(number, line) for number, line in numbered if "=" not in line]
        return _from_lines(numbered, where, repeated=True), 0.0, TunedOn()
    if "weight" not in ini.sections:
        old = [section for section in ini.sections if section.startswith("weight-")]
        hint = (
            f"; [{old[0]}] is the form of Moses before 2012, write the weights as `Name0= v v`"
            if old
            else ""
        )
        raise InputError(f"{where}: no [weight] section{hint}")
    return _from_lines(ini.section("weight"), where, repeated=False), 0.0, TunedOn()


def _from_json(text: str, where: str) -> tuple[FeatureWeights, float, TunedOn]:
    try:
        content: dict[str, Any] = parse_json(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where}:{error.lineno}: not JSON: {error.msg}; is the file cut off?"
        ) from None
    except ValueError as error:
        raise InputError(f"{where}: not JSON: {error}") from None
    weights = content.get("weights")
    if not isinstance(weights, dict) or not weights:
        raise InputError(f'{where}: no weights, expected {{"weights": {{"LM0": [0.5]}}}}')
    values = {}
    for name, content_of_name in weights.items():
        numbers = content_of_name if isinstance(content_of_name, list) else [content_of_name]
        if not numbers:
            raise InputError(f"{where}: feature {name} has no weight")
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int | float):
                raise InputError(
                    f"{where}: weight of {name} is {json.dumps(number)}, expected a number"
                )
            if not math.isfinite(bounded(number)):
                raise InputError(
                    f"{where}: weight of {name} is {number}; weights must be {FINITE}"
                )
        values[name] = tuple(float(number) for number in numbers)
    alpha = content.get("length_penalty", 0.0)
    is_number = isinstance(alpha, int | float) and not isinstance(alpha, bool)
    if not is_number or not math.isfinite(bounded(alpha)):
        raise InputError(f"{where}: length_penalty is {json.dumps(alpha)}, expected a number")
    return FeatureWeights(values), float(alpha), TunedOn.of_json(content)


def _from_lines(lines: Sequence[tuple[int, str]], where: str, *, repeated: bool) -> FeatureWeights:
    """Read lines `Name0= v v`; `repeated`: a name may come again, with its next values."""
    values: dict[str, tuple[float, ...]] = {}
    in_section = "" if repeated else " in [weight]"
    for number, line in lines:
        text = line.partition("#")[0].strip()
        if not text:
            continue
        words = text.split()
        is_pair = repeated and len(words) == 2 and "=" not in text  # as in cdec's files
        if is_pair and parse_number(words[0]) is None:
            text = "=".join(words)
        name, equals, numbers_text = (part.strip() for part in text.partition("="))
        if not equals or not name or len(name.split()) != 1:
            raise InputError(
                f"{where}:{number}: '{text}' is not a weight, expected `LM0= 0.5` (a weights file "
                f"is our JSON, a moses.ini or a runN.dense)"
            )
        if name in values and (is_pair or not repeated):
            raise InputError(f"{where}:{number}: feature {name} stands twice{in_section}")
        numbers = [_finite(token, name, f"{where}:{number}") for token in numbers_text.split()]
        if not numbers:
            raise InputError(f"{where}:{number}: feature {name} has no weight")
        values[name] = (*values.get(name, ()), *numbers)
    if not values:
        raise InputError(f"{where}: no weights, expected lines like `LM0= 0.5`")
    return FeatureWeights(values)


def _finite(token: str, name: str, where: str) -> float:
    weight = parse_number(token)
    if weight is None:
        raise InputError(f"{where}: weight of {name} is '{token}', expected a number")
    if not math.isfinite(weight):
        raise InputError(f"{where}: weight of {name} is {token}; weights must be {FINITE}")
    return weight


def absolute_size(weights: FeatureWeights) -> float:
    """Return the sum of the absolute values (L1 norm)."""
    return sum(abs(number) for numbers in weights.values.values() for number in numbers)
