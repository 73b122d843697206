"""From a name in a configuration to the component of that name.

A component is the one class in the public file of its name (`bleu_sbp.py` holds `bleu-sbp`), in
the folder of its family. Nothing is listed anywhere: a new file is a new component.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from tuner.errors import ConfigError, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from aligners._base import Aligner
    from metrics._base import Metric
    from tuner.annotation.annotators._base import Annotator
    from tuner.decoders._base import Decoder
    from tuner.nbest.readers._base import Reader
    from tuner.search.optimizers._base import Optimizer

FAMILIES = {
    "metric": "metrics",
    "aligner": "aligners",
    "decoder": "tuner.decoders",
    "optimizer": "tuner.search.optimizers",
    "reader": "tuner.nbest.readers",
    "annotator": "tuner.annotation.annotators",
}

EXTERNAL = ("scores", "command", "command+links")
"""Metrics that are not ours: what stands before the first colon."""


def names(family: str) -> list[str]:
    """Return the sorted names of all components of a family, importing none of them."""
    spec = importlib.util.find_spec(FAMILIES[family])
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(FAMILIES[family])
    files = pkgutil.iter_modules(spec.submodule_search_locations)
    return sorted(file.name.replace("_", "-") for file in files if not file.name.startswith("_"))


def component(family: str, name: str) -> type[Any]:
    """Return the class of component `name`.

    Raises
    ------
    ConfigError
        There is no such component; the message names the nearest.
    """
    known = names(family)
    if name not in known:
        raise ConfigError(f"unknown {family} '{name}'{suggest(name, known)}")
    module = importlib.import_module(f"{FAMILIES[family]}.{name.replace('-', '_')}")
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and dataclasses.is_dataclass(value)
        and any(base.__name__ == family.capitalize() for base in value.__mro__[1:])
    ]
    if len(classes) != 1:
        raise ImportError(f"{module.__name__} must define one {family}, found {len(classes)}")
    return classes[0]


def build(family: str, name: str, options: Mapping[str, Any], *, where: str = "") -> Any:
    """Return component `name` with `options` checked against its fields.

    `where` begins the message of an error: the file and table the options come from.

    Raises
    ------
    ConfigError
        An unknown component, an unknown option, or a value of the wrong type or range.
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  start-up time

    cls = component(family, name)
    fields = {field.name for field in dataclasses.fields(cls)}
    prefix = f"{where}: " if where else ""
    for key in options:
        if key not in fields:
            near = suggest(key, fields)
            raise ConfigError(f"{prefix}{family} {name} has no option '{key}'{near}")
    try:
        return TypeAdapter(cls).validate_python(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise ConfigError(f"{prefix}{family} {name}: {key} must be given") from None
        if not key:  # the component's own check, which says what it found
            reason = first["msg"].removeprefix("Value error, ")
            raise ConfigError(f"{prefix}{family} {name}: {reason}") from None
        raise ConfigError(
            f"{prefix}{family} {name}: {key}: {first['msg']}, found {first.get('input')!r}"
        ) from None


def metric(text: str) -> Metric:
    """Return the metric written `name` or `name:option=value,option=value`.

    `scores:FILE`, `command:PROGRAM ARGUMENTS` and `command+links:...` are scores from outside, see
    `external`; `0.6*port + 0.4*bleu` and the like are formulas, see `formula`.
    """
    name, colon, rest = text.partition(":")
    if colon and name in EXTERNAL:
        from tuner.components import external  # noqa: PLC0415  start-up time

        return external.metric(name, rest)
    from tuner.components import formula  # noqa: PLC0415  start-up time

    if formula.is_formula(text) and not _names_a_file(text):
        return formula.parse(text, metric)
    built: Metric = build("metric", name, _options("metric", text))
    return built


def _names_a_file(text: str) -> bool:
    """Whether a text is `name:option=value,...`, all slashes in it being those of paths."""
    name, _, rest = text.partition(":")
    if re.search(r"[\s()*]", text) or name not in names("metric"):
        return False
    hints = get_type_hints(component("metric", name))
    items = [item.partition("=") for item in rest.split(",")]
    return all(
        equals and ("/" not in value or Path in (hints.get(key), *get_args(hints.get(key))))
        for key, equals, value in items
    )


def reader(text: str) -> Reader:
    """Return the reader of n-best lists written `name` or `name:option=value,option=value`."""
    name = text.partition(":")[0]
    built: Reader = build("reader", name, _options("reader", text))
    return built


def annotator(text: str, *, model: str = "") -> Annotator:
    """Return the annotator written `name` or `name:option=value,option=value`.

    An option that takes several values is given once for each. A `model` is the option of that
    name or, where there is none, one of the `files`.
    """
    name = text.partition(":")[0]
    hints = get_type_hints(component("annotator", name))
    several = {key for key, hint in hints.items() if get_origin(hint) is tuple}
    options = _options("annotator", text, several)
    if model:
        key = "model" if "model" in hints else "files"
        if key in options:
            raise ConfigError(f"annotator '{text}': {key} is given twice")
        options[key] = [model] if key in several else model
    built: Annotator = build("annotator", name, options)
    return built


def _options(family: str, text: str, several: Collection[str] = ()) -> dict[str, Any]:
    """Return the options of `name:option=value,option=value`; a list of each of `several`."""
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(
                f"{family} '{text}': '{item}' is not option=value; "
                f"write it as {name}:option=value,option=value"
            )
        if key in several:
            options.setdefault(key, []).append(value)
        elif key in options:
            raise ConfigError(f"{family} '{text}': option '{key}' is given twice")
        else:
            options[key] = value
    return options


def aligner(name: str, options: Mapping[str, Any], *, where: str = "") -> Aligner:
    """Return an aligner."""
    built: Aligner = build("aligner", name, options, where=where)
    return built


def decoder(name: str, options: Mapping[str, Any], *, where: str = "") -> Decoder:
    """Return a decoder."""
    built: Decoder = build("decoder", name, options, where=where)
    return built


def optimizer(name: str, options: Mapping[str, Any], *, where: str = "") -> Optimizer:
    """Return an optimizer."""
    built: Optimizer = build("optimizer", name, options, where=where)
    return built
