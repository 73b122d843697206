"""Run tasks on the workers of a Dask cluster.

Our own data is pickled and sent between our own processes of one version of portmert. Everybody
who can reach the scheduler can run programs on all workers, see SECURITY.md.
"""

import asyncio
import importlib
import logging
import shlex
import shutil
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import portmert
from portmert.tuner.base import errors, json_toml, programs
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.base.numbers import MOST
from portmert.tuner.base.threads import Team
from portmert.tuner.base.warn import notice, warn_of_machine
from portmert.tuner.executors.opening import EXPECTED, Workplace, check_options

Value = TypeVar("Value")

PROTOCOLS = ("tcp", "tls")
"""The protocols of schedulers; Dask's others need more packages, or stay in one process."""
INSTALL = "pip install 'portmert[dask]'"
ATTEMPTS = 3
"""How often a task may fail before the run ends."""
LEAST_QUEUE = 64
"""How many tasks are handed out while no worker has come yet."""
_CONNECT = "10s"


class Cluster(Team):
    """A team of the workers of a cluster.

    Parameters
    ----------
    client
        The client of `distributed`.
    name
        The name of the cluster in messages.
    expected
        The number of workers that were asked for, if any.
    """

    is_remote = True
    threads = 1

    @staticmethod
    def step(phase: str, count: int, total: int) -> None:  # noqa: ARG004
        """Raise `Cancelled` if the command has dropped the task that calls this."""
        from dask.context import thread_state  # noqa: PLC0415
        from distributed import get_worker  # noqa: PLC0415  an extra

        state = get_worker().state.tasks.get(thread_state.key)
        if state is None or state.state == "cancelled":
            raise programs.Cancelled

    @staticmethod
    def folder() -> Path:
        """Return the worker's own folder (`dask worker --local-directory`)."""
        from distributed import get_worker  # noqa: PLC0415  an extra

        return Path(get_worker().local_directory)

    def __init__(self, client: Any, name: str, *, expected: int = 0) -> None:
        self._client = client
        self._name = name
        self._expected = expected
        self._alone = False
        self._asked_at = float("-inf")
        self._threads = 0

    def wait_for_workers(self) -> int:
        """Return the threads of all workers that have come or will come; wait for the first."""
        while not self._there():
            time.sleep(1)
        return max(self._expected, self._there())

    @property
    def queue_size(self) -> int:
        """Four tasks for each thread of each worker that has come."""
        return max(LEAST_QUEUE, 4 * self._there())

    def _there(self) -> int:
        if time.monotonic() - self._asked_at > 1:
            self._asked_at = time.monotonic()
            with self._answering():
                self._threads = sum(self._client.nthreads().values())
        return self._threads

    def opened(self, count: int) -> Executor:  # noqa: ARG002  workers may come and go
        """Return an executor."""
        executor: Executor = self._client.get_executor(pure=False, retries=ATTEMPTS - 1)
        return executor

    def submit(
        self, executor: Executor, work: Callable[..., Value], task: tuple[Any, ...]
    ) -> Future[Value]:
        """Hand out a task; its worker checks that it has the same version of portmert."""
        with self._answering():
            return executor.submit(perform, portmert.__version__, work, *task)

    def close(self, executor: Executor, *, interrupted: bool) -> None:  # noqa: ARG002
        """Drop unfinished tasks; workers stop at their next step."""
        if self._client.status == "running":
            executor.shutdown(wait=False)

    def check_alive(self) -> None:
        """Notify the user, once, that there are no workers any more."""
        alone = not self._there()
        if alone and not self._alone:
            warn_of_machine(f"{self._name}: no workers now; tasks wait for them")
        self._alone = alone

    def shared(self, value: Value) -> Value:
        """Return a future of it; workers that come later can get it too."""
        with (
            self._answering(),
            warnings.catch_warnings(),
        ):  # that it is large is why it travels once
            warnings.filterwarnings("ignore", "Sending large graph")
            future: Value = self._client.submit(same, value, pure=False, retries=ATTEMPTS - 1)
        return future

    def fault(self, error: Exception, task: str) -> Exception:
        """Return the worker's own message."""
        if isinstance(error, errors.PortmertError):
            return error
        if isinstance(error, CancelledError) or self._client.status != "running":
            return self._gone()
        if type(error).__name__ == "KilledWorker":
            last = getattr(getattr(error, "last_worker", None), "address", "unknown")
            return errors.ProgramError(
                f"{self._name}: {task}: each worker that took it died of it, the last one was "
                f"{last}; its log says why (often it had too little memory)"
            )
        message = errors.named(error)
        return errors.ProgramError(f"{self._name}: {task} failed {ATTEMPTS} times: {message}")

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError):  # closed connections and clients are either
            raise self._gone() from None

    def _gone(self) -> errors.StateError:
        return errors.StateError(
            f"{self._name}: the scheduler is gone, or has dropped what it was to do; what is done "
            f"is kept: start the same command again"
        )


