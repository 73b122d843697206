"""The one grammar of formulas: numbers, names, signs, brackets and functions.

Python's `ast` parses a formula after its names have been replaced. It is never run as a program.
"""

import ast
import bisect
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import ConfigError
from .numbers import FINITE, parse_finite

MOST_WORDS = 400
"""The most words of a formula: functions that walk through it call themselves."""
MOST_NESTED = 100
_AROUND = 40
"""Characters that a message shows before and after the place of a fault."""
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SIGNS: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


@dataclass(frozen=True)
class Grammar:
    """What a kind of formulas has besides numbers and brackets.

    Parameters
    ----------
    names
        A regular expression.
    operations
        What signs between two values do.
    functions
        What functions do, and the number of values that each takes at least; 1 is the only one.
    """

    names: str
    operations: Mapping[type[ast.operator], Callable[[Any, Any], Any]]
    functions: Mapping[str, tuple[Callable[..., Any], int]]

    def parse(self, text: str, read: Callable[[str], str]) -> ast.expr:
        """Return the tree of a formula; `read` returns the identifier that stands for a name.

        Raises
        ------
        ConfigError
            The text is no formula, or `read` raised it; the message shows the place.
        """
        words, starts, begins = "", [], []
        for kind, word, start in self._words(text):
            starts.append(start)
            begins.append(len(words))
            try:
                words += f"{read(word) if kind == 'name' else word} "
            except ConfigError as fault:
                raise _error(text, start, str(fault)) from None

        def fault_at(column: int, reason: str) -> ConfigError:
            return _error(text, starts[bisect.bisect_right(begins, column) - 1], reason)

        try:
            tree = ast.parse(words.strip(), mode="eval").body
        except SyntaxError as fault:
            reason = "it cannot be read on from here" if "syntax" in fault.msg else fault.msg
            raise fault_at((fault.offset or len(words)) - 1, reason) from None
        for node in ast.walk(tree):
            if isinstance(node, ast.expr) and (reason := self._fault(node)):
                raise fault_at(node.col_offset, reason)
        return tree

    def value(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """Return the value of a tree, given those of its names."""
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.Name(id=name):
                return names[name]
            case ast.UnaryOp(op=sign, operand=operand):
                return _SIGNS[type(sign)](self.value(operand, names))
            case ast.BinOp(left=left, op=sign, right=right):
                sides = (self.value(side, names) for side in (left, right))
                return self.operations[type(sign)](*sides)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self.functions[name][0](*(self.value(each, names) for each in arguments))
        raise AssertionError(ast.dump(node))

    def _words(self, text: str) -> Iterator[tuple[str, str, int]]:
        """Yield kind, text and place of each word; the last one is the end."""
        functions = "|".join(self.functions)
        pattern = re.compile(
            rf"\s*(?:(?P<number>{_NUMBER})|(?P<function>(?:{functions})(?=\s*\())|"
            rf"(?P<name>{self.names})|(?P<sign>\*\*|[-+*/(),])|(?P<end>\Z)|(?P<wrong>\S))"
        )
        kind, end, count, nested = "", 0, 0, 0
        while kind != "end":
            match = pattern.match(text, end)
            assert match is not None  # noqa: S101  any sign is at least wrong
            kind = match.lastgroup or ""
            word, start, end = match[kind], match.start(kind), match.end()
            count += 1
            nested += (word in "(-") * bool(word) - (word == ")")
            if kind == "wrong":
                raise _error(text, start, f"cannot read '{word}'")
            if kind == "number" and parse_finite(word) is None:
                raise _error(text, start, f"the number is {word}, expected one that is {FINITE}")
            if count > MOST_WORDS or nested > MOST_NESTED:
                most = (
                    f"{MOST_WORDS} numbers, names and signs, or {MOST_NESTED} brackets and minuses"
                )
                raise _error(text, start, f"more than {most}")
            yield kind, word, start

    def _fault(self, node: ast.expr) -> str:
        """Return what is wrong with a part that Python can parse; nothing if it is right."""
        match node:
            case ast.Constant() | ast.Name() | ast.UnaryOp():
                return ""
            case ast.BinOp(op=ast.Div(), right=ast.Constant(value=0)):
                return "division by 0"
            case ast.BinOp(op=sign):
                return "" if type(sign) in self.operations else "cannot read '**'"
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if (
                name in self.functions
            ):
                least = self.functions[name][1]
                if len(arguments) < least or (least == 1 and len(arguments) > 1):
                    many = "one value" if least == 1 else "two values or more, separated by commas"
                    return f"{name} takes {many}"
                return ""
        return "found what is no value: between values stand signs, in functions commas"


def _error(text: str, place: int, fault: str) -> ConfigError:
    """Return an error that shows a formula with a caret below the place."""
    before, after = text[:place], text[place:]
    shown = f"{before[-_AROUND:]}{after[:_AROUND]}"
    return ConfigError(
        f"formula: {fault} (column {place + 1})\n    {shown}\n    {' ' * len(before[-_AROUND:])}^"
    )
