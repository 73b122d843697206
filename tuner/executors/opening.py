"""Parse --executor and the [executor] table, and open the team that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..base import files, json_toml
from ..base.context import using
from ..base.errors import ConfigError, faults_at, suggest
from ..base.threads import Team
from ..families import provided

EXPECTED = "local, dask:ADDRESS, dask:FILE.json, dask-slurm:JOBS or FILE.toml with [executor]"


@dataclass(frozen=True)
class Workplace:
    """The place where tasks run: threads of this process, or what a subclass says.

    Parameters
    ----------
    text
        The place as the user wrote it.
    """

    text: str = "local"
    is_local: ClassVar[bool] = True
    """True if tasks run on this machine, in this process."""

    def opened(self) -> AbstractContextManager[Team | None]:
        """Open the workers, if they are not threads of this process."""
        return nullcontext()

    def within(self, folder: Path) -> Workplace:  # noqa: ARG002  it has no files
        """Return the place with its files relative to a folder."""
        return self

    @classmethod
    def parse(cls, text: str | Workplace, options: Mapping[str, Any] | None = None) -> Workplace:
        """Return the place that a text names; only queueing systems have options.

        Raises
        ------
        ConfigError
            The text names no place, or its file has no table [executor].
        """
        if isinstance(text, Workplace):
            return text
        if options is None and text.endswith(".toml"):
            return cls.of_table(_table(Path(text)), where=text, folder=Path(text).parent)
        if text.startswith("dask"):
            place: Workplace = provided("portmert.executors", "dask")(text, options or {})
            return place
        if options:
            check_options(text, options)
        if text != "local":
            near = suggest(text, ("local", "dask"))
            if text.startswith("local:"):
                near = "; --threads sets how many tasks run at once on this machine"
            raise ConfigError(f"executor '{text}': expected {EXPECTED}{near}")
        return Workplace()

    @classmethod
    def of_table(cls, table: Mapping[str, Any], *, where: str, folder: Path) -> Workplace:
        """Return the place that a table [executor] names, by `name` and other options.

        A scheduler's file is relative to the folder of the table's file.
        """
        options = dict(table)
        name = options.pop("name", None)
        if not isinstance(name, str) or name.endswith(".toml"):
            fault = "name must be given" if name is None else f"name is {name!r}"
            raise ConfigError(
                f"{where}: [executor]: {fault}, expected one of {EXPECTED.partition(' or ')[0]}, "
                f'as name = "dask-slurm:20"'
            )
        with faults_at(f"{where}: [executor]", ConfigError, ConfigError):
            return cls.parse(name, options).within(folder)


def check_options(text: str, options: Mapping[str, Any]) -> None:
    """Raise ConfigError if a place has options that is no queueing system."""
    if options:
        raise ConfigError(
            f"executor '{text}' has no option '{next(iter(options))}'; those of a queueing system "
            f"have any, as dask-slurm:20"
        )


def _table(path: Path) -> Mapping[str, Any]:
    with faults_at(f"{path}: is not TOML", ValueError, ConfigError):
        tables = json_toml.parse_toml(files.read_bytes(path).decode("utf-8"))
    table = tables.get("executor")
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: has no table [executor]")
    return table


@contextmanager
def opened(place: str | Workplace) -> Iterator[None]:
    """Let tasks inside run at a place.

    Parameters
    ----------
    place
        See `Workplace`.

    Raises
    ------
    ConfigError, StateError
        The place does not exist, its package is not installed, or no scheduler answers.
    """
    with Workplace.parse(place).opened() as cluster, using(cluster=cluster):
        yield