def perform(version: str, work: Callable[..., Value], *task: Any) -> Value:
    """Do a task at a worker of the same version; an error names the worker."""
    from distributed import get_worker  # noqa: PLC0415  an extra

    here = get_worker().address
    if portmert.__version__ != version:
        raise ConfigError(_differs(here, portmert.__version__, version))
    try:
        with using(progress=Cluster.step):
            return work(*task)
    except errors.PortmertError as error:
        raise type(error)(f"{error} (on worker {here})") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise errors.ProgramError(f"{where}{error.strerror or error} (on worker {here})") from None


def same(value: Value) -> Value:
    """Return a value as it is; shared values travel by it."""
    return value


def version() -> str:
    """Return the version of portmert, at a worker."""
    return portmert.__version__


def _open_addresses(dask_scheduler: Any) -> list[str]:
    """Return the addresses without TLS at which a scheduler listens on all interfaces."""
    listening = [listener.listen_address for listener in dask_scheduler.listeners]
    return [
        address
        for address in listening
        if urlsplit(address).scheme not in {"tls", "inproc"}
        and urlsplit(address).hostname in {None, "0.0.0.0", "::"}  # noqa: S104  compared
    ]


def _differs(place: str, there: str, here: str) -> str:
    return f"{place} has portmert {there}, here it is {here}: install the same on all machines"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _module(name: str, purpose: str = "a Dask cluster", install: str = INSTALL) -> Any:
    at_interrupt = signal.getsignal(signal.SIGINT)
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.replace("_", "-")
        raise ConfigError(f"{purpose} needs the package {package} ({error}): {install}") from None
    except Exception as error:  # noqa: BLE001  Dask reads its files, with any content
        raise ConfigError(
            f"{purpose}: importing {name} ends in {errors.named(error)}; mend Dask's "
            f"configuration (DASK_CONFIG, ~/.config/dask)"
        ) from None
    finally:  # dask_jobqueue lets an interrupt end the program with status 0
        if signal.getsignal(signal.SIGINT) is not at_interrupt:
            signal.signal(signal.SIGINT, at_interrupt)


@dataclass(frozen=True)
class Scheduler(Workplace):
    """A scheduler that runs: its address, or the file that it wrote."""

    address: str = ""
    is_local: ClassVar[bool] = False

    def within(self, folder: Path) -> Workplace:
        """Return the place with its file relative to a folder."""
        if "://" in self.address:
            return self
        return replace(self, address=str(folder / self.address))

    @contextmanager
    def opened(self) -> Iterator[Team]:
        """Connect to the workers."""
        distributed = _module("distributed")
        text, address = self.text, self.address
        if "://" not in address:
            address = _address_in(Path(address), text)
        credentials = _credentials(distributed, text, is_needed=address.startswith("tls:"))
        with _quiet():
            fault = distributed.utils.LoopRunner().run_sync(_greet, address, credentials)
            if fault is not None:
                raise errors.StateError(f"{text}: {_found_at(address, fault)}")
            try:
                client = distributed.Client(address, timeout=_CONNECT, set_as_default=False)
            except Exception as error:  # noqa: BLE001  whatever Dask says
                message = errors.named(error)
                raise errors.StateError(
                    f"{text}: the scheduler takes no client: {message}"
                ) from None
            yield from _of_client(client, text)


