"""Gives each parameter of the reference its type in Python and its default.

griffe takes those of the first one for all that are documented together: `source, hyp_links` would
both be what `source` is. And types in docstrings may be the command line's: `FILE`.
"""

import re
from typing import Any

from griffe import Class, DocstringSectionKind, Extension, Function, Module

_TOGETHER = re.compile(r"^\*{0,2}\w+(?:, \*{0,2}\w+)+$", re.MULTILINE)
"""A line that names several parameters, without a type."""

_OF_COMMAND_LINE = re.compile(r"\b[A-Z]{2,}\b|^N$")
"""A type that is the placeholder of an option: `FILE`, `NAME[:OPTION=VALUE,...]`, `N`."""


class TypesTogether(Extension):
    """Changes the parsed docstrings of functions and of classes."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Correct all of a package, which is loaded."""
        todo: list[Any] = [pkg]
        while todo:
            part = todo.pop()
            if part.is_alias:
                continue
            if part.is_function:
                _correct(part, {e.name: (e.annotation, e.default) for e in part.parameters})
            elif part.is_class:
                fields = part.attributes.items()
                _correct(part, {name: (each.annotation, each.value) for name, each in fields})
            todo += part.members.values()


def _correct(documented: Function | Class, signature: dict[str, tuple[Any, Any]]) -> None:
    """Replace each type that is another parameter's or a placeholder, and its default."""
    if documented.docstring is None:
        return
    together = _TOGETHER.search(documented.docstring.value) is not None
    types = [kind for kind, _ in signature.values()]
    for section in documented.docstring.parsed:
        if section.kind is DocstringSectionKind.parameters:
            for parameter in section.value:
                written = parameter.annotation
                kind, default = signature.get(parameter.name.lstrip("*"), (None, None))
                borrowed = written is None or any(written is other for other in types)
                placeholder = _OF_COMMAND_LINE.search(str(written)) is not None
                if kind is not None and (placeholder or (together and borrowed)):
                    parameter.annotation = kind
                    parameter.value = None if parameter.name.startswith("*") else default
