"""Constraints on weights: bounds, signs, features that are fixed or tied together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portmert.metrics._base import FloatArray

from ..base import options
from ..base.errors import ConfigError, suggest
from ..base.numbers import bounded, parse_number
from ..weights.feature_weights import FeatureNames, FeatureWeights, columns_by_name

TINY = 1e-9
"""The size of tied weights that may only be 0 or have the other sign: ratios of 0 are unknown."""
SIGNS = {"+": (0.0, math.inf), "-": (-math.inf, 0.0)}


@dataclass(frozen=True)
class Bounds:
    """Hard bounds of F weights.

    Parameters
    ----------
    lower, upper : (F,) float64
        Infinite where there is no bound; lower < upper.
    """

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def none(cls, size: int) -> Bounds:
        """Return bounds that allow everything."""
        return cls(np.full(size, -np.inf), np.full(size, np.inf))

    @property
    def allow_scaling(self) -> bool:
        """Whether allowed weights stay allowed when they are multiplied by a positive number."""
        ends = np.concatenate([self.lower, self.upper])
        return bool(((ends == 0) | np.isinf(ends)).all())

    def clip(self, weights: FloatArray) -> FloatArray:
        """Return the nearest weights within the bounds."""
        return np.clip(weights, self.lower, self.upper)


@dataclass(frozen=True)
class Constraints:
    """Constraints on weights. The name `LM0` means all values of a feature, `LM0_1` its second.

    Parameters
    ----------
    fixed : names of weights that stay at their start value. tied : groups of names whose weights
    keep the ratios of their start values. bounds : name -> (lowest, highest) weight; infinite if
    there is no bound. A sign is a bound at 0.
    """

    fixed: tuple[str, ...] = ()
    tied: tuple[tuple[str, ...], ...] = ()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def check(self, names: FeatureNames) -> None:
        """Raise `ConfigError` if a constraint names a feature that is not among these."""
        for name in (*self.fixed, *itertools.chain(*self.tied), *self.bounds):
            columns_of(name, names)

    @property
    def are_absolute(self) -> bool:
        """Whether weights that keep these may break them when all are multiplied by a number."""
        ends = itertools.chain(*self.bounds.values())
        return bool(self.fixed) or any(end != 0 and math.isfinite(end) for end in ends)

    def limits(self, names: FeatureNames) -> tuple[FloatArray, FloatArray]:
        """Return the (F,) lowest and highest weights of the columns; infinite if there is none."""
        size = sum(count for _, count in names)
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        for name, (lowest, highest) in self.bounds.items():
            for column in columns_of(name, names):
                lower[column] = max(lower[column], lowest)
                upper[column] = min(upper[column], highest)
        return lower, upper

    def allowed(self, weights: FeatureWeights, names: FeatureNames) -> FeatureWeights:
        """Return the nearest weights within the bounds; tied weights move together.

        Parameters
        ----------
        names
            The features that bounds may name.

        Raises
        ------
        ConfigError
            A fixed weight is outside of its bounds.
        """
        if not self.bounds:
            return weights
        vector, (lower, upper) = weights.vector(names), self.limits(names)
        for name in self.fixed:
            for column in columns_of(name, names):
                value = vector[column]
                if abs(np.clip(value, lower[column], upper[column]) - value) > TINY * abs(value):
                    raise ConfigError(
                        f"{name} is fixed at {value:g}, outside of its bounds "
                        f"{lower[column]:g} to {upper[column]:g}; give a start weight within them"
                    )
        moved = vector.copy()
        for group in self.tied:
            columns = [column for name in group for column in columns_of(name, names)]
            if vector[columns].all():
                # The factor nearest to 1 that keeps these within their bounds; 0 would lose them.
                lowest, highest = multiples(vector[columns], lower[columns], upper[columns])
                factor = min(max(1.0, lowest), highest)
                moved[columns] *= factor or max(lowest, -TINY)
        moved = np.clip(moved, lower, upper)
        if (moved == vector).all():
            return weights
        return FeatureWeights(
            {**weights.values, **FeatureWeights.from_vector(names, moved).values}
        )

    @classmethod
    def of(cls, limits: ConstraintsLike | None, where: str = "constraints") -> Constraints:
        """Return constraints as they are, or from a table as `from_table` reads it."""
        if isinstance(limits, Constraints):
            return limits
        return cls.from_table(limits, where) if limits else cls()

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str) -> Constraints:
        """Read a [constraints] table.

        Keys: `fixed` (list of names), `tied` (list of lists of names), `bounds` (table: name ->
        [lowest, highest], "" for no bound), `signs` (table: name -> "+" or "-").

        Raises
        ------
        ConfigError
            A key is unknown or a value has the wrong form; `where` begins the message.
        """
        keys = ("fixed", "tied", "bounds", "signs")
        for key in _checked(table, Mapping, "table", where):
            if key not in keys:
                raise ConfigError(f"{where} has no key '{key}'{suggest(key, keys)}")
        bounds: dict[str, tuple[float, float]] = {}
        pairs = _checked(table.get("bounds", {}), Mapping, "table", f"{where} bounds")
        for name, pair in pairs.items():
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise ConfigError(
                    f'{where} bounds: {name} = {pair!r}, expected [lowest, highest], "" where open'
                )
            bounds[name] = _pair(pair[0], pair[1], f"{where} bounds: {name}")
        for name, sign in _checked(
            table.get("signs", {}), Mapping, "table", f"{where} signs"
        ).items():
            if not isinstance(sign, str) or sign not in SIGNS:
                raise ConfigError(f'{where} signs: {name} = {sign!r}, expected "+" or "-"')
            if name in bounds:
                raise ConfigError(f"{where}: {name} has bounds and a sign; give one of them")
            bounds[name] = SIGNS[sign]
        return cls(
            fixed=_names(table.get("fixed", []), f"{where} fixed"),
            tied=tuple(
                _names(group, f"{where} tied") for group in _list(table.get("tied", []), where)
            ),
            bounds=bounds,
        )

    @classmethod
    def from_options(
        cls,
        *,
        fixed: Sequence[str] = (),
        bounds: Sequence[str] = (),
        signs: Sequence[str] = (),
        tied: Sequence[str] = (),
    ) -> Constraints:
        """Read options of the command line.

        Parameters
        ----------
        fixed : NAME
            Do not change the weight of this feature.
        bounds : NAME=LOW:HIGH
            Keep the weight of a feature within a range.
        signs : NAME=+
            Keep the weight of a feature positive (+) or negative (-).
        tied : NAME,NAME
            Change the weights of these features together, in fixed ratios.

        Raises
        ------
        ConfigError
            An option of another form.
        """
        if not (fixed or bounds or signs or tied):
            return cls()
        ends, sign_of = {}, {}
        for text in bounds:
            name, equals, pair = options.name_value(text)
            low, colon, high = pair.partition(":")
            if not (name and equals and colon):
                raise ConfigError(
                    f"--bound {text}: expected NAME=LOW:HIGH, either end may be empty"
                )
            ends[name] = low, high
        for text in signs:
            name, _, sign_of[name] = options.name_value(text)
            if not name or sign_of[name] not in SIGNS:
                raise ConfigError(f"--sign {text}: expected NAME=+ or NAME=-")
        groups = [options.names(text) for text in tied]
        table = {"fixed": fixed, "tied": groups, "bounds": ends, "signs": sign_of}
        return cls.from_table(table, "constraints")


ConstraintsLike = Constraints | Mapping[str, Any]
"""Constraints, or the table [constraints] of a configuration."""


def columns_of(name: str, names: FeatureNames) -> list[int]:
    """Return the columns of a feature, or of one of its values (`LM0_1`), by name.

    Raises
    ------
    ConfigError
        There is no such feature or value.
    """
    slices = columns_by_name(names).items()
    every = {feature: list(range(part.start, part.stop)) for feature, part in slices}
    if name in every:
        return every[name]
    feature, _, index = name.rpartition("_")
    # No feature has values of ten digits, and Python reads no number of thousands.
    if feature in every and index.isdecimal() and len(index) < 10:
        columns = every[feature]
        if int(index) < len(columns):
            return [columns[int(index)]]
    raise ConfigError(f"constraint on unknown feature '{name}'{suggest(name, every)}")


def multiples(ratios: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[float, float]:
    """Return the lowest and highest number by which tied weights can be multiplied."""
    ends = np.stack([lower / ratios, upper / ratios])
    return float(ends.min(axis=0).max()), float(ends.max(axis=0).min())


def moves(before: FeatureWeights, after: FeatureWeights) -> str:
    """Return a line that says which weights were moved inside their bounds; or an empty text."""
    changed = [
        f"{name}{f'_{place}' if len(row) > 1 else ''} {old:g} -> {moved:g}"
        for name, row in before.values.items()
        for place, (old, moved) in enumerate(zip(row, after.values[name], strict=True))
        if old != moved
    ]
    start = "start weights outside of their bounds were moved to the nearest allowed"
    return f"{start}: {', '.join(changed)}" if changed else ""


def _pair(low: object, high: object, where: str) -> tuple[float, float]:
    lowest, highest = _number(low, -math.inf, where), _number(high, math.inf, where)
    if not lowest < highest:
        raise ConfigError(
            f"{where}: the lowest weight {lowest} is not below the highest {highest}; to keep a "
            f"weight as it is, fix it"
        )
    return lowest, highest


def _number(value: object, if_empty: float, where: str) -> float:
    if value == "":
        return if_empty
    number = None
    if isinstance(value, str):
        number = parse_number(value)
    elif isinstance(value, int | float):
        number = bounded(value)
    if number is None or math.isnan(number):
        raise ConfigError(f"{where}: {value!r} is not a number")
    return number


def _names(values: object, where: str) -> tuple[str, ...]:
    return tuple(_checked(value, str, "feature's name", where) for value in _list(values, where))


def _list(value: object, where: str) -> list[Any]:
    return list(_checked(value, list | tuple, "list", where))


def _checked(value: Any, kind: Any, expected: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise ConfigError(f"{where}: {value!r} is not a {expected}")
    return value
