"""Descriptions of components, from their classes and docstrings; or why one is broken."""

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .. import families
from ..base.errors import named
from ..families import missing, missing_part, package_of, provided
from . import external, registry

_FIELD = re.compile(r"^(\w[\w, ]*?)(?: : .*)?$")
_SECTION = re.compile(r"\n\n([A-Z][a-z]+)\n-+\n")
_LIMITS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
_KINDS = {float: "number", int: "integer", str: "text", Path: "path", Mapping: "table"}


def catalogue(family: str) -> Iterator[dict[str, Any]]:
    """Yield the components of a family in order of name, each as `describe` returns it.

    Of a broken one only `name` and `package` are known, and `fault`, the reason why it cannot be
    used: it is of another package, or needs an extension that is missing. Metrics that are written
    `name:ARGUMENT` are among the others.
    """
    outside = external.NAMES if family == "metric" else ()
    present = [name for name in outside if not missing("portmert.outside_metrics", name)]
    for name in sorted({*families.names(family), *present}):
        try:
            yield describe(family, name)
        except Exception as error:
            package, needed = package_of(family, name), missing_part(error)
            if not (package or needed):
                raise
            yield {"name": name, "package": package, "fault": needed or named(error)}


def describe(family: str, text: str) -> dict[str, Any]:
    """Describe the component written `name` or `name:option=value,option=value`.

    Returns
    -------
    dict
        Its `name` in a configuration; `summary`, the first sentence of its docstring;
        `description`, the rest, up to the options; `options`; `needs`, the inputs of a metric
        besides tokens, or the options of another component that must be given; `source`, the
        paper or program; `package`, name and version of the package it comes from, empty if it is
        ours; and more facts of its family. A metric from outside has an `argument`, what stands
        behind its colon.

        An option has its `name` in a configuration and on the command line; its possible `values`
        and its `default` as a user writes them (None if it must be given); its `meaning`, from the
        docstring of its class or of a base class; and `given`, its value, if the component was
        named with this option.

    Raises
    ------
    ConfigError
        There is none of this name, it is broken, or an option is wrong.
    """
    outside = text.partition(":")[0].lower()
    if family == "metric" and outside in external.NAMES.keys() - families.names("metric"):
        return _from_outside(outside)
    name, options = registry.written(family, text)
    cls = families.component(family, name)
    fields = dataclasses.fields(cls)
    is_whole = family == "metric" and all(_default(field) is not None for field in fields)
    component = registry.build(family, name, options) if options or is_whole else None
    docstring = inspect.getdoc(cls) or ""
    head, _ = _read_docstring(docstring)
    # An option that several components share is explained once, in their common base.
    meanings: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        meanings |= _read_docstring(inspect.cleandoc(base.__doc__ or ""))[1]
    summary, _, description = head.partition("\n\n")
    hints = get_type_hints(cls, include_extras=True)
    described_options = []
    for field in fields:
        option: dict[str, Any] = {"name": field.name, "values": _values(hints[field.name])}
        option |= {"default": _default(field), "meaning": meanings.get(field.name, "")}
        if field.name in options:
            option["given"] = _as_written(getattr(component, field.name))
        described_options.append(option)
    needs = [option["name"] for option in described_options if option["default"] is None]
    return {
        "name": name,
        "summary": summary,
        "description": description.strip(),
        "options": described_options,
        "needs": sorted(map(str, component.needs)) if component and family == "metric" else needs,
        "source": getattr(cls, "source", _references(docstring)),
        "package": package_of(family, name),
        **_facts(family, cls, component),
    }


