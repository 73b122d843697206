"""Runs outside programs: one log each, one line of error."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aligners._errors import AlignerError
from aligners._watching import MOST_LOGGED, Bound, Watch, wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LAST_LINES = 3
"""How many lines of a log an error repeats."""

TAIL_BYTES = 4096

PATIENCE_SECONDS = 24 * 3600.0
"""A program that prints nothing for so long hangs: mkcls is silent for hours on a large bitext."""
TIMES_INPUT = 100
"""A result larger than so many times what lies in the folder is none: links are like texts."""


@dataclass(frozen=True)
class Command:
    """Names a program and its arguments, run in a folder that its file arguments are relative to.

    Parameters
    ----------
    arguments
        The program first, as `find_program` returns it.
    log
        Name of the file, in that folder, for what the program prints.
    out
        Name of the file for its standard output, where that is its result; else it goes to the
        log too.
    environment
        Variables besides those of this process.
    """

    arguments: Sequence[str | Path]
    log: str
    out: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def find_program(name: str, folder: Path | None, *, package: str) -> Path:
    """Return the absolute path of a program in `folder`, or on PATH if that is None.

    Raises
    ------
    AlignerError
        It is not there; the message says which package brings it.
    """
    if folder is None:
        found = shutil.which(name)
        if found is None:
            raise AlignerError(
                f"the program {name} is not on PATH; install {package} "
                f"(docs/how-to/aligners.md), or set bin_dir to the folder that holds it"
            )
        return Path(found).absolute()
    path = folder.absolute() / name
    if not path.is_file() or not os.access(path, os.X_OK):
        raise AlignerError(
            f"{folder}: holds no program {name}; set bin_dir to where {package} is installed"
        )
    return path


def run_program(
    command: Command, folder: Path, *, timeout_seconds: float = PATIENCE_SECONDS
) -> None:
    """Run a program in `folder` to its end.

    The folder is scratch: it goes when its work is done or has failed. So the log of a program
    that fails is copied beside it, and the error names the copy.

    Parameters
    ----------
    timeout_seconds
        It is ended when it prints nothing for so long; 0: never.

    Raises
    ------
    AlignerError
        The program cannot be started, ends with another status than 0, prints too much, or
        nothing for too long.
    """
    program = Path(command.arguments[0])
    log = folder / command.log
    bounds = {log: Bound()}
    if command.out is not None:
        given = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        bounds[folder / command.out] = Bound(MOST_LOGGED + TIMES_INPUT * given)
    with log.open("wb") as printed:
        result = printed if command.out is None else (folder / command.out).open("wb")
        try:
            process = subprocess.Popen(  # noqa: S603  a list, no shell
                [str(argument) for argument in command.arguments],
                cwd=folder,
                env={**os.environ, **command.environment},
                stdin=subprocess.DEVNULL,
                stdout=result,
                stderr=printed,
            )
        except OSError as error:
            raise AlignerError(f"{program}: cannot start: {error.strerror or error}") from None
        finally:
            if result is not printed:
                result.close()
        status, fault = wait(process, Watch(bounds, timeout_seconds))
    if status or fault:
        raise failure(program.name, fault or _described(status), log)


def run_programs(
    commands: Sequence[Command],
    folder: Path,
    *,
    at_once: int,
    timeout_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Run programs that do not depend on each other, some `at_once`.

    Raises
    ------
    AlignerError
        As `run_program`, of the first that failed in the order given.
    """
    if at_once == 1:
        for command in commands:
            run_program(command, folder, timeout_seconds=timeout_seconds)
        return
    with ThreadPoolExecutor(at_once) as pool:
        runs = [
            pool.submit(run_program, command, folder, timeout_seconds=timeout_seconds)
            for command in commands
        ]
    for run in runs:
        run.result()


def failure(name: str, what: str, log: Path) -> AlignerError:
    """Return the error of a program; its log is copied out of the scratch folder.

    Parameters
    ----------
    what
        What it did, as in `ended with status 3`.
    """
    kept = log.parent.parent / f"{name}-{secrets.token_hex(4)}.log"
    shutil.copyfile(log, kept)
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    last = [line.strip() for line in lines if line.strip()][-LAST_LINES:] or ["no message"]
    return AlignerError(f"{name} {what}: {' / '.join(last)}; its log is {kept}")


@contextmanager
def scratch(workdir: Path, name: str) -> Iterator[Path]:
    """Give a new folder inside `workdir` to one run alone, and remove it afterwards.

    Raises
    ------
    AlignerError
        It cannot be written.
    """
    folder = workdir / f".{name}.{secrets.token_hex(4)}.tmp"
    try:
        folder.mkdir(parents=True)
        yield folder
    except OSError as error:
        raise AlignerError(f"{folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_lines(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write rows of tokens, separated by spaces."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{' '.join(row)}\n" for row in rows)


def _described(status: int) -> str:
    if status > 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
