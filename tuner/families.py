"""Finds the components of each family: our own classes, and entry points of other packages.

A component of ours is a public class that derives from the base of its family, in a public file of
the family's folder. It is called as the class: `BleuSbp` is `bleu-sbp`. Another package adds a
component by an entry point of its name in the family's group, `portmert.metrics` and so on. A
class that a program or a notebook defines is found as soon as it is defined. Nothing is listed
anywhere else.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args, get_type_hints

from .base.components import component_name
from .base.errors import ConfigError, may_be_signal, named, suggest

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

_CLASS = re.compile(r"^class (\w+)\(([^)]*)\):", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


@dataclass(frozen=True)
class Family:
    """Where the components of one family are found.

    Parameters
    ----------
    package
        The folder of our own.
    base
        The base class with its module. A wing's base class may be part of the core.
    reserved
        Names that mean something else where a component is named.
    """

    package: str
    base: str
    reserved: frozenset[str] = frozenset()

    @property
    def group(self) -> str:
        """The group of entry points: `portmert.metrics`."""
        return f"portmert.{self.package.rpartition('.')[2]}"

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


FAMILIES = {
    "metric": Family(
        "portmert.metrics",
        "portmert.metrics._base.Metric",
        frozenset({"comet", "command", "max", "min", "scores"}),
    ),
    "aligner": Family("portmert.aligners", "portmert.aligners._base.Aligner"),
    "decoder": Family("portmert.tuner.decoders", "portmert.tuner.decoders._base.Decoder"),
    "optimizer": Family(
        "portmert.tuner.search.optimizers", "portmert.tuner.search.optimizers._base.Optimizer"
    ),
    "reader": Family("portmert.tuner.nbest.readers", "portmert.tuner.nbest.readers._base.Reader"),
    "annotator": Family(
        "portmert.tuner.annotation.annotators", "portmert.tuner.texts.annotator.Annotator"
    ),
}


def wing(module: str) -> Any:
    """Import a module of a wing, where the core uses it: `annotation.annotating`.

    The core imports no wing otherwise (docs/explanation/design.md).
    """
    return importlib.import_module(f"portmert.tuner.{module}")


_DAMAGED = (UnicodeDecodeError, TypeError)
"""Errors of Python's reader of entry_points.txt: no UTF-8, a line without `=`."""


def own_names(family: str) -> list[str]:
    """Return the sorted names of our own components of a family, importing none of them."""
    return sorted(_own(FAMILIES[family]))


@functools.cache
def _own(place: Family) -> dict[str, tuple[str, str]]:
    """Return the module and the class of each of our own components of a family, by its name.

    Read from the text of the files, because an import of all of them takes long.
    """
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
    return sorted({*own_names(family), *_extensions(family)})


def package_of(family: str, name: str) -> str:
    """Return name and version of the package that component `name` comes from; '' for ours."""
    found = _extensions(family).get(name)
    return _titled(found[0].dist) if found else ""


def unreadable() -> list[str]:
    """Return a line on each installed package whose entry_points.txt cannot be read."""
    return _entry_points(tuple(sys.path))[1]


def fault_of(error: BaseException) -> str | None:
    """Return a line on an error in the code of a package with components; None for another."""
    if may_be_signal(error):
        return None
    if isinstance(error.__cause__, OverflowError):  # `arguments.checked` takes it for a user's
        error = error.__cause__
    entries, _ = _entry_points(tuple(sys.path))
    owners = {re.split("[.:]", entry.value)[0]: entry for entry in entries}
    for frame, _ in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        owner = owners.get(module.partition(".")[0])
        if owner is not None and not module.startswith("portmert."):
            said = f"ended in {named(error)} (--verbose shows where)"
            if isinstance(error, SystemExit):
                said = f"tried to end the program: sys.exit({error.code!r})"
            return f"{module}.{frame.f_code.co_qualname} of package {_titled(owner.dist)} {said}"
    return None


def component(family: str, name: str) -> type[Any]:
    """Return the class of component `name`.

    Raises
    ------
    ConfigError
        There is no such component (the message names the nearest), two have the name, or that of
        another package cannot be loaded.
    """
    entries = _extensions(family).get(name, [])
    added = list({(_titled(entry.dist), entry.value): entry for entry in entries}.values())
    is_ours = name in own_names(family)
    if len(added) + is_ours > 1:
        owners = dict.fromkeys(
            ["portmert itself"] * is_ours + [_titled(one.dist) for one in added]
        )
        where = " and in ".join(owners) if len(owners) > 1 else f"{_titled(added[0].dist)} twice"
        raise ConfigError(
            f"{family} '{name}' is in {where}; uninstall one package, or let its author choose "
            f"another name"
        )
    if added:
        return _loaded(family, added[0])
    if not is_ours:
        defined = _of_program(FAMILIES[family])
        if name not in defined:
            near = suggest(name, {*names(family), *defined})
            if name.endswith(".py"):
                near = (
                    f"; your own {family} comes from an installed package "
                    f"(docs/how-to/own-metric.md)"
                )
            raise ConfigError("; ".join([f"unknown {family} '{name}'{near}", *unreadable()]))
        return defined[name]
    module, cls = _own(FAMILIES[family])[name]
    found: type[Any] = getattr(importlib.import_module(module), cls)
    return found


def _of_program(place: Family) -> dict[str, type[Any]]:
    """Return the components that this program defines, by name: classes of a notebook, say.

    A cell of a notebook that is run again defines its class again, and the latest is taken.
    """
    found, waiting = {}, [place.base_class]
    for cls in waiting:
        waiting += cls.__subclasses__()
        if not cls.__module__.startswith("portmert.") and not inspect.isabstract(cls):
            found[cls.name()] = cls
    return found


