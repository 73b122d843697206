"""Parse --executor and the [executor] table, and open the team that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..base import documents, files
from ..base.errors import ConfigError, faults_at, suggest
from ..base.numbers import MOST
from .cluster import KINDS, check_address, connected, started
from .team import Team

EXPECTED = "local, dask:ADDRESS, dask:FILE.json, dask-slurm:JOBS or FILE.toml with [executor]"


@dataclass(frozen=True)
class Workplace:
    """The place where tasks run.

    Parameters
    ----------
    given
        The text of the user.
    address
        The address of a running scheduler, or its file.
    kind, jobs, options
        A queueing system, the number of jobs to submit, and the options of its class in
        dask-jobqueue.
    """

    given: str = "local"
    address: str = ""
    kind: str = ""
    jobs: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """True if tasks run on this machine, in this process."""
        return not self.address and not self.kind

    @classmethod
    def parse(cls, given: str | Workplace, options: Mapping[str, Any] | None = None) -> Workplace:
        """Return the place that a text names; only queueing systems have options.

        Raises
        ------
        ConfigError
            The text names no place, or its file has no table [executor].
        """
        if isinstance(given, Workplace):
            return given
        if options is None and given.endswith(".toml"):
            return cls.of_table(_table(Path(given)), where=given, folder=Path(given).parent)
        name, _, rest = given.partition(":")
        kind = name.removeprefix("dask-")
        if kind != name and kind in KINDS:
            if not rest.isascii() or not rest.isdecimal() or not 0 < int(rest[:20]) <= MOST:
                raise ConfigError(f"executor '{given}': how many jobs? As {name}:20")
            return cls(given, kind=kind, jobs=int(rest), options=options or {})
        if options:
            raise ConfigError(
                f"executor '{given}' has no option '{next(iter(options))}'; those of a queueing "
                f"system have any, as dask-slurm:20"
            )
        if name == "dask" and rest:
            if "://" in rest:
                check_address(rest, f"executor '{given}'")
            return cls(given, address=rest)
        if given != "local":
            near = suggest(kind, KINDS if name.startswith("dask") else ("local", "dask"))
            if name == "local":
                near = "; --threads sets how many tasks run at once on this machine"
            raise ConfigError(f"executor '{given}': expected {EXPECTED}{near}")
        return cls()

    @classmethod
    def of_table(cls, table: Mapping[str, Any], *, where: str, folder: Path) -> Workplace:
        """Return the place that a table [executor] names, by `name` and other options.

        A scheduler's file is relative to the folder of the table's file.
        """
        options = dict(table)
        name = options.pop("name", None)
        if not isinstance(name, str) or name.endswith(".toml"):
            found = "name must be given" if name is None else f"name is {name!r}"
            raise ConfigError(
                f"{where}: [executor]: {found}, expected one of {EXPECTED.partition(' or ')[0]}, "
                f'as name = "dask-slurm:20"'
            )
        with faults_at(f"{where}: [executor]", ConfigError, ConfigError):
            place = cls.parse(name, options)
        if not place.address or "://" in place.address:
            return place
        return replace(place, address=str(folder / place.address))


def _table(path: Path) -> Mapping[str, Any]:
    with faults_at(f"{path}: is not TOML", ValueError, ConfigError):
        tables = documents.parse_toml(files.read_bytes(path).decode("utf-8"))
    table = tables.get("executor")
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: has no table [executor]")
    return table


@contextmanager
def opened(
    given: str | Workplace, *, threads: int, notice: Callable[[str], None]
) -> Iterator[Team]:
    """Open the team that runs tasks.

    Parameters
    ----------
    given
        See `Workplace`.
    threads
        Number of tasks at once on this machine.

    Raises
    ------
    ConfigError, StateError
        The place does not exist, its package is not installed, or no scheduler answers.
    """
    place = Workplace.parse(given)
    if place.address:
        with connected(place.given, place.address, notice=notice) as team:
            yield team
    elif place.kind:
        with started(place.given, place.kind, place.jobs, place.options, notice=notice) as team:
            yield team
    else:
        yield Team(threads)
