"""Gives each of several parameters that are documented together its own type and default.

griffe takes those of the first one for all: `source, hyp_links` would both be what `source` is.
"""

import re
from typing import Any

from griffe import Class, DocstringSectionKind, Extension, Function, Module

_TOGETHER = re.compile(r"^\*{0,2}\w+(?:, \*{0,2}\w+)+$", re.MULTILINE)
"""A line that names several parameters, without a type."""


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
    """Replace each type that is the signature's for another parameter, and its default."""
    if documented.docstring is None or not _TOGETHER.search(documented.docstring.value):
        return
    for section in documented.docstring.parsed:
        if section.kind is DocstringSectionKind.parameters:
            for one in section.value:
                kind, default = own.get(one.name.lstrip("*"), (None, None))
                borrowed = any(one.annotation is other for other, _ in own.values())
                if kind is not None and (one.annotation is None or borrowed):
                    one.annotation = kind
                    one.value = None if one.name.startswith("*") else default