def check_name(family: str, given: Any) -> None:
    """Raise `ConfigError` for a component of the program that has the name of an installed one."""
    place, name = FAMILIES[family], given.name()
    if type(given).__module__.startswith("portmert."):
        return
    if name in place.reserved or (
        name in names(family) and component(family, name) is not type(given)
    ):
        raise ConfigError(
            f"{family} '{name}': class {type(given).__name__} has the name of another {family}; "
            f"rename the class"
        )


def _loaded(family: str, entry: EntryPoint) -> type[Any]:
    """Load a component of another package and check that it is one."""
    from pydantic.dataclasses import is_pydantic_dataclass  # noqa: PLC0415  start-up time

    def refuse(reason: str) -> NoReturn:
        raise ConfigError(
            f"{family} '{entry.name}' of package {_titled(entry.dist)} cannot be used: {reason}; "
            f"update or uninstall the package"
        )

    place = FAMILIES[family]
    if not _NAME.fullmatch(entry.name) or entry.name in place.reserved:
        refuse("a name has lowercase letters, digits and hyphens, and no meaning of its own yet")
    if not entry.value:
        refuse("its entry point names no class")
    try:
        with redirect_stdout(sys.stderr):  # stdout is for results, not for banners
            cls = entry.load()
    except BaseException as error:  # whatever goes wrong in code not ours
        if may_be_signal(error):
            raise
        refuse(f"loading {entry.value} ends in {named(error)}")
    if not (isinstance(cls, type) and issubclass(cls, place.base_class)):
        refuse(f"{entry.value} is no class derived from {place.base}")
    if not is_pydantic_dataclass(cls):
        refuse(f"{entry.value} is not decorated with @pydantic.dataclasses.dataclass")
    checked: type[Any] = cls
    if checked.name() != entry.name:
        refuse(
            f"{entry.value} is called '{checked.name()}' after its class; its entry point must "
            f"have this name"
        )
    for lacking in _lacking(place.base_class, checked, entry.value):
        refuse(lacking)
    checked._package = _titled(entry.dist)  # noqa: SLF001  it stands in messages
    return checked


def _lacking(base: type[Any], cls: type[Any], called: str) -> Iterator[str]:
    """Yield what a class lacks to be made and called as its base class promises."""
    try:
        get_type_hints(cls, include_extras=True)
    except Exception as error:  # noqa: BLE001  a type may be any expression
        yield f"a type of {called} cannot be evaluated: {named(error)}"
    for name in sorted(getattr(cls, "__abstractmethods__", ())):
        yield f"{called} does not define {name}"
    for name in inspect.get_annotations(base):
        if not hasattr(cls, name):
            yield f"{called} does not say its {name}"
    for name, method in inspect.getmembers(base, inspect.isfunction):
        if not callable(getattr(cls, name)):
            yield f"{name} of {called} is no method"
            continue
        for option in _not_taken(method, getattr(cls, name)):
            yield f"{name}() of {called} does not take '{option}'"


def _not_taken(wanted: Callable[..., Any], method: Callable[..., Any]) -> list[str]:
    """Return the arguments that are given by name and that a method does not take."""
    taken = inspect.signature(method).parameters
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return []
    names: list[str] = []
    for one in inspect.signature(wanted).parameters.values():
        if one.kind is one.KEYWORD_ONLY:
            names.append(one.name)
        for options in get_args(one.annotation) if one.kind is one.VAR_KEYWORD else ():
            names += options.__annotations__
    return [name for name in names if name not in taken]


def _titled(package: Distribution | None) -> str:
    """Return name and version of a package, as far as its metadata have them.

    Another library may have put importlib_metadata in the place of Python's own module: it raises
    errors where that gives None.
    """
    found: list[str] = []
    with suppress(AttributeError, KeyError, OSError, ValueError):
        metadata: Any = package.metadata  # type: ignore[union-attr]  # None has none
        found = [metadata[field] for field in ("Name", "Version") if field in metadata]
    return " ".join(found) or "without a name"


def _extensions(family: str) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a family by name; nothing of their packages is imported."""
    found: dict[str, list[EntryPoint]] = {}
    for entry in _entry_points(tuple(sys.path))[0]:
        if entry.group == FAMILIES[family].group:
            found.setdefault(entry.name, []).append(entry)
    return found


@functools.cache
def _entry_points(path: tuple[str, ...]) -> tuple[list[EntryPoint], list[str]]:
    """Return our entry points in all packages, and a line on each damaged package."""
    import importlib.metadata  # noqa: PLC0415  start-up time

    del path  # where it is searched: another one may give others
    with suppress(*_DAMAGED):
        return _ours(importlib.metadata.entry_points()), []
    found: list[EntryPoint] = []
    damaged = []
    for package in importlib.metadata.distributions():
        try:
            found += _ours(package.entry_points)
        except _DAMAGED as error:
            reason = "a line has no =" if isinstance(error, TypeError) else error
            damaged.append(
                f"entry_points.txt of package {_titled(package)} cannot be read ({reason}): "
                f"reinstall or uninstall the package"
            )
    from portmert.metrics.kernels.compiled import compile_nothing  # noqa: PLC0415  start-up time

    with suppress(*_DAMAGED):  # numba reads the files before it first compiles, and never again
        compile_nothing()
    return found, damaged


def _ours(points: Any) -> list[EntryPoint]:
    return [one for family in FAMILIES.values() for one in points.select(group=family.group)]
