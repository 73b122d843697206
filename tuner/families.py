"""Finds the components of each family: classes of the core, and entry points of extensions.

A component of the core is a public class that derives from the base of its family, in a public
file of the family's folder. It is called as the class: `BleuSbp` is `bleu-sbp`. Another package,
and portmert's own `extensions`, adds a component by an entry point of its name in the family's
group, `portmert.metrics` and so on; a command by one in `portmert.commands`. A class that a
program or a notebook defines is found as soon as it is defined. Nothing is listed anywhere else.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from portmert.metrics import _paper_names

from .base.components import component_name
from .base.errors import ConfigError, named, shown, suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_CLASS = re.compile(r"^class (\w+)\(([^)]*)\):", re.MULTILINE)


@dataclass(frozen=True)
class Family:
    """Where the components of one family are found.

    Parameters
    ----------
    package
        The folder of our own; "" for a family of which the core has no component.
    base
        The base class with its module, which may lie outside the folder.
    group
        The group of entry points: `portmert.metrics`.
    reserved
        Names that mean something else where a component is named.
    """

    package: str
    base: str
    group: str
    reserved: frozenset[str] = frozenset()

    @property
    def base_name(self) -> str:
        """The name of the base class: `Metric`."""
        return self.base.rpartition(".")[2]

    @property
    def base_class(self) -> type[Any]:
        """The class that every component of the family derives from."""
        module = importlib.import_module(self.base.rpartition(".")[0])
        base_class: type[Any] = getattr(module, self.base_name)
        return base_class


_OF_CORE = {
    "metric": Family(
        "portmert.metrics",
        "portmert.metrics._base.Metric",
        "portmert.metrics",
        frozenset({"comet", "command", "max", "min", "scores"}),
    ),
    "aligner": Family("portmert.aligners", "portmert.aligners._base.Aligner", "portmert.aligners"),
    "decoder": Family(
        "portmert.tuner.decoders", "portmert.tuner.decoders._base.Decoder", "portmert.decoders"
    ),
    "optimizer": Family(
        "portmert.tuner.search.optimizers",
        "portmert.tuner.search.optimizers._base.Optimizer",
        "portmert.optimizers",
    ),
    "reader": Family(
        "portmert.tuner.nbest.readers",
        "portmert.tuner.nbest.readers._base.Reader",
        "portmert.readers",
    ),
    "annotator": Family(
        "portmert.tuner.annotation.annotators",
        "portmert.tuner.texts.annotator.Annotator",
        "portmert.annotators",
    ),
}


def families() -> dict[str, Family]:
    """Return the families by name: those of the core, and those that an extension adds.

    An entry point in `portmert.families` leads to the base class. Components of the family
    `graph-reader` are in the group `portmert.graph_readers`.
    """
    added = {
        name: Family("", entry.value.replace(":", "."), f"portmert.{name.replace('-', '_')}s")
        for name, (entry, *_) in extensions("portmert.families").items()
    }
    return {**_OF_CORE, **added}


def _family(name: str) -> Family:
    """Return a family; raise `ConfigError` if the folder of its extension is missing."""
    by_name = families()
    if name not in by_name:
        raise ConfigError(missing("portmert.families", name) or f"there is no family '{name}'")
    return by_name[name]


def own_names(family: str) -> list[str]:
    """Return the sorted names of our own components of a family, importing none of them."""
    place = _family(family)
    added = [name for name, entries in extensions(place.group).items() if is_ours(entries[0])]
    return sorted({*_of_core(place), *added})


@functools.cache
def _of_core(place: Family) -> dict[str, tuple[str, str]]:
    """Return the module and the class of each component of the core, by its name.

    Read from the text of the files, because an import of all of them takes long.
    """
    if not place.package:
        return {}
    spec = importlib.util.find_spec(place.package)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(place.package)
    bases: dict[str, list[str]] = {}
    public: list[tuple[str, str]] = []
    for folder in spec.submodule_search_locations:
        for file in Path(folder).glob("*.py"):
            for name, derived in _CLASS.findall(file.read_text(encoding="utf-8")):
                bases.setdefault(name, []).extend(re.findall(r"\w+", derived))
                if not name.startswith("_") and not file.name.startswith("_"):
                    public.append((f"{place.package}.{file.stem}", name))

    def is_component(name: str) -> bool:
        return name == place.base_name or any(is_component(base) for base in bases.get(name, ()))

    return {
        component_name(name, place.base_name): (module, name)
        for module, name in public
        if is_component(name)
    }


def names(family: str) -> list[str]:
    """Return the sorted names of all components of a family, importing none of them."""
    return sorted({*_of_core(_family(family)), *extensions(_family(family).group)})


def package_of(family: str, name: str) -> str:
    """Return name and version of the package that component `name` comes from; '' for portmert."""
    entries = extensions(_family(family).group).get(name)
    return owner(entries[0]) if entries and not is_ours(entries[0]) else ""


def fault_of(error: Exception) -> str | None:
    """Return a line on an error in a component of another package; None for portmert's."""
    entries = {re.split("[.:]", entry.value)[0]: entry for entry in _entry_points(tuple(sys.path))}
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        entry = entries.get(module.partition(".")[0])
        if entry is not None and not module.startswith("portmert."):
            function = f"{module}.{frame.f_code.co_qualname}"
            return f"{function} of package {owner(entry)} ended in {named(error)}"
    return None


