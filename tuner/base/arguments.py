"""Check the arguments of public functions by their types."""

import functools
import inspect
from collections.abc import Callable
from types import GenericAlias, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from .errors import PortmertError
from .messages import in_words_of_the_caller
from .pipes import kept
from .warn import collected_warnings

P = ParamSpec("P")
R = TypeVar("R")
TOLD = frozenset({"lists", "test", "weights"})
"""Parameters whose faults are told with advice where they are read."""
MOST_SHOWN = 60


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Name the argument of a wrong type where a public function fails; take numpy's numbers.

    The warnings that the function gives are collected for its result.

    Raises
    ------
    TypeError
        The function failed, and an argument has another type than it declares.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        args = tuple(map(_plain, args))  # type: ignore[assignment]
        kwargs = {key: _plain(value) for key, value in kwargs.items()}  # type: ignore[assignment]
        try:
            with kept(), collected_warnings():
                return function(*args, **kwargs)
        except PortmertError as error:
            in_words_of_the_caller(error)
            raise
        except OverflowError as error:
            raise ValueError(f"{function.__name__}: a number is too large") from error
        except Exception as error:
            hints = _hints(function)
            bound = inspect.signature(function).bind(*args, **kwargs).arguments
            for name, value in {**bound, **kwargs}.items():
                if name in hints.keys() - TOLD and not _fits(value, hints[name]):
                    raise TypeError(
                        f"{function.__name__}: {name} is {_repr(value)}; expected "
                        f"{_written(hints[name])}"
                    ) from error
            raise

    return call


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the type of each parameter, and of each of the options that `**` collects."""
    hints = get_type_hints(function)
    for name, written in function.__annotations__.items():
        if "ArrayLike" in str(written):  # the shapes of arrays are checked where they are read
            del hints[name]
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            hints |= get_type_hints(get_args(hints.pop(name))[0])
    return hints


def _plain(value: Any) -> Any:
    """Return Python's number for a number of numpy, anything else unchanged."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value has a type, with all that it contains."""
    row: Any = GenericAlias(tuple, (hint,))
    of_one: TypeAdapter[Any] = TypeAdapter(row, config=ConfigDict(arbitrary_types_allowed=True))
    try:
        of_one.validate_python((value,), strict=True)
    except ValidationError:
        return False
    return True


def _repr(value: object) -> str:
    text = " ".join(repr(value).split())
    text = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
    return f"{text} ({type(value).__name__})"


def _written(hint: Any) -> str:
    """Return a type as Python programmers write it."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        return " | ".join(map(_written, inner))
    if kind is Literal:
        return " | ".join(map(repr, inner))
    name = getattr(kind or hint, "__name__", str(hint)).replace("NoneType", "None")
    if kind in (None, Callable):
        return name
    return f"{name}[{', '.join(map(_written, inner))}]"
