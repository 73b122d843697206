"""The programs of aligners, for the tests of each."""

import pytest

from tests.support.aligner_programs import install, real


@pytest.fixture
def programs(tmp_path):
    return install(tmp_path / "bin")


@pytest.fixture(params=["recorded", "real"])
def either(request, programs):
    """Give the programs of the aligner after which the test file is named."""
    name = request.path.stem.removeprefix("test_").replace("_", "-")
    return programs if request.param == "recorded" else real(name)
