"""Order the candidates of one request after another under weights, as a service does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from portmert.metrics._base import FloatArray
from portmert.metrics._elementary import power
from portmert.tuner.api.optimizing import WeightsLike, as_weights
from portmert.tuner.base.errors import InputError, counted, suggest
from portmert.tuner.base.frames import Frame, is_frame
from portmert.tuner.nbest.frame_lists import feature_table
from portmert.tuner.nbest.missing import Missing, filled


class Reranker:
    """Weights, ready to order the candidates of one request after another.

    It chooses what `rerank` chooses from a list of the same candidates. It keeps nothing from one
    call to the next, so threads may share it. A candidate that lacks a feature is ranked by the
    rule of the weights, if they were tuned with one (`Lists.missing`); a warning says so.

    Parameters
    ----------
    weights
        Weights: a file, weights by name, or the result of a tuning, as for `rerank`.

    Raises
    ------
    PortmertError
        The file is missing, or holds no weights.

    Examples
    --------
    >>> import portmert
    >>> reranker = portmert.Reranker({"LM": 1.0, "TM": 0.1})
    >>> reranker.order([{"LM": -2.0, "TM": -1.0}, {"LM": -1.0, "TM": -3.0}])
    [1, 0]
    >>> reranker.order([[-2.0, -1.0], [-1.0, -3.0]])
    [1, 0]
    """

    def __init__(self, weights: WeightsLike) -> None:
        start = as_weights(weights)
        by_name, self._alpha, self._origin = start[:3]
        self._rule: Missing = start.rule
        self._weights = {} if by_name is None else dict(by_name.values)
        if not self._weights:
            raise InputError(f"{self._origin}: no weights, expected a number for each feature")

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features in the order of an array's columns.

        A feature with several values has a column for each of them.
        """
        return tuple(name for name, numbers in self._weights.items() for _ in numbers)

    def order(
        self,
        candidates: Sequence[Mapping[str, Any]] | Mapping[str, Any] | ArrayLike,
        texts: Sequence[str] | None = None,
    ) -> list[int]:
        """Return the places of the candidates, from 0, best first; ties stay in their order.

        See `scores` for the parameters and errors.
        """
        order: list[int] = np.argsort(-self.scores(candidates, texts), kind="stable").tolist()
        return order

    def scores(
        self,
        candidates: Sequence[Mapping[str, Any]] | Mapping[str, Any] | ArrayLike,
        texts: Sequence[str] | None = None,
    ) -> FloatArray:
        """Return (N,) the model scores of the candidates; higher is better, NaN is the last.

        Parameters
        ----------
        candidates : sequence of mappings, mapping of columns, data frame, or (N, F)
            The features of each candidate: by name (of a record, those under its key `features`),
            or an array whose columns are `features`. A feature whose weight is 0 may be missing;
            one without a weight is ignored. NaN and None are missing values too. A weight of
            `-cost` is of the feature cost, negated, where there is no other.
        texts
            The text of each candidate, tokens separated by spaces. Weights that were tuned with a
            length penalty need them.

        Raises
        ------
        InputError
            A feature is missing and no rule says what to do, a value is not a finite number, or
            the weights have a length penalty and there are no texts.
        """
        names = list(self._weights)
        rows: Any = candidates
        first = next(iter(candidates), None) if isinstance(candidates, Sequence) else None
        if is_frame(candidates):
            frame = Frame.of(candidates, "the candidates")
            names = [name for name in frame.names if name in self._weights]
            names += [name for name, numbers in self._weights.items() if name not in names]
            rows = self._columns(frame, names)
        elif isinstance(first, Mapping):
            if isinstance(first.get("features"), Mapping) and "features" not in self._weights:
                rows = [candidate["features"] for candidate in rows]
            rows = [self._with_negated(candidate) for candidate in rows]
            # In the order of the first candidate's features: so `rerank` adds them up.
            names = [name for name in dict.fromkeys([*rows[0], *names]) if name in self._weights]
            rows = [self._row(names, *numbered) for numbered in enumerate(rows)]
        labels = [name for name in names for _ in self._weights[name]]
        features = _matrix(rows, labels, may_lack=self._rule != "error")
        weights = [weight for name in names for weight in self._weights[name]]
        features[:, np.equal(weights, 0.0)] = 0.0
        features = filled(features, labels, np.zeros(len(features), dtype=np.int64), self._rule)
        if self._alpha:
            features = features / self._divisors(texts, len(features))[:, None]
        # Column by column: equal candidates have scores equal to the last bit.
        scores = np.zeros(len(features))
        for column, weight in enumerate(weights):
            scores += weight * features[:, column]
        return scores

    def _columns(self, frame: Frame, names: list[str]) -> FloatArray:
        """Return (N, F) the features in the order of the names."""
        may_lack, present = self._rule != "error", set(frame.names)
        table = np.full((len(frame), len(names)), np.nan if may_lack else 0.0)
        for place, name in enumerate(names):
            numbers = self._weights[name]
            if len(numbers) > 1:
                raise InputError(f"feature {name} has {len(numbers)} values, a column has one")
            is_there = not present.isdisjoint((name, name.removeprefix("-")))
            if is_there or (any(numbers) and not may_lack):
                table[:, [place]] = feature_table(frame, [name], may_lack=may_lack)
        return table

    def _with_negated(self, candidate: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return features with those that have weights negated, as `-cost` for `cost`."""
        negated = {
            name: 0.0 - candidate[name[1:]]
            for name in self._weights.keys() - candidate.keys()
            if name.startswith("-") and isinstance(candidate.get(name[1:]), Real)
        }
        return {**candidate, **negated} if negated else candidate

    def _row(self, names: list[str], number: int, candidate: Mapping[str, Any]) -> list[Any]:
        """Return the features of a candidate in the order of the names."""
        row: list[Any] = []
        for name in names:
            numbers = self._weights[name]
            if self._rule != "error" and candidate.get(name) is None and any(numbers):
                row += [np.nan] * len(numbers)
                continue
            if name not in candidate and any(numbers):
                near = suggest(name, candidate)
                raise InputError(f"candidate {number}: feature {name} is missing{near}")
            values = np.ravel(candidate.get(name, numbers)).tolist()
            if len(values) != len(numbers):
                raise InputError(
                    f"candidate {number}: feature {name} has {counted(len(values), 'value')}, "
                    f"expected {len(numbers)}"
                )
            row += values
        return row

    def _divisors(self, texts: Sequence[str] | None, count: int) -> FloatArray:
        """Return (N,) numbers by which the length penalty divides features."""
        if texts is None:
            raise InputError(
                f"{self._origin}: these weights go with a length penalty ({self._alpha:g}), which "
                f"needs the texts of the candidates: give `texts`"
            )
        if len(texts) != count:
            raise InputError(f"{counted(len(texts), 'text')} for {counted(count, 'candidate')}")
        lengths = np.array([max(1, len(text.split())) for text in texts], dtype=np.float64)
        return power(lengths, self._alpha)


def _matrix(rows: Any, labels: list[str], *, may_lack: bool) -> FloatArray:
    """Return (N, F) features, checked, a copy."""
    try:
        features = np.array(rows)
    except ValueError as error:
        raise InputError(f"the features are not numbers: {error}") from None
    if features.dtype.kind not in "biuf":  # a text would become a number, and None NaN
        for row, values in enumerate(rows):
            for label, value in zip(
                labels, np.ravel(np.array(values, dtype=object)), strict=False
            ):
                if not isinstance(value, Real):
                    raise InputError(f"candidate {row}: {label} is {value!r}, expected a number")
    features = features.astype(np.float64)
    if not len(features):
        return np.empty((0, len(labels)))
    if features.ndim != 2 or features.shape[1] != len(labels):
        raise InputError(
            f"the features have the shape {features.shape}, expected (N, {len(labels)}): "
            f"{', '.join(labels)}"
        )
    finite = np.isfinite(features) | (np.isnan(features) & may_lack)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise InputError(
            f"candidate {row}: {labels[column]} is {features[row, column]}, expected a finite "
            f"number"
        )
    return features