def component(family: str, name: str) -> type[Any]:
    """Return the class of component `name`.

    Raises
    ------
    ConfigError
        There is no such component (the message names the nearest), two have the name, or the entry
        point of another package names no component.
    """
    entries = extensions(_family(family).group).get(name, [])
    in_core = _of_core(_family(family)).get(name)
    if len(entries) + bool(in_core) > 1:
        owners = ["portmert itself"] * bool(in_core) + [owner(entry) for entry in entries]
        raise ConfigError(
            f"{family} '{name}' is in {' and in '.join(owners)}; uninstall one package, or let "
            f"its author choose another name"
        )
    if entries:
        return _loaded(family, entries[0])
    if in_core is None:
        defined = _of_program(_family(family))
        if name not in defined:
            near = suggest(shown(name), {*names(family), *defined})
            hints = _paper_names.near(shown(name)) if family == "metric" else ""
            if family == "metric" and re.split(r"[-+*/]", name)[0] in names(family):
                hints += "; a sign behind a metric needs spaces around it"
            near = hints if hints and near.startswith("; known") else near + hints
            if name.endswith(".py"):
                near = (
                    f"; your own {family} comes from an installed package "
                    f"(docs/how-to/own-metric.md)"
                )
            raise ConfigError(
                missing(_family(family).group, name) or f"unknown {family} '{shown(name)}'{near}"
            )
        return defined[name]
    module, class_name = in_core
    component_class: type[Any] = getattr(importlib.import_module(module), class_name)
    return component_class


def _of_program(place: Family) -> dict[str, type[Any]]:
    """Return the components that this program defines, by name: classes of a notebook, say.

    A cell of a notebook that is run again defines its class again; the latest class is used.
    """
    by_name, classes = {}, [place.base_class]
    for cls in classes:
        classes += cls.__subclasses__()
        if not cls.__module__.startswith("portmert.") and not inspect.isabstract(cls):
            by_name[cls.name()] = cls
    return by_name


def check_name(family: str, part: Any) -> None:
    """Raise `ConfigError` for a component of the program that has the name of an installed one."""
    place, name = _family(family), part.name()
    if type(part).__module__.startswith("portmert."):
        return
    if name in place.reserved or (
        name in names(family) and component(family, name) is not type(part)
    ):
        raise ConfigError(
            f"{family} '{name}': class {type(part).__name__} has the name of another {family}; "
            f"rename the class"
        )


def _loaded(family: str, entry: EntryPoint) -> type[Any]:
    """Load a component of an extension; check that it is one of this name."""
    from pydantic.dataclasses import is_pydantic_dataclass  # noqa: PLC0415  start-up time

    place = _family(family)
    cls: type[Any] = entry.load()
    if is_ours(entry):
        return cls
    expected = ""
    if not isinstance(cls, type) or not issubclass(cls, place.base_class):
        expected = f"a class derived from {place.base}"
    elif (name := component_name(cls.__name__, place.base_name)) != entry.name:
        expected = f"called so after its class, '{name}'"
    elif not is_pydantic_dataclass(cls):
        expected = "a class decorated with @pydantic.dataclasses.dataclass"
    if expected:
        raise ConfigError(
            f"{family} '{entry.name}' of package {owner(entry)}: {entry.value} is not "
            f"{expected}; update or uninstall the package"
        )
    setattr(cls, "_package", owner(entry))  # noqa: B010  a type checker sees a dataclass here
    return cls


def extensions(group: str) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a group by name; nothing of their packages is imported."""
    by_name: dict[str, list[EntryPoint]] = {}
    for entry in _entry_points(tuple(sys.path)):
        if entry.group == group and not _missing_folder(entry):
            by_name.setdefault(entry.name, []).append(entry)
    return by_name


def provided(group: str, name: str) -> Any:
    """Return what an extension adds to a group as `name`; the core imports no extension.

    Raises
    ------
    ConfigError
        No package adds it, or the folder of the extension is missing.
    """
    entries = extensions(group).get(name)
    if not entries:
        raise ConfigError(missing(group, name) or f"no installed package adds {name} to {group}")
    return entries[0].load()


def missing(group: str, name: str) -> str:
    """Return a line on the missing folder of portmert's extension that has `name`; else ''."""
    for entry in _entry_points(tuple(sys.path)):
        if (entry.group, entry.name) == (group, name) and (folder := _missing_folder(entry)):
            return f"{name} is an extension of portmert, and its folder {folder} is missing here"
    return ""


def missing_part(error: Exception) -> str:
    """Return a line on an import that failed for want of an extension of portmert; else ''."""
    name = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
    folder = "/".join(name.split(".")[:3])
    is_extension = name.startswith("portmert.extensions.")
    return f"this needs the folder {folder}, which is missing here" if is_extension else ""


def is_ours(entry: EntryPoint) -> bool:
    """Return whether an entry point leads to portmert itself."""
    return entry.value.startswith("portmert.")


def _missing_folder(entry: EntryPoint) -> str:
    """Return the folder of one of our extensions if it is not there: `extensions/crossval`."""
    folder = Path(*entry.value.split(".")[1:3])
    is_there = not is_ours(entry) or (Path(__file__).parents[1] / folder).is_dir()
    return "" if is_there else f"portmert/{folder}"


def owner(entry: EntryPoint) -> str:
    """Return name and version of the package of an entry point, as messages name it."""
    if is_ours(entry):
        return "portmert itself"
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "without a name"


@functools.cache
def _entry_points(path: tuple[str, ...]) -> list[EntryPoint]:
    """Return the entry points in all packages whose group begins with `portmert.`."""
    from importlib.metadata import entry_points  # noqa: PLC0415  start-up time

    del path  # where it is searched: another one may give others
    points = entry_points()
    groups = [group for group in points.groups if group.startswith("portmert.")]
    return [entry for group in groups for entry in points.select(group=group)]