@dataclass(frozen=True)
class QueueingSystem(Workplace):
    """Jobs of a queueing system, submitted for this command.

    Parameters
    ----------
    kind
        One of `KINDS`.
    jobs
        The number of jobs.
    options
        The options of its class in dask-jobqueue; others are as in Dask's own configuration.
    """

    kind: str = ""
    jobs: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    is_local: ClassVar[bool] = False

    @contextmanager
    def opened(self) -> Iterator[Team]:
        """Submit the jobs, and end them with the block."""
        text, class_name = self.text, KINDS[self.kind]
        cluster_class = getattr(_module("dask_jobqueue"), class_name)
        options = _with_keys(self.options, text)
        distributed = _module("distributed")
        with _quiet():
            program = shlex.split(cluster_class.job_cls.submit_command)[0]
            if shutil.which(program) is None:
                raise errors.ProgramError(
                    f"{text}: no program {program} on PATH; start it where jobs are submitted"
                )
            try:
                with warnings.catch_warnings():  # another cluster of ours may show its dashboard
                    warnings.filterwarnings("ignore", "Port 8787")
                    cluster = cluster_class(**options)
            except Exception as error:  # noqa: BLE001  options of any type get there
                raise ConfigError(f"{text}: no {class_name}: {errors.named(error)}") from None
            try:
                for _ in range(self.jobs):
                    cluster.worker_spec.update(cluster.new_worker_spec())
                try:  # scale(jobs) does the same, but does not say that a job was refused
                    cluster.sync(cluster._correct_state)  # noqa: SLF001
                except (RuntimeError, OSError) as error:
                    for job in cluster.workers.values():
                        if job.status.name == "created":  # else the cluster does not close
                            job.status = type(job.status).failed
                    raise errors.ProgramError(
                        f"{text}: {program} failed: {_one_line(error)}"
                    ) from None
                client = distributed.Client(cluster, timeout=_CONNECT, set_as_default=False)
                yield from _of_client(client, text, expected=self.jobs)
            finally:
                cluster.close()


def parse(text: str, options: Mapping[str, Any]) -> Workplace:
    """Return the place written `dask:ADDRESS`, `dask:FILE.json` or `dask-slurm:JOBS`.

    Raises
    ------
    ConfigError
        It is written in another way.
    """
    name, _, argument = text.partition(":")
    kind = name.removeprefix("dask-")
    if kind != name and kind in KINDS:
        if (
            not argument.isascii()
            or not argument.isdecimal()
            or not 0 < int(argument[:20]) <= MOST
        ):
            raise ConfigError(f"executor '{text}': how many jobs? As {name}:20")
        return QueueingSystem(text, kind, int(argument), options)
    check_options(text, options)
    if name != "dask" or not argument:
        raise ConfigError(f"executor '{text}': expected {EXPECTED}{errors.suggest(kind, KINDS)}")
    if "://" in argument:
        check_address(argument, f"executor '{text}'")
    return Scheduler(text, argument)


async def _greet(address: str, credentials: Mapping[str, Any]) -> Exception | None:
    """Connect, ask for the workers and leave; return what fails.

    A client would wait without end for a greeting, or leave its threads behind.
    """
    core = importlib.import_module("distributed.comm.core")

    async def ask() -> None:
        comm = await core.connect(address, timeout=_CONNECT, **credentials)
        try:
            await comm.write({"op": "identity"})
            (await comm.read())["workers"]  # a worker has none
        finally:
            await comm.close()

    try:
        await asyncio.wait_for(ask(), float(_CONNECT.removesuffix("s")))
    except Exception as error:  # noqa: BLE001  bytes of others end in any error
        return error
    return None


def _found_at(address: str, error: Exception) -> str:
    """Return what is at an address where no scheduler greets; the words of Dask do not say it."""
    place = urlsplit(address)
    try:
        socket.create_connection((place.hostname, place.port), timeout=2).close()
    except (socket.gaierror, UnicodeError):
        return f"no host '{place.hostname}' is known here; check the name"
    except OSError as fault:
        reason = f"nothing listens ({errors.reason(fault)}); is the scheduler running?"
        return f"no scheduler answers there: {reason}"
    if isinstance(error, TimeoutError):
        reason = f"what listens there does not speak as one in {_CONNECT}"
        return f"no scheduler answers there: {reason}"
    if place.scheme == "tls":
        return (
            "no scheduler with TLS answers there, or it and Dask's configuration here have other "
            "certificates; the guide's page 'Several machines' shows how to name them"
        )
    return (
        "another server answers there, no scheduler; give the scheduler's port, not that of its "
        "dashboard or of a worker, and tls:// if it has TLS"
    )


