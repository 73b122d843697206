"""Finds the components of each family by the entry points of installed packages.

An entry point in the family's group, `portmert.metrics` and so on, names the class of a component,
those of portmert itself (pyproject.toml) and of other packages alike; one in `portmert.commands` a
command. A component is called as its class: `BleuSbp` is `bleu-sbp`. A class that a program or a
notebook defines is found as soon as it is defined.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from portmert.metrics import _paper_names

from .base.components import component_name
from .base.errors import ConfigError, named, shown, suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True)
class Family:
    """Where the components of one family are found.

    Parameters
    ----------
    base
        The base class with its module.
    group
        The group of entry points: `portmert.metrics`.
    reserved
        Names that mean something else where a component is named.
    """

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


_EXTENSIONS = "portmert.extensions."
_OF_CORE = {
    "metric": Family(
        "portmert.metrics._base.Metric",
        "portmert.metrics",
        frozenset({"comet", "command", "max", "min", "scores"}),
    ),
    "aligner": Family("portmert.aligners._base.Aligner", "portmert.aligners"),
    "decoder": Family("portmert.tuner.decoders._base.Decoder", "portmert.decoders"),
    "optimizer": Family("portmert.tuner.search.optimizers._base.Optimizer", "portmert.optimizers"),
    "reader": Family("portmert.tuner.nbest.readers._base.Reader", "portmert.readers"),
    "annotator": Family("portmert.tuner.texts.annotator.Annotator", "portmert.annotators"),
}


def families() -> dict[str, Family]:
    """Return the families by name: those of the core, and those that an extension adds.

    An entry point in `portmert.families` leads to the base class. Components of the family
    `graph-reader` are in the group `portmert.graph_readers`.
    """
    added = {
        name: Family(entry.value.replace(":", "."), f"portmert.{name.replace('-', '_')}s")
        for name, (entry, *_) in extensions("portmert.families").items()
    }
    return {**_OF_CORE, **added}


def _family(name: str) -> Family:
    """Return a family; raise `ConfigError` if the folder of its extension is missing."""
    family = _OF_CORE.get(name) or families().get(name)
    if family is None:
        raise ConfigError(missing("portmert.families", name) or f"there is no family '{name}'")
    return family


def own_names(family: str) -> list[str]:
    """Return the sorted names of our own components of a family, importing none of them."""
    entries = extensions(_family(family).group)
    return sorted(name for name, (entry, *_) in entries.items() if is_ours(entry))


def names(family: str) -> list[str]:
    """Return the sorted names of all components of a family, importing none of them."""
    return sorted(extensions(_family(family).group))


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
    place = _family(family)
    entries = extensions(place.group).get(name, [])
    if len(entries) > 1:
        owners = " and in ".join(map(owner, sorted(entries, key=is_ours, reverse=True)))
        raise ConfigError(
            f"{family} '{name}' is in {owners}; uninstall one package, or let its author choose "
            f"another name"
        )
    if entries:
        return _loaded(family, entries[0])
    defined = _of_program(place)
    if name in defined:
        return defined[name]
    raise ConfigError(
        missing(place.group, name)
        or _not_registered(family, name)
        or f"unknown {family} '{shown(name)}'{_hints(family, name, {*names(family), *defined})}"
    )


def _not_registered(family: str, name: str) -> str:
    """Return a line if the installation is older than the sources: it names no component here."""
    entries = (entry for each in extensions(_family(family).group).values() for entry in each)
    if family not in _OF_CORE or any(
        is_ours(entry) and not entry.value.startswith(_EXTENSIONS) for entry in entries
    ):
        return ""
    return (
        f"{family} '{shown(name)}': this installation does not name the components of portmert; "
        f"install it again (in a clone: pip install -e .)"
    )


def _hints(family: str, name: str, candidates: Collection[str]) -> str:
    """Return what an unknown name may have meant."""
    near = suggest(shown(name), candidates)
    hints = _paper_names.near(shown(name)) if family == "metric" else ""
    if family == "metric" and re.split(r"[-+*/]", name)[0] in candidates:
        hints += "; a sign behind a metric needs spaces around it"
    if name.endswith(".py"):
        return f"; your own {family} comes from an installed package (the guide's page 'Extend')"
    return hints if hints and near.startswith("; known") else near + hints


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
    """Load a component; check one of another package."""
    cls: type[Any] = entry.load()
    if is_ours(entry):
        return cls
    from pydantic.dataclasses import is_pydantic_dataclass  # noqa: PLC0415  start-up time

    place, expected = _family(family), ""
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
        raise ConfigError(
            missing(group, name)
            or f"no installed package adds {name} to {group}; if portmert itself has it, install "
            f"portmert again (in a clone: pip install -e .)"
        )
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
    is_extension = name.startswith(_EXTENSIONS)
    return f"this needs the folder {folder}, which is missing here" if is_extension else ""


def is_ours(entry: EntryPoint) -> bool:
    """Return whether an entry point leads to portmert itself."""
    return entry.value.startswith("portmert.")


def _missing_folder(entry: EntryPoint) -> str:
    """Return the folder of one of our extensions if it is not there: `extensions/crossval`."""
    if not entry.value.startswith(_EXTENSIONS):
        return ""
    folder = Path(*entry.value.split(".")[1:3])
    return "" if (Path(__file__).parents[1] / folder).is_dir() else f"portmert/{folder}"


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
