"""Formulas of weights: `-lm / log(10)`, for decoders that want weights in a form of their own.

A formula has numbers, names of weights (in quotes where they are no plain words), `+ - * / **`,
brackets, `log` (natural) and `exp`. Python's `ast` parses it; it is never run as a program.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..base import errors, numbers

LONGEST = 1000
"""Characters of a formula: functions that walk through it call themselves."""

_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_SIGNS: dict[type[ast.unaryop], Callable[[float], float]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_FUNCTIONS = {"log": math.log, "exp": math.exp}


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
        self._value(self._tree(), None)

    def value(self, weights: Mapping[str, float]) -> float:
        """Return the value under some weights.

        Raises
        ------
        InputError
            It has none (a division by 0, say), or a name has no weight.
        """
        try:
            value = self._value(self._tree(), weights)
            if isinstance(value, float) and math.isfinite(numbers.bounded(value)):
                return value
            is_real = isinstance(value, float)
            reason = f"{value} is {f'not {numbers.FINITE}' if is_real else 'no real number'}"
        except (ArithmeticError, ValueError) as error:
            reason = str(error)
        listing = ", ".join(f"{name} {value:g}" for name, value in weights.items())
        raise errors.InputError(f"formula '{self.text}' has no value at {listing}: {reason}")

    def _tree(self) -> ast.expr:
        if len(self.text) > LONGEST:
            raise errors.ConfigError(f"formula '{self.text}': longer than {LONGEST} characters")
        try:
            return ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else error
            raise errors.ConfigError(f"formula '{self.text}': {reason}") from None

    def _value(self, node: ast.expr, weights: Mapping[str, float] | None) -> float:
        """Return the value of a part; without weights it is only looked at, and 1."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return 1.0 if weights is None else float(number)
            case ast.Name(id=name) | ast.Constant(value=str() as name):
                if weights is None:
                    return 1.0
                if name not in weights:
                    raise errors.InputError(
                        f"formula '{self.text}': no weight {name}{errors.suggest(name, weights)}"
                    )
                return float(weights[name])
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _SIGNS:
                return _SIGNS[type(sign)](self._value(operand, weights))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATIONS:
                both = self._value(left, weights), self._value(right, weights)
                return 1.0 if weights is None else _OPERATIONS[type(sign)](*both)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if (
                name in _FUNCTIONS
            ):
                inner = self._value(argument, weights)
                return 1.0 if weights is None else _FUNCTIONS[name](inner)
        raise errors.ConfigError(
            f"formula '{self.text}': cannot read '{ast.unparse(node)}'; a formula has numbers, "
            f"names of weights, + - * / **, brackets, log and exp"
        )
