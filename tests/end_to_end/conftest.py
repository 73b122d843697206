"""A Dask cluster, for the tests of what runs on one."""

import pytest

from tests.support.clusters import cluster


@pytest.fixture(scope="session")
def started():
    """Two workers; who kills one gets another in its place."""
    with cluster(2) as two:
        yield two


@pytest.fixture
def place(started):
    return f"dask:{started.scheduler_address}"
