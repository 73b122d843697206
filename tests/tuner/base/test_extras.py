"""Packages that extras install."""

from importlib import metadata

import pytest

from portmert.tuner.base.errors import ProgramError
from portmert.tuner.base.extras import require


def test_a_missing_package_names_the_command_that_installs_it():
    message = r"no-such is not installed; install it with: pip install 'portmert\[x\]'"
    with pytest.raises(ProgramError, match=message):
        require("no-such", extra="x")
    with pytest.raises(ProgramError, match="no-such is not installed"):
        require("numpy", "no-such", extra="x")
    assert require("numpy", extra="x") == metadata.version("numpy")
