"""Runs outside programs: one log each, one line of error."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from portmert.tuner.ground.errors import AlignerError
from portmert.tuner.ground.watching import MOST_LOGGED, Bound, Watch, started, wait

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
    name
        How messages name it, if not as the program.
    """

    arguments: Sequence[str | Path]
    log: str
    out: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    name: str = ""


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
    command: Command,
    folder: Path,
    *,
    timeout_seconds: float = PATIENCE_SECONDS,
    given_up: threading.Event | None = None,
) -> None:
    """Run a program in `folder` to its end.

    The folder is scratch: it goes when its work is done or has failed. So the log of a program
    that fails is copied beside it, and the error names the copy.

    Parameters
    ----------
    timeout_seconds
        It is ended when it prints nothing for so long; 0: never.
    given_up
        It is ended when this is set.

    Raises
    ------
    AlignerError
        The program cannot be started, ends with another status than 0, prints too much, or
        nothing for too long.
    Cancelled
        It was given up.
    """
    program = Path(command.arguments[0])
    log = folder / command.log
    bounds = {log: Bound()}
    if command.out is not None:
        given = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        bounds[folder / command.out] = Bound(MOST_LOGGED + TIMES_INPUT * given)
    with ExitStack() as stack:
        printed = stack.enter_context(log.open("wb"))
        result = printed
        if command.out is not None:
            result = stack.enter_context((folder / command.out).open("wb"))
        running = started(
            [str(argument) for argument in command.arguments],
            cwd=folder,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=result,
            stderr=printed,
        )
        try:
            process = stack.enter_context(running)
        except OSError as error:
            raise AlignerError(f"{program}: cannot start: {error.strerror or error}") from None
        status, fault = wait(process, Watch(bounds, timeout_seconds, given_up))
    if status or fault:
        raise failure(command.name or program.name, fault or _described(status), log)


def run_programs(
    commands: Sequence[Command],
    folder: Path,
    *,
    at_once: int,
    timeout_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Run programs that do not depend on each other, some `at_once`; one that fails ends all.

    Raises
    ------
    AlignerError
        As `run_program`, of the first that fails; of several at once in the order given.
    """
    if at_once == 1:
        for command in commands:
            run_program(command, folder, timeout_seconds=timeout_seconds)
        return
    given_up = threading.Event()
    run = partial(run_program, timeout_seconds=timeout_seconds, given_up=given_up)
    with futures.ThreadPoolExecutor(at_once) as pool:
        try:
            runs = [pool.submit(run, command, folder) for command in commands]
            ended = futures.wait(runs, return_when=futures.FIRST_EXCEPTION).done
            for one in runs:
                if one in ended:
                    one.result()
        except BaseException:  # also a signal, which threads do not get
            given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def failure(name: str, what: str, log: Path) -> AlignerError:
    """Return the error of a program; its log is copied out of the scratch folder.

    Parameters
    ----------
    what
        What it did, as in `ended with status 3`.
    """
    plain = re.sub(r"[^\w-]+", "-", name)
    kept = log.parent.parent / f"{plain}-{secrets.token_hex(4)}.log"
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
