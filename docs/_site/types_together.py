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
            one = todo.pop()
            if one.is_alias:
                continue
            if one.is_function:
                _correct(one, {e.name: (e.annotation, e.default) for e in one.parameters})
            elif one.is_class:
                known = one.attributes.items()
                _correct(one, {name: (each.annotation, each.value) for name, each in known})
            todo += one.members.values()


def _correct(documented: Function | Class, own: dict[str, tuple[Any, Any]]) -> None:
    """Replace each type that is another parameter's or a placeholder, and its default."""
    if documented.docstring is None:
        return
    together = _TOGETHER.search(documented.docstring.value) is not None
    for section in documented.docstring.parsed:
        if section.kind is DocstringSectionKind.parameters:
            for one in section.value:
                kind, default = own.get(one.name.lstrip("*"), (None, None))
                borrowed = any(one.annotation is other for other, _ in own.values())
                borrowed = together and (one.annotation is None or borrowed)
                placeholder = _OF_COMMAND_LINE.search(str(one.annotation)) is not None
                if kind is not None and (borrowed or placeholder):
                    one.annotation = kind
                    one.value = None if one.name.startswith("*") else default
