"""Dask clusters of worker processes on this machine, for tests."""

import contextlib
import importlib.util
import multiprocessing
import os
import signal
import tempfile
import time

import pytest

from tests.support.places import TESTS

NEEDS_DASK = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="extras: dask"
)
SETTINGS = {
    # Dask watches its processes less closely, which takes two thirds of what they take idle.
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.profile.enabled": False,
    # Workers fork from a process that has loaded everything, once for all clusters.
    "distributed.worker.multiprocessing-method": "forkserver",
}


_SOCKETS = tempfile.TemporaryDirectory(
    prefix="portmert-", dir="/tmp"
)  # a path of 107 bytes at most


@contextlib.contextmanager
def cluster(workers, **options):
    """Start so many worker processes; its `scheduler_address` is for --executor."""
    import dask
    from distributed import LocalCluster
    from distributed.utils import get_mp_context

    with dask.config.set(SETTINGS):
        multiprocessing.current_process()._config["tempdir"] = _SOCKETS.name
        # Dask's own list has what is not needed here, and lacks what takes longest.
        get_mp_context().set_forkserver_preload(["distributed", "tests.support.loaded"])
        with LocalCluster(
            n_workers=workers, processes=True, threads_per_worker=1, dashboard_address=":0",
            silence_logs=60, **options,
        ) as started:  # fmt: skip
            yield started


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "log.txt"
    }


def kill_one_at_work(started):
    """End a worker that has a task, as soon as there is one."""
    from distributed import Client

    with Client(started.scheduler_address, set_as_default=False) as client:
        processes = client.run(os.getpid)
        at_work = None
        while at_work is None:
            tasks = client.processing()
            at_work = next((worker for worker in processes if tasks.get(worker)), None)
            time.sleep(0.002)
        os.kill(processes[at_work], signal.SIGKILL)


PROGRAMS = TESTS / "programs" / "slurm"
"""Has sbatch and scancel that run jobs on this machine."""