def _from_outside(name: str) -> dict[str, Any]:
    """Describe a metric that is written `name:ARGUMENT`; the argument is all it takes."""
    is_ours = name == "scores"
    cls: type[Any] = external.Scores if is_ours else provided("portmert.outside_metrics", name)
    metric = cls() if name == "m2" else None
    summary, _, details = _read_docstring(inspect.getdoc(cls) or "")[0].partition("\n\n")
    form = f"Write it as {name}:{external.NAMES[name]}"
    form += ", or as m2 if --ref names the M2 file." if metric else "."
    form += " beta=NUMBER and level=NUMBER may follow, as in m2:level=0.4." if metric else ""
    needs = {"comet": ["source"], "command+links": ["links"]}.get(name, [])
    return {
        "name": name,
        "argument": external.NAMES[name],
        "summary": summary,
        "description": "\n\n".join(filter(None, [details.strip(), form])),
        "options": [],
        "needs": needs,
        "source": cls.source,
        "package": "",
        **_facts("metric", cls, metric),
    }


def _facts(family: str, cls: type[Any], component: Any) -> dict[str, Any]:
    """Return the facts of a family besides options; `made` is None if options are missing."""
    if family == "metric":
        return {
            "higher_is_better": cls.higher_is_better,
            "signature": None if component is None else component.signature,
            "statistics": [] if component is None else list(component.stat_names),
        }
    if family == "annotator":
        return {"gives": sorted(cls.gives)}
    if family == "optimizer":
        return {"sparse": cls.sparse}
    if family == "decoder":
        return {"inputs": list(cls.inputs)}
    if family == "reader":
        return {"title": cls.title, "example": "".join(cls.example)}
    return {}


def _references(docstring: str) -> str:
    """Return the section References of a docstring in one line."""
    parts = _SECTION.split(f"\n\n{docstring}")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return " ".join(sections.get("References", "").split())


def _read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Split a numpydoc docstring into the part before its Parameters, and these by name."""
    head, _, parameters = text.partition("\nParameters\n----------\n")
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in re.split(r"\n\n[A-Z][a-z]+\n-+\n", parameters)[0].splitlines():
        field = _FIELD.match(line)
        if field:
            names = [name.strip() for name in field.group(1).split(",")]
            meanings.update(dict.fromkeys(names, ""))
        else:
            for name in names:  # a line that begins with a value in `...` explains one more value
                joint = "\n" if line.strip().startswith("`") else " "
                meanings[name] = f"{meanings[name]}{joint}{line.strip()}".strip()
    return head.strip(), meanings


def _parts(hint: Any) -> tuple[Any, dict[str, float]]:
    """Return the plain type of an option that may be optional or annotated, and its limits."""
    bounds: dict[str, float] = {}
    while get_origin(hint) in (UnionType, Union, Annotated):
        if get_origin(hint) is Annotated:
            hint, *constraints = get_args(hint)
            for constraint in constraints:
                bounds |= {
                    side: getattr(constraint, side)
                    for side in _LIMITS
                    if hasattr(constraint, side)
                }
        else:  # `float | None`: an option that may be left out
            hint = next(part for part in get_args(hint) if part is not type(None))
    return hint, bounds


def _values(hint: Any) -> str:
    """Return the values of a type in words: `number, 1 to 16`, `integer, above 0`."""
    hint, bounds = _parts(hint)
    if get_origin(hint) is Literal:
        return " | ".join(str(value) for value in get_args(hint))
    if get_origin(hint) in (tuple, list):
        return f"list of {_values(get_args(hint)[0])}"
    if hint is bool:
        return "true | false"
    text = _KINDS.get(get_origin(hint) or hint) or str(getattr(hint, "__name__", hint))
    if {"ge", "le"} <= bounds.keys():
        return f"{text}, {bounds['ge']:g} to {bounds['le']:g}"
    return ", ".join(
        [text, *(f"{_LIMITS[side]} {bounds[side]:g}" for side in _LIMITS if side in bounds)]
    )


def _default(field: dataclasses.Field[Any]) -> str | None:
    value = field.default
    if value is dataclasses.MISSING:
        if field.default_factory is dataclasses.MISSING:
            return None
        value = field.default_factory()
    return _as_written(value)


def _as_written(value: object) -> str:
    """Return a value as a user writes it."""
    if value is None:
        return "unset"
    if isinstance(value, tuple | list):
        return ", ".join(map(_as_written, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
