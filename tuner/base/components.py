"""What the components of all families share: names, and a check of what those of others return."""

import functools
import re
from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn, Protocol

from .errors import ProgramError

_WORDS = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins in the name of a class."""


class Refuse(Protocol):
    """Raises the error of an answer: what was found, and what is expected."""

    def __call__(self, answer: str, expected: str) -> NoReturn:
        """Raise `ProgramError`, which names the component and its method."""
        raise NotImplementedError


Check = Callable[..., Any]
"""Called with a `Refuse`, what a method returned, and what it was given. Returns the answer."""


def component_name(name: str, base: str) -> str:
    """Return a component's name from those of its class and base: `BleuSbp` is `bleu-sbp`.

    The name of the base class may be appended: `ThotDecoder` is `thot`.
    """
    return re.sub(_WORDS, "-", name.removesuffix(base) or base).lower()


class Component(ABC):
    """A component of any family.

    Where a class is not ours, the answers of its methods are checked on their way back: whatever
    calls it gets what the base class promises, or ends with one line.
    """

    _family: ClassVar[str]
    """The family as messages have it; the base class has the same name with a capital."""
    _package: ClassVar[str] = ""
    """Name and version of the other package that it was loaded from."""
    _checks: ClassVar[Mapping[str, Check]] = {}
    """The check of what each of these methods returns."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__module__.startswith("portmert."):
            for name in cls._checks.keys() & vars(cls).keys():
                setattr(cls, name, _checked(cls, name))

    @classmethod
    def name(cls) -> str:
        """Return the name used in configurations, see `component_name`."""
        return component_name(cls.__name__, cls._family.title())

    @classmethod
    def of_package(cls) -> str:
        """Return ` of package NAME VERSION` for messages; nothing for ours and a program's own."""
        return f" of package {cls._package}" if cls._package else ""


def _checked(cls: type[Component], name: str) -> Any:
    """Return a method of a class with the check of its answers."""
    check, attribute = cls._checks[name], vars(cls)[name]
    method = attribute.__func__ if isinstance(attribute, classmethod) else attribute

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        def refuse(answer: str, expected: str) -> NoReturn:
            raise ProgramError(
                f"{cls.__module__}.{cls.__qualname__}.{name}{self.of_package()} returned "
                f"{answer}, expected {expected}; mend the {cls._family}"
            )

        return check(refuse, method(self, *args, **kwargs), *args, **kwargs)

    return classmethod(checked) if isinstance(attribute, classmethod) else checked


def described(value: object) -> str:
    """Return what something is, as a message has it."""
    if value is None:
        return "nothing (None)"
    shape, kind = getattr(value, "shape", None), type(value).__name__
    return f"{kind} of shape {shape}" if isinstance(shape, tuple) else kind
