"""Formulas of weights: `-lm / log(10)`, for decoders that want weights in a form of their own.

A formula has numbers, names of weights (in quotes where they are no plain words), `+ - * / **`,
brackets, `log` (natural) and `exp`.
"""

import ast
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from portmert.tuner.base import errors, numbers
from portmert.tuner.base.formulas import Grammar
from portmert.tuner.base.options import QUOTES

GRAMMAR = Grammar(
    names=rf"{QUOTES}|[^\W\d]\w*",
    operations={
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.Pow: operator.pow,
    },
    functions={"log": (math.log, 1), "exp": (math.exp, 1)},
)


@dataclass(frozen=True)
class WeightFormula:
    """A formula that is well-formed.

    Parameters
    ----------
    text
        As the user wrote it.

    Raises
    ------
    ConfigError
        It has anything but what a formula may have.
    """

    text: str

    def __post_init__(self) -> None:
        _ = self._parsed

    @cached_property
    def _parsed(self) -> tuple[ast.expr, list[str]]:
        """The tree, and the names of weights: number i is `wi` there."""
        names: list[str] = []

        def read(word: str) -> str:
            names.append(word[1:-1] if word[0] in "\"'" else word)
            return f"w{len(names) - 1}"

        return GRAMMAR.parse(self.text, read), names

    def value(self, weights: Mapping[str, float]) -> float:
        """Return the value under some weights.

        Raises
        ------
        InputError
            It has none (a division by 0, say), or a name has no weight.
        """
        tree, names = self._parsed
        for name in names:
            if name not in weights:
                raise errors.InputError(
                    f"formula '{self.text}': no weight {name}{errors.suggest(name, weights)}"
                )
        try:
            value = GRAMMAR.value(
                tree, {f"w{i}": float(weights[name]) for i, name in enumerate(names)}
            )
            if isinstance(value, float) and math.isfinite(numbers.bounded(value)):
                return value
            is_real = isinstance(value, float)
            reason = f"{value} is {f'not {numbers.FINITE}' if is_real else 'no real number'}"
        except (ArithmeticError, ValueError) as error:
            reason = str(error)
        listing = ", ".join(f"{name} {value:g}" for name, value in weights.items())
        raise errors.InputError(f"formula '{self.text}' has no value at {listing}: {reason}")
