"""What the registry finds, described for a reader: from the classes and their docstrings."""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from tuner.components import registry

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIELD = re.compile(r"^(\w[\w, ]*?)(?: : .*)?$")


@dataclass(frozen=True)
class Option:
    """One option of a component.

    Parameters
    ----------
    name
        Key in a configuration and on the command line.
    values
        What it may be, as a user writes it.
    default
        As a user writes it; None if it must be given.
    meaning
        From the docstring of its class, or of a base class.
    """

    name: str
    values: str
    default: str | None
    meaning: str


@dataclass(frozen=True)
class Component:
    """One component.

    Parameters
    ----------
    name
        As in a configuration.
    summary
        First sentence of the docstring.
    description
        What follows it, up to the options.
    options
        In the order of the fields.
    """

    name: str
    summary: str
    description: str
    options: tuple[Option, ...]


def describe(family: str, name: str) -> Component:
    """Describe one component.

    Raises
    ------
    ConfigError
        There is none of this name.
    """
    cls = registry.component(family, name)
    head, _ = _read_docstring(inspect.getdoc(cls) or "")
    # An option that a family of components shares is explained once, in their common base.
    meanings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        meanings |= _read_docstring(inspect.cleandoc(base.__doc__ or ""))[1]
    summary, _, description = head.partition("\n\n")
    hints = get_type_hints(cls)
    bounds: Mapping[str, tuple[float, float]] = getattr(cls, "bounds", {})
    return Component(
        name=name,
        summary=summary,
        description=description.strip(),
        options=tuple(
            Option(
                name=field.name,
                values=_values(hints[field.name], bounds.get(field.name)),
                default=_default(field),
                meaning=meanings.get(field.name, ""),
            )
            for field in dataclasses.fields(cls)
        ),
    )


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a numpydoc docstring into what stands before its Parameters, and those."""
    head, _, rest = text.partition("\nParameters\n----------\n")
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in re.split(r"\n\n[A-Z][a-z]+\n-+\n", rest)[0].splitlines():
        field = _FIELD.match(line)
        if field:
            names = [name.strip() for name in field.group(1).split(",")]
            meanings.update(dict.fromkeys(names, ""))
        else:
            for name in names:  # a line that begins with `a value` explains one more value
                joint = "\n" if line.strip().startswith("`") else " "
                meanings[name] = f"{meanings[name]}{joint}{line.strip()}".strip()
    return head.strip(), meanings


def _values(hint: Any, bounds: tuple[float, float] | None) -> str:
    if get_origin(hint) is Literal:
        return " | ".join(str(value) for value in get_args(hint))
    kind = hint
    if isinstance(hint, UnionType):  # `float | None`: an option that may be left out
        kind = next(part for part in get_args(hint) if part is not type(None))
    if kind is bool:
        return "true | false"
    named = {float: "number", int: "integer", str: "text", Path: "path"}
    text = named.get(kind, str(kind) if get_args(kind) else kind.__name__)
    if bounds is None:
        return text
    low, high = bounds
    return f"{text}, at least {low:g}" if math.isinf(high) else f"{text}, {low:g} to {high:g}"


def _default(field: dataclasses.Field[Any]) -> str | None:
    value = field.default
    if value is dataclasses.MISSING:
        if field.default_factory is dataclasses.MISSING:
            return None
        value = field.default_factory()
    if value is None:
        return "unset"
    return str(value).lower() if isinstance(value, bool) else str(value)
