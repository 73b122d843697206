"""A Dask cluster, for the tests of what runs on one."""

import pytest

from tests.support.clusters import all_there, cluster


@pytest.fixture(scope="module")  # a cluster that waits takes a tenth of a processor
def two_workers():
    with cluster(2) as two:
        yield two


@pytest.fixture
def started(two_workers):
    """Two workers, though the test before this one may have killed one."""
    all_there(two_workers, 2)
    return two_workers


@pytest.fixture
def place(started):
    return f"dask:{started.scheduler_address}"
