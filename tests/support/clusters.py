"""Dask clusters of worker processes on this machine, for tests."""

import contextlib
import importlib.util

import pytest

from tests.support.places import TESTS

NEEDS_DASK = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="extras: dask"
)


@contextlib.contextmanager
def cluster(workers, **options):
    """Start so many worker processes; its `scheduler_address` is for --executor."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, processes=True, threads_per_worker=1, dashboard_address=":0",
        silence_logs=60, **options,
    ) as started:  # fmt: skip
        yield started


PROGRAMS = TESTS / "programs" / "slurm"
"""Has sbatch and scancel that run jobs on this machine."""
