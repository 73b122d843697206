"""A Dask cluster, for the tests of what runs on one."""

import pytest

from tests.support.clusters import cluster


@pytest.fixture(scope="module")  # a cluster that waits takes a tenth of a processor
def started():
    """Two workers, which no test kills."""
    with cluster(2) as two:
        yield two


@pytest.fixture
def place(started):
    return f"dask:{started.scheduler_address}"