def check_address(address: str, origin: str) -> None:
    """Raise ConfigError unless an address has a protocol, a host and a port."""
    try:
        parts = urlsplit(address)
        is_complete = parts.scheme in PROTOCOLS and parts.hostname and parts.port
    except ValueError:  # a port that is no number
        parts, is_complete = urlsplit(""), False
    if (
        not is_complete
        or address != f"{parts.scheme}://{parts.netloc}"
        or len(address.split()) > 1
    ):
        raise ConfigError(
            f"{origin}: '{address}' is no address of a scheduler; expected tcp://HOST:PORT or "
            f"tls://HOST:PORT, as tcp://node1:8786"
        )


def _credentials(distributed: Any, text: str, *, is_needed: bool) -> Mapping[str, Any]:
    """Return what Dask's own configuration names; ConfigError if TLS needs a certificate."""
    with errors.faults_at(
        f"{text}: the certificate that Dask's configuration names", OSError, ConfigError
    ):
        arguments: Mapping[str, Any] = distributed.Security().get_connection_args("client")
    if is_needed and arguments["ssl_context"] is None:
        raise ConfigError(
            f"{text}: TLS needs a certificate; name it in Dask's configuration, as "
            f"the guide's page 'Several machines' shows"
        )
    return arguments


def _address_in(path: Path, text: str) -> str:
    """Return the address in the file that a scheduler wrote."""
    if not path.is_file():
        raise errors.StateError(f"{text}: no such file, and no address as tcp://HOST:8786")
    try:
        address = json_toml.parse_json(path.read_bytes())["address"]
    except (OSError, ValueError, LookupError, TypeError):
        raise errors.StateError(
            f"{path}: not what `dask scheduler --scheduler-file` writes; is the scheduler running?"
        ) from None
    check_address(str(address), str(path))
    return str(address)


def _with_keys(options: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return the options of a queueing system; with TLS, keys for as long as the command runs."""
    protocol = str(options.get("protocol", "tcp")).removesuffix("://")
    if protocol not in PROTOCOLS:
        raise ConfigError(f"{text}: protocol '{protocol}': expected tcp or tls")
    if protocol == "tls":
        options = {"security": True, **options}
    if options.get("security") is True:
        _module("cryptography", f"{text}: TLS", "pip install cryptography")
    return options


KINDS = {
    name.lower(): f"{name}Cluster"
    for name in ("HTCondor", "LSF", "Moab", "OAR", "PBS", "SGE", "SLURM")
}
"""Queueing system -> the class of dask-jobqueue."""


def _of_client(client: Any, name: str, expected: int = 0) -> Iterator[Cluster]:
    try:
        _check_versions(client, name)
        for address in client.run_on_scheduler(_open_addresses):
            warn_of_machine(
                f"{name}: the scheduler listens on all interfaces ({address}) and asks nobody "
                f"for a password: on a shared machine others can run programs as you; see "
                f"the guide's page 'Several machines'"
            )
        team = Cluster(client, name, expected=expected)
        if threads := client.nthreads():
            notice(
                f"{name}: {errors.counted(len(threads), 'worker')}, "
                f"{errors.counted(sum(threads.values()), 'task')} at once"
            )
        else:
            team.check_alive()
        yield team
    finally:
        client.close(timeout=2)


def _check_versions(client: Any, name: str) -> None:
    """Refuse another version of portmert at the scheduler or at a worker that is there."""
    try:
        versions = {"the scheduler": client.run_on_scheduler(version)}
    except Exception as error:  # noqa: BLE001  whatever unpickling says there
        versions = {"the scheduler": error}
    for address, there in {**versions, **client.run(version, on_error="return")}.items():
        if isinstance(there, Exception):
            message = _one_line(there)
            raise ConfigError(f"{name}: {address} has no portmert of this version: {message}")
        if there != portmert.__version__:
            raise ConfigError(f"{name}: {_differs(address, there, portmert.__version__)}")


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the log of Dask, since we say it in one line, and shorten its waiting."""
    config = importlib.import_module("dask").config
    names = [name for name in logging.Logger.manager.loggerDict if name.startswith("distributed")]
    noisy = ("distributed", "tornado.application", "asyncio")
    loggers = [logging.getLogger(name) for name in (*noisy, *names)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with config.set({"distributed.comm.timeouts.connect": _CONNECT}):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
