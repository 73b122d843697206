"""Reads what `moses -show-weights` says, and writes what `-weight-overwrite` is told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.numbers import parse_number
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights

NOT_TUNED = "UNTUNEABLECOMPONENT"


@dataclass(frozen=True)
class ShownFeatures:
    """Holds the dense features that Moses says can be tuned.

    Parameters
    ----------
    weights : FeatureWeights
        Of the tuneable components, in the order of Moses' n-best lists.
    tuned : mapping of str to tuple of bool
        Which components those are, for features that have others too.
    untuneable : tuple of str
    """

    weights: FeatureWeights
    tuned: Mapping[str, tuple[bool, ...]]
    untuneable: tuple[str, ...]

    @property
    def names(self) -> FeatureNames:
        """Names and numbers of tuneable components."""
        return self.weights.names

    def overwrite(self, weights: FeatureWeights) -> str:
        """Return the argument of `-weight-overwrite`: `LM0= 0.5 TM0= 0.2 x`.

        An `x` keeps what moses.ini says.

        Raises
        ------
        InputError
            A feature has no weight, or another number of them.
        """
        weights.vector(self.names)
        parts = []
        for name, size in self.names:
            values = iter(weights.values[name])
            mask = self.tuned.get(name, (True,) * size)
            parts += [f"{name}=", *(repr(next(values)) if tuned else "x" for tuned in mask)]
        return " ".join(parts)


def parse_shown(text: str) -> ShownFeatures:
    """Read what `-show-weights` printed.

    Lines that are neither `Name= numbers` nor `Name UNTUNEABLE` are something else that the
    program, or what starts it, has to say.

    Raises
    ------
    InputError
        No feature can be tuned, or a weight is not a number.
    """
    values: dict[str, tuple[float, ...]] = {}
    tuned: dict[str, tuple[bool, ...]] = {}
    untuneable = []
    for line in text.splitlines():
        name, *tokens = line.split() or [""]
        if tokens == ["UNTUNEABLE"]:
            untuneable.append(name)
        if not name.endswith("=") or not tokens:
            continue
        name = name[:-1]
        mask = tuple(token != NOT_TUNED for token in tokens)
        numbers = [_number(token, name) for token in tokens if token != NOT_TUNED]
        if not numbers:
            untuneable.append(name)
            continue
        values[name] = tuple(numbers)
        if not all(mask):
            tuned[name] = mask
    if not values:
        raise InputError("-show-weights: names no feature that can be tuned")
    return ShownFeatures(FeatureWeights(values), tuned, tuple(untuneable))


def _number(token: str, name: str) -> float:
    value = parse_number(token)
    if value is None or not math.isfinite(value):
        raise InputError(f"-show-weights: weight of {name} is '{token}', expected a number")
    return value
